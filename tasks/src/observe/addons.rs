//! Objects of addons, as the cluster has them.
//!
//! The API server keeps for each object which fields whoever applies has set, and takes them off that list when somebody else changes them
//! (server-side apply, `metadata.managedFields`). So the sum of our list is another one as soon as anything that we applied is no more as
//! we applied it, and stays the same whatever others add.

use std::collections::{BTreeMap, BTreeSet};

use kok_crds::model::ObjectName;
use serde_json::{Value, json};

use super::parse::{ParseError, Section, text_of};

/// The label of every object of an addon; its value is the addon's name.
pub const ADDON_LABEL: &str = "kokctl.io/addon";

/// `tracked` takes a list of objects and prints a line for each of them that exists: version, kind, `namespace/name`, the addon that it
/// belongs to, when it is to go, and, behind a tab, which fields are ours. `summed` makes a sum of the last. After `kube` is defined.
pub(crate) const FUNCTIONS: &str = r#"tab=$(printf '\t')
tracked() { kube get --ignore-not-found -f - -o jsonpath='{range .items[*]}{.apiVersion} {.kind} {.metadata.namespace}/{.metadata.name} {.metadata.labels.kokctl\.io/addon} {.metadata.deletionTimestamp}{"\t"}{.metadata.managedFields[?(@.manager=="kokctl")].fieldsV1}{"\n"}{end}'; }
summed() { while IFS= read -r line; do sum=$(printf '%s' "${line#*"$tab"}" | sha256sum); printf '%s %s\n' "${line%%"$tab"*}" "${sum%% *}"; done; }
"#;

/// An object that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveObject {
    /// The addon whose label it has; empty without one.
    pub addon: String,
    /// Whether it is on its way out.
    pub is_going: bool,
    /// The sum of the fields that are ours.
    pub sum: String,
}

/// Names of objects as a list that kubectl takes.
#[must_use]
pub(crate) fn list<'a>(names: impl IntoIterator<Item = &'a ObjectName>) -> String {
    let item = |name: &ObjectName| {
        let mut metadata = json!({"name": name.name});
        if let (Value::Object(metadata), Some(namespace)) = (&mut metadata, &name.namespace) {
            metadata.insert("namespace".to_owned(), namespace.as_str().into());
        }
        json!({"apiVersion": name.api_version, "kind": name.kind, "metadata": metadata})
    };
    json!({"apiVersion": "v1", "kind": "List", "items": names.into_iter().map(item).collect::<Vec<_>>()}).to_string()
}

/// All in one command. What the API has no kind for does not exist, which kubectl calls an error.
pub(super) fn push(script: &mut String, names: &BTreeSet<ObjectName>) {
    if names.is_empty() {
        return;
    }
    script.push_str("mark kube-addons\nif [ -n \"$api_server\" ]; then\n");
    script.push_str(FUNCTIONS);
    script.push_str("tracked 2>/dev/null <<'KUBERNETES_OBJECTS' | summed\n");
    script.push_str(&list(names));
    script.push_str("\nKUBERNETES_OBJECTS\nfi\n");
}

/// What there is of each object that was asked for.
pub(super) fn read(sections: &[Section<'_>], asked: &BTreeSet<ObjectName>) -> Result<BTreeMap<ObjectName, Option<LiveObject>>, ParseError> {
    let mut found: BTreeMap<ObjectName, Option<LiveObject>> = asked.iter().map(|name| (name.clone(), None)).collect();
    for line in text_of(sections, "kube-addons")?.lines().filter(|line| !line.is_empty()) {
        let (name, live) = read_line(line).ok_or_else(|| ParseError::new("kube-addons", line))?;
        for (_, entry) in found.iter_mut().filter(|(asked, _)| is_meant(asked, &name)) {
            *entry = Some(live.clone());
        }
    }
    Ok(found)
}

fn read_line(line: &str) -> Option<(ObjectName, LiveObject)> {
    let fields: Vec<&str> = line.split(' ').collect();
    let [api_version, kind, path, addon, going, sum] = fields.as_slice() else { return None };
    let (namespace, name) = path.split_once('/')?;
    let namespace = (!namespace.is_empty()).then(|| namespace.to_owned());
    let name = ObjectName { api_version: (*api_version).to_owned(), kind: (*kind).to_owned(), namespace, name: name.to_owned() };
    Some((name, LiveObject { addon: (*addon).to_owned(), is_going: !going.is_empty(), sum: (*sum).to_owned() }))
}

/// Whether an object of the API is the one that a manifest names. Only the API knows whether a kind has namespaces.
#[must_use]
pub(crate) fn is_meant(named: &ObjectName, is: &ObjectName) -> bool {
    let in_namespace = match &is.namespace {
        None => true,
        Some(namespace) => *namespace == *named.namespace.as_deref().unwrap_or("default"),
    };
    in_namespace && named.group() == is.group() && named.kind == is.kind && named.name == is.name
}
