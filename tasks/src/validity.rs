//! When the certificates of a control plane end.

use kok_pki::{Material, inspect_certificate};

use crate::list::certificates::{absolute, is_certificate};
use crate::observe::{Look, Observations};

/// Until when one certificate is valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Validity {
    /// What kubeadm calls it, such as `apiserver` or `etcd/server`.
    pub name: &'static str,
    /// Absolute path of the file.
    pub path: String,
    /// Whether it is an authority's.
    pub is_authority: bool,
    /// The last second of it since 1970, or why that can't be known.
    pub end: Result<i64, String>,
}

/// Some of them or all, whatever the host does.
fn certificates() -> impl Iterator<Item = Material> {
    Material::all().into_iter().filter(is_certificate)
}

/// What is needed to know it: the certificates in `/etc/kubernetes/pki`, which are public. Those inside kubeconfigs stand beside their keys,
/// and are not looked at.
pub fn looks() -> impl Iterator<Item = Look> {
    certificates().map(|material| Look::Content(absolute(material)))
}

/// Of each certificate that is there; leaves before authorities.
#[must_use]
pub fn of(seen: &Observations) -> Vec<Validity> {
    let found = certificates().filter_map(|material| Some((material, seen.contents.get(&absolute(material))?)));
    let mut validities: Vec<Validity> = found.map(|(material, content)| validity(material, content)).collect();
    validities.sort_by_key(|validity| validity.is_authority);
    validities
}

fn validity(material: Material, content: &[u8]) -> Validity {
    let facts = inspect_certificate(&String::from_utf8_lossy(content));
    let name = material.path();
    let name = name.strip_prefix("pki/").and_then(|name| name.strip_suffix(".crt")).unwrap_or(name);
    Validity {
        name,
        path: absolute(material),
        is_authority: matches!(material, Material::AuthorityCertificate(_)),
        end: facts.map(|facts| facts.not_after.unix_timestamp()).map_err(|error| error.to_string()),
    }
}
