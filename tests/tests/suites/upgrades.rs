//! A cluster gets the next minor version under load, is cut off between etcd and an API server on the way, and goes on.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION as NEW, Host, Lab, LabSpec};

use crate::cluster_support::clock::Clock;
use crate::cluster_support::cluster::{assert_complete, control_planes, kubectl, node_hosts};
use crate::cluster_support::kokctl::{Kokctl, image_of, wait_for_event};
use crate::cluster_support::{ok, up};
use crate::highly_available_story::any;
use crate::members_story::killed;
use crate::members_story::load::Load;
use crate::upgrades_story::components::{self, OLD_CONTAINERD};
use crate::upgrades_story::shop::Shop;
use crate::upgrades_story::skew::Watch;
use crate::upgrades_story::{kubeadm, webhooks};

/// The version before that the bundle holds.
pub const OLD: &str = "1.36.3";

/// Who writes, and asks the Service, each through its own load balancer.
const WORKERS: [&str; 2] = ["worker1", "worker2"];

#[test]
fn three_control_planes_get_the_next_minor_version() {
    let lab = Lab::up(LabSpec::unique(5).control_planes(3)).unwrap_or_else(|error| panic!("{error}"));
    let kokctl = Kokctl::new(&lab);
    let bundle = kokctl.bundle().to_str().unwrap().to_owned();
    let mut clock = Clock::start();
    kokctl.write_manifest(&lab.inventory(OLD).unwrap());
    kokctl.converge("apply");
    clock.lap("a cluster");
    kokctl.write_manifest(&lab.inventory(NEW).unwrap());
    is_refused_and_planned(&kokctl, &bundle);
    let loads = WORKERS.map(|worker| Load::begin_with_a_second_try(&lab, worker));
    let (shop, watch) = (Shop::open(&lab, &image_of(kokctl.bundle(), "echo").0, &WORKERS), Watch::begin(&lab));
    let nothing_failed = |after: &str| loads.iter().for_each(|load| load.goes_on_but_for(after, 0));
    killed_after(&kokctl, &bundle, "cp1/etcd/member");
    nothing_failed("cut off after the first member");
    clock.lap("cut off");
    is_half_way(&kokctl, &bundle);
    stops_where_one_does_not_come_up(&lab, &kokctl, &bundle);
    nothing_failed("one does not come up");
    clock.lap("stopped at the second");
    // Its kubelet has stopped by then, and its control plane ended.
    killed_after(&kokctl, &bundle, "cp1/control-plane/rests");
    nothing_failed("cut off at rest");
    clock.lap("cut off at rest");
    let said = kokctl.verb("upgrade", &["--yes", "--bundle", &bundle]);
    assert!(said.code == 0 && said.stdout.contains(&format!("has Kubernetes {NEW}")), "{said:?}");
    nothing_failed("upgraded");
    clock.lap("upgraded");
    watch.end();
    shop.was_never_closed();
    loads.into_iter().for_each(Load::end);
    WORKERS.iter().for_each(|worker| another_load_balancer_stood_in(&lab.host(worker).unwrap()));
    api_servers_were_held(&lab);
    is_whole(&lab, &kokctl, &bundle);
}

/// Each control plane had its turn, so that one of them at least had led before; and each API server goes on.
fn api_servers_were_held(lab: &Lab) {
    let planes = control_planes(lab);
    let held = |host: &Host| {
        ok(host, "journalctl --no-pager -o cat -u kokctl-hold | grep -c '^Started kokctl-hold.service' || :").parse::<u32>().unwrap()
    };
    let times: Vec<u32> = planes.iter().map(held).collect();
    println!("API servers were held: {times:?}");
    assert!(times.iter().all(|times| *times > 0), "{times:?}");
    for host in planes {
        ok(
            &host,
            "! systemctl --quiet is-active kokctl-hold && ! grep -q '^State:.*T' $(pgrep -x kube-apiserver | sed 's|.*|/proc/&/status|')",
        );
    }
}

/// While the new kubelet made the worker's own anew; nothing of it is left.
fn another_load_balancer_stood_in(worker: &Host) {
    let said = ok(worker, "journalctl --no-pager -o cat -u kokctl-stand-in");
    assert!(said.contains("Started kokctl-stand-in.service") && said.contains("Deactivated successfully"), "{said}");
    ok(worker, "! systemctl --quiet is-active kokctl-stand-in && [ ! -e /run/kokctl/stand-in.sh ]");
}

/// One control plane: the API is away for its own restart, which is told before; killed at any step, paused, used meanwhile, and gone on with.
#[test]
fn one_control_plane_and_a_worker_with_a_pause() {
    let lab = up(2);
    let kokctl = Kokctl::new(&lab);
    let bundle = kokctl.bundle().to_str().unwrap().to_owned();
    let mut clock = Clock::start();
    let vars = format!("\n  vars:\n    containerd_version: {OLD_CONTAINERD}\n");
    kokctl.write_manifest(&lab.inventory(OLD).unwrap().replacen("\n  vars:\n", &vars, 1));
    kokctl.converge("apply");
    kubectl(&lab, &format!("create deployment stays --image={}", image_of(kokctl.bundle(), "pause").0));
    clock.lap("a cluster");
    let pools = "\n  upgrade: {pools: [{name: canary, match: ['work*'], soak: 7s}]}\n  vars:\n";
    kokctl.write_manifest(&lab.inventory(NEW).unwrap().replacen("\n  vars:\n", pools, 1));
    components::are_upgraded_alone(&lab, &kokctl, &bundle);
    clock.lap("components");
    let said = kokctl.verb("upgrade", &["--check", "--bundle", &bundle]);
    assert!(said.code == 0 && said.stdout.contains("the API is away for"), "{said:?}");
    assert!(said.stdout.contains("pool canary: worker1") && said.stdout.contains("looked at for 7 s"), "{said:?}");
    webhooks::in_the_way_are_found(&lab, &kokctl, &bundle);
    let watch = Watch::begin(&lab);
    let after = any((1..=15).collect());
    println!("upgrade is killed after {after} steps");
    killed::after(&kokctl, &["upgrade", "--yes", "--bundle", &bundle], after);
    clock.lap("killed");
    let pauses = ["--yes", "--pause-after", "control-planes", "--bundle", &bundle];
    let said = kokctl.verb("upgrade", &pauses);
    assert!(said.code == 0 && said.stdout.contains("left: kubelets of cp1, worker1"), "{said:?}");
    let said = kokctl.verb("upgrade", &pauses);
    assert!(said.code == 0 && said.stdout.contains("nothing to do before the pause; left: kubelets of cp1, worker1"), "{said:?}");
    clock.lap("paused");
    kubectl(&lab, "scale deployment stays --replicas=2");
    kubectl(&lab, "wait --for=condition=Available --timeout=60s deployment/stays");
    let kubelets = kubectl(&lab, "get nodes -o jsonpath='{.items[*].status.nodeInfo.kubeletVersion}'");
    assert_eq!(kubelets, format!("v{OLD} v{OLD}"), "the pause is before kubelets");
    let said = kokctl.verb("upgrade", &["--yes", "--bundle", &bundle]);
    assert!(said.code == 0 && said.stdout.contains(&format!("has Kubernetes {NEW}")), "{said:?}");
    assert!(said.stderr.contains("worker1: kubelet has run for 7 s"), "{said:?}");
    clock.lap("upgraded");
    watch.end();
    kubectl(&lab, "wait --for=condition=Available --timeout=60s deployment/stays");
    // Its pods were moved with the worker's, and a node whose kubelet has begun a moment ago may be counted out once more.
    kubectl(&lab, "-n kube-system rollout status deployment/coredns --timeout=60s");
    kokctl.has_nothing_to_do();
    assert_complete(&lab, NEW);
    kubeadm::finds_nothing(&lab.host("cp1").unwrap(), NEW);
    an_option_that_a_program_does_not_take_keeps_what_runs(&lab, &kokctl);
}

/// A control plane alone gets the version and works as the one before; that is taken back, begun again, and ended: killed on each way.
#[test]
fn an_upgrade_is_taken_back_and_ended_another_time() {
    let lab = up(2);
    let kokctl = Kokctl::new(&lab);
    let bundle = kokctl.bundle().to_str().unwrap().to_owned();
    let mut clock = Clock::start();
    kokctl.write_manifest(&lab.inventory(OLD).unwrap());
    kokctl.converge("apply");
    clock.lap("a cluster");
    kokctl.write_manifest(&lab.inventory(NEW).unwrap());
    let member = || ok(&lab.host("cp1").unwrap(), "pgrep -x etcd");
    let (before, watch) = (member(), Watch::begin(&lab));
    let upgrade = |turn: &str| kokctl.verb("upgrade", &[turn, "--yes", "--bundle", &bundle]);
    for turn in ["--emulate", "--take-back", "--emulate", "--finish"] {
        let after = any((1..=8).collect());
        println!("{turn} is killed after {after} steps");
        killed::after(&kokctl, &["upgrade", turn, "--yes", "--bundle", &bundle], after);
        let said = upgrade(turn);
        assert_eq!(said.code, 0, "{said:?}");
        println!("{}", said.stdout);
        clock.lap(turn);
        assert_eq!(member() == before, turn != "--finish", "{turn}: etcd goes on as it is until the end");
        match turn {
            "--emulate" => works_as_before(&lab, &kokctl, &bundle),
            "--take-back" => is_back(&lab, &kokctl, &bundle),
            _ => {}
        }
    }
    watch.end();
    let said = upgrade("--take-back");
    assert!(said.code == 0 && said.stdout.contains("no control plane"), "it has ended: {said:?}");
    kokctl.has_nothing_to_do();
    assert_complete(&lab, NEW);
    kubeadm::finds_nothing(&lab.host("cp1").unwrap(), NEW);
}

/// API servers say both; nothing else has another version, and only the two words go on.
fn works_as_before(lab: &Lab, kokctl: &Kokctl<'_>, bundle: &str) {
    let host = lab.host("cp1").unwrap();
    let version = format!("kubectl --kubeconfig=/etc/kubernetes/admin.conf --server=https://{}:6443 get --raw /version", host.address());
    let version: serde_json::Value = serde_json::from_str(&ok(&host, &version)).unwrap();
    assert_eq!((version["gitVersion"].as_str(), version["emulationMinor"].as_str()), (Some(&*format!("v{NEW}")), Some("36")), "{version}");
    let manifests = "cd /etc/kubernetes/manifests && grep -l emulated-version=1.36 *.yaml | wc -l && grep -c :3.6.8 etcd.yaml";
    assert_eq!(ok(&host, manifests), "3\n1");
    let kubelets = kubectl(lab, "get nodes -o jsonpath='{.items[*].status.nodeInfo.kubeletVersion}'");
    assert_eq!(kubelets, format!("v{OLD} v{OLD}"));
    let said = kokctl.verb("upgrade", &["--yes", "--bundle", bundle]);
    assert!(said.code == 2 && said.stderr.contains("--take-back") && said.stderr.contains("--finish"), "{said:?}");
    let said = kokctl.verb("upgrade", &["--emulate", "--bundle", bundle]);
    assert!(said.code == 0 && said.stdout.contains("nothing to do") && said.stdout.contains("work as 1.36"), "{said:?}");
    let said = kokctl.verb("apply", &["--bundle", bundle]);
    assert!(said.code == 3 && said.stderr.contains("kokctl upgrade --take-back"), "{said:?}");
    let said = kokctl.verb("status", &["--bundle", bundle]);
    assert!(said.stdout.contains(&format!("{NEW} as 1.36")), "{said:?}");
    kubectl(lab, &format!("create deployment web --image={}", image_of(kokctl.bundle(), "pause").0));
    kubectl(lab, "rollout status deployment/web --timeout=120s");
    kubectl(lab, "delete deployment web");
}

/// As if nothing had been, for the file of before.
fn is_back(lab: &Lab, kokctl: &Kokctl<'_>, bundle: &str) {
    let said = kokctl.verb("upgrade", &["--take-back", "--bundle", bundle]);
    assert!(said.code == 0 && said.stdout.contains("nothing to do"), "{said:?}");
    kokctl.write_manifest(&lab.inventory(OLD).unwrap());
    kokctl.has_nothing_to_do();
    assert_complete(lab, OLD);
    kokctl.write_manifest(&lab.inventory(NEW).unwrap());
}

/// Nobody but the program itself knows what it takes there: the one that would not start is asked before the one that runs is ended.
fn an_option_that_a_program_does_not_take_keeps_what_runs(lab: &Lab, kokctl: &Kokctl<'_>) {
    let host = lab.host("cp1").unwrap();
    let runs = || ok(&host, "pgrep -o kube-apiserver; cat /etc/kubernetes/manifests/kube-apiserver.yaml");
    let (right, before) = (std::fs::read_to_string(kokctl.manifest()).unwrap(), runs());
    kokctl.write_manifest(&right.replace("  vars:\n", "  vars:\n    kube_kubeadm_apiserver_extra_args: {vmodule: x}\n"));
    let said = kokctl.verb("apply", &["--bundle", kokctl.bundle().to_str().unwrap()]);
    assert!(said.code == 4 && said.stderr.contains("does not take the options") && said.stderr.contains("pattern=N"), "{said:?}");
    assert_eq!(runs(), before);
    kokctl.write_manifest(&right);
    kokctl.converge("apply");
    kokctl.has_nothing_to_do();
}

/// `apply` says which word it needs, and `upgrade --check` which way it goes; neither changes anything.
fn is_refused_and_planned(kokctl: &Kokctl<'_>, bundle: &str) {
    let said = kokctl.verb("apply", &["--bundle", bundle]);
    assert!(said.code == 3 && said.stderr.contains("`kokctl upgrade`"), "{said:?}");
    let said = kokctl.verb("upgrade", &["--check", "--bundle", bundle]);
    let way = [
        "etcd 3.6.14, then Kubernetes 1.37.1 with etcd 3.7.0",
        "stage 1 control-planes",
        "stage 2 kubelets",
        "stage 3 configuration",
        "stage 4 kubelets",
    ];
    assert!(said.code == 0 && way.iter().all(|part| said.stdout.contains(part)), "{said:?}");
    let said = kokctl.verb("upgrade", &["--to", "1.35.0", "--check", "--bundle", bundle]);
    assert!(said.code == 2 && said.stderr.contains("Kubernetes can't go back"), "{said:?}");
}

/// Kills an upgrade when a step is done.
fn killed_after(kokctl: &Kokctl<'_>, bundle: &str, step: &str) {
    let manifest = kokctl.manifest();
    let arguments = ["upgrade", "--yes", "--json", "--bundle", bundle, "-f", manifest.to_str().unwrap()];
    let mut child = kokctl.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut events = BufReader::new(child.stdout.take().unwrap());
    let (mut said, is_it) = (String::new(), format!("\"event\":\"step-done\",\"step\":\"{step}\""));
    while !said.contains(&is_it) {
        wait_for_event(&mut events, "step-done", &mut said);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    drop(events.lines());
}

/// Ends every API server of the new version that begins.
const NEVER: &str = r#"while :; do
  for process in $(pgrep -x kube-apiserver); do
    case $("/proc/$process/exe" --version 2>/dev/null) in *" vNEW") kill -9 "$process" ;; esac
  done
  sleep 0.2
done
"#;

/// The second control plane never comes up: the third keeps what it has, and the cluster works.
fn stops_where_one_does_not_come_up(lab: &Lab, kokctl: &Kokctl<'_>, bundle: &str) {
    let second = lab.host("cp2").unwrap();
    let begin = "systemd-run --quiet --unit=never sh /root/never.sh";
    ok(&second, &format!("cat >/root/never.sh <<'END'\n{}END\n{begin}", NEVER.replace("NEW", NEW)));
    let said = kokctl.verb("upgrade", &["--yes", "--bundle", bundle]);
    assert!(said.code == 4 && said.stderr.contains("cp2"), "{said:?}");
    println!("{}", said.stderr);
    let images = kubectl(lab, "-n kube-system get pods -l component=kube-apiserver -o jsonpath='{.items[*].spec.containers[0].image}'");
    assert!(images.contains(&format!(":v{OLD}")), "the third keeps its version: {images}");
    ok(&second, "systemctl stop never; rm /root/never.sh");
}

/// `status` shows versions, and only `upgrade` goes on.
fn is_half_way(kokctl: &Kokctl<'_>, bundle: &str) {
    let said = kokctl.verb("status", &["--bundle", bundle]);
    assert!(said.stdout.contains("3.6.8") && said.stdout.contains("3.6.14"), "{said:?}");
    let said = kokctl.verb("apply", &["--bundle", bundle]);
    assert!(said.code == 3 && said.stderr.contains("`kokctl upgrade`"), "{said:?}");
}

fn is_whole(lab: &Lab, kokctl: &Kokctl<'_>, bundle: &str) {
    let said = kokctl.verb("upgrade", &["--bundle", bundle]);
    assert!(said.code == 0 && said.stdout.contains("nothing to do"), "{said:?}");
    kokctl.has_nothing_to_do();
    assert_complete(lab, NEW);
    for host in node_hosts(lab) {
        let of_host = format!("-n kube-system get pods -l k8s-app=kube-proxy --field-selector spec.nodeName={} -o name", host.name());
        kubectl(lab, &format!("-n kube-system logs --tail=1 {}", kubectl(lab, &of_host)));
    }
    kubectl(lab, "-n kube-system exec etcd-cp2 -- etcd --version");
    for host in ["cp1", "cp2", "cp3"] {
        kubeadm::finds_nothing(&lab.host(host).unwrap(), NEW);
    }
    let cordoned = kubectl(lab, "get nodes -o jsonpath='{.items[?(@.spec.unschedulable==true)].metadata.name}'");
    assert_eq!(cordoned, "", "all nodes take pods again");
}
