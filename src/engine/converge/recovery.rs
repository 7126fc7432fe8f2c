//! What is known of an etcd that may have lost its quorum, and the plans that make it anew.

use kok_crds::model::{Cluster, Host};
use kok_tasks::artifact::Artifact;
use kok_tasks::gate::member_url;
use kok_tasks::observe::Look;
use kok_tasks::plan::{self, Inputs, Plan, Recovering, RecoveryStage, Refusal, Seen};
use kok_tasks::preconditions;
use kok_tasks::recovery::{self, Candidate, Course, Origin, Recovery};

use super::super::context::Context;
use super::super::given::Given;
use super::{Observed, Planned, Tolerance, refused};
use crate::artifacts::BundleFolder;
use crate::clock::Clock;
use crate::event::EventKind;
use crate::failure::{Failure, Kind};
use crate::run::connect_each;

/// What is known of etcd before anything is done about it.
pub struct Survey {
    /// What the members that answer have.
    pub candidates: Vec<Candidate>,
    /// All hosts that answer and take part: those of these members, and those whose API servers write to them.
    pub parties: Vec<String>,
    /// Why none may begin.
    pub refused: Vec<Failure>,
    /// How far the one has come that is meant.
    pub standing: RecoveryStanding,
}

/// How far a recovery has come, as hosts say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecoveryStanding {
    /// No host knows of it.
    NotBegun,
    /// It has begun, and not come to its end.
    UnderWay,
    /// Another one has, by this name.
    Another(String),
    /// There is a new etcd. What else the file wants is done by an apply.
    Ended,
}

/// What is to be done about etcd now.
pub(in super::super) enum RecoveryAction<'a> {
    /// A recovery is begun, and is at its first stage.
    Begin(&'a Recovery),
    /// The one that has begun goes on with a stage.
    GoOn(RecoveryStage),
    /// The one that was begun from this goes on with its first stage.
    GoOnFrom(&'a Origin),
    /// The one that has begun is taken back.
    TakeBack,
}

/// By what a plan is made besides the hosts.
pub(in super::super) struct RecoveryMeans<'a> {
    pub(in super::super) cluster: &'a Cluster,
    pub(in super::super) bundle: &'a BundleFolder,
    pub(in super::super) given: &'a Given,
    pub(in super::super) snapshot: Option<&'a Artifact>,
    /// Hosts that the caller gives up.
    pub(in super::super) lost: &'a [String],
}

/// What keeps it from being begun; an etcd that works is nothing that does where it is to be replaced.
fn begins(cluster: &Cluster, lost: &[String], replaces: bool, seen: &Seen) -> Vec<Refusal> {
    if replaces { preconditions::check_restore(cluster, lost, seen) } else { preconditions::check_recovery(cluster, lost, seen) }
}

/// Asks the members what they have. Nothing is changed. `replaces` is for a backup that takes the place of an etcd, whether it works or not; `id` is the
/// name of the recovery that is meant, of which is told how far it has come.
///
/// # Errors
/// [`Failure`]s of hosts that don't answer and are not given up, and of hosts that are given up and answer.
pub async fn survey(context: &Context, cluster: &Cluster, lost: &[String], (id, replaces): (&str, bool)) -> Result<Survey, Vec<Failure>> {
    let strangers = lost.iter().filter(|name| cluster.host(name).is_some_and(|host| !recovery::takes_part(host)));
    let strangers: Vec<Failure> = strangers.map(|name| no_party(name)).collect();
    if !strangers.is_empty() {
        return Err(strangers);
    }
    let tolerance = Tolerance { holder: true, ..Tolerance::default() };
    let (observed, begun) = members(cluster, lost, tolerance, context).await?;
    let seen = &observed.seen;
    let has_ended = || cluster.hosts.iter().any(|host| Course::has_ended(id, &host.name, seen));
    let (standing, refusals) = match &begun {
        Some(begun) if begun.id == id => (RecoveryStanding::UnderWay, Vec::new()),
        Some(other) => (RecoveryStanding::Another(other.id.clone()), vec![has_begun(other)]),
        None if has_ended() => (RecoveryStanding::Ended, Vec::new()),
        None => (RecoveryStanding::NotBegun, begins(cluster, lost, replaces, seen)),
    };
    let is_ours = |host: &&Host| seen.facts(&host.name).is_some_and(|facts| facts.cluster.as_ref() == Some(&cluster.name));
    let parties = recovery::parties(cluster).filter(is_ours).map(|host| host.name.clone()).collect();
    Ok(Survey { candidates: recovery::candidates(cluster, seen), parties, refused: refused(Kind::Host)(refusals), standing })
}

/// Makes the plan of what is next, with the recovery that it is of; none of any where there is nothing left to do of one, and etcd works.
pub(in super::super) async fn recover(
    means: &RecoveryMeans<'_>,
    next: RecoveryAction<'_>,
    tolerance: Tolerance,
    context: &Context,
) -> Result<(Planned, Option<Recovery>), Vec<Failure>> {
    let RecoveryMeans { cluster, bundle, given, snapshot, lost } = *means;
    let now_seconds = Clock::seconds();
    let (mut observed, begun) = members(cluster, lost, tolerance, context).await?;
    let failed = |refusals: Vec<Refusal>| Err(refused(Kind::Host)(refusals));
    let recovery = match (&next, begun) {
        // A plan may have to be made anew.
        (RecoveryAction::Begin(recovery), Some(begun)) if begun.id == recovery.id => begun,
        (RecoveryAction::Begin(_), Some(begun)) => return failed(vec![has_begun(&begun)]),
        (RecoveryAction::Begin(recovery), None) => {
            let mut refusals = begins(cluster, lost, recovery.origin.replaces(), &observed.seen);
            refusals.extend(preconditions::check_chosen(recovery, &recovery::candidates(cluster, &observed.seen)));
            if !refusals.is_empty() {
                return failed(refusals);
            }
            (*recovery).clone()
        }
        (RecoveryAction::GoOnFrom(origin), Some(begun)) if !is_same(&begun.origin, origin) => return failed(vec![another(&begun)]),
        (RecoveryAction::GoOnFrom(_), None) => return failed(vec![no_restore()]),
        (RecoveryAction::GoOn(_) | RecoveryAction::GoOnFrom(_) | RecoveryAction::TakeBack, Some(begun)) => begun,
        (RecoveryAction::GoOn(_), None) if cluster.etcd_hosts().any(|host| preconditions::etcd_works(&host.name, &observed.seen)) => {
            return Ok((observed.planned(Plan::default(), Vec::new(), now_seconds), None));
        }
        (RecoveryAction::GoOn(_) | RecoveryAction::TakeBack, None) => return failed(vec![none_has_begun()]),
    };
    let Given { token, new_cluster_id, prune } = given;
    let inputs = Inputs { cluster, bundle: bundle.bundle(), token_id: &token.id, new_cluster_id, now_seconds, prune: *prune };
    let wanted = Recovering { recovery: &recovery, snapshot };
    let plan = observed.repeat(|seen| match next {
        RecoveryAction::Begin(_) => plan::recover(&inputs, wanted, RecoveryStage::Aside, seen),
        RecoveryAction::GoOnFrom(_) => plan::recover(&inputs, wanted, RecoveryStage::Aside, seen),
        RecoveryAction::GoOn(stage) => plan::recover(&inputs, wanted, stage, seen),
        RecoveryAction::TakeBack => plan::take_back(cluster, &recovery, seen),
    });
    let plan = plan.await?;
    Ok((observed.planned(plan, Vec::new(), now_seconds), Some(recovery)))
}

/// What the hosts that take part say, as far as they answer, and which recovery has begun.
async fn members<'a>(
    cluster: &'a Cluster,
    lost: &[String],
    tolerance: Tolerance,
    context: &'a Context,
) -> Result<(Observed<'a>, Option<Recovery>), Vec<Failure>> {
    let mut observed = Observed::to_reset(cluster, false, tolerance, context);
    observed.looks = recovery::parties(cluster).map(|host| (host.name.clone(), plan::recovery_looks(host))).collect();
    let lost_members = lost.iter().filter_map(|name| cluster.host(name)).filter(|host| host.roles.etcd);
    let urls: Vec<String> = lost_members.map(member_url).collect();
    observed.looks.values_mut().for_each(|looks| looks.extend(urls.iter().cloned().map(Look::EtcdPeerHealth)));
    let is_asked = |host: &str| cluster.host(host).is_some_and(recovery::takes_part);
    let hosts = recovery::parties(cluster).map(|host| host.name.clone()).collect();
    context.events.send(EventKind::HostsAwaited { hosts });
    let (links, silent) = connect_each(cluster, is_asked, &context.transport, &context.events).await?;
    let mut wrong: Vec<Failure> = links.keys().filter(|host| lost.contains(host)).map(|host| answers(host)).collect();
    observed.look_first(links).await?;
    let begun = preconditions::recovery_of(cluster, &observed.seen);
    let begun = begun.map_err(|refusal| refused(Kind::Host)(vec![refusal]))?;
    let is_strange = |name: &&String| cluster.host(name).is_none() && begun.as_ref().is_some_and(|begun| !begun.lost.contains(*name));
    wrong.extend(lost.iter().filter(is_strange).map(|name| strange(name)));
    let begun = begun.map(|recovery| with(recovery, lost));
    let is_given_up = |host: &String| lost.contains(host) || begun.as_ref().is_some_and(|begun| begun.lost.contains(host));
    for (host, failure) in silent {
        if failure.is_doubt() || !is_given_up(&host) {
            wrong.push(or_lost(failure, &host));
        } else {
            context.events.send(EventKind::HostLeftOut { host, because: failure.one_line() });
        }
    }
    if wrong.is_empty() { Ok((observed, begun)) } else { Err(wrong) }
}

/// Who goes on may have to give up further hosts.
fn with(mut recovery: Recovery, lost: &[String]) -> Recovery {
    recovery.lost.extend(lost.iter().cloned());
    recovery
}

/// Which members there were nobody says any more once they stand still.
fn strange(name: &str) -> Failure {
    let failure = Failure::new(Kind::Host, format!("{name} is no host of the file")).at("--lost");
    let failure = failure.because("the recovery has begun, and the file and what the hosts say of it are all that is known of members");
    failure.hint("look at how it is written")
}

fn no_party(host: &str) -> Failure {
    let failure = Failure::new(Kind::Input, format!("{host} can't be given up")).at(format!("host {host}"));
    failure
        .because("it is no member of etcd and no control plane")
        .hint("leave it out; what is wrong with it is mended afterwards, by apply or replace")
}

fn answers(host: &str) -> Failure {
    let failure = Failure::new(Kind::Host, format!("{host} is not lost")).at(format!("host {host}")).because("it answers by SSH");
    failure.hint(format!("leave {host} out of --lost: what it has is kept, and it joins anew"))
}

fn or_lost(failure: Failure, host: &str) -> Failure {
    if failure.is_doubt() {
        return failure;
    }
    let lost = format!("if the host is gone for good, give it up with --lost {host}: what it has and no other member has is lost then");
    match failure.hint.clone() {
        None => failure.hint(lost),
        Some(hint) => failure.hint(format!("{hint}; or, {lost}")),
    }
}

fn has_begun(begun: &Recovery) -> Refusal {
    preconditions::has_begun(begun).at(format!("host {}", begun.host))
}

/// Whether one goes on with what another has begun. Whether that is onto other hosts is known by what was begun.
fn is_same(begun: &Origin, origin: &Origin) -> bool {
    begun.replaces() == origin.replaces() && begun.snapshot() == origin.snapshot()
}

fn no_restore() -> Refusal {
    let refusal = Refusal::new("no restore is under way")
        .because("no host with a member that answers says so: it was not begun, or has come to its end");
    refusal.hint(
        "where etcd works again, `kokctl recover -f FILE --continue` does the rest, with the same --lost; without --continue a restore begins once more, and \
         loses what was written since",
    )
}

fn another(begun: &Recovery) -> Refusal {
    let is = if begun.origin.replaces() { "a restore of another backup" } else { "a recovery of another kind" };
    let refusal =
        Refusal::new(format!("{is} is under way")).at(format!("host {}", begun.host)).because(format!("{} has begun it", begun.id));
    refusal.hint(
        "go on with that: the same command with its own file, or `kokctl recover --continue`; or take it back with `kokctl recover --undo`",
    )
}

fn none_has_begun() -> Refusal {
    let refusal =
        Refusal::new("no recovery of etcd is under way").because("no host with a member that answers says so, and etcd does not work");
    refusal.hint("leave --continue and --undo out to begin one")
}
