//! `-e "name=value other='a b'"`: a line of its own syntax inside of the shell's. Its values are text, whatever they look like.

use super::extra_vars::{ExtraVar, wrong_name};
use super::options::OptionValue;
use crate::Problem;
use crate::decode::Decoder;
use crate::shell::{Letter, text};
use crate::tree::{Node, Value};

/// The pairs in the value of an `-e`.
pub(super) fn read(given: &OptionValue<'_>, decoder: &mut Decoder) -> Vec<ExtraVar> {
    let tokens = match split(given.letters) {
        Ok(tokens) => tokens,
        Err(open) => {
            let problem = Problem::new("the value of `-e` ends within quotes or brackets").at(&given.at(open.place));
            decoder.report(
                problem.because("what is opened here is not closed").hint("close it, or put a `\\` before a quote that is meant as such"),
            );
            return Vec::new();
        }
    };
    tokens.into_iter().filter_map(|token| pair(&token, given, decoder)).collect()
}

fn pair(token: &[Letter], given: &OptionValue<'_>, decoder: &mut Decoder) -> Option<ExtraVar> {
    let letters = unescaped(token);
    let begin = given.at(letters.first()?.place);
    // The text itself is not repeated: it may be the second word of a password.
    let Some(equals) = equals_sign(&letters) else {
        let problem = Problem::new("a word of the value of `-e` is no `name=value`").at(&begin);
        decoder.report(
            problem.because("`-e` takes `name=value`, `{…}` or `@file`").hint("put a value with spaces in quotes: -e \"name='two words'\""),
        );
        return None;
    };
    let (name, value) = (letters.get(..equals)?, letters.get(equals + 1..)?);
    let name = text(name).trim().to_owned();
    if let Some(problem) = wrong_name(&name) {
        decoder.report(problem.at(&begin));
        return None;
    }
    let value = unquoted(trimmed(value));
    let position = value.first().map_or(begin, |letter| given.at(letter.place));
    let node = Node::new(Value::Text(text(value)), position.clone());
    Some(ExtraVar { name, position, untyped: true, node })
}

/// The first `=` that is neither the first character nor behind a backslash.
fn equals_sign(letters: &[Letter]) -> Option<usize> {
    let pairs = letters.windows(2).enumerate();
    let found = pairs.map(|(index, pair)| (index + 1, pair)).find(|(_, pair)| match pair {
        [before, sign] => sign.character == '=' && before.character != '\\',
        _ => false,
    });
    found.map(|(index, _)| index)
}

/// Splits at spaces outside of quotes and of Jinja's brackets, or says what is left open.
fn split(letters: &[Letter]) -> Result<Vec<Vec<Letter>>, Letter> {
    let mut tokens = Vec::new();
    let mut token: Vec<Letter> = Vec::new();
    let mut quote: Option<Letter> = None;
    let mut brackets: Vec<Letter> = Vec::new();
    for (index, letter) in letters.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|index| letters.get(index)).map(|letter| letter.character);
        let next = letters.get(index + 1).map(|letter| letter.character);
        match (quote, letter.character) {
            (None, ' ' | '\n') if brackets.is_empty() => {
                tokens.push(std::mem::take(&mut token));
                continue;
            }
            (None, '\'' | '"') if before != Some('\\') => quote = Some(*letter),
            (Some(open), character) if character == open.character && before != Some('\\') => quote = None,
            (None, '{') if before == Some('{') || matches!(next, Some('%' | '#')) => brackets.push(*letter),
            (None, '}') if before == Some('}') || matches!(before, Some('%' | '#')) => _ = brackets.pop(),
            _ => {}
        }
        token.push(*letter);
    }
    tokens.push(token);
    tokens.retain(|token| !token.is_empty());
    match quote.or(brackets.last().copied()) {
        Some(open) => Err(open),
        None => Ok(tokens),
    }
}

/// Takes the escapes of Python out, as Ansible does; `\=` and other pairs that are none stay.
fn unescaped(token: &[Letter]) -> Vec<Letter> {
    let mut letters = Vec::new();
    let mut rest = token;
    while let Some((first, behind)) = rest.split_first() {
        let escape = if first.character == '\\' { escape(behind) } else { None };
        let (character, length) = escape.unwrap_or((first.character, 0));
        let mut letter = *first;
        letter.character = character;
        letters.push(letter);
        rest = behind.get(length..).unwrap_or_default();
    }
    letters
}

/// The character that an escape stands for, and how many characters follow its backslash.
fn escape(behind: &[Letter]) -> Option<(char, usize)> {
    let kind = behind.first()?.character;
    let hexadecimal = |length: usize| {
        let digits = text(behind.get(1..=length)?);
        let plain = digits.chars().all(|c| c.is_ascii_hexdigit());
        let code = u32::from_str_radix(&digits, 16).ok().filter(|_| plain)?;
        Some((char::from_u32(code)?, length + 1))
    };
    let simple = |character| Some((character, 1));
    match kind {
        '\\' | '\'' | '"' => simple(kind),
        'a' => simple('\u{7}'),
        'b' => simple('\u{8}'),
        'f' => simple('\u{c}'),
        'n' => simple('\n'),
        'r' => simple('\r'),
        't' => simple('\t'),
        'v' => simple('\u{b}'),
        'x' => hexadecimal(2),
        'u' => hexadecimal(4),
        'U' => hexadecimal(8),
        _ => None,
    }
}

fn trimmed(mut letters: &[Letter]) -> &[Letter] {
    while let [first, rest @ ..] = letters
        && first.character.is_whitespace()
    {
        letters = rest;
    }
    while let [rest @ .., last] = letters
        && last.character.is_whitespace()
    {
        letters = rest;
    }
    letters
}

/// Without the quotes around the whole.
fn unquoted(letters: &[Letter]) -> &[Letter] {
    match letters {
        [first, inner @ .., last]
            if first.character == last.character
                && matches!(first.character, '\'' | '"')
                && inner.last().is_none_or(|letter| letter.character != '\\') =>
        {
            inner
        }
        _ => letters,
    }
}
