//! `kokctl kubeconfig`

mod merge;
mod own;
mod server;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use kok_crds::model::Cluster;
use kok_pki::Secret;
use kok_tasks::observe::STATE_DIRECTORY;

use self::server::Server;
use super::files::{ClusterFiles, ExtraVars};
use super::process;
use crate::event::Events;
use crate::failure::{Failure, Kind};
use crate::remote::{Script, quote};
use crate::run::{Link, connect_each};
use crate::ui::{Notes, line, status_line};

/// Print the administrator's kubeconfig of a running cluster, or merge it into your own
///
/// The server is the first control plane whose API answers this machine.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: ClusterFiles,
    #[command(flatten)]
    extra: ExtraVars,
    /// Print nothing of it, but take it into your own kubeconfig: the first file of $KUBECONFIG, or ~/.kube/config. Its context gets the
    /// name of the cluster and becomes the current one; entries of other clusters stay as they are
    #[arg(long)]
    merge: bool,
    /// Another file to merge into
    #[arg(long, value_name = "FILE", requires = "merge")]
    into: Option<PathBuf>,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let cluster = arguments.cluster.read(&arguments.extra)?;
    let (host, text) = administrator(cluster.clone(), arguments).await?;
    let servers = server::all(&cluster);
    let server = match server::first_answering(&servers).await {
        Some(server) => server,
        None => unanswered(&servers, &host)?,
    };
    if arguments.merge {
        let said = merge::merge(arguments.into.as_deref(), &cluster.name, &text, &server, &servers)?;
        said.iter().for_each(|text| line(text));
    } else {
        line(server::pointed_at(text.expose(), &server).trim_end());
    }
    Ok(())
}

/// The address of the host that was asked, with a warning: the kubeconfig may be for another machine.
fn unanswered(servers: &[Server], host: &str) -> Result<Server, Vec<Failure>> {
    let server = servers.iter().find(|server| server.host == host).cloned();
    let server = server.ok_or_else(|| vec![Failure::new(Kind::Internal, format!("{host} has no address"))])?;
    let tried: Vec<String> = servers.iter().map(Server::url).collect();
    let warning =
        Failure::new(Kind::Host, format!("no API server of the cluster answers this machine; the kubeconfig has {}", server.url()))
            .because(format!("none of these can be connected to from here: {}", tried.join(", ")))
            .hint("the API may be reachable only from the hosts' network: use the kubeconfig there, or open the way to that port");
    status_line(&warning.as_warning());
    Ok(server)
}

/// The kubeconfig of the first control plane that has one, and the name of that host. Which API server answers is asked from here.
async fn administrator(mut cluster: Cluster, arguments: &Arguments) -> Result<(String, Secret), Vec<Failure>> {
    // Only a control plane has it.
    cluster.hosts.retain(|host| host.roles.control_plane);
    let (links, unreachable) = connect_each(&cluster, |_| true, &process::transport(), &Events::new(vec![Box::new(Notes)])).await?;
    let mut failures: Vec<Failure> = unreachable.into_values().collect();
    for host in &cluster.hosts {
        let Some(link) = links.get(&host.name) else { continue };
        match fetch(link, &cluster.name, &host.name, arguments).await {
            Ok(text) => return Ok((host.name.clone(), text)),
            Err(failure) => failures.push(failure),
        }
    }
    Err(failures)
}

/// The kubeconfig of a control plane.
async fn fetch(link: &Link, cluster: &str, host: &str, arguments: &Arguments) -> Result<Secret, Failure> {
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
        return Ok(Secret::new(String::from_utf8_lossy(&output.stdout).into_owned()));
    }
    let what = "there is no administrator's kubeconfig";
    let failure = Failure::new(Kind::Host, what).at(format!("host {host}: /etc/kubernetes/admin.conf"));
    let file = arguments.cluster.path().display();
    Err(failure.because(output.reason().unwrap_or_default()).hint(format!("make the cluster first: kokctl apply -f {file}")))
}
