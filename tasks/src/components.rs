//! What the components of Kubernetes are told, in the form in which kubeadm takes it.

use std::collections::BTreeMap;

use kok_crds::model::{Cluster, Component, Host, KubeletSettings, Reserved, SwitchedSettings, Values, Volume};
use serde::Serialize;
use serde_json::{Map, Value as Json, json};

use crate::api_files;
use crate::digest::sha256;
use crate::patches;
use crate::templates::TemplateError;
use crate::upgrade::EMULATED_VERSION;

/// An option of a program, or a variable of its environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Argument {
    name: String,
    value: String,
}

/// A static pod besides what kubeadm gives it.
#[derive(Debug, Default, Serialize)]
pub(crate) struct PodDocument {
    arguments: Vec<Argument>,
    volumes: Vec<Json>,
    environment: Vec<Argument>,
}

/// Everything that components are told.
#[derive(Debug, Serialize)]
pub(crate) struct ComponentsDocument {
    api_server: PodDocument,
    controller_manager: PodDocument,
    scheduler: PodDocument,
    etcd: Vec<Argument>,
    kubelet: Map<String, Json>,
    kubelet_arguments: Vec<Argument>,
    kube_proxy: Map<String, Json>,
    kubeadm_feature_gates: BTreeMap<String, bool>,
    patches: Option<String>,
}

impl ComponentsDocument {
    /// Makes pods anew whose kubeconfigs are others than before, known by their sums.
    pub(crate) fn read_kubeconfigs(&mut self, controller_manager: String, scheduler: String) {
        for (pod, value) in [(&mut self.controller_manager, controller_manager), (&mut self.scheduler, scheduler)] {
            pod.environment.push(Argument { name: KUBECONFIG_SUM.to_owned(), value });
        }
    }

    /// Has them work as an older minor version than their own.
    pub(crate) fn emulate(&mut self, minor: &str) {
        for pod in [&mut self.api_server, &mut self.controller_manager, &mut self.scheduler] {
            pod.arguments.push(Argument { name: EMULATED_VERSION.to_owned(), value: minor.to_owned() });
        }
    }

    /// # Errors
    /// [`TemplateError`] for a defect of the template of a file that the API server reads.
    pub(crate) fn new(cluster: &Cluster, host: &Host) -> Result<Self, TemplateError> {
        let components = &cluster.settings.components;
        let gates = &components.feature_gates;
        let controller_manager = with_gates(&components.controller_manager.options, gates.own_or_all(&gates.controller_manager));
        Ok(Self {
            api_server: api_server(cluster)?,
            controller_manager: pod(&controller_manager, &components.controller_manager),
            scheduler: scheduler(cluster),
            etcd: arguments(&components.etcd),
            kubelet: kubelet(cluster, &components.kubelet),
            kubelet_arguments: arguments(&components.kubelet_of(host).options),
            kube_proxy: kube_proxy(cluster),
            kubeadm_feature_gates: gates.kubeadm.clone(),
            patches: patches::folder(cluster, host),
        })
    }
}

/// The API server reads its files when it starts and its manifest does not say what stands in them; their sum makes it another one.
const FILES_SUM: &str = "KOKCTL_FILES_SHA256";

/// Controller manager and scheduler read their kubeconfigs when they start, too.
const KUBECONFIG_SUM: &str = "KOKCTL_KUBECONFIG_SHA256";

/// How an API server ends, where nobody says it otherwise: it serves on until load balancers, which ask each 2 s, have seen that it ends, also on a busy host; who still asks
/// is told to ask again; and watches, which have no end of their own, are ended, for which it would wait until its kubelet kills it after 30 s
/// (kube-apiserver's options of these names).
const ENDS: [(&str, &str); 3] =
    [("shutdown-delay-duration", "5s"), ("shutdown-send-retry-after", "true"), ("shutdown-watch-termination-grace-period", "10s")];

fn api_server(cluster: &Cluster) -> Result<PodDocument, TemplateError> {
    let (components, security) = (&cluster.settings.components, &cluster.settings.security);
    let gates = &components.feature_gates;
    let mut options = with_gates(&components.api_server.options, gates.own_or_all(&gates.api_server));
    for (name, value) in ENDS {
        options.entry(name.to_owned()).or_insert_with(|| value.into());
    }
    let files = api_files::files(cluster)?;
    for file in &files {
        if let Some(option) = file.option {
            options.insert(option.to_owned(), file.path().into());
        }
    }
    for group in [&security.oidc, &security.audit, &security.audit_webhook].into_iter().filter(|group| group.enabled) {
        let is_option = |name: &&String| ["audit-", "oidc-"].iter().any(|beginning| name.starts_with(beginning));
        let settings =
            group.values.iter().filter(|(name, _)| is_option(name) && (*name != "oidc-ca-file" || !group.values.contains_key("authority")));
        options.extend(settings.map(|(name, value)| (name.clone(), value.clone())));
    }
    let mut pod = pod(&audit_options(options, &security.audit), &components.api_server);
    if !files.is_empty() || security.encryption.enabled {
        pod.volumes.push(volume("kokctl", api_files::FOLDER, api_files::FOLDER, true, "DirectoryOrCreate"));
        let mut all: String = files.iter().map(|file| format!("{}\n{}\n", file.path(), file.text)).collect();
        all.push_str(&api_files::encryption_summary(cluster));
        pod.environment.push(Argument { name: FILES_SUM.to_owned(), value: sha256(all.as_bytes()) });
    }
    pod.volumes.extend(audit_volume(&security.audit));
    pod.volumes.extend(authority_volume(&security.oidc));
    if let Some(plugin) = security.encryption.plugin() {
        // The plugin makes its socket anew when it is started, in a folder that stays; and on a host that has just started the folder may come after the kubelet.
        pod.volumes.push(volume(KMS_VOLUME, plugin.folder(), plugin.folder(), false, "DirectoryOrCreate"));
    }
    if security.encryption.enabled {
        pod.arguments.push(Argument { name: "encryption-provider-config".to_owned(), value: api_files::ENCRYPTION.to_owned() });
        // A key is replaced without starting API servers anew.
        pod.arguments.push(Argument { name: "encryption-provider-config-automatic-reload".to_owned(), value: "true".to_owned() });
    }
    Ok(pod)
}

/// The volume with the socket of a KMS plugin. A probe finds it by this name.
const KMS_VOLUME: &str = "kokctl-kms";

/// Kubespray's, which are stricter than those of Kubernetes: that one would keep logs until the disk is full.
fn audit_options(mut options: Values, audit: &SwitchedSettings) -> Values {
    if audit.enabled {
        let defaults = [("path", json!(AUDIT_LOG)), ("maxage", json!(30)), ("maxbackup", json!(10)), ("maxsize", json!(100))];
        for (name, value) in defaults {
            options.entry(format!("audit-log-{name}")).or_insert(value);
        }
    }
    options
}

const AUDIT_LOG: &str = "/var/log/audit/kube-apiserver-audit.log";

/// The folder of the host that has the audit log, where nobody names another.
pub(crate) const AUDIT_FOLDER: &str = "/var/log/kubernetes/audit";

fn audit_volume(audit: &SwitchedSettings) -> Option<Json> {
    let path = audit.text("audit-log-path").unwrap_or(AUDIT_LOG);
    let (folder, _) = path.rsplit_once('/').filter(|_| audit.enabled)?;
    Some(volume("kokctl-audit-log", audit.text("hostpath").unwrap_or(AUDIT_FOLDER), folder, false, "DirectoryOrCreate"))
}

/// Folders that kubeadm shows the API server anyway, if the host has them.
const SHOWN: [&str; 2] = ["/etc/kubernetes/pki/", "/etc/ssl/certs/"];

fn authority_volume(oidc: &SwitchedSettings) -> Option<Json> {
    let path = oidc.text("oidc-ca-file").filter(|_| oidc.enabled && !oidc.values.contains_key("authority"))?;
    let is_shown = SHOWN.iter().any(|folder| path.starts_with(folder));
    (!is_shown).then(|| volume("kokctl-oidc", path, path, true, "File"))
}

fn scheduler(cluster: &Cluster) -> PodDocument {
    let components = &cluster.settings.components;
    let gates = &components.feature_gates;
    let mut pod = pod(&with_gates(&components.scheduler.options, gates.own_or_all(&gates.scheduler)), &components.scheduler);
    if let Some(text) = api_files::scheduler_configuration(cluster) {
        pod.arguments.push(Argument { name: "config".to_owned(), value: api_files::SCHEDULER.to_owned() });
        pod.volumes.push(volume("kokctl", api_files::SCHEDULER_FOLDER, api_files::SCHEDULER_FOLDER, true, "DirectoryOrCreate"));
        pod.environment.push(Argument { name: FILES_SUM.to_owned(), value: sha256(text.as_bytes()) });
    }
    pod
}

fn pod(options: &Values, component: &Component) -> PodDocument {
    let volumes = component.volumes.iter().map(of_user).collect();
    PodDocument { arguments: arguments(options), volumes, environment: Vec::new() }
}

fn of_user(from: &Volume) -> Json {
    volume(&from.name, &from.host_path, &from.mount_path, from.read_only, from.path_type.as_deref().unwrap_or_default())
}

fn volume(name: &str, host_path: &str, mount_path: &str, read_only: bool, path_type: &str) -> Json {
    json!({"name": name, "hostPath": host_path, "mountPath": mount_path, "readOnly": read_only, "pathType": path_type})
}

fn arguments(options: &Values) -> Vec<Argument> {
    let text = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    options.iter().map(|(name, value)| Argument { name: name.clone(), value: text(value) }).collect()
}

fn with_gates(options: &Values, gates: &BTreeMap<String, bool>) -> Values {
    let mut options = options.clone();
    if !gates.is_empty() {
        let gates: Vec<String> = gates.iter().map(|(name, value)| format!("{name}={value}")).collect();
        options.insert("feature-gates".to_owned(), gates.join(",").into());
    }
    options
}

/// What a host keeps where only that it keeps something is said: Kubespray's amounts.
const KUBE_RESERVED: [(&str, &str); 4] = [("cpu", "100m"), ("memory", "256Mi"), ("ephemeral-storage", "500Mi"), ("pid", "1000")];
const SYSTEM_RESERVED: [(&str, &str); 4] = [("cpu", "500m"), ("memory", "512Mi"), ("ephemeral-storage", "500Mi"), ("pid", "1000")];

/// Fields of the kubelet's configuration that kokctl has none of its own for.
pub(crate) fn kubelet(cluster: &Cluster, settings: &KubeletSettings) -> Map<String, Json> {
    let components = &cluster.settings.components;
    let mut fields = nested(settings.fields.iter().map(|(name, value)| (name.clone(), value.clone())));
    let gates = components.feature_gates.own_or_all(&components.feature_gates.kubelet);
    if !gates.is_empty() {
        fields.insert("featureGates".to_owned(), json!(gates));
    }
    let all = [("kubeReserved", &settings.kube_reserved, KUBE_RESERVED), ("systemReserved", &settings.system_reserved, SYSTEM_RESERVED)];
    for (name, reserved, defaults) in all {
        let amounts = amounts(reserved, &defaults);
        if !amounts.is_empty() {
            fields.insert(name.to_owned(), json!(amounts));
        }
    }
    let dns = &cluster.settings.node_dns;
    if dns.enabled {
        fields.insert("clusterDNS".to_owned(), json!([dns.address.to_string()]));
    }
    if components.kubelet_tracing.enabled {
        fields.insert("tracing".to_owned(), json!(components.kubelet_tracing.values));
    }
    fields
}

fn amounts<'a>(reserved: &'a Reserved, defaults: &[(&'a str, &'a str)]) -> BTreeMap<&'a str, &'a str> {
    let defaults = defaults.iter().copied().filter(|_| reserved.enabled == Some(true));
    defaults.chain(reserved.amounts.iter().map(|(name, amount)| (name.as_str(), amount.as_str()))).collect()
}

fn kube_proxy(cluster: &Cluster) -> Map<String, Json> {
    let (components, settings) = (&cluster.settings.components, &cluster.settings);
    let mode = settings.kube_proxy_mode;
    let mut fields = nested(components.kube_proxy.iter().map(|(path, value)| (mode.field(path), value.clone())));
    let gates = components.feature_gates.own_or_all(&components.feature_gates.kube_proxy);
    if !gates.is_empty() {
        fields.insert("featureGates".to_owned(), json!(gates));
    }
    if let (Some(Json::Object(conntrack)), Some(most)) = (fields.get_mut("conntrack"), settings.kube_proxy_conntrack_max_per_core) {
        conntrack.insert("maxPerCore".to_owned(), most.into());
    }
    fields
}

/// Maps of what has a dot in its path.
pub(crate) fn nested(values: impl Iterator<Item = (String, Json)>) -> Map<String, Json> {
    let mut fields = Map::new();
    for (path, value) in values {
        match path.split_once('.') {
            Some((outer, inner)) => {
                let part = fields.entry(outer.to_owned()).or_insert_with(|| json!({}));
                if let Json::Object(part) = part {
                    part.insert(inner.to_owned(), value);
                }
            }
            None => {
                fields.insert(path, value);
            }
        }
    }
    fields
}
