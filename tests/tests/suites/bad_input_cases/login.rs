//! Reaching the hosts.

use std::fs;
use std::process::Command;

use super::{Expected, HOST, INPUT, Refusals};
use crate::cluster_support::ok;

pub fn nobody_there(refusals: &Refusals<'_>) {
    let manifest = refusals.manifest_with("address: 10.20.0.13", "address: 10.20.0.99");
    let expected = Expected {
        what: "cannot connect to worker2: it is unreachable",
        at: "host worker2 (root@10.20.0.99:22)",
        because: "No route to host",
        hint: "check the address in the cluster file",
    };
    refusals.refuses(&manifest, HOST, &[expected]);
}

pub fn nothing_listens(refusals: &Refusals<'_>) {
    let manifest = refusals.manifest_with("10.20.0.12, roles: [worker]}", "10.20.0.12, roles: [worker], ssh: {port: 2222}}");
    let expected = Expected {
        what: "cannot connect to worker1: connection refused",
        at: "host worker1 (root@10.20.0.12:2222)",
        because: "nothing listens on 10.20.0.12:2222",
        hint: "check address and port in the cluster file",
    };
    refusals.refuses(&manifest, HOST, &[expected]);
}

pub fn wrong_key(refusals: &Refusals<'_>) {
    let key = refusals.kokctl.folder().join("wrong-key");
    let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key).status().unwrap();
    assert!(made.success());
    let right = format!("privateKeyFile: {}", refusals.lab.private_key_path().display());
    let manifest = refusals.manifest_with(&right, &format!("privateKeyFile: {}", key.display()));
    let because = format!("the host did not accept {}", key.display());
    let expected = Expected {
        what: "cannot connect to the host: login as root refused",
        at: "3 hosts: cp1 (root@10.20.0.11:22), worker1 (root@10.20.0.12:22), worker2 (root@10.20.0.13:22)",
        because: &because,
        hint: "add the public key to ~root/.ssh/authorized_keys",
    };
    refusals.refuses(&manifest, HOST, &[expected]);
}

/// What is wrong with the file is wrong before anybody is asked.
pub fn no_key(refusals: &Refusals<'_>) {
    let right = refusals.lab.private_key_path().display().to_string();
    let manifest = refusals.manifest_with(&right, "/nonexistent/key");
    let expected = Expected {
        what: "the private key /nonexistent/key can't be read",
        at: &refusals.position(&manifest, "/nonexistent/key"),
        because: "No such file or directory",
        hint: "check privateKeyFile",
    };
    refusals.refuses(&manifest, INPUT, &[expected]);
}

/// The manifest with a known_hosts in which each line was changed by `change`, or left out.
fn with_known_hosts(refusals: &Refusals<'_>, change: impl Fn(&str) -> Option<String>) -> String {
    let right = refusals.lab.known_hosts_path();
    let lines: Vec<String> = fs::read_to_string(&right).unwrap().lines().filter_map(change).collect();
    let file = refusals.kokctl.folder().join("known_hosts");
    fs::write(&file, lines.join("\n") + "\n").unwrap();
    refusals.manifest_with(&right.display().to_string(), &file.display().to_string())
}

pub fn changed_host_key(refusals: &Refusals<'_>) {
    let fingerprint = ok(&refusals.host("worker1"), "ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub | cut -d' ' -f2");
    // worker1 is recorded with the keys of worker2, as after an address was given to another machine.
    let manifest = with_known_hosts(refusals, |line| match line.strip_prefix("10.20.0.13,worker2 ") {
        _ if line.starts_with("10.20.0.12,") => None,
        Some(key) => Some(format!("{line}\n10.20.0.12,worker1 {key}")),
        None => Some(line.to_owned()),
    });
    let expected = Expected {
        what: "cannot connect to worker1: its host key has changed",
        at: "host worker1 (root@10.20.0.12:22)",
        because: &fingerprint,
        hint: "somebody may be between you and the host",
    };
    refusals.refuses(&manifest, HOST, &[expected]);
}

pub fn unknown_host_key(refusals: &Refusals<'_>) {
    let fingerprint = ok(&refusals.host("worker1"), "ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub | cut -d' ' -f2");
    let manifest = with_known_hosts(refusals, |line| (!line.starts_with("10.20.0.12,")).then(|| line.to_owned()));
    let expected = Expected {
        what: "cannot connect to worker1: its host key is not known",
        at: "host worker1 (root@10.20.0.12:22)",
        because: &fingerprint,
        hint: &format!("hostKey: {fingerprint}"),
    };
    refusals.refuses(&manifest, HOST, &[expected]);
}

pub fn no_sudo(refusals: &Refusals<'_>) {
    let host = refusals.host("worker1");
    refusals.prepare(&host, "useradd --create-home --shell /bin/sh plain && cp -r /root/.ssh /home/plain/ && chown -R plain: /home/plain");
    let manifest = refusals.manifest_with("10.20.0.12, roles: [worker]}", "10.20.0.12, roles: [worker], ssh: {user: plain}}");
    let expected = Expected {
        what: "worker1: plain may not use sudo without a password",
        at: "host worker1 (plain@10.20.0.12:22)",
        because: "sudo",
        hint: "plain ALL=(ALL) NOPASSWD: ALL",
    };
    refusals.refuses(&manifest, HOST, &[expected]);
    refusals.prepare(&host, "userdel --remove plain 2>/dev/null");
}
