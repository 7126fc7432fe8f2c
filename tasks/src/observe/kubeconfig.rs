//! The certificates inside kubeconfigs, and where these lead to.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::parse::Section;
use crate::shell::quote;

/// What no line of a certificate begins with.
const SERVER: &str = "server: ";

/// A chain of certificates is far shorter.
const LIMIT: usize = 64 * 1024;

/// Asks for the line with the certificate and for that with the server, and for nothing else: beside them stands the key.
pub(super) fn push(script: &mut String, paths: &BTreeSet<String>) {
    for path in paths {
        let path = quote(path);
        let _ = writeln!(
            script,
            "[ -f {path} ] && {{ mark kubeconfig {path}; sed -n -e 's/^ *client-certificate-data: *//p' -e 's/^ *server: */{SERVER}/p' <{path} | head -c {LIMIT}; }}"
        );
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

pub(super) fn read(sections: &[Section<'_>]) -> BTreeMap<String, Option<String>> {
    let asked = sections.iter().filter(|section| section.name == "kubeconfig");
    asked.map(|section| (section.argument.to_owned(), certificate(&String::from_utf8_lossy(section.body)))).collect()
}

/// Where kubeconfigs lead to; no entry for one that does not say it.
pub(super) fn servers(sections: &[Section<'_>]) -> BTreeMap<String, String> {
    let asked = sections.iter().filter(|section| section.name == "kubeconfig");
    asked.filter_map(|section| Some((section.argument.to_owned(), server(&String::from_utf8_lossy(section.body))?))).collect()
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
        push(&mut script, &["/etc/kubernetes/admin.conf".to_owned()].into());
        assert!(script.contains("client-certificate-data") && !script.contains("key-data") && !script.contains("cat "), "{script}");
    }
}
