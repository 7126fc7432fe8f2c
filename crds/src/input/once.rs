//! Saying once what is wrong in one place, for however many hosts it counts.

use std::collections::{BTreeMap, BTreeSet};

use crate::words::quote;
use crate::{Position, Problem};

/// Place, message, reason and way out, without the names of hosts.
type Key = (Option<Position>, String, Option<String>, Option<String>);

/// Of problems that differ only in the host, the first, which says how many others have it too.
pub(super) fn once(problems: Vec<Problem>, hosts: &[&str]) -> Vec<Problem> {
    let hosts: BTreeSet<&str> = hosts.iter().copied().collect();
    let mut seen: BTreeMap<Key, (usize, usize)> = BTreeMap::new();
    let mut kept: Vec<Problem> = Vec::new();
    for problem in problems {
        let plain = |text: &str| without(text, &hosts);
        let key = (problem.position.clone(), plain(&problem.message), problem.because.as_deref().map(plain), problem.hint.clone());
        let (_, others) = seen.entry(key).and_modify(|(_, others)| *others += 1).or_insert((kept.len(), 0));
        if *others == 0 {
            kept.push(problem);
        }
    }
    for (index, others) in seen.into_values().filter(|(_, others)| *others > 0) {
        if let Some(problem) = kept.get_mut(index) {
            problem.message = with_others(&problem.message, others, &hosts);
        }
    }
    kept
}

/// The text with a gap for each name of a host.
fn without(text: &str, hosts: &BTreeSet<&str>) -> String {
    let part = |(index, part)| if index % 2 == 1 && hosts.contains(part) { "" } else { part };
    text.split('`').enumerate().map(part).collect::<Vec<_>>().join("`")
}

fn with_others(message: &str, others: usize, hosts: &BTreeSet<&str>) -> String {
    let first = message.split('`').enumerate().find(|(index, part)| index % 2 == 1 && hosts.contains(part));
    match first {
        Some((_, host)) => message.replacen(&quote(host), &format!("{} and {others} more", quote(host)), 1),
        None => message.to_owned(),
    }
}
