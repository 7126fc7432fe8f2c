//! What stands for the secrets of a run.

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex};

use kok_crds::model::{API_SERVER_PORT, Cluster, Host};
use kok_pki::{
    Authorities, Authority, AuthorityKind, FoundAuthorities, KeyAlgorithm, KeyPair, KubeconfigUser, Material, PkiError, Randomness,
};
use kok_tasks::digest::sha256;
use kok_tasks::identity;
use kok_tasks::in_use::{KUBELET_CLIENT, KUBELET_SERVING_KEY};
use kok_tasks::secret_name::SecretName;
use time::OffsetDateTime;

use super::NOW;

/// By host and path below `/etc/kubernetes`.
pub(crate) type Files = BTreeMap<String, BTreeMap<String, String>>;

pub(crate) struct System;

impl Randomness for System {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), PkiError> {
        aws_lc_rs::rand::fill(bytes).map_err(|_| PkiError::Randomness("none".into()))
    }

    fn key_pair(&mut self, algorithm: KeyAlgorithm) -> Result<KeyPair, PkiError> {
        if algorithm == KeyAlgorithm::Rsa2048 { rsa_key_pair() } else { algorithm.generate() }
    }
}

/// More than a cluster of a test has, so that none of them has a key twice.
const RSA_KEYS: usize = 64;

/// One of a few keys in turn, for to find their primes takes longer than all else that tests do.
fn rsa_key_pair() -> Result<KeyPair, PkiError> {
    static MADE: Mutex<(Vec<String>, usize)> = Mutex::new((Vec::new(), 0));
    let mut made = MADE.lock().unwrap();
    let (keys, next) = &mut *made;
    if keys.len() < RSA_KEYS {
        let pair = KeyAlgorithm::Rsa2048.generate()?;
        keys.push(pair.serialize_pem());
        return Ok(pair);
    }
    *next = (*next + 1) % RSA_KEYS;
    Ok(KeyPair::from_pem(&keys[*next]).unwrap())
}

/// Certificates and kubeconfigs of one control plane and of three, made once.
static OF_ONE: LazyLock<Files> = LazyLock::new(|| files(&super::cluster()));
static OF_THREE: LazyLock<Files> = LazyLock::new(|| files(&super::highly_available()));
/// In the version before the profile of the API server's kubelet client was changed.
static OF_THREE_OLDER: LazyLock<Files> = LazyLock::new(|| files(&super::upgrading::of_version(super::upgrading::OLD)));
/// Further ones, that join.
pub(crate) const JOINING: &str =
    "    - {name: cp4, address: 10.20.0.16, roles: [control-plane]}\n    - {name: cp5, address: 10.20.0.17, roles: [control-plane]}\n";
static OF_FIVE: LazyLock<Files> = LazyLock::new(|| {
    let text = include_str!("../../fixtures/highly-available.yaml");
    files(&super::cluster_of(&text.replace("    - {name: worker1", &format!("{JOINING}    - {{name: worker1"))))
});
static WITH_OWN_ETCD: LazyLock<Files> = LazyLock::new(|| files(&super::own_etcd()));
static WITH_FIVE_OWN_MEMBERS: LazyLock<Files> = LazyLock::new(|| files(&super::cluster_of(&super::own_etcd_of_five())));
static OF_THREE_WITH_OWN_ETCD: LazyLock<Files> = LazyLock::new(|| files(&super::cluster_of(&super::own_etcd_of_three())));

fn files(cluster: &Cluster) -> Files {
    let now = OffsetDateTime::from_unix_timestamp(NOW).unwrap();
    files_of(cluster, &Authorities::generate(&identity::policy(cluster), now, &mut System).unwrap())
}

fn files_of(cluster: &Cluster, authorities: &Authorities) -> Files {
    let now = OffsetDateTime::from_unix_timestamp(NOW).unwrap();
    let of_host = |host: &Host| {
        let own = identity::control_plane(cluster, host);
        let make = if host.roles.control_plane { kok_pki::control_plane } else { kok_pki::etcd_host };
        let files = make(&own, authorities, &identity::policy(cluster), now, &mut System).unwrap();
        let texts = files.iter().map(|file| (file.path().to_owned(), file.content.expose().to_owned()));
        (host.name.clone(), texts.collect())
    };
    cluster.hosts.iter().filter(|host| host.roles.control_plane || host.roles.etcd).map(of_host).collect()
}

/// Those of a cluster with as many control planes. One that has more names in its certificates gets its own, which stay until the test ends.
pub(crate) fn shared_files(cluster: &Cluster) -> &'static Files {
    let more = cluster.external_endpoint().is_some() || cluster.virtual_address().is_some();
    if more || cluster.api_server_port() != API_SERVER_PORT {
        return Box::leak(Box::new(files(cluster)));
    }
    if cluster.network.is_dual_stack() {
        let hosts = cluster.hosts.iter().map(|host| Host { address_ipv6: Some(super::ipv6_of(host)), ..host.clone() }).collect();
        return Box::leak(Box::new(files(&Cluster { hosts, ..cluster.clone() })));
    }
    match (cluster.has_etcd_units(), cluster.is_highly_available()) {
        (true, _) if cluster.etcd_hosts().count() == 5 => &WITH_FIVE_OWN_MEMBERS,
        (true, _) if cluster.control_planes().count() == 3 => &OF_THREE_WITH_OWN_ETCD,
        (true, _) => &WITH_OWN_ETCD,
        (false, true) if cluster.control_planes().count() == 5 => &OF_FIVE,
        (false, true) if cluster.kubernetes_version.minor < 37 => &OF_THREE_OLDER,
        (false, true) => &OF_THREE,
        (false, false) => &OF_ONE,
    }
}

/// The same cluster's, with another authority in the place of one, of which all trust these.
pub(crate) fn with(files: &Files, cluster: &Cluster, kind: AuthorityKind, (trusted, key): (&str, &str)) -> &'static Files {
    let text = |path: &str| files.values().find_map(|files| files.get(path)).unwrap().clone();
    let pair = |kind| {
        let [certificate, key] = [Material::AuthorityCertificate(kind), Material::AuthorityKey(kind)].map(|it| text(it.path()));
        Some((certificate, Some(kok_pki::SecretText::new(key))))
    };
    let found = FoundAuthorities {
        kubernetes: pair(AuthorityKind::Kubernetes),
        etcd: pair(AuthorityKind::Etcd),
        front_proxy: pair(AuthorityKind::FrontProxy),
        service_account: Some(kok_pki::SecretText::new(text("pki/sa.key"))),
        token_keys: None,
    };
    let now = OffsetDateTime::from_unix_timestamp(NOW).unwrap();
    let authorities = Authorities::complete(found, &identity::policy(cluster), now, &mut System).unwrap();
    let authorities = authorities.with(kind, trusted.to_owned(), Some(kok_pki::SecretText::new(key.to_owned()))).unwrap();
    Box::leak(Box::new(files_of(cluster, &authorities)))
}

/// What kubelets show, with its key; made once for each authority and host.
static OF_KUBELETS: Mutex<BTreeMap<String, [String; 3]>> = Mutex::new(BTreeMap::new());

/// What a run would make for the kubelet of a host.
pub(crate) fn kubelet_file(files: &Files, cluster: &Cluster, host: &Host, path: &str) -> String {
    let address_ipv6 = host.address_ipv6.or_else(|| cluster.network.is_dual_stack().then(|| super::ipv6_of(host)));
    let host = Host { address_ipv6, ..host.clone() };
    let of_authority = |file: &str| files.values().find_map(|files| files.get(file)).unwrap();
    let key = format!("{} {} {:?} {}", host.name, host.address, host.address_ipv6, of_authority("pki/ca.crt"));
    let mut made = OF_KUBELETS.lock().unwrap();
    let pair = made.entry(key).or_insert_with(|| {
        let key = kok_pki::SecretText::new(of_authority("pki/ca.key").clone());
        let authority = Authority::from_pem(of_authority("pki/ca.crt").clone(), Some(key)).unwrap();
        let now = OffsetDateTime::from_unix_timestamp(NOW).unwrap();
        let issue = |profile: &kok_pki::Profile| kok_pki::issue(profile, &authority, &identity::policy(cluster), now, &mut System).unwrap();
        let issued = issue(&identity::kubelet_server(&host));
        let client = issue(&KubeconfigUser::Kubelet.profile(&identity::control_plane(cluster, &host)));
        [issued.certificate_pem, issued.key.pem().expose().to_owned(), client.certificate_pem]
    });
    if path == KUBELET_CLIENT {
        return pair[2].clone();
    }
    pair[usize::from(path == KUBELET_SERVING_KEY)].clone()
}

/// What a run would make of a name.
pub(crate) fn secret(files: &Files, name: &SecretName) -> String {
    match name {
        SecretName::ControlPlaneFile { host, path } if files.contains_key(host) => files[host][path].clone(),
        other => sha256(other.to_string().as_bytes()),
    }
}
