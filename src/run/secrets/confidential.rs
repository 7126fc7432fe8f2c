//! What must stand in no text that leaves the program.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};

use zeroize::Zeroizing;

/// The confidential values of documents, found in a text in one pass however many there are: hosts say much, and a run of a hundred hosts has
/// tens of thousands of values.
pub(super) struct Confidential {
    /// By the hash of their first [`SHORTEST`] bytes, so that no part of them stands where it is not wiped; the longest of those that begin alike
    /// comes first.
    by_beginning: HashMap<u64, Vec<Zeroizing<String>>>,
    hasher: RandomState,
}

/// What stands where a value stood.
const INSTEAD: &str = "[secret]";

/// Length of a token, six and sixteen letters with a point between; what else is confidential is longer.
const SHORTEST: usize = 23;

impl Confidential {
    /// Those of these documents. They are never printed whole; what could be is one of their values, of which kubeconfigs that were issued may
    /// have all on one line.
    pub(super) fn from_documents<'a>(documents: impl Iterator<Item = &'a str>) -> Self {
        let ends_value = |letter: char| letter.is_whitespace() || AROUND_VALUES.contains(&letter);
        let hasher = RandomState::new();
        let mut by_beginning: HashMap<_, Vec<Zeroizing<String>>> = HashMap::new();
        for value in documents.flat_map(|document| document.split(ends_value)).filter(|value| is_confidential(value)) {
            let Some(beginning) = value.as_bytes().get(..SHORTEST) else { continue };
            by_beginning.entry(hasher.hash_one(beginning)).or_default().push(Zeroizing::new(value.to_owned()));
        }
        // Once for all: each certificate in a kubeconfig begins as all others do, and there are thousands.
        for alike in by_beginning.values_mut() {
            alike.sort_unstable_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.as_str().cmp(other)));
            alike.dedup();
        }
        Self { by_beginning, hasher }
    }

    /// `text` with `[secret]` in place of each of them.
    pub(super) fn redact(&self, text: &str) -> String {
        let (mut redacted, mut kept, mut at) = (String::with_capacity(text.len()), 0, 0);
        while let Some(window) = text.as_bytes().get(at..at + SHORTEST).filter(|_| !self.by_beginning.is_empty()) {
            // Values are ASCII, so what begins like one begins and ends between characters.
            match self.by_beginning.get(&self.hasher.hash_one(window)).and_then(|alike| longest(alike, text, at)) {
                Some(value) => {
                    redacted.push_str(text.get(kept..at).unwrap_or_default());
                    redacted.push_str(INSTEAD);
                    at += value.len();
                    kept = at;
                }
                None => at += 1,
            }
        }
        redacted.push_str(text.get(kept..).unwrap_or_default());
        redacted
    }
}

fn longest<'a>(alike: &'a [Zeroizing<String>], text: &str, at: usize) -> Option<&'a Zeroizing<String>> {
    alike.iter().find(|value| text.as_bytes().get(at..).is_some_and(|rest| rest.starts_with(value.as_bytes())))
}

/// What stands around a value of YAML or JSON on its line, beside blanks. No token has it, nor base64.
const AROUND_VALUES: [char; 7] = ['"', '\'', ',', '{', '}', '[', ']'];

/// Whether a value of a document is a token or a piece of base64; what stands beside it (paths, addresses, kinds) is worth reading in a
/// message. No word of the documents has 24 letters.
fn is_confidential(value: &str) -> bool {
    let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let is_base64 = value.len() >= 24 && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte));
    is_base64
        || matches!(value.split_once('.'), Some((id, secret)) if id.len() == 6 && secret.len() == 16 && is_plain(id) && is_plain(secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: &str = "MHcCAQEEIIr0fPq3vQf4G0y4m2Pq0n8w3l1s6y7u8i9o0p1a2s3d";

    #[test]
    fn each_value_goes_wherever_it_stands() {
        let (short, other) = (&LONG[..24], LONG.replace('H', "h"));
        let of =
            Confidential::from_documents([format!("a: {short}\nb: \"{LONG}\"\n"), format!("{other} {other}")].iter().map(String::as_str));
        for (text, expected) in [
            (LONG.to_owned(), "[secret]".to_owned()),
            (format!("x{short}y"), "x[secret]y".to_owned()),
            (format!("ä{LONG}{short}ö {other}"), "ä[secret][secret]ö [secret]".to_owned()),
            (format!("{}-", &LONG[..23]), format!("{}-", &LONG[..23])),
            (String::new(), String::new()),
        ] {
            assert_eq!(of.redact(&text), expected);
        }
        assert_eq!(Confidential::from_documents([""].into_iter()).redact(LONG), LONG);
    }

    /// The time of one pass, not of one pass for each value: with these numbers the latter takes minutes.
    #[test]
    fn many_values_cost_no_more_than_few() {
        let values: Vec<String> = (0..60_000).map(|number| format!("{number:064}")).collect();
        let of = Confidential::from_documents(values.iter().map(String::as_str));
        let text = format!("{} {:064} {}", "no secret ".repeat(100_000), 59_999, "no secret ".repeat(100_000));
        assert!(of.redact(&text).contains(" [secret] "));
    }
}
