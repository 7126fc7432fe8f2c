//! The plan that starts hosts anew, one after the other, with their pods elsewhere meanwhile.

use std::collections::BTreeMap;
use std::time::Duration;

use kok_crds::model::{Cluster, HookPlace, Host};

use super::draft::{Draft, Edge};
use super::graph::{Action, Plan, Step};
use super::hooked;
use super::id::StepId;
use super::leave::{drained, lost_pods};
use super::make::{Making, Seen, compared, defect, enter};
use super::reason::Reason;
use super::refusal::Refusal;
use super::select::Selection;
use crate::drain::{Cordoner, DrainSettings};
use crate::gate::{Disruption, Need};
use crate::list::hooks;
use crate::network_plugins::plugin;
use crate::observe::{ApiServerState, KubernetesState, Look, Looks, PathState};
use crate::operations::{ApiServerReady, KubeletStays, NodesReady, Operation, REBOOT_REQUIRED, Reboot, UncordonNodes};
use crate::preconditions;

/// Which hosts are started anew, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reboots<'a> {
    /// Their names.
    pub hosts: &'a [String],
    /// Whether only those are that say that they have to be.
    pub if_needed: bool,
    /// How their pods leave them.
    pub drain: DrainSettings,
    /// How long a host may take until it is back.
    pub back_within: Duration,
    /// The boot ids that they had when that was ordered first. One that has another one by now was started anew, and what comes after that is all
    /// that is left to do for it. Of hosts that are not named here it is ordered now.
    pub boots: &'a BTreeMap<String, String>,
}

impl Reboots<'_> {
    fn is_started(&self, host: &Host, seen: &Seen) -> bool {
        let now = boot_id(seen, &host.name);
        self.boots.get(&host.name).is_some_and(|before| !now.is_empty() && *before != now)
    }
}

/// The boot ids that hosts had when this plan was made, of those that it starts anew.
#[must_use]
pub fn boots(plan: &Plan) -> BTreeMap<String, String> {
    let reboot_of = |step: &Step| match &step.action {
        Action::Operation(Operation::Reboot(reboot)) => Some((step.host.clone(), reboot.before.clone())),
        _ => None,
    };
    plan.steps().filter_map(reboot_of).collect()
}

fn boot_id(seen: &Seen, host: &str) -> String {
    seen.facts(host).and_then(|facts| facts.boot_id.clone()).unwrap_or_default()
}

const TASK: &str = "reboot";
/// A kubelet says within a minute that its node is Ready, and etcd's member and the API server come up by then.
const READY: Duration = Duration::from_secs(300);

/// What a first look at a host that is started anew asks besides whether its API server is ready.
#[must_use]
pub fn reboot_looks(host: &Host) -> Looks {
    let api_server = host.roles.control_plane.then_some(Look::ApiServer);
    api_server.into_iter().chain([Look::Path(REBOOT_REQUIRED.to_owned())]).collect()
}

/// The plan for these hosts: each is cordoned and drained, started anew, waited for, and takes pods again; control planes first, and one at a time.
///
/// # Errors
/// [`Refusal`] for each host that belongs to another cluster, where no API server answers, and for pods that would be lost.
pub fn reboot(cluster: &Cluster, wanted: &Reboots<'_>, seen: &Seen) -> Result<Making, Vec<Refusal>> {
    let refusals = preconditions::check_reset(cluster, seen);
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let chosen = |host: &&Host| wanted.hosts.contains(&host.name) && !(wanted.if_needed && is_up_to_date(seen, host));
    let (mut plan, mut edges) = (Plan::default(), Vec::new());
    let mut before: Vec<StepId> = Vec::new();
    let mut hosts: Vec<&Host> = cluster.hosts.iter().filter(chosen).collect();
    hosts.sort_by_key(|host| !host.roles.control_plane);
    for host in hosts {
        let speaker = speaker(cluster, seen, host).ok_or_else(|| vec![nobody_answers()])?;
        let (mut draft, begins, ends) = draft(cluster, wanted, host, speaker, seen);
        for earlier in &before {
            draft.needs(&begins, earlier, Reason::InTurn("what is asked of a control plane needs it"));
        }
        if host.roles.control_plane {
            before.push(ends);
        }
        edges.extend(enter(&mut plan, draft).map_err(|refusal| vec![refusal])?);
    }
    for Edge { later, earlier, reason } in edges {
        plan.order(&later, &earlier, reason).map_err(|sentence| vec![defect(sentence)])?;
    }
    let drained: Vec<&str> =
        cluster.hosts.iter().filter(chosen).filter(|host| host.roles.is_node()).map(|host| host.name.as_str()).collect();
    let keeper = cluster.control_planes().next().map(|host| host.name.as_str());
    let occasion = |host: &str| format!("start after {}", wanted.boots.get(host).cloned().unwrap_or_else(|| boot_id(seen, host)));
    for at in [HookPlace::BeforeDrain, HookPlace::AfterDrain] {
        for draft in hooks::of_hosts(cluster, at, (&drained, keeper), occasion).map_err(|refusal| vec![refusal])? {
            enter(&mut plan, draft).map_err(|refusal| vec![refusal])?;
        }
    }
    hooked::order(&mut plan, cluster, seen);
    let making = compared(plan, seen, &Selection::whole())?;
    let lost = |host: &Host| lost_pods(&host.name, &wanted.drain, seen, speaker(cluster, seen, host)?);
    let refusals: Vec<Refusal> =
        cluster.hosts.iter().filter(chosen).filter(|host| !wanted.is_started(host, seen)).filter_map(lost).collect();
    if refusals.is_empty() { Ok(making) } else { Err(refusals) }
}

fn is_up_to_date(seen: &Seen, host: &Host) -> bool {
    seen.observations(&host.name).paths.get(REBOOT_REQUIRED) == Some(&PathState::Missing)
}

/// A control plane that answers, and is another one if there is another one.
fn speaker<'a>(cluster: &'a Cluster, seen: &Seen, but: &Host) -> Option<&'a Host> {
    let answers = |host: &&Host| seen.observations(&host.name).api_server == Some(ApiServerState::Ready);
    let all: Vec<&Host> = cluster.control_planes().filter(answers).collect();
    all.iter().find(|host| host.name != but.name).or_else(|| all.first()).copied()
}

fn nobody_answers() -> Refusal {
    Refusal::new("no API server of the cluster answers, and one has to be told")
        .hint("see `kokctl status`, and mend a control plane first")
        .passing()
}

/// The steps of a host, the first and the last of them.
fn draft<'a>(cluster: &Cluster, wanted: &Reboots<'_>, host: &'a Host, speaker: &Host, seen: &Seen) -> (Draft<'a>, StepId, StepId) {
    let mut draft = Draft::new(&host.name, TASK);
    let name = &host.name;
    let before = wanted.boots.get(name).cloned().unwrap_or_else(|| boot_id(seen, name));
    let is_node = host.roles.is_node();
    // The pods of one that was started anew may be its own again.
    let pods = (is_node && !wanted.is_started(host, seen)).then(|| drained(&mut draft, name, speaker, (&wanted.drain, wanted.hosts.len())));
    let reboot = draft.add("reboot", Operation::Reboot(Reboot { before, if_needed: wanted.if_needed }));
    draft.within(wanted.back_within);
    let begins = pods.as_ref().map_or_else(|| reboot.clone(), |_| StepId::new(name, TASK, "cordoned"));
    if let Some(drained) = &pods {
        draft.needs(&reboot, drained, Reason::Because("its pods have to be elsewhere before"));
    }
    let disturbs = match host.roles.control_plane || host.roles.etcd {
        true => Disruption::StopHost { host: name.clone() },
        false => Disruption::DrainWorker { host: name.clone() },
    };
    draft.gated(&reboot, disturbs, Need::Wanted);
    let mut last = reboot.clone();
    if host.roles.control_plane {
        last = draft.add("api-server", Operation::ApiServerReady(ApiServerReady::default()));
        draft.within(READY);
        draft.follows(&last, &reboot, Reason::Because("it starts with the host"));
    }
    if is_node {
        // Until its new kubelet has said something, the node is what the one from before has said last, which is Ready.
        let stays =
            draft.add("goes-on", Operation::KubeletStays(KubeletStays { was_started_microseconds: None, for_at_least: Duration::ZERO }));
        draft.within(READY);
        draft.follows(&stays, &last, Reason::Because("it starts with the host"));
        last = stays;
        let version = kubelet_version(seen, speaker, name).unwrap_or_else(|| cluster.kubernetes_version.to_string());
        let ready = draft.add_on(&speaker.name, "ready", Operation::NodesReady(NodesReady { versions: [(name.clone(), version)].into() }));
        draft.within(READY);
        draft.follows(&ready, &last, Reason::Because("its kubelet starts with the host"));
        let mut ready_step = ready;
        if let Some(network) = &plugin(&cluster.network).after_boot {
            let carries = draft.add("network", network.clone());
            draft.within(READY);
            draft.follows(&carries, &ready_step, Reason::Because("its daemon starts with the node"));
            ready_step = carries;
        }
        let lifted = UncordonNodes { nodes: vec![name.clone()], by: Cordoner::Run };
        let uncordoned = draft.add_on(&speaker.name, "uncordoned", Operation::UncordonNodes(lifted));
        draft.follows(&uncordoned, &ready_step, Reason::Because("pods have to be able to start there"));
        last = uncordoned;
    }
    (draft, begins, last)
}

/// The version that its kubelet has, which starting it anew does not change.
fn kubelet_version(seen: &Seen, speaker: &Host, name: &str) -> Option<String> {
    let KubernetesState::Ready { nodes, .. } = seen.observations(&speaker.name).kubernetes.as_ref()? else { return None };
    Some(nodes.get(name)?.kubelet_version.trim_start_matches('v').to_owned())
}
