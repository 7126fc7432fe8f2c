//! Parts of a time, and lines of a table with a column for each round.

use std::fmt;

use serde::Serialize;

use super::median;

/// Room for what a line is of: that of the longest one.
const WIDTH: usize = 42;

/// A part of a time.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Part {
    pub(super) what: String,
    pub(super) milliseconds: f64,
}

/// The parts that a script marks by lines `mark NAME MILLISECONDS` when each is done, after a first one at its beginning. What came after them is `last`,
/// so that all together are the total.
pub(super) fn marked(marks: &str, total: f64, last: &str) -> Vec<Part> {
    let marks: Vec<(&str, f64)> = marks
        .lines()
        .filter_map(|line| line.strip_prefix("mark ")?.rsplit_once(' '))
        .filter_map(|(name, at)| Some((name, at.parse().ok()?)))
        .collect();
    let pairs = marks.iter().zip(marks.iter().skip(1));
    let mut parts: Vec<Part> = pairs.map(|((_, from), (name, to))| Part { what: (*name).to_owned(), milliseconds: to - from }).collect();
    let spent: f64 = parts.iter().map(|part| part.milliseconds).sum();
    parts.push(Part { what: last.to_owned(), milliseconds: total - spent });
    parts
}

/// The first line: what the columns are.
pub(super) fn head(f: &mut fmt::Formatter<'_>, what: &str, rounds: usize) -> fmt::Result {
    write!(f, "{what:<WIDTH$}")?;
    (1..=rounds).try_for_each(|number| write!(f, "{:>8}", format!("run {number}")))?;
    writeln!(f, "{:>10}", "median")
}

/// A line of seconds, for milliseconds of each round.
pub(super) fn row<T>(f: &mut fmt::Formatter<'_>, what: &str, rounds: &[T], of: impl Fn(&T) -> f64) -> fmt::Result {
    write!(f, "{what:<WIDTH$}")?;
    rounds.iter().try_for_each(|round| write!(f, "{:>8.1}", of(round) / 1e3))?;
    writeln!(f, "{:>10.1} s", median_of(rounds, of) / 1e3)
}

/// A line for each part, by the names of the first round.
pub(super) fn rows<T>(f: &mut fmt::Formatter<'_>, rounds: &[T], parts: impl Fn(&T) -> &[Part]) -> fmt::Result {
    for name in rounds.first().into_iter().flat_map(&parts).map(|part| part.what.as_str()) {
        let of = |round: &T| parts(round).iter().find(|part| part.what == name).map_or(0.0, |part| part.milliseconds);
        row(f, &format!("  {name}"), rounds, of)?;
    }
    Ok(())
}

/// The median of a figure of all rounds.
pub(super) fn median_of<T>(rounds: &[T], of: impl Fn(&T) -> f64) -> f64 {
    median(rounds.iter().map(of).collect())
}

#[cfg(test)]
mod tests {
    use super::marked;

    #[test]
    fn parts_are_the_whole() {
        let parts = marked("mark start 1000\nmark init 5000\nmore\nmark cp2 kubelet 7500\n", 8000.0, "nodes Ready");
        let parts: Vec<(&str, f64)> = parts.iter().map(|part| (part.what.as_str(), part.milliseconds)).collect();
        assert_eq!(parts, [("init", 4000.0), ("cp2 kubelet", 2500.0), ("nodes Ready", 1500.0)]);
    }
}
