//! A `Cluster` in either form.

use super::data_object::DataObjects;
use super::document::Document;
use super::{ClusterForm, ClusterObject, SshKey, head, operator, reference};
use crate::decode::{Decoder, Field, Form, Wording};
use crate::examine::{Reading, read_fleet, read_tree};
use crate::model::{Ssh, Via};
use crate::read::{OPERATOR, SPEC, SSH_AUTH_REF};
use crate::tree::{Entry, Node, Value};
use crate::words::{nearest, quote};
use crate::{Notice, Problem, Secret};

const CLUSTER: Form = Form { what: "a Cluster", fields: &["apiVersion", "kind", "metadata", "spec", "status"], refused: &[] };

/// The spec of a Cluster that is described elsewhere.
pub(crate) const REFERENCES: Form = Form {
    what: "the spec of a Cluster",
    fields: &["hostsConfRef", "varsConfRef", "sshAuthRef", "kubeConfRef", "kubeconfRef", "preCheckRef", OPERATOR],
    refused: &[],
};

/// What the operators write there for others to read.
const RESULTS: [(&str, &str); 3] = [
    ("kubeConfRef", "`kokctl kubeconfig` prints the kubeconfig"),
    ("kubeconfRef", "`kokctl kubeconfig` prints the kubeconfig"),
    ("preCheckRef", "`kokctl check` looks at the hosts anew"),
];

/// Reads a Cluster. What is said of one in the inline form in which something is wrong, which is read as a whole, is added to `unread`.
pub(super) fn read(
    document: &Document<'_>,
    data_objects: &DataObjects<'_>,
    decoder: &mut Decoder,
    unread: &mut Reading,
) -> Option<ClusterObject> {
    let spec = document.node.entry("spec").map(|entry| &entry.node);
    let given = |name: &str| spec.and_then(|spec| spec.entry(name));
    if let Some(entry) = given(OPERATOR).filter(|entry| !matches!(entry.node.value, Value::Null)) {
        operator::check_cluster(&Field { path: format!("spec.{OPERATOR}"), node: &entry.node }, decoder);
    }
    let inline: Vec<&Entry> = inline_fields().filter_map(given).collect();
    let Some(first) = inline.first().filter(|_| given("hostsConfRef").is_some()) else {
        let is_inline = !inline.is_empty() || (given("hostsConfRef").is_none() && spec.is_some_and(is_misspelled_inline));
        return if is_inline { read_inline(document, data_objects, decoder, unread) } else { referenced(document, data_objects, decoder) };
    };
    let names: Vec<String> = inline.iter().map(|entry| quote(&entry.key)).collect();
    let problem = Problem::new("the cluster is described twice").at(&first.key_position);
    decoder.report(
        problem
            .because(format!("it has `hostsConfRef` and also {}", names.join(", ")))
            .hint("keep the inventory with its variables, or the fields of the cluster's own"),
    );
    None
}

/// Reads a Fleet, which is hosts and nothing else.
pub(super) fn read_hosts(document: &Document<'_>, unread: &mut Reading) -> Option<ClusterObject> {
    let reading = read_fleet(&document.node);
    unread.problems.extend(reading.problems);
    let cluster = reading.cluster?;
    let position = cluster.position_of("metadata.name").unwrap_or(&document.node.position).clone();
    let form = ClusterForm::Inline { cluster: Box::new(cluster.clone()), variables: Vec::new() };
    Some(ClusterObject { name: cluster.name, position, form })
}

/// The fields that only the inline form has.
fn inline_fields() -> impl Iterator<Item = &'static str> {
    SPEC.fields.iter().copied().filter(|name| !REFERENCES.fields.contains(name))
}

/// Whether each field that could tell the form is misspelled, and is nearest to one of the inline form.
fn is_misspelled_inline(spec: &Node) -> bool {
    let Value::Map(entries) = &spec.value else { return false };
    let all: Vec<&str> = inline_fields().chain(REFERENCES.fields.iter().copied()).collect();
    let near = |entry: &Entry| nearest(&entry.key, &all).is_some_and(|name| !REFERENCES.fields.contains(&name));
    entries.iter().any(near) && !entries.iter().any(|entry| REFERENCES.fields.contains(&entry.key.as_str()))
}

fn read_inline(
    document: &Document<'_>,
    data_objects: &DataObjects<'_>,
    decoder: &mut Decoder,
    unread: &mut Reading,
) -> Option<ClusterObject> {
    let key = document.node.entry("spec").and_then(|spec| spec.node.entry(SSH_AUTH_REF));
    let key = key.map(|entry| Field { path: format!("spec.{SSH_AUTH_REF}"), node: &entry.node });
    let key = key.and_then(|field| reference::key(&field, data_objects, decoder));
    let reading = read_tree(&document.node, Wording::Cluster);
    unread.problems.extend(reading.problems);
    let Some(mut cluster) = reading.cluster else {
        unread.variables.extend(reading.variables);
        return None;
    };
    if let Some(SshKey { key, .. }) = key {
        // Hosts that are to leave are reached, too.
        cluster.hosts.iter_mut().chain(&mut cluster.leaving).for_each(|host| give(&mut host.ssh, &key));
    }
    let position = cluster.position_of("metadata.name").unwrap_or(&document.node.position).clone();
    let name = cluster.name.clone();
    let form = ClusterForm::Inline { cluster: Box::new(cluster), variables: reading.variables };
    Some(ClusterObject { name, position, form })
}

/// The key for a login that has none of its own, nor a password; and for those on the way to it.
fn give(ssh: &mut Ssh, key: &Secret) {
    if ssh.private_key_file.is_none() && ssh.password.is_none() {
        ssh.private_key = Some(key.clone());
    }
    if let Some(Via::Bastion(bastion)) = &mut ssh.via {
        give(&mut bastion.ssh, key);
    }
}

fn referenced(document: &Document<'_>, data_objects: &DataObjects<'_>, decoder: &mut Decoder) -> Option<ClusterObject> {
    let (fields, head) = head::read(&document.root(), &CLUSTER, decoder)?;
    let spec = decoder.required(&fields, "spec")?;
    let fields = decoder.fields_but(&spec, &REFERENCES, &["hostsConfRef", "varsConfRef", "sshAuthRef"])?;
    for (name, because) in RESULTS {
        if let Some(field) = fields.get(name) {
            let notice = Notice::new(format!("`{name}` is not used")).at(field.position());
            decoder.note(notice.because("it is a result of the operators").hint(because));
        }
    }
    let inputs = reference::inputs(&fields, data_objects, decoder);
    let before = decoder.count();
    let is_named = reference::read(&fields, "hostsConfRef", decoder).is_some();
    if !is_named && decoder.count() == before && !fields.is_misspelled("hostsConfRef") {
        let problem = Problem::new("the cluster has no hosts").at(spec.position());
        decoder.report(
            problem
                .because("`hostsConfRef` names a ConfigMap with an inventory, or `hosts` lists them")
                .hint("add one of the two below `spec:`"),
        );
    }
    let Some(name) = head.name else {
        decoder.report(
            Problem::new("the cluster has no name")
                .at(&head.position)
                .because("operations name the cluster that they mean")
                .hint("add `metadata: {name: NAME}`"),
        );
        return None;
    };
    Some(ClusterObject { name, position: head.position, form: ClusterForm::Referenced(Box::new(inputs)) })
}
