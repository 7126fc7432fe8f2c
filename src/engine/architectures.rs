//! What processors the hosts have.

use std::collections::BTreeSet;

use kok_crds::model::Cluster;
use kok_tasks::facts::Extent;
use kok_tasks::observe::Looks;
use kok_tasks::plan::Seen;

use super::context::Context;
use crate::failure::Failure;
use crate::run::{LookAt, connect_each, probe_all};

/// The architectures of all hosts that answer, as Go spells them. Nothing is changed.
///
/// # Errors
/// [`Failure`]s of the file or of keys that it names, and of the hosts if none of them answers.
pub async fn architectures(context: &Context, cluster: &Cluster) -> Result<BTreeSet<String>, Vec<Failure>> {
    let Context { controller, events, transport, .. } = context;
    let (links, unreachable) = connect_each(cluster, |_| true, transport, events).await?;
    let mut failures: Vec<Failure> = unreachable.into_values().collect();
    let mut seen = Seen::default();
    let asked =
        cluster.hosts.iter().map(|host| (host.name.clone(), LookAt { looks: Looks::default(), facts: Some(Extent::Node) })).collect();
    if let Err(unanswered) = probe_all(&links, asked, controller, &mut seen, events).await {
        failures.extend(unanswered);
    }
    let found: BTreeSet<String> =
        cluster.hosts.iter().filter_map(|host| seen.facts(&host.name)).map(|facts| facts.architecture.clone()).collect();
    // Those that are away are told of by the run itself, which knows whether it can do without them.
    if found.is_empty() { Err(failures) } else { Ok(found) }
}
