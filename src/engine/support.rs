//! What somebody else needs to see of a cluster to help.

use std::collections::BTreeMap;
use std::time::Duration;

use kok_crds::model::Cluster;
use kok_tasks::support::{redacted, script};
use tokio::task::JoinSet;

use super::context::Context;
use crate::failure::Failure;
use crate::remote::Script;
use crate::run::connect_each;

/// All journals of a busy host.
const DEADLINE: Duration = Duration::from_secs(90);

/// What is kept of all hosts together, before it is compressed, which makes a tenth of it.
const MOST_BYTES: usize = 100 << 20;

/// The least and the most of one host.
const OF_ONE: (usize, usize) = (96 << 10, 1 << 20);

/// Asks every host that can be reached, and says of each what it answered, without what looks like a secret, or why there is no answer. Nothing is changed.
///
/// # Errors
/// [`Failure`]s of the file or of keys that it names; then nobody was contacted.
pub async fn support(context: &Context, cluster: &Cluster) -> Result<BTreeMap<String, Result<String, Failure>>, Vec<Failure>> {
    let (links, unreachable) = connect_each(cluster, |_| true, &context.transport, &context.events).await?;
    let mut said: BTreeMap<String, Result<String, Failure>> = unreachable.into_iter().map(|(host, failure)| (host, Err(failure))).collect();
    let most = (MOST_BYTES / cluster.hosts.len().max(1)).clamp(OF_ONE.0, OF_ONE.1);
    let mut asking: JoinSet<(String, Result<String, Failure>)> = JoinSet::new();
    for host in &cluster.hosts {
        let Some(link) = links.get(&host.name).cloned() else { continue };
        let (name, script) = (host.name.clone(), Script::new(script(host, most)));
        asking.spawn(async move {
            let asked = async { Ok::<_, Failure>(link.scripts().await?.run(script, DEADLINE).await?) };
            let text = asked.await.map(|output| redacted(&String::from_utf8_lossy(&output.stdout)));
            (name, text)
        });
    }
    while let Some(asked) = asking.join_next().await {
        said.extend(asked.ok());
    }
    Ok(said)
}
