//! Backups in a bucket of a real server that speaks S3, and a cluster brought back from there.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Lab};
use kok_tests::release::paths::default_cache;
use serde_json::Value;

use crate::cluster_support::clock::Clock;
use crate::cluster_support::cluster::kubectl;
use crate::cluster_support::kokctl::{Kokctl, Said, program};
use crate::cluster_support::{ok, up};
use crate::lab_support::wait_for;

/// Made for this test, and used for nothing else.
const OWN: (&str, &str) = (
    "AGE-SECRET-KEY-1GZS0YPMX3JPQEKQQSF8NT8N0QWCTNNCRD94JZNK5CX7F4Q3AD92QYF8ZZW",
    "age1ga6w2xwdthxpx3sej5cvaajjfxkghuepgkctd5m5rra4et8dmvlse0r603",
);
/// The key of the bucket.
const ACCESS: &str = "c4n4ryaccess";
const SECRET: &str = "c4n4ry-of-the-bucket-5d0a";
const BUCKET: &str = "backups";

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
    kubectl(&lab, "delete configmap before");
    let (manifest, key) = (kokctl.manifest(), own(&kokctl));
    let restored =
        kokctl.run(&["restore", &first, "-f", text(&manifest), "--identity", text(&key), "--bundle", text(kokctl.bundle()), "--yes"]);
    println!("{}{}", restored.stdout, restored.stderr);
    assert_eq!(restored.code, 0, "{restored:?}");
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

/// The server, in the lab's network, with a folder for what it stores.
struct Server {
    child: Child,
    folder: PathBuf,
}

impl Server {
    /// With so many megabytes of room, if that is said.
    fn start(lab: &Lab, beside: &Path, port: u16, megabytes: Option<u32>) -> Self {
        let folder = beside.join(format!("s3-{port}"));
        fs::create_dir(&folder).unwrap();
        certificate(beside);
        let serve = format!(
            "{}cd {} && exec {} --access {ACCESS} --secret {SECRET} --port 127.0.0.1:{port} --cert {} --key {} --quiet posix {}",
            megabytes.map(|size| format!("mount -t tmpfs -o size={size}m tmpfs {} && ", folder.display())).unwrap_or_default(),
            beside.display(),
            versitygw().display(),
            beside.join("server.crt").display(),
            beside.join("server.key").display(),
            folder.display()
        );
        let serve = format!("mkdir -p {}/{BUCKET}; {serve}", folder.display());
        let serve = if megabytes.is_some() {
            serve.replacen(" && cd", &format!(" && mkdir {}/{BUCKET} && cd", folder.display()), 1)
        } else {
            serve
        };
        let mut command = lab.command("setpriv").unwrap();
        command.args(["--pdeathsig", "KILL", "unshare", "--mount", "sh", "-c", &serve]);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_for("the server of the bucket answers", 30, || {
            let address = format!("https://127.0.0.1:{port}/");
            lab.command("curl").unwrap().args(["--silent", "--insecure", "--output", "/dev/null", &address]).status().unwrap().success()
        });
        Self { child, folder }
    }

    /// What it stores of a backup.
    fn object(&self, address: &str) -> PathBuf {
        self.folder.join(address.strip_prefix("s3://").unwrap())
    }

    fn objects(&self) -> Vec<String> {
        let folder = self.folder.join(BUCKET).join("clusters/demo");
        let mut names: Vec<String> = fs::read_dir(folder).map_or_else(
            |_| Vec::new(),
            |entries| {
                entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).filter(|name| !name.starts_with('.')).collect()
            },
        );
        names.sort();
        names
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn versitygw() -> PathBuf {
    let to = default_cache().unwrap().join("tool-versitygw");
    let release = program().with_file_name("release");
    let output = Command::new(release).args(["build", "--only", "versitygw", "--output"]).arg(&to).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let index: Value = serde_json::from_str(&fs::read_to_string(to.join("bundle.json")).unwrap()).unwrap();
    to.join(index["files"][0]["path"].as_str().unwrap())
}

/// A certificate for the address of the server, and the CA that has signed it.
fn certificate(folder: &Path) {
    if folder.join("server.crt").exists() {
        return;
    }
    let request = |more: &[&str]| {
        let mut openssl = Command::new("openssl");
        openssl.current_dir(folder).args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]);
        let output = openssl.args(more).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    request(&["-subj", "/CN=CA of the bucket", "-keyout", "ca.key", "-out", "ca.crt"]);
    let leaf = ["-subj", "/CN=s3", "-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE"];
    request(&[&leaf[..], &["-CA", "ca.crt", "-CAkey", "ca.key", "-keyout", "server.key", "-out", "server.crt"]].concat());
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

fn backup(kokctl: &Kokctl<'_>, verb: &str, more: &[&str]) -> Said {
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

fn verify(kokctl: &Kokctl<'_>, address: &str) -> Said {
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

/// Of three that were made the first goes.
fn two_stay(kokctl: &Kokctl<'_>, server: &Server, first: &str) {
    let (second, third) = (is_put(kokctl, server), is_put(kokctl, server));
    let name = |address: &str| address.rsplit('/').next().unwrap().to_owned();
    assert_eq!(server.objects(), [name(&second), name(&third)], "{first}");
}
