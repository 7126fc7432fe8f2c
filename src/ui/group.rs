//! Failures of many hosts with one cause, told once.

use super::Failure;

/// Below this each host is told of by itself: that is still read.
const FEWEST: usize = 4;

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
    groups.into_iter().flat_map(|(cause, group)| if group.len() < FEWEST { group } else { vec![together(cause, &group)] }).collect()
}

/// Stands for the host where it is part of a sentence.
const PLACE: &str = "\u{1}";

/// The host that a failure names as its place: `host NAME (…)`, `host NAME: …`.
fn host(failure: &Failure) -> Option<&str> {
    let rest = failure.at.as_deref()?.strip_prefix("host ")?;
    rest.split([' ', ':', ',']).next().filter(|name| !name.is_empty())
}

/// The address, if it stands behind the host's name.
fn address(failure: &Failure) -> Option<&str> {
    let (_, rest) = failure.at.as_deref()?.split_once('(')?;
    rest.split(')').next()
}

fn without_host(failure: &Failure) -> Failure {
    let Some(host) = host(failure) else { return failure.clone() };
    let masked = |text: &String| words(text, host, address(failure));
    Failure {
        kind: failure.kind,
        what: masked(&failure.what),
        at: None,
        because: failure.because.as_ref().map(masked),
        hint: failure.hint.as_ref().map(masked),
    }
}

/// A text in which whole words that name the host are left out.
fn words(text: &str, host: &str, address: Option<&str>) -> String {
    let is = |word: &str| {
        let plain = word.trim_matches(|c: char| matches!(c, ':' | ',' | ';' | '`' | '.'));
        plain == host || Some(plain) == address
    };
    let masked = |word: &str| if is(word) { word.replace(host, PLACE).replace(address.unwrap_or(host), PLACE) } else { word.to_owned() };
    text.split(' ').map(masked).collect::<Vec<_>>().join(" ")
}

fn together(cause: Failure, group: &[Failure]) -> Failure {
    // A fleet is not listed: `kokctl run show` has all of them.
    const MOST_NAMES: usize = 10;
    let mut names: Vec<String> = group.iter().filter_map(host).map(str::to_owned).collect();
    names.sort();
    let count = names.len();
    let mut at = format!("{count} hosts: {}", names.iter().take(MOST_NAMES).cloned().collect::<Vec<_>>().join(", "));
    if count > MOST_NAMES {
        at.push_str(&format!(" and {} more", count - MOST_NAMES));
    }
    let plain = |text: String| text.replace(PLACE, "the host");
    Failure { what: plain(cause.what), at: Some(at), because: cause.because.map(plain), hint: cause.hint.map(plain), ..cause }
}

#[cfg(test)]
mod tests {
    use super::super::Kind;
    use super::*;

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
    fn few_hosts_other_causes_and_places_that_are_no_hosts_stay_apart() {
        let few: Vec<Failure> = (1..=3).map(unreachable).collect();
        assert_eq!(grouped(few.clone()), few);
        let other: Vec<Failure> = (1..=6).map(|number| unreachable(number).because(format!("cause {number}"))).collect();
        assert_eq!(grouped(other.clone()), other);
        let places: Vec<Failure> = (1..=6).map(|number| Failure::new(Kind::Input, "x").at(format!("cluster.yaml:{number}:1"))).collect();
        assert_eq!(grouped(places.clone()), places);
    }
}
