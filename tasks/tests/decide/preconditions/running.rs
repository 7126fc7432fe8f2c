//! What runs already.

use serde_json::json;

use super::*;
use crate::support::{bundle, inputs};

/// A running cluster with these lines in its configuration and these nodes.
pub(super) fn running(configuration: &str, nodes: &[&str]) -> Seen {
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
controllerManager:
  extraArgs:
  - name: node-cidr-mask-size
    value: \"24\"
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
        .replace("\"24\"", "\"25\"")
        .replace("cluster.local", "example.org");
    insta::assert_snapshot!("another_configuration", written(&refusals(&running(&other, &["cp1"]))));
    let with_another = running(&same, &["cp1", "worker9"]);
    assert_eq!(refusals(&with_another), Vec::new(), "a lost line is no removal");
    insta::assert_snapshot!("another_node", written(&kok_tasks::preconditions::reminders(&cluster(), &with_another)));
}

/// kubeadm and people may write the same in another form; and what nobody can read is no reason to go on.
#[test]
fn the_uploaded_configuration_is_read_as_a_whole() {
    let network = cluster().network;
    let same = CONFIGURATION.replace("POD", &network.pod_cidr.to_string()).replace("SERVICE", &network.service_cidr.to_string());
    let document: serde_json::Value = serde_saphyr::from_str(&same).unwrap();
    let as_json = document.to_string();
    assert_eq!(refusals(&running(&as_json, &["cp1"])), Vec::new());
    let other = written(&refusals(&running(&as_json.replace("v1.37.1", "v1.36.4"), &["cp1"])));
    assert!(other.contains("the running cluster has kubernetesVersion v1.36.4, the file asks for v1.37.1"), "{other}");
    let with_comment = same.replace("dnsDomain: cluster.local", "dnsDomain: 'example.org'   # ours");
    let other = written(&refusals(&running(&with_comment, &["cp1"])));
    assert!(other.contains("the running cluster has dnsDomain example.org, the file asks for cluster.local"), "{other}");
    for broken in ["", "networking: [", &same.replace("v1beta4", "v2"), &same.replace("dnsDomain: cluster.local", "dnsDomain: {a: b}")] {
        let said = written(&refusals(&running(broken, &["cp1"])));
        assert!(said.contains("kubeadm's configuration of the running cluster can't be read"), "{broken}: {said}");
        assert!(said.contains("ConfigMap kube-system/kubeadm-config") && said.contains("kubectl -n kube-system edit configmap"), "{said}");
    }
}

#[test]
fn a_bundle_of_another_version_is_refused_once() {
    let mut cluster = cluster();
    cluster.kubernetes_version = "1.36.4".parse().unwrap();
    let bundle = bundle();
    let refusals = kok_tasks::plan::looks(&inputs(&cluster, &bundle)).unwrap_err();
    insta::assert_snapshot!("bundle_lacks_the_version", written(&refusals));
}

#[test]
fn a_bundle_with_another_containerd_is_refused_once() {
    let (mut cluster, bundle) = (cluster(), bundle());
    cluster.settings.containerd_version = Some("2.2.1".parse().unwrap());
    insta::assert_snapshot!("bundle_lacks_containerd", written(&kok_tasks::plan::looks(&inputs(&cluster, &bundle)).unwrap_err()));
    let held = bundle.versions("containerd").last().unwrap();
    cluster.settings.containerd_version = Some(held.parse().unwrap());
    assert!(kok_tasks::plan::looks(&inputs(&cluster, &bundle)).is_ok());
}
