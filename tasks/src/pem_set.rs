//! Public keys, or certificates of authorities, one after the other in a file of PEM, while one of them takes the place of another. A line before each says
//! what it is there for, which no reader of PEM minds; so a host says by this one file how far it has come.

const NEXT: &str = "# kokctl: signs next";
const BEFORE: &str = "# kokctl: has signed before";

/// What one of them is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The private key beside the file is its own: it signs.
    Signs,
    /// It is to sign when everybody knows it.
    Next,
    /// It has signed what may be in use.
    Before,
    /// Somebody else has put it there.
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    pem: String,
    part: Part,
}

/// Those of a file, in its order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PemSet(Vec<Entry>);

impl PemSet {
    /// Those of a file. Of the keys of which it says nothing the first is the one that signs, as kubeadm has it.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let (mut keys, mut mark, mut block): (Vec<Entry>, _, Option<String>) = (Vec::new(), None, None);
        for line in text.lines().map(str::trim) {
            match &mut block {
                None if line == NEXT => mark = Some(Part::Next),
                None if line == BEFORE => mark = Some(Part::Before),
                None if line.starts_with("-----BEGIN ") => block = Some(format!("{line}\n")),
                None => {}
                Some(pem) => {
                    pem.push_str(line);
                    pem.push('\n');
                    if line.starts_with("-----END ") {
                        let signs = keys.iter().any(|key| key.part == Part::Signs);
                        let part = mark.take().unwrap_or(if signs { Part::Other } else { Part::Signs });
                        keys.push(Entry { pem: std::mem::take(pem), part });
                        block = None;
                    }
                }
            }
        }
        Self(keys)
    }

    /// What stands in the file.
    #[must_use]
    pub fn text(&self) -> String {
        let mark = |part: Part| match part {
            Part::Signs | Part::Other => String::new(),
            Part::Next => format!("{NEXT}\n"),
            Part::Before => format!("{BEFORE}\n"),
        };
        self.0.iter().map(|key| mark(key.part) + &key.pem).collect()
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|entry| entry.pem.as_str())
    }

    fn pems_of(&self, part: Part) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |key| key.part == part).map(|key| key.pem.as_str())
    }

    /// The one that signs.
    #[must_use]
    pub fn signer(&self) -> Option<&str> {
        self.pems_of(Part::Signs).next()
    }

    /// Those that have signed before, and are taken still.
    pub fn before(&self) -> impl Iterator<Item = &str> {
        self.pems_of(Part::Before)
    }

    /// Whether this one is known.
    #[must_use]
    pub fn has(&self, pem: &str) -> bool {
        self.0.iter().any(|key| is_same(&key.pem, pem))
    }

    /// Whether it has signed before.
    #[must_use]
    pub fn has_before(&self, pem: &str) -> bool {
        self.before().any(|before| is_same(before, pem))
    }

    /// Whether this one is to sign next.
    #[must_use]
    pub fn is_next(&self, pem: &str) -> bool {
        self.pems_of(Part::Next).any(|next| is_same(next, pem))
    }

    /// Whether one is to sign next.
    #[must_use]
    pub fn has_next(&self) -> bool {
        self.pems_of(Part::Next).next().is_some()
    }

    /// Whether one is being replaced by another one, as far as this file says.
    #[must_use]
    pub fn is_under_way(&self) -> bool {
        self.0.iter().any(|key| matches!(key.part, Part::Next | Part::Before))
    }

    /// The same with those of another file that are not here.
    #[must_use]
    pub fn joined(&self, other: &Self) -> Self {
        let others = other.0.iter().filter(|entry| !self.has(&entry.pem)).cloned();
        Self(self.0.iter().cloned().chain(others).collect())
    }

    /// The same with a key that is to sign next. Another one that was to do so stays: a run that was killed may have left its private key on a host, which
    /// signs with it from its next start on.
    #[must_use]
    pub fn with_next(&self, new: &str) -> Self {
        let new = (!self.has(new)).then(|| Entry { pem: lines(new), part: Part::Next });
        Self(self.0.iter().cloned().chain(new).collect())
    }

    /// The same where this key signs. The one that did has signed before, and another one that was to do so may have.
    #[must_use]
    pub fn signing_with(&self, new: &str) -> Self {
        let others = self.0.iter().filter(|key| !is_same(&key.pem, new));
        let others =
            others.map(|key| Entry { pem: key.pem.clone(), part: if key.part == Part::Other { Part::Other } else { Part::Before } });
        Self([Entry { pem: lines(new), part: Part::Signs }].into_iter().chain(others).collect())
    }

    /// The same without those that have signed before, and those that were to sign.
    #[must_use]
    pub fn alone(&self) -> Self {
        Self(self.0.iter().filter(|key| matches!(key.part, Part::Signs | Part::Other)).cloned().collect())
    }
}

fn lines(pem: &str) -> String {
    pem.trim().lines().map(|line| format!("{}\n", line.trim())).collect()
}

fn is_same(one: &str, other: &str) -> bool {
    one.split_whitespace().eq(other.split_whitespace())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use super::*;

    fn pem(letter: &str) -> String {
        format!("-----BEGIN PUBLIC KEY-----\n{letter}\n-----END PUBLIC KEY-----\n")
    }

    #[test]
    fn the_way_from_one_key_to_the_next() {
        let (a, b, c) = (pem("AAAA"), pem("BBBB"), pem("CCCC"));
        let steady = PemSet::parse(&a);
        assert_eq!((steady.text(), steady.is_under_way()), (a.clone(), false));
        let known = steady.with_next(&b);
        assert_eq!(known.text(), format!("{a}{NEXT}\n{b}"));
        let twice = known.with_next(&c);
        assert_eq!(twice.text(), format!("{a}{NEXT}\n{b}{NEXT}\n{c}"), "a host may have the one before");
        assert_eq!(twice.signing_with(&c).text(), format!("{c}{BEFORE}\n{a}{BEFORE}\n{b}"));
        assert_eq!(twice.signing_with(&c).alone().text(), c);
        let signs = known.signing_with(&b);
        assert_eq!(signs.text(), format!("{b}{BEFORE}\n{a}"));
        assert_eq!((signs.with_next(&b), signs.signing_with(&b)), (signs.clone(), signs.clone()), "what is done stays");
        assert_eq!(signs.alone().text(), b);
        for keys in [steady, known, signs] {
            assert_eq!(PemSet::parse(&keys.text()), keys);
        }
    }

    /// Another one before the last one is gone, and one that somebody else has put there.
    #[test]
    fn what_others_have_put_there_stays() {
        let (a, b, c) = (pem("AAAA"), pem("BBBB"), pem("CCCC"));
        let all = PemSet::parse(&format!("some words\r\n{a}\n\n{b}"));
        assert_eq!(all.signer(), Some(a.as_str()));
        let signs = all.with_next(&c).signing_with(&c);
        assert_eq!(signs.text(), format!("{c}{BEFORE}\n{a}{b}"));
        assert_eq!(signs.alone().text(), format!("{c}{b}"));
        assert!(signs.has(a.trim()) && signs.has_before(&a) && !signs.has_before(&b) && !signs.has(&pem("DDDD")));
        assert_eq!(PemSet::parse("").signer(), None);
        assert_eq!(PemSet::parse("-----BEGIN PUBLIC KEY-----\nAAAA").signer(), None, "it was cut off");
    }
}
