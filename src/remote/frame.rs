//! Takes a script's own output out of everything that arrives, however it is cut into pieces.
use super::budget::{Budget, Share};
use super::nonce::ScriptNonce;
use super::script::{begin_mark, end_mark};
use std::sync::Arc;

/// What is kept of a login shell's greeting, for diagnosis.
const NOISE_LIMIT: usize = 4 << 10;
/// What is kept of standard error: its end, because that is where programs say why they failed.
const STDERR_LIMIT: usize = 64 << 10;

/// The longest exit status: three digits, with room for what a shell of another system might print.
const LONGEST_STATUS: usize = 16;

/// Bytes up to a limit, and whether there were more.
#[derive(Debug)]
pub(super) struct Bounded {
    pub(super) bytes: Vec<u8>,
    pub(super) truncated: bool,
    limit: usize,
    /// What it has of the memory for all answers.
    share: Share,
}

impl Bounded {
    fn new(limit: usize, budget: &Arc<Budget>) -> Self {
        Self { bytes: Vec::new(), truncated: false, limit, share: Share::new(Arc::clone(budget)) }
    }

    /// What was kept, after which there is room again.
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.share.give_back();
        std::mem::take(&mut self.bytes)
    }

    fn keep_first(&mut self, data: &[u8]) {
        let room = if self.truncated { 0 } else { self.limit.saturating_sub(self.bytes.len()).min(data.len()) };
        let first = data.get(..room).filter(|first| self.has_room_for(first.len())).unwrap_or_default();
        self.bytes.extend_from_slice(first);
        self.truncated |= data.len() > first.len();
    }

    /// Makes room for so many bytes more, as far as all answers together leave any. It grows as a `Vec` does, and never beyond its limit.
    fn has_room_for(&mut self, bytes: usize) -> bool {
        let needed = self.bytes.len() + bytes;
        if needed <= self.bytes.capacity() {
            return true;
        }
        let capacity = needed.max(self.bytes.capacity().saturating_mul(2)).min(self.limit);
        let covered = self.share.covers(capacity);
        if covered {
            self.bytes.reserve_exact(capacity - self.bytes.len());
        }
        covered
    }

    /// Cuts the front only when twice the limit has gathered, so that a flood costs no copy per packet.
    fn keep_last(&mut self, data: &[u8]) {
        self.bytes.extend_from_slice(data);
        if self.bytes.len() > 2 * self.limit {
            self.cut_front();
        }
    }

    fn cut_front(&mut self) {
        let excess = self.bytes.len().saturating_sub(self.limit);
        self.truncated |= excess > 0;
        self.bytes.drain(..excess);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    BeforeBegin,
    Inside,
    Status,
    After,
}

/// Reads standard output: noise, begin line, the script's output, end line with the exit status.
#[derive(Debug)]
pub(super) struct Framer {
    begin: Vec<u8>,
    end: Vec<u8>,
    place: Place,
    /// What may still be the first part of a mark.
    pending: Vec<u8>,
    pub(super) noise: Bounded,
    pub(super) output: Bounded,
    /// The script's own status, from the end line.
    pub(super) status: Option<u32>,
}

impl Framer {
    pub(super) fn new(nonce: &ScriptNonce, limit: usize, budget: &Arc<Budget>) -> Self {
        Self {
            begin: format!("\n{}\n", begin_mark(nonce)).into_bytes(),
            end: format!("\n{} ", end_mark(nonce)).into_bytes(),
            place: Place::BeforeBegin,
            pending: Vec::new(),
            noise: Bounded::new(NOISE_LIMIT, budget),
            output: Bounded::new(limit, budget),
            status: None,
        }
    }

    /// Whether the script began.
    pub(super) fn began(&self) -> bool {
        self.place != Place::BeforeBegin
    }

    /// Whether the end line was there.
    pub(super) fn ended(&self) -> bool {
        self.status.is_some()
    }

    pub(super) fn push(&mut self, data: &[u8]) {
        if self.place == Place::After {
            return;
        }
        self.pending.extend_from_slice(data);
        if self.place == Place::BeforeBegin && self.take_until(true) {
            self.place = Place::Inside;
        }
        if self.place == Place::Inside && self.take_until(false) {
            self.place = Place::Status;
        }
        if self.place == Place::Status {
            self.take_status();
        }
    }

    /// Nothing more comes: what looked like the start of a mark was none.
    pub(super) fn finish(&mut self) {
        let rest = std::mem::take(&mut self.pending);
        match self.place {
            Place::BeforeBegin => self.noise.keep_first(&rest),
            Place::Inside => self.output.keep_first(&rest),
            Place::Status | Place::After => {}
        }
    }

    /// Moves everything before the mark out of `pending`, and the mark too if it is there. What could be the start of a mark stays.
    fn take_until(&mut self, begin: bool) -> bool {
        let (mark, kept) = if begin { (&self.begin, &mut self.noise) } else { (&self.end, &mut self.output) };
        let found = find(&self.pending, mark);
        let before = found.unwrap_or_else(|| self.pending.len().saturating_sub(mark.len() - 1));
        let taken = found.map_or(before, |position| position + mark.len());
        kept.keep_first(self.pending.get(..before).unwrap_or_default());
        self.pending.drain(..taken);
        found.is_some()
    }

    fn take_status(&mut self) {
        let Some(newline) = self.pending.iter().position(|byte| *byte == b'\n') else {
            // A host that never ends its line is not listened to for ever: what it says is no status.
            if self.pending.len() > LONGEST_STATUS {
                self.pending.clear();
                self.place = Place::After;
            }
            return;
        };
        let digits = self.pending.get(..newline).unwrap_or_default();
        self.status = std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok());
        self.pending.clear();
        self.place = Place::After;
    }
}

/// Reads standard error: what comes before the begin line is noise, of the rest the end is kept.
#[derive(Debug)]
pub(super) struct StderrTail {
    begin: Vec<u8>,
    kept: Bounded,
}

impl StderrTail {
    pub(super) fn new(nonce: &ScriptNonce, budget: &Arc<Budget>) -> Self {
        Self { begin: format!("\n{}\n", begin_mark(nonce)).into_bytes(), kept: Bounded::new(STDERR_LIMIT, budget) }
    }

    pub(super) fn push(&mut self, data: &[u8]) {
        self.kept.keep_last(data);
    }

    /// Noise and the script's own standard error. If the mark was cut away with the front, all that is left is the script's.
    pub(super) fn split(mut self) -> (Vec<u8>, Bounded) {
        if let Some(position) = find(&self.kept.bytes, &self.begin) {
            let mut rest = self.kept.bytes.split_off(position);
            rest.drain(..self.begin.len());
            let noise = std::mem::replace(&mut self.kept.bytes, rest);
            self.kept.cut_front();
            return (noise, self.kept);
        }
        let cut_before = self.kept.truncated;
        self.kept.cut_front();
        if cut_before { (Vec::new(), self.kept) } else { (self.kept.bytes.clone(), self.kept) }
    }
}

/// The first position of `needle`, a mark that begins with a newline; looking for that byte first keeps this linear.
pub(super) fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    let mut from = 0;
    while let Some(rest) = haystack.get(from..) {
        let step = rest.iter().position(|byte| *byte == b'\n')?;
        if rest.get(step..).is_some_and(|text| text.starts_with(needle)) {
            return Some(from + step);
        }
        from += step + 1;
    }
    None
}

#[cfg(test)]
#[path = "tests/frame.rs"]
mod tests;
