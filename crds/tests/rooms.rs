//! The rooms of this crate stand above each other: none uses one that uses it in turn, by however many others.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

type Uses = BTreeMap<String, BTreeSet<String>>;

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            files(&entry, found);
        } else if entry.extension().is_some_and(|extension| extension == "rs") && !entry.ends_with("tests.rs") {
            found.push(entry);
        }
    }
}

/// The names that follow `crate::` in a text, before its tests and without comments.
fn names(text: &str) -> Vec<String> {
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    let code: String = text.lines().filter(|line| !line.trim_start().starts_with("//")).map(|line| format!("{line}\n")).collect();
    let word = |text: &str| -> String { text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect() };
    let after = code.split("crate::").skip(1).flat_map(|rest| match rest.strip_prefix('{') {
        Some(list) => list.split('}').next().unwrap().split(',').map(word).collect(),
        None => vec![word(rest)],
    });
    after.filter(|name| !name.is_empty()).collect()
}

/// Which room uses which others; what the crate shows at its top belongs to the room that it is of.
fn uses() -> Uses {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let top = fs::read_to_string(source.join("lib.rs")).unwrap();
    let rooms: BTreeSet<&str> =
        top.lines().filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';')).collect();
    let mut shown = BTreeMap::new();
    for line in top.lines().filter_map(|line| line.strip_prefix("pub use ")) {
        let (room, names) = line.split_once("::").unwrap();
        for name in names.trim_matches(['{', '}', ';']).split(',') {
            shown.insert(name.split(" as ").last().unwrap().trim().to_owned(), room);
        }
    }
    let mut found = Vec::new();
    files(&source, &mut found);
    let mut uses = Uses::new();
    for file in found.iter().filter(|file| !file.ends_with("lib.rs")) {
        let own = file.strip_prefix(&source).unwrap().iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs").to_owned();
        let names = names(&fs::read_to_string(file).unwrap());
        let others =
            names.iter().map(|name| *shown.get(name).unwrap_or(&name.as_str())).filter(|room| rooms.contains(room) && *room != own);
        let others: Vec<String> = others.map(str::to_owned).collect();
        uses.entry(own).or_default().extend(others);
    }
    assert!(uses.len() > 20 && uses["read"].contains("decode") && uses["tree"].contains("position"), "{uses:?}");
    uses
}

/// A way from a room back to itself.
fn circle(uses: &Uses) -> Option<Vec<String>> {
    fn walk(uses: &Uses, way: &mut Vec<String>, done: &mut BTreeSet<String>) -> Option<Vec<String>> {
        let last = way.last()?.clone();
        for next in uses.get(&last).into_iter().flatten() {
            if let Some(start) = way.iter().position(|room| room == next) {
                return Some(way[start..].iter().chain([next]).cloned().collect());
            }
            if !done.contains(next) {
                way.push(next.clone());
                let found = walk(uses, way, done);
                if found.is_some() {
                    return found;
                }
                way.pop();
            }
        }
        done.insert(last);
        None
    }
    let mut done = BTreeSet::new();
    uses.keys().find_map(|room| walk(uses, &mut vec![room.clone()], &mut done))
}

#[test]
fn no_room_uses_one_that_uses_it() {
    let uses = uses();
    assert_eq!(circle(&uses).map(|way| way.join(" → ")), None);
    // Those that once did.
    for (below, above) in [("check", "examine"), ("tree", "source"), ("inventory", "resolve"), ("decode", "variables"), ("read", "check")] {
        assert!(!uses[below].contains(above), "{below} uses {above}");
    }
}

#[test]
fn circles_are_found() {
    let uses = |pairs: &[(&str, &str)]| -> Uses {
        let mut uses = Uses::new();
        pairs.iter().for_each(|(a, b)| _ = uses.entry((*a).to_owned()).or_default().insert((*b).to_owned()));
        uses
    };
    assert_eq!(circle(&uses(&[("a", "b"), ("b", "c"), ("a", "c")])), None);
    assert_eq!(circle(&uses(&[("a", "b"), ("b", "c"), ("c", "b")])).unwrap().join(" "), "b c b");
    assert_eq!(names("use crate::{Problem, words::quote};\nlet a = crate::tree::read(x);\n// crate::no\n"), ["Problem", "words", "tree"]);
}
