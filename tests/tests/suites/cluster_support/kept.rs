//! What `reset` keeps of etcd, as etcd's own tool sees it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use kok_tasks::bundle::Bundle;
use kok_tests::lab::Lab;
use kok_tests::release::paths::{default_cache, default_output};
use serde_json::Value;
use tempfile::TempDir;

use super::cluster::{kubectl, node_hosts};
use super::kokctl::{Kokctl, KokctlOutput};

/// What a user had stored.
const USERS: &str = "something-that-a-user-has-stored";

/// Puts that into the cluster.
pub fn store(lab: &Lab) {
    kubectl(lab, &format!("create configmap users --from-literal=value={USERS}"));
}

/// What resets of this kokctl have kept.
pub fn snapshots(kokctl: &Kokctl<'_>, cluster: &str) -> Vec<PathBuf> {
    let folder = kokctl.folder().join("state/kokctl/clusters").join(cluster).join("snapshots");
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|extension| extension == "db")).collect()
}

/// A reset of the whole cluster that keeps what was in it, what was stored by [`store`] too.
pub fn resets(lab: &Lab, kokctl: &Kokctl<'_>) {
    let said = kokctl.verb("reset", &["--yes"]);
    assert_eq!(said.code, 0, "{}\n{}", said.stdout, said.stderr);
    can_be_restored(lab, kokctl, &said);
}

/// What is encrypted in a snapshot can be read with the key beside it, which goes with the hosts, where it was `key`.
pub fn has_its_key(lab: &Lab, kokctl: &Kokctl<'_>, key_of_hosts: &str) {
    let [path] = &snapshots(kokctl, lab.name())[..] else { panic!("not one snapshot") };
    let key = path.with_extension("db.encryption.yaml");
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(key_of_hosts.contains("secret: "));
    assert!(fs::read_to_string(key).unwrap().trim() == key_of_hosts.trim(), "it is another key than that of the hosts");
}

/// A reset that was told not to, where there is something to keep.
pub fn is_not_asked_for(lab: &Lab, kokctl: &Kokctl<'_>) {
    let said = kokctl.verb("reset", &["--yes", "--no-snapshot"]);
    assert_eq!(said.code, 0, "{}\n{}", said.stdout, said.stderr);
    assert!(!said.stdout.contains("the snapshot of etcd is in "), "{said:?}");
    assert_eq!(snapshots(kokctl, lab.name()), Vec::<PathBuf>::new());
}

/// etcd's own tool, of the newest version, unpacked from the bundle.
fn etcdutl(folder: &Path, arguments: &[&str]) -> String {
    let bundle = default_output(&default_cache().unwrap());
    let index = Bundle::parse(&fs::read_to_string(bundle.join("bundle.json")).unwrap()).unwrap();
    let archive = index.files.iter().rfind(|file| file.name == "etcd").unwrap();
    let unpacked =
        Command::new("tar").arg("xzf").arg(bundle.join(&archive.path)).arg("-C").arg(folder).arg("--strip-components=1").status();
    assert!(unpacked.unwrap().success());
    let output = Command::new(folder.join("etcdutl")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

pub fn is_a_snapshot(path: &Path) {
    assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    let folder = TempDir::new().unwrap();
    let status = etcdutl(folder.path(), &["snapshot", "status", path.to_str().unwrap(), "--write-out=json"]);
    let status: Value = serde_json::from_str(&status).unwrap();
    assert!(status["totalSize"].as_u64().unwrap() > 0, "{status}");
    restored(&folder, path);
}

/// The database of a member that is made from it.
fn restored(folder: &TempDir, path: &Path) -> Vec<u8> {
    let data = folder.path().join("data");
    etcdutl(folder.path(), &["snapshot", "restore", path.to_str().unwrap(), "--data-dir", data.to_str().unwrap()]);
    fs::read(data.join("member/snap/db")).unwrap()
}

/// One snapshot, of which the reset says where it is; by etcd itself, which compares the digest; and what a user had in the cluster is in it.
pub fn can_be_restored(lab: &Lab, kokctl: &Kokctl<'_>, said: &KokctlOutput) {
    let [path] = &snapshots(kokctl, lab.name())[..] else { panic!("not one snapshot: {said:?}") };
    assert!(said.stdout.contains(&format!("the snapshot of etcd is in {} (", path.display())), "{said:?}");
    is_a_snapshot(path);
    let restored = restored(&TempDir::new().unwrap(), path);
    let has = |text: &str| restored.windows(text.len()).any(|window| window == text.as_bytes());
    let nodes = node_hosts(lab).iter().all(|node| has(&format!("/registry/minions/{}", node.name())));
    assert!(nodes && has(USERS), "what the cluster had is not in it");
}
