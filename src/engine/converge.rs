//! From a cluster's file to a plan: connect, probe, decide. Nothing is changed here.

mod answers;
mod away;
mod climb;
mod recovery;
mod rotate_authority;
mod rotate_key;
mod rotate_token_key;
mod swap;
mod take_out;

use std::collections::{BTreeMap, BTreeSet};

use kok_crds::model::{Cluster, Host};
use kok_tasks::bundle::Bundle;
use kok_tasks::completed::completed;
use kok_tasks::facts::Extent;
use kok_tasks::holder::Standing;
use kok_tasks::observe::Looks;
use kok_tasks::plan::{self, Aside, EtcdRoom, Inputs, Making, Plan, Reboots, Refusal, Seen, Selection};
use kok_tasks::preconditions;
use kok_tasks::renewal::{DueCertificate, Renewal, to_be_issued};
use kok_tasks::resources::Act;
use kok_tasks::snapshot::{self, Snapshot};

use super::context::Context;
use super::given::Given;
use crate::clock::Clock;
use crate::event::{EventKind, Events, Lane};
use crate::failure::{Failure, Kind};
use crate::run::{Links, LookAt, connect_each, may_write, probe_all};
pub(super) use answers::{all_take_part, mute};
use away::{not_tolerated, passed_over};
pub(super) use climb::{Base, base};
pub(super) use recovery::{RecoveryAction, RecoveryMeans, recover};
pub use recovery::{RecoveryStanding, Survey, survey};
pub(super) use rotate_authority::{NextAuthority, replace_authority};
pub(super) use rotate_key::{change_encryption, encryption_standing, replace_key};
pub(super) use rotate_token_key::{NextTokenKey, replace_token_key};
pub(super) use swap::swap;
pub(super) use take_out::take_out;

/// A plan with what it was made from.
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// The cluster with what its hosts say of themselves.
    pub cluster: Cluster,
    /// What stops nothing, and may become a problem.
    pub warnings: Vec<Failure>,
    /// The connections.
    pub links: Links,
    /// When it was made, in seconds of the epoch.
    pub now_seconds: i64,
    /// What stood in the hosts' holder records.
    pub standing: BTreeMap<String, Standing>,
    /// The boot id of each host when it was probed.
    pub boots: BTreeMap<String, String>,
    /// Whether it is what has to be done before the rest of the file can be planned: hosts leave that the file wants gone, or an API is mended that could be
    /// told of it.
    pub is_first: bool,
    /// Hosts that could not be reached and are left out, and why.
    pub left_out: BTreeMap<String, String>,
    /// The control plane that has the cluster's certificate authorities; none before they are made.
    pub keeper: Option<String>,
    /// The host whose authority of etcd is the cluster's.
    pub etcd_keeper: Option<String>,
    /// The control plane whose key all of them encrypt with.
    pub encryption_keeper: Option<String>,
}

/// What a run puts up with.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tolerance {
    /// Hosts that another run holds.
    pub holder: bool,
    /// So many hosts that can't be reached and are no control plane.
    pub unreachable: usize,
    /// All of those, for whoever asks decides which of them are too many.
    pub any_worker: bool,
    /// All hosts that can't be reached but one: any of them will do.
    pub all_but_one: bool,
}

/// Twice is enough for every plan of a whole cluster: once with what is expected of a host, once with what it is. A part of one may have to
/// ask hosts that it did not mean to, and what it learns there can lead to others.
const MOST_LOOKS: usize = 8;

fn refused(kind: Kind) -> impl Fn(Vec<Refusal>) -> Vec<Failure> {
    move |refusals| refusals.into_iter().map(|refusal| Failure::refusal(kind, refusal)).collect()
}

/// Makes the plan that brings the cluster, or a part of it, to what its file says. Hosts that are not selected are connected to only if
/// what is selected can't be decided without them.
pub(super) async fn converge(
    cluster: &Cluster,
    bundle: &Bundle,
    selection: &Selection,
    given: &Given,
    tolerance: Tolerance,
    context: &Context,
) -> Result<Planned, Vec<Failure>> {
    let now_seconds = Clock::seconds();
    let Given { token, new_cluster_id, prune } = given;
    let inputs = Inputs { cluster, bundle, token_id: &token.id, new_cluster_id, now_seconds, prune: *prune };
    // What the bundle lacks is said before anybody is bothered.
    let looks = plan::looks(&inputs).map_err(refused(Kind::Input))?;
    let mut observed = Observed::new(cluster, looks, tolerance, context);
    observed.ask(|host| selection.has_host(host)).await?;
    let plan = observed.repeat(|seen| plan::make_part(&inputs, seen, selection)).await?;
    // Whoever has nothing to do has heard them before, or put up with them.
    let warnings = match plan.is_empty() {
        true => preconditions::reminders(cluster, &observed.seen),
        false => preconditions::warnings_with(cluster, &observed.seen, bundle),
    };
    let warnings = refused(Kind::Host)(warnings);
    Ok(observed.planned(plan, warnings, now_seconds))
}

/// Makes the plan that brings the hosts of a fleet, or some of them, to what is declared for them.
pub(super) async fn converge_fleet(
    fleet: &Cluster,
    selection: &Selection,
    tolerance: Tolerance,
    context: &Context,
) -> Result<Planned, Vec<Failure>> {
    let looks = plan::fleet_looks(fleet).map_err(refused(Kind::Input))?;
    let mut observed = Observed { facts: Extent::Machine, ..Observed::new(fleet, looks, tolerance, context) };
    observed.ask(|host| selection.has_host(host)).await?;
    let plan = observed.repeat(|seen| plan::fleet(fleet, seen, selection)).await?;
    Ok(observed.planned(plan, Vec::new(), Clock::seconds()))
}

/// Makes the plan that takes every host out of the cluster, and says of which member a snapshot is to be taken before that. Of those that the file wants gone
/// anyway, whoever can't be reached is passed over, and named; and whoever is part of another cluster by now is none of this one's.
pub(super) async fn take_down(
    cluster: &Cluster,
    tolerance: Tolerance,
    context: &Context,
) -> Result<(Planned, BTreeSet<String>, Result<Snapshot, Refusal>), Vec<Failure>> {
    let all = cluster.before_removal();
    let mut observed = Observed::to_reset(&all, true, tolerance, context);
    observed.ask(|host| cluster.host(host).is_some()).await?;
    observed.ask_who_answers(|host| cluster.host(host).is_none()).await?;
    let leaving = || cluster.leaving.iter().map(|host| host.name.as_str());
    let silent: BTreeSet<String> = leaving().filter(|host| !observed.links.contains_key(*host)).map(str::to_owned).collect();
    let passed: Vec<&str> = leaving().filter(|host| silent.contains(*host) || observed.is_of_another(host)).collect();
    let meant = all.without(&passed);
    let plan = observed.repeat(|seen| plan::reset(&meant, seen)).await?;
    let snapshot = snapshot::decide(cluster, &observed.seen);
    Ok((observed.planned(plan, Vec::new(), Clock::seconds()), silent, snapshot))
}

/// Makes the plan that keeps pods away from nodes, takes them off, or lets them come again. Their hosts are not asked.
pub(super) async fn set_aside(
    cluster: &Cluster,
    aside: &Aside<'_>,
    tolerance: Tolerance,
    context: &Context,
) -> Result<Planned, Vec<Failure>> {
    let mut observed = Observed::to_reset(cluster, false, tolerance, context);
    observed.ask_speakers(&[]).await?;
    let plan = observed.repeat(|seen| plan::aside(cluster, aside, seen)).await?;
    Ok(observed.planned(plan, Vec::new(), Clock::seconds()))
}

/// Makes the plan that starts these hosts anew. All of them and the control planes have to answer.
pub(super) async fn start_anew(
    cluster: &Cluster,
    reboots: &Reboots<'_>,
    tolerance: Tolerance,
    context: &Context,
) -> Result<Planned, Vec<Failure>> {
    let mut observed = Observed::to_reset(cluster, false, tolerance, context);
    observed.looks = cluster.hosts.iter().map(|host| (host.name.clone(), plan::reboot_looks(host))).collect();
    let is_asked =
        |host: &str| reboots.hosts.iter().any(|name| name == host) || cluster.host(host).is_some_and(|host| host.roles.control_plane);
    observed.ask(is_asked).await?;
    let plan = observed.repeat(|seen| plan::reboot(cluster, reboots, seen)).await?;
    Ok(observed.planned(plan, Vec::new(), Clock::seconds()))
}

/// Makes the plan that makes room in etcd. All hosts of etcd have to answer; to an etcd that is full those are enough that do.
pub(super) async fn make_room_in_etcd(
    cluster: &Cluster,
    wanted: &EtcdRoom<'_>,
    tolerance: Tolerance,
    context: &Context,
) -> Result<Planned, Vec<Failure>> {
    let mut observed = Observed::to_reset(cluster, false, tolerance, context);
    observed.looks = cluster.hosts.iter().map(|host| (host.name.clone(), plan::etcd_room_looks(host))).collect();
    let is_member = |host: &str| cluster.host(host).is_some_and(|host| host.roles.etcd);
    match wanted {
        EtcdRoom::Defragment(_) => observed.ask(is_member).await?,
        EtcdRoom::Disarm => observed.ask_who_answers(is_member).await?,
    }
    let plan = observed.repeat(|seen| plan::etcd_room(cluster, wanted, seen)).await?;
    Ok(observed.planned(plan, Vec::new(), Clock::seconds()))
}

/// Makes the plan that makes certificates anew, and says which of them somebody else has to issue. The hosts that are meant have to answer; of the others
/// those are asked that may have what signs, as far as they answer.
pub(super) async fn renew_certificates(
    cluster: &Cluster,
    renewal: &Renewal<'_>,
    tolerance: Tolerance,
    context: &Context,
) -> Result<(Planned, Vec<DueCertificate>), Vec<Failure>> {
    let now_seconds = Clock::seconds();
    let mut observed = Observed::to_reset(cluster, false, tolerance, context);
    observed.looks = cluster.hosts.iter().map(|host| (host.name.clone(), plan::renew_looks(cluster, host))).collect();
    let has_to = |host: &str| cluster.host(host).is_some_and(|host| renewal.needs(cluster, host));
    observed.ask(has_to).await?;
    // What is left of a worker that is away is its own, and of the others those may have what signs.
    let may = |host: &Host| renewal.concerns(cluster, host) || host.roles.control_plane || host.roles.etcd;
    observed.ask_who_answers(|host| !has_to(host) && cluster.host(host).is_some_and(may)).await?;
    let plan = observed.repeat(|seen| plan::renew(cluster, renewal, now_seconds, seen)).await?;
    let due = to_be_issued(cluster, renewal, &observed.seen, now_seconds);
    Ok((observed.planned(plan, Vec::new(), now_seconds), due))
}

/// What is known of the hosts, and how to know more.
struct Observed<'a> {
    cluster: &'a Cluster,
    /// What a first probe of each host looks at.
    looks: BTreeMap<String, Looks>,
    /// And how many facts it gathers.
    facts: Extent,
    tolerance: Tolerance,
    left_out: BTreeMap<String, String>,
    links: Links,
    seen: Seen,
    context: &'a Context,
}

impl<'a> Observed<'a> {
    fn new(cluster: &'a Cluster, looks: BTreeMap<String, Looks>, tolerance: Tolerance, context: &'a Context) -> Self {
        let (left_out, links, seen) = (BTreeMap::new(), Links::new(), Seen::default());
        Self { cluster, looks, facts: Extent::Node, tolerance, left_out, links, seen, context }
    }

    fn to_reset(cluster: &'a Cluster, whole: bool, tolerance: Tolerance, context: &'a Context) -> Self {
        let looks = cluster.hosts.iter().map(|host| (host.name.clone(), plan::reset_looks(host, whole))).collect();
        Self::new(cluster, looks, tolerance, context)
    }

    /// Connects to these hosts. Who can't be reached, and why.
    async fn connect(&self, wanted: impl Fn(&str) -> bool) -> Result<(Links, BTreeMap<String, Failure>), Vec<Failure>> {
        let hosts = self.cluster.hosts.iter().map(|host| host.name.clone()).filter(|name| wanted(name)).collect();
        self.context.events.send(EventKind::HostsAwaited { hosts });
        connect_each(self.cluster, &wanted, &self.context.transport, &self.context.events).await
    }

    /// Connects to these hosts and probes them for the first time.
    async fn ask(&mut self, wanted: impl Fn(&str) -> bool) -> Result<(), Vec<Failure>> {
        let (links, failures) = self.connect(wanted).await?;
        if self.tolerance.all_but_one && !links.is_empty() {
            self.pass_over(failures)?;
        } else {
            self.leave_out(failures)?;
        }
        self.look_first(links).await
    }

    /// Connects to the control planes besides these hosts, of which one has to answer.
    async fn ask_speakers(&mut self, but: &[String]) -> Result<(), Vec<Failure>> {
        self.tolerance.all_but_one = true;
        let cluster = self.cluster;
        self.ask(|host| cluster.host(host).is_some_and(|host| host.roles.control_plane && !but.contains(&host.name))).await
    }

    /// Connects to those of these hosts that can be reached. One that may be another is no host that is away.
    async fn ask_who_answers(&mut self, wanted: impl Fn(&str) -> bool) -> Result<(), Vec<Failure>> {
        let (links, failures) = connect_each(self.cluster, &wanted, &self.context.transport, &self.context.events).await?;
        self.pass_over(failures)?;
        self.look_first(links).await
    }

    fn pass_over(&self, failures: BTreeMap<String, Failure>) -> Result<(), Vec<Failure>> {
        for (host, because) in passed_over(failures)? {
            self.context.events.send(EventKind::HostLeftOut { host, because });
        }
        Ok(())
    }

    /// Probes hosts for the first time.
    async fn look_first(&mut self, links: Links) -> Result<(), Vec<Failure>> {
        let looks = self.looks.iter().filter(|(host, _)| links.contains_key(*host));
        let asked = looks.map(|(host, looks)| (host.clone(), LookAt { looks: looks.clone(), facts: Some(self.facts) })).collect();
        self.links.extend(links);
        probe_all(&self.links, asked, &self.context.controller, &mut self.seen, &self.context.events).await?;
        may_write(self.seen.standing(), &self.context.controller, self.tolerance.holder).map(|_| ())
    }

    /// A few workers that are away may be left out if the user said so; then nothing on them is done, nor what needs it.
    fn leave_out(&mut self, failures: BTreeMap<String, Failure>) -> Result<(), Vec<Failure>> {
        let is_control_plane = |host: &str| self.cluster.host(host).is_some_and(|host| host.roles.control_plane || host.roles.etcd);
        let too_many = !self.tolerance.any_worker && self.left_out.len() + failures.len() > self.tolerance.unreachable;
        let control_planes: Vec<&str> = failures.keys().map(String::as_str).filter(|host| is_control_plane(host)).collect();
        if !failures.is_empty() && (too_many || !control_planes.is_empty()) {
            let why = not_tolerated(self.left_out.len() + failures.len(), &control_planes, self.tolerance.unreachable);
            return Err(failures.into_values().chain(why).collect());
        }
        for (host, failure) in failures {
            let because = failure.one_line();
            self.context.events.send(EventKind::HostLeftOut { host: host.clone(), because: because.clone() });
            self.seen.add_unreachable(&host);
            self.left_out.insert(host, because);
        }
        Ok(())
    }

    async fn repeat(&mut self, make: impl Fn(&Seen) -> Result<Making, Vec<Refusal>>) -> Result<Plan, Vec<Failure>> {
        for _ in 0..MOST_LOOKS {
            match make(&self.seen).map_err(refused(Kind::Host))? {
                Making::Made(plan) => return Ok(*plan),
                Making::Incomplete(refusals) => return Err(refused(Kind::Input)(refusals)),
                Making::LookFirst(looks) => {
                    let asked = looks.into_iter().map(|(host, looks)| (host, LookAt { looks, facts: None })).collect();
                    probe_all(&self.links, asked, &self.context.controller, &mut self.seen, &self.context.events).await?;
                }
                Making::AskFirst(hosts) => {
                    for (host, asked) in &hosts {
                        let (step, needed_by) = (asked.step.to_string(), asked.needed_by.to_string());
                        self.context.events.send(EventKind::HostAsked { host: host.clone(), step, needed_by });
                    }
                    self.ask(|host| hosts.contains_key(host)).await?;
                }
            }
        }
        let defect = Failure::new(Kind::Internal, "no plan could be made")
            .because(format!("after {MOST_LOOKS} looks something was still not looked at"));
        Err(vec![defect.hint("this is a defect of kokctl; please report it")])
    }

    fn planned(self, plan: Plan, warnings: Vec<Failure>, now_seconds: i64) -> Planned {
        warnings.iter().for_each(|warning| self.context.events.send(EventKind::Warning(warning.to_record())));
        tell(&plan, &self.context.events);
        let boot = |host: &Host| Some((host.name.clone(), self.seen.facts(&host.name)?.boot_id.clone()?));
        let boots = self.cluster.hosts.iter().filter_map(boot).collect();
        let standing = self.seen.standing().clone();
        let keeper = preconditions::keeper(self.cluster, &self.seen).map(|host| host.name.clone());
        let etcd_keeper = preconditions::etcd_keeper(self.cluster, &self.seen).map(|host| host.name.clone());
        // Where a plugin alone encrypts, nobody has a key.
        let may_have_keys = |host: &&Host| {
            let keys = self.seen.observations(&host.name).encryption_keys.as_ref();
            keys.is_none_or(|keys| keys.layout.plugins().next().is_none() || !keys.names().is_empty())
        };
        let keeper_of_keys = preconditions::encryption_keeper(self.cluster, &self.seen);
        let encryption_keeper = keeper_of_keys.filter(may_have_keys).map(|host| host.name.clone());
        let cluster = completed(self.cluster, &self.seen).into_owned();
        let (links, left_out) = (self.links, self.left_out);
        let is_first = false;
        Planned { plan, cluster, warnings, links, now_seconds, standing, boots, is_first, left_out, keeper, etcd_keeper, encryption_keeper }
    }
}

/// Tells what a plan is going to change.
fn tell(plan: &Plan, events: &Events) {
    events.send(EventKind::PlanMade { steps: plan.steps().count(), changes: plan.changes().count() });
    for (step, change) in plan.changes() {
        events.send(EventKind::StepPlanned {
            step: step.id.to_string(),
            host: step.host.clone(),
            task: step.task.to_owned(),
            title: step.title(),
            summary: change.summary(),
            lane: match step.act(change) {
                Act::Script(_) | Act::Until { .. } => Lane::Script,
                Act::Stream { .. } | Act::Fetch(_) => Lane::Stream,
                Act::Wait => Lane::Wait,
            },
            needs: plan.changed_needs(&step.id).iter().map(|id| id.to_string()).collect(),
        });
    }
}
