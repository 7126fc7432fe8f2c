//! Backups that systemd makes on a jump host, by the units that kokctl prints. A worker of the lab is that host: it has a systemd, and a way to the others.

use std::fs::File;

use kok_tests::lab::{Host, Lab};

use crate::cluster_support::kokctl::{Kokctl, program};
use crate::cluster_support::ok;
use crate::lab_support::wait_for;

/// Two full minutes, and the one that has begun.
const TWO: u64 = 200;

/// Two are made without anybody's help, and each by a run that ended well.
pub fn makes_two(lab: &Lab, kokctl: &Kokctl<'_>) {
    let jump = lab.host("worker1").unwrap();
    ok(&jump, "mkdir -m 700 /root/jump");
    for (file, name, mode) in
        [(program(), "kokctl", "755"), (lab.private_key_path(), "key", "600"), (lab.known_hosts_path(), "known_hosts", "644")]
    {
        send(&jump, File::open(file).unwrap(), &format!("/root/jump/{name}"), mode);
    }
    let text = std::fs::read_to_string(kokctl.manifest()).unwrap();
    let text = text
        .replace(lab.private_key_path().to_str().unwrap(), "/root/jump/key")
        .replace(lab.known_hosts_path().to_str().unwrap(), "/root/jump/known_hosts")
        .replace("to: {folder: backups}", "schedule: '* * * * *', to: {folder: /root/jump/backups}")
        .replace("keep: {last: 1}", "keep: {last: 9}");
    ok(&jump, &format!("mkdir /root/jump/backups && cat >/root/jump/cluster.yaml <<'END'\n{text}END"));
    let unit = format!("kokctl-backup-{}", lab.name());
    let said = ok(&jump, "cd /root/jump && ./kokctl backup timer -f cluster.yaml --output /etc/systemd/system 2>&1");
    assert!(said.contains(&format!("systemctl enable --now {unit}.timer")), "{said}");
    ok(&jump, &format!("systemctl daemon-reload && systemctl enable --now {unit}.timer"));
    let journal = || ok(&jump, &format!("journalctl --no-pager -u {unit}.service"));
    wait_for("two backups", TWO, || ok(&jump, "ls /root/jump/backups | grep -c '[.]age$' || :") == "2");
    ok(&jump, &format!("systemctl disable --now {unit}.timer"));
    // The one that is just being made ends, too.
    let property = |name: &str| ok(&jump, &format!("systemctl show -P {name} {unit}.service"));
    wait_for("the service has ended", TWO, || property("ActiveState") != "activating");
    assert_eq!(property("Result"), "success", "{}", journal());
    assert_eq!(journal().matches("Finished ").count(), ok(&jump, "ls /root/jump/backups").lines().count(), "{}", journal());
}

fn send(host: &Host, file: File, path: &str, mode: &str) {
    let line = format!("cat >{path} && chmod {mode} {path}");
    assert!(host.ssh_command("root", line).unwrap().stdin(file).status().unwrap().success(), "{path}");
}
