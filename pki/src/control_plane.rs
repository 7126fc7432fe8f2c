//! All files of one control-plane host.

use std::net::{IpAddr, SocketAddr};

use time::OffsetDateTime;

use crate::issue::issue;
use crate::kubeconfig::{Credentials, kubeconfig};
use crate::material::{Content, Material, MaterialFile};
use crate::{Authorities, AuthorityKind, KubeconfigUser, Leaf, PkiError, Policy, Profile, Randomness, San};

/// Facts about a control-plane host and its cluster that stand in certificates and kubeconfigs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlPlane {
    /// Name of the cluster in kubeconfigs; kubeadm's default is `kubernetes`.
    pub cluster_name: String,
    /// Minor version of Kubernetes 1.x that the certificates are for: subjects differ between versions.
    pub kubernetes_minor: u64,
    /// Name of the host's node.
    pub node_name: String,
    /// Address at which the API server and etcd of this host are reached.
    pub advertise_address: IpAddr,
    /// Port of the API server on this host.
    pub bind_port: u16,
    /// Where the cluster's API is reached, if not at this host's API server.
    pub endpoint: Option<Endpoint>,
    /// First address of the services' range.
    pub service_ip: IpAddr,
    /// DNS domain of the cluster's services.
    pub cluster_domain: String,
    /// Further names of the API server.
    pub extra_sans: Vec<San>,
    /// Further names of the member of etcd.
    pub etcd_extra_sans: Vec<San>,
}

/// A host name or address, and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Host name or address, an IPv6 address without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
}

impl ControlPlane {
    /// URL of the API server on this host.
    #[must_use]
    pub fn local_server(&self) -> String {
        format!("https://{}", SocketAddr::new(self.advertise_address, self.bind_port))
    }

    /// URL of the cluster's endpoint, or of the API server on this host if the cluster has none.
    #[must_use]
    pub fn cluster_server(&self) -> String {
        match &self.endpoint {
            None => self.local_server(),
            Some(Endpoint { host, port }) => match host.parse::<IpAddr>() {
                Ok(address) => format!("https://{}", SocketAddr::new(address, *port)),
                Err(_) => format!("https://{host}:{port}"),
            },
        }
    }
}

/// Makes the whole set of files for one control-plane host: the authorities, every leaf, the service account's keys and every kubeconfig.
/// What an authority without its key would sign is left out.
///
/// `super-admin.conf` belongs on the cluster's first control plane only; leave it out on the others.
///
/// # Errors
/// [`PkiError::InvalidName`] for a name that cannot stand in a certificate; those of [`Randomness`].
pub fn control_plane(
    host: &ControlPlane,
    authorities: &Authorities,
    policy: &Policy,
    now: OffsetDateTime,
    randomness: &mut dyn Randomness,
) -> Result<Vec<MaterialFile>, PkiError> {
    let mut files = authorities.files();
    let signs = |profile: Profile| authorities.get(profile.authority).key_pem().is_some();
    for leaf in Leaf::ALL.into_iter().filter(|leaf| signs(leaf.profile(host))) {
        files.extend(leaf_files(leaf, host, authorities, policy, now, randomness)?);
    }
    for user in KubeconfigUser::ALL.into_iter().filter(|user| signs(user.profile(host))) {
        files.push(kubeconfig_file(user, host, authorities, policy, now, randomness)?);
    }
    Ok(files)
}

/// Makes the files of a host that runs etcd and no API server: etcd's authority with its key, and etcd's own leaves, unless the key is
/// somebody else's. Of `host` its name and address count.
///
/// # Errors
/// Those of [`control_plane`].
pub fn etcd_host(
    host: &ControlPlane,
    authorities: &Authorities,
    policy: &Policy,
    now: OffsetDateTime,
    randomness: &mut dyn Randomness,
) -> Result<Vec<MaterialFile>, PkiError> {
    let own = [Material::AuthorityCertificate(AuthorityKind::Etcd), Material::AuthorityKey(AuthorityKind::Etcd)];
    let mut files: Vec<MaterialFile> = authorities.files().into_iter().filter(|file| own.contains(&file.material)).collect();
    let leaves = [Leaf::EtcdServer, Leaf::EtcdPeer, Leaf::EtcdHealthcheckClient];
    let signs = authorities.get(AuthorityKind::Etcd).key_pem().is_some();
    for leaf in leaves.into_iter().filter(|_| signs) {
        files.extend(leaf_files(leaf, host, authorities, policy, now, randomness)?);
    }
    Ok(files)
}

/// Makes one leaf with a new key: its certificate and key file.
///
/// # Errors
/// Those of [`control_plane`].
pub fn leaf_files(
    leaf: Leaf,
    host: &ControlPlane,
    authorities: &Authorities,
    policy: &Policy,
    now: OffsetDateTime,
    randomness: &mut dyn Randomness,
) -> Result<[MaterialFile; 2], PkiError> {
    let profile = leaf.profile(host);
    let issued = issue(&profile, authorities.get(profile.authority), policy, now, randomness)?;
    Ok([
        MaterialFile::new(Material::LeafCertificate(leaf), Content::Public(issued.certificate_pem)),
        MaterialFile::new(Material::LeafKey(leaf), Content::Secret(issued.key.pem().clone())),
    ])
}

/// Makes one kubeconfig with a new key and client certificate inside.
///
/// # Errors
/// Those of [`control_plane`].
pub fn kubeconfig_file(
    user: KubeconfigUser,
    host: &ControlPlane,
    authorities: &Authorities,
    policy: &Policy,
    now: OffsetDateTime,
    randomness: &mut dyn Randomness,
) -> Result<MaterialFile, PkiError> {
    let profile = user.profile(host);
    let authority = authorities.get(profile.authority);
    let issued = issue(&profile, authority, policy, now, randomness)?;
    let text = kubeconfig(
        &host.cluster_name,
        &user.server(host),
        authority.certificate_pem(),
        &Credentials { user: &profile.common_name, certificate_pem: &issued.certificate_pem, key_pem: issued.key.pem() },
    );
    Ok(MaterialFile::new(Material::Kubeconfig(user), Content::Secret(text)))
}
