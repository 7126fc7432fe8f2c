//! What is said of warnings, of snapshots, of lost links, and of runs that end before their end.

use std::time::Duration;

use super::grouped;
use crate::event::{EventKind, FailureRecord};
use crate::failure::{Failure, Kind};

/// A line for each thing that is warned of: what is said of many hosts alike is said once.
pub(super) fn warnings(records: &[FailureRecord]) -> Vec<String> {
    let warnings = records.iter().map(|record| Failure::from_record(Kind::Host, record)).collect();
    grouped(warnings).iter().map(|warning| warning_line(&warning.to_record())).collect()
}

/// What is said on standard error whatever else a verb shows, as nobody has asked for it and somebody has to see it.
pub(super) fn note(event: &EventKind) -> Option<String> {
    match event {
        EventKind::HostKeyTrusted { host, key, file } => {
            Some(format!("note: the host key of {host} was not known and is trusted from now on: {key} (added to {file})"))
        }
        EventKind::LossTold { what } => Some(what.clone()),
        EventKind::RunTakesOver { from } => Some(format!("takes over from the run {from}: what it left at work is ended first")),
        EventKind::ManagerReplaced { by, hosts } => {
            let hosts = hosts.join(", ");
            Some(format!(
                "note: {hosts}: no longer kept by the operator of {by}; one that is still there takes them again with its next run"
            ))
        }
        EventKind::KeysKept { path, cluster } => {
            Some(format!("note: {path} keeps the keys of {cluster} now; whoever reads it owns the cluster"))
        }
        _ => None,
    }
}

/// The line for such an event; nothing for any other.
pub(super) fn trouble(event: &EventKind) -> Option<String> {
    Some(match event {
        EventKind::HostLeftOut { host, because } => format!("{host} is left out: {because}"),
        EventKind::HostBusy { host, jobs } => {
            let what = if jobs.is_empty() { "a script".to_owned() } else { jobs.join(", ") };
            format!("{host}: waits for what an earlier run has left at work there ({what}), two minutes at the most")
        }
        EventKind::MemberAwaited { host, within_milliseconds } => {
            let seconds = within_milliseconds / 1000;
            format!(
                "{host}: waits for its member of etcd, which an earlier run was starting anew when it was cut off, {seconds} s at the most"
            )
        }
        EventKind::HostLost { host, because } => format!("{host}: the link broke ({because}); reaching it again"),
        EventKind::HostBack { host, after_milliseconds, restarted } => {
            let seconds = Duration::from_millis(*after_milliseconds).as_secs_f64();
            let how = if *restarted { "restarted, and reached again" } else { "reached again" };
            format!("{host}: {how} after {seconds:.1} s")
        }
        EventKind::SnapshotBegun { host } => format!("{host}: a snapshot of etcd is being taken"),
        EventKind::SnapshotTaken { host, path, bytes, key, .. } => {
            let key = key.as_ref().map(|key| format!("; the key to what it holds is in {key}")).unwrap_or_default();
            format!("{host}: the snapshot of etcd is in {path} ({:.1} MB){key}", *bytes as f64 / 1e6)
        }
        EventKind::SnapshotLeftOut { because } => format!("no snapshot of etcd: {because}"),
        EventKind::StepRepeated { step, .. } => format!("{step} was not done; it is begun again"),
        EventKind::HookSaid { step, said, .. } => {
            let lines: String = said.lines().map(|line| format!("\n    {line}")).collect();
            format!("{step} says:{lines}")
        }
        EventKind::StepRenewed { step, because, .. } => format!("{step} is done again: {because}"),
        EventKind::RunStopping { because, awaited } => {
            let waits = if awaited.is_empty() { String::new() } else { format!("; waiting for {}", awaited.join(", ")) };
            format!("stopping, for {because}: nothing new is begun{waits}")
        }
        EventKind::RunLeft { in_doubt } if in_doubt.is_empty() => "left at once; nothing was at work".to_owned(),
        EventKind::RunLeft { in_doubt } => format!("left at once; in doubt: {}", in_doubt.join(", ")),
        _ => return None,
    })
}

/// Warnings stand between the lines of a run, and so each has one line.
fn warning_line(FailureRecord { what, at, because, hint }: &FailureRecord) -> String {
    let at = at.as_ref().map(|at| format!("{at}: ")).unwrap_or_default();
    let because = because.as_ref().map(|because| format!(": {because}")).unwrap_or_default();
    let hint = hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
    format!("warning: {at}{what}{because}{hint}").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_warned_of_alike_once() {
        let warning = |host: &str, what: &str| FailureRecord {
            what: what.to_owned(),
            at: Some(format!("host {host} (10.0.0.1)")),
            because: Some("the kubelet\nis going to give it up".to_owned()),
            hint: None,
        };
        let told = ["cp1", "w1", "w2", "w3"].map(|host| warning(host, "it has cgroup v1"));
        assert_eq!(warnings(&told), ["warning: 4 hosts: cp1, w1, w2, w3: it has cgroup v1: the kubelet is going to give it up"]);
        let apart = [warning("w1", "it has cgroup v1"), warning("w2", "it is full")];
        let lines = warnings(&apart);
        assert_eq!(lines.len(), 2);
        assert!(lines.iter().zip(["w1", "w2"]).all(|(line, host)| line.starts_with(&format!("warning: host {host} (10.0.0.1): "))));
        assert_eq!(warnings(&[]), Vec::<String>::new());
    }

    #[test]
    fn what_an_earlier_run_has_left_at_work_is_named_while_it_is_waited_for() {
        let told = |jobs: &[&str]| {
            let jobs = jobs.iter().map(|job| (*job).to_owned()).collect();
            trouble(&EventKind::HostBusy { host: "w1".to_owned(), jobs }).unwrap_or_default()
        };
        assert!(
            told(&["kokctl-job-reset.service"])
                .starts_with("w1: waits for what an earlier run has left at work there (kokctl-job-reset.service)")
        );
        assert!(told(&[]).contains("(a script)"));
        let member = trouble(&EventKind::MemberAwaited { host: "cp1".to_owned(), within_milliseconds: 60_000 }).unwrap_or_default();
        assert!(member.starts_with("cp1: waits for its member of etcd, ") && member.ends_with(", 60 s at the most"), "{member}");
    }
}
