//! What is shown before a recovery, what is asked, and what is said in the end.

use kok_crds::model::Cluster;
use kok_crds::{Position, listed};
use kok_tasks::recovery::{Candidate, Origin, Recovery};

use super::super::reset::ask_words;
use crate::clock::moment;
use crate::engine::Survey;
use crate::failure::{Failure, Kind};
use crate::ui::status_line;

/// What each member has, a line each; the one that is taken is marked. Without a quorum there is `no_leader`.
fn lines(candidates: &[Candidate], lost: &[String], taken: Option<&str>, no_leader: bool) -> Vec<String> {
    let number = |number: Option<u64>| number.map_or_else(|| "?".to_owned(), |number| number.to_string());
    let mut rows = vec![["HOST", "MEMBER", "REVISION", "TERM", "ENTRY", "LAST WRITE", "DATA", ""].map(str::to_owned)];
    for candidate in candidates {
        let Candidate { host, runs, revision, term, index, last_write, bytes, .. } = candidate;
        let has = |text: String| if bytes.is_some() { text } else { "-".to_owned() };
        let state = match *runs {
            true if no_leader => "runs, no leader",
            true => "runs",
            false => "does not run",
        };
        let size = bytes.map_or_else(|| "none".to_owned(), |bytes| format!("{:.1} MB", bytes as f64 / 1e6));
        let last = last_write.map_or_else(|| "?".to_owned(), |seconds| moment(seconds, "%Y-%m-%d %H:%M:%S"));
        let mark = if taken == Some(host) { "taken" } else { "" };
        let columns = [
            host.clone(),
            state.to_owned(),
            has(number(*revision)),
            has(number(*term)),
            has(number(*index)),
            has(last),
            size,
            mark.to_owned(),
        ];
        rows.push(columns);
    }
    for host in lost {
        let away = ["-"; 5].map(str::to_owned);
        let [a, b, c, d, e] = away;
        rows.push([host.clone(), "given up".to_owned(), a, b, c, d, e, String::new()]);
    }
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(String::len).max().unwrap_or_default();
    let widths: Vec<usize> = (0..8).map(width).collect();
    let line = |row: &[String; 8]| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// Shows what each member has of an etcd without a quorum.
pub(super) fn show(candidates: &[Candidate], lost: &[String], taken: Option<&str>) {
    lines(candidates, lost, taken, true).iter().for_each(|text| status_line(text));
}

/// Asks whether a recovery is to begin, of whoever has not agreed yet.
///
/// # Errors
/// [`Failure`] if somebody says no, or nobody can be asked.
pub(in crate::cli) fn agreed(
    (cluster, recovery): (&Cluster, &Recovery),
    survey: &Survey,
    yes: bool,
    at: Option<&Position>,
) -> Result<(), Failure> {
    let lost: Vec<String> = recovery.lost.iter().cloned().collect();
    let taken = Some(&recovery.host).filter(|_| recovery.origin == Origin::Member).map(String::as_str);
    lines(&survey.candidates, &lost, taken, !recovery.origin.replaces()).iter().for_each(|text| status_line(text));
    let words = survey.loss(recovery);
    match at {
        _ if yes => status_line(&words),
        Some(at) => {
            status_line(&words);
            status_line(&format!("note: nobody is asked, for the operation at {at} asks for it"));
        }
        None => {
            let what = if recovery.origin.replaces() { "the restore" } else { "the recovery" };
            return ask_words(cluster, what, &words).map_err(|failure| declined(what, failure));
        }
    }
    Ok(())
}

fn declined(what: &str, failure: Failure) -> Failure {
    let because = failure.because.unwrap_or_else(|| "another name was typed than the cluster's".to_owned());
    let failure = Failure::new(Kind::Declined, format!("{what} was not confirmed")).because(because);
    failure.hint("nothing was changed; with --yes nobody is asked")
}

/// What is said in the end.
pub(in crate::cli) fn done(cluster: &Cluster, recovery: Option<&Recovery>, seconds: f64) -> Vec<String> {
    let mut words = vec![format!("the cluster {} works again, {seconds:.1} s", cluster.name)];
    let Some(recovery) = recovery else { return words };
    let kept = recovery.kept();
    words.push(format!("what each member had is in {kept} on its host: remove it when nobody needs it any more"));
    if !recovery.lost.is_empty() {
        let lost = listed(recovery.lost.iter().map(String::as_str));
        words.push(format!(
            "out of the cluster: {lost}. What of them answers again is made afresh by `kokctl replace`; the rest has to leave the file, or to get other hosts in its place"
        ));
    }
    words
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, reason = "these are tests")]

    use super::*;

    fn candidate(host: &str, revision: Option<u64>) -> Candidate {
        let runs = revision.is_some();
        let bytes = Some(34_100_000).filter(|_| runs);
        Candidate {
            host: host.to_owned(),
            runs,
            revision,
            term: revision,
            index: revision,
            version: None,
            cluster_id: None,
            last_write: Some(0),
            bytes,
            free: 0,
        }
    }

    #[test]
    fn each_member_has_a_line() {
        let shown = lines(&[candidate("cp2", Some(42)), candidate("cp3", None)], &["cp1".to_owned()], Some("cp2"), true);
        assert_eq!(shown.len(), 4);
        assert_eq!(shown[1], "cp2   runs, no leader  42        42    42     1970-01-01 00:00:00  34.1 MB  taken");
        assert!(shown[2].starts_with("cp3   does not run     -") && shown[2].ends_with("none"), "{}", shown[2]);
        assert!(shown[3].starts_with("cp1   given up"), "{}", shown[3]);
    }
}
