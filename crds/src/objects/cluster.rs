//! A `Cluster` in either form.

use super::document::Document;
use super::holder::Holders;
use super::{ClusterForm, ClusterObject, head, reference};
use crate::decode::{Decoder, Form};
use crate::read::{SPEC, read_tree};
use crate::tree::Entry;
use crate::words::quote;
use crate::{Notice, Problem};

const CLUSTER: Form = Form { what: "a Cluster", fields: &["apiVersion", "kind", "metadata", "spec", "status"], refused: &[] };

/// The spec of a Cluster that is described elsewhere.
pub(crate) const REFERENCES: Form = Form {
    what: "the spec of a Cluster",
    fields: &["hostsConfRef", "varsConfRef", "sshAuthRef", "kubeConfRef", "kubeconfRef", "preCheckRef"],
    refused: &[],
};

/// What the operators write there for others to read.
const RESULTS: [(&str, &str); 3] = [
    ("kubeConfRef", "`kokctl kubeconfig` prints the kubeconfig"),
    ("kubeconfRef", "`kokctl kubeconfig` prints the kubeconfig"),
    ("preCheckRef", "`kokctl check` looks at the hosts anew"),
];

/// Reads a Cluster. Problems of the inline form, which is read as a whole, go to `problems`.
pub(super) fn read(
    document: &Document<'_>,
    holders: &Holders<'_>,
    decoder: &mut Decoder,
    problems: &mut Vec<Problem>,
) -> Option<ClusterObject> {
    let spec = document.node.entry("spec").map(|entry| &entry.node);
    let given = |name: &str| spec.and_then(|spec| spec.entry(name));
    let inline: Vec<&Entry> = SPEC.fields.iter().filter_map(|name| given(name)).collect();
    let Some(first) = inline.first().filter(|_| given("hostsConfRef").is_some()) else {
        return if inline.is_empty() { referenced(document, holders, decoder) } else { read_inline(document, problems) };
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

fn read_inline(document: &Document<'_>, problems: &mut Vec<Problem>) -> Option<ClusterObject> {
    let reading = read_tree(&document.node);
    problems.extend(reading.problems);
    let cluster = reading.cluster?;
    let position = cluster.position_of("metadata.name").unwrap_or(&document.node.position).clone();
    let name = cluster.name.clone();
    let form = ClusterForm::Inline { cluster: Box::new(cluster), variables: reading.variables };
    Some(ClusterObject { name, position, form })
}

fn referenced(document: &Document<'_>, holders: &Holders<'_>, decoder: &mut Decoder) -> Option<ClusterObject> {
    let (fields, head) = head::read(&document.root(), &CLUSTER, decoder)?;
    let spec = decoder.required(&fields, "spec")?;
    let fields = decoder.fields_but(&spec, &REFERENCES, &["hostsConfRef", "varsConfRef", "sshAuthRef"])?;
    for (name, because) in RESULTS {
        if let Some(field) = fields.get(name) {
            let notice = Notice::new(format!("`{name}` is not used")).at(field.position());
            decoder.note(notice.because("it is a result of the operators").hint(because));
        }
    }
    let inputs = reference::inputs(&fields, holders, decoder);
    if reference::read(&fields, "hostsConfRef", decoder).is_none() && !fields.is_misspelled("hostsConfRef") {
        let problem = Problem::new("the cluster has no hosts").at(spec.position());
        decoder.report(problem.because("`hostsConfRef` names a ConfigMap with an inventory, or `hosts` lists them"));
    }
    let Some(name) = head.name else {
        decoder.report(Problem::new("the cluster has no name").at(&head.position).because("operations name the cluster that they mean"));
        return None;
    };
    Some(ClusterObject { name, position: head.position, form: ClusterForm::Referenced(Box::new(inputs)) })
}
