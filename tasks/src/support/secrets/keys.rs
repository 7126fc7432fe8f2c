//! Private keys, whole and in part.

use std::sync::LazyLock;

use regex::Regex;

use super::lines;

const INSTEAD: &str = "(a private key)";

/// The largest that anybody has is some hundred lines of a journal.
const MOST_BYTES: usize = 64 << 10;

struct Patterns {
    begin: Regex,
    end: Regex,
    /// One whose beginning was cut off. Its last line may be short.
    rest: Regex,
    /// A line of one: such letters alone, or so many of them that it says nothing else.
    line: Regex,
    long: Regex,
    head: Regex,
}

static PATTERNS: LazyLock<Option<Patterns>> = LazyLock::new(|| {
    let regex = |pattern: &str| Regex::new(pattern).ok();
    Some(Patterns {
        begin: regex("-----BEGIN [A-Z ]*PRIVATE KEY-----")?,
        end: regex("-----END [A-Z ]*PRIVATE KEY-----")?,
        rest: regex(r"(?m)(?:^.*[A-Za-z0-9+/=]{16,}[ \r]*\n)*(?:^.*[A-Za-z0-9+/=][ \r]*\n)?.*-----END [A-Z ]*PRIVATE KEY-----")?,
        line: regex(r"^\s*[A-Za-z0-9+/=]+\s*$|[A-Za-z0-9+/=]{32,}")?,
        long: regex("[A-Za-z0-9+/=]{32,}")?,
        head: regex(r"^\s*(?:Proc-Type|DEK-Info|Comment|Version): ")?,
    })
});

pub(super) fn without(text: &str) -> String {
    let Some(patterns) = PATTERNS.as_ref() else { return INSTEAD.to_owned() };
    let (mut kept, mut done) = (String::with_capacity(text.len()), 0);
    while let Some(begin) = patterns.begin.find_at(text, done) {
        kept.push_str(text.get(done..begin.start()).unwrap_or_default());
        kept.push_str(INSTEAD);
        done = patterns.ends(text, begin.end());
    }
    kept.push_str(text.get(done..).unwrap_or_default());
    if kept.contains("-----END ") { patterns.rest.replace_all(&kept, INSTEAD).into_owned() } else { kept }
}

impl Patterns {
    /// Where a key ends that begins before `from`. If nothing says so it is where the lines end that may be of it.
    fn ends(&self, text: &str, from: usize) -> usize {
        let end = self.end.find_at(text, from).filter(|end| end.start() - from <= MOST_BYTES);
        let next = self.begin.find_at(text, from);
        match end {
            Some(end) if next.is_none_or(|next| end.start() < next.start()) => end.end(),
            _ => self.last(text, from),
        }
    }

    /// The line below its first one is of it, whatever it says. A blank line may stand between its head and its body; after its body, it is the end unless
    /// what follows can't be anything else.
    fn last(&self, text: &str, from: usize) -> usize {
        let first = lines::end(text, from);
        let (mut end, mut at, mut has_body, mut is_apart) = (first, first, false, false);
        while let Some((_, to, line)) = lines::after(text, at) {
            let line = line.get(lines::beginning(line)..).unwrap_or(line);
            let body = if is_apart { &self.long } else { &self.line };
            let is_body = body.is_match(line) && !self.begin.is_match(line);
            let is_blank = line.trim().is_empty();
            if !is_blank && !is_body && at != first && (has_body || !self.head.is_match(line)) {
                break;
            }
            at = to;
            is_apart = has_body && is_blank;
            has_body |= is_body;
            if !is_blank {
                end = to;
            }
        }
        end
    }
}
