//! What a text with braces is, before it is evaluated.
//!
//! The engine bounds how many steps a template takes, not how much memory a step takes. What could make much of little is refused here:
//! no variable that we know of needs it.

use crate::tree::is_template;

/// Longer than any template of Kubespray.
const MAX_BYTES: usize = 16 << 10;
/// Places at which texts are joined; each can double what it joins.
const MAX_JOINS: usize = 32;

/// Words and signs of one expression; the engine follows each of them on the stack.
const MAX_WORDS: usize = 400;
/// Statements inside of each other.
const MAX_BLOCKS: usize = 16;

/// Statements that change nothing but what is printed. Others bind names or call each other.
const STATEMENTS: [&str; 7] = ["if", "elif", "else", "endif", "for", "endfor", "raw"];

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Template<'a> {
    /// Text as it stands.
    Plain,
    /// A single expression; its value keeps its type.
    Expression(&'a str),
    /// Text with expressions in it.
    Mixed,
}

/// Says what a text is, or why it is not evaluated.
pub(super) fn scan(text: &str) -> Result<Template<'_>, String> {
    if !is_template(text) {
        return Ok(Template::Plain);
    }
    if text.len() > MAX_BYTES {
        return Err(format!("a template has at most {MAX_BYTES} bytes"));
    }
    let (mut rest, mut joins, mut blocks, mut whole) = (text, 0, 0_usize, None);
    while let Some((before, behind)) = next_opening(rest) {
        let kind = behind.chars().nth(1).unwrap_or_default();
        let inside = behind.get(2..).unwrap_or_default();
        let end = match kind {
            '#' => inside.find("#}"),
            '%' => end_of(inside, "%}"),
            _ => end_of(inside, "}}"),
        };
        let (body, after) =
            end.and_then(|end| Some((inside.get(..end)?, inside.get(end + 2..)?))).ok_or("a brace is opened and not closed")?;
        let body = body.trim_matches(['-', '+']).trim();
        if kind == '{' && before.is_empty() && after.is_empty() && rest.len() == text.len() {
            whole = Some(body);
        }
        rest = after;
        if kind == '%' && body == "raw" {
            rest = after_raw(after).ok_or("`{% raw %}` is opened and not closed")?;
        } else if kind != '#' {
            joins += check(body, kind == '%')?;
        }
        blocks = match keyword(body) {
            "if" | "for" if kind == '%' => blocks + 1,
            "endif" | "endfor" if kind == '%' => blocks.saturating_sub(1),
            _ => blocks,
        };
        if blocks > MAX_BLOCKS {
            return Err(format!("more than {MAX_BLOCKS} statements stand inside of each other"));
        }
    }
    if joins > MAX_JOINS {
        return Err(format!("a template joins texts at {MAX_JOINS} places at most"));
    }
    Ok(whole.map_or(Template::Mixed, Template::Expression))
}

/// What stands before the next opening, and from it on.
pub(super) fn next_opening(text: &str) -> Option<(&str, &str)> {
    let place = ["{{", "{%", "{#"].iter().filter_map(|opening| text.find(opening)).min()?;
    text.split_at_checked(place)
}

fn after_raw(text: &str) -> Option<&str> {
    let mut rest = text;
    while let Some((_, behind)) = rest.split_once("{%") {
        let (body, after) = behind.split_once("%}")?;
        if body.trim_matches(['-', '+']).trim() == "endraw" {
            return Some(after);
        }
        rest = behind;
    }
    None
}

/// Characters outside of quotes with their places.
fn bare(text: &str) -> impl Iterator<Item = (usize, char)> {
    let (mut quote, mut is_escaped) = (None, false);
    text.char_indices().filter(move |(_, c)| {
        let inside = quote;
        match (quote, *c) {
            (Some(_), _) if is_escaped => is_escaped = false,
            (Some(_), '\\') => is_escaped = true,
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => quote = Some(*c),
            _ => {}
        }
        inside.is_none() && quote.is_none()
    })
}

/// Where an expression ends: at the first closing that stands outside of quotes and of maps.
fn end_of(text: &str, closing: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (place, c) in bare(text) {
        let is_closing = text.get(place..).is_some_and(|rest| rest.starts_with(closing));
        match c {
            _ if is_closing && depth == 0 => return Some(place),
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

fn keyword(body: &str) -> &str {
    body.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default()
}

/// Words and signs outside of quotes.
fn words(body: &str) -> usize {
    let mut last = ' ';
    let begins = |c: char| {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let goes_on = c.is_whitespace() || (is_word(c) && is_word(last));
        last = c;
        !goes_on
    };
    bare(body).map(|(_, c)| c).map(begins).filter(|begins| *begins).count()
}

/// Refuses what could make much of little, and counts the places at which texts are joined.
fn check(body: &str, is_statement: bool) -> Result<usize, String> {
    let keyword = keyword(body);
    if words(body) > MAX_WORDS {
        return Err(format!("an expression has at most {MAX_WORDS} words and signs"));
    }
    if is_statement && !STATEMENTS.contains(&keyword) {
        let known = "if, for and raw are";
        return Err(format!("the statement `{}` is not evaluated in variables; {known}", keyword.escape_debug()));
    }
    if bare(body).any(|(_, c)| c == '*') {
        return Err("products are not evaluated in variables".to_owned());
    }
    let is_loop = is_statement && keyword == "for";
    if is_loop && body.contains("recursive") {
        return Err("loops that call themselves are not evaluated in variables".to_owned());
    }
    let (mut joins, mut depth) = (0, 0_usize);
    for (_, c) in bare(body) {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            '+' | '~' if is_loop && depth > 0 => return Err("what a loop goes over is a plain list, without sums in brackets".to_owned()),
            '+' | '~' => joins += 1,
            _ => {}
        }
    }
    Ok(joins)
}

#[cfg(test)]
mod tests {
    use super::{Template, scan};

    #[test]
    fn kinds_of_texts() {
        for (text, expected) in [
            ("", Template::Plain),
            ("a } b { c", Template::Plain),
            ("{{ a }}", Template::Expression("a")),
            ("{{- a -}}", Template::Expression("a")),
            ("{{ {'a': {'b': 1}} }}", Template::Expression("{'a': {'b': 1}}")),
            ("{{ '}}' }}", Template::Expression("'}}'")),
            ("{{ 'it\\'s }}' }}", Template::Expression("'it\\'s }}'")),
            ("{{ a }}{{ b }}", Template::Mixed),
            (" {{ a }}", Template::Mixed),
            ("{{ a }}\n", Template::Mixed),
            ("{# c }} #}{{ a }}", Template::Mixed),
            ("{% raw %}{{ * {% endraw %}", Template::Mixed),
            ("{% if a %}{% for b in c + d %}{{ b }}{% endfor %}{%- else %}{% endif %}", Template::Mixed),
        ] {
            assert_eq!(scan(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_makes_much_of_little_is_refused() {
        for text in [
            "{{ a * 1000000 }}".to_owned(),
            "{% set a = a ~ a %}".to_owned(),
            "{% include 'a' %}".to_owned(),
            "{% for a in [a ~ a] %}{% endfor %}".to_owned(),
            "{% for a in a recursive %}{% endfor %}".to_owned(),
            format!("{{{{ a {} }}}}", "~ a".repeat(40)),
            format!("{{{{ '{}' }}}}", "a".repeat(1 << 15)),
            "{{ a".to_owned(),
            "{{ 'a }}".to_owned(),
            "{% raw %}".to_owned(),
            "{#".to_owned(),
        ] {
            assert!(scan(&text).is_err(), "{text}");
        }
    }
}
