//! Text as YAML that every reader takes for text.

use std::net::IpAddr;

use ipnet::IpNet;
use semver::Version;

/// Words that YAML 1.1 or 1.2 takes for something else.
const WORDS: [&str; 11] = ["true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan", "inf"];

/// Text as a scalar in one line: plain where that can't be mistaken, otherwise in double quotes.
pub(super) fn one_line(text: &str) -> String {
    if is_plain(text) { text.to_owned() } else { quoted(text) }
}

fn is_plain(text: &str) -> bool {
    if text.parse::<IpAddr>().is_ok_and(|address| address.is_ipv4()) || text.parse::<IpNet>().is_ok_and(|range| range.addr().is_ipv4()) {
        return true;
    }
    // A version with a `-` or `+` behind it is none of YAML's numbers either.
    if Version::parse(text).is_ok() {
        return true;
    }
    let first = text.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '/' | '_'));
    let home = text.starts_with("~/");
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '@' | '~' | '+' | '=');
    (first || home) && text.chars().all(allowed) && !WORDS.contains(&text.to_ascii_lowercase().as_str())
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            // Line separators and the mark of the byte order end lines or vanish in some readers.
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}') => quoted.push_str(&escape(c)),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

fn escape(character: char) -> String {
    let code = u32::from(character);
    if code < 0x100 { format!("\\x{code:02x}") } else { format!("\\u{code:04x}") }
}

/// Whether text is better read as a block of lines, and loses nothing that way.
pub(super) fn is_block(text: &str) -> bool {
    let line =
        |line: &str| !line.is_empty() && !line.starts_with([' ', '\t']) && !line.ends_with([' ', '\t']) && line.chars().all(is_visible);
    text.strip_suffix('\n').is_some_and(|lines| lines.contains('\n') && lines.split('\n').all(line))
}

fn is_visible(character: char) -> bool {
    !character.is_control() && !matches!(character, '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::{is_block, one_line};

    #[test]
    fn what_could_be_mistaken_is_quoted() {
        for plain in ["node1", "10.0.0.1", "10.0.0.0/8", "1.37.1", "~/.ssh/id", "/a/b", "kernel.pid_max", "SHA256"] {
            assert_eq!(one_line(plain), plain);
        }
        for (text, expected) in [
            ("yes", "\"yes\""),
            ("1.30", "\"1.30\""),
            ("0644", "\"0644\""),
            ("", "\"\""),
            ("a: b", "\"a: b\""),
            ("a #b", "\"a #b\""),
            ("- x", "\"- x\""),
            ("a\"b\\c\n\u{1b}", "\"a\\\"b\\\\c\\n\\x1b\""),
            ("~", "\"~\""),
            ("{{ x }}", "\"{{ x }}\""),
        ] {
            assert_eq!(one_line(text), expected);
        }
    }

    #[test]
    fn blocks_lose_nothing() {
        assert!(is_block("a\nb\n"));
        for text in ["a\n", "a\nb", "a\n\nb\n", " a\nb\n", "a \nb\n", "a\u{7}\nb\n"] {
            assert!(!is_block(text), "{text:?}");
        }
    }
}
