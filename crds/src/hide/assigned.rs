//! Values that a text gives to names of secrets, as commands and configuration files do.

use super::{HIDDEN, mentions_a_secret, names_a_secret};

/// Takes out what is given to names of secrets: `password=x`, `"password": "x"`, `password = 'x'`, `--password x` and `sshpass -p x`.
///
/// Where a value ends is not always to be told from what stands behind it; then more is taken out than is secret, never less.
pub(super) fn hide_assigned(text: &str) -> String {
    if !mentions_a_secret(text) && !text.to_ascii_lowercase().contains("pw") {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len());
    let (mut rest, mut is_sshpass) = (text, false);
    while let Some((before, name, behind)) = next_name(rest) {
        shown.push_str(before);
        let found = if is_sshpass && name.starts_with("-p") { of_sshpass(name, behind) } else { assigned(name, behind) };
        is_sshpass = found.is_none() && (is_sshpass || name.contains("sshpass"));
        let (kept, behind) = found.unwrap_or_else(|| (name.to_owned(), behind));
        shown.push_str(&kept);
        rest = behind;
    }
    shown + rest
}

/// What stands before the next name, the name, and the rest.
fn next_name(text: &str) -> Option<(&str, &str, &str)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let (before, from) = text.split_at(text.find(is_part)?);
    let (name, behind) = from.split_at(from.find(|c| !is_part(c)).unwrap_or(from.len()));
    Some((before, name, behind))
}

/// `-p x` and `-px`.
fn of_sshpass<'a>(name: &str, behind: &'a str) -> Option<(String, &'a str)> {
    if name.len() > 2 { Some((format!("-p{HIDDEN}"), behind_word(behind))) } else { next_word(name, behind) }
}

/// An option, of which the next word is the value.
fn next_word<'a>(name: &str, behind: &'a str) -> Option<(String, &'a str)> {
    let value = behind.trim_start();
    let blank = behind.strip_suffix(value).unwrap_or_default();
    (!value.is_empty()).then(|| (format!("{name}{blank}{HIDDEN}"), behind_word(value)))
}

/// A name of a secret with its value hidden, and what stands behind that.
fn assigned<'a>(name: &str, behind: &'a str) -> Option<(String, &'a str)> {
    if !names_a_secret(name.trim_matches(['-', '.'])) {
        return None;
    }
    let after_name = behind.trim_start_matches(['"', '\'']).trim_start_matches([' ', '\t']);
    let Some(after_sign) = after_name.strip_prefix(['=', ':']) else {
        return if name.starts_with("--") && behind.starts_with([' ', '\t']) { next_word(name, behind) } else { None };
    };
    let value = after_sign.trim_start_matches([' ', '\t']);
    let is_glued = value.len() == after_sign.len();
    let is_colon = after_name.starts_with(':');
    // Behind the colon of an address stands a port.
    if value.is_empty() || (is_colon && is_glued && !value.starts_with(['"', '\'', '\n'])) {
        return None;
    }
    let kept = format!("{name}{}{HIDDEN}", behind.strip_suffix(value).unwrap_or_default());
    let is_word = is_glued && behind.starts_with('=');
    let behind = match value.strip_prefix(HIDDEN) {
        Some(behind) => behind,
        None if is_word => behind_word(value),
        None => behind_line(value),
    };
    Some((kept, behind))
}

/// What stands behind a word of a command; nothing, where only a shell could say where the word ends.
fn behind_word(text: &str) -> &str {
    let (word, behind) = text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()));
    let is_whole = ['"', '\''].iter().all(|quote| word.matches(*quote).count() % 2 == 0) && !word.ends_with('\\');
    if is_whole { behind } else { "" }
}

/// What stands behind a value of a file: behind its quotes, or behind its line.
fn behind_line(text: &str) -> &str {
    let Some(quote) = text.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
        let (line, behind) = text.split_at(text.find('\n').unwrap_or(text.len()));
        // The value is a block of the lines that follow.
        let is_block = line.trim().is_empty() || line.starts_with(['|', '>']);
        return if is_block { "" } else { behind };
    };
    let inside = text.get(1..).unwrap_or_default();
    let mut is_escaped = false;
    let end = inside.char_indices().find(|(_, c)| {
        let is_end = *c == quote && !is_escaped;
        is_escaped = *c == '\\' && !is_escaped;
        is_end
    });
    let behind = end.and_then(|(at, _)| inside.get(at + 1..)).unwrap_or_default();
    // More quotes: of several lines, or glued to the first.
    if behind.starts_with(['"', '\'']) { "" } else { behind }
}

#[cfg(test)]
mod tests {
    use super::hide_assigned;

    #[test]
    fn passwords_of_commands_are_taken_out() {
        for (text, expected) in [
            ("-o ProxyCommand='sshpass -p hush ssh -W %h:%p b'", "-o ProxyCommand='sshpass -p (hidden) ssh -W %h:%p b'"),
            ("sshpass -phush ssh b", "sshpass -p(hidden) ssh b"),
            ("sshpass -p hush ssh -p 22 b", "sshpass -p (hidden) ssh -p 22 b"),
            ("--password pa\"s s\" x", "--password (hidden)"),
            ("sshpass -p$hu,sh! ssh b", "sshpass -p(hidden) ssh b"),
            ("sshpass -p 'hush now' ssh b", "sshpass -p (hidden)"),
            ("run --password hush --user me", "run --password (hidden) --user me"),
            ("run --password hush --ssh-key-file x", "run --password (hidden) --ssh-key-file x"),
            ("-e ansible_password=hush -e a=b", "-e ansible_password=(hidden) -e a=b"),
            ("-e ansible_password=hu,sh -e a=b", "-e ansible_password=(hidden) -e a=b"),
            ("ssh -i ~/.ssh/bypass host", "ssh -i ~/.ssh/bypass host"),
        ] {
            assert_eq!(hide_assigned(text), expected, "{text}");
        }
    }

    #[test]
    fn passwords_of_files_are_taken_out() {
        for (text, expected) in [
            ("password = \"hush\"\nuser = \"me\"", "password = (hidden)\nuser = \"me\""),
            ("password = \"hu\\\"sh\" # x", "password = (hidden) # x"),
            ("password = '''hu\nsh'''", "password = (hidden)"),
            ("password: hush now\nuser: me", "password: (hidden)\nuser: me"),
            ("password: |\n  hush\n", "password: (hidden)"),
            ("{\"password\": \"hush\", \"user\": \"me\"}", "{\"password\": (hidden), \"user\": \"me\"}"),
            ("{\"password\":\"hush\"}", "{\"password\":(hidden)}"),
            ("admin_pw = hush", "admin_pw = (hidden)"),
            ("https://token.example:5000/x", "https://token.example:5000/x"),
            ("[{password: (hidden), user: me}]", "[{password: (hidden), user: me}]"),
            ("tokenFile: /etc/x", "tokenFile: /etc/x"),
            ("a token or a password", "a token or a password"),
        ] {
            assert_eq!(hide_assigned(text), expected, "{text}");
        }
    }
}
