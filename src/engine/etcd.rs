//! etcd as its members show it, and room in it.

use kok_crds::model::{Cluster, Host};
use kok_tasks::facts::Extent;
use kok_tasks::observe::{EtcdAlarm, EtcdState, Look, Looks};
use kok_tasks::plan::{EtcdRoom, Seen};
use kok_tasks::preconditions;
use serde::Serialize;

use super::context::{Context, Options};
use super::converge::{Tolerance, make_room_in_etcd};
use super::driver::Run;
use super::error::Error;
use super::plain::Plain;
use super::store::Lock;
use crate::failure::{Failure, Kind};
use crate::run::{LookAt, Outcome, connect_each, probe_all};

/// A member of etcd, as it shows itself.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EtcdMemberStatus {
    /// Its host.
    pub host: String,
    /// Whether it answers; else nothing but why is known of it.
    pub answers: bool,
    /// What is said instead of an answer.
    pub said: Option<String>,
    /// Its id, as etcdctl writes it.
    pub id: String,
    /// Its version.
    pub version: String,
    /// Whether it leads.
    pub leader: bool,
    /// Whether it only learns, and has no vote.
    pub learner: bool,
    /// Bytes of its file.
    pub size_bytes: u64,
    /// Bytes of it that are in use; the rest is freed by defragmenting.
    pub in_use_bytes: u64,
    /// Bytes that the file may have; nothing from versions that don't say it.
    pub quota_bytes: Option<u64>,
    /// The revision of its data.
    pub revision: u64,
    /// The term of the leader that it knows.
    pub raft_term: u64,
    /// The last entry of the log that it has applied.
    pub raft_applied_index: u64,
    /// Its own alarms: `NOSPACE`, `CORRUPT`.
    pub alarms: Vec<&'static str>,
}

/// Asks every host of etcd what its member says. Nothing is changed.
///
/// # Errors
/// [`Failure`]s of the file or of keys that it names; then nobody was contacted.
pub async fn etcd_status(context: &Context, cluster: &Cluster) -> Result<(Vec<EtcdMemberStatus>, Vec<Failure>), Vec<Failure>> {
    let wanted = |host: &str| cluster.host(host).is_some_and(|host| host.roles.etcd);
    let (links, unreachable) = connect_each(cluster, wanted, &context.transport, &context.events).await?;
    let mut failures: Vec<Failure> = unreachable.into_values().collect();
    let looks: Looks = [Look::Etcd].into_iter().collect();
    let asked = links.keys().map(|host| (host.clone(), LookAt { looks: looks.clone(), facts: Some(Extent::Node) })).collect();
    let mut seen = Seen::default();
    if let Err(unanswered) = probe_all(&links, asked, &context.controller, &mut seen, &context.events).await {
        failures.extend(unanswered);
    }
    let strangers = preconditions::strangers(cluster, &seen);
    failures.extend(strangers.into_iter().map(|refusal| Failure::refusal(Kind::Host, refusal)));
    let asked = cluster.etcd_hosts().filter(|host| links.contains_key(&host.name));
    let mut members: Vec<EtcdMemberStatus> = asked.map(|host| of_host(host, &seen)).collect();
    of_silent(cluster, &seen, &mut members);
    Ok((members, failures))
}

const fn word(alarm: EtcdAlarm) -> &'static str {
    match alarm {
        EtcdAlarm::NoSpace => "NOSPACE",
        EtcdAlarm::Corrupt => "CORRUPT",
    }
}

/// Alarms of members that don't answer themselves, as the others tell them: etcd takes nothing new for these, too.
fn of_silent(cluster: &Cluster, seen: &Seen, members: &mut Vec<EtcdMemberStatus>) {
    let ready = cluster.etcd_hosts().filter_map(|host| match &seen.observations(&host.name).etcd {
        Some(EtcdState::Ready(member)) => Some(member),
        _ => None,
    });
    for member in ready {
        for (id, alarm) in member.alarms() {
            if members.iter().any(|known| known.answers && known.id == format!("{id:x}")) {
                continue;
            }
            let name = member.members.iter().find(|peer| peer.id == id).map_or_else(|| format!("member {id:x}"), |peer| peer.name.clone());
            match members.iter_mut().find(|known| known.host == name) {
                Some(known) if known.alarms.contains(&word(alarm)) => {}
                Some(known) => known.alarms.push(word(alarm)),
                None => {
                    let because = Some("nobody asked it; others say this of it".to_owned());
                    members.push(EtcdMemberStatus { host: name, said: because, alarms: vec![word(alarm)], ..EtcdMemberStatus::default() });
                }
            }
        }
    }
}

fn of_host(host: &Host, seen: &Seen) -> EtcdMemberStatus {
    let silent =
        |output: &str| EtcdMemberStatus { host: host.name.clone(), said: Some(output.trim().to_owned()), ..EtcdMemberStatus::default() };
    let member = match &seen.observations(&host.name).etcd {
        Some(EtcdState::Ready(member)) => member,
        Some(EtcdState::NotReady(output)) => return silent(output),
        Some(EtcdState::Absent) => return silent("nothing of it is set up there"),
        None => return silent("it was not asked"),
    };
    let mut alarms: Vec<&str> = member.alarms().filter(|(id, _)| *id == member.id).map(|(_, alarm)| word(alarm)).collect();
    alarms.sort_unstable();
    alarms.dedup();
    EtcdMemberStatus {
        host: host.name.clone(),
        answers: true,
        said: None,
        id: format!("{:x}", member.id),
        version: member.version.clone(),
        leader: member.id != 0 && member.id == member.leader,
        learner: member.is_learner,
        size_bytes: member.size,
        in_use_bytes: member.in_use,
        quota_bytes: member.quota,
        revision: member.revision,
        raft_term: member.term,
        raft_applied_index: member.applied_index,
        alarms,
    }
}

/// Makes room in etcd. Whoever calls has the cluster's lock, which ends with the run. Nothing, if there was nothing to do.
///
/// # Errors
/// [`Error`] if not all of it is done.
pub async fn etcd_room(
    context: &Context,
    lock: Lock,
    cluster: &Cluster,
    (wanted, part): (&EtcdRoom<'_>, Option<String>),
    options: Options<'_>,
) -> Result<Option<Outcome>, Error> {
    let verb = if *wanted == EtcdRoom::Disarm { "etcd alarm" } else { "etcd defrag" };
    let run = Run::begin(verb, cluster, part, (context, lock), options);
    let plan = async |run: &Run<'_>| {
        let tolerance = Tolerance { holder: run.options.take_over, ..Tolerance::default() };
        make_room_in_etcd(cluster, wanted, tolerance, run.context).await
    };
    Ok(run.drive(&mut Plain(plan)).await?.outcome)
}
