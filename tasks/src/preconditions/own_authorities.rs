//! Authorities that the user brings along are those that the hosts have, if they have any: none is ever replaced.

use kok_crds::model::{AuthorityName, Cluster, Host, OwnAuthority};
use kok_pki::{AuthorityKind, Material, inspect_certificate};

use super::Findings;
use super::owner::is_recorded;
use crate::list::certificates;
use crate::observe::Look;
use crate::plan::{Refusal, Seen};

/// Which authority of the certificates it is.
pub(crate) fn kind(name: AuthorityName) -> AuthorityKind {
    match name {
        AuthorityName::Kubernetes => AuthorityKind::Kubernetes,
        AuthorityName::Etcd => AuthorityKind::Etcd,
        AuthorityName::FrontProxy => AuthorityKind::FrontProxy,
    }
}

fn path(own: &OwnAuthority) -> String {
    certificates::absolute(Material::AuthorityCertificate(kind(own.name)))
}

/// The certificates, which are public.
pub(super) fn looks<'a>(cluster: &'a Cluster, host: &'a Host) -> impl Iterator<Item = Look> + 'a {
    let own = cluster.settings.certificates.authorities.iter().filter(|_| host.roles.control_plane || host.roles.etcd);
    own.map(|own| Look::Content(path(own)))
}

/// See the module; each authority is told once.
pub(super) fn check(cluster: &Cluster, seen: &Seen, found: &mut Findings) {
    for own in &cluster.settings.certificates.authorities {
        let mut hosts = cluster.hosts.iter().filter(|host| is_recorded(cluster, host, seen));
        if let Some(refusal) = hosts.find_map(|host| differs(own, host, seen)) {
            found.refuse(refusal);
        }
    }
}

fn differs(own: &OwnAuthority, host: &Host, seen: &Seen) -> Option<Refusal> {
    let (path, name) = (path(own), own.name.as_str());
    let theirs = String::from_utf8_lossy(seen.observations(&host.name).contents.get(&path)?);
    let print = |pem: &str| inspect_certificate(pem).map_or_else(|_| "none that can be read".to_owned(), |facts| facts.sha256);
    let (theirs, ours) = (print(&theirs), print(&own.pair.as_ref()?.certificate));
    (theirs != ours).then(|| {
        Refusal::new(format!("the cluster has another authority than `{name}` of its file"))
            .at(format!("host {} ({}): {path}", host.name, host.address))
            .because(format!("that certificate has the SHA-256 {theirs}; that of {} has {ours}", own.certificate.origin))
            .hint(
                "an authority that is in use is never replaced: give the certificate and the key that the hosts have, or leave it out; or, if the \
                 cluster can go, take it down with `kokctl reset`, then apply",
            )
    })
}
