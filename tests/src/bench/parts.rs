//! Parts of a time, and lines of a table with a column for each round.

use std::fmt;

use serde::Serialize;

use super::median;

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
    write!(f, "{what:<34}")?;
    (1..=rounds).try_for_each(|number| write!(f, "{:>8}", format!("run {number}")))?;
    writeln!(f, "{:>10}", "median")
}

/// A line of seconds, for milliseconds of each round.
pub(super) fn row(f: &mut fmt::Formatter<'_>, what: &str, values: Vec<f64>) -> fmt::Result {
    write!(f, "{what:<34}")?;
    values.iter().try_for_each(|value| write!(f, "{:>8.1}", value / 1e3))?;
    writeln!(f, "{:>10.1} s", median(values) / 1e3)
}

/// A line for each part, by the names of the first round.
pub(super) fn rows(f: &mut fmt::Formatter<'_>, rounds: &[&[Part]]) -> fmt::Result {
    for name in rounds.iter().take(1).flat_map(|parts| parts.iter()).map(|part| part.what.as_str()) {
        let of = |parts: &&[Part]| parts.iter().find(|part| part.what == name).map_or(0.0, |part| part.milliseconds);
        row(f, &format!("  {name}"), rounds.iter().map(of).collect())?;
    }
    Ok(())
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
