//! Text for a POSIX shell: the one place where a value becomes a word of a script.
//!
//! Scripts are constant text with quoted values in it. Whatever a user wrote goes through [`quote`] or [`Command::arg`]; what is
//! written in this program's own source goes through [`Command::flag`], whose type admits nothing else.

use std::fmt;

/// A line of a script after which `$own_api_server` is the URL of the API server on the host itself: it listens where its manifest says, which
/// need not be what the file asks for.
macro_rules! own_api_server {
    () => {
        concat!(
            "own_api_server=https://127.0.0.1:$(sed -n 's/^ *- --secure-port=\\([0-9]*\\)$/\\1/p' ",
            "/etc/kubernetes/manifests/kube-apiserver.yaml 2>/dev/null)\n",
            "[ \"$own_api_server\" != https://127.0.0.1: ] || own_api_server=https://127.0.0.1:6443\n"
        )
    };
}

/// `value` as exactly one word of a POSIX shell script, whatever it holds: spaces, quotes, `$`, newlines or nothing at all.
///
/// The result is always in single quotes, inside which a POSIX shell gives no character a meaning. It is for scripts that `sh`
/// reads; csh and fish quote differently, and no text of ours is ever given to them.
///
/// NUL characters are left out: no argument, variable or file name can hold one. Validate before if the difference matters.
#[must_use]
pub fn quote(value: &str) -> String {
    let mut quoted = String::with_capacity(value.len() + 2);
    quoted.push('\'');
    for character in value.chars() {
        match character {
            '\'' => quoted.push_str(r"'\''"),
            '\0' => {}
            other => quoted.push(other),
        }
    }
    quoted.push('\'');
    quoted
}

/// One simple command of a script; its `Display` is the command's text, such as `install -m 0644 '/etc/it'\''s here' </dev/null`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    text: String,
    without_input: bool,
}

impl Command {
    /// Runs `program`, a name or path from this program's own source.
    #[must_use]
    pub fn new(program: &'static str) -> Self {
        Self { text: program.to_owned(), without_input: false }
    }

    /// Adds a constant word as it stands, for options. Values go through [`Command::arg`].
    #[must_use]
    pub fn flag(mut self, word: &'static str) -> Self {
        self.text.push(' ');
        self.text.push_str(word);
        self
    }

    /// Adds `value` as exactly one argument.
    #[must_use]
    pub fn arg(mut self, value: impl AsRef<str>) -> Self {
        self.text.push(' ');
        self.text.push_str(&quote(value.as_ref()));
        self
    }

    /// Adds every one of `values` as an argument of its own.
    #[must_use]
    pub fn args<I>(mut self, values: I) -> Self
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        for value in values {
            self = self.arg(value);
        }
        self
    }

    /// Gives the command nothing to read, so that it cannot eat the script or the data behind it.
    #[must_use]
    pub fn without_input(mut self) -> Self {
        self.without_input = true;
        self
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        if self.without_input {
            f.write_str(" </dev/null")?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Command, quote};
    use proptest::prelude::*;
    use std::io::Write as _;
    use std::process::{Command as Process, Stdio};

    /// What `shell` passes to a program for the words of `script`, NUL-separated.
    fn words_seen_by(shell: &str, script: &str) -> Vec<u8> {
        let mut child = Process::new(shell).arg("-s").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{shell} refused {script:?}");
        output.stdout
    }

    fn assert_roundtrip(values: &[String]) {
        let command = Command::new("printf").flag(r"'%s\0'").args(values).without_input();
        let expected: Vec<u8> = values.iter().flat_map(|value| value.bytes().filter(|byte| *byte != 0).chain([0])).collect();
        for shell in ["/bin/sh", "/bin/bash"] {
            assert_eq!(words_seen_by(shell, &command.to_string()), expected, "{shell}");
        }
    }

    #[test]
    fn the_nasty_ones_survive() {
        let nasty = [
            "",
            "'",
            "''",
            "\\",
            "\\'",
            "$(id)",
            "`id`",
            "a b",
            "a\nb",
            "\n",
            "*",
            "~",
            "#",
            "-n",
            "!",
            "!!",
            "%s",
            "$HOME",
            "\"",
            "é\u{202e}",
            "a\0b",
            "\r\n",
            "\u{1b}[31m",
            "{a,b}",
            ";",
            "&",
            "|",
            "<>",
            "\t",
        ];
        assert_roundtrip(&nasty.map(str::to_owned));
    }

    #[test]
    fn a_command_is_its_text() {
        let command = Command::new("install").flag("-m").flag("0644").arg("/etc/it's here").without_input();
        assert_eq!(command.to_string(), r"install -m 0644 '/etc/it'\''s here' </dev/null");
    }

    #[test]
    fn a_plain_word_is_quoted_too() {
        assert_eq!(quote("if"), "'if'");
        assert_eq!(quote("A=b"), "'A=b'");
    }

    proptest! {
        // Each case starts two shells; 64 cases of up to 40 words are enough to meet every pair of special characters.
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_text_is_one_word(values in prop::collection::vec(
            prop_oneof![any::<String>(), r#"['"\\$`!*?~#&|;<>(){}\[\] \n\t=-]{0,12}"#], 1..40)) {
            assert_roundtrip(&values);
        }
    }
}
