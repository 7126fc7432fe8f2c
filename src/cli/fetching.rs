//! How upstream is reached, for verbs that fetch: mirrors, CAs, the catalog, the credentials of docker and podman.

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use kok_crds::model::Cluster;
use kok_tasks::catalog::{Catalog, Item, Needs, Request};
use kok_tasks::mirrors::{Mirror, Mirrors};
use kok_tasks::upgrade::Running;
use semver::Version;

use super::process;
use crate::artifacts::BundleFolder;
use crate::artifacts::fetch::{Credentials, FetchRequest, Fetched, Progress, Proxy, UpstreamConnection, fetch, part_of};
use crate::artifacts::push::{PushRequest, Pushed, push};
use crate::engine;
use crate::failure::{Failure, Kind};
use crate::plain_file;
use crate::remote::Transport;
use crate::state::Controller;
use crate::ui::{FetchBar, status_line};

/// A catalog has some kilobytes, and a bundle of CAs some hundred.
const MOST_BYTES: u64 = 4 << 20;

/// How upstream is reached.
#[derive(Debug, Default, Args)]
pub(super) struct FetchArguments {
    /// A catalog of versions, addresses and digests instead of the one that kokctl brings
    #[arg(long, value_name = "FILE")]
    catalog: Option<PathBuf>,
    /// A server instead of one of upstream's: dl.k8s.io=https://mirror.example/dl, or registry.k8s.io=https://registry.example/k8s; may be given
    /// several times
    #[arg(long = "mirror", value_name = "UPSTREAM=ADDRESS")]
    mirrors: Vec<Mirror>,
    /// Certificates of CAs in PEM that are trusted besides the system's; may be given several times
    #[arg(long = "ca", value_name = "FILE")]
    authorities: Vec<PathBuf>,
}

impl FetchArguments {
    /// The catalog.
    pub(super) fn catalog(&self) -> Result<Catalog, Failure> {
        let Some(path) = &self.catalog else {
            return Catalog::built_in().cloned().map_err(|error| Failure::new(Kind::Internal, error.to_string()));
        };
        Catalog::parse(&text(path)?).map_err(|error| {
            Failure::new(Kind::Input, "the catalog can't be used")
                .at(path.display().to_string())
                .because(error.to_string())
                .hint("`kokctl versions --json` prints the one that kokctl brings; write yours in its form")
        })
    }

    /// By what upstream is reached. The proxy is the cluster's, if its file names one, else that of the environment.
    pub(super) fn connection(&self, cluster: Option<&Cluster>) -> Result<UpstreamConnection, Failure> {
        let proxy = cluster.map(|cluster| &cluster.settings.host).filter(|proxy| proxy.has_proxy()).map(|proxy| Proxy {
            http: proxy.http_proxy.clone(),
            https: proxy.https_proxy.clone(),
            none: env::var("no_proxy").or_else(|_| env::var("NO_PROXY")).ok(),
        });
        Ok(UpstreamConnection { mirrors: self.mirrors(cluster)?, proxy, ..connection(&self.authorities)? })
    }

    /// Takes the mirrors over into the cluster, for hosts that fetch for themselves. The first one for a server counts.
    pub(super) fn tell_hosts(&self, cluster: &mut Cluster) {
        for mirror in self.mirrors.iter().rev() {
            cluster.settings.upstream_mirrors.insert(mirror.host.clone(), mirror.url());
        }
    }

    /// Those of the command line, then those of the cluster's files.
    fn mirrors(&self, cluster: Option<&Cluster>) -> Result<Mirrors, Failure> {
        let of_files = cluster.into_iter().flat_map(|cluster| &cluster.settings.upstream_mirrors);
        let of_files = of_files.map(|(server, address)| format!("{server}={address}").parse());
        let all: Result<Vec<Mirror>, String> = self.mirrors.iter().cloned().map(Ok).chain(of_files).collect();
        all.map(Mirrors).map_err(|because| Failure::new(Kind::Input, "a mirror of the cluster's files can't be used").because(because))
    }
}

/// By what registries are reached that are no mirrors: with the environment's proxy, and these CAs besides the system's.
pub(super) fn connection(authorities: &[PathBuf]) -> Result<UpstreamConnection, Failure> {
    let authorities = authorities.iter().map(|path| Ok((path.display().to_string(), text(path)?))).collect::<Result<_, Failure>>()?;
    Ok(UpstreamConnection { credentials: credentials()?, authorities, ..UpstreamConnection::default() })
}

/// The text of a small file that the user names.
pub(super) fn text(path: &Path) -> Result<String, Failure> {
    let bytes = plain_file::read(path, MOST_BYTES);
    bytes.and_then(|bytes| String::from_utf8(bytes).map_err(|_| "it is not text".to_owned())).map_err(|because| {
        Failure::new(Kind::Input, "a file can't be read").at(path.display().to_string()).because(because).hint("correct its name")
    })
}

/// Where podman (containers-auth.json(5)) and docker keep credentials; what is found first counts.
fn credentials() -> Result<Credentials, Failure> {
    let variable = |name: &str| env::var_os(name).map(PathBuf::from);
    let home = process::home();
    let places = [
        variable("REGISTRY_AUTH_FILE"),
        variable("DOCKER_CONFIG").map(|folder| folder.join("config.json")),
        variable("XDG_RUNTIME_DIR").map(|folder| folder.join("containers/auth.json")),
        home.as_ref().map(|home| home.join(".config/containers/auth.json")),
        home.as_ref().map(|home| home.join(".docker/config.json")),
    ];
    let mut credentials = Credentials::default();
    for path in places.into_iter().flatten().filter(|path| path.is_file()) {
        credentials.add(&text(&path)?).map_err(|because| {
            Failure::new(Kind::Input, "the credentials of registries can't be read").at(path.display().to_string()).because(because)
        })?;
    }
    Ok(credentials)
}

/// What is to be fetched, out of a catalog.
pub(super) fn items(catalog: &Catalog, request: &Request) -> Result<Vec<Item>, Failure> {
    catalog.items(request).map_err(|error| {
        Failure::new(Kind::Input, "the catalog does not have what is asked for").because(error.to_string()).hint(
            "`kokctl versions` shows what it has; --catalog FILE takes another one; --bundle FOLDER takes a bundle that was made elsewhere",
        )
    })
}

/// Fetches with a bar on a terminal, else with a line for each.
pub(super) async fn fetch_shown(request: &FetchRequest<'_>) -> Result<Fetched, Vec<Failure>> {
    let bar = Arc::new(FetchBar::new());
    let progress: Arc<dyn Progress> = Arc::clone(&bar) as Arc<dyn Progress>;
    let fetched = fetch(request, progress).await;
    bar.end();
    fetched
}

/// Pushes with a bar on a terminal, else with a line for each.
pub(super) async fn push_shown(request: PushRequest<'_>) -> Result<Pushed, Vec<Failure>> {
    let bar = Arc::new(FetchBar::pushing());
    let progress: Arc<dyn Progress> = Arc::clone(&bar) as Arc<dyn Progress>;
    let pushed = push(request, progress).await;
    bar.end();
    pushed
}

/// Where bundles of verbs without one are kept.
pub(super) fn cache() -> Result<PathBuf, Failure> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| process::home().map(|home| home.join(".cache")));
    cache.map(|cache| cache.join("kokctl/bundle")).ok_or_else(|| {
        Failure::new(Kind::Input, "it is not known where to keep what is fetched")
            .because("neither XDG_CACHE_HOME nor HOME is set")
            .hint("set one of them, or give a bundle with --bundle")
    })
}

fn request_of(cluster: &Cluster, architectures: BTreeSet<String>) -> Request {
    Request { kubernetes: vec![cluster.kubernetes_version.clone()], architectures, needs: Some(Needs::of_cluster(cluster)) }
}

/// Fetches into the user's cache what a cluster needs and is not there yet. The hosts are asked for their architectures.
pub(super) async fn bundle_of(cluster: &Cluster, arguments: &FetchArguments, transport: &Transport) -> Result<BundleFolder, Vec<Failure>> {
    bundle_of_releases(cluster, vec![cluster.kubernetes_version.clone()], arguments, transport).await
}

/// The same of what the way of a cluster to a version needs: what runs, the newest patch of each minor version between, and the version itself.
pub(super) async fn bundle_of_way(
    cluster: &Cluster,
    (running, to): (&Running, &Version),
    arguments: &FetchArguments,
    transport: &Transport,
) -> Result<BundleFolder, Vec<Failure>> {
    let catalog = arguments.catalog().map_err(|failure| vec![failure])?;
    let run = running.planes.values().chain(running.kubelets.values()).chain(&running.shared);
    let mut releases: BTreeSet<Version> = run.chain([to]).cloned().collect();
    let oldest = running.planes.values().min().map_or(to.minor, |oldest| oldest.minor);
    let newest = |minor: u64| catalog.minor(&Version::new(to.major, minor, 0)).ok()?.releases.first()?.parse::<Version>().ok();
    releases.extend((oldest.saturating_add(1)..to.minor).filter_map(newest));
    bundle_of_releases(cluster, releases.into_iter().collect(), arguments, transport).await
}

async fn bundle_of_releases(
    cluster: &Cluster,
    kubernetes: Vec<Version>,
    arguments: &FetchArguments,
    transport: &Transport,
) -> Result<BundleFolder, Vec<Failure>> {
    let one = |failure: Failure| vec![failure];
    let (folder, catalog) = (cache().map_err(one)?, arguments.catalog().map_err(one)?);
    let request_for = |architectures| Request { kubernetes: kubernetes.clone(), ..request_of(cluster, architectures) };
    // What the catalog lacks is said before anybody is bothered.
    items(&catalog, &request_for(["amd64".to_owned()].into())).map_err(one)?;
    let context = process::context_by(process::controller().unwrap_or_else(|_| Controller::nobody()), transport.clone());
    let architectures = engine::architectures(&context, cluster).await?;
    let items = items(&catalog, &request_for(architectures)).map_err(one)?;
    let releases: Vec<String> = kubernetes.iter().map(ToString::to_string).collect();
    let connection = arguments.connection(Some(cluster)).map_err(one)?;
    let (licences, folder_of) = (catalog.licences(), &folder);
    let request = FetchRequest { items: items.clone(), releases: releases.clone(), folder: folder_of, connection: &connection, licences };
    let fetched = fetch_shown(&request).await?;
    if fetched.items > 0 {
        status_line(&format!("fetched into {}", folder.display()));
    }
    let part = part_of(&fetched.bundle, &items, &releases);
    BundleFolder::open(&folder).map(|bundle| bundle.with_index(part).with_sums(process::sums())).map_err(one)
}

/// What is in the user's cache for a cluster, if it is all there; nothing is fetched.
pub(super) fn cached_bundle_of(cluster: &Cluster, arguments: &FetchArguments) -> Option<BundleFolder> {
    let bundle = BundleFolder::open(&cache().ok()?).ok()?;
    let architectures = bundle.bundle().files.iter().filter(|file| file.name == "kubelet").map(|file| file.architecture.clone()).collect();
    let items = items(&arguments.catalog().ok()?, &request_of(cluster, architectures)).ok()?;
    let part = part_of(bundle.bundle(), &items, &[cluster.kubernetes_version.to_string()]);
    let is_there = part.release(&cluster.kubernetes_version.to_string()).is_ok();
    is_there.then(|| bundle.with_index(part))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn mirrors_of_the_command_line_go_before_those_of_the_files() {
        let text = "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {name: a}\nspec:\n  kubernetesVersion: 1.37.1\n  \
                    hosts: [{name: cp1, address: 10.0.0.11, roles: [control-plane]}]\n  vars: {dl_k8s_io_url: \"http://files.lan/dl/\", \
                    github_url: \"https://github.com\", kube_image_repo: \"registry.lan:5000/k8s\"}\n";
        let cluster = kok_crds::read_cluster("f", text).unwrap();
        let mirror = |text: &str| text.parse::<Mirror>().unwrap();
        let given = FetchArguments { mirrors: vec![mirror("dl.k8s.io=https://own.example")], ..FetchArguments::default() };
        let all = given.mirrors(Some(&cluster)).unwrap();
        let of_files = ["dl.k8s.io=http://files.lan/dl", "registry.k8s.io=https://registry.lan:5000/k8s"];
        let expected: Vec<Mirror> = ["dl.k8s.io=https://own.example"].iter().chain(&of_files).map(|text| mirror(text)).collect();
        assert_eq!(all, Mirrors(expected), "and upstream itself is no mirror of its own");
        assert_eq!(given.mirrors(None).unwrap().0.len(), 1);
    }
}
