//! Which files of certificates, keys and kubeconfigs a host has, and where.

use kok_crds::model::{Cluster, Host, Roles};
use kok_pki::{AuthorityKind, KubeconfigUser, Leaf, Material};

use crate::issued::is_kept_elsewhere;
use crate::observe::Look;
use crate::operations::CLIENT_CERTIFICATE;

pub(crate) fn absolute(material: Material) -> String {
    format!("/etc/kubernetes/{}", material.path())
}

/// The kubeconfigs that stay on a host. `super-admin.conf`, whose owner nothing can stop, is one of them only where that is asked for: then each
/// control plane has it, since the one that is left may be any. A worker joins with a kubeconfig that was issued, or makes its own when it joins.
pub(super) fn kubeconfigs(cluster: &Cluster, roles: Roles) -> impl Iterator<Item = Material> {
    let stays = cluster.settings.certificates.super_admin_kubeconfig;
    let is_issued = roles.is_node() && is_kept_elsewhere(cluster, AuthorityKind::Kubernetes);
    let users = KubeconfigUser::ALL.into_iter().filter(move |user| match user {
        KubeconfigUser::SuperAdmin => roles.control_plane && stays,
        KubeconfigUser::Kubelet => roles.control_plane || is_issued,
        _ => roles.control_plane,
    });
    users.map(Material::Kubeconfig)
}

/// Whether a file is of etcd alone: hosts that run it have these, and no others.
fn is_of_etcd(material: Material) -> bool {
    match material {
        Material::AuthorityCertificate(kind) | Material::AuthorityKey(kind) => kind == AuthorityKind::Etcd,
        Material::LeafCertificate(leaf) | Material::LeafKey(leaf) => is_leaf_of_etcd(leaf),
        Material::ServiceAccountKey | Material::ServiceAccountPublicKey | Material::Kubeconfig(_) => false,
    }
}

fn is_leaf_of_etcd(leaf: Leaf) -> bool {
    matches!(leaf, Leaf::EtcdServer | Leaf::EtcdPeer | Leaf::EtcdHealthcheckClient)
}

/// What kokctl puts into `/etc/kubernetes/pki` of a host with these roles. An API server without etcd beside it knows etcd's authority by its
/// certificate alone, and so does a worker that joins by an issued kubeconfig the one of Kubernetes.
pub(super) fn of_tree(cluster: &Cluster, roles: Roles) -> Vec<Material> {
    let elsewhere = |kind| is_kept_elsewhere(cluster, kind);
    let known = Material::AuthorityCertificate(AuthorityKind::Etcd);
    let of_kubelet = |material| {
        roles.is_node() && material == Material::AuthorityCertificate(AuthorityKind::Kubernetes) && elsewhere(AuthorityKind::Kubernetes)
    };
    let wanted = |material: &Material| match (roles.control_plane, roles.etcd) {
        _ if matches!(material, Material::AuthorityKey(kind) if elsewhere(*kind)) => false,
        (true, true) => !matches!(material, Material::Kubeconfig(_)),
        (true, false) => !matches!(material, Material::Kubeconfig(_)) && (!is_of_etcd(*material) || *material == known),
        (false, true) => is_of_etcd(*material) || of_kubelet(*material),
        (false, false) => of_kubelet(*material),
    };
    Material::all().into_iter().filter(wanted).collect()
}

/// Keys of authorities that no host has.
pub(super) fn keys_elsewhere(cluster: &Cluster) -> Vec<Material> {
    AuthorityKind::ALL.into_iter().filter(|kind| is_kept_elsewhere(cluster, *kind)).map(Material::AuthorityKey).collect()
}

/// Whether a file is public.
fn is_certificate(material: &Material) -> bool {
    matches!(material, Material::AuthorityCertificate(_) | Material::LeafCertificate(_))
}

/// What is needed to judge the certificates of a control plane: the certificates themselves, which are public, and whether the keys are
/// there.
pub(crate) fn looks(cluster: &Cluster, host: &Host) -> Vec<Look> {
    let files = of_tree(cluster, host.roles);
    let contents: Vec<Look> = files.iter().filter(|file| is_certificate(file)).map(|file| Look::Content(absolute(*file))).collect();
    // What was issued is compared by its sum; what kokctl has signed is judged by the certificate inside.
    let is_issued = is_kept_elsewhere(cluster, AuthorityKind::Kubernetes);
    let kubeconfigs = kubeconfigs(cluster, host.roles).map(absolute).flat_map(|path| match is_issued {
        true => vec![Look::File { path, expected: None }],
        false => vec![Look::Path(path.clone()), Look::KubeconfigCertificate(path)],
    });
    let keys = if files.is_empty() { Vec::new() } else { keys_elsewhere(cluster) };
    let paths = files.into_iter().chain(keys).map(|material| Look::Path(absolute(material)));
    let own = (host.roles.control_plane && !is_issued).then(|| Look::Certificate(CLIENT_CERTIFICATE.to_owned()));
    contents.into_iter().chain(paths).chain(kubeconfigs).chain(own).collect()
}
