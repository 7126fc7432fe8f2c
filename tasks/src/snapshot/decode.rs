//! A snapshot as it comes from a host: taken out of what carries it, and compared with the digest at its end.

use aws_lc_rs::digest::{Context, SHA256, SHA256_OUTPUT_LEN};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

/// How a snapshot comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Byte by byte.
    Raw,
    /// As lines of JSON, each with a piece in base64, as etcd answers where it is asked by HTTP.
    Gateway,
}

/// Why what came is no snapshot.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// etcd, or what asked it, said this instead.
    #[error("the member said: {0}")]
    Said(String),
    /// It does not have the form that it should.
    #[error("what came is no snapshot of etcd")]
    Unreadable,
    /// It is shorter than any, or ends inside a page.
    #[error("only a part of it came ({0} bytes)")]
    CutOff(u64),
    /// It is longer than any that etcd is made for.
    #[error("it does not end after {} GiB, twice what etcd is made for", MOST >> 30)]
    TooLong,
    /// It came whole, and differs from what was sent.
    #[error("its content is not what the digest at its end says")]
    Differs,
}

/// etcd sends pieces of 32 KiB, which are a third longer in base64. A line that is much longer is none of its.
const LINE_LIMIT: usize = 4 << 20;

/// etcd advises against more than 8 GiB. A quota may be set higher, and a database is somewhat longer than its quota; but what goes on for ever
/// must not fill the disk that it is written to.
const MOST: u64 = 16 << 30;

/// Its database has pages, and pages are multiples of this length; a digest follows (etcd, `hasChecksum` of its snapshots).
const PAGE: u64 = 512;

const DIGEST: usize = SHA256_OUTPUT_LEN;

#[derive(Deserialize)]
struct Line {
    result: Option<Piece>,
    error: Option<Fault>,
}

#[derive(Deserialize)]
struct Piece {
    #[serde(default)]
    blob: String,
}

#[derive(Deserialize)]
struct Fault {
    #[serde(default)]
    message: String,
}

/// Takes what comes apart, piece by piece: of a snapshot of any length only the end is kept.
pub struct Decoder {
    form: Form,
    /// A line that has not ended yet.
    line: Vec<u8>,
    digest: Context,
    /// The last bytes, which are the digest if nothing follows.
    end: Vec<u8>,
    length: u64,
}

impl Decoder {
    /// For a snapshot that comes in this form.
    #[must_use]
    pub fn new(form: Form) -> Self {
        Self { form, line: Vec::new(), digest: Context::new(&SHA256), end: Vec::new(), length: 0 }
    }

    /// The bytes of the snapshot that the next ones of the answer hold.
    ///
    /// # Errors
    /// [`Damage`] if that is no part of a snapshot.
    pub fn push(&mut self, answer: &[u8]) -> Result<Vec<u8>, Damage> {
        let bytes = match self.form {
            Form::Raw => answer.to_vec(),
            Form::Gateway => self.lines(answer)?,
        };
        self.length += bytes.len() as u64;
        if self.length > MOST {
            return Err(Damage::TooLong);
        }
        self.end.extend_from_slice(&bytes);
        let sure = self.end.len().saturating_sub(DIGEST);
        self.digest.update(self.end.get(..sure).unwrap_or_default());
        self.end.drain(..sure);
        Ok(bytes)
    }

    fn lines(&mut self, answer: &[u8]) -> Result<Vec<u8>, Damage> {
        let mut bytes = Vec::new();
        for part in answer.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if self.line.len() > LINE_LIMIT {
                return Err(Damage::Unreadable);
            }
            if part.ends_with(b"\n") {
                bytes.extend(piece(&std::mem::take(&mut self.line))?);
            }
        }
        Ok(bytes)
    }

    /// Nothing more comes: the length of the snapshot, and its digest in hexadecimal digits.
    ///
    /// # Errors
    /// [`Damage`] unless it is whole and as it was sent.
    pub fn finish(self) -> Result<(u64, String), Damage> {
        // A line without an end is one that was cut off, or what a program said that is no answer.
        if self.length == 0 && !self.line.is_empty() {
            piece(&self.line)?;
        }
        if self.length <= PAGE || self.length % PAGE != DIGEST as u64 || !self.line.is_empty() {
            return Err(Damage::CutOff(self.length));
        }
        let digest = self.digest.finish();
        if digest.as_ref() == self.end { Ok((self.length, hex::encode(digest))) } else { Err(Damage::Differs) }
    }
}

fn piece(line: &[u8]) -> Result<Vec<u8>, Damage> {
    let line: Line = serde_json::from_slice(line).map_err(|_| Damage::Unreadable)?;
    match line {
        Line { error: Some(fault), .. } => Err(Damage::Said(fault.message)),
        Line { result: Some(piece), .. } => STANDARD.decode(piece.blob).map_err(|_| Damage::Unreadable),
        Line { result: None, .. } => Err(Damage::Unreadable),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

    use aws_lc_rs::digest::digest;

    use super::*;

    fn snapshot(pages: usize) -> Vec<u8> {
        let data: Vec<u8> = (0..pages * 512).map(|index| (index % 251) as u8).collect();
        let end = digest(&SHA256, &data);
        [data.as_slice(), end.as_ref()].concat()
    }

    /// As etcd's gateway writes it: pieces, and the digest in a piece of its own.
    fn in_lines(snapshot: &[u8]) -> Vec<u8> {
        let (data, end) = snapshot.split_at(snapshot.len() - DIGEST);
        let pieces = data.chunks(1000).chain([end]);
        let line = |piece: &[u8]| format!("{{\"result\":{{\"remaining_bytes\":\"9\",\"blob\":\"{}\"}}}}\n", STANDARD.encode(piece));
        pieces.flat_map(|piece| line(piece).into_bytes()).collect()
    }

    /// However it is cut on its way.
    fn decoded(form: Form, answer: &[u8], cut: usize) -> Result<(Vec<u8>, u64), Damage> {
        let mut decoder = Decoder::new(form);
        let mut bytes = Vec::new();
        for part in answer.chunks(cut) {
            bytes.extend(decoder.push(part)?);
        }
        decoder.finish().map(|(length, _)| (bytes, length))
    }

    #[test]
    fn both_forms_give_the_same_bytes() {
        let snapshot = snapshot(20);
        for cut in [1, 7, 513, 100_000] {
            let expected = Ok((snapshot.clone(), snapshot.len() as u64));
            assert_eq!(decoded(Form::Raw, &snapshot, cut), expected);
            assert_eq!(decoded(Form::Gateway, &in_lines(&snapshot), cut), expected);
        }
    }

    #[test]
    fn what_is_not_whole_or_was_changed_is_no_snapshot() {
        let whole = snapshot(20);
        for left in [0, 31, 32, 544, whole.len() - 512, whole.len() - 32, whole.len() - 1] {
            let cut = whole.get(..left).unwrap();
            let damage = decoded(Form::Raw, cut, 100).unwrap_err();
            let at_a_page = left > 512 && left % 512 == 32;
            assert_eq!(damage, if at_a_page { Damage::Differs } else { Damage::CutOff(left as u64) }, "{left}");
        }
        let lines = in_lines(&whole);
        assert!(matches!(decoded(Form::Gateway, lines.get(..lines.len() - 1).unwrap(), 100), Err(Damage::CutOff(_))));
        let mut changed = whole;
        changed[700] ^= 1;
        assert_eq!(decoded(Form::Raw, &changed, 100), Err(Damage::Differs));
    }

    #[test]
    fn what_does_not_end_is_stopped() {
        let mut decoder = Decoder { length: MOST - 512, ..Decoder::new(Form::Raw) };
        assert!(decoder.push(&[0; 512]).is_ok(), "all of the most may come");
        assert_eq!(decoder.push(&[0]), Err(Damage::TooLong));
    }

    #[test]
    fn what_was_said_instead_is_told() {
        let said = |answer: &str| decoded(Form::Gateway, answer.as_bytes(), 10).unwrap_err();
        assert_eq!(said("{\"error\":{\"code\":14,\"message\":\"no leader\"}}\n"), Damage::Said("no leader".to_owned()));
        for wrong in ["error: no\n", "{}\n", "{\"result\":{\"blob\":\"?\"}}\n", "no line"] {
            assert_eq!(said(wrong), Damage::Unreadable, "{wrong}");
        }
        assert_eq!(said(&"x".repeat(LINE_LIMIT + 1)), Damage::Unreadable);
    }
}
