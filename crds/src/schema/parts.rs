//! The schema of parts of a Cluster whose fields are variables.

use serde_json::{Value, json};

use super::property::{Property, fields, integer, map, property, text, word};
use super::resources;
use crate::read::addons::{ADDON, PRUNE};
use crate::read::parts::{
    API_ENDPOINT, BACKUP, BACKUP_KEEP, BACKUP_S3, BACKUP_TO, ENCRYPTION, ENCRYPTION_KMS, HOST_RESOURCES, KUBE_RESERVED, Leaf, Part,
    SYSTEM_RESERVED, ValueKind,
};

/// A part, with those of its fields that are no variables.
pub(super) fn schema(part: &Part, more: Vec<Property>) -> Value {
    map(&fields(&part.form), &[], part.leaves.iter().map(leaf).chain(more).collect())
}

pub(super) fn api_endpoint() -> Value {
    let more = vec![text("address", "Address or DNS name of a load balancer before all API servers that the user runs.")];
    schema(&API_ENDPOINT, more)
}

pub(super) fn host_resources() -> Value {
    let more = vec![
        resources::list(),
        property("kubeReserved", "What pods can't have, for the kubelet and containerd.", schema(&KUBE_RESERVED, Vec::new())),
        property("systemReserved", "What pods can't have, for the host's programs.", schema(&SYSTEM_RESERVED, Vec::new())),
    ];
    schema(&HOST_RESOURCES, more.into_iter().chain(resources::vars()).collect())
}

pub(super) fn backup() -> Value {
    let more = vec![
        property(
            "to",
            "Where they go: a folder, a bucket, or both.",
            schema(&BACKUP_TO, vec![property("s3", "A bucket of a server that speaks S3.", bucket())]),
        ),
        property("keep", "Which of them stay; all, where nothing is said.", schema(&BACKUP_KEEP, Vec::new())),
    ];
    schema(&BACKUP, more)
}

fn bucket() -> Value {
    map(&fields(&BACKUP_S3.form), &["bucket", "credentialsFile"], BACKUP_S3.leaves.iter().map(leaf).collect())
}

pub(super) fn encryption() -> Value {
    let about = "A KMS plugin (v2) that encrypts instead of a key of the cluster's own.";
    schema(
        &ENCRYPTION,
        vec![property("kms", about, map(&fields(&ENCRYPTION_KMS.form), &["endpoint"], ENCRYPTION_KMS.leaves.iter().map(leaf).collect()))],
    )
}

const PRUNED: &str = "What is removed of it when it leaves the manifest: `Objects` (the default) leaves namespaces and definitions, with which others' objects would go.";

pub(super) fn addon() -> Value {
    let properties = vec![
        text("name", "Name of the addon, a DNS label.").with("maxLength", 63),
        text("namespace", "Where objects go that name no namespace; `default` without it.").with("maxLength", 63),
    ];
    map(&fields(&ADDON), &["name"], properties.into_iter().chain(manifest()).collect())
}

/// Where objects come from, and where they go.
pub(super) fn manifest() -> Vec<Property> {
    vec![
        text("manifest", "Path of a file with objects, as seen from the folder of this file."),
        property("manifests", "Paths of several.", json!({"type": "array", "items": {"type": "string"}, "minItems": 1})),
        text("contents", "The text of such a file."),
        text("url", "Where such a file comes from."),
        text("sha256", "Digest of the manifest; needed with `url`.").with("pattern", "^[0-9a-f]{64}$"),
        word("prune", PRUNED, &PRUNE.map(|(name, _)| name)),
    ]
}

fn leaf(leaf: &Leaf) -> Property {
    match leaf.kind {
        ValueKind::Word(words) => word(leaf.name, leaf.about, words),
        ValueKind::Flag => property(leaf.name, leaf.about, json!({"type": "boolean"})),
        ValueKind::Number(least, most) => integer(leaf.name, leaf.about, least, most),
        ValueKind::Text => text(leaf.name, leaf.about),
        ValueKind::Amount => property(leaf.name, leaf.about, json!({"x-kubernetes-int-or-string": true})),
        ValueKind::Texts => property(leaf.name, leaf.about, json!({"type": "object", "additionalProperties": {"type": "string"}})),
        ValueKind::Map => property(leaf.name, leaf.about, json!({"type": "object"})).with("x-kubernetes-preserve-unknown-fields", true),
        ValueKind::List => {
            let item = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
            property(leaf.name, leaf.about, json!({"type": "array", "items": item}))
        }
        ValueKind::ListOfTexts => property(leaf.name, leaf.about, json!({"type": "array", "items": {"type": "string"}})),
    }
}
