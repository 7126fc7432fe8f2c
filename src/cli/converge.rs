//! From a cluster's file to a plan: connect, probe, decide. Nothing is changed here.

use kok_crds::model::Cluster;
use kok_tasks::bundle::Bundle;
use kok_tasks::observe::Looks;
use kok_tasks::plan::{self, Inputs, Making, Plan, Refusal, Seen};

use crate::run::{Clock, EventKind, Events, Links, LookAt, connect_all, probe_all};
use crate::ui::{Failure, Kind};

/// A plan with what it was made from.
pub(super) struct Planned {
    pub(super) plan: Plan,
    pub(super) links: Links,
    pub(super) now_seconds: i64,
}

/// Twice is enough for every plan of today: once with what is expected of a host, once with what it is.
const MOST_LOOKS: usize = 4;

fn refused(kind: Kind) -> impl Fn(Vec<Refusal>) -> Vec<Failure> {
    move |refusals| refusals.into_iter().map(|refusal| Failure::refusal(kind, refusal)).collect()
}

/// Makes the plan that brings the cluster to what its file says.
pub(super) async fn converge(cluster: &Cluster, bundle: &Bundle, token_id: &str, events: &Events) -> Result<Planned, Vec<Failure>> {
    let now_seconds = Clock::seconds();
    let inputs = Inputs { cluster, bundle, token_id, now_seconds };
    // What the bundle lacks is said before anybody is bothered.
    let looks = plan::looks(&inputs).map_err(refused(Kind::Input))?;
    let links = connect_all(cluster).await?;
    let mut seen = Seen::default();
    let first = looks.into_iter().map(|(host, looks)| (host, LookAt { looks, facts: true })).collect();
    probe_all(&links, first, &mut seen, events).await?;
    let plan = repeat(&links, &mut seen, events, |seen| plan::make(&inputs, seen)).await?;
    events.send(EventKind::PlanMade { steps: plan.steps().count(), changes: plan.changes().count() });
    Ok(Planned { plan, links, now_seconds })
}

/// Makes the plan that takes every host out of the cluster.
pub(super) async fn take_down(cluster: &Cluster, events: &Events) -> Result<Planned, Vec<Failure>> {
    let links = connect_all(cluster).await?;
    let mut seen = Seen::default();
    let first = cluster.hosts.iter().map(|host| (host.name.clone(), LookAt { looks: Looks::default(), facts: true })).collect();
    probe_all(&links, first, &mut seen, events).await?;
    let plan = repeat(&links, &mut seen, events, |seen| plan::reset(cluster, seen)).await?;
    events.send(EventKind::PlanMade { steps: plan.steps().count(), changes: plan.changes().count() });
    Ok(Planned { plan, links, now_seconds: Clock::seconds() })
}

async fn repeat(
    links: &Links,
    seen: &mut Seen,
    events: &Events,
    make: impl Fn(&Seen) -> Result<Making, Vec<Refusal>>,
) -> Result<Plan, Vec<Failure>> {
    for _ in 0..MOST_LOOKS {
        match make(seen).map_err(refused(Kind::Host))? {
            Making::Made(plan) => return Ok(*plan),
            Making::LookFirst(looks) => {
                let asked = looks.into_iter().map(|(host, looks)| (host, LookAt { looks, facts: false })).collect();
                probe_all(links, asked, seen, events).await?;
            }
        }
    }
    let defect = Failure::new(Kind::Internal, "no plan could be made")
        .because(format!("after {MOST_LOOKS} looks something was still not looked at"));
    Err(vec![defect.hint("this is a defect of kokctl; please report it")])
}
