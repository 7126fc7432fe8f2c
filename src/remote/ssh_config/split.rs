//! Lines into words.

/// A line's keyword in lower case and its arguments; nothing for an empty line or a comment.
pub(super) fn split(line: &str) -> Result<Option<(String, Vec<String>)>, &'static str> {
    let line = line.trim_matches(is_blank);
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let end = line.find(|c| is_blank(c) || c == '=').unwrap_or(line.len());
    let (keyword, rest) = line.split_at(end);
    let rest = rest.trim_start_matches(is_blank);
    let rest = rest.strip_prefix('=').unwrap_or(rest);
    Ok(Some((keyword.trim_matches('"').to_ascii_lowercase(), words(rest)?)))
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\u{c}')
}

/// Words between blanks. Quotes of either kind keep blanks, a backslash keeps a quote, a backslash or a blank, and `#` where a word
/// would begin ends the line.
fn words(text: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut rest = text.trim_start_matches(is_blank);
    while !rest.is_empty() && !rest.starts_with('#') {
        let (word, after) = word(rest)?;
        words.push(word);
        rest = after.trim_start_matches(is_blank);
    }
    Ok(words)
}

fn word(text: &str) -> Result<(String, &str), &'static str> {
    let (mut word, mut quote) = (String::new(), None);
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        match (character, quote) {
            ('\\', _) => match characters.next_if(|(_, next)| matches!(next, '\'' | '"' | '\\') || (quote.is_none() && *next == ' ')) {
                Some((_, next)) => word.push(next),
                None => word.push('\\'),
            },
            (c, Some(open)) if c == open => quote = None,
            ('"' | '\'', None) => quote = Some(character),
            (c, None) if is_blank(c) => return Ok((word, text.get(at..).unwrap_or_default())),
            (c, _) => word.push(c),
        }
    }
    if quote.is_some() { Err("a quote is not closed") } else { Ok((word, "")) }
}
