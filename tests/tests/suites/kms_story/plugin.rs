//! The plugin on the control planes of a lab, as its owner puts it there.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use aws_lc_rs::rand;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kok_tests::lab::{Host, Lab};
use kok_tests::release::paths::default_cache;

use crate::cluster_support::cluster::control_planes;
use crate::cluster_support::kokctl::{archive_of, program};
use crate::cluster_support::ok;
use crate::lab_support::wait_for;

/// What a Cluster says of it.
pub const NAME: &str = "vault";
pub const SOCKET: &str = "/run/kms/vault.sock";
/// The names of its keys, in the order in which they are used.
pub const KEYS: [&str; 2] = ["key-of-the-lab-1", "key-of-the-lab-2"];

const PROGRAM: &str = "/usr/local/bin/kms-plugin";
const FOLDER: &str = "/etc/kms-plugin";
const UNIT: &str = "/etc/systemd/system/kms-plugin.service";

/// Everywhere with its first key, and started. Returns the key.
pub fn is_put_there(lab: &Lab) -> String {
    let program = fs::read(built()).unwrap();
    let unit = format!(
        "[Unit]\nDescription=KMS plugin {NAME}\n[Service]\nExecStart={PROGRAM} --socket {SOCKET} --keys {FOLDER}\nRestart=always\n\
         [Install]\nWantedBy=multi-user.target\n"
    );
    for host in control_planes(lab) {
        put(&host, PROGRAM, "755", &program);
        put(&host, UNIT, "644", unit.as_bytes());
    }
    let key = has_key(lab, KEYS[0]);
    for host in control_planes(lab) {
        ok(&host, "systemctl daemon-reload && systemctl enable --quiet kms-plugin");
        start(&host);
    }
    key
}

/// Another key on every control plane, which the plugins find by themselves. It is returned as it stands in the file.
pub fn has_key(lab: &Lab, name: &str) -> String {
    let mut key = [0; 32];
    rand::fill(&mut key).unwrap();
    let key = STANDARD.encode(key);
    control_planes(lab).iter().for_each(|host| put(host, &format!("{FOLDER}/{name}"), "600", key.as_bytes()));
    key
}

pub fn start(host: &Host) {
    ok(host, "systemctl start kms-plugin");
    wait_for("the plugin listens", 30, || ok(host, &format!("test ! -S {SOCKET} || echo listens")) == "listens");
}

/// It takes its socket with it.
pub fn stop(host: &Host) {
    ok(host, &format!("systemctl stop kms-plugin && test ! -e {SOCKET}"));
}

fn built() -> PathBuf {
    let to = default_cache().unwrap().join("tool-kms-plugin");
    let release = program().with_file_name("release");
    let output = Command::new(release).args(["build", "--only", "kms-plugin", "--output"]).arg(&to).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    archive_of(&to, "kms-plugin")
}

/// What a file holds comes by standard input, for arguments are for all to read; and it has its name when it is whole.
fn put(host: &Host, path: &str, mode: &str, content: &[u8]) {
    let (folder, name) = path.rsplit_once('/').unwrap();
    let part = format!("{folder}/.{name}");
    let script = format!("umask 077 && mkdir -p {folder} && cat >{part} && chmod {mode} {part} && mv {part} {path}");
    let mut child = host.ssh_command("root", script).unwrap().stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(content).unwrap();
    assert!(child.wait().unwrap().success(), "{path} on {}", host.name());
}
