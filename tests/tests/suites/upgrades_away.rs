//! A worker is away while its cluster gets the next minor version: the others get it, and that one when it is back.

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION as NEW, Lab};

use crate::cluster_support::clock::Clock;
use crate::cluster_support::cluster::{assert_complete, kubectl};
use crate::cluster_support::kokctl::{Kokctl, KokctlOutput};
use crate::cluster_support::up;
use crate::upgrades::OLD;

#[test]
fn a_worker_that_is_away_is_left_out_and_comes_later() {
    let lab = up(3);
    let kokctl = Kokctl::new(&lab);
    let mut clock = Clock::start();
    kokctl.write_manifest(&lab.inventory(OLD).unwrap());
    kokctl.converge("apply");
    clock.lap("a cluster");
    kokctl.write_manifest(&lab.inventory(NEW).unwrap());
    let away = lab.host("worker2").unwrap();
    away.power_off().unwrap();
    is_refused(&kokctl);
    clock.lap("refused");
    // Until the API knows that it is away, a pod of CoreDNS may still be given to its node, which is waited for then.
    kubectl(&lab, "wait --for=condition=Ready=Unknown node/worker2 --timeout=120s");
    is_none_of_those_that_are_meant(&lab, &kokctl);
    clock.lap("control planes");
    is_left_out(&lab, &kokctl);
    clock.lap("all but one");
    away.power_on().unwrap();
    kubectl(&lab, "wait --for=condition=Ready node/worker2 --timeout=120s");
    let said = upgrade(&kokctl, &[]);
    assert!(said.code == 0 && said.stdout.contains(&format!("has Kubernetes {NEW}")), "{said:?}");
    clock.lap("the last one");
    let said = upgrade(&kokctl, &[]);
    assert!(said.code == 0 && said.stdout.contains("nothing to do"), "{said:?}");
    kokctl.has_nothing_to_do();
    assert_complete(&lab, NEW);
}

fn upgrade(kokctl: &Kokctl<'_>, options: &[&str]) -> KokctlOutput {
    let bundle = kokctl.bundle().to_str().unwrap();
    let said = kokctl.verb("upgrade", &[&["--yes", "--bundle", bundle], options].concat());
    println!("$ kokctl upgrade {}\n{}{}", options.join(" "), said.stdout, said.stderr);
    said
}

/// Of cp1, worker1 and worker2, as the API knows them.
fn have_kubelets(lab: &Lab, versions: [&str; 3]) {
    let kubelets = kubectl(lab, "get nodes -o jsonpath='{.items[*].status.nodeInfo.kubeletVersion}'");
    assert_eq!(kubelets, versions.map(|version| format!("v{version}")).join(" "));
}

/// Nothing is begun, and whoever is away is named with the words that leave it out.
fn is_refused(kokctl: &Kokctl<'_>) {
    for options in [&[][..], &["--check"], &["--limit", "cp1,worker2"], &["--limit", "worker2", "--max-fail", "1"]] {
        let said = upgrade(kokctl, options);
        assert!(said.code == 3 && said.stderr.contains("cannot connect to worker2"), "{said:?}");
        let names_words = said.stderr.contains("--limit with the others, or --max-fail 1");
        assert_eq!(names_words, !options.contains(&"--max-fail"), "of the one that is meant nobody would be left: {said:?}");
        assert!(!said.stderr.contains("is left out"), "{said:?}");
    }
}

fn is_none_of_those_that_are_meant(lab: &Lab, kokctl: &Kokctl<'_>) {
    let said = upgrade(kokctl, &["--limit", "cp1,worker1", "--part", "control-planes"]);
    assert!(said.code == 0 && said.stdout.contains("left: kubelets of worker1, worker2"), "{said:?}");
    have_kubelets(lab, [NEW, OLD, OLD]);
}

fn is_left_out(lab: &Lab, kokctl: &Kokctl<'_>) {
    let said = upgrade(kokctl, &["--max-fail", "1"]);
    assert!(said.code == 0 && said.stdout.contains("left: kubelets of worker2; `kokctl upgrade` goes on"), "{said:?}");
    assert!(said.stderr.contains("worker2 is left out"), "{said:?}");
    have_kubelets(lab, [NEW, NEW, OLD]);
    let cordoned = kubectl(lab, "get nodes -o jsonpath='{.items[?(@.spec.unschedulable==true)].metadata.name}'");
    assert_eq!(cordoned, "");
    let said = upgrade(kokctl, &["--max-fail", "50%"]);
    assert!(said.code == 0 && said.stdout.contains("nothing to do"), "{said:?}");
}
