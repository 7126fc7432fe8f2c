//! `spec.operator`: what is only about `kokctl operator`. Who else reads the file has nothing from it, and is told what is wrong with it all the same.

use super::reference;
use crate::Problem;
use crate::decode::{Decoder, Field, Fields, Form};
use crate::words::quote;

/// How the operator serves a Cluster.
pub(crate) const OF_CLUSTER: Form = Form {
    what: "`operator` of a Cluster",
    fields: &[
        "mode",
        "approval",
        "suspend",
        "driftInterval",
        "driftPolicy",
        "deletionPolicy",
        "deletionDeadlineSeconds",
        "knownHostsRef",
        "filesRef",
        "secretFilesRef",
    ],
    refused: &[],
};

/// How the operator carries out an operation.
pub(crate) const OF_OPERATION: Form =
    Form { what: "`operator` of a ClusterOperation", fields: &["approval", "dryRun", "retries"], refused: &[] };

/// Whether a cluster is changed by operations alone, or whenever it is described otherwise.
pub(crate) const MODES: [&str; 2] = ["OnDemand", "Declarative"];
/// Whether plans wait for somebody.
pub(crate) const APPROVALS: [&str; 2] = ["Auto", "Manual"];
/// What is done about hosts that differ from their description.
pub(crate) const DRIFT_POLICIES: [&str; 2] = ["Observe", "Repair"];
/// What becomes of the hosts of a Cluster that is deleted.
pub(crate) const DELETION_POLICIES: [&str; 2] = ["Orphan", "Reset"];
/// Seconds that hosts may have to be taken down: from a minute to a day.
pub(crate) const DELETION_DEADLINES: (i64, i64) = (60, 86_400);
/// Seconds between two looks for drift: a look takes seconds on each host, and one a week is none.
const INTERVALS: (u64, u64) = (60, 7 * 86_400);
/// What an interval looks like, as a regular expression; the API server asks the same.
pub(crate) const INTERVAL: &str = "^([0-9]{1,5}h)?([0-9]{1,5}m)?([0-9]{1,6}s)?$";

/// Seconds of a time such as `90s`, `10m` or `1h30m`; nothing if it is none.
#[must_use]
pub fn interval_seconds(text: &str) -> Option<u64> {
    let (mut rest, mut seconds) = (text, 0_u64);
    for (unit, of_unit) in [('h', 3600), ('m', 60), ('s', 1)] {
        let Some((number, after)) = rest.split_once(unit) else { continue };
        let is_number = !number.is_empty() && number.len() <= 6 && number.bytes().all(|byte| byte.is_ascii_digit());
        seconds += number.parse::<u64>().ok().filter(|_| is_number)? * of_unit;
        rest = after;
    }
    (rest.is_empty() && !text.is_empty()).then_some(seconds)
}

/// Reports what is wrong with that of a Cluster.
pub(super) fn check_cluster(field: &Field<'_>, decoder: &mut Decoder) {
    let Some(fields) = decoder.fields(field, &OF_CLUSTER) else { return };
    let mode = word(&fields, "mode", MODES, decoder);
    word(&fields, "approval", APPROVALS, decoder);
    word(&fields, "deletionPolicy", DELETION_POLICIES, decoder);
    let policy = word(&fields, "driftPolicy", DRIFT_POLICIES, decoder);
    // Of a mode that could not be read it is not known what was meant.
    let is_on_demand = if fields.get("mode").is_some() { mode == Some("OnDemand") } else { !fields.is_misspelled("mode") };
    if let Some(field) = fields.get("driftPolicy").filter(|_| policy == Some("Repair") && is_on_demand) {
        let problem = Problem::new("`driftPolicy: Repair` needs `mode: Declarative`").at(field.position());
        let problem = problem.because("without it a cluster is changed by operations alone, and a repair is one that nobody asked for");
        decoder.report(problem.hint("add `mode: Declarative`, or write `driftPolicy: Observe`"));
    }
    if let Some(field) = fields.get("driftInterval") {
        check_interval(&field, decoder);
    }
    if let Some(field) = fields.get("suspend") {
        decoder.boolean(&field);
    }
    if let Some(field) = fields.get("deletionDeadlineSeconds") {
        decoder.integer(&field, DELETION_DEADLINES.0..=DELETION_DEADLINES.1);
    }
    for name in ["knownHostsRef", "filesRef", "secretFilesRef"] {
        reference::read(&fields, name, decoder);
    }
}

/// Reports what is wrong with that of a ClusterOperation.
pub(super) fn check_operation(field: &Field<'_>, decoder: &mut Decoder) {
    let Some(fields) = decoder.fields(field, &OF_OPERATION) else { return };
    word(&fields, "approval", APPROVALS, decoder);
    if let Some(field) = fields.get("dryRun") {
        decoder.boolean(&field);
    }
    if let Some(field) = fields.get("retries") {
        decoder.integer(&field, 0..=10);
    }
}

fn word(fields: &Fields<'_>, name: &str, words: [&'static str; 2], decoder: &mut Decoder) -> Option<&'static str> {
    decoder.choice(&fields.get(name)?, &words.map(|word| (word, word)))
}

fn check_interval(field: &Field<'_>, decoder: &mut Decoder) {
    let Some(text) = decoder.text(field) else { return };
    let (least, most) = INTERVALS;
    if interval_seconds(text).is_some_and(|seconds| (least..=most).contains(&seconds)) {
        return;
    }
    let problem = Problem::new(format!("`driftInterval` cannot be {}", quote(text))).at(field.position());
    let problem = problem.because("it is a time from one minute to a week, in hours, minutes and seconds");
    decoder.report(problem.hint("write it as in `10m` or `1h30m`, or leave it out"));
}

#[cfg(test)]
mod tests {
    use super::interval_seconds;

    #[test]
    fn times_have_units_in_their_order() {
        let all = ["90s", "10m", "1h30m", "2h5s", "", "10", "m", "5m1h", "1h 5m", "-1m", "+1m", "1.5h"].map(interval_seconds);
        let right = [Some(90), Some(600), Some(5400), Some(7205)].into_iter().chain([None; 8]);
        assert!(all.into_iter().eq(right), "{all:?}");
    }
}
