//! Every refusal with its whole text.

use std::collections::BTreeMap;

use kok_tasks::facts::HostFacts;
use kok_tasks::observe::{KubernetesObject, KubernetesState, NodeState, Observations};
use kok_tasks::plan::{Refusal, Seen};
use kok_tasks::preconditions::check;
use serde_json::json;

use crate::support::{bundle, cluster, inputs, seen_with};

fn refusals(seen: &Seen) -> Vec<Refusal> {
    let (cluster, bundle) = (cluster(), bundle());
    check(&inputs(&cluster, &bundle), seen)
}

fn written(refusals: &[Refusal]) -> String {
    let line = |name: &str, text: &Option<String>| text.as_ref().map(|text| format!("\n  {name}: {text}")).unwrap_or_default();
    let one = |refusal: &Refusal| {
        format!("{}{}{}{}", refusal.what, line("at", &refusal.at), line("because", &refusal.because), line("hint", &refusal.hint))
    };
    refusals.iter().map(one).collect::<Vec<_>>().join("\n")
}

/// What is refused when the facts of one host are changed.
fn refused(host: &str, change: impl Fn(&mut HostFacts)) -> String {
    let seen = seen_with(|name, facts| {
        if name == host {
            change(facts);
        }
    });
    written(&refusals(&seen))
}

#[test]
fn good_hosts_are_not_refused() {
    assert_eq!(refusals(&seen_with(|_, _| {})), Vec::new());
    assert_eq!(refusals(&Seen::default()), Vec::new(), "hosts that were not probed are left out");
}

#[test]
fn what_a_host_is() {
    insta::assert_snapshot!("busy", refused("worker1", |facts| facts.busy = true));
    insta::assert_snapshot!("no_systemd", refused("worker1", |facts| facts.systemd = false));
    insta::assert_snapshot!("not_writable", refused("worker1", |facts| facts.writable = false));
    insta::assert_snapshot!("cgroup_v1", refused("worker1", |facts| facts.cgroup_v2 = false));
    insta::assert_snapshot!("swap", refused("worker1", |facts| facts.swap = true));
    insta::assert_snapshot!("little_memory", refused("cp1", |facts| facts.memory_bytes = 1_600_000_000));
    insta::assert_snapshot!("little_space", refused("worker1", |facts| facts.free_bytes.extend([("/var".to_owned(), 3_000_000_000)])));
    insta::assert_snapshot!(
        "no_such_address",
        refused("worker1", |facts| facts.addresses = ["127.0.0.1".parse().unwrap(), "192.0.2.7".parse().unwrap()].into())
    );
    insta::assert_snapshot!(
        "missing_commands",
        refused("worker1", |facts| facts.commands.retain(|command| !["flock", "iptables", "nsenter", "tar"].contains(&command.as_str())))
    );
}

#[test]
fn whose_a_host_is() {
    insta::assert_snapshot!("other_cluster", refused("worker1", |facts| facts.cluster = Some("production".to_owned())));
    insta::assert_snapshot!("foreign_authority", refused("worker1", |facts| facts.certificate_authority = Some("theirs".to_owned())));
    insta::assert_snapshot!("ports", refused("cp1", |facts| facts.listening_ports.extend([2379, 6443, 10250])));
    insta::assert_snapshot!("kubelet_port", refused("worker1", |facts| facts.listening_ports.extend([6443, 10250])));
}

#[test]
fn limits_are_where_they_are_said_to_be() {
    assert_eq!(refused("worker1", |facts| facts.memory_bytes = 1_600_000_000), "", "only a control plane needs 1700 MB");
    assert_eq!(refused("cp1", |facts| facts.memory_bytes = 1_700_000_000), "");
    assert_eq!(refused("worker1", |facts| facts.free_bytes.extend([("/var".to_owned(), 4_000_000_000)])), "");
    assert_eq!(refused("worker1", |facts| facts.certificate_authority = None), "");
    let ours = |facts: &mut HostFacts| {
        facts.cluster = Some("demo".to_owned());
        facts.listening_ports.extend([6443, 10250]);
        facts.free_bytes.insert("/var".to_owned(), 0);
    };
    assert_eq!(refused("cp1", ours), "", "our own programs and data are no obstacle");
}

#[test]
fn hosts_are_told_apart() {
    let clone = seen_with(|name, facts| {
        if name != "cp1" {
            facts.machine_id = "0123456789abcdef0123456789abcdef".to_owned();
        }
    });
    insta::assert_snapshot!("one_machine_id", written(&refusals(&clone)));
    insta::assert_snapshot!("no_machine_id", refused("worker2", |facts| facts.machine_id.clear()));
}

#[test]
fn clocks_may_be_30_seconds_apart() {
    let mut seen = seen_with(|_, _| {});
    seen.add_clock_offset("worker1", -12);
    seen.add_clock_offset("worker2", 18);
    assert_eq!(refusals(&seen), Vec::new());
    seen.add_clock_offset("worker2", 19);
    insta::assert_snapshot!("clocks", written(&refusals(&seen)));
}

#[test]
fn all_that_is_wrong_is_said_at_once() {
    let seen = seen_with(|_, facts| {
        facts.swap = true;
        facts.cgroup_v2 = false;
    });
    assert_eq!(refusals(&seen).len(), 6);
}

/// A running cluster with these lines in its configuration and these nodes.
fn running(configuration: &str, nodes: &[&str]) -> Seen {
    let object = KubernetesObject(json!({"data": {"ClusterConfiguration": configuration}}));
    let state = KubernetesState::Ready {
        nodes: nodes.iter().map(|name| ((*name).to_owned(), NodeState::default())).collect(),
        objects: BTreeMap::from([("ConfigMap/kube-system/kubeadm-config".to_owned(), object)]),
        bootstrap_tokens: Vec::new(),
    };
    let mut seen = seen_with(|_, facts| facts.cluster = Some("demo".to_owned()));
    seen.add_observations("cp1", Observations { kubernetes: Some(state), ..Observations::default() });
    seen
}

/// As kubeadm writes it into the cluster.
const CONFIGURATION: &str = "apiServer: {}
apiVersion: kubeadm.k8s.io/v1beta4
clusterName: demo
controlPlaneEndpoint: 10.20.0.11:6443
kind: ClusterConfiguration
kubernetesVersion: v1.37.1
networking:
  dnsDomain: cluster.local
  podSubnet: POD
  serviceSubnet: SERVICE
";

#[test]
fn a_running_cluster_is_not_changed_behind_its_back() {
    let network = cluster().network;
    let same = CONFIGURATION.replace("POD", &network.pod_cidr.to_string()).replace("SERVICE", &network.service_cidr.to_string());
    assert_eq!(refusals(&running(&same, &["cp1", "worker1"])), Vec::new(), "a worker that has not joined yet is no obstacle");
    let other = CONFIGURATION
        .replace("POD", "172.16.0.0/16")
        .replace("SERVICE", "172.17.0.0/16")
        .replace("v1.37.1", "v1.36.4")
        .replace("cluster.local", "example.org");
    insta::assert_snapshot!("another_configuration", written(&refusals(&running(&other, &["cp1"]))));
    insta::assert_snapshot!("another_node", written(&refusals(&running(&same, &["cp1", "worker9"]))));
}

#[test]
fn a_bundle_of_another_version_is_refused_once() {
    let mut cluster = cluster();
    cluster.kubernetes_version = "1.36.4".parse().unwrap();
    let bundle = bundle();
    let refusals = kok_tasks::plan::looks(&inputs(&cluster, &bundle)).unwrap_err();
    insta::assert_snapshot!("bundle_lacks_the_version", written(&refusals));
}
