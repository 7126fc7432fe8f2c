//! Backups in a bucket of a real server that speaks S3, and a cluster brought back from there.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Lab};
use serde_json::Value;

use crate::buckets_story::line::Line;
use crate::buckets_story::server::{ACCESS, BUCKET, SECRET, Server};
use crate::cluster_support::clock::Clock;
use crate::cluster_support::cluster::kubectl;
use crate::cluster_support::kokctl::{Kokctl, KokctlOutput};
use crate::cluster_support::{ok, up};

/// Made for this test, and used for nothing else.
const OWN: (&str, &str) = (
    "AGE-SECRET-KEY-1GZS0YPMX3JPQEKQQSF8NT8N0QWCTNNCRD94JZNK5CX7F4Q3AD92QYF8ZZW",
    "age1ga6w2xwdthxpx3sej5cvaajjfxkghuepgkctd5m5rra4et8dmvlse0r603",
);

#[test]
fn backups_go_to_a_bucket_and_come_back() {
    let lab = up(1);
    let kokctl = Kokctl::new(&lab);
    let mut clock = Clock::start();
    let server = Server::start(&lab, kokctl.folder(), 7070, None);
    write_manifest(&lab, &kokctl, 7070, SECRET);
    kokctl.converge("apply");
    kubectl(&lab, "create configmap before --from-literal=n=1");
    // More than one part of an upload.
    fill(&lab, 24);
    clock.lap("a cluster");
    let first = is_put(&kokctl, &server);
    is_told(&kokctl, &first);
    clock.lap("a backup in the bucket");
    is_refused(&lab, &kokctl, &server, &first);
    clock.lap("what is refused");
    let line = Line::begin(&lab, 7070);
    write_manifest(&lab, &kokctl, line.port(), SECRET);
    goes_on_where_lines_are_cut(&kokctl, &server, &line);
    clock.lap("by a line that is cut");
    kubectl(&lab, "delete configmap before");
    let (manifest, key) = (kokctl.manifest(), own(&kokctl));
    let restore = ["restore", &first, "-f", text(&manifest), "--identity", text(&key), "--bundle", text(kokctl.bundle()), "--yes"];
    let (restored, cuts) = line.cut(6, 2, || kokctl.run(&restore));
    println!("{}{}", restored.stdout, restored.stderr);
    assert!(restored.code == 0 && cuts == 2, "{restored:?}, with {cuts} cuts");
    write_manifest(&lab, &kokctl, 7070, SECRET);
    assert!(kubectl(&lab, "get configmap before -o name").contains("before"));
    clock.lap("restored from the bucket");
    two_stay(&kokctl, &server, &first);
    drop(server);
    let said = backup(&kokctl, "list", &[]);
    assert!(said.code != 0 && said.stderr.contains("can't be listed"), "{said:?}");
    assert!(![ACCESS, SECRET].iter().any(|canary| kokctl.transcript().contains(canary) || kokctl.journals().contains(canary)));
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn own(kokctl: &Kokctl<'_>) -> PathBuf {
    kokctl.folder().join("own.key")
}

/// One host that is everything, and backups for one recipient in the bucket.
fn write_manifest(lab: &Lab, kokctl: &Kokctl<'_>, port: u16, secret: &str) {
    let manifest = lab.inventory(DEFAULT_KUBERNETES_VERSION).unwrap().replace("roles: [control-plane]}", "roles: [control-plane, worker]}");
    let more = format!(
        "  backup:\n    to:\n      s3: {{bucket: {BUCKET}, endpoint: 'https://127.0.0.1:{port}', prefix: clusters/demo, credentialsFile: s3.key, caFile: ca.crt}}\n    \
         recipients: [{}]\n    keep: {{last: 2}}\n    schedule: '@hourly'\n",
        OWN.1
    );
    kokctl.write_manifest(&format!("{}\n{more}", manifest.trim_end()));
    let key = format!("[default]\naws_access_key_id = {ACCESS}\naws_secret_access_key = {secret}\n");
    for (name, content) in [("own.key", format!("{}\n", OWN.0)), ("s3.key", key)] {
        let path = kokctl.folder().join(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    }
}

/// So many megabytes that nobody can make smaller.
fn fill(lab: &Lab, megabytes: usize) {
    let one = "head -c 700000 /dev/urandom >/tmp/fill && kubectl --kubeconfig=/etc/kubernetes/admin.conf create configmap";
    let all: Vec<String> = (0..megabytes).map(|number| format!("{one} fill-{number} --from-file=/tmp/fill >/dev/null")).collect();
    ok(&lab.host("cp1").unwrap(), &all.join(" && "));
}

fn backup(kokctl: &Kokctl<'_>, verb: &str, more: &[&str]) -> KokctlOutput {
    let said = kokctl.run(&[&["backup", verb, "-f", text(&kokctl.manifest())], more].concat());
    println!("$ kokctl backup {verb} {}\n{}{}", more.join(" "), said.stdout, said.stderr);
    said
}

/// The address of a new one, of which nothing lies here.
fn is_put(kokctl: &Kokctl<'_>, server: &Server) -> String {
    let said = backup(kokctl, "create", &[]);
    let address = said.stdout.split_once(": ").unwrap_or_default().0.to_owned();
    assert!(said.code == 0 && address.starts_with("s3://backups/clusters/demo/"), "{said:?}");
    assert!(server.object(&address).is_file(), "{address}");
    nothing_is_left(kokctl);
    address
}

fn nothing_is_left(kokctl: &Kokctl<'_>) {
    let state = kokctl.folder().join("state");
    let found = Command::new("find").arg(&state).args(["-name", "*kokctl-backup*"]).output().unwrap();
    assert!(found.stdout.is_empty(), "{}", String::from_utf8_lossy(&found.stdout));
}

fn verify(kokctl: &Kokctl<'_>, address: &str) -> KokctlOutput {
    backup(kokctl, "verify", &[address, "--identity", text(&own(kokctl))])
}

fn is_told(kokctl: &Kokctl<'_>, address: &str) {
    let listed = backup(kokctl, "list", &["--json"]);
    let list: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert!(list[0]["file"] == *address && list[0]["bytes"].as_u64().unwrap() > 16_000_000, "{list}");
    let whole = verify(kokctl, address);
    assert!(whole.code == 0 && whole.stdout.contains(&format!("{address} is whole")), "{whole:?}");
    let status = kokctl.verb("status", &["--json", "--bundle", text(kokctl.bundle())]);
    let status: Value = serde_json::from_str(&status.stdout).unwrap();
    assert!(status["backups"][0]["place"] == "s3://backups/clusters/demo" && status["backups"][0]["overdue"] == false, "{status}");
}

/// A wrong key, a server that has no room, one that is away, and an object that somebody has changed.
fn is_refused(lab: &Lab, kokctl: &Kokctl<'_>, server: &Server, address: &str) {
    write_manifest(lab, kokctl, 7070, "another");
    let said = backup(kokctl, "create", &[]);
    assert!(said.code != 0 && said.stderr.contains("credentialsFile"), "{said:?}");
    {
        let _full = Server::start(lab, kokctl.folder(), 7071, Some(8));
        write_manifest(lab, kokctl, 7071, SECRET);
        let said = backup(kokctl, "create", &[]);
        assert!(said.code != 0 && said.stderr.contains("can't be put into the bucket"), "{said:?}");
        let said = backup(kokctl, "list", &[]);
        assert!(said.code == 0 && said.stdout.is_empty(), "nobody sees what did not get whole: {said:?}");
    }
    nothing_is_left(kokctl);
    write_manifest(lab, kokctl, 7070, SECRET);
    let object = server.object(address);
    let mut bytes = fs::read(&object).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&object, &bytes).unwrap();
    let said = verify(kokctl, address);
    assert!(said.code != 0 && said.stderr.contains(address), "{said:?}");
    let said = kokctl.run(&["restore", address, "-f", text(&kokctl.manifest()), "--identity", text(&own(kokctl)), "--yes"]);
    assert!(said.code != 0 && kubectl(lab, "get nodes").contains("Ready"), "nothing stands still: {said:?}");
    bytes[middle] ^= 1;
    fs::write(&object, &bytes).unwrap();
    assert_eq!(verify(kokctl, address).code, 0);
}

/// Whatever was under way when a connection ended is sent or asked for once more. Of what is fetched that is more often than a request is tried, so that a part
/// can't come by one.
fn goes_on_where_lines_are_cut(kokctl: &Kokctl<'_>, server: &Server, line: &Line) {
    let (address, cuts) = line.cut(6, 4, || is_put(kokctl, server));
    assert_eq!(cuts, 4);
    let (whole, cuts) = line.cut(2, 8, || verify(kokctl, &address));
    assert!(whole.code == 0 && cuts == 8, "{whole:?}, with {cuts} cuts");
}

/// Of three that were made the first goes.
fn two_stay(kokctl: &Kokctl<'_>, server: &Server, first: &str) {
    let (second, third) = (is_put(kokctl, server), is_put(kokctl, server));
    let name = |address: &str| address.rsplit('/').next().unwrap().to_owned();
    assert_eq!(server.objects(), [name(&second), name(&third)], "{first}");
}
