//! Whole files, rendered at plan time.
//!
//! The templates lie in `templates/` at the top of the project and are part of the program. In `*.yaml.j2` every value is emitted as JSON,
//! which is YAML that needs no further quoting; a name that a template uses and nobody defines is an error.

use std::sync::LazyLock;

use minijinja::value::{Serde, ValueKind};
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior, Value};
use serde::Serialize;
use thiserror::Error as ThisError;

macro_rules! templates {
    ($($name:literal),* $(,)?) => {
        /// Every template by its name.
        pub const ALL: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../templates/", $name)))),*];
    };
}

templates![
    "calico/calico.yaml.j2",
    "chrony/chrony.conf.j2",
    "containerd/config.toml.j2",
    "containerd/containerd.service.j2",
    "containerd/hosts.toml.j2",
    "etcd/etcd.service.j2",
    "etcd/etcd.yaml.j2",
    "bridge/10-kokctl-bridge.conflist.j2",
    "bridge/kokctl-pod-network.service.j2",
    "bridge/rules.nft.j2",
    "flannel/10-flannel.conflist.j2",
    "flannel/flannel.yaml.j2",
    "haproxy/haproxy.cfg.j2",
    "haproxy/haproxy.yaml.j2",
    "keepalived/keepalived.conf.j2",
    "keepalived/kokctl-keepalived-check.service.j2",
    "keepalived/kokctl-keepalived.service.j2",
    "keepalived/ready.sh.j2",
    "keepalived/release.sh.j2",
    "kernel/modules.conf.j2",
    "kernel/sysctl.conf.j2",
    "kube-apiserver/audit-policy.yaml.j2",
    "kube-apiserver/encryption.yaml.j2",
    "kube-apiserver/webhook.yaml.j2",
    "kubeadm/bootstrap-token.yaml.j2",
    "kubeadm/cluster.yaml.j2",
    "kubeadm/init.yaml.j2",
    "kubeadm/join.yaml.j2",
    "kubeadm/kubelet-configuration.yaml.j2",
    "kubeadm/kubelet.yaml.j2",
    "kubelet/10-kubeadm.conf.j2",
    "kubelet/kubelet.service.j2",
    "network-check/network-check.yaml.j2",
    "node-dns/Corefile.j2",
    "node-dns/kokctl-node-dns.service.j2",
    "node-dns/node-dns.yaml.j2",
    "proxy/proxy.conf.j2",
];

/// A template that could not be rendered; a defect of kokctl, not of anything that a user wrote.
#[derive(Debug, Clone, ThisError)]
#[error("the template {name} could not be rendered: {reason}")]
pub struct TemplateError {
    /// Name of the template.
    pub name: String,
    /// What minijinja says, without values.
    pub reason: String,
}

/// Renders a template with the fields of `context`.
///
/// # Errors
/// [`TemplateError`] for an unknown template or a name that `context` lacks. The message has no values of the context in it: they may be
/// secret.
pub fn render(name: &str, context: &impl Serialize) -> Result<String, TemplateError> {
    let environment = ENVIRONMENT.as_ref().map_err(Clone::clone)?;
    let template = environment.get_template(name).map_err(|error| failed(name, &error))?;
    template.render(Serde(context)).map_err(|error| failed(name, &error))
}

/// Parsed once; a large cluster renders some files a thousand times.
static ENVIRONMENT: LazyLock<Result<Environment<'static>, TemplateError>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_debug(false);
    let syntax = environment.syntax().to_builder().keep_trailing_newline(true).build().map_err(|error| failed("(syntax)", &error))?;
    environment.set_syntax(syntax);
    environment.add_filter("toml", toml);
    for (name, source) in ALL {
        environment.add_template(name, source).map_err(|error| failed(name, &error))?;
    }
    Ok(environment)
});

fn failed(name: &str, error: &Error) -> TemplateError {
    TemplateError { name: name.to_owned(), reason: format!("{} in line {}", error.kind(), error.line().unwrap_or_default()) }
}

/// A boolean, a number or text as TOML. JSON's strings are TOML's basic strings but for DEL, which TOML wants escaped.
fn toml(value: &Value) -> Result<String, Error> {
    match (value.kind(), value.as_str()) {
        (ValueKind::Bool, _) => Ok(if value.is_true() { "true" } else { "false" }.to_owned()),
        (ValueKind::Number, _) => Ok(value.to_string()),
        (_, Some(text)) => Ok(serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007F")),
        _ => Err(Error::new(ErrorKind::InvalidOperation, "neither a boolean nor a number nor text")),
    }
}
