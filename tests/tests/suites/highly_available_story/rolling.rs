//! An option of the API server, one of containerd and one of the kubelet are changed while the cluster works: control planes change one after the
//! other, the API answers on, and containers go on.

use std::collections::BTreeMap;
use std::process::{Child, Stdio};

use kok_tests::lab::{Host, Lab};
use serde_json::Value;

use super::control_planes;
use crate::cluster_support::cluster;
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::ok;
use crate::lab_support::wait_for;

/// What the scenario begins with. With the last one an API server ends in 4 seconds in place of 31.
pub const VARIABLES: &str = r#"
    kube_encrypt_secret_data: true
    kube_kubeadm_apiserver_extra_args: {shutdown-send-retry-after: "true"}
"#;

/// What changes then.
pub const CHANGED: &str = "    event_ttl_duration: 2h0m0s\n    containerd_limit_open_file_num: 524288\n";

/// Asks the API by the way of the worker's own load balancer, with a new connection for each question, and writes a line for each answer.
/// An answer is what the API server says of itself to anybody; a question that gets none within 10 seconds has failed.
const ASK: &str = "echo $$ >/run/asking; while [ -e /run/asking ]; do \
    code=$(curl -sk --max-time 10 -o /dev/null -w '%{http_code}' https://lb-apiserver.kubernetes.local:6443/version || :); \
    echo \"$(date +%s%3N) $code\"; sleep 0.2; done";

/// Questions that may fail while one API server after the other is ended and started; two or three of 500 were found. Those under way in the
/// moment in which one closes its port get no answer. One that has just begun to listen has no rules of access for a moment, and refuses.
const MOST_FAILURES: usize = 6;

pub fn one_control_plane_after_the_other(lab: &Lab, kokctl: &Kokctl<'_>, manifest: &str) {
    let worker = lab.host("worker1").unwrap();
    let asking = begin_asking(&worker);
    let containers = network_daemons(lab);
    kokctl.write_manifest(&format!("{manifest}{CHANGED}"));
    let said = kokctl.converge_with("apply", &["--json"]);
    let answers = end_asking(&worker, asking);
    each_waits_for_the_one_before(lab, &said);
    the_api_answered_on(&answers);
    for host in cluster::control_planes(lab) {
        let line = ok(&host, "tr '\\0' ' ' </proc/$(pgrep -x kube-apiserver)/cmdline");
        assert!(line.contains(" --event-ttl=2h0m0s "), "{}: {line}", host.name());
    }
    for host in lab.hosts() {
        assert_eq!(ok(&host, "systemctl show -P LimitNOFILE containerd.service"), "524288", "{}", host.name());
    }
    assert_eq!(network_daemons(lab), containers, "containers go on when containerd is started anew");
    kokctl.has_nothing_to_do();
}

/// A setting that containerd does not start with is found on the first control plane, and goes no further; what it says of it is told.
pub fn what_breaks_containerd_goes_no_further(lab: &Lab, kokctl: &Kokctl<'_>, manifest: &str) {
    let started = || -> Vec<String> { lab.hosts().skip(1).map(|host| ok(&host, "systemctl show -P InvocationID containerd")).collect() };
    let before = started();
    let broken = manifest.replace("{restrict_oom_score_adj: true}", "{restrict_oom_score_adj: perhaps}");
    assert_ne!(broken, manifest);
    kokctl.write_manifest(&broken);
    let said = kokctl.verb("apply", &["--bundle", kokctl.bundle().to_str().unwrap()]);
    assert_ne!(said.code, 0, "{said:?}");
    for told in ["unit containerd.service failed", "at: cp1/container-runtime/service\n", WHY] {
        assert!(said.stderr.contains(told), "{told}: {said:?}");
    }
    assert_eq!(started(), before, "no other containerd was touched");
    kokctl.write_manifest(manifest);
    kokctl.converge("apply");
    kokctl.has_nothing_to_do();
}

/// A setting that kubelets don't start with is found on the first control plane, whose pods go on, and goes no further either. It is one that
/// neither kokctl nor kubeadm knows to be wrong: only the host knows its processors.
pub fn what_breaks_kubelets_goes_no_further(lab: &Lab, kokctl: &Kokctl<'_>, manifest: &str) {
    let started = || -> Vec<String> { lab.hosts().skip(1).map(|host| ok(&host, "systemctl show -P InvocationID kubelet")).collect() };
    let (before, containers) = (started(), network_daemons(lab));
    kokctl.write_manifest(&format!("{manifest}    kubelet_config_extra_args: {{reservedSystemCPUs: \"4095\"}}\n"));
    for attempt in ["first", "second"] {
        let said = kokctl.verb("apply", &["--bundle", kokctl.bundle().to_str().unwrap()]);
        assert_ne!(said.code, 0, "{said:?}");
        for told in [
            "the kubelet ends after its start, and systemd starts it again; `journalctl -u kubelet`",
            "at: cp1/control-plane/goes-on\n",
            "kubelet said last: ",
            "reserved-cpus: 4095 is not a subset of online-cpus",
        ] {
            assert!(said.stderr.contains(told), "{told}: {said:?}");
        }
        assert_eq!(started(), before, "no other kubelet was touched by the {attempt} attempt");
    }
    assert_eq!(network_daemons(lab), containers, "pods go on without a kubelet");
    kokctl.write_manifest(manifest);
    kokctl.converge("apply");
    kokctl.has_nothing_to_do();
}

/// An option that workers' kubelets don't start with is found on the first worker. It goes no further then, and not when it is tried again after the
/// node of that one is known to be lost; the run does not wait for what that kubelet would have to bring about.
pub fn what_breaks_a_worker_goes_no_further(lab: &Lab, kokctl: &Kokctl<'_>, manifest: &str) {
    let [speaker, other] = ["cp1", "worker2"].map(|name| lab.host(name).unwrap());
    let started = || ok(&other, "systemctl show -P InvocationID kubelet");
    let before = started();
    kokctl.write_manifest(&format!("{manifest}    kubelet_node_custom_flags: [\"--reserved-cpus=4095\"]\n"));
    let broken = |attempt: &str| {
        let said = kokctl.verb("apply", &["--bundle", kokctl.bundle().to_str().unwrap()]);
        assert_ne!(said.code, 0, "{said:?}");
        for told in ["at: worker1/kubelet-join/goes-on\n", "kubelet said last: ", "4095 is not a subset of online-cpus"] {
            assert!(said.stderr.contains(told), "{told}: {said:?}");
        }
        let failed = said.stderr.lines().filter(|line| line.trim_start().starts_with("at: ")).count();
        assert_eq!(failed, 1, "nothing else failed, and nothing was waited for in vain: {said:?}");
        assert_eq!(started(), before, "no other kubelet was touched by the {attempt} attempt");
    };
    broken("first");
    let ready =
        "kubectl --kubeconfig /etc/kubernetes/admin.conf get node worker1 -o 'jsonpath={.status.conditions[?(@.type==\"Ready\")].status}'";
    wait_for("worker1's node is lost", 120, || ok(&speaker, ready) == "Unknown");
    broken("second");
    kokctl.write_manifest(manifest);
    kokctl.converge("apply");
    kokctl.has_nothing_to_do();
}

/// What containerd says of a text where it wants a truth value.
const WHY: &str = "RestrictOOMScoreAdj";

/// The process of flannel's daemon on each host, with the time of its start.
fn network_daemons(lab: &Lab) -> Vec<(String, String)> {
    let process = |host: &Host| ok(host, "cut -d ' ' -f 1,22 /proc/$(pgrep -x flanneld)/stat");
    lab.hosts().map(|host| (host.name().to_owned(), process(&host))).collect()
}

fn begin_asking(worker: &Host) -> Child {
    let asking = worker.ssh_command("root", ASK).unwrap().stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    wait_for("somebody asks", 10, || !ok(worker, "cat /run/asking 2>/dev/null || :").is_empty());
    asking
}

/// When each answer came and what it was.
fn end_asking(worker: &Host, asking: Child) -> Vec<(u64, String)> {
    ok(worker, "rm /run/asking");
    let said = asking.wait_with_output().unwrap();
    let text = String::from_utf8(said.stdout).unwrap();
    let answer = |line: &str| line.split_once(' ').map(|(at, code)| (at.parse().unwrap(), code.to_owned())).unwrap();
    text.lines().map(answer).collect()
}

/// By the events of the run: a step's manifests are begun when the API server and the member of the control plane before are back.
fn each_waits_for_the_one_before(lab: &Lab, said: &str) {
    let mut times: BTreeMap<(String, String), usize> = BTreeMap::new();
    for (number, line) in said.lines().enumerate() {
        let event: Value = serde_json::from_str(line).unwrap();
        if let Some(step) = event["step"].as_str() {
            times.insert((event["event"].as_str().unwrap().to_owned(), step.to_owned()), number);
        }
    }
    let at =
        |event: &str, step: String| *times.get(&(event.to_owned(), step.clone())).unwrap_or_else(|| panic!("no {event} of {step}: {said}"));
    let names = control_planes(lab);
    for pair in names.windows(2) {
        let is_before = |back: &str, next: &str| {
            let back = at("step-done", format!("{}/{back}", pair[0]));
            assert!(back < at("step-started", format!("{}/{next}", pair[1])), "{next} of {} was too early: {said}", pair[1]);
        };
        is_before("container-runtime/api-server", "container-runtime/service");
        for back in ["control-plane/api-server", "etcd/member"] {
            for next in ["control-plane/manifests", "etcd/manifest"] {
                is_before(back, next);
            }
        }
    }
}

fn the_api_answered_on(answers: &[(u64, String)]) {
    let failed: Vec<&(u64, String)> = answers.iter().filter(|(_, code)| code != "200").collect();
    let longest = answers.windows(2).map(|pair| pair[1].0 - pair[0].0).max().unwrap();
    println!(
        "{} questions in {} s, {failed:?} failed, {longest} ms between two answers at most",
        answers.len(),
        (answers.last().unwrap().0 - answers[0].0) / 1000
    );
    assert!(answers.len() > 100, "too few questions: {answers:?}");
    assert!(failed.len() <= MOST_FAILURES, "{} of {} questions: {failed:?}", failed.len(), answers.len());
    // Never twice in a row for long: clients of Kubernetes ask again.
    assert!(longest < 15_000, "{longest} ms without an answer");
}
