//! `kokctl kubeconfig`

use std::time::Duration;

use clap::Args;
use kok_tasks::observe::STATE_DIRECTORY;

use super::files::{ClusterFiles, ExtraVars};
use crate::remote::{Script, quote};
use crate::run::connect_all;
use crate::ui::{Failure, Kind, line};

/// Print the administrator's kubeconfig of a running cluster
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: ClusterFiles,
    #[command(flatten)]
    extra: ExtraVars,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let mut cluster = arguments.cluster.read(&arguments.extra)?;
    // Only a control plane has it.
    cluster.hosts.retain(|host| host.roles.control_plane);
    let links = connect_all(&cluster).await?;
    let Some((host, link)) = links.iter().next() else { return Ok(()) };
    // A wrong address must not hand out the keys of another cluster.
    let script = Script::new(format!(
        "owner=$(head -n 1 {STATE_DIRECTORY}/cluster 2>/dev/null) || :\n\
         [ \"$owner\" = {} ] || {{ echo \"the host belongs to ${{owner:-no cluster of kokctl}}\" >&2; exit 1; }}\n\
         cat /etc/kubernetes/admin.conf",
        quote(&cluster.name)
    ));
    let connection = link.scripts().await.map_err(|error| vec![Failure::from(error)])?;
    let output = connection.run(script, Duration::from_secs(30)).await.map_err(|error| vec![Failure::from(error)])?;
    if !output.is_success() {
        let failure =
            Failure::new(Kind::Host, "there is no administrator's kubeconfig").at(format!("host {host}: /etc/kubernetes/admin.conf"));
        let failure = failure.because(output.reason().unwrap_or_default());
        return Err(vec![failure.hint(format!("make the cluster first: kokctl apply -f {}", arguments.cluster.path().display()))]);
    }
    line(String::from_utf8_lossy(&output.stdout).trim_end());
    Ok(())
}
