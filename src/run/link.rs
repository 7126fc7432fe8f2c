//! The connections of a run: one per host for scripts, and one for bulk data where there is some.

use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use kok_crds::model::{Cluster, Host};
use tokio::sync::OnceCell;
use tokio::task::JoinSet;

use super::event::elapsed;
use crate::remote::{ConnectError, Connection, Deadlines, Target};
use crate::ui::Failure;

/// The connections to one host.
pub struct Link {
    target: Target,
    scripts: Connection,
    bulk: OnceCell<Connection>,
    /// How long connecting took.
    pub connect_milliseconds: u64,
}

impl Link {
    async fn open(target: Target) -> Result<Self, ConnectError> {
        let began = Instant::now();
        let scripts = Connection::open(&target, &Deadlines::default()).await?;
        Ok(Self { target, scripts, bulk: OnceCell::new(), connect_milliseconds: elapsed(began) })
    }

    /// The connection for scripts.
    #[must_use]
    pub fn scripts(&self) -> &Connection {
        &self.scripts
    }

    /// The connection for bulk data, opened when it is first asked for: data that queues on it must not hold up scripts.
    ///
    /// # Errors
    /// [`ConnectError`] if it can't be opened.
    pub async fn bulk(&self) -> Result<&Connection, ConnectError> {
        self.bulk.get_or_try_init(|| async { Connection::open(&self.target, &Deadlines::default()).await }).await
    }
}

/// The connections to all hosts of a cluster, by host name.
pub type Links = BTreeMap<String, Arc<Link>>;

/// Connects to every host at once.
///
/// # Errors
/// One [`Failure`] for each host that can't be reached or that must not be trusted.
pub async fn connect_all(cluster: &Cluster) -> Result<Links, Vec<Failure>> {
    let mut connecting = JoinSet::new();
    for host in &cluster.hosts {
        let target = target(host);
        connecting.spawn(async move { Link::open(target).await });
    }
    let (mut links, mut failures) = (Links::new(), Vec::new());
    while let Some(joined) = connecting.join_next().await {
        match joined {
            Ok(Ok(link)) => {
                links.insert(link.target.name.clone(), Arc::new(link));
            }
            Ok(Err(error)) => failures.push(Failure::from(error)),
            Err(error) => failures.push(Failure::new(crate::ui::Kind::Internal, error.to_string())),
        }
    }
    failures.sort_by(|one, other| one.at.cmp(&other.at));
    if failures.is_empty() { Ok(links) } else { Err(failures) }
}

fn target(host: &Host) -> Target {
    Target {
        name: host.name.clone(),
        address: host.address,
        port: host.port,
        user: host.ssh.user.clone(),
        private_key_file: host.ssh.private_key_file.as_deref().map(expand),
        known_hosts_file: host.ssh.known_hosts_file.as_deref().map(expand),
        host_key: host.ssh.host_key.clone(),
    }
}

/// A leading `~/` is the home directory of whoever runs kokctl.
fn expand(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), env::var_os("HOME")) {
        (Some(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => PathBuf::from(path),
    }
}
