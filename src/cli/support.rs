//! `kokctl support`

mod archive;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use kok_crds::{count, listed};
use kok_tasks::support::redacted;

use self::archive::SupportArchive;
use super::files::{ClusterFiles, ExtraVars};
use super::process;
use crate::engine::{self, StatusRequest};
use crate::failure::{Failure, Kind};
use crate::state::{Controller, Record};
use crate::ui::{line, status_line};

/// Write what another person needs to help into one file: status, the last runs, what hosts and cluster say, without secrets
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: ClusterFiles,
    #[command(flatten)]
    extra: ExtraVars,
    /// The archive that is written, such as support.tar.gz
    #[arg(long, short = 'o', value_name = "ARCHIVE")]
    output: PathBuf,
}

/// So many runs, the last ones.
const RUNS: usize = 10;

/// So much of the journal of a run, its end.
const MOST_OF_A_RUN: usize = 2 << 20;

/// What the hosts have said, or why they said nothing.
type HostAnswers = BTreeMap<String, Result<String, Failure>>;

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let (_, cluster) = arguments.cluster.without_manifests(&arguments.extra)?;
    let context = process::context(process::controller().unwrap_or_else(|_| Controller::nobody()));
    let path = arguments.output.as_path();
    let not_written = |error: &std::io::Error| vec![not_written(path, error)];
    // Before anybody is asked: that the file can be written.
    let mut archive = SupportArchive::create(path).map_err(|error| not_written(&error))?;
    let answers = engine::support(&context, &cluster).await.inspect_err(|_| drop(fs::remove_file(path)))?;
    let request = StatusRequest { cluster: &cluster, bundle: Err("it was not asked for"), whole: Box::new(|| Err(String::new())) };
    let status = engine::status(&context, request).await.map(|(status, _)| status);
    let mut parts = vec![("version.txt".to_owned(), format!("kokctl {}\n", env!("CARGO_PKG_VERSION")))];
    if let Ok(status) = &status {
        parts.push(("status.json".to_owned(), redacted(&serde_json::to_string_pretty(status).unwrap_or_default())));
    }
    parts.extend(runs(&cluster.name));
    let text_of = |answer: &Result<String, Failure>| answer.as_ref().map_or_else(|failure| redacted(&failure.one_line()), Clone::clone);
    parts.extend(answers.iter().map(|(host, answer)| (format!("hosts/{host}.txt"), text_of(answer))));
    for (name, text) in &parts {
        archive.add(name, text).map_err(|error| not_written(&error))?;
    }
    let (bytes, left_out) = archive.finish().map_err(|error| not_written(&error))?;
    line(&format!("{}: {} of {}, {} kB", path.display(), count(parts.len() - left_out.len(), "file"), cluster.name, bytes.div_ceil(1000)));
    status_line("what looks like a secret was left out; look at it before you give it away: names, addresses and logs of yours are in it");
    if !left_out.is_empty() {
        status_line(&format!("left out, for the archive would be too large: {}", listed(left_out.iter().map(String::as_str))));
    }
    answered(path, &answers)
}

/// That some host has said something: else there is nothing in it of the cluster.
fn answered(path: &Path, answers: &HostAnswers) -> Result<(), Vec<Failure>> {
    let failures: Vec<&Failure> = answers.values().filter_map(|answer| answer.as_ref().err()).collect();
    if answers.values().any(|answer| answer.as_ref().is_ok_and(|text| !text.trim().is_empty())) {
        failures.iter().for_each(|failure| status_line(&format!("not asked: {}", failure.one_line())));
        return Ok(());
    }
    let failure = Failure::new(Kind::Host, "no host has said anything")
        .because(format!("{} has the journals of kokctl's runs, and why no host was asked, and nothing else", path.display()))
        .hint("`kokctl check -f FILE` says what keeps kokctl from the hosts");
    Err(failures.into_iter().cloned().chain([failure]).collect())
}

/// The journals of the last runs of a cluster, without what looks like a secret.
fn runs(cluster: &str) -> Vec<(String, String)> {
    let Ok(state) = process::state() else { return Vec::new() };
    let names = state.run_names().unwrap_or_default();
    let is_its = |name: &&String| state.read_run(name).is_ok_and(|story| Record::from_story(&story).cluster == cluster);
    let last = names.iter().rev().filter(is_its).take(RUNS);
    last.filter_map(|name| Some((format!("runs/{name}.jsonl"), redacted(end(&state.journal_of(name)?))))).collect()
}

/// The end of a journal, in whole lines: what is left of one may be the half of a secret, which nobody knows as one.
fn end(text: &str) -> &str {
    let Some(from) = text.len().checked_sub(MOST_OF_A_RUN) else { return text };
    let line = text.as_bytes().iter().enumerate().skip(from).find(|(_, byte)| **byte == b'\n').map(|(index, _)| index + 1);
    line.and_then(|line| text.get(line..)).unwrap_or_default()
}

fn not_written(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(Kind::Internal, format!("{} can't be written", path.display()))
        .because(error.to_string())
        .hint("name another file, that is not there yet")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use super::*;

    #[test]
    fn where_nobody_has_said_anything_it_is_an_error() {
        let silent = || Err(Failure::new(Kind::Host, "cannot connect to cp1").hint("h"));
        let of = |said: Vec<Result<String, Failure>>| {
            answered(Path::new("a.tar.gz"), &said.into_iter().enumerate().map(|(n, said)| (n.to_string(), said)).collect())
        };
        assert!(of(vec![silent(), Ok("==== uname\n".to_owned())]).is_ok());
        for said in [vec![], vec![silent(), silent()], vec![Ok(" \n".to_owned())]] {
            let failures = of(said).unwrap_err();
            let last = failures.last().unwrap();
            assert!(last.kind == Kind::Host && last.what == "no host has said anything" && last.hint.is_some());
        }
    }

    #[test]
    fn of_a_long_journal_the_last_whole_lines_are_left() {
        assert_eq!(end("short\n"), "short\n");
        let long = format!("\"token\":\"c4n4ry\"{}", "ä\n".repeat(MOST_OF_A_RUN));
        assert!(end(&long).len() < MOST_OF_A_RUN && end(&long).starts_with("ä\n") && !end(&long).contains("c4n4ry"));
        assert_eq!(end(&"x".repeat(MOST_OF_A_RUN + 1)), "", "no line of it is whole");
    }
}
