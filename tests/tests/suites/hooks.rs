//! Scripts of a user's around all that happens to a cluster: founded, upgraded with a cut, started anew, a host removed, and taken down.

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION as NEW, Lab};

use crate::cluster_support::clock::Clock;
use crate::cluster_support::cluster::kubectl;
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::{ok, up};
use crate::highly_available_story::any;
use crate::members_story::killed;

/// The version before that the bundle holds.
const OLD: &str = "1.36.3";

const SECRET: &str = "correct-horse-battery-staple";

/// Each writes where it is, and fails where what should be so in its place is not. Short ones may share a script with their neighbours.
const HOOKS: &str = r#"  hooks:
    - {name: unprepared, at: beforePreparation, timeout: 30s, script: "test ! -e /usr/local/bin/containerd && echo $KOKCTL_HOOK $KOKCTL_HOST >>/var/log/hooks"}
    - {name: prepared, at: afterPreparation, timeout: 30s, script: "systemctl is-active containerd && ! systemctl is-active kubelet && echo $KOKCTL_HOOK $KOKCTL_HOST >>/var/log/hooks"}
    - {name: no-node, at: beforeJoin, timeout: 30s, script: "! systemctl is-active kubelet && echo $KOKCTL_HOOK $KOKCTL_HOST >>/var/log/hooks"}
    - {name: node, at: afterJoin, timeout: 30s, script: "test -s /var/lib/kubelet/pki/kubelet-client-current.pem && echo $KOKCTL_HOOK $KOKCTL_HOST >>/var/log/hooks"}
    - {name: all-nodes, at: afterJoin, once: true, script: "kubectl get node cp1 worker1 && echo all $KOKCTL_HOOK $KOKCTL_HOST >>/var/log/hooks"}
    - {name: full, at: beforeDrain, timeout: 30s, script: "echo $KOKCTL_HOOK $KOKCTL_HOST >>/var/log/hooks"}
    - {name: empty, at: afterDrain, script: "systemctl is-active kubelet && echo $KOKCTL_HOOK $KOKCTL_HOST >>/var/log/hooks"}
    - {name: older, at: beforeUpgrade, source: older.sh}
    - {name: newer, at: afterUpgrade, environment: {WANTED: v1.37.1, folder: /etc, status: x}, script: "echo kubelet $(/usr/local/bin/kubelet --version); /usr/local/bin/kubelet --version | grep -q $WANTED && echo $KOKCTL_HOOK $KOKCTL_HOST >>/var/log/hooks"}
    - {name: leaves, at: beforeRemoval, script: "systemctl is-active kubelet && echo $KOKCTL_HOOK $KOKCTL_HOST >>/var/log/hooks"}
    - {name: left, at: afterRemoval, on: [worker1], secrets: {TOKEN: correct-horse-battery-staple}, script: "! kubectl get node worker1 && echo $TOKEN && echo $KOKCTL_HOOK $KOKCTL_HOST >>/var/log/hooks"}
"#;

/// Nothing of the new version runs when it runs.
const OLDER: &str =
    "#!/bin/bash -e\n[[ $(/proc/$(pgrep -x kubelet)/exe --version) == *v1.36.3 ]]\necho $KOKCTL_HOOK $KOKCTL_HOST >>/var/log/hooks\n";

fn take_hook_log(lab: &Lab, host: &str) -> Vec<String> {
    let log = ok(&lab.host(host).unwrap(), "cat /var/log/hooks 2>/dev/null; rm -f /var/log/hooks");
    log.lines().map(str::to_owned).collect()
}

fn hook_lines(host: &str, places: &[&str]) -> Vec<String> {
    places.iter().map(|place| format!("{place} {host}")).collect()
}

#[test]
fn each_runs_in_its_place() {
    let lab = up(2);
    let kokctl = Kokctl::new(&lab);
    let bundle = kokctl.bundle().to_str().unwrap().to_owned();
    let mut clock = Clock::start();
    std::fs::write(kokctl.manifest().with_file_name("older.sh"), OLDER).unwrap();
    kokctl.write_manifest(&format!("{}{HOOKS}", lab.inventory(OLD).unwrap()));
    kokctl.converge("apply");
    let founded = ["beforePreparation", "afterPreparation", "beforeJoin", "afterJoin"];
    assert_eq!(take_hook_log(&lab, "worker1"), hook_lines("worker1", &founded));
    let of_plane: Vec<String> = hook_lines("cp1", &founded).into_iter().chain(["all afterJoin cp1 worker1".to_owned()]).collect();
    assert_eq!(take_hook_log(&lab, "cp1"), of_plane);
    kokctl.has_nothing_to_do();
    clock.lap("founded");

    kokctl.write_manifest(&format!("{}{HOOKS}", lab.inventory(NEW).unwrap()));
    let after = any((1..=15).collect());
    println!("upgrade is killed after {after} steps");
    killed::after(&kokctl, &["upgrade", "--yes", "--bundle", &bundle], after);
    let upgraded = kokctl.verb("upgrade", &["--yes", "--bundle", &bundle]);
    assert!(upgraded.code == 0 && upgraded.stderr.contains(&format!("says:\n    kubelet Kubernetes v{NEW}")), "{upgraded:?}");
    let places = ["beforeUpgrade", "beforeDrain", "afterDrain", "afterUpgrade"];
    assert_eq!(take_hook_log(&lab, "worker1"), hook_lines("worker1", &places));
    assert_eq!(take_hook_log(&lab, "cp1"), hook_lines("cp1", &places));
    kokctl.has_nothing_to_do();
    clock.lap("upgraded, with a cut");

    let started = kokctl.verb("reboot", &["worker1", "--delete-unmanaged"]);
    assert_eq!(started.code, 0, "{started:?}");
    assert_eq!(take_hook_log(&lab, "worker1"), hook_lines("worker1", &["beforeDrain", "afterDrain"]));
    assert_eq!(take_hook_log(&lab, "cp1"), Vec::<String>::new());
    clock.lap("started anew");

    failing(&lab, &kokctl, &bundle);
    clock.lap("one that fails");

    let removed = kokctl.verb("remove", &["worker1", "--yes", "--delete-unmanaged"]);
    assert!(removed.code == 0 && !removed.stderr.contains(SECRET), "{removed:?}");
    assert_eq!(take_hook_log(&lab, "worker1"), hook_lines("worker1", &["beforeRemoval", "beforeDrain", "afterDrain"]));
    assert_eq!(take_hook_log(&lab, "cp1"), hook_lines("worker1", &["afterRemoval"]));
    assert_eq!(kubectl(&lab, "get nodes -o name"), "node/cp1");
    assert_eq!(ok(&lab.host("worker1").unwrap(), "ls -d /run/kokctl/hooks /var/lib/kokctl 2>/dev/null || :"), "");
    assert!(!kokctl.transcript().contains(SECRET) && !kokctl.journals().contains(SECRET), "the secret was told");
    assert!(kokctl.journals().contains("hook-said"), "what they say stands in the journal");
    clock.lap("removed");
}

/// What comes after one that fails is not begun, and what it says is told; one of which that was said goes on. They are short, and so sent together.
fn failing(lab: &Lab, kokctl: &Kokctl<'_>, bundle: &str) {
    let own =
        "    - {name: stops, at: afterPreparation, on: [worker1], timeout: 30s, script: \"echo no room here; exit 3\", onFailure: HOW}
    - {name: behind, at: afterPreparation, on: [worker1], timeout: 30s, script: \"echo $KOKCTL_HOOK $KOKCTL_HOST >>/var/log/hooks\"}\n";
    let with = |how: &str| kokctl.write_manifest(&format!("{}{HOOKS}{}", lab.inventory(NEW).unwrap(), own.replace("HOW", how)));
    with("Stop");
    let said = kokctl.verb("apply", &["--bundle", bundle]);
    let told = format!("{}{}", said.stdout, said.stderr);
    assert!(said.code == 4 && told.contains("no room here") && told.contains("it ended with the code 3"), "{said:?}");
    assert_eq!(take_hook_log(lab, "worker1"), Vec::<String>::new());
    with("Go");
    let said = kokctl.verb("apply", &["--bundle", bundle]);
    assert!(said.code == 0 && said.stderr.contains("no room here") && said.stderr.contains("onFailure: Go"), "{said:?}");
    assert_eq!(take_hook_log(lab, "worker1"), hook_lines("worker1", &["afterPreparation"]));
    kokctl.has_nothing_to_do();
    kokctl.write_manifest(&format!("{}{HOOKS}", lab.inventory(NEW).unwrap()));
}
