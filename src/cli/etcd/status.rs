//! `kokctl etcd status`

use clap::Args;
use kok_crds::counted;
use serde::Serialize;

use crate::cli::common::print_json;
use crate::cli::files::{ClusterFiles, ExtraVars};
use crate::cli::process;
use crate::cli::table::{size, table};
use crate::engine::{self, EtcdMemberStatus};
use crate::failure::{Failure, Kind};
use crate::state::Controller;
use crate::ui::line;

/// Show each member of etcd: who leads, how large its file is and how much of that is in use, how far it is, and its alarms
///
/// Ends with exit code 3 if a member does not answer, has an alarm, or is another cluster's.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: ClusterFiles,
    #[command(flatten)]
    extra: ExtraVars,
    /// Print the members as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    members: &'a [EtcdMemberStatus],
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let cluster = arguments.cluster.read(&arguments.extra)?;
    // Nobody is held back by who asks, and nothing is kept of it.
    let context = process::context(Controller::nobody());
    let (members, mut failures) = engine::etcd_status(&context, &cluster).await?;
    if arguments.json {
        print_json(&Document { members: &members })?;
    } else if !members.is_empty() {
        table(&HEADINGS, &members.iter().map(row).collect::<Vec<_>>()).iter().for_each(|text| line(text));
    }
    failures.extend(members.iter().filter_map(silent));
    failures.extend(alarms(&members));
    if failures.is_empty() { Ok(()) } else { Err(failures) }
}

const HEADINGS: [&str; 11] = ["HOST", "MEMBER", "VERSION", "ROLE", "SIZE", "IN USE", "FREE", "QUOTA", "RAFT TERM", "RAFT INDEX", "ALARMS"];

fn row(member: &EtcdMemberStatus) -> [String; 11] {
    if !member.answers {
        let mut row = HEADINGS.map(|_| "-".to_owned());
        let [host, _, _, role, ..] = &mut row;
        (*host, *role) = (member.host.clone(), "no answer".to_owned());
        return row;
    }
    let role = match (member.leader, member.learner) {
        (true, _) => "leader",
        (false, true) => "learner",
        (false, false) => "follower",
    };
    [
        member.host.clone(),
        member.id.clone(),
        member.version.clone(),
        role.to_owned(),
        size(member.size_bytes),
        size(member.in_use_bytes),
        format!("{}%", free_percent(member)),
        member.quota_bytes.map_or_else(|| "?".to_owned(), size),
        member.raft_term.to_string(),
        member.raft_applied_index.to_string(),
        if member.alarms.is_empty() { "none".to_owned() } else { member.alarms.join(",") },
    ]
}

/// The share of its file that it holds for nothing.
fn free_percent(member: &EtcdMemberStatus) -> u64 {
    let free = member.size_bytes.saturating_sub(member.in_use_bytes);
    free.saturating_mul(100).checked_div(member.size_bytes).unwrap_or_default()
}

pub(super) fn silent(member: &EtcdMemberStatus) -> Option<Failure> {
    let failure = Failure::new(Kind::Host, "the member of etcd does not answer").of_host(&member.host).at(format!("host {}", member.host));
    let output = member.said.clone().unwrap_or_default();
    (!member.answers).then(|| failure.because(output).hint("`kokctl status` says what else does not run there"))
}

/// What members complain of, and what to do about it.
pub(super) fn alarms(members: &[EtcdMemberStatus]) -> Option<Failure> {
    let alarmed: Vec<&EtcdMemberStatus> = members.iter().filter(|member| !member.alarms.is_empty()).collect();
    let alarms: Vec<String> = alarmed.iter().map(|member| format!("{}: {}", member.host, member.alarms.join(", "))).collect();
    let failure = Failure::new(Kind::Host, counted(alarmed.len(), "member of etcd has an alarm", "members of etcd have alarms"));
    let hint = match alarmed.iter().any(|member| member.alarms.contains(&"CORRUPT")) {
        true => "CORRUPT: its data differ from those of the others; docs/etcd.md says what to do",
        false => "NOSPACE: etcd takes nothing new; `kokctl etcd alarm --disarm` makes room and ends that",
    };
    (!alarmed.is_empty()).then(|| failure.because(alarms.join("; ")).hint(hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member() -> EtcdMemberStatus {
        EtcdMemberStatus {
            host: "cp1".to_owned(),
            answers: true,
            id: "8e9e05c52164694d".to_owned(),
            version: "3.6.5".to_owned(),
            leader: true,
            size_bytes: 100 << 20,
            in_use_bytes: 25 << 20,
            quota_bytes: Some(2 << 30),
            raft_term: 3,
            raft_applied_index: 4711,
            ..EtcdMemberStatus::default()
        }
    }

    #[test]
    fn each_member_is_a_row() {
        let expected = ["cp1", "8e9e05c52164694d", "3.6.5", "leader", "100.0 MiB", "25.0 MiB", "75%", "2.0 GiB", "3", "4711", "none"]
            .map(str::to_owned);
        assert_eq!(row(&member()), expected);
        let full =
            EtcdMemberStatus { leader: false, alarms: vec!["NOSPACE"], quota_bytes: None, size_bytes: 0, in_use_bytes: 1, ..member() };
        let [_, _, _, role, size, _, free, quota, _, _, alarms] = row(&full);
        assert_eq!([role, size, free, quota, alarms], ["follower", "0 B", "0%", "?", "NOSPACE"]);
        let silent = EtcdMemberStatus { host: "cp2".to_owned(), said: Some("refused".to_owned()), ..EtcdMemberStatus::default() };
        assert_eq!(row(&silent).first().map(String::as_str), Some("cp2"));
        assert!(row(&silent).contains(&"no answer".to_owned()));
    }

    #[test]
    fn what_is_wrong_says_what_to_do() {
        assert!(silent(&member()).is_none() && alarms(&[member()]).is_none());
        let mute = EtcdMemberStatus { said: Some("refused".to_owned()), answers: false, ..member() };
        assert!(silent(&mute).is_some_and(|failure| failure.kind == Kind::Host && failure.because.as_deref() == Some("refused")));
        let with = |alarms_of: Vec<&'static str>| EtcdMemberStatus { alarms: alarms_of, ..member() };
        let hint = |members: &[EtcdMemberStatus]| alarms(members).and_then(|failure| failure.hint).unwrap_or_default();
        assert!(hint(&[with(vec!["NOSPACE"]), member()]).contains("--disarm"));
        assert!(hint(&[with(vec!["NOSPACE"]), with(vec!["CORRUPT"])]).contains("docs/etcd.md"));
    }
}
