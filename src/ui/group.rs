//! Failures of many hosts with one cause, told once.

use std::collections::BTreeSet;

use kok_crds::{count, listed};

use crate::failure::Failure;

/// Up to so many hosts are told of with their addresses; of more, the names are enough.
const FEW: usize = 3;

/// Puts failures together that differ in the host only. The others stay, in their order.
#[must_use]
pub fn grouped(failures: Vec<Failure>) -> Vec<Failure> {
    let mut groups: Vec<(Failure, Vec<Failure>)> = Vec::new();
    for failure in failures {
        let cause = without_host(&failure);
        match groups.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, group)) => group.push(failure),
            None => groups.push((cause, vec![failure])),
        }
    }
    groups.into_iter().flat_map(|(cause, group)| if hosts(&group) < 2 { group } else { vec![together(cause, &group)] }).collect()
}

fn hosts(group: &[Failure]) -> usize {
    group.iter().filter_map(Failure::host).collect::<BTreeSet<_>>().len()
}

/// Stands for the host where it is part of a sentence.
const PLACE: &str = "\u{1}";

/// Stands for a host's address, which people need: each host has its own.
const ADDRESS: &str = "\u{2}";

/// The address, if it stands behind the host's name.
fn address(failure: &Failure) -> Option<&str> {
    let (_, rest) = failure.at.as_deref()?.split_once('(')?;
    rest.split(')').next()
}

/// Whether a word is this address, or the part of it without the login.
fn is_at(word: &str, address: Option<&str>) -> bool {
    address.is_some_and(|address| word == address || address.split_once('@').is_some_and(|(_, endpoint)| word == endpoint))
}

fn without_host(failure: &Failure) -> Failure {
    let Some(host) = failure.host() else { return failure.clone() };
    let masked = |text: &String| masked(text, host, address(failure));
    let (because, hint) = (failure.because.as_ref().map(masked), failure.hint.as_ref().map(masked));
    Failure { because, hint, ..Failure::new(failure.kind, masked(&failure.what)) }
}

/// A word without what stands around it.
fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| matches!(c, ':' | ',' | ';' | '`' | '.' | '(' | ')'))
}

/// A text in which words that name the host, or a login to it (`user@address:port`), are left out.
fn masked(text: &str, host: &str, address: Option<&str>) -> String {
    let word = |word: &str| {
        let plain = bare(word);
        match plain == host {
            true => word.replacen(plain, PLACE, 1),
            false if is_at(plain, address) || plain.contains('@') => word.replacen(plain, ADDRESS, 1),
            false => word.to_owned(),
        }
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// What one host says of itself, as every host would say it: for what is told of several together. The address as it is reached, if that
/// may be a part of it.
pub(crate) fn of_any_host(text: &str, host: &str, address: Option<&str>) -> String {
    plain(&masked(text, host, address))
}

fn plain(text: &str) -> String {
    text.replace(PLACE, "the host").replace(ADDRESS, "the host")
}

fn together(cause: Failure, group: &[Failure]) -> Failure {
    let place = |failure: &Failure| {
        let name = failure.host()?;
        let whole = failure.at.as_deref().and_then(|at| at.strip_prefix("host ")).filter(|_| group.len() <= FEW);
        Some(whole.unwrap_or(name).to_owned())
    };
    let names: BTreeSet<String> = group.iter().filter_map(place).collect();
    let at = format!("{}: {}", count(names.len(), "host"), listed(names.iter().map(String::as_str)));
    let failure = Failure::new(cause.kind, plain(&cause.what)).found_by(origin_of(group)).at(at);
    let because = cause.because.as_deref().map(|text| with_addresses(text, group));
    Failure { because, hint: cause.hint.as_deref().map(|text| with_example(text, group)), ..failure }
}

/// Why, with the addresses of the hosts, as far as they can be read.
fn with_addresses(because: &str, group: &[Failure]) -> String {
    let word = |(index, word): (usize, &str)| {
        let own = || group.iter().filter_map(|failure| failure.because.as_deref()?.split(' ').nth(index)).map(bare);
        if word.contains(ADDRESS) { word.replace(ADDRESS, &some_of(own())) } else { word.to_owned() }
    };
    plain(&because.split(' ').enumerate().map(word).collect::<Vec<_>>().join(" "))
}

/// The first of them, each once.
fn some_of<'a>(addresses: impl Iterator<Item = &'a str>) -> String {
    let mut seen = BTreeSet::new();
    let names: Vec<&str> = addresses.filter(|address| seen.insert(*address)).collect();
    match names.as_slice() {
        [first, rest @ ..] if rest.len() >= FEW => format!("{first} and {} more", rest.len()),
        all => all.join(", "),
    }
}

/// What to do. A command with the address of a host can be typed for one host only.
fn with_example(hint: &str, group: &[Failure]) -> String {
    let first = group.iter().find_map(|failure| Some((failure.host()?, failure.hint.as_deref()?)));
    let is_shared = || group.iter().filter_map(|failure| failure.hint.as_deref()).collect::<BTreeSet<_>>().len() == 1;
    match first.filter(|_| hint.contains(ADDRESS)) {
        Some((_, own)) if is_shared() => own.to_owned(),
        Some((host, own)) => format!("of {host}, for example: {own}"),
        None => plain(hint),
    }
}

/// The lines that say where all of these hosts are; or where one of them is, if they have lines of their own.
fn origin_of(group: &[Failure]) -> Option<String> {
    let (named, origin) = group.iter().find_map(|failure| Some((failure, failure.origin()?)))?;
    let is_shared = group.iter().all(|failure| failure.origin() == Some(origin));
    let host = named.host().filter(|_| !is_shared);
    Some(host.map_or_else(|| origin.to_owned(), |host| format!("of {host}, for example, {origin}")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::failure::Kind;

    fn unreachable(number: usize) -> Failure {
        Failure::new(Kind::Host, format!("cannot connect to w{number}: it is unreachable"))
            .at(format!("host w{number} (root@10.0.0.{number}:22)"))
            .because("No route to host")
            .hint("check the address")
    }

    #[test]
    fn hosts_with_one_cause_are_told_once() {
        let mut failures: Vec<Failure> = (1..=12).map(unreachable).collect();
        failures.push(Failure::new(Kind::Host, "swap is on").at("host w1 (10.0.0.1)"));
        let told: Vec<String> = grouped(failures).iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "error: cannot connect to the host: it is unreachable\n     at: 12 hosts: w1, w10, w11, w12, w2, w3, w4, w5, w6, w7 and 2 more\nbecause: No route to host\n   hint: check the address",
                "error: swap is on\n     at: host w1 (10.0.0.1)",
            ]
        );
    }

    #[test]
    fn a_failure_belongs_to_the_host_that_it_names() {
        let host = |at: &str| Failure::new(Kind::Host, "x").at(at).host().map(str::to_owned);
        assert_eq!(host("host w1 (root@10.0.0.1:22)").as_deref(), Some("w1"));
        assert_eq!(host("host w1").as_deref(), Some("w1"));
        assert_eq!((host("w1"), host("cluster.yaml:1:1"), Failure::new(Kind::Host, "x").host()), (None, None, None));
    }

    #[test]
    fn hosts_behind_one_bastion_are_told_once() {
        let behind = |number: u32| {
            Failure::new(Kind::Host, format!("cannot connect to w{number}: no answer"))
                .of_host(format!("w{number}"))
                .at(format!("bastion gate of w{number} (ops@10.0.0.1:22)"))
        };
        let told = grouped((1..=12).map(behind).collect());
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told.first().map(|failure| failure.what.as_str()), Some("cannot connect to the host: no answer"));
    }

    #[test]
    fn few_hosts_are_told_with_their_addresses() {
        let refused = |number: u32| {
            let endpoint = format!("10.0.0.{number}:22");
            Failure::new(Kind::Host, format!("cannot connect to w{number}: connection refused"))
                .at(format!("host w{number} (root@{endpoint})"))
                .because(format!("nothing listens on {endpoint}"))
        };
        let told: Vec<String> = grouped((1..=2).map(refused).collect()).iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "error: cannot connect to the host: connection refused\n     at: 2 hosts: w1 (root@10.0.0.1:22), w2 (root@10.0.0.2:22)\nbecause: nothing listens on 10.0.0.1:22, 10.0.0.2:22"
            ]
        );
    }

    /// A command with the name of nobody can't be typed.
    #[test]
    fn hints_keep_an_address() {
        let failure = |number: u32, hint: &str| {
            Failure::new(Kind::Host, format!("cannot connect to w{number}: connection refused"))
                .at(format!("host w{number} (root@10.0.0.{number}:22)"))
                .hint(hint.replace('N', &number.to_string()))
        };
        let hint = |hint: &str| grouped((1..=12).map(|number| failure(number, hint)).collect()).first().unwrap().hint.clone().unwrap();
        assert_eq!(hint("try `ssh root@10.0.0.N:22`"), "of w1, for example: try `ssh root@10.0.0.1:22`");
        assert_eq!(hint("log in to wN and look"), "log in to the host and look");
        assert_eq!(hint("by way of ops@gate.example: look there"), "by way of ops@gate.example: look there");
    }

    /// Hosts that an ssh_config names have lines of their own there, or one line for all.
    #[test]
    fn lines_of_an_ssh_config_do_not_keep_hosts_apart() {
        let refused = |number: u32, line: u32| {
            Failure::new(Kind::Host, format!("cannot connect to w{number}: connection refused"))
                .at(format!("host w{number} (root@10.0.0.{number}:22)"))
                .because(format!("nothing listens on 10.0.0.{number}:22"))
                .found_by(Some(format!("the address is that of HostName at /home/me/.ssh/config:{line}")))
        };
        let causes = |failures: Vec<Failure>| grouped(failures).iter().filter_map(Failure::cause).collect::<Vec<_>>();
        let line = "the address is that of HostName at /home/me/.ssh/config";
        assert_eq!(
            causes((1..=50).map(|number| refused(number, 3 * number)).collect()),
            [format!("nothing listens on 10.0.0.1:22 and 49 more; of w1, for example, {line}:3")]
        );
        assert_eq!(
            causes((1..=2).map(|number| refused(number, 7)).collect()),
            [format!("nothing listens on 10.0.0.1:22, 10.0.0.2:22; {line}:7")]
        );
        assert_eq!(causes(vec![refused(1, 7)]), [format!("nothing listens on 10.0.0.1:22; {line}:7")]);
    }

    #[test]
    fn one_host_other_causes_and_places_that_are_no_hosts_stay_apart() {
        assert_eq!(grouped(vec![unreachable(1), unreachable(1)]), [unreachable(1), unreachable(1)]);
        let other: Vec<Failure> = (1..=6).map(|number| unreachable(number).because(format!("cause {number}"))).collect();
        assert_eq!(grouped(other.clone()), other);
        let places: Vec<Failure> = (1..=6).map(|number| Failure::new(Kind::Input, "x").at(format!("cluster.yaml:{number}:1"))).collect();
        assert_eq!(grouped(places.clone()), places);
    }
}
