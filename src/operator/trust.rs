//! Host keys: those that are known stand in a ConfigMap, and one that is not known stops everything before anything is changed, until somebody has
//! compared it.

use std::fs;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::ConfigMap;
use kok_crds::model::Cluster;
use kok_tasks::digest::sha256;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::group::ClusterKey;
use super::object::{MANAGER, Reference, fitted};
use crate::failure::{Failure, Kind};
use crate::remote::{Deadlines, Scan, Transport};
use crate::run::{in_order, targets};

/// The key of the ConfigMap, and the name of the file.
const KNOWN_HOSTS: &str = "known_hosts";
/// Unknown keys that a status names.
const MOST_NAMED: usize = 100;

/// The keys of hosts that are not known.
pub(super) struct Unknown {
    scans: Vec<(String, Scan)>,
}

impl Unknown {
    /// How many hosts.
    pub(super) fn count(&self) -> usize {
        self.scans.len()
    }

    /// What stands for exactly these keys.
    pub(super) fn digest(&self) -> String {
        let mut lines: Vec<&str> = self.scans.iter().flat_map(|(_, scan)| scan.keys.iter().map(|key| key.line.as_str())).collect();
        lines.sort_unstable();
        format!("sha256:{}", sha256(lines.join("\n").as_bytes()))
    }

    /// The hosts with what they offer, as part of a status.
    pub(super) fn hosts(&self) -> Vec<Value> {
        let offered = |scan: &Scan| scan.keys.iter().map(|key| key.print.to_string()).collect::<Vec<_>>().join(", ");
        let named = self.scans.iter().take(MOST_NAMED);
        named.map(|(name, scan)| json!({"name": name, "state": "Unknown", "offeredHostKey": fitted(&offered(scan), 512)})).collect()
    }

    /// Takes them for known in the file.
    ///
    /// # Errors
    /// Those of the system.
    pub(super) fn trust(&self) -> io::Result<()> {
        self.scans.iter().try_for_each(|(_, scan)| scan.add().map(drop))
    }
}

/// The keys that hosts of a cluster offer, and that are neither known nor pinned. Hosts that don't answer are no part of it: the run says that.
///
/// # Errors
/// [`Failure`]s of what the cluster says of its hosts.
pub(super) async fn unknown(cluster: &Cluster, transport: &Transport) -> Result<Unknown, Vec<Failure>> {
    let mut scans = Vec::new();
    for target in in_order(targets(cluster, |_| true, transport.surroundings())?) {
        // Behind a bastion that is not known nobody is asked: that comes after the bastion.
        let Ok(scan) = Scan::of(&target, &Deadlines::default(), transport).await else { continue };
        if scan.is_new() {
            scans.push((target.name.clone(), scan));
        }
    }
    Ok(Unknown { scans })
}

/// The host keys of one cluster: the ConfigMap, and a file of it for the connections.
pub(super) struct KnownHosts {
    api: Api<ConfigMap>,
    name: String,
    pub(super) path: PathBuf,
}

impl KnownHosts {
    /// Those of a Cluster, with the file in this folder.
    pub(super) fn of(client: Client, cluster: &DynamicObject, key: &ClusterKey, home: &str, folder: &Path) -> Result<Self, Failure> {
        let operator = cluster.data.pointer("/spec/operator").cloned().unwrap_or_default();
        let reference = Reference::of(&operator, "knownHostsRef");
        let reference = reference.unwrap_or_else(|| Reference { namespace: home.to_owned(), name: format!("{}-known-hosts", key.name) });
        if reference.namespace != home {
            let failure = Failure::new(Kind::Input, "`knownHostsRef` is in another namespace").at(format!("Cluster {}", key.name));
            return Err(failure.hint(format!("put the ConfigMap into the namespace {home}")));
        }
        let path = folder.join(&key.name).join(KNOWN_HOSTS);
        Ok(Self { api: Api::namespaced(client, home), name: reference.name, path })
    }

    /// Writes what the ConfigMap has into the file.
    ///
    /// # Errors
    /// Those of the API and of the system.
    pub(super) async fn fetch(&self) -> Result<(), String> {
        let found = self.api.get_opt(&self.name).await.map_err(|error| error.to_string())?;
        let text = found.and_then(|map| map.data?.remove(KNOWN_HOSTS)).unwrap_or_default();
        self.write(&text).map_err(|error| format!("{}: {error}", self.path.display()))
    }

    fn write(&self, text: &str) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder)?;
        let new = self.path.with_extension("new");
        let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        io::Write::write_all(&mut file, text.as_bytes())?;
        fs::rename(&new, &self.path)
    }

    /// Keeps what the file has in the ConfigMap.
    ///
    /// # Errors
    /// Those of the API and of the system.
    pub(super) async fn keep(&self) -> Result<(), String> {
        let text = fs::read_to_string(&self.path).map_err(|error| format!("{}: {error}", self.path.display()))?;
        let patch = Patch::Merge(json!({"data": {KNOWN_HOSTS: text}}));
        match self.api.patch(&self.name, &PatchParams::apply(MANAGER), &patch).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.is_not_found() => {
                let mut map = ConfigMap::default();
                map.metadata.name = Some(self.name.clone());
                map.metadata.labels = Some([("app.kubernetes.io/managed-by".to_owned(), MANAGER.to_owned())].into());
                map.data = Some([(KNOWN_HOSTS.to_owned(), text)].into());
                self.api.create(&PostParams::default(), &map).await.map(drop).map_err(|error| error.to_string())
            }
            Err(error) => Err(error.to_string()),
        }
    }
}
