//! What somebody else needs to see of a cluster to help.

use std::collections::BTreeMap;
use std::time::Duration;

use kok_crds::model::Cluster;
use kok_tasks::support::{SECONDS, redacted, script};
use tokio::task::JoinSet;

use super::context::Context;
use crate::failure::Failure;
use crate::remote::Script;
use crate::run::connect_each;

/// A host ends by itself, unless what it runs can't be ended: then nothing of it is heard.
const DEADLINE: Duration = Duration::from_secs(SECONDS + 30);

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
    let mut answers: BTreeMap<String, Result<String, Failure>> =
        unreachable.into_iter().map(|(host, failure)| (host, Err(failure))).collect();
    let most = (MOST_BYTES / cluster.hosts.len().max(1)).clamp(OF_ONE.0, OF_ONE.1);
    let mut asking: JoinSet<(String, Result<String, Failure>)> = JoinSet::new();
    for host in &cluster.hosts {
        let Some(link) = links.get(&host.name).cloned() else { continue };
        let (name, script) = (host.name.clone(), Script::new(script(host, most)).stdout_limit(most));
        asking.spawn(async move {
            let asked = async { Ok::<_, Failure>(link.scripts().await?.run(script, DEADLINE).await?) };
            (name, asked.await.map(|output| redacted_output(&output.stdout, output.stdout_truncated)))
        });
    }
    while let Some(asked) = asking.join_next().await {
        answers.extend(asked.ok());
    }
    Ok(answers)
}

/// What a host has said, as it is passed on. Where it was cut off, so is its last line: what is left of one may be the half of a secret.
fn redacted_output(stdout: &[u8], is_cut: bool) -> String {
    let text = String::from_utf8_lossy(stdout);
    match text.rsplit_once('\n').filter(|_| is_cut) {
        Some((whole, _)) => redacted(whole) + "\n\n==== the rest of what it said was too much\n",
        None => redacted(&text),
    }
}

#[cfg(test)]
mod tests {
    use super::redacted_output;

    #[test]
    fn no_half_of_a_line_is_passed_on() {
        assert_eq!(redacted_output(b"a\npassword=c4n4ry\nb", false), "a\npassword=(left out)\nb");
        let cut = redacted_output(b"a\nHTTPS_PROXY=http://ann:c4n4ry", true);
        assert!(cut.starts_with("a\n") && cut.contains("too much") && !cut.contains("c4n4ry"), "{cut}");
    }
}
