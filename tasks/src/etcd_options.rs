//! What a member of etcd that is a unit is told besides who it is, in the form of etcd's file of configuration.

use kok_crds::model::{Cluster, EtcdOption};
use serde::Serialize;
use serde_json::{Map, Value as Json, json};

/// Settings by the map of the file that has them.
#[derive(Debug, Serialize)]
pub(crate) struct EtcdOptions {
    top: Map<String, Json>,
    of_clients: Map<String, Json>,
    of_peers: Map<String, Json>,
    of_sockets: Map<String, Json>,
}

impl EtcdOptions {
    pub(crate) fn new(cluster: &Cluster) -> Self {
        let mut options = Self { top: usual(), of_clients: Map::new(), of_peers: Map::new(), of_sockets: Map::new() };
        for (name, value) in &cluster.settings.components.etcd {
            // Those that only a command line has are refused where the user writes them.
            let Some(option) = EtcdOption::by_name(name) else { continue };
            let Some((map, name)) = option.place() else { continue };
            let to = match map {
                Some("client-transport-security") => &mut options.of_clients,
                Some("peer-transport-security") => &mut options.of_peers,
                Some(_) => &mut options.of_sockets,
                None => &mut options.top,
            };
            to.insert(name.to_owned(), option.in_file(value));
        }
        options
    }
}

/// What kubeadm tells a member that is a pod: an API server that serves lists out of its cache relies on being told how far etcd is.
fn usual() -> Map<String, Json> {
    let all = [
        ("listen-metrics-urls", json!("http://127.0.0.1:2381")),
        ("feature-gates", json!("InitialCorruptCheck=true")),
        ("watch-progress-notify-interval", json!(5_000_000_000_u64)),
    ];
    all.map(|(name, value)| (name.to_owned(), value)).into_iter().collect()
}
