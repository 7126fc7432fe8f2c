//! Finding the meta-cluster, and what it has to have.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ObjectMeta, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::events::{Recorder, Reporter};
use kube::{Api, Client, Config};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use super::group::Group;
use super::lasting;
use super::metrics::Metrics;
use super::object::MANAGER;
use super::shared::{Settings, Shared};
use crate::clock::Clock;
use crate::failure::{Failure, Kind};
use crate::randomness::random_bytes;
use crate::remote::Limits;

/// The ConfigMap in the operator's own namespace that remembers when an operator first ran here.
const REMEMBERED: &str = "kokctl-operator";
/// Its key.
const FIRST_START: &str = "firstStart";
/// To connect must not take longer.
const CONNECT: Duration = Duration::from_secs(10);

/// Connects to the meta-cluster, and says when an operator first ran there, in seconds since 1970.
///
/// # Errors
/// [`Failure`] if it can't be reached, or lacks something.
pub(super) async fn connect(settings: Settings, engine: Handle, metrics: Arc<Metrics>) -> Result<(Shared, i64), Failure> {
    let client = client(&settings).await?;
    for group in &settings.groups {
        is_defined(&client, *group).await?;
    }
    let (own, namespaces) = namespaces(&settings, client.default_namespace());
    let first_start = first_start(&client, &own).await?;
    let system: Api<Namespace> = Api::all(client.clone());
    let meta = system.get("kube-system").await.map_err(|error| refused("kube-system can't be read", &error))?;
    let identity = format!("{}_{}", settings.identity, hex::encode(random_bytes::<4>()?));
    let reporter = Reporter { controller: MANAGER.to_owned(), instance: Some(settings.identity.clone()) };
    let shared = Shared {
        recorder: Recorder::new(client.clone(), reporter),
        meta: meta.metadata.uid.unwrap_or_default(),
        permits: Arc::new(Semaphore::new(settings.runs)),
        limits: Arc::new(Limits::default()),
        fleeting: told_fleeting(settings.state.path()),
        client,
        settings,
        namespaces,
        identity,
        own,
        engine,
        metrics,
    };
    Ok((shared, first_start))
}

/// Says in the log why the state folder may be lost, if something tells so.
fn told_fleeting(folder: &Path) -> Option<&'static str> {
    let why = lasting::fleeting(folder)?;
    tracing::warn!(
        folder = %folder.display(),
        "the state folder {why}: journals, and the snapshots of etcd that `reset.yml` takes, are lost with it; name a volume by --state"
    );
    Some(why)
}

/// The operator's own namespace, and all of which objects are read. `default` is that of the pod, or of the kubeconfig.
fn namespaces(settings: &Settings, default: &str) -> (String, Vec<String>) {
    let own = settings.own_namespace.as_ref().or(settings.namespaces.first()).map_or(default, String::as_str).to_owned();
    let all = if settings.namespaces.is_empty() { vec![own.clone()] } else { settings.namespaces.clone() };
    (own, all)
}

async fn client(settings: &Settings) -> Result<Client, Failure> {
    let wrong = |because: String| {
        let failure = Failure::new(Kind::Input, "the meta-cluster is not known").because(because);
        failure.hint("give its kubeconfig with --kubeconfig; in a pod of it, a ServiceAccount is needed instead")
    };
    let options = KubeConfigOptions { context: settings.context.clone(), ..KubeConfigOptions::default() };
    let mut config = match &settings.kubeconfig {
        Some(path) => {
            let file = Kubeconfig::read_from(path).map_err(|error| wrong(format!("{}: {error}", path.display())))?;
            Config::from_custom_kubeconfig(file, &options).await.map_err(|error| wrong(error.to_string()))?
        }
        None if settings.context.is_some() => Config::from_kubeconfig(&options).await.map_err(|error| wrong(error.to_string()))?,
        None => Config::infer().await.map_err(|error| wrong(error.to_string()))?,
    };
    config.connect_timeout = Some(CONNECT);
    Client::try_from(config).map_err(|error| wrong(error.to_string()))
}

fn refused(what: &str, error: &kube::Error) -> Failure {
    let failure = Failure::new(Kind::Input, what.to_owned()).because(error.to_string());
    failure.hint("see that the meta-cluster answers, and give the operator the roles of deploy/manifests")
}

/// Whether a group's definitions are those of this version.
async fn is_defined(client: &Client, group: Group) -> Result<(), Failure> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let folder = if group == Group::Kubean { "kubean/" } else { "" };
    for plural in ["clusters", "clusteroperations"] {
        let name = format!("{plural}.{}", group.name());
        let file = format!("deploy/crds/{folder}{name}.yaml");
        let found = api.get_opt(&name).await.map_err(|error| refused("the definitions of the meta-cluster can't be read", &error))?;
        let knows = |definition: &CustomResourceDefinition| {
            let schemas = definition.spec.versions.iter().filter_map(|version| version.schema.as_ref()?.open_api_v3_schema.as_ref());
            let mut specs = schemas.filter_map(|schema| schema.properties.as_ref()?.get("spec")?.properties.as_ref());
            specs.any(|fields| fields.contains_key("operator"))
        };
        if !found.as_ref().is_some_and(knows) {
            let what = if found.is_some() { "is of another version" } else { "is not there" };
            let failure = Failure::new(Kind::Input, format!("the definition {name} {what}"));
            return Err(failure.hint(format!("kubectl apply --server-side -f {file}")));
        }
    }
    Ok(())
}

/// When an operator first ran here. Operations that are older are nobody's to begin.
async fn first_start(client: &Client, namespace: &str) -> Result<i64, Failure> {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let failure = |error: kube::Error| refused(&format!("{namespace}/{REMEMBERED} can't be read or made"), &error);
    let now = Clock::rfc3339();
    let map = ConfigMap {
        metadata: ObjectMeta { name: Some(REMEMBERED.to_owned()), ..ObjectMeta::default() },
        data: Some([(FIRST_START.to_owned(), now)].into()),
        ..ConfigMap::default()
    };
    let found = match api.get_opt(REMEMBERED).await.map_err(failure)? {
        Some(found) => found,
        None => match api.create(&PostParams::default(), &map).await {
            // Another replica was quicker.
            Err(kube::Error::Api(status)) if status.is_already_exists() => api.get(REMEMBERED).await.map_err(failure)?,
            made => made.map_err(failure)?,
        },
    };
    let text = found.data.and_then(|mut data| data.remove(FIRST_START)).unwrap_or_default();
    let time: Result<jiff::Timestamp, _> = text.parse();
    time.map(jiff::Timestamp::as_second).map_err(|error| {
        let failure = Failure::new(Kind::Input, format!("{namespace}/{REMEMBERED} does not say when an operator first ran here"));
        failure.because(error.to_string()).hint(format!("write a time such as 2026-01-31T12:00:00Z as `{FIRST_START}`"))
    })
}
