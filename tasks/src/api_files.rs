//! Files that the API server and the scheduler read besides their options.

use kok_crds::model::{Cluster, SwitchedSettings, Values};
use serde_json::{Map, Value as Json, json};

use crate::components::nested;
use crate::templates::{TemplateError, render};

/// Where the API server's files lie, on the host and in its container.
pub(crate) const FOLDER: &str = "/etc/kubernetes/apiserver";

/// Its EncryptionConfiguration, which has the key.
pub const ENCRYPTION: &str = "/etc/kubernetes/apiserver/encryption.yaml";

/// What that encrypts and how, without the key.
pub(crate) const ENCRYPTION_SUMMARY: &str = "/etc/kubernetes/apiserver/encryption.txt";

/// Where the scheduler's configuration lies.
pub(crate) const SCHEDULER_FOLDER: &str = "/etc/kubernetes/scheduler";

/// The configuration.
pub(crate) const SCHEDULER: &str = "/etc/kubernetes/scheduler/configuration.yaml";

/// A file in [`FOLDER`].
pub(crate) struct ApiFile {
    pub(crate) name: &'static str,
    pub(crate) text: String,
    /// The option of the API server that names it.
    pub(crate) option: Option<&'static str>,
}

impl ApiFile {
    pub(crate) fn path(&self) -> String {
        format!("{FOLDER}/{}", self.name)
    }
}

/// All of them that hold no secret.
///
/// # Errors
/// [`TemplateError`] for a defect of a template.
pub(crate) fn files(cluster: &Cluster) -> Result<Vec<ApiFile>, TemplateError> {
    let security = &cluster.settings.security;
    let mut files = Vec::new();
    if security.audit.enabled || security.audit_webhook.enabled {
        let text = render("kube-apiserver/audit-policy.yaml.j2", &json!({"rules": security.audit.values.get("rules")}))?;
        files.push(ApiFile { name: "audit-policy.yaml", text, option: Some("audit-policy-file") });
    }
    let servers = [
        ("audit-webhook.yaml", "audit-webhook-config-file", &security.audit_webhook),
        ("token-webhook.yaml", "authentication-token-webhook-config-file", &security.token_webhook),
        ("authorization-webhook.yaml", "authorization-webhook-config-file", &security.authorization_webhook),
    ];
    for (name, option, group) in servers.into_iter().filter(|(_, _, group)| group.enabled) {
        files.push(ApiFile { name, text: render("kube-apiserver/webhook.yaml.j2", &server(group))?, option: Some(option) });
    }
    let documents = [
        ("admission.yaml", "admission-control-config-file", admission(cluster)),
        ("authentication.yaml", "authentication-config", authentication(&security.authentication)),
        ("authorization.yaml", "authorization-config", authorization(&security.authorization)),
        ("tracing.yaml", "tracing-config-file", tracing(&security.tracing)),
    ];
    for (name, option, document) in documents {
        files.extend(document.map(|document| ApiFile { name, text: format!("{document:#}\n"), option: Some(option) }));
    }
    let authority = security.oidc.text("authority").filter(|_| security.oidc.enabled);
    files.extend(authority.map(|text| ApiFile { name: "oidc-ca.pem", text: text.to_owned(), option: Some("oidc-ca-file") }));
    Ok(files)
}

/// How a kubeconfig tells about a server.
fn server(group: &SwitchedSettings) -> Json {
    use base64::Engine as _;
    let mut cluster = Map::new();
    cluster.insert("server".to_owned(), group.values.get("url").cloned().unwrap_or_default());
    if let Some(authority) = group.text("authority") {
        let packed = base64::engine::general_purpose::STANDARD.encode(authority);
        cluster.insert("certificate-authority-data".to_owned(), packed.into());
    }
    if group.values.get("skip-verify").and_then(Json::as_bool) == Some(true) {
        cluster.insert("insecure-skip-tls-verify".to_owned(), true.into());
    }
    if let Some(Json::Object(more)) = group.values.get("cluster") {
        cluster.extend(more.clone());
    }
    json!({"cluster": cluster})
}

/// Namespaces of kokctl's own whose pods keep no standard: they say so by a label, or are there for moments.
const EXEMPT: [&str; 1] = ["kokctl-network-check"];

fn admission(cluster: &Cluster) -> Option<Json> {
    let (admission, pods) = (&cluster.settings.security.admission, &cluster.settings.security.pod_security);
    let mut plugins = Vec::new();
    for (name, value) in admission.values.iter().filter(|_| admission.enabled) {
        let configuration = match name.as_str() {
            "EventRateLimit" => json!({"apiVersion": "eventratelimit.admission.k8s.io/v1alpha1", "kind": "Configuration", "limits": value}),
            "PodNodeSelector" => json!({"podNodeSelectorPluginConfig": {"clusterDefaultNodeSelector": value}}),
            _ => json!({"apiVersion": "apiserver.config.k8s.io/v1", "kind": "ResourceQuotaConfiguration", "limitedResources": value}),
        };
        plugins.push(json!({"name": name, "configuration": configuration}));
    }
    if pods.enabled {
        plugins.push(json!({"name": "PodSecurity", "configuration": pod_security(pods)}));
    }
    let kind = "AdmissionConfiguration";
    (!plugins.is_empty()).then(|| json!({"apiVersion": "apiserver.config.k8s.io/v1", "kind": kind, "plugins": plugins}))
}

/// With Kubespray's defaults.
fn pod_security(group: &SwitchedSettings) -> Json {
    let mut defaults = Map::new();
    for (mode, level) in [("enforce", "baseline"), ("audit", "restricted"), ("warn", "restricted")] {
        let version = format!("{mode}-version");
        defaults.insert(mode.to_owned(), group.text(mode).unwrap_or(level).into());
        defaults.insert(version.clone(), group.text(&version).unwrap_or("latest").into());
    }
    let list = |name: &str| group.values.get(name).and_then(Json::as_array).cloned();
    let mut namespaces = list("namespaces").unwrap_or_else(|| vec!["kube-system".into()]);
    namespaces.extend(EXEMPT.map(Json::from));
    let exemptions = json!({
        "usernames": list("usernames").unwrap_or_default(),
        "runtimeClasses": list("runtimeClasses").unwrap_or_default(),
        "namespaces": namespaces,
    });
    json!({
        "apiVersion": "pod-security.admission.config.k8s.io/v1", "kind": "PodSecurityConfiguration",
        "defaults": defaults, "exemptions": exemptions,
    })
}

fn authentication(group: &SwitchedSettings) -> Option<Json> {
    document(group, "AuthenticationConfiguration", "v1")
}

fn authorization(group: &SwitchedSettings) -> Option<Json> {
    document(group, "AuthorizationConfiguration", "v1")
}

fn tracing(group: &SwitchedSettings) -> Option<Json> {
    document(group, "TracingConfiguration", "v1beta1")
}

/// A document that has what the user says, in this form if he names none.
fn document(group: &SwitchedSettings, kind: &str, version: &str) -> Option<Json> {
    let version = group.text("apiVersion").unwrap_or(version);
    let mut fields: Map<String, Json> = group.values.clone().into_iter().collect();
    fields.insert("apiVersion".to_owned(), format!("apiserver.config.k8s.io/{version}").into());
    fields.insert("kind".to_owned(), kind.into());
    group.enabled.then_some(Json::Object(fields))
}

/// What is encrypted and how, in one line; empty if nothing is.
pub(crate) fn encryption_summary(cluster: &Cluster) -> String {
    let encryption = &cluster.settings.security.encryption;
    if !encryption.enabled {
        return String::new();
    }
    let how = encryption.kms.as_ref().map_or_else(
        || encryption.algorithm.as_str().to_owned(),
        |plugin| format!("kms {} {} {}ms", plugin.name, plugin.endpoint(), plugin.timeout_millis),
    );
    format!("{how} {}\n", encryption.resources.join(","))
}

/// The scheduler's KubeSchedulerConfiguration; none if nobody says anything of it. Beside it the scheduler reads over its option `profiling`.
pub(crate) fn scheduler_configuration(cluster: &Cluster) -> Option<String> {
    let components = &cluster.settings.components;
    let configuration: &Values = &components.scheduler_configuration;
    let mut fields = nested(configuration.iter().map(|(name, value)| (name.clone(), value.clone())));
    if let Some(value) = components.scheduler.options.get("profiling") {
        let is_on = value.as_bool().unwrap_or_else(|| value.as_str() != Some("false"));
        fields.insert("enableProfiling".to_owned(), is_on.into());
    }
    fields.insert("apiVersion".to_owned(), "kubescheduler.config.k8s.io/v1".into());
    fields.insert("kind".to_owned(), "KubeSchedulerConfiguration".into());
    if let Json::Object(connection) = fields.entry("clientConnection").or_insert_with(|| json!({})) {
        connection.insert("kubeconfig".to_owned(), "/etc/kubernetes/scheduler.conf".into());
    }
    (!configuration.is_empty()).then(|| format!("{:#}\n", Json::Object(fields)))
}
