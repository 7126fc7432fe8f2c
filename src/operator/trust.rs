//! Host keys: those that are known stand in a ConfigMap, and one that is not known stops everything before anything is changed, until somebody has
//! compared it.

use std::fs;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kok_crds::model::Cluster;
use kok_tasks::digest::sha256;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::group::ClusterKey;
use super::object::{MANAGER, Reference, fitted, shortened};
use super::outputs::owner;
use super::owned::goes_with;
use crate::failure::{Failure, Kind};
use crate::remote::{Deadlines, Scan, Transport};
use crate::run::{in_order, targets};

/// The key of the ConfigMap, and the name of the file.
const KNOWN_HOSTS: &str = "known_hosts";
/// Hosts that are asked for their keys at the same time.
const AT_ONCE: usize = 64;
/// For how long a host is waited for that is asked for its keys, of three types: one that is slower than that is no part of it, as one that is away.
const PATIENCE: Duration = Duration::from_secs(45);
/// Others that write the ConfigMap at the same moment are waited out so often.
const TRIES: usize = 5;
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
        let host = |(name, scan): &(String, Scan)| json!({"name": name, "state": "Unknown", "offeredHostKey": fitted(&offered(scan), 512)});
        shortened(&self.scans.iter().map(host).collect::<Vec<_>>(), MOST_NAMED)
    }

    /// Takes them for known in the file, but for those of hosts of which it knows something by now.
    fn trust(&self) -> io::Result<()> {
        self.scans.iter().try_for_each(|(_, scan)| scan.add().map(drop))
    }
}

/// The keys that hosts of a cluster offer, and that are neither known nor pinned. Hosts that don't answer are no part of it: the run says that.
///
/// # Errors
/// [`Failure`]s of what the cluster says of its hosts.
pub(super) async fn unknown(cluster: &Cluster, transport: &Transport) -> Result<Unknown, Vec<Failure>> {
    let targets = in_order(targets(cluster, |_| true, transport.surroundings())?);
    let scans = at_once(targets, PATIENCE, |target| async move {
        // Behind a bastion that is not known nobody is asked: that comes after the bastion.
        let scan = Scan::ask(&target, &Deadlines::default(), transport).await.ok()?;
        scan.is_new().then(|| (target.name.clone(), scan))
    });
    Ok(Unknown { scans: scans.await.into_iter().flatten().collect() })
}

/// Asks all of them, many at a time, and waits for none longer than this. The answers are in the order of what was asked.
async fn at_once<T, A, F>(all: Vec<T>, patience: Duration, ask: impl Fn(T) -> F) -> Vec<Option<A>>
where
    F: Future<Output = Option<A>>,
{
    let asked = all.into_iter().map(|one| {
        let asked = ask(one);
        async move { timeout(patience, asked).await.ok().flatten() }
    });
    // All are made before the first is awaited: none borrows what makes them.
    stream::iter(asked.collect::<Vec<_>>()).buffered(AT_ONCE).collect().await
}

/// The host keys of one cluster: the ConfigMap, and a file of it for the connections.
pub(super) struct ClusterKnownHosts {
    api: Api<ConfigMap>,
    name: String,
    /// With what the ConfigMap goes if the operator makes it: nothing where the Cluster names one, for several may name the same.
    owner: Option<OwnerReference>,
    pub(super) path: PathBuf,
}

/// A ConfigMap that is there.
struct Found {
    version: Option<String>,
    /// Whether it goes with the Cluster, or with one of the same name before it.
    is_owned: bool,
}

impl ClusterKnownHosts {
    /// Those of a Cluster, with the file in this folder.
    pub(super) fn from_cluster(
        client: Client,
        cluster: &DynamicObject,
        key: &ClusterKey,
        home: &str,
        folder: &Path,
    ) -> Result<Self, Failure> {
        let operator = cluster.data.pointer("/spec/operator").cloned().unwrap_or_default();
        let reference = Reference::from_field(&operator, "knownHostsRef").map(|reference| reference.or_in(home));
        let owner = reference.is_none().then(|| owner(cluster, false));
        let reference =
            reference.unwrap_or_else(|| Reference { namespace: home.to_owned(), name: key.group.object_name(&key.name, "known-hosts") });
        if reference.namespace != home {
            let failure = Failure::new(Kind::Input, "`knownHostsRef` is in another namespace").at(format!("Cluster {}", key.name));
            return Err(failure.hint(format!("put the ConfigMap into the namespace {home}")));
        }
        let path = folder.join(&key.name).join(KNOWN_HOSTS);
        Ok(Self { api: Api::namespaced(client, home), name: reference.name, owner, path })
    }

    /// Writes what the ConfigMap has into the file.
    ///
    /// # Errors
    /// Those of the API and of the system.
    pub(super) async fn fetch(&self) -> Result<(), String> {
        self.fetched().await.map(drop)
    }

    /// The same, and what there is; nothing if there is no ConfigMap. What went with a Cluster of the same name before this one is removed in a moment, and
    /// nobody has compared its keys for this one.
    async fn fetched(&self) -> Result<Option<Found>, String> {
        let found = self.api.get_opt(&self.name).await.map_err(|error| error.to_string())?;
        let owners = found.as_ref().and_then(|map| map.metadata.owner_references.as_deref()).unwrap_or_default();
        let is_owned = goes_with(owners, self.owner.as_slice());
        let is_of_now = owners.iter().any(|found| self.owner.as_ref().is_some_and(|owner| found.uid == owner.uid));
        let there = found.as_ref().map(|map| Found { version: map.metadata.resource_version.clone(), is_owned });
        let text = found.filter(|_| is_of_now || !is_owned).and_then(|map| map.data?.remove(KNOWN_HOSTS)).unwrap_or_default();
        self.write(&text).map_err(|error| format!("{}: {error}", self.path.display()))?;
        Ok(there)
    }

    fn write(&self, text: &str) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder)?;
        let new = self.path.with_extension("new");
        let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        io::Write::write_all(&mut file, text.as_bytes())?;
        fs::rename(&new, &self.path)
    }

    /// Takes these keys for known from now on, in the ConfigMap and in the file. What others write into the ConfigMap at the same moment stays there.
    ///
    /// # Errors
    /// Those of the API and of the system.
    pub(super) async fn trust(&self, unknown: &Unknown) -> Result<(), String> {
        self.change(|| unknown.trust()).await
    }

    /// Has something changed in the file, and then keeps what the file has; all of it again where somebody else was quicker.
    async fn change(&self, change: impl Fn() -> io::Result<()>) -> Result<(), String> {
        let in_file = |error: io::Error| format!("{}: {error}", self.path.display());
        let mut tried = 1;
        loop {
            let there = self.fetched().await?;
            change().map_err(in_file)?;
            let text = fs::read_to_string(&self.path).map_err(in_file)?;
            match self.keep(there, text).await {
                Ok(()) => return Ok(()),
                Err(kube::Error::Api(status)) if tried < TRIES && (status.code == 409 || status.is_not_found()) => tried += 1,
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    /// Keeps a text in the ConfigMap if that is still what was there, or if there is none and is to be none.
    async fn keep(&self, there: Option<Found>, text: String) -> kube::Result<()> {
        if let Some(Found { version, is_owned }) = there {
            let mut patch = json!({"metadata": {"resourceVersion": version}, "data": {KNOWN_HOSTS: text}});
            if let Some(metadata) = patch.get_mut("metadata").and_then(Value::as_object_mut).filter(|_| is_owned) {
                metadata.insert("ownerReferences".to_owned(), json!(self.owner.as_slice()));
            }
            return self.api.patch(&self.name, &PatchParams::apply(MANAGER), &Patch::Merge(patch)).await.map(drop);
        }
        let mut map = ConfigMap::default();
        map.metadata.name = Some(self.name.clone());
        map.metadata.labels = Some([("app.kubernetes.io/managed-by".to_owned(), MANAGER.to_owned())].into());
        map.metadata.owner_references = self.owner.clone().map(|owner| vec![owner]);
        map.data = Some([(KNOWN_HOSTS.to_owned(), text)].into());
        self.api.create(&PostParams::default(), &map).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

    use std::sync::Arc;

    use super::super::fake::Fake;
    use super::super::group::Group;
    use super::*;

    const PATH: &str = "/api/v1/namespaces/n/configmaps/berlin-known-hosts";

    fn kept(text: &str) -> Value {
        json!({"metadata": {"name": "berlin-known-hosts", "resourceVersion": text}, "data": {KNOWN_HOSTS: text, "other": "stays"}})
    }

    async fn with_ours(of: &(Arc<Fake>, Client)) -> Result<String, String> {
        with_ours_of(of, json!({})).await
    }

    async fn with_ours_of((server, client): &(Arc<Fake>, Client), operator: Value) -> Result<String, String> {
        let folder = tempfile::tempdir().unwrap();
        let cluster = json!({"apiVersion": "kubeonkube.clay.io/v1alpha1", "kind": "Cluster",
            "metadata": {"name": "berlin", "uid": "now"}, "spec": {"operator": operator}});
        let cluster: DynamicObject = serde_json::from_value(cluster).unwrap();
        let key = ClusterKey { group: Group::KubeOnKube, name: "berlin".to_owned() };
        let known = ClusterKnownHosts::from_cluster(client.clone(), &cluster, &key, "n", folder.path()).unwrap();
        known.change(|| io::Write::write_all(&mut fs::OpenOptions::new().append(true).open(&known.path)?, b"ours\n")).await?;
        let in_file = fs::read_to_string(&known.path).unwrap();
        let in_map = server.get(PATH).unwrap()["data"][KNOWN_HOSTS].as_str().unwrap().to_owned();
        assert_eq!(in_file, in_map);
        Ok(in_map)
    }

    #[tokio::test]
    async fn keys_that_another_one_writes_at_the_same_moment_stay() {
        for before in [vec![], vec![(PATH, kept("first\n"))]] {
            let server = Fake::with(&before).await;
            server.0.meanwhile(|objects| drop(objects.insert(PATH.to_owned(), kept("first\ntheirs\n"))));
            assert_eq!(with_ours(&server).await.unwrap(), "first\ntheirs\nours\n");
            assert_eq!(server.0.get(PATH).unwrap()["data"]["other"], "stays");
        }
    }

    #[tokio::test]
    async fn a_map_is_made_where_there_is_none_and_goes_with_its_cluster() {
        let server = Fake::start().await;
        assert_eq!(with_ours(&server).await.unwrap(), "ours\n");
        assert_eq!(server.0.get(PATH).unwrap()["metadata"]["ownerReferences"][0]["uid"], "now");
    }

    /// Another Cluster may name it too, and its owner has made it or wants it made.
    #[tokio::test]
    async fn a_map_that_the_cluster_names_goes_with_nothing() {
        let named = json!({"knownHostsRef": {"name": "berlin-known-hosts"}});
        for before in [vec![], vec![(PATH, kept("first\n"))]] {
            let server = Fake::with(&before).await;
            with_ours_of(&server, named.clone()).await.unwrap();
            assert_eq!(server.0.get(PATH).unwrap()["metadata"].get("ownerReferences").filter(|all| !all.is_null()), None);
        }
    }

    #[tokio::test]
    async fn keys_that_were_compared_for_the_cluster_before_are_not_known() {
        let owned = |uid: &str| {
            let owner = json!({"apiVersion": "kubeonkube.clay.io/v1alpha1", "kind": "Cluster", "name": "berlin", "uid": uid});
            json!({"metadata": {"name": "berlin-known-hosts", "resourceVersion": "1", "ownerReferences": [owner]}, "data": {KNOWN_HOSTS: "first\n"}})
        };
        for (uid, all) in [("before", "ours\n"), ("now", "first\nours\n")] {
            let server = Fake::with(&[(PATH, owned(uid))]).await;
            assert_eq!(with_ours(&server).await.unwrap(), all);
            assert_eq!(server.0.get(PATH).unwrap()["metadata"]["ownerReferences"][0]["uid"], "now");
        }
    }

    /// Two of them never answer.
    #[tokio::test(start_paused = true)]
    async fn all_hosts_are_asked_at_once_and_none_is_waited_for_too_long() {
        let began = tokio::time::Instant::now();
        let silent = |number: usize| async move {
            if number == 3 || number == 7 {
                return std::future::pending().await;
            }
            Some(number)
        };
        let answers = at_once((0..AT_ONCE).collect(), PATIENCE, silent).await;
        let took = began.elapsed();
        assert!(took >= PATIENCE && took < PATIENCE + Duration::from_secs(1), "{took:?}");
        assert_eq!((answers[2], answers[3], answers[7], answers[8], answers.len()), (Some(2), None, None, Some(8), AT_ONCE));
    }
}
