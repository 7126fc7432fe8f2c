//! Variables of logins, rights, audit and encryption.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;

use super::host::{pem, url};
use super::values::{any, json, put};
use crate::Problem;
use crate::decode::{Decoder, Field};
use crate::given::{Given, Outcome};
use crate::message::Kind;
use crate::model::{EncryptionAlgorithm, Settings, SwitchedSettings, Values};
use crate::tree::{Node, Value};
use crate::words::quote;

/// The URL of a server that the API server asks.
pub(crate) fn server(decoder: &mut Decoder, field: &Field<'_>, to: &mut Values, name: &str) {
    let Some(text) = url(decoder, field, "server") else { return };
    if text.starts_with("https://") {
        return put(decoder, field, to, name, text.into());
    }
    let problem = Problem::new(format!("`{}` cannot be {}", field.name(), quote(&text))).at(field.position());
    decoder.report(
        problem
            .because("who gets in is decided by what that server says, so that it has to be asked by `https://`")
            .hint("write `https://` before it; a CA of its own goes beside it"),
    );
}

/// A certificate, as PEM or as base64 of that.
pub(crate) fn authority(decoder: &mut Decoder, field: &Field<'_>, to: &mut Values, name: &str) {
    let decoded = match &field.node.value {
        Value::Text(text) => {
            let packed: String = text.chars().filter(|c| !c.is_whitespace()).collect();
            STANDARD.decode(packed).ok().and_then(|bytes| String::from_utf8(bytes).ok())
        }
        _ => None,
    };
    let node = decoded.map(|text| Node { value: Value::Text(text), ..field.node.clone() });
    let item = Field { path: field.path.clone(), node: node.as_ref().unwrap_or(field.node) };
    if let Some(text) = pem(decoder, &item) {
        put(decoder, field, to, name, text.into());
    }
}

/// Rules of an audit policy, as a list or as the text of one.
pub(crate) fn audit_rules(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    const RULE: &str = "it is a list of rules of an audit policy, each with its `level`: None, Metadata, Request or RequestResponse";
    let rules = match &field.node.value {
        Value::Text(text) => serde_saphyr::from_str_with_options::<Json>(text, serde_saphyr::options! { emit_comments: false }).ok(),
        _ => json(decoder, field),
    };
    decoder.place(field);
    let is_level = |rule: &Json| {
        let level = rule.get("level").and_then(Json::as_str).unwrap_or_default();
        ["None", "Metadata", "Request", "RequestResponse"].contains(&level)
    };
    match rules {
        Some(Json::Array(rules)) if !rules.is_empty() && rules.iter().all(is_level) => {
            put(decoder, field, &mut settings.security.audit.values, "rules", Json::Array(rules));
        }
        _ => decoder.report(
            Problem::new(format!("`{}` has no rules", field.name()))
                .at(field.position())
                .because(RULE)
                .hint("write such rules, or leave it out for those of Kubespray"),
        ),
    }
}

/// What strangers have to be told: the kubelet, which kills an API server that does not say by kubeadm's probes that it is well, and hosts
/// that join, which compare the cluster's authority with that of their discovery file (kubeadm, `join` by file).
const PUBLIC: [&str; 3] = ["/livez", "/readyz", "/api/v1/namespaces/kube-public/configmaps/cluster-info"];

/// What strangers may ask.
pub(crate) fn strangers(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    super::values::map(decoder, field, &mut settings.security.authentication.values, "anonymous");
    let document = json(decoder, field).unwrap_or_default();
    let conditions = document.get("conditions").and_then(Json::as_array);
    let is_open = |path: &&str| {
        let has = |condition: &Json| condition.get("path").and_then(Json::as_str) == Some(*path);
        conditions.is_none_or(|conditions| conditions.iter().any(has))
    };
    let closed = PUBLIC.iter().find(|path| !is_open(path) || document.get("enabled") != Some(&Json::Bool(true)));
    if let Some(closed) = closed {
        let paths = PUBLIC.map(|path| format!("{{path: {path}}}")).join(", ");
        let problem = Problem::new(format!("`{}` keeps the kubelet and kubeadm from {closed}", field.name())).at(field.position());
        let problem = problem.because("they ask there as strangers, and without an answer API servers are killed and hosts cannot join");
        decoder.report(problem.hint(format!("write `{{enabled: true, conditions: [{paths}]}}`")));
    }
}

/// Folders of the API server's container that its image, kubeadm and kokctl have files in.
const TAKEN: [&str; 12] = ["/etc", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/dev", "/proc", "/sys", "/run", "/var/run", "/var/lib"];

/// The file of the audit log in the API server's container, or `-`. Its folder becomes one of the host's, over what the container has there.
pub(crate) fn audit_log_path(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let Some(text) = super::values::scalar(decoder, field) else { return };
    let folder = text.rsplit_once('/').map_or("", |(folder, _)| folder);
    let is_normal = text.strip_prefix('/').is_some_and(|rest| rest.split('/').all(|part| !["", ".", ".."].contains(&part)));
    let problem = || Problem::new(format!("`{}` cannot be {}", field.name(), quote(&text))).at(field.position());
    if text != "-" && (!is_normal || text.contains(':')) {
        return decoder.report(
            problem().because("it is `-`, or a path like `/var/log/audit/audit.log`").hint("write one of the two, or leave it out"),
        );
    }
    if text != "-" && (["", "/var"].contains(&folder) || TAKEN.iter().any(|taken| is_within(folder, taken))) {
        let because = "its folder is taken by files of the API server and of Kubernetes, which a folder of the host would hide";
        return decoder.report(
            problem().because(because).hint("write a path like `/var/log/audit/audit.log`").hint("write one of the two, or leave it out"),
        );
    }
    put(decoder, field, &mut settings.security.audit.values, "audit-log-path", text.into());
}

/// Folders of a host whose files others keep.
const KEPT: [&str; 12] = [
    "/etc/kubernetes",
    "/etc/ssl",
    "/var/lib/etcd",
    "/var/lib/kubelet",
    "/var/lib/kokctl",
    "/var/lib/containerd",
    "/usr",
    "/bin",
    "/dev",
    "/proc",
    "/sys",
    "/run",
];

/// Folders that have others of everybody.
const SHARED: [&str; 10] = ["", "/boot", "/home", "/media", "/mnt", "/opt", "/root", "/srv", "/tmp", "/var/log"];

/// The folder of the host that the API server writes the audit log into.
pub(crate) fn audit_log_folder(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let Some(path) = super::pods::path(decoder, field) else { return };
    let plain = path.trim_end_matches('/');
    let is_own = !SHARED.contains(&plain) && !plain.contains("//");
    if is_own && !KEPT.iter().any(|kept| is_within(plain, kept) || is_within(kept, plain)) {
        return put(decoder, field, &mut settings.security.audit.values, "hostpath", path.into());
    }
    let problem = Problem::new(format!("`{}` cannot be {}", field.name(), quote(&path))).at(field.position());
    let because = "others have their files there, and the API server writes into it";
    decoder.report(problem.because(because).hint("write a folder of its own, like `/var/log/kubernetes/audit`"));
}

fn is_within(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Who decides what somebody may do. Without Node and RBAC neither kubelets nor kokctl may do anything.
pub(crate) fn authorizers(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    super::values::items(decoder, field, &mut settings.security.authorization.values, "authorizers");
    let items = json(decoder, field).and_then(|items| items.as_array().cloned()).unwrap_or_default();
    let missing = ["Node", "RBAC"].into_iter().find(|kind| !items.iter().any(|one| one.get("type").and_then(Json::as_str) == Some(kind)));
    if let Some(missing) = missing {
        let problem = Problem::new(format!("`{}` lacks {}", field.name(), quote(missing))).at(field.position());
        let because = "kubelets and the parts of Kubernetes have their rights by Node and RBAC";
        decoder.report(problem.because(because).hint(format!("add `{{type: {missing}, name: {}}}`", missing.to_lowercase())));
    }
}

/// A standard of Pod Security Admission.
pub(crate) fn pod_standard(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings, name: &str) {
    let words = ["privileged", "baseline", "restricted"];
    super::values::word(decoder, field, &mut settings.security.pod_security.values, name, &words);
}

/// The release whose standard counts.
pub(crate) fn pod_standard_version(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings, name: &str) {
    let Some(text) = super::values::scalar(decoder, field) else { return };
    let is_minor = |text: &str| text.strip_prefix("v1.").is_some_and(|minor| minor.parse::<u16>().is_ok());
    if text == "latest" || is_minor(&text) {
        return put(decoder, field, &mut settings.security.pod_security.values, name, text.into());
    }
    let problem = Problem::new(format!("`{}` cannot be {}", field.name(), quote(&text))).at(field.position());
    decoder.report(problem.because("it is `latest`, or a release like `v1.36`").hint("write one of the two"));
}

pub(crate) fn encryption_algorithm(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let words = EncryptionAlgorithm::ALL.map(|algorithm| (algorithm.as_str(), algorithm));
    settings.security.encryption.algorithm = decoder.choice(field, &words).unwrap_or(settings.security.encryption.algorithm);
}

pub(crate) fn remove_anonymous_access(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    settings.security.private_cluster_info = decoder.boolean(field).unwrap_or(settings.security.private_cluster_info);
}

pub(crate) fn encryption_resources(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let Some(names) = super::values::names(decoder, field) else { return };
    if names.is_empty() {
        let problem = Problem::new("`kube_encryption_resources` is empty").at(field.position());
        return decoder.report(problem.because("nothing would be encrypted").hint("leave it out, or name at least `secrets`"));
    }
    settings.security.encryption.resources = names;
}

/// Limits of events by the names that Kubespray's users give them.
pub(crate) fn event_limits(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let values = &mut settings.security.admission.values;
    match json(decoder, field) {
        // Kubespray's own way to say nothing.
        Some(Json::Object(limits)) if limits.is_empty() => {}
        Some(Json::Object(limits)) if limits.values().all(Json::is_object) => {
            let limits: Vec<Json> = limits.into_iter().map(|(_, limit)| in_words_of_kubernetes(limit)).collect();
            put(decoder, field, values, "EventRateLimit", limits.into());
        }
        Some(Json::Array(limits)) if limits.iter().all(Json::is_object) => any(decoder, field, values, "EventRateLimit"),
        _ => {
            let problem = Problem::new(format!("`{}` has no limits", field.name())).at(field.position());
            decoder.report(
                problem
                    .because("it is a map of names to limits, each with `type`, `qps` and `burst`")
                    .hint("write such limits, or leave it out"),
            );
        }
    }
}

/// Kubespray writes `cache_size` where Kubernetes has `cacheSize`.
fn in_words_of_kubernetes(limit: Json) -> Json {
    let Json::Object(fields) = limit else { return limit };
    fields.into_iter().map(|(name, value)| (if name == "cache_size" { "cacheSize".to_owned() } else { name }, value)).collect()
}

/// A switch, its group, and the settings of that which it can't be without, each with its variable.
type Needed<'a> = (&'a str, &'a SwitchedSettings, &'a [(&'a str, &'a str)]);

/// What groups of settings lack, and which can't be together.
pub(crate) fn check(decoder: &mut Decoder, given: &[Given], settings: &Settings) {
    let security = &settings.security;
    let needed: [Needed<'_>; 6] = [
        ("kube_oidc_auth", &security.oidc, &[("oidc-issuer-url", "kube_oidc_url"), ("oidc-client-id", "kube_oidc_client_id")]),
        ("kube_webhook_token_auth", &security.token_webhook, &[("url", "kube_webhook_token_auth_url")]),
        ("kube_webhook_authorization", &security.authorization_webhook, &[("url", "kube_webhook_authorization_url")]),
        ("kubernetes_audit_webhook", &security.audit_webhook, &[("url", "audit_webhook_server_url")]),
        (
            "kube_apiserver_use_authorization_config_file",
            &security.authorization,
            &[("authorizers", "kube_apiserver_authorization_config_authorizers")],
        ),
        ("kube_apiserver_tracing", &security.tracing, &[("endpoint", "kube_apiserver_tracing_endpoint")]),
    ];
    for (switch, group, values) in needed.into_iter().filter(|(_, group, _)| group.enabled) {
        // One that is wrong is told of as such.
        let is_said = |variable: &str| given.iter().any(|given| given.name == variable);
        for (_, variable) in values.iter().filter(|(name, variable)| !group.values.contains_key(*name) && !is_said(variable)) {
            let problem = Problem::new(format!("`{variable}` is missing"))
                .of_kind(Kind::Needed)
                .of_variable(variable)
                .because(format!("`{switch}` needs it"))
                .hint("set it too, or leave out what needs it");
            decoder.report(at(given, switch, problem));
        }
    }
    excluding(decoder, given, settings);
}

/// Pairs of which Kubernetes takes one.
fn excluding(decoder: &mut Decoder, given: &[Given], settings: &Settings) {
    let (security, options) = (&settings.security, &settings.components.api_server.options);
    let authentication = "kube_apiserver_use_authentication_config_file";
    let authorization = "kube_apiserver_use_authorization_config_file";
    let pairs = [
        (security.authentication.enabled && security.oidc.enabled, authentication, "kube_oidc_auth"),
        (security.authorization.enabled && options.contains_key("authorization-mode"), authorization, "authorization_modes"),
        (security.authorization.enabled && security.authorization_webhook.enabled, authorization, "kube_webhook_authorization"),
    ];
    for (_, one, other) in pairs.into_iter().filter(|(both, _, _)| *both) {
        let problem = Problem::new(format!("`{one}` and `{other}` exclude each other"));
        decoder.report(at(given, one, problem.because("the API server takes one of them").hint("keep one of the two")));
    }
}

/// Says where a variable stands.
pub(super) fn at(given: &[Given], name: &str, problem: Problem) -> Problem {
    let found = given.iter().find(|given| given.name == name && given.outcome == Outcome::Honoured);
    match found {
        Some(given) => problem.at(&given.position),
        None => problem,
    }
}
