//! The plans by which an etcd is made anew that has lost its quorum, and the one that takes this back.
//!
//! No step of them asks the gate: it rules about what works, and nothing does.

mod planes;
mod refused;

use std::time::Duration;

use kok_crds::model::{Cluster, Host};

use super::draft::{Draft, Edge};
use super::graph::Plan;
use super::id::StepId;
use super::make::{Inputs, Making, Seen, compared, defect, enter};
use super::reason::Reason;
use super::refusal::Refusal;
use super::select::Selection;
use crate::artifact::Artifact;
use crate::facts::HostFacts;
use crate::list::etcd;
use crate::membership::peer_url;
use crate::observe::{Look, Looks};
use crate::operations::{
    EndRecovery, EtcdMemberReady, KeepData, KeepOut, MEMBER_DATA, NewEtcd, Operation, RemoveNode, StandStill, StartAnew, TakeBack,
    TakeSnapshot,
};
use crate::preconditions;
use crate::recovery::{self, Course, MARKER, Recovery};
use crate::resources::{File, Resource};
use refused::{no_host, no_snapshot};

const TASK: &str = "recovery";
const STARTED: &str = "started";
const MEMBER: &str = "member";
const API_SERVER: &str = "api-server";
const ENDED: &str = "ended";

/// The kubelet starts nothing any more by then, and etcd has written what it had to.
const STILL: Duration = Duration::from_secs(180);
/// 8 GiB, the most that etcd is made for, are copied, read and written, at some 30 MB/s.
const MADE: Duration = Duration::from_secs(1800);
/// What a snapshot may come by, as other artifacts.
const BYTES_PER_SECOND: u64 = 300_000;
/// As long as kubeadm gives a control plane.
const READY: Duration = Duration::from_secs(300);

/// A part of a recovery. The one after it is planned when it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryStage {
    /// Everything stands still, and what there is of etcd is put aside.
    Aside,
    /// A new etcd is made, and the control plane beside it starts.
    Anew,
}

/// What is recovered.
#[derive(Debug, Clone, Copy)]
pub struct Recovering<'a> {
    /// The order.
    pub recovery: &'a Recovery,
    /// The snapshot that it begins with, where that has to be sent.
    pub snapshot: Option<&'a Artifact>,
}

/// The step that says on a host what is under way. Before it nothing is changed.
const BEGUN: &str = "begun";

/// Whether a plan begins a recovery: that of a later stage, or of one that goes on, says so on no host.
#[must_use]
pub fn begins_recovery(plan: &Plan) -> bool {
    plan.changes().any(|(step, _)| step.id == StepId::new(step.id.host(), TASK, BEGUN))
}

/// What a first look at a host asks.
#[must_use]
pub fn recovery_looks(host: &Host) -> Looks {
    let mut looks = Looks::default();
    if host.roles.etcd {
        looks.extend([Look::Etcd, Look::EtcdData, Look::Path(MEMBER_DATA.to_owned())]);
    }
    looks.extend(Course::looks());
    if host.roles.control_plane {
        looks.extend([Look::ApiServer, Look::Unit("kubelet.service".to_owned())]);
    }
    looks
}

/// The hosts that take part: those that answer, and belong to the cluster. One that has nothing has nothing to keep.
fn parties<'a>(cluster: &'a Cluster, recovery: &Recovery, seen: &Seen) -> Vec<&'a Host> {
    let is_ours = |host: &&Host| seen.facts(&host.name).is_some_and(|facts| facts.cluster.as_ref() == Some(&cluster.name));
    recovery::parties(cluster).filter(is_ours).filter(|host| !recovery.lost.contains(&host.name)).collect()
}

/// How far it has come on the host of the new etcd, which is what all of it goes by. One that does not answer has begun it at least.
fn course(recovery: &Recovery, seen: &Seen) -> Course {
    Course::on_host(recovery, &recovery.host, seen).unwrap_or(Course::Begun)
}

/// The plan for a stage.
///
/// # Errors
/// [`Refusal`] where a host is another cluster's, where the host of the new etcd does not answer, and where a snapshot is missing that is still needed.
pub fn recover(inputs: &Inputs<'_>, wanted: Recovering<'_>, stage: RecoveryStage, seen: &Seen) -> Result<Making, Vec<Refusal>> {
    let (cluster, recovery) = (inputs.cluster, wanted.recovery);
    let mut refusals = preconditions::check_strangers(cluster, seen);
    refusals.extend(no_host(cluster, recovery, seen));
    refusals.extend(no_snapshot(wanted, seen));
    refusals.extend(preconditions::check_goes_on(cluster, recovery, seen));
    if let Some(looks) = source_unseen(recovery, seen) {
        return if refusals.is_empty() { Ok(looks) } else { Err(refusals) };
    }
    refusals.extend(preconditions::check_source(recovery, seen));
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let parties = parties(cluster, recovery, seen);
    let drafts = match stage {
        RecoveryStage::Aside => aside(inputs, recovery, &parties, seen),
        RecoveryStage::Anew => anew(inputs, wanted, &parties, seen).map_err(|refusal| vec![refusal])?,
    };
    made(drafts, seen)
}

/// The plan that takes back what a recovery has done so far.
///
/// # Errors
/// [`Refusal`] where a host is another cluster's, and once the new etcd was started or nobody knows whether it was.
pub fn take_back(cluster: &Cluster, recovery: &Recovery, seen: &Seen) -> Result<Making, Vec<Refusal>> {
    let mut refusals = preconditions::check_strangers(cluster, seen);
    refusals.extend(no_host(cluster, recovery, seen).filter(|_| !recovery.lost.contains(&recovery.host)));
    if course(recovery, seen) >= Course::Started {
        let refusal = Refusal::new("this recovery can't be taken back any more").at(format!("host {}", recovery.host));
        let refusal = refusal.because("the new etcd was started, and may have been written to; what was there before would undo that");
        refusals.push(refusal.hint("go on with it: `kokctl recover --continue`"));
    }
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let is_marked = |host: &&Host| seen.facts(&host.name).is_some_and(|facts| facts.recovery.is_some());
    let taken_back = |host: &Host| StepId::new(&host.name, TASK, "taken-back");
    let marked: Vec<&Host> = recovery::parties(cluster).filter(is_marked).collect();
    let mut drafts = Vec::new();
    for host in &marked {
        let mut draft = Draft::new(&host.name, TASK);
        let back = draft.add("taken-back", Operation::TakeBack(TakeBack { recovery: recovery.clone() }));
        draft.within(STILL);
        for other in marked.iter().filter(|other| host.name == recovery.host && other.name != host.name) {
            draft.needs(&back, &taken_back(other), Reason::Because("as long as any host says so, this one knows how far it has come"));
        }
        drafts.push(draft);
    }
    made(drafts, seen)
}

/// What has to be looked at to tell whether there is still what the new etcd is made from.
fn source_unseen(recovery: &Recovery, seen: &Seen) -> Option<Making> {
    let path = recovery.kept_log();
    let is_known = seen.facts(&recovery.host).is_none() || seen.observations(&recovery.host).paths.contains_key(&path);
    (!is_known).then(|| Making::LookFirst([(recovery.host.clone(), [Look::Path(path)].into_iter().collect())].into()))
}

fn made(drafts: Vec<Draft<'_>>, seen: &Seen) -> Result<Making, Vec<Refusal>> {
    let (mut plan, mut edges) = (Plan::default(), Vec::new());
    for draft in drafts {
        edges.extend(enter(&mut plan, draft).map_err(|refusal| vec![refusal])?);
    }
    for Edge { later, earlier, reason } in edges {
        plan.order(&later, &earlier, reason).map_err(|sentence| vec![defect(sentence)])?;
    }
    compared(plan, seen, &Selection::whole())
}

/// One host after another would do, but none has anything to lose by all of them at once.
fn aside<'a>(inputs: &Inputs<'_>, recovery: &Recovery, parties: &[&'a Host], seen: &Seen) -> Vec<Draft<'a>> {
    let is_unit = |host: &Host| host.roles.etcd && inputs.cluster.has_etcd_units();
    let begun = |host: &Host| StepId::new(&host.name, TASK, BEGUN);
    let still = |host: &Host| StepId::new(&host.name, TASK, "still");
    // Once the new etcd was started, it is what runs on its host, and where nothing says any more that this is under way, nothing is left to do.
    let was_started = course(recovery, seen) >= Course::Started;
    let is_marked = |host: &Host| seen.facts(&host.name).is_some_and(|facts| facts.recovery.is_some());
    let stays = |host: &&&Host| was_started && (host.name == recovery.host || !is_marked(host));
    let hosts: Vec<&Host> = parties.iter().filter(|host| !stays(host)).copied().collect();
    let draft = |host: &&'a Host| {
        let mut draft = Draft::new(&host.name, TASK);
        draft.add(BEGUN, Resource::File(File::text(MARKER, recovery.text())));
        let (plane, unit) = (host.roles.control_plane, is_unit(host));
        let stands = draft.add("still", Operation::StandStill(StandStill { recovery: recovery.clone(), plane, unit }));
        draft.within(STILL);
        for other in &hosts {
            draft.needs(&stands, &begun(other), Reason::Because("whatever becomes of it, all hosts say what is under way"));
        }
        if host.roles.etcd {
            let kept = draft.add("kept", Operation::KeepData(KeepData { recovery: recovery.clone(), unit }));
            for other in &hosts {
                draft.needs(&kept, &still(other), Reason::Because("nothing may write to etcd any more"));
            }
        }
        draft
    };
    parties.iter().filter(|host| !stays(host)).map(draft).collect()
}

fn anew<'a>(inputs: &Inputs<'_>, wanted: Recovering<'_>, parties: &[&'a Host], seen: &Seen) -> Result<Vec<Draft<'a>>, Refusal> {
    let recovery = wanted.recovery;
    let is_own = |host: &&Host| host.name == recovery.host;
    let own = parties.iter().find(|host| is_own(host)).filter(|_| course(recovery, seen) < Course::Ended);
    let is_to_work = own.is_some() && course(recovery, seen) < Course::Works;
    // Where etcd is a pod, the other control planes join as those that are new.
    let starts = |host: &&Host| host.roles.control_plane && (is_own(host) || inputs.cluster.has_etcd_units());
    let planes: Vec<&Host> = parties.iter().copied().filter(starts).collect();
    let api_servers = planes.iter().map(|host| StepId::new(&host.name, TASK, API_SERVER));
    let health_steps: Vec<StepId> =
        [StepId::new(&recovery.host, TASK, MEMBER)].into_iter().chain(api_servers).filter(|_| is_to_work).collect();
    let others: Vec<&Host> = parties.iter().copied().filter(|host| !is_own(host)).collect();
    let mut drafts = Vec::new();
    if let Some(host) = own {
        let mut draft = Draft::new(&host.name, TASK);
        if is_to_work {
            of_new_etcd(&mut draft, inputs, wanted, host, seen)?;
        }
        let last = ended(&mut draft, recovery, &health_steps, "until then it can't be done without");
        for other in &others {
            let other = StepId::new(&other.name, TASK, ENDED);
            draft.needs(&last, &other, Reason::Because("as long as any host says so, this one knows how far it has come"));
        }
        let asked = planes.iter().find(|host| is_own(host)).or(planes.first());
        for (lost, asked) in recovery.lost.iter().filter_map(|lost| Some((lost, asked?))) {
            let gone = fenced(&mut draft, lost, asked, is_to_work);
            draft.needs(&last, &gone, Reason::Because("what is lost must not come back as it was"));
        }
        drafts.push(draft);
    }
    for host in others {
        let mut draft = Draft::new(&host.name, TASK);
        if is_to_work && starts(&host) {
            planes::starts_again(&mut draft, recovery, seen.observations(&host.name));
        }
        ended(&mut draft, recovery, &health_steps, "until then all of it can be taken back");
        drafts.push(draft);
    }
    Ok(drafts)
}

fn ended(draft: &mut Draft<'_>, recovery: &Recovery, health_steps: &[StepId], because: &'static str) -> StepId {
    let last = draft.add(ENDED, Operation::EndRecovery(EndRecovery { recovery: recovery.clone() }));
    health_steps.iter().for_each(|step| draft.needs(&last, step, Reason::Because(because)));
    last
}

/// The new etcd, up to a member that answers, and to an API server where there is one beside it.
fn of_new_etcd(draft: &mut Draft<'_>, inputs: &Inputs<'_>, wanted: Recovering<'_>, host: &Host, seen: &Seen) -> Result<(), Refusal> {
    let Recovering { recovery, snapshot } = wanted;
    let (plane, unit) = (host.roles.control_plane, inputs.cluster.has_etcd_units());
    let made = draft.add("new-etcd", Operation::NewEtcd(NewEtcd { recovery: recovery.clone(), peer_url: peer_url(host), unit }));
    draft.within(MADE);
    if let Some(snapshot) = snapshot {
        let taken = TakeSnapshot { path: recovery.sent(), artifact: snapshot.clone(), recovery: recovery.clone() };
        let taken = draft.add("snapshot", Operation::TakeSnapshot(taken));
        draft.within(STILL + Duration::from_secs(snapshot.size / BYTES_PER_SECOND));
        draft.needs(&made, &taken, Reason::Reads);
    }
    let started = draft.add(STARTED, Operation::StartAnew(StartAnew { recovery: recovery.clone(), plane, unit }));
    draft.needs(&started, &made, Reason::Reads);
    let expected = HostFacts::expected();
    let architecture = &seen.facts(&host.name).unwrap_or(&expected).architecture;
    let version = etcd::version(&inputs.release_image("etcd", &inputs.cluster.kubernetes_version, architecture)?.reference).to_owned();
    let joining = inputs.cluster.etcd_hosts().filter(|other| other.name != host.name).map(peer_url).collect();
    let member = draft.add(MEMBER, Operation::EtcdMemberReady(EtcdMemberReady { version, members: vec![host.name.clone()], joining }));
    draft.within(READY);
    draft.needs(&member, &started, Reason::Because("that starts it"));
    if plane {
        planes::api_server(draft, seen.observations(&host.name), &member);
    }
    Ok(())
}

/// A host that is given up makes its node no more: as one that was removed as dead. The last of the steps, for which a control plane is asked.
fn fenced(draft: &mut Draft<'_>, lost: &str, asked: &Host, is_to_work: bool) -> StepId {
    let kept_out = draft.add_on(&asked.name, &*format!("{lost}-kept-out"), Operation::KeepOut(KeepOut { node: lost.to_owned() }));
    if is_to_work {
        draft.needs(&kept_out, &StepId::new(&asked.name, TASK, API_SERVER), Reason::TalksTo);
    }
    let gone = draft.add_on(&asked.name, &*format!("{lost}-gone"), Operation::RemoveNode(RemoveNode { node: lost.to_owned() }));
    draft.needs(&gone, &kept_out, Reason::Because("its kubelet, should it start again, would make it anew"));
    gone
}
