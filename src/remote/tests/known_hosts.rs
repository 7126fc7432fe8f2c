#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use super::{KnownHosts, Line, Marker, matches_pattern};
use proptest::prelude::*;
use std::process::Command;

const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ";

fn matching(text: &str, host: &str) -> Vec<Line> {
    KnownHosts::read(text).matching(host)
}

fn found(text: &str, host: &str) -> Vec<(usize, Marker, bool)> {
    matching(text, host).iter().map(|line| (line.number, line.marker, line.key.is_some())).collect()
}

#[test]
fn lines_of_every_kind() {
    let text = format!(
        "# comment\n\n  \n192.0.2.1,web {KEY} a comment\n@revoked * {KEY}\n@cert-authority *.2.1 {KEY}\n@unknown * {KEY}\n\
         192.0.2.1\t{}\n192.0.2.1 ssh-ed25519 broken\n192.0.2.1 ssh-ed25519\n!192.0.2.1,* {KEY}\n",
        KEY.replace(' ', "\t")
    );
    let expected = [
        (4, Marker::HostKey, true),
        (5, Marker::Revoked, true),
        (6, Marker::CertAuthority, true),
        (8, Marker::HostKey, true),
        (9, Marker::HostKey, false),
    ];
    assert_eq!(found(&text, "192.0.2.1"), expected);
}

#[test]
fn patterns() {
    for (pattern, text, matches) in [
        ("*", "", true),
        ("?", "", false),
        ("a*b*c", "aXbYbZc", true),
        ("a*b*c", "aXbYbZ", false),
        ("WEB", "web", true),
        ("[127.0.0.?]:*", "[127.0.0.1]:2222", true),
        ("127.0.0.1", "[127.0.0.1]:2222", false),
        ("", "a", false),
    ] {
        assert_eq!(matches_pattern(pattern, text), matches, "{pattern} {text}");
    }
    assert!(!matches_pattern(&"*a".repeat(500), &"a".repeat(300)));
}

/// The lines that OpenSSH itself finds.
fn found_by_openssh(text: &str, host: &str) -> Vec<usize> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let output = Command::new("ssh-keygen").arg("-F").arg(host).arg("-f").arg(file.path()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().filter_map(|line| line.strip_prefix("# Host "));
    lines.map(|line| line.split("found: line ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap()).collect()
}

proptest! {
    // Each case starts ssh-keygen.
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn openssh_finds_the_same_lines(
        fields in prop::collection::vec("(!?[a-c*?.]{1,4})(,!?[a-c*?.]{1,4}){0,2}", 1..12),
        host in "[a-c.]{1,4}",
    ) {
        let text: String = fields.iter().map(|field| format!("{field} {KEY}\n")).collect();
        let ours: Vec<_> = matching(&text, &host).iter().map(|line| line.number).collect();
        prop_assert_eq!(ours, found_by_openssh(&text, &host));
    }

    #[test]
    fn no_text_makes_it_panic(text in any::<String>(), host in any::<String>()) {
        let _ = matching(&text, &host);
    }
}
