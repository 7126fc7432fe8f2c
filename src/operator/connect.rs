//! Finding the meta-cluster, and what it has to have.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{ObjectMeta, PostParams};
use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::events::{Recorder, Reporter};
use kube::{Api, Client, Config};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use super::definitions;
use super::lasting;
use super::metrics::Metrics;
use super::object::MANAGER;
use super::page::ClusterBoard;
use super::shared::{LOOKS, OperatorSettings, Shared};
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
pub(super) async fn connect(settings: OperatorSettings, engine: Handle, metrics: Arc<Metrics>) -> Result<(Shared, i64), Failure> {
    let config = config(settings.kubeconfig.as_deref(), settings.context.clone()).await?;
    let client = ClientBuilder::try_from(config).map_err(|error| unknown(error.to_string()))?.with_layer(&metrics.requests).build();
    for group in &settings.groups {
        definitions::are_there(&client, *group).await?;
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
        looks: Arc::new(Semaphore::new(LOOKS)),
        limits: Arc::new(Limits::default()),
        fleeting: told_fleeting(settings.state.path()),
        client,
        settings,
        own,
        namespaces,
        identity,
        engine,
        metrics,
        board: ClusterBoard::default(),
        journals: Arc::new(Semaphore::new(1)),
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
fn namespaces(settings: &OperatorSettings, default: &str) -> (String, Vec<String>) {
    let own = settings.own_namespace.as_ref().or(settings.namespaces.first()).map_or(default, String::as_str).to_owned();
    let all = if settings.namespaces.is_empty() { vec![own.clone()] } else { settings.namespaces.clone() };
    (own, all)
}

/// A client of a meta-cluster: by a kubeconfig, or as a pod of it.
///
/// # Errors
/// [`Failure`] if it is not known.
pub(super) async fn client(kubeconfig: Option<&Path>, context: Option<String>) -> Result<Client, Failure> {
    let config = config(kubeconfig, context).await?;
    Client::try_from(config).map_err(|error| unknown(error.to_string()))
}

async fn config(kubeconfig: Option<&Path>, context: Option<String>) -> Result<Config, Failure> {
    let options = KubeConfigOptions { context, ..KubeConfigOptions::default() };
    let mut config = match kubeconfig {
        Some(path) => {
            let file = Kubeconfig::read_from(path).map_err(|error| unknown(format!("{}: {error}", path.display())))?;
            Config::from_custom_kubeconfig(file, &options).await.map_err(|error| unknown(error.to_string()))?
        }
        None if options.context.is_some() => Config::from_kubeconfig(&options).await.map_err(|error| unknown(error.to_string()))?,
        None => Config::infer().await.map_err(|error| unknown(error.to_string()))?,
    };
    config.connect_timeout = Some(CONNECT);
    Ok(config)
}

fn unknown(because: String) -> Failure {
    let failure = Failure::new(Kind::Input, "the meta-cluster is not known").because(because);
    failure.hint("give its kubeconfig with --kubeconfig; in a pod of it, a ServiceAccount is needed instead")
}

pub(super) fn refused(what: &str, error: &kube::Error) -> Failure {
    let failure = Failure::new(Kind::Input, what.to_owned()).because(error.to_string());
    failure.hint("`kubectl apply -f deploy/manifests/rbac.yaml` gives the operator its roles; and see that the meta-cluster answers")
}

/// When an operator first ran here, as it was written down then. Operations that are older are nobody's to begin. It is a time of the API server, as those
/// are at which objects are made; and one that is written down, since whoever brings the objects back from a backup makes them anew.
async fn first_start(client: &Client, namespace: &str) -> Result<i64, Failure> {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let failure = |error: kube::Error| refused(&format!("{namespace}/{REMEMBERED} can't be read or made"), &error);
    let found = match api.get_opt(REMEMBERED).await.map_err(failure)? {
        Some(found) => found,
        None => {
            let now = now(&api).await.map_err(failure)?;
            match api.create(&PostParams::default(), &remembered(now)).await {
                // Another replica was quicker.
                Err(kube::Error::Api(status)) if status.is_already_exists() => api.get(REMEMBERED).await.map_err(failure)?,
                made => made.map_err(failure)?,
            }
        }
    };
    let text = found.data.and_then(|mut data| data.remove(FIRST_START)).unwrap_or_default();
    let time: Result<jiff::Timestamp, _> = text.parse();
    time.map(jiff::Timestamp::as_second).map_err(|error| {
        let failure = Failure::new(Kind::Input, format!("{namespace}/{REMEMBERED} does not say when an operator first ran here"));
        let patch = format!("{{\"data\":{{\"{FIRST_START}\":\"2026-01-31T12:00:00Z\"}}}}");
        let command = format!("`kubectl patch configmap -n {namespace} {REMEMBERED} --type=merge -p '{patch}'`");
        failure.because(error.to_string()).hint(format!("{command}, with the time before which no operation is to be begun"))
    })
}

/// The time by the clock of the API server: that of an object which it would make now.
async fn now(api: &Api<ConfigMap>) -> kube::Result<String> {
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    let made = api.create(&dry, &remembered(String::new())).await?;
    Ok(made.metadata.creation_timestamp.map_or_else(Clock::rfc3339, |time| time.0.to_string()))
}

fn remembered(first_start: String) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta { name: Some(REMEMBERED.to_owned()), ..ObjectMeta::default() },
        data: Some([(FIRST_START.to_owned(), first_start)].into()),
        ..ConfigMap::default()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use serde_json::json;

    use super::super::fake::Fake;
    use super::*;

    const PATH: &str = "/api/v1/namespaces/own/configmaps/kokctl-operator";

    fn at(text: &str) -> i64 {
        text.parse::<jiff::Timestamp>().unwrap().as_second()
    }

    /// The clock of this machine counts for nothing: operations are made by that of the API server.
    #[tokio::test]
    async fn the_first_start_is_a_time_of_the_api_server() {
        let (server, client) = Fake::start().await;
        assert_eq!(first_start(&client, "own").await.unwrap(), at("2026-01-31T12:00:00Z"));
        assert_eq!(server.get(PATH).unwrap().pointer("/data/firstStart"), Some(&json!("2026-01-31T12:00:00Z")));
    }

    #[tokio::test]
    async fn what_was_written_down_counts_and_not_when_the_map_was_made() {
        let map = json!({"metadata": {"name": REMEMBERED, "creationTimestamp": "2026-05-05T05:05:05Z"}, "data": {FIRST_START: "2026-02-02T02:02:02Z"}});
        let (_, client) = Fake::with(&[(PATH, map)]).await;
        assert_eq!(first_start(&client, "own").await.unwrap(), at("2026-02-02T02:02:02Z"));
        let (_, client) = Fake::with(&[(PATH, json!({"metadata": {"name": REMEMBERED}}))]).await;
        let hint = first_start(&client, "own").await.unwrap_err().hint.unwrap_or_default();
        assert!(hint.starts_with("`kubectl patch configmap -n own kokctl-operator "), "{hint}");
    }
}
