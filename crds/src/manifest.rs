//! Manifests of addons: from a text to the objects in it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Number, Value as Json};

use crate::model::{Addon, AddonObject, ObjectName};
use crate::tree::{Dialect, Entry, MOST_MANIFEST_BYTES, Node, Value};
use crate::words::{count, quote};
use crate::{Position, Problem, Source};

/// Objects of an addon: each is asked for in every run, and its record has to fit into one object of the API (1 MiB).
const MOST_OBJECTS: usize = 1000;

/// Reads the objects of an addon out of the text of its manifest.
///
/// # Errors
/// Everything that is wrong with it, in the order of the text; at least one problem.
pub fn read_manifest(addon: &Addon, source: &Source) -> Result<Vec<AddonObject>, Vec<Problem>> {
    if source.text.len() > MOST_MANIFEST_BYTES {
        let problem = Problem::new(format!("the manifest of the addon {} is {} bytes long", quote(&addon.name), source.text.len()));
        let problem = problem.at(&source.position(1, 1)).because(format!("more than {MOST_MANIFEST_BYTES} bytes are not read"));
        return Err(vec![problem.hint("split it into several addons")]);
    }
    let documents = source.parse(Dialect::Manifest).map_err(|problem| vec![problem])?;
    let mut reading = Reading::default();
    documents.iter().for_each(|document| reading.document(document));
    if reading.problems.is_empty() && reading.objects.is_empty() {
        let problem = Problem::new(format!("the manifest of the addon {} holds no objects", quote(&addon.name)));
        reading.problems.push(problem.at(&source.position(1, 1)).hint("to take an addon out of the cluster, leave it out of `addons`"));
    }
    if reading.objects.len() > MOST_OBJECTS {
        let number = count(reading.objects.len(), "object");
        let problem = Problem::new(format!("the manifest of the addon {} holds {number}", quote(&addon.name)));
        let problem = problem.at(&source.position(1, 1)).because(format!("an addon has {MOST_OBJECTS} at the most"));
        reading.problems.push(problem.hint("split it into several addons"));
    }
    reading.twice(addon);
    if reading.problems.is_empty() { Ok(reading.objects) } else { Err(reading.problems) }
}

/// Objects that two addons have: each would take it from the other, and the one that goes would remove it.
#[must_use]
pub fn in_two_addons(addons: &[Addon]) -> Vec<Problem> {
    let mut first: BTreeMap<Key<'_>, (&Addon, &AddonObject)> = BTreeMap::new();
    let mut problems = Vec::new();
    for (addon, object) in addons.iter().flat_map(|addon| addon.objects.iter().map(move |object| (addon, object))) {
        let (other, _) = first.entry(key(addon, object)).or_insert((addon, object));
        if other.name != addon.name {
            let problem = Problem::new(format!("the addons {} and {} both have {}", quote(&other.name), quote(&addon.name), object.name));
            problems.push(problem.at(&object.position).because("an object belongs to one addon").hint("leave it out of one of the two"));
        }
    }
    problems
}

type Key<'a> = (&'a str, &'a str, Option<&'a str>, &'a str);

/// What tells an object from others, whatever version its kind is asked for in.
fn key<'a>(addon: &'a Addon, object: &'a AddonObject) -> Key<'a> {
    let name = &object.name;
    (name.group(), &name.kind, name.namespace.as_deref().or(addon.namespace.as_deref()), &name.name)
}

#[derive(Default)]
struct Reading {
    objects: Vec<AddonObject>,
    problems: Vec<Problem>,
}

impl Reading {
    fn report(&mut self, message: impl Into<String>, at: &Position) {
        let because = "an object of Kubernetes has an `apiVersion`, a `kind` and a `metadata.name`, each of them text";
        let hint = "look whether it is the manifest that was meant; `kubectl apply --dry-run=client -f` judges it too";
        self.problems.push(Problem::new(message).at(at).because(because).hint(hint));
    }

    fn document(&mut self, node: &Node) {
        let Value::Map(entries) = &node.value else {
            return self.report(format!("the manifest holds {}, which is no object of Kubernetes", node.value.kind()), &node.position);
        };
        if let Some(items) = items(node) {
            return items.iter().for_each(|item| self.document(item));
        }
        self.fields_twice(entries);
        let Some(name) = self.name(node) else { return };
        self.objects.push(AddonObject { name, value: json(node), position: node.position.clone() });
    }

    fn name(&mut self, node: &Node) -> Option<ObjectName> {
        let api_version = self.required(node, "apiVersion", "apiVersion");
        let kind = self.required(node, "kind", "kind");
        let Some(metadata) = node.entry("metadata") else {
            self.report("an object has no `metadata.name`", &node.position);
            return None;
        };
        let name = self.required(&metadata.node, "name", "metadata.name");
        let named = metadata.node.entry("namespace").map(|_| self.required(&metadata.node, "namespace", "metadata.namespace"));
        let namespace = match named {
            Some(read) => Some(read?),
            None => None,
        };
        Some(ObjectName { api_version: api_version?, kind: kind?, namespace, name: name? })
    }

    fn required(&mut self, map: &Node, key: &str, called: &str) -> Option<String> {
        let at = map.entry(key).map_or(&map.position, |entry| &entry.node.position);
        match text(map, key) {
            Some(text) if is_name(text) => return Some(text.to_owned()),
            Some(text) => self.report(format!("`{called}` cannot be {}", quote(text)), at),
            None => self.report(format!("an object has no `{called}`"), at),
        }
        None
    }

    /// Kubernetes would take the last one and say nothing.
    fn fields_twice(&mut self, entries: &[Entry]) {
        let mut keys = BTreeSet::new();
        for entry in entries {
            if !keys.insert(&entry.key) {
                let problem = Problem::new(format!("the field {} stands twice", quote(&entry.key))).at(&entry.key_position);
                self.problems.push(problem.because("a map has each of its fields once").hint("keep one of the two"));
            }
            self.fields_of(&entry.node);
        }
    }

    fn fields_of(&mut self, node: &Node) {
        match &node.value {
            Value::Map(entries) => self.fields_twice(entries),
            Value::List(items) => items.iter().for_each(|item| self.fields_of(item)),
            _ => {}
        }
    }

    fn twice(&mut self, addon: &Addon) {
        let mut first: BTreeMap<Key<'_>, &AddonObject> = BTreeMap::new();
        for object in &self.objects {
            if let Some(other) = first.get(&key(addon, object)) {
                let problem = Problem::new(format!("the manifest has {} twice", object.name)).at(&object.position);
                self.problems.push(problem.because(format!("the first one stands at {}", other.position)).hint("keep one of the two"));
            } else {
                first.insert(key(addon, object), object);
            }
        }
    }
}

/// The objects of a list, as `kubectl get -o yaml` prints one.
fn items(node: &Node) -> Option<&[Node]> {
    let is_list = text(node, "kind").is_some_and(|kind| kind.ends_with("List"));
    match &node.entry("items").filter(|_| is_list)?.node.value {
        Value::List(items) => Some(items),
        _ => None,
    }
}

fn text<'a>(map: &'a Node, key: &str) -> Option<&'a str> {
    match &map.entry(key)?.node.value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

/// Whether it is something that the API may call an object, a kind or a version. It stands in lists of ours, between blanks.
fn is_name(text: &str) -> bool {
    /// The API's own limit for names.
    const LONGEST: usize = 253;
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '"' | '\\' | '%');
    !text.is_empty() && text.len() <= LONGEST && !text.contains(is_odd)
}

/// What kubectl would send to the API.
fn json(node: &Node) -> Json {
    match &node.value {
        Value::Null => Json::Null,
        Value::Bool(value) => Json::Bool(*value),
        Value::Integer(value) => Json::from(*value),
        Value::Float => number(&node.spelling),
        Value::Text(text) => Json::String(text.clone()),
        Value::List(items) => Json::Array(items.iter().map(json).collect()),
        Value::Map(entries) => Json::Object(entries.iter().map(|entry| (entry.key.clone(), json(&entry.node))).collect()),
    }
}

/// A number beyond 64 bits with a sign; infinity is none to JSON.
fn number(spelling: &str) -> Json {
    let whole = spelling.parse::<u64>().map(Number::from).ok();
    let number = whole.or_else(|| Number::from_f64(spelling.parse().ok()?));
    number.map_or_else(|| Json::String(spelling.to_owned()), Json::Number)
}
