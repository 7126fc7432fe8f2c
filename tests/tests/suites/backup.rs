//! A backup of a cluster, who can read it, and the cluster brought back to it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Lab};
use kokctl::backup::{BackupContents, Identities, Spool, read};

use crate::backup_story::{rehearsed, timer};
use crate::cluster_support::clock::Clock;
use crate::cluster_support::cluster::kubectl;
use crate::cluster_support::kokctl::{Kokctl, KokctlOutput};
use crate::cluster_support::{ok, up, workload};
use crate::lab_support::wait_for;

/// Made for this test, and used for nothing else.
pub const OWN: (&str, &str) = (
    "AGE-SECRET-KEY-1GZS0YPMX3JPQEKQQSF8NT8N0QWCTNNCRD94JZNK5CX7F4Q3AD92QYF8ZZW",
    "age1ga6w2xwdthxpx3sej5cvaajjfxkghuepgkctd5m5rra4et8dmvlse0r603",
);
const OTHER: &str = "AGE-SECRET-KEY-1MPDYD70NN0X50L2N4SV88HGCUQJM5LU7Y2MGJ4AA5Q36TG0ZT35QE7RFTV";

/// In a Secret, which is encrypted in etcd, and in a ConfigMap, which is not.
const CANARIES: [&str; 2] = ["c4n4ry-of-a-secret-1f0e", "c4n4ry-of-a-configmap-77ab"];

#[test]
fn a_cluster_is_brought_back_to_what_its_backup_has() {
    let lab = up(1);
    let kokctl = Kokctl::new(&lab);
    let folder = kokctl.folder().join("backups");
    fs::create_dir(&folder).unwrap();
    write_manifest(&lab, &kokctl);
    let mut clock = Clock::start();
    kokctl.converge("apply");
    kubectl(&lab, &format!("create secret generic canary --from-literal=word={}", CANARIES[0]));
    kubectl(&lab, &format!("create configmap canary --from-literal=word={}", CANARIES[1]));
    store(&lab, 1..=20);
    rehearsed::prepare(&lab);
    clock.lap("a cluster");
    let backup = is_made(&kokctl, &folder);
    is_closed(&lab, &kokctl, &backup);
    clock.lap("a backup");
    rehearsed::is_read(&lab, &kokctl, &backup);
    clock.lap("rehearsed");
    rehearsed::finds_what_nobody_can_read(&lab, &kokctl, &backup);
    rehearsed::ends_without_its_caller(&lab, &kokctl, &backup);
    clock.lap("a key that does not fit, and nobody who waits");
    store(&lab, 21..=30);
    kubectl(&lab, "delete configmap key-3 canary");
    is_refused(&lab, &kokctl, &backup);
    clock.lap("what is refused");
    restored(&lab, &kokctl, &backup);
    clock.lap("restored");
    keys_come_back(&lab, &kokctl, &backup);
    clock.lap("without its keys, and with them again");
    one_stays(&kokctl, &folder, &backup);
    kokctl.has_nothing_to_do();
    CANARIES.iter().for_each(|canary| assert!(!kokctl.transcript().contains(canary) && !kokctl.journals().contains(canary)));
}

/// All hosts are gone, and there are others: another control plane at another address, and the clients of the old cluster go on.
#[test]
fn a_cluster_whose_hosts_are_gone_is_brought_back_on_others() {
    let (away, old) = (tempfile::tempdir().unwrap(), up(2));
    let mut clock = Clock::start();
    let kokctl = Kokctl::new(&old);
    write_manifest(&old, &kokctl);
    fs::create_dir(kokctl.folder().join("backups")).unwrap();
    kokctl.converge("apply");
    kubectl(&old, &format!("create secret generic canary --from-literal=word={}", CANARIES[0]));
    store(&old, 1..=20);
    let web = "create deployment web --image=registry.k8s.io/pause:3.10.2 --replicas=2";
    kubectl(&old, web);
    let administrator = ok(&old.host("cp1").unwrap(), "cat /etc/kubernetes/admin.conf");
    timer::makes_two(&old, &kokctl);
    clock.lap("two backups by a timer");
    let made = is_made(&kokctl, &kokctl.folder().join("backups"));
    let backup = away.path().join(made.file_name().unwrap());
    fs::copy(&made, &backup).unwrap();
    let name = old.name().to_owned();
    drop(old);
    clock.lap("a cluster, its backup, and no host");

    let new = up(3);
    let kokctl = Kokctl::new(&new);
    write_manifest(&new, &kokctl);
    on_others(&kokctl, &new, &name);
    let said = restore(&kokctl, &backup, Some("own.key"), &["--yes", "--new-hosts"]);
    assert!(
        said.code == 0 && said.stdout.contains("is founded with the keys of the backup") && said.stdout.contains("works again"),
        "{said:?}"
    );
    clock.lap("restored on other hosts");
    let plane = new.host("worker1").unwrap();
    let ask = |line: &str| ok(&plane, &format!("kubectl --kubeconfig=/etc/kubernetes/admin.conf {line}"));
    assert_eq!(ask("get configmaps -o name").matches("configmap/key-").count(), 20);
    assert_eq!(ask("get secret canary -o jsonpath={.data.word} | base64 -d"), CANARIES[0]);
    wait_for("the new nodes are Ready", 120, || ask("get nodes --no-headers").lines().filter(|line| line.contains(" Ready ")).count() == 2);
    let nodes = ask("get nodes -o name");
    assert!(!nodes.contains("cp1"), "{nodes}");
    wait_for("the pods run on the new hosts", 180, || ask("get deployment web -o jsonpath={.status.readyReplicas}") == "2");
    kokctl.has_nothing_to_do();
    // The authorities are those of before: who had a kubeconfig only needs the new address.
    ok(&plane, &format!("cat >/root/old.conf <<'END'\n{administrator}\nEND"));
    let by_old = format!("kubectl --kubeconfig=/root/old.conf --server=https://{}:6443 get nodes -o name", plane.address());
    assert!(ok(&plane, &by_old).contains("node/worker2"));
}

/// The second and the third host of a lab as another cluster's: the second is the control plane.
fn on_others(kokctl: &Kokctl<'_>, lab: &Lab, name: &str) {
    let text = fs::read_to_string(kokctl.manifest()).unwrap();
    let text = text.replace(&format!("name: {}", lab.name()), &format!("name: {name}"));
    let lines = text.lines().filter(|line| !line.contains("name: cp1"));
    let lines: Vec<String> = lines
        .map(|line| if line.contains("name: worker1") { line.replace("[worker]", "[control-plane]") } else { line.to_owned() })
        .collect();
    // Who has the time, too.
    kokctl.write_manifest(&format!("{}\n", lines.join("\n").replace("cp1", "worker1")));
}

/// The file keeps the last one alone: `create` sees to that, and `prune` where something else has put one there.
fn one_stays(kokctl: &Kokctl<'_>, folder: &Path, earlier: &Path) {
    let aside = kokctl.folder().join("aside");
    fs::copy(earlier, &aside).unwrap();
    let made = is_made(kokctl, folder);
    assert_eq!(backups(folder), std::slice::from_ref(&made));
    fs::copy(&aside, earlier).unwrap();
    let said = backup_verb(kokctl, "prune", &[]);
    assert!(said.code == 0 && said.stdout.ends_with("1 backup removed\n"), "{said:?}");
    assert_eq!(backups(folder), [made]);
}

/// One host that is everything, what it stores encrypted, and backups for one recipient.
fn write_manifest(lab: &Lab, kokctl: &Kokctl<'_>) {
    let manifest = lab.inventory(DEFAULT_KUBERNETES_VERSION).unwrap().replace("roles: [control-plane]}", "roles: [control-plane, worker]}");
    let more =
        format!("    kube_encrypt_secret_data: true\n  backup: {{to: {{folder: backups}}, recipients: [{}], keep: {{last: 1}}}}\n", OWN.1);
    kokctl.write_manifest(&format!("{}\n{more}", manifest.trim_end()));
    own_key(kokctl);
}

/// Writes the key that backups are made for, and another one.
pub fn own_key(kokctl: &Kokctl<'_>) {
    for (name, key) in [("own.key", OWN.0), ("other.key", OTHER)] {
        let path = kokctl.folder().join(name);
        fs::write(&path, format!("{key}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    }
}

fn store(lab: &Lab, numbers: std::ops::RangeInclusive<usize>) {
    let lines: Vec<String> = numbers
        .map(|number| format!("kubectl --kubeconfig=/etc/kubernetes/admin.conf create configmap key-{number} --from-literal=n={number}"))
        .collect();
    ok(&lab.host("cp1").unwrap(), &lines.join(" && "));
}

/// The numbers of the keys that there are.
fn stored(lab: &Lab) -> Vec<usize> {
    let names = kubectl(lab, "get configmaps -o name");
    let mut numbers: Vec<usize> = names.lines().filter_map(|line| line.strip_prefix("configmap/key-")?.parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}

pub fn backup_verb(kokctl: &Kokctl<'_>, verb: &str, more: &[&str]) -> KokctlOutput {
    let manifest = kokctl.manifest();
    let said = kokctl.run(&[&["backup", verb, "-f", manifest.to_str().unwrap()], more].concat());
    println!("$ kokctl backup {verb} {}\n{}{}", more.join(" "), said.stdout, said.stderr);
    said
}

pub fn verify(kokctl: &Kokctl<'_>, file: &Path, key: Option<&str>) -> KokctlOutput {
    let key = key.map(|key| kokctl.folder().join(key).to_str().unwrap().to_owned());
    let identity: Vec<&str> = key.iter().flat_map(|key| ["--identity", key]).collect();
    let said = kokctl.run(&[&["backup", "verify", file.to_str().unwrap()], &identity[..]].concat());
    println!("$ kokctl backup verify {}\n{}{}", identity.join(" "), said.stdout, said.stderr);
    said
}

pub fn backups(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

/// The newest one, which is whole.
fn is_made(kokctl: &Kokctl<'_>, folder: &Path) -> PathBuf {
    let said = backup_verb(kokctl, "create", &[]);
    assert!(said.code == 0 && said.stdout.contains("encrypted"), "{said:?}");
    let backup = backups(folder).pop().unwrap();
    assert!(backup.to_str().unwrap().ends_with(".kokctl-backup.age"), "{}", backup.display());
    assert_eq!(fs::metadata(&backup).unwrap().permissions().mode() & 0o777, 0o600);
    let said = verify(kokctl, &backup, Some("own.key"));
    assert!(said.code == 0 && said.stdout.contains("is whole") && said.stdout.contains(DEFAULT_KUBERNETES_VERSION), "{said:?}");
    let said = backup_verb(kokctl, "list", &[]);
    assert!(said.code == 0 && said.stdout.contains(backup.file_name().unwrap().to_str().unwrap()), "{said:?}");
    backup
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|part| part == text.as_bytes())
}

/// Without the key nothing of it can be read, and with it all.
fn is_closed(lab: &Lab, kokctl: &Kokctl<'_>, backup: &Path) {
    let file = fs::read(backup).unwrap();
    for text in CANARIES.iter().copied().chain(["kokctl-escrow", "PRIVATE KEY", "manifest.json", "cluster.yaml"]) {
        assert!(!holds(&file, text), "{text} can be read in the backup");
    }
    let identities = Identities::read(&kokctl.folder().join("own.key")).unwrap_or_else(|failure| panic!("{failure:?}"));
    let mut spool = Spool::create(&kokctl.folder().join("spool")).unwrap();
    let contents = read(backup, Some(&identities), Some(&mut spool)).unwrap_or_else(|failure| panic!("{failure:?}"));
    let database = fs::read(spool.path()).unwrap();
    assert!(holds(&database, CANARIES[1]) && !holds(&database, CANARIES[0]), "Secrets are encrypted in etcd too");
    let BackupContents { keys, encryption, manifest, .. } = contents;
    let key = ok(&lab.host("cp1").unwrap(), "sed -n 's/^ *secret: *//p' /etc/kubernetes/apiserver/encryption.yaml | tr -d '\"'");
    assert_eq!(keys.encryption_keys().iter().map(|it| it.secret.expose()).collect::<Vec<_>>(), [key.as_str()]);
    assert!(encryption.unwrap().contains(&key) && manifest.revision.is_some() && manifest.cluster == lab.name());
}

/// Before anything stops: the API answers, and nothing says that a restore has begun.
fn is_refused(lab: &Lab, kokctl: &Kokctl<'_>, backup: &Path) {
    let mut flipped = fs::read(backup).unwrap();
    let place = flipped.len() / 2;
    flipped[place] ^= 1;
    let damaged = kokctl.folder().join("damaged.kokctl-backup.age");
    fs::write(&damaged, flipped).unwrap();
    let cases: [(&Path, Option<&str>, &str); 4] = [
        (&damaged, Some("own.key"), "is no whole backup"),
        (backup, Some("other.key"), "none of the private keys"),
        (backup, None, "neither a private key nor a passphrase was named"),
        (&kokctl.folder().join("none"), Some("own.key"), "can't be read"),
    ];
    for (file, key, what) in cases {
        let said = verify(kokctl, file, key);
        assert!(said.code == 2 && said.stderr.contains(what), "{said:?}");
        let said = restore(kokctl, file, key, &["--yes"]);
        assert!(said.code == 2 && said.stderr.contains(what), "{said:?}");
    }
    let said = restore(kokctl, backup, Some("own.key"), &[]);
    assert!(said.code == 5 && said.stderr.contains("the restore was not confirmed"), "{said:?}");
    assert!(said.stderr.contains("of its changes are lost") && !said.stderr.contains("no leader"), "{said:?}");
    ok(&lab.host("cp1").unwrap(), "test ! -e /var/lib/kokctl/recover");
    assert_eq!(stored(lab).len(), 29);
}

pub fn restore(kokctl: &Kokctl<'_>, backup: &Path, key: Option<&str>, more: &[&str]) -> KokctlOutput {
    let key = key.map(|key| kokctl.folder().join(key).to_str().unwrap().to_owned());
    let identity: Vec<&str> = key.iter().flat_map(|key| ["--identity", key]).collect();
    let bundle = kokctl.bundle().to_str().unwrap();
    let said = kokctl.verb("restore", &[&[backup.to_str().unwrap(), "--bundle", bundle], &identity[..], more].concat());
    println!("$ kokctl restore {} {}\n{}{}", identity.join(" "), more.join(" "), said.stdout, said.stderr);
    said
}

/// Somebody has removed the keys of the only control plane, and nobody knows them by heart: nothing is invented, and what is lost comes out of the backup.
fn keys_come_back(lab: &Lab, kokctl: &Kokctl<'_>, backup: &Path) {
    let cp1 = lab.host("cp1").unwrap();
    let sums = || ok(&cp1, "cd /etc/kubernetes/pki && sha256sum ca.key etcd/ca.key front-proxy-ca.key sa.key");
    let uid = || kubectl(lab, "get configmap key-7 -o jsonpath={.metadata.uid}");
    let (before, key_7) = (sums(), uid());
    ok(&cp1, "rm -rf /etc/kubernetes/pki");
    let said = kokctl.verb("apply", &["--bundle", kokctl.bundle().to_str().unwrap()]);
    assert!(said.code != 0 && said.stderr.contains("/etc/kubernetes/pki"), "{said:?}");
    let said = restore(kokctl, backup, Some("own.key"), &["--only-pki", "--yes"]);
    assert!(said.code == 0 && said.stdout.contains("have the keys of the backup"), "{said:?}");
    assert_eq!((sums(), uid()), (before, key_7), "the very keys, and etcd stayed as it was");
    wait_for("the node is Ready", 60, || kubectl(lab, "get nodes").contains(" Ready "));
    let said = restore(kokctl, backup, Some("own.key"), &["--only-pki", "--yes"]);
    assert!(said.code == 0 && said.stdout.contains("nothing to do"), "{said:?}");
}

/// Exactly what there was, and the cluster works on.
fn restored(lab: &Lab, kokctl: &Kokctl<'_>, backup: &Path) {
    let said = restore(kokctl, backup, Some("own.key"), &["--yes"]);
    assert!(said.code == 0 && said.stdout.contains("works again"), "{said:?}");
    assert!(said.stderr.contains("ALL THAT WAS WRITTEN SINCE IT WAS MADE IS LOST"), "{said:?}");
    assert_eq!(stored(lab), (1..=20).collect::<Vec<_>>());
    assert_eq!(kubectl(lab, "get configmap canary -o jsonpath={.data.word}"), CANARIES[1]);
    let secret = "kubectl --kubeconfig=/etc/kubernetes/admin.conf get secret canary -o jsonpath={.data.word} | base64 -d";
    assert_eq!(ok(&lab.host("cp1").unwrap(), secret), CANARIES[0], "its key is there still");
    let left = fs::read_dir(kokctl.folder().join("state/kokctl/clusters").join(lab.name()).join("snapshots")).unwrap().count();
    assert_eq!(left, 0, "nothing of the snapshot stays here");
    let said = restore(kokctl, backup, Some("own.key"), &["--continue"]);
    assert!(said.code == 3 && said.stderr.contains("no restore is under way"), "{said:?}");
    wait_for("the node is Ready", 60, || kubectl(lab, "get nodes").contains(" Ready "));
    workload::everybody_answers_everybody(lab, "cluster.local");
}
