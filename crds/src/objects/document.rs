//! Documents of files, sorted by kind.

use super::API_VERSIONS;
use super::place::Lines;
use crate::decode::{Decoder, Field};
use crate::tree::{self, Node, Value};
use crate::vault::mark_leaves;
use crate::words::{nearest, quote, with_nearest};
use crate::{Notice, Problem};

/// Kinds of objects that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ObjectKind {
    Cluster,
    Fleet,
    Operation,
    ConfigMap,
    Secret,
}

/// Versions of the API of Kubernetes itself.
const CORE: [&str; 1] = ["v1"];

/// What objects are called.
const KINDS: [(&str, &[&str], ObjectKind); 5] = [
    ("Cluster", &API_VERSIONS, ObjectKind::Cluster),
    ("Fleet", &API_VERSIONS, ObjectKind::Fleet),
    ("ClusterOperation", &API_VERSIONS, ObjectKind::Operation),
    ("ConfigMap", &CORE, ObjectKind::ConfigMap),
    ("Secret", &CORE, ObjectKind::Secret),
];

/// Kinds of kubean that say what its own air-gap bundles hold.
const OF_KUBEAN: [&str; 2] = ["Manifest", "LocalArtifactSet"];

/// A file.
pub(super) struct FileText<'t> {
    name: &'t str,
    text: &'t str,
    /// Whether all of it was encrypted.
    is_sealed: bool,
    pub(super) lines: Lines<'t>,
}

impl<'t> FileText<'t> {
    pub(super) fn new(name: &'t str, text: &'t str, is_sealed: bool) -> Self {
        Self { name, text, is_sealed, lines: Lines::new(name, text) }
    }
}

/// An object.
pub(super) struct Document<'t> {
    pub(super) kind: ObjectKind,
    pub(super) node: Node,
    pub(super) lines: &'t Lines<'t>,
}

impl Document<'_> {
    pub(super) fn root(&self) -> Field<'_> {
        Field { path: String::new(), node: &self.node }
    }
}

/// The objects of a file that are read.
pub(super) fn read<'t>(text: &'t FileText<'t>, decoder: &mut Decoder) -> Vec<Document<'t>> {
    match tree::parse(text.name, text.text) {
        Ok(mut nodes) => {
            if text.is_sealed {
                nodes.iter_mut().for_each(mark_leaves);
            }
            nodes.into_iter().flat_map(|node| sorted(node, &text.lines, decoder)).collect()
        }
        Err(problem) => {
            decoder.report(problem);
            Vec::new()
        }
    }
}

/// The objects in a document: none, one, or those of a list.
fn sorted<'t>(node: Node, lines: &'t Lines<'t>, decoder: &mut Decoder) -> Vec<Document<'t>> {
    let Some((api_version, kind)) = type_of(&node, decoder) else {
        return Vec::new();
    };
    if is_list(&kind) {
        return items(node, decoder).into_iter().flat_map(|node| sorted(node, lines, decoder)).collect();
    }
    match KINDS.iter().find(|(name, _, _)| *name == kind) {
        Some((_, versions, kind)) if versions.contains(&api_version.as_str()) => vec![Document { kind: *kind, node, lines }],
        Some((_, versions, _)) => {
            decoder.report(wrong_version(&node, &kind, &api_version, versions));
            Vec::new()
        }
        None => {
            other_kind(&node, &kind, &api_version, decoder);
            Vec::new()
        }
    }
}

/// `List` is what kubectl prints, `ClusterList` and the like what the API server answers.
fn is_list(kind: &str) -> bool {
    kind.strip_suffix("List").is_some_and(|item| item.is_empty() || KINDS.iter().any(|(name, _, _)| *name == item))
}

/// What every object has.
const FIELDS: [&str; 4] = ["apiVersion", "kind", "metadata", "spec"];

/// `apiVersion` and `kind`.
fn type_of(node: &Node, decoder: &mut Decoder) -> Option<(String, String)> {
    let root = Field { path: String::new(), node };
    let entries = decoder.entries(&root, "an object")?;
    if !entries.iter().any(|entry| entry.key == "apiVersion" || entry.key == "kind") {
        let problem = Problem::new("the document is no object").at(&node.position);
        decoder.report(
            problem
                .because("an object says its `apiVersion` and its `kind`")
                .hint("an inventory stands under `hosts.yml` of a ConfigMap, variables stand under `group_vars.yml`"),
        );
        return None;
    }
    let mut text = |name: &str| match node.entry(name) {
        Some(entry) => decoder.text(&Field { path: name.to_owned(), node: &entry.node }).map(str::to_owned),
        None => {
            let near = entries.iter().find(|entry| nearest(&entry.key, &FIELDS) == Some(name));
            decoder.report(match near {
                Some(entry) => Problem::new(format!("unknown field {}", quote(&entry.key)))
                    .at(&entry.key_position)
                    .because(format!("every object needs `{name}`"))
                    .hint(format!("did you mean `{name}`?")),
                None => Problem::new(format!("the field `{name}` is missing"))
                    .of_kind(crate::message::Kind::Absent)
                    .at(&node.position)
                    .because("every object needs it")
                    .hint(match name {
                        "kind" => "write what it is, for example `kind: Cluster`",
                        _ => "a Cluster has `apiVersion: kubeonkube.clay.io/v1alpha1`, a ConfigMap or a Secret `apiVersion: v1`",
                    }),
            });
            None
        }
    };
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    Some((api_version?, kind?))
}

/// Where a field of the document stands.
fn place<'a>(node: &'a Node, name: &str) -> &'a crate::Position {
    node.entry(name).map_or(&node.position, |entry| &entry.node.position)
}

fn wrong_version(node: &Node, kind: &str, api_version: &str, versions: &[&str]) -> Problem {
    let problem = Problem::new(format!("`apiVersion` of a {kind} is {}", quote(api_version))).at(place(node, "apiVersion"));
    with_nearest(problem.because(format!("this version reads {}", versions.join(" and "))), api_version, versions, "write one of these")
}

fn other_kind(node: &Node, kind: &str, api_version: &str, decoder: &mut Decoder) {
    let position = place(node, "kind");
    let is_of_group = API_VERSIONS.contains(&api_version);
    if is_of_group && OF_KUBEAN.contains(&kind) {
        let notice = Notice::new(format!("the {kind} is not used")).at(position);
        return decoder.note(notice.because("it says what kubean's own bundles hold; kokctl's bundle says that itself"));
    }
    let kinds = KINDS.map(|(name, _, _)| name);
    if is_of_group || nearest(kind, &kinds).is_some() {
        let problem = Problem::new(format!("unknown kind {}", quote(kind))).at(position);
        return decoder.report(with_nearest(
            problem.because(format!("this version reads {}", kinds.join(", "))),
            kind,
            &kinds,
            "leave the object out of what is given here",
        ));
    }
    let notice = Notice::new(format!("the object of kind {} is not used", quote(kind))).at(position);
    decoder.note(notice.because("nothing that is read here can name it"));
}

fn items(node: Node, decoder: &mut Decoder) -> Vec<Node> {
    let position = node.position;
    let entries = match node.value {
        Value::Map(entries) => entries,
        _ => Vec::new(),
    };
    match entries.into_iter().find(|entry| entry.key == "items").map(|entry| entry.node.value) {
        Some(Value::List(items)) => items,
        Some(Value::Null) => Vec::new(),
        _ => {
            let problem = Problem::new("the list has no `items`").at(&position);
            decoder.report(
                problem
                    .because("an object of kind List holds others under `items`")
                    .hint("write the objects there, or each as a document of its own, with `---` between them"),
            );
            Vec::new()
        }
    }
}
