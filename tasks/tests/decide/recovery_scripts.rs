//! Scripts of a recovery that are killed before each of their commands, and then done again, or taken back: nothing of what a member had is ever lost.

mod host;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;

use kok_tasks::operations::{EndRecovery, KeepData, NewEtcd, Operation, StandStill, StartAnew, TakeBack};
use kok_tasks::recovery::{Origin, Recovery};

use self::host::ScriptHost;
use crate::recovery::order;
use crate::support::shell::SHELLS;

fn forward(recovery: &Recovery, unit: bool) -> [Operation; 5] {
    let recovery = || recovery.clone();
    [
        Operation::StandStill(StandStill { recovery: recovery(), plane: true, unit }),
        Operation::KeepData(KeepData { recovery: recovery(), unit }),
        Operation::NewEtcd(NewEtcd { recovery: recovery(), peer_url: "https://10.20.0.13:2380".to_owned(), unit }),
        Operation::StartAnew(StartAnew { recovery: recovery(), plane: true, unit }),
        Operation::EndRecovery(EndRecovery { recovery: recovery() }),
    ]
}

fn back(recovery: &Recovery) -> Operation {
    Operation::TakeBack(TakeBack { recovery: recovery.clone() })
}

const BASH: &[&str] = SHELLS[1];

/// As it is planned: once the new etcd was started nothing is put aside any more.
fn goes_on(host: &ScriptHost, recovery: &Recovery, shell: &[&str]) {
    let done = if host.has("var/lib/kokctl/recovered") {
        4
    } else if host.says("started") {
        3
    } else {
        // Whoever goes on says on every host that it is under way.
        host.write("var/lib/kokctl/recover", &recovery.text());
        0
    };
    forward(recovery, host.1).iter().skip(done).for_each(|step| assert!(host.step(step, shell, None)));
}

fn is_recovered(host: &ScriptHost, after: &str) {
    let kept = |path: &str| host.text(&format!("var/lib/etcd/before-r-1/{path}"));
    assert_eq!((kept("member/snap/db").as_str(), kept("member/wal/0.wal").as_str()), ("old\n", "log\n"), "{after}");
    assert_eq!(host.text("var/lib/etcd/member/snap/db"), "new\nold\nand more\n", "{after}");
    assert!(host.has("var/lib/etcd/member/wal/1.wal") && host.has("var/lib/etcd/member/kokctl-ca.crt") != host.1, "{after}");
    if host.1 {
        assert_eq!((host.text("unit/active").as_str(), host.text("unit/file").as_str()), ("active\n", "enabled\n"), "{after}");
        assert_eq!(host.text("var/lib/kokctl/made/etcd-started"), "had data\n", "{after}");
    }
    host.programs()
        .iter()
        .for_each(|name| assert_eq!(host.text(&format!("etc/kubernetes/manifests/{name}.yaml")), format!("image: {name}\n"), "{after}"));
    assert_eq!(host.text("bin/knows"), "", "{after}: a kubelet that knows a static pod by another manifest may never end it");
    assert_eq!(host.text("var/lib/kokctl/recovered"), "r-1\n", "{after}");
    assert!(!host.has("var/lib/kokctl/recover") && !host.has("var/lib/kokctl/recovery") && !host.has("alone"), "{after}");
    assert!(!host.has("var/lib/etcd/before-r-1/work") && !host.has("var/lib/etcd/before-r-1/snapshot.db"), "{after}");
}

fn is_as_before(host: &ScriptHost, before: &BTreeMap<String, String>, after: &str) {
    let mut before = before.clone();
    before.remove("/var/lib/kokctl/recover");
    assert_eq!(host.state(), before, "{after}");
}

/// One host after each step that was done whole, from the first on.
fn after_each_step(recovery: &Recovery, unit: bool) -> Vec<ScriptHost> {
    let mut hosts = vec![ScriptHost::with(unit)];
    for step in &forward(recovery, unit) {
        let next = hosts[hosts.len() - 1].copy();
        assert!(next.step(step, BASH, None));
        hosts.push(next);
    }
    hosts
}

#[test]
fn one_that_is_killed_before_any_command_is_gone_on_with_or_taken_back() {
    killed_and_gone_on_with(false);
}

#[test]
fn one_of_a_unit_too() {
    killed_and_gone_on_with(true);
}

#[test]
fn an_undo_of_one_of_a_unit_too() {
    taken_back_and_killed(true);
}

fn killed_and_gone_on_with(unit: bool) {
    let recovery = order("cp3", &[]);
    let hosts = after_each_step(&recovery, unit);
    let before = hosts[0].state();
    is_recovered(&hosts[5], "nothing was cut off");
    let (mut seen, mut kills, mut taken_back) = (BTreeSet::new(), 0, 0);
    for (step, host) in forward(&recovery, unit).iter().zip(&hosts) {
        for command in 1.. {
            let cut = host.copy();
            if cut.step(step, BASH, Some(command)) {
                break;
            }
            kills += 1;
            if !seen.insert(cut.state()) {
                continue;
            }
            let after = format!("{}, before command {command}", step.title());
            if !cut.says("started") && !cut.has("var/lib/kokctl/recovered") {
                let other = cut.copy();
                assert!(other.step(&back(&recovery), BASH, None));
                is_as_before(&other, &before, &after);
                taken_back += 1;
            }
            goes_on(&cut, &recovery, BASH);
            is_recovered(&cut, &after);
        }
    }
    assert!(kills > 100 && seen.len() > 40 && taken_back > 30, "{kills} {} {taken_back}", seen.len());
}

#[test]
fn an_undo_that_is_killed_before_any_command_is_done_again_or_gone_on_from() {
    taken_back_and_killed(false);
}

fn taken_back_and_killed(unit: bool) {
    let recovery = order("cp3", &[]);
    let hosts = after_each_step(&recovery, unit);
    let before = hosts[0].state();
    let mut seen = BTreeSet::new();
    for (steps, host) in hosts.iter().enumerate().take(4) {
        for command in 1.. {
            let cut = host.copy();
            if cut.step(&back(&recovery), BASH, Some(command)) {
                break;
            }
            if !seen.insert(cut.state()) {
                continue;
            }
            let after = format!("{steps} steps, taken back before command {command}");
            let other = cut.copy();
            assert!(other.step(&back(&recovery), BASH, None));
            is_as_before(&other, &before, &after);
            goes_on(&cut, &recovery, BASH);
            is_recovered(&cut, &after);
        }
    }
    assert!(seen.len() > 15, "{}", seen.len());
}

/// The very files, and in the shell of other distributions.
#[test]
fn what_is_taken_back_is_what_was_there() {
    let recovery = order("cp3", &[]);
    for shell in SHELLS {
        let host = ScriptHost::new();
        let inode = |host: &ScriptHost, path: &str| host.0.path(path).metadata().unwrap().ino();
        let was = inode(&host, "var/lib/etcd/member/snap/db");
        forward(&recovery, false).iter().take(3).for_each(|step| assert!(host.step(step, shell, None)));
        assert_eq!(inode(&host, "var/lib/etcd/before-r-1/member/snap/db"), was, "{shell:?}");
        assert!(host.step(&back(&recovery), shell, None));
        assert_eq!(inode(&host, "var/lib/etcd/member/snap/db"), was, "{shell:?}");
        goes_on(&host, &recovery, shell);
        is_recovered(&host, "after it was taken back");
    }
}

/// Data on a disk of their own, by a link: etcd writes to a copy all the same.
#[test]
fn what_a_link_leads_to_is_kept_as_it_is() {
    let host = ScriptHost::new();
    fs::rename(host.0.path("var/lib/etcd/member"), host.0.path("disk")).unwrap();
    std::os::unix::fs::symlink(host.0.path("disk"), host.0.path("var/lib/etcd/member")).unwrap();
    goes_on(&host, &order("cp3", &[]), BASH);
    is_recovered(&host, "a link");
    assert_eq!(host.text("disk/snap/db"), "old\n");
}

#[test]
fn what_was_full_has_room_and_what_is_wrong_is_said() {
    let recovery = order("cp3", &[]);
    let host = ScriptHost::new();
    host.write("alarm", "memberID:1 alarm:NOSPACE\n");
    goes_on(&host, &recovery, BASH);
    is_recovered(&host, "full");
    assert_eq!(host.text("freed"), "compact 42\ndefrag\ndisarm\n");
    for (alarm, least, says) in [("memberID:1 alarm:CORRUPT\n", 7, "complains"), ("", 43, "end with revision 42, and had 43")] {
        let recovery = Recovery { least, ..recovery.clone() };
        let host = ScriptHost::new();
        host.write("alarm", alarm);
        forward(&recovery, false).iter().take(2).for_each(|step| assert!(host.step(step, BASH, None)));
        let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| host.step(&forward(&recovery, false)[2], BASH, None)));
        let said = made.unwrap_err().downcast::<String>().unwrap();
        assert!(said.contains(says) && !host.has("var/lib/etcd/member"), "{said}");
        assert!(host.step(&back(&recovery), BASH, None));
        assert_eq!(host.text("var/lib/etcd/member/snap/db"), "old\n");
    }
}

/// What watches the API goes on from the last revision that it has seen, which after an earlier restore is far beyond that of the data.
#[test]
fn the_new_revision_is_beyond_all_that_were_seen() {
    for (newest, bump) in [(0, 1_000_000_000), (42, 1_000_000_000), (1_000_000_142_u64, 2_000_000_100)] {
        let host = ScriptHost::new();
        host.write("bump", "");
        goes_on(&host, &Recovery { newest, ..order("cp3", &[]) }, BASH);
        assert_eq!(host.text("bump").trim(), bump.to_string(), "the data have 42, and {newest} was seen");
    }
}

/// As the data of a member, so that both go on alike.
#[test]
fn a_snapshot_goes_the_same_way() {
    let recovery = Recovery { origin: Origin::Snapshot { sha256: "a".repeat(64) }, least: 0, ..order("cp3", &[]) };
    let host = ScriptHost::new();
    let steps = forward(&recovery, false);
    steps.iter().take(2).for_each(|step| assert!(host.step(step, BASH, None)));
    host.write("var/lib/etcd/before-r-1/snapshot.db", "sent\n");
    host.write("alarm", "memberID:1 alarm:NOSPACE\n");
    steps.iter().skip(2).for_each(|step| assert!(host.step(step, BASH, None)));
    assert_eq!(host.text("var/lib/etcd/member/snap/db"), "new\nnew\nsent\nand more\n");
    assert!(!host.has("alarm") && !host.has("var/lib/etcd/before-r-1/snapshot.db"));
    assert_eq!(host.text("var/lib/etcd/before-r-1/member/snap/db"), "old\n");
}

/// Hosts of before are gone, and so is where they asked the API; of a restore on the same hosts nothing is.
#[test]
fn on_other_hosts_the_nodes_of_before_are_gone() {
    for is_elsewhere in [false, true] {
        let recovery = Recovery { origin: Origin::Backup { sha256: "a".repeat(64), is_elsewhere }, least: 0, ..order("cp3", &[]) };
        let host = ScriptHost::new();
        let steps = forward(&recovery, false);
        steps.iter().take(2).for_each(|step| assert!(host.step(step, BASH, None)));
        host.write("var/lib/etcd/before-r-1/snapshot.db", "sent\n");
        steps.iter().skip(2).for_each(|step| assert!(host.step(step, BASH, None)));
        assert_eq!(host.has("deleted"), is_elsewhere);
        if is_elsewhere {
            let gone = [
                "--prefix /registry/minions/",
                "/registry/configmaps/kube-system/kubeadm-config",
                "/registry/configmaps/kube-public/cluster-info",
            ];
            assert_eq!(host.text("deleted").lines().collect::<Vec<_>>(), gone);
            assert!(host.text("var/lib/etcd/member/snap/db").contains("gone"), "the new etcd is made of what is left");
        }
    }
}

/// What is in the place of the data is removed only where what was there is aside.
#[test]
fn data_that_are_not_kept_are_not_removed() {
    let recovery = order("cp3", &[]);
    let host = ScriptHost::new();
    let steps = forward(&recovery, false);
    steps.iter().take(2).for_each(|step| assert!(host.step(step, BASH, None)));
    fs::rename(host.0.path("var/lib/etcd/before-r-1/member"), host.0.path("var/lib/etcd/member")).unwrap();
    let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| host.step(&steps[2], BASH, None)));
    assert!(made.unwrap_err().downcast::<String>().unwrap().contains("has nothing of what was put aside"));
    assert_eq!(host.text("var/lib/etcd/member/snap/db"), "old\n");
}
