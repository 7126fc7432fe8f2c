//! The record of what addons have in the cluster: the ConfigMap `kube-system/kokctl-addons`, with one key for each addon.
//!
//! It says what to remove when an object leaves its manifest, or an addon the list. It is written before anything is applied, so that
//! nothing is forgotten by a run that dies, and again afterwards with the sums of what was applied.

use kok_crds::model::{Addon, AddonObject, ObjectName, Prune};

use crate::observe::{KubernetesState, is_meant};

/// Name of the ConfigMap.
pub const RECORD: &str = "kokctl-addons";

/// Kinds that people write manifests of and that have no namespaces. Of others only the API knows it, and takes a namespace for none.
const WITHOUT_NAMESPACE: [&str; 14] = [
    "APIService",
    "ClusterRole",
    "ClusterRoleBinding",
    "CSIDriver",
    "CustomResourceDefinition",
    "IngressClass",
    "MutatingWebhookConfiguration",
    "Namespace",
    "PersistentVolume",
    "PriorityClass",
    "RuntimeClass",
    "StorageClass",
    "ValidatingAdmissionPolicy",
    "ValidatingWebhookConfiguration",
];

/// The object that is meant, in the addon's namespace if it names none.
#[must_use]
pub(crate) fn meant(addon: &Addon, object: &AddonObject) -> ObjectName {
    let name = object.name.clone();
    let namespace = addon.namespace.clone().filter(|_| !WITHOUT_NAMESPACE.contains(&name.kind.as_str()));
    ObjectName { namespace: name.namespace.or(namespace), ..name }
}

/// What the cluster says of an addon.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AddonRecord {
    /// The sum of the manifest that was applied; none while it is being applied.
    pub source: Option<String>,
    /// Its objects, each with the sum of its fields that are ours if it was applied.
    pub objects: Vec<(ObjectName, Option<String>)>,
}

/// Begins the line with the sum of the manifest.
pub(crate) const SOURCE: &str = "source";

impl AddonRecord {
    /// The record of an addon, if the cluster has one.
    #[must_use]
    pub fn find(state: &KubernetesState, addon: &str) -> Option<Self> {
        let map = state.object("ConfigMap", "kube-system", RECORD)?;
        map.0.pointer("/data")?.get(addon)?.as_str().map(Self::parse)
    }

    /// Names of all addons that have a record.
    pub fn addons(state: &KubernetesState) -> impl Iterator<Item = &str> {
        let map = state.object("ConfigMap", "kube-system", RECORD);
        let data = map.and_then(|map| map.0.pointer("/data")?.as_object());
        data.into_iter().flat_map(|data| data.keys().map(String::as_str))
    }

    /// What somebody else has written there is passed over.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut record = Self::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            match words.as_slice() {
                [SOURCE, sum] => record.source = Some((*sum).to_owned()),
                [api_version, kind, path, rest @ ..] => {
                    let Some((namespace, name)) = path.split_once('/').filter(|_| !line.contains(['"', '\\'])) else { continue };
                    let namespace = (!namespace.is_empty()).then(|| namespace.to_owned());
                    let (api_version, kind, name) = ((*api_version).to_owned(), (*kind).to_owned(), name.to_owned());
                    // Behind the addon's name.
                    let sum = rest.get(1).map(|sum| (*sum).to_owned());
                    record.objects.push((ObjectName { api_version, kind, namespace, name }, sum));
                }
                _ => {}
            }
        }
        record
    }

    /// The sum of an object of a manifest.
    #[must_use]
    pub fn sum(&self, named: &ObjectName) -> Option<&str> {
        self.objects.iter().find(|(is, _)| is_meant(named, is) || is == named).and_then(|(_, sum)| sum.as_deref())
    }

    /// The objects that no manifest of these names.
    #[must_use]
    pub fn gone<'a>(&self, wanted: impl Iterator<Item = &'a ObjectName> + Clone) -> Vec<ObjectName> {
        let is_wanted = |is: &ObjectName| wanted.clone().any(|named| is_meant(named, is) || named == is);
        self.objects.iter().map(|(is, _)| is).filter(|is| !is_wanted(is)).cloned().collect()
    }
}

/// What goes and what stays of objects that no manifest has any more.
#[must_use]
pub(crate) fn divided(left: Vec<ObjectName>, prune: Prune) -> (Vec<ObjectName>, Vec<ObjectName>) {
    left.into_iter().partition(|name| prune == Prune::All || !name.holds_others())
}

/// What stays, for people, behind what else is said.
pub(crate) fn stays(kept: &[ObjectName]) -> String {
    match kept {
        [] => String::new(),
        [one] => format!("; {one} stays, with what it holds of others, unless `--prune` is given"),
        [one, others @ ..] => format!("; {one} and {} more stay, with what they hold of others, unless `--prune` is given", others.len()),
    }
}

/// A line of a record that says only that there may be such an object.
pub(crate) fn line(name: &ObjectName) -> String {
    format!("{} {} {}/{}\n", name.api_version, name.kind, name.namespace.as_deref().unwrap_or_default(), name.name)
}
