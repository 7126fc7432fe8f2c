#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use kok_crds::model::Cluster;
use kok_pki::{Authority, AuthorityKind, Leaf, Policy, issue};
use kok_tasks::identity;
use time::OffsetDateTime;

use crate::cli::files::{ClusterFiles, ExtraVars};
use crate::randomness::SystemRandomness;

const CLUSTER: &str = "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {name: berlin}\nspec:\n  kubernetesVersion: 1.37.1
  hosts: [{name: cp1, address: 10.0.0.11, roles: [control-plane]}]\n  certificates:\n    issued: issued
    authorities:\n      frontProxy: {certificate: front.crt}\n";

const CERTIFICATE: &str = "issued/cp1/pki/front-proxy-client.crt";
const KEY: &str = "issued/cp1/pki/front-proxy-client.key";

fn write(folder: &Path, name: &str, text: &str, mode: u32) {
    fs::create_dir_all(folder.join(name).parent().unwrap()).unwrap();
    fs::write(folder.join(name), text).unwrap();
    fs::set_permissions(folder.join(name), fs::Permissions::from_mode(mode)).unwrap();
}

/// The cluster, or all that is wrong as one text.
fn read(folder: &Path) -> Result<Cluster, String> {
    write(folder, "cluster.yaml", CLUSTER, 0o644);
    let files = ClusterFiles { files: vec![folder.join("cluster.yaml")], ..Default::default() };
    files
        .whole(&ExtraVars::default())
        .map(|(_, cluster)| cluster)
        .map_err(|failures| failures.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

/// Puts the certificate of an authority without its key beside the cluster's file, and gives the authority.
fn authority(folder: &Path) -> Authority {
    let now = OffsetDateTime::now_utc();
    let authority = Authority::generate(AuthorityKind::FrontProxy, &Policy::default(), now, &mut SystemRandomness).unwrap();
    write(folder, "front.crt", authority.certificate_pem(), 0o644);
    authority
}

#[test]
fn what_was_issued_is_taken_from_the_folder_of_each_host() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let authority = authority(folder);
    let missing = read(folder).unwrap_err();
    assert!(missing.contains("issued/cp1/pki/front-proxy-client.crt is missing") && missing.contains("CN=front-proxy-client"), "{missing}");
    let plain = CLUSTER.replace("\n    issued: issued", "").replace("\n    authorities:\n      frontProxy: {certificate: front.crt}", "");
    let plain = kok_crds::read_input(&[kok_crds::File {
        name: "a.yaml".to_owned(),
        text: plain.replace("  certificates:\n", ""),
        role: kok_crds::Role::Main { cluster: None },
    }]);
    let cluster = plain.cluster.unwrap();
    let identity = identity::control_plane(&cluster, cluster.hosts.first().unwrap());
    let leaf =
        issue(&Leaf::FrontProxyClient.profile(&identity), &authority, &Policy::default(), OffsetDateTime::now_utc(), &mut SystemRandomness);
    let leaf = leaf.unwrap();
    write(folder, CERTIFICATE, &leaf.certificate_pem, 0o644);
    assert!(read(folder).unwrap_err().contains("front-proxy-client.key is missing"));
    write(folder, KEY, leaf.key.pem().expose(), 0o644);
    let open = read(folder).unwrap_err();
    assert!(open.contains("is open to others, and holds a key") && open.contains("chmod 600"), "{open}");
    write(folder, KEY, leaf.key.pem().expose(), 0o600);
    let cluster = read(folder).unwrap_or_else(|problems| panic!("{problems}"));
    let issued = cluster.settings.certificates.issued.as_ref().unwrap();
    assert_eq!(issued.file("cp1", "pki/front-proxy-client.crt").unwrap().expose(), leaf.certificate_pem.as_bytes());
    let body = leaf.key.pem().expose().lines().nth(1).unwrap();
    assert!(!format!("{cluster:?}").contains(body), "a key is printed");
    assert!(!kok_tasks::issued::is_kept_elsewhere(&cluster, AuthorityKind::Kubernetes), "only the one whose key is missing");
}

/// Nobody writes into the pipe: whoever opens it waits for ever.
#[test]
fn a_pipe_is_refused_and_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    authority(folder);
    fs::create_dir_all(folder.join("issued/cp1/pki")).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, folder.join(CERTIFICATE), rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    fs::create_dir(folder.join(KEY)).unwrap();
    let (told, hears) = std::sync::mpsc::channel();
    let place = folder.to_owned();
    std::thread::spawn(move || drop(told.send(read(&place).map(|_| ()))));
    let said = hears.recv_timeout(std::time::Duration::from_secs(60)).unwrap_or_else(|_| panic!("it waits for the pipe")).unwrap_err();
    for name in ["front-proxy-client.crt", "front-proxy-client.key"] {
        assert!(said.contains(&format!("{name} is no file")), "{said}");
    }
}

#[test]
fn what_fits_another_authority_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let first = authority(folder);
    write(folder, CERTIFICATE, first.certificate_pem(), 0o644);
    write(folder, KEY, first.key_pem().unwrap().expose(), 0o600);
    let said = read(folder).unwrap_err();
    assert!(said.contains("can't be used") && said.contains("it is an authority's certificate"), "{said}");
    authority(folder);
    let said = read(folder).unwrap_err();
    assert!(said.contains("it is signed by another authority"), "{said}");
}
