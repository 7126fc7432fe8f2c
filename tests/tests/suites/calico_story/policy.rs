//! What a NetworkPolicy forbids is forbidden, and nothing else.

use kok_tests::lab::Lab;
use serde_json::Value;

use crate::cluster_support::cluster::{items, kubectl, kubectl_json};
use crate::lab_support::wait_for;

/// To the pod of one node, those of one other node alone. The pods are there, and labelled by node, since the cluster was found complete.
const POLICY: &str = "
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: only-worker2}
spec:
  podSelector: {matchLabels: {app: echo, node: worker1}}
  policyTypes: [Ingress]
  ingress:
    - from: [{podSelector: {matchLabels: {app: echo, node: worker2}}}]
      ports: [{port: 8080}]
";

pub fn allows_and_denies(lab: &Lab) {
    let pods = kubectl_json(lab, "get pods -l app=echo");
    let pod = |node: &str| items(&pods).iter().find(|pod| pod["spec"]["nodeName"] == node).unwrap();
    let address = pod("worker1")["status"]["podIP"].as_str().unwrap();
    let answers = |from: &str| asks(lab, pod(from)["metadata"]["name"].as_str().unwrap(), address);
    for from in ["worker2", "cp1"] {
        assert!(answers(from), "without a policy the pod on {from} is answered");
    }
    kubectl(lab, &format!("apply -f - <<'END'\n{POLICY}\nEND"));
    wait_for("the pod on cp1 is denied", 30, || !answers("cp1"));
    assert!(answers("worker2"), "the policy allows the pod on worker2");
    assert!(!answers("cp1"), "it stays denied");
    kubectl(lab, "delete networkpolicy only-worker2");
    wait_for("the pod on cp1 is answered again", 30, || answers("cp1"));
}

/// Whether a pod has an answer of that address: it asks itself.
fn asks(lab: &Lab, pod: &str, address: &str) -> bool {
    let path = format!("/api/v1/namespaces/default/pods/{pod}:8080/proxy/check?target=http://{address}:8080/");
    let results: Value = serde_json::from_str(&kubectl(lab, &format!("get --raw '{path}'"))).unwrap();
    results[0]["ok"] == true
}
