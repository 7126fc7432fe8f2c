//! What is installed into a cluster besides: objects out of manifests.

use std::fmt;

use serde_json::Value;

use crate::Position;

/// The name of the addon that is the cluster's network, where that comes from a manifest.
pub const NETWORK_ADDON: &str = "network";

/// Objects that are to be in the cluster under a common name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addon {
    /// Its name, a DNS label, unique in the cluster.
    pub name: String,
    /// Where objects go that name no namespace; without one it is `default`.
    pub namespace: Option<String>,
    /// Where its objects come from.
    pub manifest: Manifest,
    /// The SHA-256 that the manifest has to have, in lower-case hexadecimal.
    pub sha256: Option<String>,
    /// What goes when it leaves the manifest.
    pub prune: Prune,
    /// Where in the user's file the manifest is named.
    pub origin: Position,
    /// The objects, in the order of the manifest. Empty until somebody has read it ([`crate::read_manifest`]).
    pub objects: Vec<AddonObject>,
}

/// Which of the objects that leave a manifest are removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Prune {
    /// Those with which nothing else goes: all but namespaces and definitions of resources.
    #[default]
    Objects,
    /// All, and with namespaces what is in them, with definitions all objects of their kinds, whoever made them.
    All,
}

/// Where a manifest comes from.
#[derive(Clone, PartialEq, Eq)]
pub enum Manifest {
    /// Files, by paths as seen from the folder of the user's file; at least one.
    Files(Vec<String>),
    /// The text itself, which may hold passwords.
    Contents(String),
    /// An address to fetch it from.
    Url(String),
}

impl fmt::Debug for Manifest {
    /// Without the text.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Files(paths) => write!(formatter, "Files({paths:?})"),
            Self::Contents(_) => formatter.write_str("Contents"),
            Self::Url(url) => write!(formatter, "Url({url:?})"),
        }
    }
}

/// Which object of the API is meant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectName {
    /// Group and version, as `apps/v1` or `v1`.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// The namespace that it names; none for kinds without one, and where the addon's counts.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

impl ObjectName {
    /// Whether others lose theirs when it goes: with a Namespace goes what is in it, with a CustomResourceDefinition all objects of its kind.
    #[must_use]
    pub fn holds_others(&self) -> bool {
        matches!((self.group(), self.kind.as_str()), ("", "Namespace") | ("apiextensions.k8s.io", "CustomResourceDefinition"))
    }

    /// The group of its kind, empty for that of the core.
    #[must_use]
    pub fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(formatter, "{} {namespace}/{}", self.kind, self.name),
            None => write!(formatter, "{} {}", self.kind, self.name),
        }
    }
}

/// An object of a manifest.
#[derive(Clone, PartialEq, Eq)]
pub struct AddonObject {
    /// Which one it is.
    pub name: ObjectName,
    /// All of it, as the manifest has it. It may hold passwords.
    pub value: Value,
    /// Where it begins.
    pub position: Position,
}

impl fmt::Debug for AddonObject {
    /// Only which one it is.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} at {}", self.name, self.position)
    }
}
