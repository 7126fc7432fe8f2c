//! Workers are cordoned, drained and removed under a budget that forbids it, with runs that are killed, and dead.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use kok_tests::lab::Lab;

use crate::cluster_support::clock::Clock;
use crate::cluster_support::cluster::kubectl;
use crate::cluster_support::kokctl::{Kokctl, KokctlOutput, image_of, wait_for_event};
use crate::cluster_support::{bare, ok, up};
use crate::lab_support::wait_for;

/// Two pods, one on each worker, of which none may be away.
const CART: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: cart}
spec:
  replicas: 2
  selector: {matchLabels: {app: cart}}
  template:
    metadata: {labels: {app: cart}}
    spec:
      terminationGracePeriodSeconds: 1
      affinity:
        podAntiAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
          - {weight: 100, podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: cart}}}}
      containers: [{name: cart, image: 'IMAGE', imagePullPolicy: IfNotPresent}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: cart}
spec: {minAvailable: 2, selector: {matchLabels: {app: cart}}}
";

/// What a budget forbids is told within so long.
const TOLD: Duration = Duration::from_secs(5);

#[test]
fn workers_are_drained_and_removed() {
    let lab = up(3);
    let kokctl = Kokctl::new(&lab);
    let mut clock = Clock::start();
    kokctl.converge("apply");
    let manifest = CART.replace("IMAGE", &image_of(kokctl.bundle(), "pause").0);
    ok(&lab.host("cp1").unwrap(), &format!("kubectl --kubeconfig=/etc/kubernetes/admin.conf apply -f - <<'END'\n{manifest}END"));
    kubectl(&lab, "rollout status deployment/cart --timeout=60s");
    clock.lap("a cluster");
    a_deadline_leaves_the_node_as_before(&lab, &kokctl);
    clock.lap("a drain that is given up");
    a_killed_one_is_lifted_by_the_next_apply(&lab, &kokctl);
    clock.lap("a drain that is killed");
    it_goes_on_once_the_budget_allows(&lab, &kokctl);
    clock.lap("a drain that waits");
    whose_cordon_it_is(&lab, &kokctl);
    clock.lap("cordons");
    a_budget_may_be_overruled(&lab, &kokctl);
    clock.lap("a budget that is overruled");
    a_worker_leaves(&lab, &kokctl);
    clock.lap("a worker is removed");
    a_dead_one_is_kept_out(&lab, &kokctl);
    clock.lap("a dead worker");
    support_has_what_somebody_needs_and_no_secret(&lab, &kokctl);
    clock.lap("support");
}

fn cordons(lab: &Lab) -> String {
    kubectl(lab, "get nodes -o jsonpath='{range .items[?(@.spec.unschedulable==true)]}{.metadata.name} {end}'").trim().to_owned()
}

fn budget(lab: &Lab, at_least: u8) {
    kubectl(lab, &format!("patch pdb cart --type=merge -p '{{\"spec\":{{\"minAvailable\":{at_least}}}}}'"));
}

fn a_deadline_leaves_the_node_as_before(lab: &Lab, kokctl: &Kokctl<'_>) {
    let said = kokctl.verb("drain", &["worker1", "--timeout", "10"]);
    assert_eq!(said.code, 4, "{said:?}");
    for words in ["pod default/cart-", "budget cart (app=cart) allows 0: 2 pods are healthy, and 2 have to be"] {
        assert!(said.stderr.contains(words), "{words}: {}", said.stderr);
    }
    assert_eq!(cordons(lab), "", "the node takes pods as before");
    assert_eq!(kubectl(lab, "get pods -l app=cart -o name").lines().count(), 2);
    kokctl.has_nothing_to_do();
}

/// The command with its events; it is told within seconds what keeps a pod.
fn drain_in_json(kokctl: &Kokctl<'_>) -> (std::process::Child, BufReader<std::process::ChildStdout>) {
    let manifest = kokctl.manifest();
    let mut command: Command = kokctl.command(&["drain", "-f", manifest.to_str().unwrap(), "worker1", "--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut events = BufReader::new(child.stdout.take().unwrap());
    let mut said = String::new();
    wait_for_event(&mut events, "plan-made", &mut said);
    let began = Instant::now();
    while !said.contains("budget cart (app=cart) allows 0") {
        wait_for_event(&mut events, "step-waiting", &mut said);
    }
    assert!(began.elapsed() < TOLD, "{:?}: {said}", began.elapsed());
    (child, events)
}

fn a_killed_one_is_lifted_by_the_next_apply(lab: &Lab, kokctl: &Kokctl<'_>) {
    let (mut child, _events) = drain_in_json(kokctl);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(cordons(lab), "worker1", "nobody was left to lift it");
    let said = kokctl.verb("status", &[]);
    assert!(said.stdout.contains("worker1: takes no new pods, for a run"), "{said:?}");
    let said = kokctl.converge("apply");
    assert!(said.contains(" 1 change,"), "{said}");
    assert_eq!(cordons(lab), "");
    kokctl.has_nothing_to_do();
}

fn it_goes_on_once_the_budget_allows(lab: &Lab, kokctl: &Kokctl<'_>) {
    let (mut child, events) = drain_in_json(kokctl);
    let rest = thread::spawn(move || events.lines().map_while(Result::ok).collect::<Vec<_>>().join("\n"));
    budget(lab, 1);
    let status = child.wait().unwrap();
    assert!(status.success(), "{}", rest.join().unwrap());
    let nodes = kubectl(lab, "get pods -l app=cart --field-selector status.phase=Running -o jsonpath='{.items[*].spec.nodeName}'");
    assert!(!nodes.contains("worker1"), "{nodes}");
    assert_eq!(cordons(lab), "worker1");
}

/// What was asked for stays until somebody asks for the contrary, and what others have done is theirs.
fn whose_cordon_it_is(lab: &Lab, kokctl: &Kokctl<'_>) {
    kokctl.has_nothing_to_do();
    assert_eq!(cordons(lab), "worker1");
    let said = kokctl.verb("uncordon", &["worker1"]);
    assert_eq!((said.code, said.stdout.contains("pods come to worker1 again")), (0, true), "{said:?}");
    kubectl(lab, "cordon worker2");
    let said = kokctl.verb("uncordon", &["worker2"]);
    assert!(said.code == 3 && said.stderr.contains("worker2 was not cordoned by kokctl"), "{said:?}");
    kokctl.has_nothing_to_do();
    assert_eq!(cordons(lab), "worker2");
    kubectl(lab, "uncordon worker2");
    let said = kokctl.verb("cordon", &["worker9"]);
    assert!(said.code == 2 && said.stderr.contains("worker9"), "{said:?}");
}

/// Both pods are on the other worker by now.
fn a_budget_may_be_overruled(lab: &Lab, kokctl: &Kokctl<'_>) {
    kubectl(lab, "rollout status deployment/cart --timeout=60s");
    budget(lab, 2);
    let said = kokctl.verb("drain", &["worker2", "--force-budget", "--grace", "1", "--timeout", "60"]);
    assert_eq!(said.code, 0, "{said:?}");
    let nodes = kubectl(lab, "get pods -l app=cart --field-selector status.phase=Running -o jsonpath='{.items[*].spec.nodeName}'");
    assert!(!nodes.contains("worker2"), "{nodes}");
    let said = kokctl.verb("uncordon", &["worker2"]);
    assert_eq!(said.code, 0, "{said:?}");
    budget(lab, 1);
}

fn without(kokctl: &Kokctl<'_>, host: &str) -> String {
    let whole = fs::read_to_string(kokctl.manifest()).unwrap();
    let line = format!("name: {host},");
    whole.lines().filter(|text| !text.contains(&line)).map(|text| format!("{text}\n")).collect()
}

/// A line that is lost is no removal; the word is, by an operation in the files as well.
fn a_worker_leaves(lab: &Lab, kokctl: &Kokctl<'_>) {
    let whole = fs::read_to_string(kokctl.manifest()).unwrap();
    kokctl.write_manifest(&without(kokctl, "worker2"));
    let said = kokctl.verb("plan", &["--bundle", kokctl.bundle().to_str().unwrap()]);
    assert!(said.code == 0 && said.stderr.contains("kokctl remove -f FILE worker2"), "{said:?}");
    kokctl.write_manifest(&whole);
    let said = kokctl.verb("remove", &["cp1", "--yes"]);
    assert!(said.code == 2 && said.stderr.contains("no control plane would be left"), "{said:?}");
    let said = kokctl.verb("remove", &["worker2"]);
    assert!(said.code == 5 && said.stderr.contains("nobody confirmed"), "{said:?}");
    kubectl(lab, "run alone --image=none --overrides='{\"spec\":{\"nodeName\":\"worker2\"}}'");
    let said = kokctl.verb("remove", &["worker2", "--yes"]);
    assert!(said.code == 3 && said.stderr.contains("default/alone: no controller would make it again"), "{said:?}");
    assert_eq!(cordons(lab), "", "nothing was begun");
    // Whoever writes such an operation has agreed to that, as with Kubespray.
    let said = removed_by_operation(lab, kokctl, "-e node=worker2");
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.stdout.contains("worker2 is no longer part of the cluster"), "{said:?}");
    bare::is_bare(&lab.host("worker2").unwrap());
    kubectl(lab, "rollout status deployment/cart --timeout=60s");
    kokctl.write_manifest(&without(kokctl, "worker2"));
    kokctl.converge("apply");
    kokctl.has_nothing_to_do();
}

fn removed_by_operation(lab: &Lab, kokctl: &Kokctl<'_>, arguments: &str) -> KokctlOutput {
    let whole = fs::read_to_string(kokctl.manifest()).unwrap();
    let operation = format!(
        "---\napiVersion: kubean.io/v1alpha1\nkind: ClusterOperation\nmetadata: {{name: away}}\n\
         spec: {{cluster: {}, actionType: playbook, action: remove-node.yml, extraArgs: '{arguments}'}}\n",
        lab.name()
    );
    kokctl.write_manifest(&format!("{}\n{operation}", whole.trim_end()));
    let said = kokctl.verb("remove", &[]);
    kokctl.write_manifest(&whole);
    said
}

/// One that was switched off makes no node when it is switched on again; put back into the file, it joins.
fn a_dead_one_is_kept_out(lab: &Lab, kokctl: &Kokctl<'_>) {
    let said = kokctl.verb("remove", &["worker1", "--dead", "--yes"]);
    assert!(said.code == 3 && said.stderr.contains("it answers by SSH"), "{said:?}");
    let worker = lab.host("worker1").unwrap();
    worker.power_off().unwrap();
    let said = kokctl.verb("remove", &["worker1", "--dead", "--yes"]);
    assert!(said.code == 3 && said.stderr.contains("its kubelet says that the node is Ready"), "{said:?}");
    kubectl(lab, "wait --for=condition=Ready=Unknown node/worker1 --timeout=120s");
    let said = removed_by_operation(lab, kokctl, "-e node=worker1");
    assert_eq!(said.code, 3, "only who says so gives up a host that does not answer: {said:?}");
    let said = removed_by_operation(lab, kokctl, "-e node=worker1 -e allow_ungraceful_removal=true");
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.stdout.contains("nothing was cleaned on worker1"), "{said:?}");
    assert_eq!(kubectl(lab, "get nodes -o name"), "node/cp1");
    worker.power_on().unwrap();
    let denied = "journalctl -u kubelet -b --no-pager | grep -q 'kokctl has removed this node as dead'";
    wait_for("the kubelet is refused", 60, || worker.ssh(&["sh", "-c", denied]).unwrap().success());
    assert_eq!(kubectl(lab, "get nodes -o name"), "node/cp1");
    kokctl.converge("apply");
    kubectl(lab, "wait --for=condition=Ready node/worker1 --timeout=10s");
}

/// What is in it is found by its words, in a file that nobody else may read.
fn support_has_what_somebody_needs_and_no_secret(lab: &Lab, kokctl: &Kokctl<'_>) {
    let cp1 = lab.host("cp1").unwrap();
    ok(&cp1, "logger -p user.err 'it asks with the password=c4n4ry1 and the token: c4n4ry2 again'");
    let (folder, path) = (kokctl.folder().join("support"), kokctl.folder().join("support.tar.gz"));
    let said = kokctl.verb("support", &["-o", path.to_str().unwrap()]);
    assert_eq!(said.code, 0, "{said:?}");
    let again = kokctl.verb("support", &["-o", path.to_str().unwrap()]);
    assert!(again.code == 1 && again.stderr.contains("can't be written"), "{again:?}");
    let about = fs::metadata(&path).unwrap();
    assert!(about.len() < 20_000_000 && about.permissions().mode() & 0o077 == 0, "{about:?}");
    assert!(Command::new("tar").args(["-xzf"]).arg(&path).arg("-C").arg(kokctl.folder()).status().unwrap().success());
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let host = read("hosts/cp1.txt");
    for words in [
        "==== journalctl",
        "kubelet",
        "==== kube get events",
        "node/worker1",
        "etcd.yaml",
        "it asks with the password=(left out)",
        "/etcd/0.log\n",
        "/kube-apiserver/0.log\n",
        "\"caller\":\"",
    ] {
        assert!(host.contains(words), "{words}: {}", host.len());
    }
    assert!(read("status.json").contains("\"apiServer\"") && read("hosts/worker1.txt").contains("==== df"));
    assert!(fs::read_dir(folder.join("runs")).unwrap().count() > 3);
    let key = ok(&cp1, "sed -n 's/.*client-key-data: //p' /etc/kubernetes/admin.conf | tr -d '\"'");
    for secret in ["c4n4ry1", "c4n4ry2", key.trim(), "PRIVATE KEY-----"] {
        assert!(!host.contains(secret), "a secret is in it");
    }
}
