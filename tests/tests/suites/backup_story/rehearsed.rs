//! A backup that is restored for trial: what that finds, and that nothing of it stays.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use kok_tasks::backup::{CLUSTER, ENCRYPTION, KEYS};
use kok_tasks::snapshot::Form;
use kok_tests::lab::{Host, Lab};
use kokctl::backup::{BackupFile, BackupPlace, BackupSource, Identities, Seal, Spool, read};
use serde_json::Value;

use crate::cluster_support::cluster::kubectl;
use crate::cluster_support::kokctl::{Kokctl, KokctlOutput};
use crate::cluster_support::ok;
use crate::lab_support::wait_for;

/// A kind of the user's own with an object of it.
const GUESTS: &str = r#"apply -f - <<'END'
{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "guests.example.com"},
 "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "guests", "singular": "guest", "kind": "Guest"},
 "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]}}
END"#;
const GUEST: &str = r#"apply -f - <<'END'
{"apiVersion": "example.com/v1", "kind": "Guest", "metadata": {"name": "one"}}
END"#;

/// Before the backup is made.
pub fn prepare(lab: &Lab) {
    kubectl(lab, GUESTS);
    kubectl(lab, "wait --for=condition=Established --timeout=60s crd/guests.example.com");
    kubectl(lab, GUEST);
    // The pods of the founding's own check may still be ending.
    kubectl(lab, "wait --for=delete namespace/kokctl-network-check --timeout=120s");
}

/// All of it was read, the key of Secrets fits, and neither the cluster nor the host has anything of it.
pub fn is_read(lab: &Lab, kokctl: &Kokctl<'_>, backup: &Path) {
    let before = containers(lab);
    let said = rehearse(kokctl, None, "own.key", &["--json"]);
    assert_eq!(said.code, 0, "{said:?}");
    let found: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!((found["backup"].as_str(), found["host"].as_str()), (backup.to_str(), Some("cp1")));
    let kinds = found["found"]["kinds"].as_array().unwrap();
    let kind = |name: &str| kinds.iter().find(|kind| kind["name"] == name).unwrap_or_else(|| panic!("no {name} in {kinds:?}"));
    // Twenty keys, the canary, and what the cluster has of its own.
    assert!(kind("configmaps")["objects"].as_u64().unwrap() > 21 && kind("guests.example.com")["objects"] == 1, "{kinds:?}");
    // Before it has counted, an API server says nothing.
    let now = &kind("deployments.apps")["now"];
    assert!(kind("secrets")["objects"].as_u64().unwrap() >= 1 && (now.is_null() || now.as_u64().unwrap() >= 1), "{kinds:?}");
    assert!(kinds.iter().all(|kind| kind["objects"].is_u64()), "{kinds:?}");
    nothing_stays(lab, kokctl);
    assert_eq!(containers(lab), before);
    let said = kokctl.verb("status", &[]);
    assert!(said.stdout.contains("was restored for trial") && !said.stderr.contains("can't be used"), "{said:?}");
}

fn containers(lab: &Lab) -> BTreeSet<String> {
    let said = kubectl(lab, "get pods -A -o jsonpath='{.items[*].status.containerStatuses[*].containerID}'");
    said.split_whitespace().map(str::to_owned).collect()
}

/// The same snapshot with another key to encrypt with than its Secrets have: `backup verify` finds nothing wrong.
pub fn finds_what_nobody_can_read(lab: &Lab, kokctl: &Kokctl<'_>, backup: &Path) {
    let said = rehearse(kokctl, Some(&with_another_key(kokctl, backup)), "own.key", &[]);
    assert!(said.code == 3 && said.stderr.contains("secrets can't be read"), "{said:?}");
    assert!(said.stdout.contains("UNREADABLE") && !said.stdout.contains("can be restored"), "{said:?}");
    assert!(said.stderr.contains("another key to encrypt with than the host"), "a restore onto it would be refused: {said:?}");
    nothing_stays(lab, kokctl);
    let said = kokctl.verb("status", &[]);
    assert!(said.stdout.contains("could not be restored for trial") && said.stderr.contains("secrets can't be read"), "{said:?}");
}

/// The host ends what nobody waits for any more.
pub fn ends_without_its_caller(lab: &Lab, kokctl: &Kokctl<'_>, backup: &Path) {
    let key = kokctl.folder().join("own.key");
    let manifest = kokctl.manifest();
    let arguments = ["backup", "rehearse", backup.to_str().unwrap(), "-f", manifest.to_str().unwrap(), "-i", key.to_str().unwrap()];
    let mut child = kokctl.command(&arguments).spawn().unwrap();
    let host = lab.host("cp1").unwrap();
    wait_for("an API server is being made", 60, || ok(&host, "ctr -n k8s.io tasks ls").contains("kokctl-rehearsal-api"));
    child.kill().unwrap();
    child.wait().unwrap();
    wait_for("nothing of it is left", 120, || ok(&host, "ls /var/lib/kokctl").lines().all(|name| name != "rehearsal"));
    nothing_stays(lab, kokctl);
}

pub fn rehearse(kokctl: &Kokctl<'_>, backup: Option<&Path>, key: &str, more: &[&str]) -> KokctlOutput {
    let (key, manifest) = (kokctl.folder().join(key), kokctl.manifest());
    let backup = backup.map(|backup| backup.to_str().unwrap());
    let arguments: Vec<&str> = ["backup", "rehearse"].into_iter().chain(backup).collect();
    let said = kokctl.run(&[&arguments[..], &["-f", manifest.to_str().unwrap(), "-i", key.to_str().unwrap()], more].concat());
    println!("$ kokctl backup rehearse {}\n{}{}", more.join(" "), said.stdout, said.stderr);
    said
}

fn nothing_stays(lab: &Lab, kokctl: &Kokctl<'_>) {
    nothing_stays_on(&lab.host("cp1").unwrap(), lab, kokctl);
}

pub fn nothing_stays_on(host: &Host, lab: &Lab, kokctl: &Kokctl<'_>) {
    let left = "ls -d /var/lib/kokctl/rehearsal 2>/dev/null; ctr -n k8s.io containers ls -q | grep rehearsal; ctr -n k8s.io tasks ls | grep rehearsal; true";
    assert_eq!(ok(host, left), "");
    let snapshots = kokctl.folder().join("state/kokctl/clusters").join(lab.name()).join("snapshots");
    assert_eq!(fs::read_dir(snapshots).unwrap().count(), 0, "nothing of the snapshot stays here");
}

fn with_another_key(kokctl: &Kokctl<'_>, backup: &Path) -> PathBuf {
    let identities = Identities::read(&kokctl.folder().join("own.key")).unwrap_or_else(|failure| panic!("{failure:?}"));
    let mut spool = Spool::create(&kokctl.folder().join("spool")).unwrap();
    let contents = read(backup, Some(&identities), Some(&mut spool)).unwrap_or_else(|failure| panic!("{failure:?}"));
    let folder = kokctl.folder().join("other-key");
    fs::create_dir(&folder).unwrap();
    let place = BackupPlace::at(&folder).unwrap();
    let mut file = BackupFile::create(&place, &contents.manifest.cluster, contents.manifest.seconds, &Seal::Open, Form::Raw).unwrap();
    let known = contents.keys.encryption_keys().first().unwrap().secret.expose();
    let other = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
    let keys = String::from_utf8(contents.escrow().expose().to_vec()).unwrap();
    file.add(KEYS, keys.replace(known, other).as_bytes()).unwrap();
    file.add(ENCRYPTION, contents.encryption.as_ref().unwrap().replace(known, other).as_bytes()).unwrap();
    file.add(CLUSTER, b"# nothing\n").unwrap();
    file.push(&fs::read(spool.path()).unwrap()).unwrap();
    let made =
        BackupSource { versions: contents.manifest.versions, member: contents.manifest.member, revision: contents.manifest.revision };
    file.finish(made).unwrap().keep().unwrap().path
}
