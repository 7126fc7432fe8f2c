//! When the certificates of a control plane end.

use kok_pki::{Material, inspect_certificate};

use crate::list::certificates::absolute;
use crate::observe::{Look, Observations};

/// Until when one certificate is valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Validity {
    /// What kubeadm calls it, such as `apiserver`, `etcd/server` or `admin.conf`.
    pub name: &'static str,
    /// Absolute path of the file.
    pub path: String,
    /// Whether it is an authority's.
    pub is_authority: bool,
    /// The last second of it since 1970, or why that can't be known.
    pub end: Result<i64, String>,
}

/// What is needed to know it: the certificates in `/etc/kubernetes/pki` and those inside kubeconfigs, without the keys beside them.
pub fn looks() -> impl Iterator<Item = Look> {
    Material::all().into_iter().filter_map(|material| match material {
        Material::AuthorityCertificate(_) | Material::LeafCertificate(_) => Some(Look::Content(absolute(material))),
        Material::Kubeconfig(_) => Some(Look::KubeconfigCertificate(absolute(material))),
        _ => None,
    })
}

/// Of each certificate that is there; leaves before kubeconfigs before authorities.
#[must_use]
pub fn certificate_validities(seen: &Observations) -> Vec<Validity> {
    let pem = |material: Material| match material {
        Material::Kubeconfig(_) => seen.kubeconfigs.get(&absolute(material))?.clone(),
        Material::AuthorityCertificate(_) | Material::LeafCertificate(_) => {
            Some(String::from_utf8_lossy(seen.contents.get(&absolute(material))?).into_owned())
        }
        _ => None,
    };
    let found = Material::all().into_iter().filter_map(|material| Some(validity(material, &pem(material)?)));
    let mut validities: Vec<Validity> = found.collect();
    validities.sort_by_key(|validity| validity.is_authority);
    validities
}

fn validity(material: Material, pem: &str) -> Validity {
    let facts = inspect_certificate(pem);
    let name = material.path();
    let name = name.strip_prefix("pki/").and_then(|name| name.strip_suffix(".crt")).unwrap_or(name);
    Validity {
        name,
        path: absolute(material),
        is_authority: matches!(material, Material::AuthorityCertificate(_)),
        end: facts.map(|facts| facts.not_after.unix_timestamp()).map_err(|error| error.to_string()),
    }
}
