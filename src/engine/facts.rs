//! What is known of hosts.

use kok_crds::model::{Cluster, Host};
use kok_tasks::facts::{CHRONY, COMMANDS, CURL, Extent, HostFacts, TRUST_DEBIAN};
use kok_tasks::observe::{Look, Looks};
use kok_tasks::plan::Seen;
use serde::Serialize;

use super::context::Context;
use crate::failure::Failure;
use crate::run::{LookAt, connect_each, probe_all};

/// A host with what is known of it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KnownHost {
    /// Its name in the file.
    pub host: String,
    /// Its address in the file.
    pub address: String,
    /// The family of its distribution, by which kokctl knows its package manager and its paths; none where it knows too little of it.
    pub family: Option<&'static str>,
    /// By how many seconds its clock is ahead of ours for certain; less than nothing if it is behind.
    pub clock_ahead_seconds: Option<i64>,
    /// What it says of itself.
    #[serde(flatten)]
    pub facts: HostFacts,
}

/// Asks these hosts what they are, as every verb does before it plans, with a failure for each that does not answer. Nothing is changed.
///
/// # Errors
/// [`Failure`]s of the file or of keys that it names; then nobody was contacted.
pub async fn facts(context: &Context, cluster: &Cluster, hosts: &[String]) -> Result<(Vec<KnownHost>, Vec<Failure>), Vec<Failure>> {
    let wanted = |host: &str| hosts.iter().any(|name| name == host);
    let (links, unreachable) = connect_each(cluster, wanted, &context.transport, &context.events).await?;
    let mut failures: Vec<Failure> = unreachable.into_values().collect();
    let installable: Looks = COMMANDS.iter().chain([&CHRONY, &CURL, &TRUST_DEBIAN]).copied().map(Look::Installable).collect();
    let asked = links.keys().map(|host| (host.clone(), LookAt { looks: installable.clone(), facts: Some(Extent::Node) })).collect();
    let mut seen = Seen::default();
    if let Err(unanswered) = probe_all(&links, asked, &context.controller, &mut seen, &context.events).await {
        failures.extend(unanswered);
    }
    let known = |host: &Host| {
        let facts = seen.facts(&host.name)?;
        Some(KnownHost {
            host: host.name.clone(),
            address: host.address.to_string(),
            clock_ahead_seconds: seen.clock_offset_seconds(&host.name),
            family: facts.distribution().map(|family| family.name),
            facts: facts.clone(),
        })
    };
    Ok((cluster.hosts.iter().filter_map(known).collect(), failures))
}
