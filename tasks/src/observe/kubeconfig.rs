//! The certificates inside kubeconfigs, and where these lead to.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::contents::several;
use super::parse::{ParseError, Section};
use super::script::quoted;
use crate::shell::quote;

/// What no line of a certificate begins with.
const SERVER: &str = "server: ";

/// A chain of certificates is far shorter.
const LIMIT: usize = 64 * 1024;

/// Asks of each file for the line with the certificate and for that with the server, and for nothing else: beside them stands the key. One sed looks at all of
/// them, unless there is more to say of them together than is read of one; then nobody knows of which it is, and each is looked at by itself. What tells them
/// apart (`contents.rs`) is printed as it is; what another file has of that form is none.
const LINES: &str = r#"certificate_lines() { sed -n -e 's/^ *client-certificate-data: *//p' -e 's/^ *server: */@SERVER@/p' "$@"; }
kubeconfig() { mark kubeconfig "$1"; certificate_lines <"$1" | head -c @LIMIT@; }
kubeconfigs() {
  if [ $# -gt 1 ] && [ -n "$apart" ]; then
    lines=$(certificate_lines -e '/^[0-9a-f]\{32\} next$/p' -- "$@" 2>/dev/null | head -c $((@LIMIT@ + 1)))
    if [ "${#lines}" -le @LIMIT@ ]; then
      mark "kubeconfigs$told"
      printf '%s\n' "$lines"
      return
    fi
  fi
  one_by_one kubeconfig "$@"
}
"#;

/// Defines what asks, and calls it.
pub(super) fn push(script: &mut String, calls: &mut String, paths: &BTreeSet<String>) {
    if !paths.is_empty() {
        script.push_str(&LINES.replace("@SERVER@", SERVER).replace("@LIMIT@", &LIMIT.to_string()));
        // Writing to a String can't fail.
        let _ = writeln!(calls, "several kubeconfigs {}", quoted(paths));
    }
}

/// Asks for the line with the certificates of authorities, and for nothing else.
pub(super) fn push_authorities(script: &mut String, paths: &BTreeSet<String>) {
    for path in paths {
        let path = quote(path);
        let _ = writeln!(
            script,
            "[ -f {path} ] && {{ mark kubeconfig-authorities {path}; sed -n 's/^ *certificate-authority-data: *//p' <{path} | head -n 1 | head -c {LIMIT}; }}"
        );
    }
}

/// What they say, as PEM; none for a file that is not there, or that names another one.
pub(super) fn authorities(sections: &[Section<'_>], asked: &BTreeSet<String>) -> BTreeMap<String, Option<String>> {
    let found = |path: &String| sections.iter().find(|section| section.name == "kubeconfig-authorities" && section.argument == path);
    let text = |section: &Section<'_>| certificate(&String::from_utf8_lossy(section.body));
    asked.iter().map(|path| (path.clone(), found(path).and_then(text))).collect()
}

/// Asks for certificates, and for nothing else of files that have keys, too.
pub(super) fn push_certificates(script: &mut String, paths: &BTreeSet<String>) {
    for path in paths {
        let path = quote(path);
        let _ = writeln!(
            script,
            "[ -f {path} ] && {{ mark certificate {path}; sed -n '/^-----BEGIN CERTIFICATE-----$/,/^-----END CERTIFICATE-----$/p' <{path} | head -c {LIMIT}; }}"
        );
    }
}

/// The certificates that were asked for; none for a file that is not there.
pub(super) fn certificates(sections: &[Section<'_>], asked: &BTreeSet<String>) -> BTreeMap<String, Option<String>> {
    let found = |path: &String| sections.iter().find(|section| section.name == "certificate" && section.argument == path);
    let text = |section: &Section<'_>| String::from_utf8_lossy(section.body).into_owned();
    asked.iter().map(|path| (path.clone(), found(path).map(text))).collect()
}

/// The lines of those that are there.
pub(super) fn lines(sections: &[Section<'_>], asked: &BTreeSet<String>) -> Result<BTreeMap<String, String>, ParseError> {
    let paths: Vec<&String> = asked.iter().collect();
    let several = several(sections, "kubeconfigs")?.into_iter();
    let several = several.filter_map(|(number, body)| Some(((*paths.get(number)?).clone(), without_marks(body))));
    let single = sections.iter().filter(|section| section.name == "kubeconfig");
    let single = single.map(|section| (section.argument.to_owned(), String::from_utf8_lossy(section.body).into_owned()));
    Ok(several.chain(single).collect())
}

/// What has the form of what tells files apart was printed too.
fn without_marks(body: &[u8]) -> String {
    let is_mark = |line: &&str| {
        line.strip_suffix(" next").is_some_and(|nonce| nonce.len() == 32 && nonce.bytes().all(|digit| digit.is_ascii_hexdigit()))
    };
    let text = String::from_utf8_lossy(body);
    text.lines().filter(|line| !is_mark(line)).collect::<Vec<_>>().join("\n")
}

/// The certificates in them.
pub(super) fn read(lines: &BTreeMap<String, String>) -> BTreeMap<String, Option<String>> {
    lines.iter().map(|(path, lines)| (path.clone(), certificate(lines))).collect()
}

/// Where kubeconfigs lead to; no entry for one that does not say it.
pub(super) fn servers(lines: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    lines.iter().filter_map(|(path, lines)| Some((path.clone(), server(lines)?))).collect()
}

/// The server that a kubeconfig names first.
#[must_use]
pub fn server(lines: &str) -> Option<String> {
    lines.lines().find_map(|line| line.trim_start().strip_prefix(SERVER)).map(|url| url.trim().trim_matches('"').to_owned())
}

/// The first certificate of the lines, as PEM; none if there is no line. What is no base64 becomes an empty text, which no certificate is.
#[must_use]
pub fn certificate(lines: &str) -> Option<String> {
    let lines = lines.lines().filter(|line| !line.starts_with(SERVER));
    let data = lines.map(|line| line.trim().trim_matches('"')).find(|line| !line.is_empty())?;
    Some(STANDARD.decode(data).ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_that_stands_elsewhere_is_none() {
        assert_eq!(certificate("\n"), None);
        assert_eq!(certificate("\"LS0tCg==\"\n"), Some("---\n".to_owned()));
        assert_eq!(certificate("!\n"), Some(String::new()));
        let both = "server: \"https://192.0.2.1:6443\"\nLS0tCg==\n";
        assert_eq!((certificate(both), server(both)), (Some("---\n".to_owned()), Some("https://192.0.2.1:6443".to_owned())));
    }

    #[test]
    fn of_a_file_with_a_key_the_certificate_alone_is_asked_for() {
        let mut script = String::new();
        push_certificates(&mut script, &["/var/lib/kubelet/pki/kubelet-client-current.pem".to_owned()].into());
        assert!(
            script.contains("sed -n '/^-----BEGIN CERTIFICATE-----$/,") && !script.contains("KEY") && !script.contains("cat "),
            "{script}"
        );
    }

    #[test]
    fn only_two_lines_of_a_kubeconfig_are_asked_for() {
        let mut script = String::new();
        push(&mut script, &mut String::new(), &["/etc/kubernetes/admin.conf".to_owned()].into());
        assert!(script.contains("client-certificate-data") && !script.contains("key-data") && !script.contains("cat "), "{script}");
    }
}
