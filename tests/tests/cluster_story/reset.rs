//! Taking the cluster down, and making it once more.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use kok_tasks::bundle::Bundle;
use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Lab};
use kok_tests::release::paths::{default_cache, default_output};
use serde_json::Value;
use tempfile::TempDir;

use crate::cluster_support::cluster::kubectl;
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::snapshot::{assert_same, bare_state, fingerprint};
use crate::cluster_support::{bare, hosts, ok};

/// Swap in every way in which it is configured, on a host that has none: what is switched off has to come back.
pub fn configure_swap(lab: &Lab) {
    ok(
        &lab.host("worker1").unwrap(),
        "printf '[Unit]\\nDescription=test\\n[Swap]\\nWhat=/dev/mapper/none\\n[Install]\\nWantedBy=swap.target\\n' >/etc/systemd/system/dev-mapper-none.swap
         systemctl daemon-reload && systemctl enable --quiet dev-mapper-none.swap
         printf '/dev/mapper/other none swap sw 0 0\\n' >>/etc/fstab
         printf '[zram0]\\nzram-size = ram / 2\\n' >/etc/systemd/zram-generator.conf",
    );
}

pub fn needs_consent(lab: &Lab, kokctl: &Kokctl<'_>) {
    let before = fingerprint(lab);
    let said = kokctl.verb("reset", &[]);
    assert_eq!(said.code, 5, "{said:?}");
    assert_eq!(said.stdout, "");
    assert_eq!(
        said.stderr,
        "error: nobody confirmed the reset\n\
         because: standard input is no terminal\n   \
         hint: add --yes if everything of Kubernetes on these hosts may go\n"
    );
    assert_same(&before, &fingerprint(lab), "a reset that was declined must not change anything");
}

/// What a user had stored.
const USERS: &str = "something-that-a-user-has-stored";

/// Also with a user's objects in it. What etcd held is kept first. An operation in the files has agreed to it, so that nobody is asked.
pub fn removes_everything(lab: &Lab, kokctl: &Kokctl<'_>) {
    kubectl(lab, &format!("create configmap users --from-literal=value={USERS}"));
    let plain = fs::read_to_string(kokctl.manifest()).unwrap();
    kokctl.write_manifest(&format!("{}\n{}", plain.trim_end(), OPERATION.replace("NAME", lab.name())));
    let said = kokctl.verb("reset", &[]);
    kokctl.write_manifest(&plain);
    assert_eq!(said.code, 0, "{}\n{}", said.stdout, said.stderr);
    assert!(said.stdout.starts_with("3 hosts are no longer part of the cluster "), "{said:?}");
    let [path] = &snapshots(kokctl, lab.name())[..] else { panic!("not one snapshot: {said:?}") };
    assert!(said.stdout.contains(&format!("the snapshot of etcd is in {} (", path.display())), "{said:?}");
    is_a_snapshot(path);
    can_be_restored(path);
    let said = kokctl.verb("reset", &["--yes"]);
    assert_eq!((said.code, said.stdout.as_str()), (0, "nothing to do\n"), "{said:?}");
}

const OPERATION: &str = "---
apiVersion: kubean.io/v1alpha1
kind: ClusterOperation
metadata: {name: away}
spec: {cluster: NAME, actionType: playbook, action: reset.yml}
";

/// What resets of this kokctl have kept.
pub fn snapshots(kokctl: &Kokctl<'_>, cluster: &str) -> Vec<PathBuf> {
    let folder = kokctl.folder().join("state/kokctl/clusters").join(cluster).join("snapshots");
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// etcd's own tool, of the version that ran, unpacked from the bundle.
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
    assert!(status["totalKey"].as_u64().unwrap() > 0 || status["totalSize"].as_u64().unwrap() > 0, "{status}");
}

/// By etcd itself, which compares the digest; and what a user had in the cluster is in it.
fn can_be_restored(path: &Path) {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data");
    etcdutl(folder.path(), &["snapshot", "restore", path.to_str().unwrap(), "--data-dir", data.to_str().unwrap()]);
    let restored = fs::read(data.join("member/snap/db")).unwrap();
    let has = |text: &str| restored.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(has("/registry/minions/worker2") && has(USERS), "what the cluster had is not in it");
}

/// A worker leaves, and comes back: the cluster goes on, and forgets it meanwhile.
pub fn takes_a_worker_out(lab: &Lab, kokctl: &Kokctl<'_>, before: &str) {
    let said = kokctl.verb("reset", &["--limit", "cp1", "--yes"]);
    assert!(said.code == 2 && said.stderr.contains("cp1 can't be taken out of the cluster alone"), "{said:?}");
    let said = kokctl.verb("reset", &["--limit", "worker2", "--yes"]);
    assert_eq!(said.code, 0, "{}\n{}", said.stdout, said.stderr);
    assert!(said.stdout.starts_with("worker2 is no longer part of the cluster "), "{said:?}");
    let worker = lab.host("worker2").unwrap();
    bare::is_bare(&worker);
    let of_worker =
        |text: &str| text.lines().filter(|line| line.starts_with("worker2: ")).map(|line| format!("{line}\n")).collect::<String>();
    assert_same(&of_worker(before), &of_worker(&bare_state(lab)), "a worker that was reset is as before");
    assert_eq!(kubectl(lab, "get nodes -o name"), "node/cp1\nnode/worker1");
    let said = kokctl.verb("reset", &["--limit", "worker2", "--yes"]);
    assert_eq!((said.code, said.stdout.as_str()), (0, "nothing to do\n"), "{said:?}");
    assert_eq!(snapshots(kokctl, lab.name()), Vec::<PathBuf>::new(), "the cluster goes on with what it has");

    // Out of the file too, the cluster is one of two hosts, and nothing is in the way of that.
    let whole = fs::read_to_string(kokctl.manifest()).unwrap();
    let without: String = whole.lines().filter(|line| !line.contains("name: worker2,")).map(|line| format!("{line}\n")).collect();
    assert_ne!(whole.trim_end(), without.trim_end());
    kokctl.write_manifest(&without);
    kokctl.converge("plan");
    kokctl.write_manifest(&whole);
    kokctl.converge("apply");
    kubectl(lab, "wait --for=condition=Ready node/worker2 --timeout=60s");
    kokctl.has_nothing_to_do();
}

/// The workers by a user who has to become root first.
pub fn apply_works_again_with_sudo(lab: &Lab, kokctl: &Kokctl<'_>) {
    let manifest = lab.inventory(DEFAULT_KUBERNETES_VERSION).unwrap();
    let with_sudo = manifest.replace("roles: [worker]}", "roles: [worker], ssh: {user: ops}}");
    assert_eq!(with_sudo.matches("user: ops").count(), 2, "{with_sudo}");
    kokctl.write_manifest(&with_sudo);
    // What the log says in all detail is searched for secrets later.
    kokctl.log_everything();
    let said = kokctl.converge("apply");
    assert!(said.starts_with(&format!("cluster {} is ready: {} hosts, ", lab.name(), hosts(lab).len())), "{said}");
    kokctl.has_nothing_to_do();
}
