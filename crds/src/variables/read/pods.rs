//! Volumes of static pods, and patches of what kubeadm writes.

use std::collections::BTreeSet;

use crate::decode::{Decoder, Field, Form};
use crate::model::{Patch, Settings, Values, Volume};
use crate::syntax::name::dns_label;
use crate::tree::{Node, Value};
use crate::words::quote;
use crate::{Position, Problem};

const VOLUME: Form =
    Form { what: "a volume of a component", fields: &["name", "hostPath", "mountPath", "readOnly", "writable", "pathType"], refused: &[] };

/// What Kubernetes may find at a path of a host (HostPathType).
const PATH_TYPES: [&str; 7] = ["", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "BlockDevice"];

/// Names of volumes that kubeadm and kokctl give.
const VOLUMES: [&str; 9] = [
    "ca-certs",
    "etc-ca-certificates",
    "etc-pki",
    "k8s-certs",
    "kubeconfig",
    "flexvolume-dir",
    "kokctl",
    "kokctl-audit-log",
    "kokctl-oidc",
];

/// Further folders of a component; a map is what Kubespray has where there are none.
pub(crate) fn volumes(decoder: &mut Decoder, field: &Field<'_>, to: &mut Vec<Volume>) {
    if matches!(&field.node.value, Value::Map(entries) if entries.is_empty()) {
        return decoder.place(field);
    }
    let mut seen = BTreeSet::new();
    for item in decoder.list(field, "it is a list of volumes, each with `name`, `hostPath` and `mountPath`").unwrap_or_default() {
        let Some(volume) = volume(decoder, &item) else { continue };
        if VOLUMES.contains(&volume.name.as_str()) || !seen.insert(volume.name.clone()) {
            let problem = Problem::new(format!("the volume {} stands twice", quote(&volume.name))).at(item.position());
            decoder.report(
                problem.because(format!("names are unique, and these are taken: {}", VOLUMES.join(", "))).hint("give it another name"),
            );
        }
        to.push(volume);
    }
}

fn volume(decoder: &mut Decoder, item: &Field<'_>) -> Option<Volume> {
    let fields = decoder.fields(item, &VOLUME)?;
    let name = decoder.required(&fields, "name").and_then(|field| {
        let text = decoder.text(&field)?;
        let Some(reason) = dns_label(text) else { return Some(text.to_owned()) };
        let problem = Problem::new(format!("{} is no name of a volume: {reason}", quote(text))).at(field.position());
        decoder.report(problem.because("it is a DNS label (RFC 1123)").hint("write a name like `audit-log`"));
        None
    });
    let host_path = decoder.required(&fields, "hostPath").and_then(|field| path(decoder, &field));
    let mount_path = decoder.required(&fields, "mountPath").and_then(|field| path(decoder, &field));
    let read_only = fields.get("readOnly").and_then(|field| decoder.boolean(&field));
    let writable = fields.get("writable").and_then(|field| decoder.boolean(&field)).unwrap_or(false);
    let types: Vec<_> = PATH_TYPES.iter().map(|word| (*word, *word)).collect();
    let path_type = fields.get("pathType").and_then(|field| decoder.choice(&field, &types)).map(str::to_owned);
    Some(Volume { name: name?, host_path: host_path?, mount_path: mount_path?, read_only: read_only.unwrap_or(!writable), path_type })
}

/// An absolute path without detours.
pub(crate) fn path(decoder: &mut Decoder, field: &Field<'_>) -> Option<String> {
    let text = decoder.text(field)?;
    let is_path = text.starts_with('/') && !text.contains("/../") && !text.ends_with("/..") && !text.chars().any(char::is_control);
    if is_path && !text.contains(':') {
        return Some(text.to_owned());
    }
    let problem = Problem::new(format!("{} is no path", quote(text))).at(field.position());
    decoder.report(
        problem.because("it begins with `/`, and has no `..` and no `:` in it").hint("write the whole path, for example `/srv/kubernetes`"),
    );
    None
}

/// The same, as a value.
pub(crate) fn path_of(decoder: &mut Decoder, field: &Field<'_>, to: &mut Values, name: &str) {
    if let Some(path) = path(decoder, field) {
        super::values::put(decoder, field, to, name, path.into());
    }
}

const PATCH: Form = Form { what: "a patch", fields: &["target", "type", "patch"], refused: &[] };

/// What kubeadm patches, and how.
const TARGETS: [&str; 6] =
    ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubeletconfiguration", "corednsdeployment"];
const TYPES: [&str; 3] = ["strategic", "merge", "json"];

pub(crate) fn patches(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    for item in decoder.list(field, "it is a list of patches, each with `target` and `patch`").unwrap_or_default() {
        let Some(fields) = decoder.fields(&item, &PATCH) else { continue };
        let target = decoder.required(&fields, "target").and_then(|field| decoder.choice(&field, &TARGETS.map(|word| (word, word))));
        let kind = match fields.get("type") {
            Some(field) => decoder.choice(&field, &TYPES.map(|word| (word, word))),
            None => Some("strategic"),
        };
        let patch = decoder.required(&fields, "patch").and_then(|field| {
            let of_kubelet = target == Some("kubeletconfiguration");
            if of_kubelet && patches_what_is_not_the_users(decoder, &field) { None } else { patch(decoder, &field, kind) }
        });
        if let (Some(target), Some(kind), Some(patch)) = (target, kind, patch) {
            settings.components.patches.push(Patch { target, kind, patch });
        }
    }
}

/// A patch is no way around what can't be said of a kubelet elsewhere.
fn patches_what_is_not_the_users(decoder: &mut Decoder, field: &Field<'_>) -> bool {
    let places: Vec<(String, &Position)> = match &field.node.value {
        Value::Map(entries) => entries.iter().map(|entry| (entry.key.clone(), &entry.key_position)).collect(),
        Value::List(items) => items.iter().filter_map(patched_field).collect(),
        _ => Vec::new(),
    };
    let mut found = false;
    for (name, position) in places {
        let Some((_, hint)) = super::kubelet::OWN.iter().find(|(own, _)| *own == name) else { continue };
        let problem = Problem::new(format!("a patch of the kubelet's configuration cannot have `{name}`")).at(position);
        decoder.report(problem.because("it follows from the rest of the file, or kokctl sets it").hint(*hint));
        found = true;
    }
    found
}

/// The field at the top to which an operation of a JSON patch (RFC 6902) leads.
fn patched_field(item: &Node) -> Option<(String, &Position)> {
    let Value::Map(entries) = &item.value else { return None };
    let path = &entries.iter().find(|entry| entry.key == "path")?.node;
    let Value::Text(text) = &path.value else { return None };
    Some((text.trim_start_matches('/').split('/').next()?.to_owned(), &path.position))
}

fn patch(decoder: &mut Decoder, field: &Field<'_>, kind: Option<&str>) -> Option<serde_json::Value> {
    let is_right = match &field.node.value {
        Value::List(_) => kind == Some("json"),
        Value::Map(_) => kind != Some("json"),
        _ => false,
    };
    if is_right {
        return super::values::json(decoder, field);
    }
    let problem = Problem::new("a patch has the wrong form").at(field.position());
    decoder.report(
        problem
            .because("of the type `json` it is a list of operations, else a map of what is to be there")
            .hint("write it so, or write the `type` that it has"),
    );
    None
}
