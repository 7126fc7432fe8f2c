//! The rooms of this crate: each uses only what stands below it.
#![allow(clippy::unwrap_used, reason = "these are tests")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The rooms, the lowest first. Those of one floor don't use each other.
const FLOORS: &[&[&str]] = &[
    &["clock", "event", "failure", "plain_file", "pools", "randomness"],
    &["remote"],
    &["artifacts", "backup", "state"],
    &["inputs", "run"],
    &["engine"],
    &["operator", "ui"],
    &["cli"],
    &["main", "lib"],
];

/// What the rooms of the floor may use of each other: these have no text for people and no state, and stand for one room.
const BOTTOM: usize = 0;

/// What belongs to the command line alone: whoever else calls these rooms has no terminal, and an environment of its own.
const OF_THE_COMMAND_LINE: [&str; 11] = [
    "clap::",
    "println!(",
    "print!(",
    "dbg!(",
    "io::stdout",
    "io::stderr",
    "io::stdin",
    "env::",
    "signal::unix",
    "status_line(",
    "of_process(",
];

/// What still stands in the wrong room. A line goes when it is moved; none is added.
const TO_BE_MOVED: &[(&str, &str)] = &[];

#[test]
fn each_room_uses_only_what_stands_below_it() {
    let wrong: Vec<String> = sources().iter().flat_map(|source| source.wrong_uses()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_environment_and_the_terminal_are_the_command_lines() {
    let of_cli = ["cli", "ui", "main"];
    let found: BTreeSet<(String, &str)> = sources()
        .iter()
        .filter(|source| !of_cli.contains(&source.room.as_str()))
        .flat_map(|source| OF_THE_COMMAND_LINE.iter().filter(|word| source.text.contains(**word)).map(|word| (source.name.clone(), *word)))
        .collect();
    let known: BTreeSet<(String, &str)> = TO_BE_MOVED.iter().map(|(file, word)| ((*file).to_owned(), *word)).collect();
    assert_eq!(found, known);
}

#[test]
fn what_is_forbidden_is_found() {
    let source = |room: &str, text: &str| Source { name: format!("{room}.rs"), room: room.to_owned(), text: code_of(text) };
    let wrong = |room, text| source(room, text).wrong_uses().len();
    assert_eq!(wrong("run", "use crate::ui::line;\nfn x() { crate::cli::main() }"), 2);
    assert_eq!(wrong("state", "use crate::{artifacts::BundleFolder, failure::Failure};"), 1);
    assert_eq!(wrong("engine", "use crate::cli::process;\nuse crate::ui::line;\nuse crate::run::Links;"), 2);
    assert_eq!(wrong("cli", "use crate::ui::line;\nuse crate::remote::Target;"), 0);
    assert_eq!(wrong("remote", "// crate::ui\nuse crate::pools;\n#[cfg(test)]\nmod tests { use crate::run::Link; }"), 0);
}

/// A file without its comments and tests.
struct Source {
    name: String,
    room: String,
    text: String,
}

impl Source {
    fn wrong_uses(&self) -> Vec<String> {
        let own = floor(&self.room);
        let is_wrong = |room: &&String| **room != self.room && (floor(room) > own || (floor(room) == own && own != BOTTOM));
        let used = rooms_used(&self.text);
        used.iter().filter(is_wrong).map(|room| format!("{} uses {room}, which does not stand below it", self.name)).collect()
    }
}

fn floor(room: &str) -> usize {
    FLOORS.iter().position(|floor| floor.contains(&room)).unwrap_or(usize::MAX)
}

/// Every room that a text names by `crate::`, also in a list.
fn rooms_used(text: &str) -> BTreeSet<String> {
    let mut used = BTreeSet::new();
    for after in text.split("crate::").skip(1) {
        match after.strip_prefix('{') {
            Some(list) => {
                let list = list.split(';').next().unwrap_or_default();
                let starts = list.split([',', '{']).filter_map(|part| part.trim().split_once("::"));
                used.extend(starts.map(|(room, _)| room.to_owned()).filter(|room| floor(room) != usize::MAX));
            }
            None => drop(used.insert(word(after))),
        }
    }
    used.retain(|room| !room.is_empty());
    used
}

fn word(text: &str) -> String {
    text.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect()
}

/// What runs: no comments, and no tests, which stand at the end of a file.
fn code_of(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut sources = Vec::new();
    for path in files(&root) {
        let name = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
        let room = name.split('/').next().unwrap_or_default().trim_end_matches(".rs").to_owned();
        let is_test = name == "rooms.rs" || name.contains("/tests/") || name.ends_with("/tests.rs");
        if !is_test {
            sources.push(Source { room, text: code_of(&fs::read_to_string(&path).unwrap()), name });
        }
    }
    assert!(sources.len() > 100, "these are not the sources");
    sources
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    found
}
