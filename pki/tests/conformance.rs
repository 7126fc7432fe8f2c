//! Every certificate of the set against one table of what kubeadm 1.37.1 makes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod support;

use std::collections::BTreeSet;

use base64::Engine as _;
use kok_pki::{AuthorityKind, KeyAlgorithm, KubeconfigUser, Leaf, MaterialFile, Policy, SecretText, inspect_certificate, matches_key};
use support::{content, host, make, now};
use time::Duration;
use x509_parser::prelude::{ParsedExtension, X509Certificate, X509Version, parse_x509_pem};

struct Row {
    file: &'static str,
    ca: &'static str,
    cn: &'static str,
    o: &'static [&'static str],
    usages: &'static [&'static str],
    sans: &'static str,
}

const API: &str = "api.demo.example,cp1,demo.example,kubernetes,kubernetes.default,kubernetes.default.svc,\
    kubernetes.default.svc.cluster.local,localhost,10.233.0.1,10.0.0.11,127.0.0.1,192.0.2.7";
const ETCD: &str = "cp1,localhost,10.0.0.11,127.0.0.1,::1";
const CLIENT: &[&str] = &["client"];
const SERVER: &[&str] = &["server"];
const BOTH: &[&str] = &["server", "client"];

#[rustfmt::skip]
const TABLE: &[Row] = &[
    Row { file: "pki/apiserver", ca: "pki/ca", cn: "kube-apiserver", o: &[], usages: SERVER, sans: API },
    Row { file: "pki/apiserver-kubelet-client", ca: "pki/ca", cn: "kube-apiserver-kubelet-client", o: &[], usages: CLIENT, sans: "" },
    Row { file: "pki/front-proxy-client", ca: "pki/front-proxy-ca", cn: "front-proxy-client", o: &[], usages: CLIENT, sans: "" },
    Row { file: "pki/apiserver-etcd-client", ca: "pki/etcd/ca", cn: "kube-apiserver-etcd-client", o: &[], usages: CLIENT, sans: "" },
    Row { file: "pki/etcd/healthcheck-client", ca: "pki/etcd/ca", cn: "kube-etcd-healthcheck-client", o: &[], usages: CLIENT, sans: "" },
    Row { file: "pki/etcd/server", ca: "pki/etcd/ca", cn: "cp1", o: &[], usages: BOTH, sans: ETCD },
    Row { file: "pki/etcd/peer", ca: "pki/etcd/ca", cn: "cp1", o: &[], usages: BOTH, sans: ETCD },
    Row { file: "admin.conf", ca: "pki/ca", cn: "kubernetes-admin", o: &["kubeadm:cluster-admins"], usages: CLIENT, sans: "" },
    Row { file: "super-admin.conf", ca: "pki/ca", cn: "kubernetes-super-admin", o: &["system:masters"], usages: CLIENT, sans: "" },
    Row { file: "controller-manager.conf", ca: "pki/ca", cn: "system:kube-controller-manager", o: &[], usages: CLIENT, sans: "" },
    Row { file: "scheduler.conf", ca: "pki/ca", cn: "system:kube-scheduler", o: &[], usages: CLIENT, sans: "" },
    Row { file: "kubelet.conf", ca: "pki/ca", cn: "system:node:cp1", o: &["system:nodes"], usages: CLIENT, sans: "" },
];

/// Certificate and key of a row in PEM, out of their files or out of the kubeconfig.
fn leaf(files: &[MaterialFile], row: &Row) -> (String, SecretText) {
    if !row.file.ends_with(".conf") {
        let read = |end| content(files, &format!("{}.{end}", row.file)).to_owned();
        return (read("crt"), SecretText::new(read("key")));
    }
    let text = content(files, row.file);
    let read = |name: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(name)).unwrap();
        let bytes = base64::engine::general_purpose::STANDARD.decode(line.trim().trim_matches('"')).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    (read("client-certificate-data:"), SecretText::new(read("client-key-data:")))
}

fn check_row(files: &[MaterialFile], row: &Row, rsa: bool) {
    let (pem, key) = leaf(files, row);
    let (_, block) = parse_x509_pem(pem.as_bytes()).unwrap();
    let certificate = block.parse_x509().unwrap();
    let facts = inspect_certificate(&pem).unwrap();
    let ca_pem = content(files, &format!("{}.crt", row.ca));
    let (_, ca_block) = parse_x509_pem(ca_pem.as_bytes()).unwrap();
    let ca = ca_block.parse_x509().unwrap();

    assert_eq!(facts.subject.common_name.as_deref(), Some(row.cn), "{}", row.file);
    assert_eq!(facts.subject.organizations, row.o, "{}", row.file);
    let sans: Vec<_> = facts.sans.iter().map(ToString::to_string).collect();
    assert_eq!(sans.join(","), row.sans, "{}", row.file);

    assert_eq!(certificate.version(), X509Version::V3);
    let usage = certificate.key_usage().unwrap().expect("key usage");
    assert!(usage.critical && usage.value.digital_signature() && usage.value.key_encipherment());
    assert!(!usage.value.key_cert_sign() && !usage.value.crl_sign());
    let extended = certificate.extended_key_usage().unwrap().expect("extended key usage").value;
    assert!(!extended.any && extended.other.is_empty() && !extended.code_signing);
    assert_eq!(extended.server_auth, row.usages.contains(&"server"), "{}", row.file);
    assert_eq!(extended.client_auth, row.usages.contains(&"client"), "{}", row.file);
    let constraints = certificate.basic_constraints().unwrap().expect("basic constraints");
    assert!(constraints.critical && !constraints.value.ca);
    assert_eq!(constraints.value.path_len_constraint, None);

    assert_eq!(certificate.issuer().as_raw(), ca.subject().as_raw());
    certificate.verify_signature(Some(ca.public_key())).expect(row.file);
    assert!(matches_key(&pem, &key).unwrap(), "{}", row.file);
    assert_eq!(authority_key_id(&certificate), subject_key_id(&ca), "{}", row.file);
    assert!(subject_key_id(&certificate).is_some());
    check_serial(&certificate);
    check_dates(&facts, Duration::days(365));
    check_key(&certificate, key.expose(), rsa);
}

fn check_serial(certificate: &X509Certificate<'_>) {
    let serial = certificate.raw_serial();
    assert_eq!(serial.len(), 16, "a fixed length, no more than the 20 bytes of RFC 5280");
    assert_eq!(serial[0] & 0xc0, 0x40, "positive, and never shorter");
}

fn check_dates(facts: &kok_pki::CertificateFacts, validity: Duration) {
    let second = now().replace_nanosecond(0).unwrap();
    assert_eq!(facts.not_before, second - Duration::hours(1));
    assert_eq!(facts.not_after, second + validity);
}

fn check_key(certificate: &X509Certificate<'_>, pem: &str, rsa: bool) {
    assert!(pem.starts_with("-----BEGIN PRIVATE KEY-----\n"), "PKCS#8");
    match certificate.public_key().parsed().unwrap() {
        x509_parser::public_key::PublicKey::RSA(key) => assert!(rsa && key.key_size() == 2048),
        x509_parser::public_key::PublicKey::EC(point) => assert!(!rsa && point.key_size() == 256),
        other => unreachable!("{other:?}"),
    }
}

fn subject_key_id(certificate: &X509Certificate<'_>) -> Option<Vec<u8>> {
    certificate.iter_extensions().find_map(|extension| match extension.parsed_extension() {
        ParsedExtension::SubjectKeyIdentifier(id) => Some(id.0.to_vec()),
        _ => None,
    })
}

fn authority_key_id(certificate: &X509Certificate<'_>) -> Option<Vec<u8>> {
    certificate.iter_extensions().find_map(|extension| match extension.parsed_extension() {
        ParsedExtension::AuthorityKeyIdentifier(id) => id.key_identifier.as_ref().map(|id| id.0.to_vec()),
        _ => None,
    })
}

fn check_authority(files: &[MaterialFile], file: &str, cn: &str, rsa: bool) {
    let pem = content(files, &format!("{file}.crt"));
    let key = content(files, &format!("{file}.key"));
    let (_, block) = parse_x509_pem(pem.as_bytes()).unwrap();
    let certificate = block.parse_x509().unwrap();
    let facts = inspect_certificate(pem).unwrap();
    assert_eq!(facts.subject.common_name.as_deref(), Some(cn));
    assert_eq!(facts.subject, facts.issuer);
    assert_eq!(facts.sans.iter().map(ToString::to_string).collect::<Vec<_>>(), [cn]);
    let usage = certificate.key_usage().unwrap().expect("key usage");
    assert!(usage.critical && usage.value.digital_signature());
    assert!(usage.value.key_encipherment() && usage.value.key_cert_sign() && !usage.value.crl_sign());
    assert!(certificate.extended_key_usage().unwrap().is_none());
    let constraints = certificate.basic_constraints().unwrap().expect("basic constraints");
    assert!(constraints.critical && constraints.value.ca);
    assert_eq!(constraints.value.path_len_constraint, None, "kubeadm leaves the length open");
    assert!(subject_key_id(&certificate).is_some());
    certificate.verify_signature(None).expect("self-signed");
    assert!(matches_key(pem, &SecretText::new(key.to_owned())).unwrap());
    check_serial(&certificate);
    check_dates(&facts, Duration::days(3650));
    check_key(&certificate, key, rsa);
}

fn check_set(algorithm: KeyAlgorithm) {
    let (_, files) = make(1, &Policy { algorithm, ..Policy::default() });
    let rsa = algorithm == KeyAlgorithm::Rsa2048;
    for row in TABLE {
        check_row(&files, row, rsa);
    }
    for (file, cn) in [("pki/ca", "kubernetes"), ("pki/etcd/ca", "etcd-ca"), ("pki/front-proxy-ca", "front-proxy-ca")] {
        check_authority(&files, file, cn, rsa);
    }
}

#[test]
fn every_certificate_says_what_kubeadm_says() {
    check_set(KeyAlgorithm::EcdsaP256);
}

#[test]
fn the_same_holds_with_rsa() {
    check_set(KeyAlgorithm::Rsa2048);
}

#[test]
fn the_table_covers_the_whole_set() {
    let rows: BTreeSet<_> = TABLE.iter().map(|row| row.file.to_owned()).collect();
    let (_, files) = make(1, &Policy::default());
    let made: BTreeSet<_> = files
        .iter()
        .map(|file| file.path())
        .filter(|path| !path.contains("ca.") && !path.contains("sa."))
        .map(|path| path.trim_end_matches(".crt").trim_end_matches(".key").to_owned())
        .collect();
    assert_eq!(rows, made);
    assert_eq!(TABLE.len(), Leaf::ALL.len() + KubeconfigUser::ALL.len());
}

#[test]
fn files_have_kubeadms_names_and_modes() {
    let (_, files) = make(1, &Policy::default());
    let mut list: Vec<_> = files.iter().map(|file| format!("{:o} {} {}", file.mode(), file.path(), file.content.is_secret())).collect();
    list.sort();
    assert_eq!(
        list,
        [
            "600 admin.conf true",
            "600 controller-manager.conf true",
            "600 kubelet.conf true",
            "600 pki/apiserver-etcd-client.key true",
            "600 pki/apiserver-kubelet-client.key true",
            "600 pki/apiserver.key true",
            "600 pki/ca.key true",
            "600 pki/etcd/ca.key true",
            "600 pki/etcd/healthcheck-client.key true",
            "600 pki/etcd/peer.key true",
            "600 pki/etcd/server.key true",
            "600 pki/front-proxy-ca.key true",
            "600 pki/front-proxy-client.key true",
            "600 pki/sa.key true",
            "600 pki/sa.pub false",
            "600 scheduler.conf true",
            "600 super-admin.conf true",
            "644 pki/apiserver-etcd-client.crt false",
            "644 pki/apiserver-kubelet-client.crt false",
            "644 pki/apiserver.crt false",
            "644 pki/ca.crt false",
            "644 pki/etcd/ca.crt false",
            "644 pki/etcd/healthcheck-client.crt false",
            "644 pki/etcd/peer.crt false",
            "644 pki/etcd/server.crt false",
            "644 pki/front-proxy-ca.crt false",
            "644 pki/front-proxy-client.crt false",
        ]
    );
    assert_eq!(files.len(), kok_pki::Material::all().len());
}

#[test]
fn before_1_37_the_kubelet_client_is_a_cluster_admin() {
    let old = kok_pki::ControlPlane { kubernetes_minor: 36, ..host() };
    assert_eq!(Leaf::ApiServerKubeletClient.profile(&old).organizations, ["kubeadm:cluster-admins"]);
}

#[test]
fn the_same_randomness_makes_the_same_serials_subjects_and_keys() {
    let (_, first) = make(7, &Policy::default());
    let (_, second) = make(7, &Policy::default());
    let (_, other) = make(8, &Policy::default());
    let mut serials = BTreeSet::new();
    for file in first.iter().filter(|file| file.path().ends_with(".crt")) {
        let facts = inspect_certificate(file.content.expose()).unwrap();
        let again = inspect_certificate(content(&second, file.path())).unwrap();
        let unlike = inspect_certificate(content(&other, file.path())).unwrap();
        assert_eq!((&facts.serial, &facts.subject), (&again.serial, &again.subject));
        assert_eq!(facts.public_key_sha256, again.public_key_sha256);
        assert_ne!(facts.serial, unlike.serial);
        assert_ne!(facts.public_key_sha256, unlike.public_key_sha256);
        assert!(serials.insert(facts.serial), "a serial number stands twice");
    }
}

#[test]
fn a_leaf_stays_inside_its_authoritys_validity() {
    let policy = Policy { authority_validity: Duration::days(30), ..Policy::default() };
    let (authorities, files) = make(1, &policy);
    let ca = authorities.get(AuthorityKind::Kubernetes).facts();
    let leaf = inspect_certificate(content(&files, "pki/apiserver.crt")).unwrap();
    assert_eq!((leaf.not_before, leaf.not_after), (ca.not_before, ca.not_after));
}

#[test]
fn the_fingerprint_is_of_the_authoritys_public_key() {
    let (authorities, _) = make(1, &Policy::default());
    let pem = authorities.get(AuthorityKind::Kubernetes).certificate_pem();
    let fingerprint = inspect_certificate(pem).unwrap().fingerprint();
    assert_eq!(fingerprint.len(), "sha256:".len() + 64);
    let facts = authorities.get(AuthorityKind::Kubernetes).facts();
    assert_eq!(fingerprint.strip_prefix("sha256:"), Some(facts.public_key_sha256.as_str()));
}
