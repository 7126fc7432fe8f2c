//! Names of hosts with ranges, such as `node[01:10]`, and with a port, such as `node1:2222`.

use std::net::Ipv6Addr;

/// More hosts than Kubernetes takes in a cluster, twice. What makes more is a slip, such as a digit too many.
pub(super) const MAX_HOSTS: usize = 10_000;

/// What is wrong with a name, and what to do.
pub(super) struct Wrong {
    pub(super) because: String,
    pub(super) hint: &'static str,
}

fn wrong<T>(because: impl Into<String>, hint: &'static str) -> Result<T, Wrong> {
    Err(Wrong { because: because.into(), hint })
}

/// The names that a name with ranges stands for, and the port that it ends with.
pub(super) fn expand(text: &str) -> Result<(Vec<String>, Option<u16>), Wrong> {
    let (name, port) = split_port(text)?;
    if name.is_empty() {
        return wrong("it is empty", "write a name, such as `worker1`");
    }
    if name.chars().any(|c| c.is_whitespace() || c.is_control() || matches!(c, ',' | '/')) {
        return wrong(
            "a name has no blanks, commas or slashes",
            "write each name in a line of its own; variables of a host stand behind it",
        );
    }
    if name.parse::<Ipv6Addr>().is_ok() {
        return Ok((vec![name.to_owned()], port));
    }
    let parts = parts(name)?;
    let count = parts.iter().try_fold(1_usize, |count, part| count.checked_mul(part.len()));
    if count.is_none_or(|count| count > MAX_HOSTS) {
        return wrong(format!("it stands for more than {MAX_HOSTS} hosts"), "count the digits of its ranges");
    }
    let empty = vec![String::new()];
    let all =
        parts.iter().fold(empty, |names, part| names.iter().flat_map(|name| part.iter().map(move |end| format!("{name}{end}"))).collect());
    Ok((all, port))
}

/// A name without the port behind it. In an IPv6 address colons are no ports, unless it stands in brackets.
fn split_port(text: &str) -> Result<(&str, Option<u16>), Wrong> {
    if text.parse::<Ipv6Addr>().is_ok() {
        return Ok((text, None));
    }
    let bracketed = text.strip_prefix('[').and_then(|rest| rest.split_once(']')).filter(|(inner, _)| inner.parse::<Ipv6Addr>().is_ok());
    let (name, port) = match bracketed {
        Some((name, "")) => return Ok((name, None)),
        Some((name, rest)) => (name, rest.strip_prefix(':')),
        None => match text.rsplit_once(':') {
            // A colon inside of a range is none before a port.
            Some((name, port)) if !port.contains(']') => (name, Some(port)),
            _ => return Ok((text, None)),
        },
    };
    match port.map(str::parse::<u16>) {
        Some(Ok(port)) if port > 0 => Ok((name, Some(port))),
        _ => wrong("what stands behind its colon is no port: a number from 1 to 65535", "write such a number, or the name alone"),
    }
}

/// The pieces of a name, each with what it can be.
fn parts(name: &str) -> Result<Vec<Vec<String>>, Wrong> {
    let mut parts = Vec::new();
    let mut rest = name;
    while let Some((before, after)) = rest.split_once('[') {
        let Some((range, behind)) = after.split_once(']') else {
            return wrong("a bracket is opened and not closed", "write a range as `[01:10]`");
        };
        parts.push(vec![before.to_owned()]);
        parts.push(one_range(range)?);
        rest = behind;
    }
    if rest.contains(']') {
        return wrong("a bracket is closed and not opened", "write a range as `[01:10]`");
    }
    parts.push(vec![rest.to_owned()]);
    Ok(parts)
}

/// `1:10`, `01:10`, `a:f`, each also with a step.
fn one_range(range: &str) -> Result<Vec<String>, Wrong> {
    let fields: Vec<&str> = range.split(':').collect();
    let (begin, end, step) = match fields.as_slice() {
        [begin, end] => (*begin, *end, "1"),
        [begin, end, step] => (*begin, *end, *step),
        _ => return wrong("a range has a begin and an end", "write it as `[01:10]` or `[a:f]`, with a step as `[01:10:2]`"),
    };
    let begin = if begin.is_empty() { "0" } else { begin };
    let step = match step.parse::<usize>() {
        Ok(step) if step > 0 => step,
        _ => return wrong("the step of a range is a number from 1", "write it as `[01:10:2]`, or leave the step out"),
    };
    match (number(begin), number(end), letter(begin), letter(end)) {
        (Some(first), Some(last), ..) => {
            let padded = begin.len() > 1 && begin.starts_with('0');
            if padded && begin.len() != end.len() {
                return wrong("begin and end of a range with leading zeros have the same length", "write it as `[01:10]`");
            }
            let width = if padded { begin.len() } else { 0 };
            steps(first, last, step).map(|numbers| numbers.map(|number| format!("{number:0width$}")).collect())
        }
        (.., Some(first), Some(last)) => steps(first, last, step).map(|letters| letters.filter_map(nth_letter).collect()),
        _ => wrong("a range goes from a number to a number or from a letter to a letter", "write it as `[01:10]` or `[a:f]`"),
    }
}

fn steps(first: usize, last: usize, step: usize) -> Result<impl Iterator<Item = usize>, Wrong> {
    let Some(span) = last.checked_sub(first) else {
        return wrong("a range ends behind its begin", "write the smaller one first, as in `[01:10]`");
    };
    if span / step >= MAX_HOSTS {
        return wrong(format!("it stands for more than {MAX_HOSTS} hosts"), "count the digits of its ranges");
    }
    Ok((first..=last).step_by(step))
}

fn number(text: &str) -> Option<usize> {
    text.chars().all(|c| c.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// Small letters come before capitals, as in Ansible.
fn letters() -> impl Iterator<Item = char> {
    ('a'..='z').chain('A'..='Z')
}

fn letter(text: &str) -> Option<usize> {
    let mut chars = text.chars();
    let only = chars.next().filter(|_| chars.next().is_none())?;
    letters().position(|letter| letter == only)
}

fn nth_letter(index: usize) -> Option<String> {
    letters().nth(index).map(String::from)
}

#[cfg(test)]
mod tests {
    use super::expand;

    fn names(text: &str) -> String {
        match expand(text) {
            Ok((names, None)) => names.join(" "),
            Ok((names, Some(port))) => format!("{} :{port}", names.join(" ")),
            Err(wrong) => format!("! {}", wrong.because),
        }
    }

    #[test]
    fn ranges_and_ports() {
        for (text, expected) in [
            ("node1", "node1"),
            ("node[1:3]", "node1 node2 node3"),
            ("node[08:10]", "node08 node09 node10"),
            ("n[0:6:3]x", "n0x n3x n6x"),
            ("n[:2]", "n0 n1 n2"),
            ("n[a:c]", "na nb nc"),
            ("n[y:B]", "ny nz nA nB"),
            ("r[1:2]n[a:b].lan", "r1na.lan r1nb.lan r2na.lan r2nb.lan"),
            ("node1:2222", "node1 :2222"),
            ("n[1:2]:2222", "n1 n2 :2222"),
            ("fe80::1", "fe80::1"),
            ("[fe80::1]", "fe80::1"),
            ("[fe80::1]:22", "fe80::1 :22"),
            ("10.0.0.1:22", "10.0.0.1 :22"),
            ("n[1:10000]", &(1..=10_000).map(|n| format!("n{n}")).collect::<Vec<_>>().join(" ")),
        ] {
            assert_eq!(names(text), expected, "{text}");
        }
    }

    #[test]
    fn what_no_range_can_be() {
        for (text, expected) in [
            ("", "! it is empty"),
            ("a b", "! a name has no blanks, commas or slashes"),
            ("n[1:10001]", "! it stands for more than 10000 hosts"),
            ("n[0:18446744073709551615]", "! it stands for more than 10000 hosts"),
            ("n[1:200][1:200]", "! it stands for more than 10000 hosts"),
            ("n[3:1]", "! a range ends behind its begin"),
            ("n[c:a]", "! a range ends behind its begin"),
            ("n[01:100]", "! begin and end of a range with leading zeros have the same length"),
            ("n[1:c]", "! a range goes from a number to a number or from a letter to a letter"),
            ("n[1:]", "! a range goes from a number to a number or from a letter to a letter"),
            ("n[1:99999999999999999999999]", "! a range goes from a number to a number or from a letter to a letter"),
            ("n[1:3:0]", "! the step of a range is a number from 1"),
            ("n[1]", "! a range has a begin and an end"),
            ("n[1:2:3:4]", "! a range has a begin and an end"),
            ("n[1:3", "! a bracket is opened and not closed"),
            ("n[13", "! a bracket is opened and not closed"),
            ("n1:3]", "! a bracket is closed and not opened"),
            ("n:0", "! what stands behind its colon is no port: a number from 1 to 65535"),
            ("n:65536", "! what stands behind its colon is no port: a number from 1 to 65535"),
            ("n:x", "! what stands behind its colon is no port: a number from 1 to 65535"),
            ("[fe80::1]22", "! what stands behind its colon is no port: a number from 1 to 65535"),
        ] {
            assert_eq!(names(text), expected, "{text}");
        }
    }
}
