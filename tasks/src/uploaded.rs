//! kubeadm's configuration, read back: as the cluster has it in `kubeadm-config`, and as kokctl wrote it on a host.
//!
//! Others write it, too: kubeadm uploads it anew at an upgrade, and people edit it. So it is parsed as a whole, and what can't be read is an
//! error, never a value that is not there. Fields that nobody asks for are kubeadm's.

use std::collections::BTreeMap;

use semver::Version;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use thiserror::Error;

/// The versions of kubeadm's API whose fields stand where these types have them. kubeadm 1.31 and later write the last one.
const API_VERSIONS: [&str; 2] = ["kubeadm.k8s.io/v1beta3", "kubeadm.k8s.io/v1beta4"];

/// A configuration that can't be read, and why.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Unreadable(String);

/// kubeadm's documents in one text, as far as kokctl asks for them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KubeadmDocuments {
    /// What holds for the whole cluster.
    pub cluster: Option<ClusterConfiguration>,
    /// What holds for the host that it was written for.
    pub init: Option<InitConfiguration>,
}

/// kubeadm's `ClusterConfiguration`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterConfiguration {
    /// The version of its API servers.
    #[serde(deserialize_with = "version")]
    pub kubernetes_version: Version,
    /// Where clients reach the API; none where it is the address of the only control plane.
    #[serde(default)]
    pub control_plane_endpoint: Option<String>,
    /// Ranges and names.
    #[serde(default)]
    pub networking: Networking,
    /// The controller manager's arguments.
    #[serde(default)]
    pub controller_manager: UploadedComponent,
    /// How etcd runs.
    #[serde(default)]
    pub etcd: Etcd,
}

/// Ranges of addresses and the domain.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Networking {
    /// Of pods; with dual stack two, with a comma.
    #[serde(default)]
    pub pod_subnet: Option<String>,
    /// Of Services; with dual stack two, with a comma.
    #[serde(default)]
    pub service_subnet: Option<String>,
    /// Below which Services have their names.
    #[serde(default)]
    pub dns_domain: Option<String>,
}

/// A program with arguments besides kubeadm's own.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UploadedComponent {
    /// Name without dashes, and value.
    #[serde(default)]
    pub extra_args: Arguments,
}

/// How etcd runs: kubeadm's `local` is a pod beside each API server, `external` one that it does not run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Etcd {
    /// A pod.
    #[serde(default)]
    pub local: Option<UploadedComponent>,
    /// Somewhere else.
    #[serde(default)]
    pub external: Option<BTreeMap<String, Value>>,
}

/// Arguments in the order in which they stand.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Arguments(Vec<(String, String)>);

/// kubeadm's `InitConfiguration`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InitConfiguration {
    /// Where the host's API server listens.
    #[serde(default, rename = "localAPIEndpoint")]
    pub local_api_endpoint: LocalApiEndpoint,
}

/// Where an API server listens.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LocalApiEndpoint {
    /// Its port; none where it is kubeadm's own choice.
    #[serde(default)]
    pub bind_port: Option<u16>,
}

impl Arguments {
    /// The value of an argument.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(is, _)| is == name).map(|(_, value)| value.as_str())
    }
}

/// A list of names and values, as kubeadm has it since `v1beta4`, or a map, as it had it before.
impl<'de> Deserialize<'de> for Arguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Argument {
            name: String,
            #[serde(default)]
            value: String,
        }
        let value = Value::deserialize(deserializer)?;
        if value.is_null() {
            return Ok(Self::default());
        }
        let arguments = if value.is_array() {
            let list: Vec<Argument> = serde_json::from_value(value).map_err(D::Error::custom)?;
            list.into_iter().map(|argument| (argument.name, argument.value)).collect()
        } else {
            let map: BTreeMap<String, String> = serde_json::from_value(value).map_err(D::Error::custom)?;
            map.into_iter().collect()
        };
        Ok(Self(arguments))
    }
}

fn version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Version, D::Error> {
    let text = String::deserialize(deserializer)?;
    let wrong = || D::Error::custom(format!("kubernetesVersion: {text:?} is no version such as v1.37.1"));
    text.strip_prefix('v').unwrap_or(&text).parse().map_err(|_| wrong())
}

/// Reads kubeadm's documents; those of other programs, which stand beside them, are passed over.
///
/// # Errors
/// [`Unreadable`] if the text is no YAML, a document does not say what it is, or a field has another shape than kubeadm gives it.
pub fn read(text: &str) -> Result<KubeadmDocuments, Unreadable> {
    let options = serde_saphyr::options! { emit_comments: false };
    let documents: Vec<Value> =
        serde_saphyr::from_multiple_with_options(text, options).map_err(|error| Unreadable(first_line(&error.to_string())))?;
    let mut read = KubeadmDocuments::default();
    for document in documents {
        let text_field = |key: &str| document.get(key).and_then(Value::as_str).map(str::to_owned);
        let missing = |key: &str| Unreadable(format!("a document has no `{key}`"));
        let (api_version, kind) =
            (text_field("apiVersion").ok_or_else(|| missing("apiVersion"))?, text_field("kind").ok_or_else(|| missing("kind"))?);
        if !api_version.starts_with("kubeadm.k8s.io/") {
            continue;
        }
        if !API_VERSIONS.contains(&api_version.as_str()) {
            return Err(Unreadable(format!("{kind} is of {api_version}; {} can be read", API_VERSIONS.join(" and "))));
        }
        match kind.as_str() {
            "ClusterConfiguration" => read.cluster = Some(typed(document, &kind)?),
            "InitConfiguration" => read.init = Some(typed(document, &kind)?),
            _ => {}
        }
    }
    Ok(read)
}

/// What the cluster has in `kubeadm-config`.
///
/// # Errors
/// [`Unreadable`] as for [`read`], and if there is no `ClusterConfiguration`.
pub fn read_cluster(text: &str) -> Result<ClusterConfiguration, Unreadable> {
    read(text)?.cluster.ok_or_else(|| Unreadable("it has no document of the kind ClusterConfiguration".to_owned()))
}

fn typed<T: DeserializeOwned>(document: Value, kind: &str) -> Result<T, Unreadable> {
    serde_json::from_value(document).map_err(|error| Unreadable(format!("{kind}: {error}")))
}

/// A parser may show the whole text.
pub(crate) fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::*;

    const UPLOADED: &str = "apiServer: {}\napiVersion: kubeadm.k8s.io/v1beta4\ncontrolPlaneEndpoint: a:6443\ncontrollerManager:\n  extraArgs:\n  \
        - name: node-cidr-mask-size\n    value: \"24\"\netcd:\n  local:\n    dataDir: /var/lib/etcd\n    extraArgs:\n    - name: \
        initial-cluster-state\n      value: existing\nkind: ClusterConfiguration\nkubernetesVersion: v1.36.3\nnetworking:\n  dnsDomain: \
        cluster.local\n  podSubnet: 10.244.0.0/16\n";

    #[test]
    fn what_kubeadm_uploads_is_read() {
        let is = read_cluster(UPLOADED).unwrap();
        assert_eq!((is.kubernetes_version, is.control_plane_endpoint.as_deref()), (Version::new(1, 36, 3), Some("a:6443")));
        assert_eq!(is.controller_manager.extra_args.get("node-cidr-mask-size"), Some("24"));
        assert_eq!((is.networking.pod_subnet.as_deref(), is.networking.service_subnet), (Some("10.244.0.0/16"), None));
        let local = is.etcd.local.unwrap();
        assert_eq!((local.extra_args.get("initial-cluster-state"), local.extra_args.get("initial-cluster")), (Some("existing"), None));
        let map = "apiVersion: kubeadm.k8s.io/v1beta3\nkind: ClusterConfiguration\nkubernetesVersion: 1.30.0\n\
                   controllerManager: {extraArgs: {node-cidr-mask-size: \"25\"}}\n";
        assert_eq!(read_cluster(map).unwrap().controller_manager.extra_args.get("node-cidr-mask-size"), Some("25"));
    }

    #[test]
    fn what_can_not_be_read_is_said() {
        let told = |from: &str, to: &str| {
            assert!(UPLOADED.contains(from), "{from}");
            read_cluster(&UPLOADED.replace(from, to)).unwrap_err().to_string()
        };
        assert_eq!(
            told("v1beta4", "v1beta9"),
            "ClusterConfiguration is of kubeadm.k8s.io/v1beta9; kubeadm.k8s.io/v1beta3 and kubeadm.k8s.io/v1beta4 can be read"
        );
        assert!(told("v1.36.3", "stable-1").contains("\"stable-1\" is no version"));
        assert!(told("kubernetesVersion: v1.36.3\n", "").contains("missing field `kubernetesVersion`"));
        assert_eq!(told("kind: ClusterConfiguration\n", ""), "a document has no `kind`");
        assert_eq!(told("kind: ClusterConfiguration", "kind: InitConfiguration"), "it has no document of the kind ClusterConfiguration");
        assert!(told("podSubnet: 10.244.0.0/16", "podSubnet: [1]").contains("expected a string"));
        assert!(!told("networking:\n", "networking: \"\n").is_empty());
    }
}
