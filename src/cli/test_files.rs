//! Files that tests of the command line read.
#![allow(clippy::unwrap_used, reason = "these are tests")]

use std::fs;

use clap::{Args, Parser};

use crate::failure::Failure;

#[derive(Parser)]
struct Line<A: Args> {
    #[command(flatten)]
    arguments: A,
}

/// What `read` makes of a command line with `-f` and a file: the cluster `c`, and behind it, if it has arguments, an operation of that action. Of several
/// failures the first.
pub(super) fn read_line<A: Args, T>(
    cluster: &str,
    (action, extra_arguments): (&str, &str),
    line: &[&str],
    read: impl FnOnce(&A) -> Result<T, Vec<Failure>>,
) -> Result<T, Failure> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.yaml");
    let operation = format!(
        "---\napiVersion: kubean.io/v1alpha1\nkind: ClusterOperation\nmetadata: {{name: o}}\nspec: {{cluster: c, actionType: playbook, action: {action}, \
         extraArgs: '{extra_arguments}'}}\n"
    );
    fs::write(&path, format!("{cluster}{}", if extra_arguments.is_empty() { "" } else { &operation })).unwrap();
    let words = ["kokctl", "-f", path.to_str().unwrap()].into_iter().chain(line.iter().copied());
    read(&parse(words).unwrap()).map_err(|mut failures| failures.remove(0))
}

/// The arguments of a verb from words, the first of which is the program.
pub(super) fn parse<'a, A: Args>(words: impl IntoIterator<Item = &'a str>) -> Result<A, clap::Error> {
    Line::try_parse_from(words).map(|line| line.arguments)
}
