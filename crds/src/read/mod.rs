//! From the tree to the model: one file per part of a Cluster.

pub(crate) mod addons;
mod annotations;
pub(crate) mod dual_stack;
pub(crate) mod endpoint;
pub(crate) mod fleet;
pub(crate) mod hooks;
pub(crate) mod hosts;
pub(crate) mod network;
pub(crate) mod parts;
pub(crate) mod pools;
pub(crate) mod removed;
pub(crate) mod resources;
pub(crate) mod ssh;
pub(crate) mod time;

use semver::Version;

pub(crate) use hosts::ReadHost;

use crate::Problem;
use crate::decode::{Decoder, Field, Form};
use crate::syntax::name::dns_label;
use crate::tree::Value;
use crate::words::quote;

pub(crate) const API_VERSION: &str = "kubeonkube.clay.io/v1alpha1";
pub(crate) const KIND: &str = "Cluster";

/// The first minor version whose kubeadm reads the configuration that we write (`kubeadm.k8s.io/v1beta4`).
pub const FIRST_MINOR: u64 = 31;

pub(crate) const CLUSTER: Form = Form { what: "a Cluster", fields: &["apiVersion", "kind", "metadata", "spec", "status"], refused: &[] };

/// Besides the name, everything that `kubectl get -o yaml` prints; it is read over.
pub(crate) const METADATA: Form = Form {
    what: "the metadata",
    fields: &[
        "name",
        "generateName",
        "namespace",
        "labels",
        "annotations",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
        "managedFields",
        "ownerReferences",
        "finalizers",
    ],
    refused: &[],
};

/// The field that is only about `kokctl operator`, and says nothing of the cluster.
pub(crate) const OPERATOR: &str = "operator";

/// The field that names a Secret with a private key. Whoever has all objects of the files reads it.
pub(crate) const SSH_AUTH_REF: &str = "sshAuthRef";

pub(crate) const SPEC: Form = Form {
    what: "the spec of a Cluster",
    fields: &[
        "kubernetesVersion",
        "ssh",
        "hosts",
        "removed",
        "network",
        "apiEndpoint",
        "etcd",
        "containerRuntime",
        "delivery",
        "time",
        "hostResources",
        "hooks",
        "certificates",
        "encryption",
        "upgrade",
        "backup",
        "addons",
        "vars",
        SSH_AUTH_REF,
        OPERATOR,
    ],
    refused: REFERENCES,
};

/// Fields by which kube-on-kube points to ConfigMaps and Secrets, and what stands in their place here.
const REFERENCES: &[(&str, &str)] = &[
    ("hostsConfRef", "this version reads everything from one file: write the hosts under `spec.hosts`"),
    ("varsConfRef", "this version reads everything from one file: write the variables under `spec.vars`"),
    ("kubeconfRef", "leave it out; `kokctl kubeconfig` prints the kubeconfig"),
];

pub(crate) fn read_name(decoder: &mut Decoder, metadata: &Field<'_>) -> Option<String> {
    let fields = decoder.fields(metadata, &METADATA)?;
    let name = decoder.required(&fields, "name")?;
    read_label(decoder, &name, "the name of a cluster")
}

/// A name that is a DNS label.
fn read_label(decoder: &mut Decoder, field: &Field<'_>, what: &str) -> Option<String> {
    let text = decoder.text(field)?;
    match dns_label(text) {
        None => Some(text.to_owned()),
        Some(reason) => {
            decoder.report(
                Problem::new(format!("{} cannot be {what}: {reason}", quote(text)))
                    .at(field.position())
                    .because(format!("{what} is a DNS label (RFC 1123)"))
                    .hint("write a name of lower-case letters, digits and `-`, of 63 at the most, that begins and ends with a letter or digit"),
            );
            None
        }
    }
}

pub(crate) fn read_version(decoder: &mut Decoder, field: &Field<'_>) -> Option<Version> {
    let rule = "a version of Kubernetes has three numbers, as in 1.37.1";
    let text = match &field.node.value {
        // Unquoted, 1.37 is a number to YAML, and 1.30 would have become 1.3.
        Value::Float | Value::Integer(_) => field.node.spelling.as_str(),
        _ => decoder.text(field)?,
    };
    decoder.place(field);
    let problem = |message: String| Problem::new(message).at(field.position());
    let Ok(version) = Version::parse(text.strip_prefix('v').unwrap_or(text)) else {
        decoder.report(
            problem(format!("{} is no version of Kubernetes", quote(text)))
                .because(rule)
                .hint("write it with its patch number, for example `1.37.1`"),
        );
        return None;
    };
    if version.major != 1 || version.minor < FIRST_MINOR || !version.build.is_empty() {
        decoder.report(
            problem(format!("this version cannot build Kubernetes {version}"))
                .because(format!("it builds upstream releases from 1.{FIRST_MINOR} on"))
                .hint("write a version that the bundle has"),
        );
        return None;
    }
    Some(version)
}
