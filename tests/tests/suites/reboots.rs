//! Hosts are started anew, one after the other, while the cluster goes on.

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Lab, LabSpec};

use crate::cluster_support::clock::Clock;
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::{cluster, ok};

const BOOT_ID: &str = "cat /proc/sys/kernel/random/boot_id";

fn boots(lab: &Lab) -> Vec<String> {
    lab.hosts().map(|host| ok(&host, BOOT_ID)).collect()
}

/// Of three control planes one that says that it has to be, and the first of the file, through which the others were asked until then. A host of the
/// lab may take two minutes to go down, so not all of them.
#[test]
fn control_planes_are_started_anew() {
    let lab = Lab::up(LabSpec::unique(4).control_planes(3)).unwrap_or_else(|error| panic!("{error}"));
    let kokctl = Kokctl::new(&lab);
    let mut clock = Clock::start();
    kokctl.converge("apply");
    clock.lap("a cluster");
    let before = boots(&lab);
    let said = kokctl.verb("reboot", &["*", "--if-needed"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.stdout.contains("none of them says that it has to be started anew"), "{said:?}");
    ok(&lab.host("cp2").unwrap(), "touch /run/reboot-required");
    let said = kokctl.verb("reboot", &["*", "--if-needed"]);
    assert_eq!(said.code, 0, "{said:?}");
    let after = boots(&lab);
    let changed: Vec<usize> = (0..4).filter(|index| before[*index] != after[*index]).collect();
    assert_eq!(changed, [1], "cp2 alone said that it has to be");
    clock.lap("the one that needs it");
    let said = kokctl.verb("reboot", &["cp1"]);
    assert_eq!(said.code, 0, "{said:?}");
    let last = boots(&lab);
    assert!(last[0] != after[0] && last[1..] == after[1..], "cp1 alone, by the word of another one");
    clock.lap("the first of the file");
    let cordoned = cluster::kubectl(&lab, "get nodes -o jsonpath='{.items[?(@.spec.unschedulable==true)].metadata.name}'");
    assert_eq!(cordoned, "");
    cluster::assert_serves(&lab, DEFAULT_KUBERNETES_VERSION);
    kokctl.has_nothing_to_do();
    clock.lap("as before");
}
