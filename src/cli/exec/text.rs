//! What hosts have said to a command, for people. Whoever writes these lines makes what could drive a terminal harmless.

use std::collections::BTreeMap;

use kok_crds::count;

use crate::engine::{Ended, ExecFailure, Executed, MOST_OUTPUT};

/// All of these names; a fleet that says the same is one line, and which host is not in it has to be seen.
pub(super) fn all_of(hosts: &[&str]) -> String {
    match hosts {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Who said it.
fn title(hosts: &[&str]) -> String {
    if hosts.len() == 1 { all_of(hosts) } else { format!("{} ({})", all_of(hosts), count(hosts.len(), "host")) }
}

/// Hosts of which something is equal, in the order of the first of each.
fn grouped<'a, K: PartialEq>(executed: &[(&'a str, &'a Executed)], key: impl Fn(&'a Executed) -> K) -> Vec<(Vec<&'a str>, K)> {
    let mut groups: Vec<(Vec<&str>, K)> = Vec::new();
    for (host, left) in executed {
        let of_host = key(left);
        match groups.iter_mut().find(|(_, known)| *known == of_host) {
            Some((hosts, _)) => hosts.push(host),
            None => groups.push((vec![host], of_host)),
        }
    }
    groups
}

/// Standard output, once for all hosts on which it is the same and the end is too.
pub(super) fn outputs(executed: &[(&str, &Executed)]) -> Vec<String> {
    let groups = grouped(executed, |left| (&left.ended, &left.stdout, left.stdout_cut));
    let text = |(hosts, (ended, stdout, cut)): &(Vec<&str>, (&Ended, &Vec<u8>, bool))| {
        let how = if **ended == Ended::Exited(0) { String::new() } else { format!(", {}", ending(ended)) };
        let head = title(hosts) + &how;
        if stdout.is_empty() {
            return format!("{head}: no output");
        }
        let mut text = format!("{head}:\n{}", body(stdout));
        if *cut {
            text.push_str(&format!("\n(cut: the first {} KiB are shown)", MOST_OUTPUT >> 10));
        }
        text
    };
    spaced(groups.iter().map(text).collect())
}

/// Standard error, once for all hosts on which it is the same.
pub(super) fn errors(executed: &[(&str, &Executed)]) -> Vec<String> {
    let groups = grouped(executed, |left| (&left.stderr, left.stderr_cut));
    let text = |(hosts, (stderr, cut)): &(Vec<&str>, (&Vec<u8>, bool))| {
        let cut = if *cut { "(cut: the end is shown)\n" } else { "" };
        format!("standard error of {}:\n{cut}{}", title(hosts), body(stderr))
    };
    spaced(groups.iter().filter(|(_, (stderr, _))| !stderr.is_empty()).map(text).collect())
}

fn body(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.strip_suffix('\n').unwrap_or(&text).to_owned()
}

/// With a line between them, unless each is one line.
fn spaced(texts: Vec<String>) -> Vec<String> {
    if texts.iter().all(|text| !text.contains('\n')) {
        return texts;
    }
    texts.into_iter().map(|text| text + "\n").collect()
}

/// How it ended, in words.
fn ending(ended: &Ended) -> String {
    match ended {
        Ended::Exited(code) => format!("exit code {code}"),
        Ended::TimedOut => "ended after its time".to_owned(),
        Ended::Interrupted => "interrupted".to_owned(),
        Ended::NotBegun => "not begun".to_owned(),
    }
}

/// How it ended everywhere, with the number of hosts.
pub(super) fn summary(left: &[(&str, &Result<Executed, ExecFailure>)]) -> String {
    let mut numbers: BTreeMap<(bool, Option<&Ended>), usize> = BTreeMap::new();
    for (_, left) in left {
        let ended = left.as_ref().ok().map(|left| &left.ended);
        *numbers.entry((ended.is_none(), ended)).or_default() += 1;
    }
    let words = |ended: Option<&Ended>| ended.map_or_else(|| "not known".to_owned(), ending);
    numbers.iter().map(|((_, ended), number)| format!("{}: {}", words(*ended), count(*number, "host"))).collect::<Vec<_>>().join("; ")
}

/// How it ended where that was not with 0, with the hosts.
pub(super) fn endings(left: &[(&str, &Result<Executed, ExecFailure>)]) -> String {
    let mut hosts: BTreeMap<(bool, Option<&Ended>), Vec<&str>> = BTreeMap::new();
    for (host, left) in left {
        let ended = left.as_ref().ok().map(|left| &left.ended);
        if ended != Some(&Ended::Exited(0)) {
            hosts.entry((ended.is_none(), ended)).or_default().push(host);
        }
    }
    let words = |ended: Option<&Ended>| ended.map_or_else(|| "not known".to_owned(), ending);
    hosts.iter().map(|((_, ended), hosts)| format!("{} on {}", words(*ended), all_of(hosts))).collect::<Vec<_>>().join("; ")
}
