//! What a user does with the cluster: a Deployment, a Service, names.

use kok_tests::lab::Lab;
use serde_json::Value;

use crate::cluster_support::cluster::{items, kubectl, kubectl_json};
use crate::cluster_support::{node_port, ok};

/// Two pods that may not share a node, and a Service that leads to one of them only: so an answer has crossed from node to node.
const MANIFEST: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata: {name: echo}
spec:
  replicas: 2
  selector: {matchLabels: {app: echo}}
  template:
    metadata: {labels: {app: echo}}
    spec:
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: echo}}}
      containers:
        - name: echo
          image: ghcr.io/kokctl/echo:0.1.0
          args: [serve, --listen, ":8080"]
          ports: [{containerPort: 8080}]
          readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}
          env:
            - {name: NODE_NAME, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
            - {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
---
apiVersion: v1
kind: Service
metadata: {name: only-one}
spec:
  type: NodePort
  selector: {app: echo, asked: "yes"}
  ports: [{port: 80, targetPort: 8080, nodePort: 30080}]
"#;

pub fn pods_answer_over_nodes(lab: &Lab) {
    let apply = format!("kubectl --kubeconfig /etc/kubernetes/admin.conf apply -f - <<'END'\n{MANIFEST}\nEND");
    ok(&lab.host("cp1").unwrap(), &apply);
    kubectl(lab, "rollout status deployment/echo --timeout=90s");
    let pods = kubectl_json(lab, "get pods -l app=echo");
    let [asking, asked] = &items(&pods)[..] else { panic!("not two pods: {pods}") };
    let text = |pod: &Value, pointer: &str| pod.pointer(pointer).unwrap().as_str().unwrap().to_owned();
    let (name, node) = (text(asking, "/metadata/name"), text(asked, "/spec/nodeName"));
    assert_ne!(text(asking, "/spec/nodeName"), node);
    kubectl(lab, &format!("label pod {} asked=yes", text(asked, "/metadata/name")));
    kubectl(
        lab,
        "wait --for=jsonpath='{.endpoints[0].conditions.ready}'=true --timeout=30s endpointslice -l kubernetes.io/service-name=only-one",
    );

    let address = format!("http://{}:8080/", text(asked, "/status/podIP"));
    let targets = ["http://only-one/", "http://only-one.default.svc.cluster.local/", &address];
    for target in targets {
        answers(lab, &name, target, &node);
    }
    node_port::answers_from_each_to_each(lab, &node);
    let unknown = check(lab, &name, "http://no-such-service/");
    assert_eq!(unknown["ok"], false, "the check itself has to be able to fail: {unknown}");
    // The API server reaches the kubelet of another node.
    assert!(kubectl(lab, &format!("logs {name}")).contains("listens on :8080"));
    assert_eq!(kubectl(lab, &format!("exec {name} -- /echo version")), "0.1.0");
}

/// kube-proxy programs a new Service within a second or so; a name that was asked for too early is asked for again.
fn answers(lab: &Lab, from: &str, target: &str, node: &str) {
    let mut last = Value::Null;
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while std::time::Instant::now() < deadline {
        last = check(lab, from, target);
        if last["ok"] == true {
            assert_eq!(last["node"], node, "{last}");
            return;
        }
    }
    panic!("{from} gets no answer from {target}: {last}");
}

/// Asks a pod to ask.
fn check(lab: &Lab, pod: &str, target: &str) -> Value {
    let path = format!("/api/v1/namespaces/default/pods/{pod}:8080/proxy/check?target={target}");
    let results: Value = serde_json::from_str(&kubectl(lab, &format!("get --raw '{path}'"))).unwrap();
    results[0].clone()
}
