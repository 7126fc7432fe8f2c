//! Pods that were started before a file was changed: programs in them read at their start whom they trust.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::parse::{ParseError, Section, text_of};
use crate::shell::quote;

/// More are not named, and not needed to say no.
const MOST: usize = 1000;

/// After [`super::api_server::READY`]. A line for each pod that runs and that kubelets did not make themselves from a file, the oldest first, up to the time
/// of the file, which stands on a line with `=`; the clock is the host's on one side and that of the pod's kubelet on the other.
pub(super) fn push(script: &mut String, paths: &BTreeSet<String>) {
    let Some(path) = paths.first() else { return };
    let _ = writeln!(
        script,
        r#"mark older-pods
if [ -n "$api_server" ] && changed=$(stat -c %Z -- {}) && changed=$(date -u -d "@$changed" +%Y-%m-%dT%H:%M:%SZ); then
  {{
    printf '%s =\n' "$changed"
    kube get pods --all-namespaces --chunk-size=500 --field-selector=status.phase=Running --output='go-template={{{{range .items}}}}{{{{$mirror := false}}}}{{{{range $key, $value := .metadata.annotations}}}}{{{{if eq $key "kubernetes.io/config.mirror"}}}}{{{{$mirror = true}}}}{{{{end}}}}{{{{end}}}}{{{{if not $mirror}}}}{{{{.status.startTime}}}} {{{{.metadata.namespace}}}}/{{{{.metadata.name}}}}{{{{"\n"}}}}{{{{end}}}}{{{{end}}}}' 2>/dev/null || echo '0 failed'
  }} | LC_ALL=C sort | sed '/ =$/q' | head -n {MOST}
fi"#,
        quote(path)
    );
}

/// What [`push`] asks for: `namespace/name` of each.
pub(super) fn read(sections: &[Section<'_>]) -> Result<Result<Vec<String>, String>, ParseError> {
    let text = text_of(sections, "older-pods")?;
    let lines: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once(' ')).collect();
    let is_whole = lines.len() >= MOST || lines.last().is_some_and(|(_, name)| *name == "=");
    if !is_whole || lines.contains(&("0", "failed")) {
        return Ok(Err("the API server does not answer".to_owned()));
    }
    Ok(Ok(lines.into_iter().map(|(_, name)| name).filter(|name| *name != "=").map(str::to_owned).collect()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use super::super::parse::sections;
    use super::super::script::Nonce;
    use super::*;

    fn of(said: &str) -> Result<Vec<String>, String> {
        let nonce = Nonce::new([7; 16]);
        let text = format!("\n{0} older-pods\n{said}\n{0} end\n", nonce.as_str());
        read(&sections(&nonce, text.as_bytes())).unwrap()
    }

    #[test]
    fn those_before_the_file_are_named() {
        let said = "2026-01-01T00:00:00Z a/one\n2026-01-01T00:00:01Z b/two\n2026-01-01T00:00:02Z =\n";
        assert_eq!(of(said), Ok(vec!["a/one".to_owned(), "b/two".to_owned()]));
        assert_eq!(of("2026-01-01T00:00:02Z =\n"), Ok(Vec::new()));
    }

    #[test]
    fn half_an_answer_is_none() {
        let none = Err("the API server does not answer".to_owned());
        assert_eq!(of(""), none);
        assert_eq!(of("0 failed\n2026-01-01T00:00:02Z =\n"), none);
        assert_eq!(of("2026-01-01T00:00:00Z a/one\n"), none, "cut off");
    }

    #[test]
    fn the_path_is_quoted() {
        let mut script = String::new();
        push(&mut script, &["/etc/it's".to_owned()].into());
        assert!(script.contains(r"stat -c %Z -- '/etc/it'\''s'"), "{script}");
        assert!(script.contains("{{range .items}}") && script.contains("=$/q'"), "{script}");
    }
}
