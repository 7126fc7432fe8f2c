//! Saying once what is wrong in one place, for however many hosts it counts.

use std::collections::BTreeMap;

use crate::words::quote;
use crate::{Position, Problem};

/// Place, message, reason and way out, without the names of hosts.
type Key = (Option<Position>, String, Option<String>, Option<String>);

/// Of problems that differ only in the host, the first, which says how many others have it too.
pub(super) fn once(problems: Vec<Problem>) -> Vec<Problem> {
    let mut seen: BTreeMap<Key, (usize, usize)> = BTreeMap::new();
    let mut kept: Vec<Problem> = Vec::new();
    for problem in problems {
        let plain = |text: &str| problem.host().map_or_else(|| text.to_owned(), |host| text.replace(&quote(host), ""));
        let key = (problem.position.clone(), plain(&problem.message), problem.because.as_deref().map(plain), problem.hint.clone());
        let (_, others) = seen.entry(key).and_modify(|(_, others)| *others += 1).or_insert((kept.len(), 0));
        if *others == 0 {
            kept.push(problem);
        }
    }
    for (index, others) in seen.into_values().filter(|(_, others)| *others > 0) {
        if let Some(problem) = kept.get_mut(index)
            && let Some(host) = problem.host().map(quote)
        {
            problem.message = problem.message.replacen(&host, &format!("{host} and {others} more"), 1);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::once;
    use crate::Problem;

    #[test]
    fn only_what_is_said_of_hosts_is_counted() {
        let of_host = |host: &str| Problem::new(format!("`x` of the host `{host}` is wrong")).of_host(host);
        let of_name = |name: &str| Problem::new(format!("the group `{name}` is empty"));
        let said: Vec<String> = once(vec![of_host("a"), of_host("b"), of_name("a"), of_name("b"), of_host("c")])
            .into_iter()
            .map(|problem| problem.message)
            .collect();
        assert_eq!(said, ["`x` of the host `a` and 2 more is wrong", "the group `a` is empty", "the group `b` is empty"]);
    }
}
