//! What entries say of each other: names, paths, and their order.

use std::collections::BTreeMap;

use crate::decode::Decoder;
use crate::model::{HostResource, Wish};
use crate::words::{quote, with_nearest};
use crate::{Position, Problem};

/// Checks all of them; `complete` if each could be read.
pub(super) fn check(decoder: &mut Decoder, entries: &[HostResource], complete: bool) {
    unique(decoder, entries);
    paths(decoder, entries);
    subjects(decoder, entries);
    if complete {
        known(decoder, entries);
        circles(decoder, entries);
    }
}

fn share_a_host(one: &HostResource, other: &HostResource) -> bool {
    one.hosts.iter().any(|host| other.hosts.contains(host))
}

fn twice(what: String, entry: &HostResource, first: &Position, hint: &str) -> Problem {
    Problem::new(what).at(&entry.origin).because(format!("the first one stands at {first}")).hint(hint)
}

/// Entries of other hosts may have one name, if that only says what they are about.
fn unique(decoder: &mut Decoder, entries: &[HostResource]) {
    let mut seen: BTreeMap<&str, Vec<&HostResource>> = BTreeMap::new();
    for entry in entries {
        let before = seen.entry(entry.name.as_str()).or_default();
        let is_told = entry.wish.whole_path().is_some() || is_single(&entry.wish);
        let is_own = !entry.name.contains(':');
        if let Some(first) = before.iter().find(|other| is_own || (!is_told && share_a_host(entry, other))) {
            let what = format!("two entries have the name {}", quote(&entry.name));
            decoder.report(twice(what, entry, &first.origin, "give each entry a `name` of its own"));
        }
        before.push(entry);
    }
}

/// Whether no two entries of one host may be about one such thing.
fn is_single(wish: &Wish) -> bool {
    matches!(
        wish,
        Wish::Sysctl { .. }
            | Wish::KernelModule { .. }
            | Wish::User(_)
            | Wish::Group { .. }
            | Wish::CaCertificate { .. }
            | Wish::Mount(_)
            | Wish::Unit { .. }
    )
}

/// A path is one entry's; only lines and blocks stand beside each other.
fn paths(decoder: &mut Decoder, entries: &[HostResource]) {
    let mut seen: BTreeMap<&str, Vec<&HostResource>> = BTreeMap::new();
    for entry in entries {
        let Some(path) = entry.wish.whole_path().or(entry.wish.part_path()) else { continue };
        let before = seen.entry(path).or_default();
        let is_whole = entry.wish.whole_path().is_some();
        let first = before.iter().find(|other| share_a_host(entry, other) && (is_whole || other.wish.whole_path().is_some()));
        if let Some(first) = first {
            let what = format!("two entries write {}", quote(path));
            let hint = "make one entry of the two, or write other hosts as `on`";
            decoder.report(twice(what, entry, &first.origin, hint));
        }
        before.push(entry);
    }
    below_absent(decoder, entries);
}

/// What lies in a folder that is to be gone can't be there.
fn below_absent(decoder: &mut Decoder, entries: &[HostResource]) {
    let gone = entries.iter().filter(|entry| matches!(entry.wish, Wish::Absent { .. }));
    for (gone, folder) in gone.filter_map(|entry| Some((entry, entry.wish.whole_path()?))) {
        let inside = |entry: &&HostResource| {
            let path = entry.wish.whole_path().or(entry.wish.part_path()).or(entry.wish.folder());
            let is_there = !matches!(entry.wish, Wish::Absent { .. });
            is_there && path.and_then(|path| path.strip_prefix(folder)).is_some_and(|rest| rest.starts_with('/'))
        };
        for entry in entries.iter().filter(inside).filter(|entry| share_a_host(entry, gone)) {
            let what = format!("{} lies in a folder that is to be gone", quote(&entry.wish.subject()));
            let problem = Problem::new(what).at(&entry.origin).because(format!("{} is `absent` at {}", quote(folder), gone.origin));
            decoder.report(problem.hint("leave one of the two out, or write other hosts as `on`"));
        }
    }
}

/// A user, a unit, a parameter is declared once for a host.
fn subjects(decoder: &mut Decoder, entries: &[HostResource]) {
    let mut seen: BTreeMap<(&str, String), Vec<&HostResource>> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| is_single(&entry.wish)) {
        let before = seen.entry((entry.wish.kind(), entry.wish.subject())).or_default();
        if let Some(first) = before.iter().find(|other| share_a_host(entry, other)) {
            let what = format!("two entries are about the {} {}", entry.wish.kind(), quote(&entry.wish.subject()));
            decoder.report(twice(what, entry, &first.origin, "make one entry of the two, or write other hosts as `on`"));
        }
        before.push(entry);
    }
}

/// Names that `after` and `restartOn` have are those of entries.
fn known(decoder: &mut Decoder, entries: &[HostResource]) {
    let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    for entry in entries {
        for (field, name) in named(entry) {
            if !names.contains(&name) {
                let problem = Problem::new(format!("`{field}` names {}, which is no entry", quote(name))).at(&entry.origin);
                let because = if field == "after" { "it names other entries" } else { "it names other entries, or paths" };
                let hint = "write the `name` of an entry; one without is known by its kind and what it is about, as `file:/etc/motd`";
                decoder.report(with_nearest(problem.because(because), name, &names, hint));
            }
            let is_no_file = |other: &&HostResource| other.name == name && !leaves_a_file(&other.wish);
            if let Some(other) = entries.iter().find(is_no_file).filter(|_| field == "restartOn") {
                let problem = Problem::new(format!("`restartOn` names {}, which is no file", quote(name))).at(&entry.origin);
                let problem = problem.because(format!(
                    "it is the {} at {}, and a later run could not tell whether the unit was started since that changed",
                    other.wish.kind(),
                    other.origin
                ));
                decoder.report(
                    problem.hint("name a file, a binary, a line, a block, a certificate or a path; an order alone is said by `after`"),
                );
            }
        }
    }
}

/// Whether it leaves a file of which everybody can see when it changed.
fn leaves_a_file(wish: &Wish) -> bool {
    matches!(
        wish,
        Wish::File { .. } | Wish::Binary { .. } | Wish::Line { .. } | Wish::Block { .. } | Wish::CaCertificate { certificate: Some(_), .. }
    )
}

/// What an entry names, by the field.
fn named(entry: &HostResource) -> impl Iterator<Item = (&'static str, &str)> {
    let after = entry.after.iter().map(|name| ("after", name.as_str()));
    let restarts: &[String] = if let Wish::Unit { restart_on, .. } = &entry.wish { restart_on } else { &[] };
    after.chain(restarts.iter().filter(|word| !word.starts_with('/')).map(|name| ("restartOn", name.as_str())))
}

/// Entries that come after each other in a circle. Each is told once, at its first entry.
fn circles(decoder: &mut Decoder, entries: &[HostResource]) {
    let mut done: Vec<&str> = Vec::new();
    for entry in entries {
        if done.contains(&entry.name.as_str()) {
            continue;
        }
        if let Some(circle) = circle_from(entries, entry) {
            let way: Vec<String> = circle.iter().chain(circle.first()).map(|name| quote(name)).collect();
            let problem = Problem::new("entries come after each other in a circle").at(&entry.origin);
            let problem = problem.because(format!("{}, each after the next", way.join(", ")));
            decoder.report(problem.hint("take one of these names out of its `after` or `restartOn`"));
            done.extend(circle);
        }
    }
}

/// The circle that leads from an entry back to it.
fn circle_from<'a>(entries: &'a [HostResource], start: &'a HostResource) -> Option<Vec<&'a str>> {
    let mut open: Vec<Vec<&str>> = vec![vec![start.name.as_str()]];
    let mut seen: Vec<&str> = Vec::new();
    while let Some(way) = open.pop() {
        let last = entries.iter().find(|entry| Some(&entry.name.as_str()) == way.last())?;
        for (_, name) in named(last) {
            if name == start.name {
                return Some(way);
            }
            let is_there = entries.iter().any(|entry| entry.name == name && share_a_host(entry, last));
            if is_there && !seen.contains(&name) {
                seen.push(name);
                open.push(way.iter().copied().chain([name]).collect());
            }
        }
    }
    None
}
