//! What chronyd says of its clock and its sources.

/// What is asked of a clock that follows nobody, or itself, costs as much again, so the sources of any other are not. With `-a` behind
/// `sources` (chrony 4.1) names that have no address are among them.
pub(super) const SCRIPT: &str = r#"mark time
tracking=$(chronyc -n -c tracking 2>/dev/null </dev/null) || tracking=unavailable
printf '%s\n' "$tracking"
case "$tracking" in
  7F7F0101,*|*',Not synchronised')
    mark time-sources
    sources=$(chronyc -N -c sources -a 2>/dev/null </dev/null) || sources=$(chronyc -n -c sources 2>/dev/null </dev/null)
    printf '%s\n' "$sources" | head -n 16;;
esac
"#;

/// `chronyc -c tracking`, as far as it matters here.
#[derive(Debug, Clone, PartialEq)]
pub enum TimeTracking {
    /// chronyd isn't there or doesn't answer.
    Unavailable,
    /// What it follows, and how well.
    Tracking {
        /// Reference identifier, eight hexadecimal digits; `7F7F0101` is the host's own clock.
        reference: String,
        /// Stratum, 0 while not synchronised.
        stratum: u8,
        /// `Normal`, `Not synchronised` …
        leap: String,
        /// The sources, where it follows none of them.
        sources: Vec<TimeSource>,
    },
}

/// A source of time, as chronyd sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeSource {
    /// Its name as it was configured, or its address.
    pub name: String,
    /// Whether any of the last eight questions was answered.
    pub answers: bool,
    /// chronyd's own mark: `*` followed, `+` and `-` good, `x` wrong, `~` too variable, `?` none of that yet.
    pub mark: char,
}

/// The comma-separated forms of `tracking` (reference, name, stratum, …, leap status last) and of `sources` (mode, mark, name, stratum,
/// interval, answers of the last eight questions, …).
pub(super) fn read(tracking: &str, sources: &str) -> TimeTracking {
    let fields: Vec<&str> = tracking.trim().split(',').collect();
    match (fields.first(), fields.get(2).and_then(|stratum| stratum.parse().ok()), fields.last()) {
        (Some(reference), Some(stratum), Some(leap)) if fields.len() > 3 => TimeTracking::Tracking {
            reference: (*reference).to_owned(),
            stratum,
            leap: (*leap).to_owned(),
            sources: sources.lines().filter_map(source).collect(),
        },
        _ => TimeTracking::Unavailable,
    }
}

fn source(line: &str) -> Option<TimeSource> {
    let fields: Vec<&str> = line.trim().split(',').collect();
    let [_, mark, name, _, _, reach, ..] = fields.as_slice() else { return None };
    Some(TimeSource { name: (*name).to_owned(), answers: reach.bytes().any(|digit| digit != b'0'), mark: mark.chars().next()? })
}
