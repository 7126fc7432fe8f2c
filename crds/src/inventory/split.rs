//! Text split into words as Python's `shlex` does it, by which Ansible reads hosts of INI inventories and options of ssh.
//!
//! It is a shell's rule without anything that a shell would replace or run.

/// Whether `#` begins a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comments {
    /// It is a character as any other.
    None,
    /// It does outside of quotes, even inside of a word.
    Hash,
}

/// A word without its quotes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct InventoryWord {
    pub(crate) text: String,
    /// Column of its first character, with its quotes, counted from 1.
    pub(crate) column: usize,
    /// Whether a comment begins in the middle of what looks like one word.
    pub(crate) is_cut: bool,
}

/// Splits a line; the column of a quote that is opened and not closed, or of a last backslash, is the error.
pub(crate) fn split(line: &str, comments: Comments) -> Result<Vec<InventoryWord>, usize> {
    let mut words = Vec::new();
    let mut word: Option<InventoryWord> = None;
    let mut rest = line.chars().zip(1..);
    while let Some((c, column)) = rest.next() {
        match c {
            c if c.is_ascii_whitespace() => words.extend(word.take()),
            '#' if comments == Comments::Hash => {
                word = word.map(|word| InventoryWord { is_cut: true, ..word });
                break;
            }
            _ => {
                let word = word.get_or_insert_with(|| InventoryWord { text: String::new(), column, is_cut: false });
                take(c, column, &mut rest, &mut word.text)?;
            }
        }
    }
    words.extend(word);
    Ok(words)
}

/// Takes one character with what belongs to it: all that a quote holds, or what a backslash protects.
fn take(c: char, column: usize, rest: &mut impl Iterator<Item = (char, usize)>, text: &mut String) -> Result<(), usize> {
    match c {
        '\\' => text.push(rest.next().ok_or(column)?.0),
        '\'' | '"' => loop {
            match rest.next().ok_or(column)?.0 {
                end if end == c => break,
                // Inside of double quotes a backslash protects them and itself.
                '\\' if c == '"' => {
                    let next = rest.next().ok_or(column)?.0;
                    if !matches!(next, '"' | '\\') {
                        text.push('\\');
                    }
                    text.push(next);
                }
                other => text.push(other),
            }
        },
        other => text.push(other),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Comments, InventoryWord, split};

    fn words(line: &str, comments: Comments) -> String {
        let shown = |word: InventoryWord| format!("{}@{}{}", word.text, word.column, if word.is_cut { "!" } else { "" });
        match split(line, comments) {
            Ok(words) => words.into_iter().map(shown).collect::<Vec<_>>().join("|"),
            Err(column) => format!("open@{column}"),
        }
    }

    #[test]
    fn words_quotes_and_comments() {
        for (line, expected) in [
            ("", ""),
            ("a  b", "a@1|b@4"),
            ("a x='1 2'y", "a@1|x=1 2y@3"),
            (r#"a x="1 \" \n \\""#, r#"a@1|x=1 " \n \@3"#),
            (r"a\ b", "a b@1"),
            ("''", "@1"),
            ("a # b", "a@1"),
            ("a x=1#b", "a@1|x=1@3!"),
            ("a x='1#b'", "a@1|x=1#b@3"),
            ("a 'b", "open@3"),
            ("a \"b", "open@3"),
            ("a\\", "open@2"),
        ] {
            assert_eq!(words(line, Comments::Hash), expected, "{line}");
        }
        assert_eq!(words("a x=1#b", Comments::None), "a@1|x=1#b@3");
    }
}
