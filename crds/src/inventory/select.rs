//! Patterns of hosts, as `--limit` takes them: `workers:!node7`, `kube_node[0:2]`, `node*,&rack1`.

mod glob;

pub(crate) use glob::{is_glob, matches};

use std::collections::BTreeSet;
use std::net::Ipv6Addr;
use std::sync::Arc;

use super::{ALL, Inventory, InventoryGroup};
use crate::words::{nearest, quote};
use crate::{Position, Problem};

/// What a term does to the hosts that the others give.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Add,
    Keep,
    Remove,
}

/// The hosts that a pattern names, in the order in which it names them.
pub(super) fn select<'a>(inventory: &'a Inventory, pattern: &str, at: &Position) -> Result<Vec<&'a str>, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut terms = Vec::new();
    for (role, term) in split(pattern) {
        match hosts(inventory, term) {
            Ok(hosts) => terms.push((role, hosts)),
            Err(problem) => problems.push(problem.at(at)),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let all = || inventory.members(ALL).unwrap_or_default();
    let hosts_of = |role| terms.iter().filter(move |(other, _)| *other == role).map(|(_, hosts)| hosts);
    // As in Ansible, the order of the terms doesn't matter: first all that add, then what they share, then what goes.
    let mut seen = BTreeSet::new();
    let begin = if hosts_of(Role::Add).next().is_some() { hosts_of(Role::Add).flatten().copied().collect() } else { all() };
    let mut selected: Vec<&str> = begin.into_iter().filter(|host| seen.insert(*host)).collect();
    for hosts in hosts_of(Role::Keep).map(|hosts| hosts.iter().collect::<BTreeSet<_>>()) {
        selected.retain(|host| hosts.contains(host));
    }
    let removed: BTreeSet<_> = hosts_of(Role::Remove).flatten().collect();
    selected.retain(|host| !removed.contains(host));
    if terms.is_empty() || selected.is_empty() {
        let problem = Problem::new(format!("{} names no host", quote(pattern))).at(at);
        let because = if terms.is_empty() { "the pattern is empty" } else { "what it takes away leaves none" };
        return Err(vec![problem.because(because).hint("leave the limit out to mean all hosts")]);
    }
    Ok(selected)
}

/// The terms of a pattern, between commas and colons. Colons in brackets or in an IPv6 address end none.
fn split(pattern: &str) -> Vec<(Role, &str)> {
    let mut terms = Vec::new();
    for piece in pattern.split(',').map(str::trim) {
        if role(piece).1.parse::<Ipv6Addr>().is_ok() {
            terms.push(role(piece));
            continue;
        }
        let mut depth = 0_usize;
        let ends = |c: char| {
            match c {
                '[' => depth += 1,
                ']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            c == ':' && depth == 0
        };
        terms.extend(piece.split(ends).map(|term| role(term.trim())));
    }
    terms.retain(|(_, term)| !term.is_empty());
    terms
}

fn role(term: &str) -> (Role, &str) {
    match (term.strip_prefix('!'), term.strip_prefix('&')) {
        (Some(rest), _) => (Role::Remove, rest.trim_start()),
        (_, Some(rest)) => (Role::Keep, rest.trim_start()),
        _ => (Role::Add, term),
    }
}

/// The hosts that one term names.
fn hosts<'a>(inventory: &'a Inventory, term: &str) -> Result<Vec<&'a str>, Problem> {
    if term.starts_with('~') {
        let problem = Problem::new(format!("{} is a regular expression", quote(term)));
        return Err(problem
            .because("patterns of hosts are names, groups and wildcards here")
            .hint("write it with `*` and `?`, or as a list"));
    }
    if term.starts_with('@') {
        let problem = Problem::new(format!("{} is a file with names of hosts", quote(term)));
        return Err(problem.because("no such file is read here").hint("write the names with commas between them"));
    }
    match subscript(term) {
        Some((base, first, last)) => part(base, named(inventory, base)?, first, last),
        None => named(inventory, term),
    }
}

fn named<'a>(inventory: &'a Inventory, term: &str) -> Result<Vec<&'a str>, Problem> {
    let mut found = Vec::new();
    let groups = if glob::is_glob(term) {
        inventory.groups().filter(|group| glob::matches(term, group)).collect()
    } else {
        let host_has_it = inventory.host(term).is_some();
        let written = |(name, group): &(&Arc<str>, &InventoryGroup)| name.as_ref() == term || group.aliases.contains(term);
        Vec::from_iter(inventory.group(term).filter(|group| !host_has_it || written(group)).map(|(name, _)| name.as_ref()))
    };
    found.extend(groups.iter().flat_map(|group| inventory.members(group)).flatten());
    if glob::is_glob(term) {
        found.extend(inventory.hosts().into_iter().filter(|host| glob::matches(term, host)));
    } else if groups.is_empty() {
        found.extend(inventory.host(term).map(|(name, _)| name.as_ref()));
    }
    if found.is_empty() && groups.is_empty() { Err(no_such(inventory, term)) } else { Ok(found) }
}

fn no_such(inventory: &Inventory, term: &str) -> Problem {
    if glob::is_glob(term) {
        return Problem::new(format!("no host or group matches {}", quote(term)))
            .because("an operation on no host would change nothing")
            .hint(format!("the hosts are {}", crate::words::listed(inventory.hosts())));
    }
    let mut known = inventory.hosts();
    known.extend(inventory.groups());
    let problem = Problem::new(format!("there is no host or group {}", quote(term))).because("the file does not name it");
    match nearest(term, &known) {
        Some(near) => problem.hint(format!("did you mean {}?", quote(near))),
        None => problem.hint(format!("the hosts are {}", crate::words::listed(inventory.hosts()))),
    }
}

/// `base[3]`, `base[-1]`, `base[0:2]` or `base[3:]`: the base with the first and the last index, which may be open.
fn subscript(term: &str) -> Option<(&str, i64, Option<i64>)> {
    let (base, range) = term.strip_suffix(']')?.rsplit_once('[')?;
    if base.is_empty() {
        return None;
    }
    if let Ok(index) = range.parse::<i64>() {
        return Some((base, index, Some(index)));
    }
    let (first, last) = range.split_once(':').or_else(|| range.split_once('-'))?;
    let first = if first.is_empty() { 0 } else { first.parse::<i64>().ok()? };
    let last = if last.is_empty() { None } else { Some(last.parse::<i64>().ok()?) };
    Some((base, first, last))
}

/// From the first to the last index, both included; negative ones count from the end.
fn part<'a>(base: &str, hosts: Vec<&'a str>, first: i64, last: Option<i64>) -> Result<Vec<&'a str>, Problem> {
    let count = i64::try_from(hosts.len()).unwrap_or(i64::MAX);
    let from_end = |index: i64| if index < 0 { index.saturating_add(count) } else { index };
    let (first, last) = (from_end(first), last.map_or(count - 1, from_end));
    if first < 0 || first >= count || last < first {
        let problem = Problem::new(format!("{} has no hosts at these places", quote(base)));
        return Err(problem
            .because(format!("it has {count} hosts; the first one is `[0]`, the last one `[-1]`"))
            .hint("write numbers of hosts that it has"));
    }
    let numbered = hosts.into_iter().zip(0..);
    Ok(numbered.filter(|(_, index)| (first..=last).contains(index)).map(|(host, _)| host).collect())
}
