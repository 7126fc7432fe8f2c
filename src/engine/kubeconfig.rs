//! The administrator's kubeconfig of a running cluster, and where its API answers.

mod server;
mod user;

use std::sync::Arc;
use std::time::Duration;

use kok_crds::model::Cluster;
use kok_pki::SecretText;
use kok_tasks::observe::STATE_DIRECTORY;

use super::context::Context;
use crate::failure::{Failure, Kind};
use crate::remote::{Script, quote};
use crate::run::{Link, connect_each};
pub use server::Server;
pub use user::{UserRequest, user_kubeconfig};

/// The kubeconfig of an administrator, as a control plane has it.
pub struct Administrator {
    /// The control plane that it was fetched from.
    pub host: String,
    /// The kubeconfig; it names a server that perhaps only hosts of the cluster know.
    pub kubeconfig: SecretText,
    /// Every address of an API server: one before all of them, then the hosts' own, and last those that only SSH is known to reach.
    pub servers: Vec<Server>,
    /// The first of them that can be connected to from here; nothing if none can.
    pub answering: Option<Server>,
}

/// Fetches the kubeconfig of the first control plane that has one. Nothing is changed. `made_by` is how its user makes the cluster, for the
/// hint where it is not there yet.
///
/// # Errors
/// A [`Failure`] for each control plane that can't be reached, or has none.
pub async fn kubeconfig(context: &Context, cluster: &Cluster, made_by: &str) -> Result<Administrator, Vec<Failure>> {
    let (host, _, kubeconfig) = fetch_any(context, cluster.clone(), made_by).await?;
    let servers = Server::all(cluster);
    let answering = server::first_answering(&servers).await;
    Ok(Administrator { host, kubeconfig, servers, answering })
}

async fn fetch_any(context: &Context, mut cluster: Cluster, made_by: &str) -> Result<(String, Arc<Link>, SecretText), Vec<Failure>> {
    // Only a control plane has it.
    cluster.hosts.retain(|host| host.roles.control_plane);
    let (links, unreachable) = connect_each(&cluster, |_| true, &context.transport, &context.events).await?;
    let mut failures: Vec<Failure> = unreachable.into_values().collect();
    for host in &cluster.hosts {
        let Some(link) = links.get(&host.name) else { continue };
        match fetch(link, &cluster.name, &host.name, made_by).await {
            Ok(text) => return Ok((host.name.clone(), Arc::clone(link), text)),
            Err(failure) => failures.push(failure),
        }
    }
    Err(failures)
}

/// The kubeconfig of a control plane.
async fn fetch(link: &Link, cluster: &str, host: &str, made_by: &str) -> Result<SecretText, Failure> {
    // A wrong address must not hand out the keys of another cluster.
    let script = Script::new(format!(
        "owner=$(head -n 1 {STATE_DIRECTORY}/cluster 2>/dev/null) || :\n\
         [ \"$owner\" = {} ] || {{ echo \"the host belongs to ${{owner:-no cluster of kokctl}}\" >&2; exit 1; }}\n\
         [ -s /etc/kubernetes/admin.conf ] || {{ echo 'there is no such file' >&2; exit 1; }}\n\
         cat /etc/kubernetes/admin.conf",
        quote(cluster)
    ));
    let output = link.scripts().await?.run(script, Duration::from_secs(30)).await?;
    if output.is_success() {
        return Ok(SecretText::new(String::from_utf8_lossy(&output.stdout).into_owned()));
    }
    let what = "there is no administrator's kubeconfig";
    let failure = Failure::new(Kind::Host, what).at(format!("host {host}: /etc/kubernetes/admin.conf"));
    Err(failure.because(output.reason().unwrap_or_default()).hint(format!("make the cluster first: {made_by}")))
}
