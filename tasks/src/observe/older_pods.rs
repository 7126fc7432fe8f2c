//! Pods that were started before a file was changed: programs in them read at their start whom they trust.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::parse::{ParseError, Section, text_of};
use crate::shell::quote;

/// Those of the beginning of a list by age, with when they were started by the clocks of their hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OlderPods {
    /// When the file was changed by the clock of its host, in seconds since 1970.
    pub changed: i64,
    /// `namespace/name` of each, with its start in seconds since 1970, up to some time after that.
    pub pods: Vec<(String, i64)>,
}

impl OlderPods {
    /// Those that may have been started before the file was changed, where clocks differ by so many seconds.
    #[must_use]
    pub fn before(&self, spread_seconds: i64) -> Vec<&str> {
        let until = self.changed.saturating_add(spread_seconds);
        self.pods.iter().filter(|(_, start)| *start < until).map(|(name, _)| name.as_str()).collect()
    }
}

/// More are not named, and not needed to say no.
const MOST: usize = 1000;

/// By more clocks of hosts never differ that a cluster lets in: it is the most that a file may allow (`time.maxSkew`).
const MARGIN_SECONDS: u32 = 3600;

/// After [`super::api_server::ready`]. When the file was changed; then a line for each pod that runs and that kubelets did not make themselves from a file, the
/// oldest first, up to an hour after that, where a line with `=` stands.
pub(super) fn push(script: &mut String, paths: &BTreeSet<String>) {
    let Some(path) = paths.first() else { return };
    let _ = writeln!(
        script,
        r#"mark older-pods
if [ -n "$api_server" ] && changed=$(stat -c %Z -- {}) && until=$(date -u -d "@$((changed + {MARGIN_SECONDS}))" +%Y-%m-%dT%H:%M:%SZ); then
  printf 'changed %s\n' "$changed"
  {{
    printf '%s =\n' "$until"
    kube get pods --all-namespaces --chunk-size=500 --field-selector=status.phase=Running --output='go-template={{{{range .items}}}}{{{{$mirror := false}}}}{{{{range $key, $value := .metadata.annotations}}}}{{{{if eq $key "kubernetes.io/config.mirror"}}}}{{{{$mirror = true}}}}{{{{end}}}}{{{{end}}}}{{{{if not $mirror}}}}{{{{.status.startTime}}}} {{{{.metadata.namespace}}}}/{{{{.metadata.name}}}}{{{{"\n"}}}}{{{{end}}}}{{{{end}}}}' 2>/dev/null || echo '0 failed'
  }} | LC_ALL=C sort | sed '/ =$/q' | head -n {MOST}
fi"#,
        quote(path)
    );
}

/// What [`push`] asks for.
pub(super) fn read(sections: &[Section<'_>]) -> Result<Result<OlderPods, String>, ParseError> {
    let text = text_of(sections, "older-pods")?;
    let mut lines: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once(' ')).collect();
    let changed = lines.first().filter(|(word, _)| *word == "changed").and_then(|(_, at)| at.parse().ok());
    let is_whole = lines.len() > MOST || lines.pop_if(|(_, name)| *name == "=").is_some();
    let Some(changed) = changed.filter(|_| is_whole && !lines.contains(&("0", "failed"))) else {
        return Ok(Err("the API server does not answer".to_owned()));
    };
    // One whose start can't be read may be of any age.
    let start = |text: &str| OffsetDateTime::parse(text, &Rfc3339).map_or(i64::MIN, OffsetDateTime::unix_timestamp);
    let pods = lines.into_iter().skip(1).map(|(at, name)| (name.to_owned(), start(at))).collect();
    Ok(Ok(OlderPods { changed, pods }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use super::super::parse::sections;
    use super::super::script::Nonce;
    use super::*;

    fn read_section(said: &str) -> Result<OlderPods, String> {
        let nonce = Nonce::new([7; 16]);
        let text = format!("\n{0} older-pods\n{said}\n{0} end\n", nonce.as_str());
        read(&sections(&nonce, text.as_bytes())).unwrap()
    }

    #[test]
    fn those_before_the_file_are_named() {
        let said = "changed 1767225601\n2026-01-01T00:00:00Z a/one\n2026-01-01T00:00:01Z b/two\n2026-01-01T00:00:09Z b/three\n2026-01-01T01:00:01Z =\n";
        let pods = read_section(said).unwrap();
        assert_eq!((pods.before(0), pods.before(1)), (vec!["a/one"], vec!["a/one", "b/two"]));
        assert_eq!(pods.before(60).len(), 3, "as where a host's clock is a minute ahead");
        assert_eq!(read_section("changed 5\n1970-01-01T01:00:05Z =\n"), Ok(OlderPods { changed: 5, pods: Vec::new() }));
        assert_eq!(read_section("changed 5\n<nil> a/odd\n2026-01-01T01:00:05Z =\n").unwrap().before(0), ["a/odd"]);
    }

    #[test]
    fn half_an_answer_is_none() {
        let none = Err("the API server does not answer".to_owned());
        assert_eq!(read_section(""), none);
        assert_eq!(read_section("changed 5\n0 failed\n2026-01-01T00:00:02Z =\n"), none);
        assert_eq!(read_section("changed 5\n2026-01-01T00:00:00Z a/one\n"), none, "cut off");
    }

    #[test]
    fn the_path_is_quoted() {
        let mut script = String::new();
        push(&mut script, &["/etc/it's".to_owned()].into());
        assert!(script.contains(r"stat -c %Z -- '/etc/it'\''s'"), "{script}");
        assert!(script.contains("{{range .items}}") && script.contains("=$/q'"), "{script}");
    }
}
