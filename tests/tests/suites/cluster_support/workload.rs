//! What users do with a cluster: pods on every node, Services, names, ports of nodes. Everybody answers everybody.

use kok_tests::lab::{Host, Lab};
use serde_json::Value;

use super::cluster::{items, kubectl, kubectl_json, node_hosts};
use super::ok;
use crate::lab_support::wait_for;

/// A pod on every node, whatever its taints.
const PODS: &str = r#"
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: echo}
spec:
  selector: {matchLabels: {app: echo}}
  template:
    metadata: {labels: {app: echo}}
    spec:
      tolerations: [{operator: Exists}]
      containers:
        - name: echo
          image: ghcr.io/kokctl/echo:0.1.0
          args: [serve, --listen, ":8080"]
          ports: [{containerPort: 8080}]
          readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}
          env:
            - {name: NODE_NAME, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
            - {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
"#;

/// A Service for each node that leads to the pod there and to no other one: so an answer says which way it came.
const SERVICE: &str = r#"
---
apiVersion: v1
kind: Service
metadata: {name: echo-NODE}
spec:
  type: NodePort
  selector: {app: echo, node: NODE}
  ports: [{port: 80, targetPort: 8080}]
"#;

/// Endpoints, kube-proxy's rules and names of new Services are there within a second or so.
const PATIENCE: u64 = 60;

/// Who is asked at which URL.
type Question = (String, String);

/// From the pod of each node, and by port from each node itself, to each node: by pod address, Service address, name and port.
pub fn everybody_answers_everybody(lab: &Lab, domain: &str) {
    let nodes = node_hosts(lab);
    let services: String = nodes.iter().map(|node| SERVICE.replace("NODE", node.name())).collect();
    kubectl(lab, &format!("apply -f - <<'END'\n{PODS}{services}\nEND"));
    kubectl(lab, "rollout status daemonset/echo --timeout=90s");
    let pods = kubectl_json(lab, "get pods -l app=echo");
    let pods: Vec<(String, &Value)> = items(&pods).iter().map(|pod| (text(pod, "/spec/nodeName"), pod)).collect();
    assert_eq!(pods.len(), nodes.len(), "a pod on every node: {pods:?}");
    for (node, pod) in &pods {
        kubectl(lab, &format!("label --overwrite pod {} node={node}", text(pod, "/metadata/name")));
    }
    let ports = at_ports(lab, &nodes);
    let questions: Vec<Question> = at_addresses(lab, &pods, domain).into_iter().chain(ports.clone()).collect();
    for (node, pod) in &pods {
        pod_asks(lab, node, &text(pod, "/metadata/name"), &questions);
    }
    nodes.iter().for_each(|node| node_asks(node, &ports));
    // The API server reaches the kubelets of other nodes.
    let (_, last) = pods.last().unwrap();
    let name = text(last, "/metadata/name");
    assert!(kubectl(lab, &format!("logs {name}")).contains("listens on :8080"));
    assert_eq!(kubectl(lab, &format!("exec {name} -- /echo version")), "0.1.0");
}

fn text(object: &Value, pointer: &str) -> String {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_else(|| panic!("no {pointer} in {object}")).to_owned()
}

fn at_addresses(lab: &Lab, pods: &[(String, &Value)], domain: &str) -> Vec<Question> {
    let of_pod = |(node, pod): &(String, &Value)| {
        let service = kubectl_json(lab, &format!("get service echo-{node}"));
        [
            (node.clone(), format!("http://{}:8080/", text(pod, "/status/podIP"))),
            (node.clone(), format!("http://{}/", text(&service, "/spec/clusterIP"))),
            (node.clone(), format!("http://echo-{node}/")),
            (node.clone(), format!("http://echo-{node}.default.svc.{domain}/")),
        ]
    };
    pods.iter().flat_map(of_pod).collect()
}

/// The port of each Service, on every node.
fn at_ports(lab: &Lab, nodes: &[Host]) -> Vec<Question> {
    let of_service = |to: &Host| {
        let service = kubectl_json(lab, &format!("get service echo-{}", to.name()));
        let port = service.pointer("/spec/ports/0/nodePort").unwrap().as_u64().unwrap();
        let (name, nodes) = (to.name().to_owned(), nodes.iter());
        nodes.map(|at| (name.clone(), format!("http://{}:{port}/", at.address()))).collect::<Vec<_>>()
    };
    nodes.iter().flat_map(of_service).collect()
}

fn pod_asks(lab: &Lab, node: &str, pod: &str, questions: &[Question]) {
    wait_for(&format!("the pod on {node} gets all answers"), PATIENCE, || {
        let answers = check(lab, pod, questions.iter().map(|(_, target)| target.as_str()));
        let wrong: Vec<&Value> =
            questions.iter().zip(&answers).filter(|((to, _), answer)| answer["node"] != **to).map(|(_, answer)| answer).collect();
        if let Some(first) = wrong.first() {
            println!("the pod on {node} gets {} wrong answers, one is {first}", wrong.len());
        }
        wrong.is_empty()
    });
    let unknown = check(lab, pod, ["http://no-such-service/"].into_iter());
    assert_eq!(unknown[0]["ok"], false, "the question itself has to be able to fail: {unknown:?}");
}

/// Asks a pod to ask.
fn check<'a>(lab: &Lab, pod: &str, targets: impl Iterator<Item = &'a str>) -> Vec<Value> {
    let targets: String = targets.map(|target| format!("&target={target}")).collect();
    let path = format!("/api/v1/namespaces/default/pods/{pod}:8080/proxy/check?timeout=5s{targets}");
    serde_json::from_str(&kubectl(lab, &format!("get --raw '{path}'"))).unwrap()
}

/// One login asks all.
fn node_asks(node: &Host, questions: &[Question]) {
    let script: String = questions
        .iter()
        .map(|(to, target)| format!("curl -s --max-time 5 {target} | grep -q '\"node\": *\"{to}\"' || echo {target}\n"))
        .collect();
    wait_for(&format!("{} gets all answers", node.name()), PATIENCE, || {
        let silent = ok(node, &script);
        if !silent.is_empty() {
            println!("{} gets no answer from {silent:?}", node.name());
        }
        silent.is_empty()
    });
}
