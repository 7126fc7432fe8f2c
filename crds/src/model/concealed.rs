//! What was encrypted in a user's files, so that nothing that leaves the program repeats it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

use crate::Position;
use crate::hide::HIDDEN;

/// Shorter secrets are parts of too many words to be looked for everywhere.
const SHORTEST: usize = 4;

/// Words that say something in every file of configuration, and nothing of a secret.
const WORDS: [&str; 6] = ["true", "false", "null", "none", "root", "http"];

/// Texts that were encrypted, found in another text in one pass however many there are.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Concealed {
    /// By how they begin; the longest of those that begin alike comes first.
    by_beginning: BTreeMap<[u8; SHORTEST], Vec<Zeroizing<String>>>,
    places: BTreeSet<Position>,
}

impl fmt::Debug for Concealed {
    /// Without the texts.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Concealed").field("places", &self.places).finish_non_exhaustive()
    }
}

impl Concealed {
    /// These texts.
    pub(crate) fn new<'t>(texts: impl Iterator<Item = &'t str>) -> Self {
        let mut concealed = Self::default();
        concealed.also(texts);
        concealed
    }

    /// Conceals these texts too.
    pub fn also<'t>(&mut self, texts: impl Iterator<Item = &'t str>) {
        for text in texts {
            // A file shows a text line by line, and a difference has a sign before each of them.
            text.lines().chain([text]).map(str::trim).for_each(|text| self.add(text));
        }
    }

    /// The same, with the places whose values are made of what is encrypted.
    pub(crate) fn at(self, places: BTreeSet<Position>) -> Self {
        Self { places, ..self }
    }

    /// A text in every form in which files of configuration write it.
    fn add(&mut self, text: &str) {
        if text.len() < SHORTEST || WORDS.contains(&text.to_ascii_lowercase().as_str()) {
            return;
        }
        let escaped = serde_json::to_string(text).unwrap_or_default();
        let escaped = escaped.trim_start_matches('"').strip_suffix('"').unwrap_or_default();
        for form in [text, escaped, &text.replace('%', "%%"), &STANDARD.encode(text)] {
            let Some(beginning) = form.as_bytes().first_chunk() else { continue };
            let alike = self.by_beginning.entry(*beginning).or_default();
            if !alike.iter().any(|known| known.as_str() == form) {
                alike.push(Zeroizing::new(form.to_owned()));
                alike.sort_by_key(|form| std::cmp::Reverse(form.len()));
            }
        }
    }

    /// `text` with `(hidden)` in place of each of them.
    #[must_use]
    pub fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let (mut shown, mut kept, mut at) = (String::new(), 0, 0);
        while let Some(beginning) = text.as_bytes().get(at..).and_then(<[u8]>::first_chunk).filter(|_| !self.by_beginning.is_empty()) {
            let rest = text.as_bytes().get(at..).unwrap_or_default();
            let found = self.by_beginning.get(beginning).and_then(|alike| alike.iter().find(|form| rest.starts_with(form.as_bytes())));
            // What begins like a text begins between two characters, as that does.
            match found {
                Some(form) => {
                    shown.push_str(text.get(kept..at).unwrap_or_default());
                    shown.push_str(HIDDEN);
                    at += form.len();
                    kept = at;
                }
                None => at += 1,
            }
        }
        if kept == 0 {
            return Cow::Borrowed(text);
        }
        shown.push_str(text.get(kept..).unwrap_or_default());
        Cow::Owned(shown)
    }

    /// Whether what counts at a place of the files is encrypted there or elsewhere, so that whoever reads the file does not see it.
    #[must_use]
    pub fn is_encrypted_at(&self, position: &Position) -> bool {
        self.places.contains(position)
    }
}

#[cfg(test)]
mod tests {
    use super::Concealed;

    #[test]
    fn each_text_goes_in_every_form() {
        let of = Concealed::new(["p%ss \"wörd\"", "two\nlines of it\n", "abc", "True", "p%ss"].into_iter());
        for (text, expected) in [
            ("x p%ss \"wörd\" y", "x (hidden) y"),
            ("äp%ssö", "ä(hidden)ö"),
            ("\"a\": \"p%ss \\\"wörd\\\"\"", "\"a\": \"(hidden)\""),
            ("Environment=A=p%%ss", "Environment=A=(hidden)"),
            ("password: cCVzcw==", "password: (hidden)"),
            ("+ lines of it\n- lines of", "+ (hidden)\n- lines of"),
            ("abc true two", "abc true two"),
            ("", ""),
        ] {
            assert_eq!(of.hide(text), expected);
        }
        assert_eq!(Concealed::default().hide("p%ss"), "p%ss");
    }
}
