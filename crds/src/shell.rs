//! A command line split into words as a POSIX shell does it, where every character keeps its place.
//!
//! What a shell would replace or run is a fault: nothing here runs it, and to take `$x` for text would be to do something else.

/// Line and column in a text, counted from 1.
pub(crate) type At = (u64, u64);

/// A character of a word, and where it stands in the text.
#[derive(Clone, Copy)]
pub(crate) struct Letter {
    pub(crate) character: char,
    pub(crate) place: At,
    /// Whether quotes or a backslash protect it.
    quoted: bool,
}

/// A word without its quotes.
#[derive(Clone)]
pub(crate) struct Word {
    pub(crate) letters: Vec<Letter>,
    /// Where it begins, with its quotes.
    pub(crate) place: At,
}

impl Word {
    /// The word as text.
    pub(crate) fn text(&self) -> String {
        text(&self.letters)
    }
}

/// The letters of a text that no shell reads: each is itself.
pub(crate) fn letters(text: &str) -> Vec<Letter> {
    let placed = places(text).into_iter().rev();
    placed.map(|(character, place)| Letter { character, place, quoted: true }).collect()
}

/// Letters as text.
pub(crate) fn text(letters: &[Letter]) -> String {
    letters.iter().map(|letter| letter.character).collect()
}

/// What keeps a text from being split.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SplitFault {
    pub(crate) place: At,
    pub(crate) what: What,
}

/// Kinds of faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// A quote is opened and never closed.
    OpenQuote(char),
    /// The text ends with a backslash.
    LastBackslash,
    /// A shell would put something else in its place.
    Replaced(char),
    /// A shell would end the command or redirect it.
    Operator(char),
    /// A shell would not read what follows.
    Comment,
}

/// Splits a text, or says everything that keeps it from being split.
pub(crate) fn split(text: &str) -> Result<Vec<Word>, Vec<SplitFault>> {
    let mut splitter = Splitter { rest: places(text), words: Vec::new(), word: None, faults: Vec::new() };
    while let Some((character, place)) = splitter.next() {
        splitter.plain(character, place);
    }
    splitter.end_word();
    if splitter.faults.is_empty() { Ok(splitter.words) } else { Err(splitter.faults) }
}

type Placed = (char, At);

/// The characters with their places, the last first.
fn places(text: &str) -> Vec<Placed> {
    let (mut line, mut column) = (1, 1);
    let mut placed: Vec<Placed> = Vec::new();
    for character in text.chars() {
        placed.push((character, (line, column)));
        (line, column) = if character == '\n' { (line + 1, 1) } else { (line, column + 1) };
    }
    placed.reverse();
    placed
}

struct Splitter {
    rest: Vec<Placed>,
    words: Vec<Word>,
    word: Option<Word>,
    faults: Vec<SplitFault>,
}

impl Splitter {
    fn next(&mut self) -> Option<Placed> {
        self.rest.pop()
    }

    fn plain(&mut self, character: char, place: At) {
        match character {
            ' ' | '\t' | '\n' => self.end_word(),
            '\'' => self.single(place),
            '"' => self.double(place),
            '\\' => match self.next() {
                Some(('\n', _)) => {}
                Some((escaped, _)) => self.push(escaped, place, true),
                None => self.fault(place, What::LastBackslash),
            },
            '#' if self.word.is_none() => {
                self.fault(place, What::Comment);
                while self.next().is_some_and(|(character, _)| character != '\n') {}
            }
            ';' | '|' | '&' | '<' | '>' | '(' | ')' => {
                self.end_word();
                // `&&` is one.
                while self.rest.last().is_some_and(|(next, _)| *next == character) {
                    self.next();
                }
                self.fault(place, What::Operator(character));
            }
            _ if self.is_replaced(character) => self.replaced(character, place),
            _ => self.push(character, place, false),
        }
    }

    fn single(&mut self, opened: At) {
        self.begin_word(opened);
        loop {
            match self.next() {
                Some(('\'', _)) => return,
                Some((character, place)) => self.push(character, place, true),
                None => return self.fault(opened, What::OpenQuote('\'')),
            }
        }
    }

    fn double(&mut self, opened: At) {
        self.begin_word(opened);
        loop {
            match self.next() {
                Some(('"', _)) => return,
                Some(('\\', place)) => match self.next() {
                    Some(('\n', _)) => {}
                    Some((escaped @ ('$' | '`' | '"' | '\\'), _)) => self.push(escaped, place, true),
                    Some((other, after)) => {
                        self.push('\\', place, true);
                        self.push(other, after, true);
                    }
                    None => return self.fault(opened, What::OpenQuote('"')),
                },
                Some((character, place)) if self.is_replaced(character) => self.replaced(character, place),
                Some((character, place)) => self.push(character, place, true),
                None => return self.fault(opened, What::OpenQuote('"')),
            }
        }
    }

    /// Whether the character begins something that a shell replaces; a `$` before anything but a name or a bracket is only a `$`.
    fn is_replaced(&self, character: char) -> bool {
        let begins = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '{' | '(' | '?' | '$' | '!' | '@' | '*' | '#' | '-');
        character == '`' || (character == '$' && self.rest.last().is_some_and(|(next, _)| begins(*next)))
    }

    fn replaced(&mut self, character: char, place: At) {
        self.fault(place, What::Replaced(character));
        // The other one of a pair of backquotes is no fault of its own, nor is what stands between them.
        if character == '`' {
            while self.next().is_some_and(|(character, _)| character != '`') {}
        }
    }

    fn begin_word(&mut self, place: At) -> &mut Word {
        self.word.get_or_insert_with(|| Word { letters: Vec::new(), place })
    }

    fn push(&mut self, character: char, place: At, quoted: bool) {
        self.begin_word(place).letters.push(Letter { character, place, quoted });
    }

    fn fault(&mut self, place: At, what: What) {
        self.faults.push(SplitFault { place, what });
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        if let Some(brace) = braces(&word.letters) {
            self.fault(brace.place, What::Replaced('{'));
        }
        self.words.push(word);
    }
}

/// The first brace of `{a,b}` or `{1..3}` without quotes, which bash makes several words of.
fn braces(letters: &[Letter]) -> Option<&Letter> {
    let bare = |letter: &Letter, character| !letter.quoted && letter.character == character;
    let open = letters.iter().position(|letter| bare(letter, '{'))?;
    let inside = letters.get(open..)?;
    let close = inside.iter().position(|letter| bare(letter, '}'))?;
    let inside = inside.get(..close)?;
    let is_list = inside.iter().any(|letter| bare(letter, ','));
    let is_range = inside.windows(2).any(|pair| pair.iter().all(|letter| bare(letter, '.')));
    if is_list || is_range { inside.first() } else { None }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{What, split};

    fn words(text: &str) -> Option<Vec<String>> {
        split(text).ok().map(|words| words.iter().map(super::Word::text).collect())
    }

    fn fault(text: &str) -> Option<((u64, u64), What)> {
        split(text).err()?.into_iter().next().map(|fault| (fault.place, fault.what))
    }

    #[test]
    fn faults_know_their_place() {
        assert_eq!(fault("a 'b"), Some(((1, 3), What::OpenQuote('\''))));
        assert_eq!(fault("a\n \"b"), Some(((2, 2), What::OpenQuote('"'))));
        assert_eq!(fault("a\\"), Some(((1, 2), What::LastBackslash)));
        assert_eq!(fault("a \"b$c\""), Some(((1, 5), What::Replaced('$'))));
        assert_eq!(fault("é `c`"), Some(((1, 3), What::Replaced('`'))));
        assert_eq!(fault("a {b,c}"), Some(((1, 3), What::Replaced('{'))));
        assert_eq!(fault("a && b"), Some(((1, 3), What::Operator('&'))));
        assert_eq!(fault("a # b"), Some(((1, 3), What::Comment)));
        assert_eq!(split("$a `b` c; 'd").err().map(|faults| faults.len()), Some(4));
    }

    #[test]
    fn what_is_no_fault_stays() {
        let literal = |text: &str, expected: &[&str]| {
            assert_eq!(words(text), Some(expected.iter().map(|word| (*word).to_owned()).collect()), "{text}");
        };
        literal("a$ \"b$\" '$c `d` {e,f}' g#h '' \\$i", &["a$", "b$", "$c `d` {e,f}", "g#h", "", "$i"]);
        literal("{a} \\{b,c} {d \"e,f\"} *.yml", &["{a}", "{b,c}", "{d", "e,f}", "*.yml"]);
        literal("a\\\nb \"c\\\nd\\e\"", &["ab", "cd\\e"]);
    }

    proptest! {
        /// Where a shell would replace nothing, the words are those of a crate that others rely on; but it makes an empty word of a
        /// line that is continued, and shells make none.
        #[test]
        fn words_are_those_of_others(text in "[a-c=\\\\'\" \t\n#$`{},.;&-]{0,24}") {
            if let Some(words) = words(&text).filter(|_| !text.contains("\\\n")) {
                prop_assert_eq!(Some(words), shlex::split(&text));
            }
        }

        /// What others quote comes out as it went in, each word with a place.
        #[test]
        fn quoted_words_come_back(expected in proptest::collection::vec("[^\0]{0,12}", 0..6)) {
            let line = shlex::try_join(expected.iter().map(String::as_str)).unwrap_or_default();
            prop_assert_eq!(words(&line), Some(expected));
        }

        #[test]
        fn places_are_those_of_the_letters(text in "[a-z' \n\"é]{0,40}") {
            let lines: Vec<Vec<char>> = text.split('\n').map(|line| line.chars().collect()).collect();
            for letter in split(&text).unwrap_or_default().iter().flat_map(|word| &word.letters).filter(|letter| letter.character != '\n') {
                let (line, column) = letter.place;
                let index = |number: u64| usize::try_from(number - 1).unwrap_or(usize::MAX);
                prop_assert_eq!(lines.get(index(line)).and_then(|line| line.get(index(column))), Some(&letter.character));
            }
        }
    }
}
