//! `kokctl kubeconfig`

mod merge;
mod own;
mod user;

use std::path::PathBuf;

use clap::Args;

use super::files::{ClusterFiles, ExtraVars};
use super::process;
use crate::clock::moment;
use crate::engine::{self, Administrator, Server, UserRequest};
use crate::failure::{Failure, Kind};
use crate::state::Controller;
use crate::ui::{line, status_line};

/// Print the administrator's kubeconfig of a running cluster, or one for a user, or merge it into your own
///
/// The server is the first control plane whose API answers this machine.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: ClusterFiles,
    #[command(flatten)]
    extra: ExtraVars,
    #[command(flatten)]
    user: user::UserArguments,
    /// Print nothing of it, but take it into your own kubeconfig: the first file of $KUBECONFIG, or ~/.kube/config. Its context gets the
    /// name of the cluster, or `USER@CLUSTER`, and becomes the current one; entries of other clusters stay as they are
    #[arg(long)]
    merge: bool,
    /// Another file to merge into
    #[arg(long, value_name = "FILE", requires = "merge")]
    into: Option<PathBuf>,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let cluster = arguments.cluster.read(&arguments.extra)?;
    let made_by = format!("kokctl apply -f {}", arguments.cluster.path().display());
    // Nobody is held back by who asks, and nothing is kept of it.
    let context = process::context(Controller::nobody());
    let wanted = arguments.user.wanted().map_err(|failure| vec![failure])?;
    let administrator = match &wanted {
        None => engine::kubeconfig(&context, &cluster, &made_by).await?,
        Some(user::WantedUser { user, group, validity }) => {
            let request = UserRequest { user, group: *group, validity: *validity };
            let (kubeconfig, end) = engine::user_kubeconfig(&context, &cluster, &made_by, &request).await?;
            status_line(&format!("{user} may log in until {}", moment(end, "%Y-%m-%d %H:%M:%S UTC")));
            kubeconfig
        }
    };
    let server = match administrator.answering.clone() {
        Some(server) => server,
        None => unanswered(&administrator)?,
    };
    let Administrator { kubeconfig, servers, .. } = administrator;
    if arguments.merge {
        let context = wanted.as_ref().map(|wanted| format!("{}@{}", wanted.user, cluster.name));
        let names = merge::Names { context: context.as_deref().unwrap_or(&cluster.name), user: context.as_deref() };
        let message = merge::merge(arguments.into.as_deref(), &names, &kubeconfig, &server, &servers)?;
        message.iter().for_each(|text| line(text));
    } else {
        line(server.pointed_at(kubeconfig.expose()).trim_end());
    }
    Ok(())
}

/// The address of the host that was asked, with a warning: the kubeconfig may be for another machine.
fn unanswered(Administrator { servers, host, .. }: &Administrator) -> Result<Server, Vec<Failure>> {
    let server = servers.iter().find(|server| server.host == *host).cloned();
    let server = server.ok_or_else(|| vec![Failure::new(Kind::Internal, format!("{host} has no address"))])?;
    let tried: Vec<String> = servers.iter().map(Server::url).collect();
    let warning =
        Failure::new(Kind::Host, format!("no API server of the cluster answers this machine; the kubeconfig has {}", server.url()))
            .because(format!("none of these can be connected to from here: {}", tried.join(", ")))
            .hint("the API may be reachable only from the hosts' network: use the kubeconfig there, or open the way to that port");
    status_line(&warning.as_warning());
    Ok(server)
}
