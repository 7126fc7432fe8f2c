//! A real API server takes the CustomResourceDefinitions, and with them the right objects and no wrong ones.

use std::fs;
use std::path::Path;

use crate::api_server_support::ApiServer;
use serde_json::{Value, json};

const VERSION: &str = "kubeonkube.clay.io/v1alpha1";

fn source(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)).unwrap()
}

/// One server for all, since it takes longer to start than everything else.
#[test]
fn an_api_server_keeps_what_is_right() {
    let server = ApiServer::start();
    for (folder, group) in [("", "kubeonkube.clay.io"), ("kubean/", "kubean.io")] {
        for kind in ["clusters", "clusteroperations"] {
            let file = source(&format!("deploy/crds/{folder}{kind}.{group}.yaml"));
            server.ok(&["create", "-f", "-"], &file);
            server.ok(&["wait", "--for=condition=Established", "--timeout=20s", &format!("crd/{kind}.{group}")], "");
        }
    }
    definitions_are_clean(&server);
    objects_of_kubean_are_judged_alike(&server);
    good_objects_are_taken(&server);
    columns_say_what_matters(&server);
    bad_objects_are_refused(&server);
    begun_operations_stay(&server);
    a_cluster_stays_in_its_namespace(&server);
}

fn definitions_are_clean(server: &ApiServer) {
    let list: Value = serde_json::from_str(&server.ok(&["get", "crds", "-o", "json"], "")).unwrap();
    assert_eq!(list["items"].as_array().unwrap().len(), 4);
    for definition in list["items"].as_array().unwrap() {
        let conditions = definition["status"]["conditions"].as_array().unwrap();
        let wrong = |condition: &&Value| {
            let status = if condition["type"] == "Established" || condition["type"] == "NamesAccepted" { "True" } else { "False" };
            condition["status"] != status
        };
        assert_eq!(conditions.iter().find(wrong), None, "{}", definition["metadata"]["name"]);
    }
}

/// What `kokctl validate` accepts, without a word about unknown fields.
fn good_objects_are_taken(server: &ApiServer) {
    server.ok(&["create", "namespace", "kubeonkube"], "");
    for file in ["kube_on_kube", "inline"] {
        let text = source(&format!("crds/tests/objects/good/{file}.yaml")).replace("kubean.io/", "kubeonkube.clay.io/");
        server.ok(&["create", "--validate=strict", "-f", "-"], &text);
    }
    server.ok(&["create", "--validate=strict", "-f", "-"], &source("crds/tests/good.yaml"));
    let exported = source("crds/tests/objects/good/exported.yaml").replace("kubean.io/v1alpha1", VERSION);
    let ours: Vec<&str> =
        exported.split("\n- apiVersion: ").filter(|item| item.starts_with(VERSION) && !item.contains("kind: Manifest")).collect();
    assert_eq!(ours.len(), 2);
    let head = exported.split("\n- apiVersion: ").next().unwrap();
    // Who creates an object can't say its version, nor an owner that has no UID.
    let text = format!("{head}\n- apiVersion: {}\n", ours.join("\n- apiVersion: "));
    let text: String = text
        .lines()
        .filter(|line| !line.contains("resourceVersion: \"1") && !line.contains("ownerReferences"))
        .map(|line| format!("{line}\n"))
        .collect();
    let said = server.kubectl(&["create", "--validate=warn", "-f", "-"], &text);
    assert!(said.success, "{}", said.stderr);
    assert!(said.stderr.contains("unknown field \"spec.somethingNew\""), "{}", said.stderr);
    let source =
        server.ok(&["get", "clusteroperations.kubeonkube.clay.io", "oslo-install", "-o", "jsonpath={.spec.postHook[1].actionSource}"], "");
    assert_eq!(source, "builtin", "the default of a hook");
}

fn columns_say_what_matters(server: &ApiServer) {
    let words = |text: &str| text.lines().next().unwrap_or_default().split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(&server.ok(&["get", "kok"], "")), ["NAME", "VERSION", "PHASE", "HOSTS", "OPERATION", "STATUS", "AGE"]);
    let operations = server.ok(&["get", "kokop", "berlin-add-a-worker", "--no-headers"], "");
    assert_eq!(words(&operations)[..3], ["berlin-add-a-worker", "berlin", "scale.yml"]);
}

/// Both groups have one schema: what is in files of kubean is kept under its own name, beside objects of the same name of the other group.
fn objects_of_kubean_are_judged_alike(server: &ApiServer) {
    let host = json!({"name": "cp1", "address": "192.0.2.11", "roles": ["control-plane"]});
    let of_kubean = |name: &str, spec: Value| {
        let mut object = object("Cluster", name, &spec);
        object["apiVersion"] = "kubean.io/v1alpha1".into();
        object.to_string()
    };
    let operator = json!({"mode": "Declarative", "driftPolicy": "Repair", "driftInterval": "1h30m", "deletionPolicy": "Reset"});
    let right = of_kubean("of-kubean", json!({"kubernetesVersion": "1.37.1", "hosts": [host], "operator": operator}));
    server.ok(&["create", "--validate=strict", "-f", "-"], &right);
    assert_eq!(server.ok(&["get", "clusters.kubean.io", "of-kubean", "-o", "jsonpath={.spec.hosts[0].name}"], ""), "cp1");
    let wrong = of_kubean("wrong", json!({"hosts": [host]}));
    let said = server.kubectl(&["create", "--validate=false", "-f", "-"], &wrong);
    assert!(!said.success && said.stderr.contains("`kubernetesVersion` is missing"), "{}", said.stderr);
}

fn object(kind: &str, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec})
}

/// Each with a part of what the server says.
fn bad_objects() -> Vec<(Value, &'static str)> {
    let hosts = json!([{"name": "cp1", "address": "192.0.2.11", "roles": ["control-plane"]}]);
    let reference = json!({"name": "hosts", "namespace": "n"});
    let cluster = |name: &str, spec: Value| object("Cluster", name, &spec);
    let operation = |name: &str, spec: Value| object("ClusterOperation", name, &spec);
    let served = |name: &str, operator: &Value| cluster(name, json!({"kubernetesVersion": "1.37.1", "hosts": hosts, "operator": operator}));
    vec![
        (cluster("neither", json!({})), "either `hosts` or `hostsConfRef`"),
        (
            cluster("both", json!({"kubernetesVersion": "1.37.1", "hosts": hosts, "hostsConfRef": reference})),
            "either `hosts` or `hostsConfRef`",
        ),
        (cluster("mixed", json!({"hostsConfRef": reference, "network": {}})), "`hostsConfRef` excludes"),
        (cluster("mixed-too", json!({"kubernetesVersion": "1.37.1", "hosts": hosts, "varsConfRef": reference})), "`hosts` excludes"),
        (cluster("no-version", json!({"hosts": hosts})), "`kubernetesVersion` is missing"),
        (cluster("half-a-version", json!({"kubernetesVersion": "1.37", "hosts": hosts})), "spec.kubernetesVersion"),
        (cluster("twice", json!({"kubernetesVersion": "1.37.1", "hosts": [hosts[0], hosts[0]]})), "Duplicate value"),
        (
            cluster("two-namespaces", json!({"hostsConfRef": reference, "sshAuthRef": {"name": "key", "namespace": "other"}})),
            "are of one namespace",
        ),
        (cluster("no-name", json!({"hostsConfRef": {"namespace": "n"}})), "spec.hostsConfRef.name"),
        (
            cluster("role", json!({"kubernetesVersion": "1.37.1", "hosts": [{"name": "a", "address": "b", "roles": ["master"]}]})),
            "Unsupported value",
        ),
        (cluster("plugin", json!({"kubernetesVersion": "1.37.1", "hosts": hosts, "network": {"plugin": "flanel"}})), "Unsupported value"),
        (cluster("port", json!({"kubernetesVersion": "1.37.1", "hosts": hosts, "ssh": {"port": 0}})), "spec.ssh.port"),
        (operation("type", json!({"cluster": "a", "actionType": "script", "action": "cluster.yml"})), "Unsupported value"),
        (operation("no-action", json!({"cluster": "a", "actionType": "playbook"})), "spec.action"),
        (operation("source", json!({"cluster": "a", "actionType": "playbook", "action": "b", "actionSource": "git"})), "Unsupported value"),
        (
            cluster("suspended", json!({"kubernetesVersion": "1.37.1", "hosts": hosts, "operator": {"suspend": "yes"}})),
            "spec.operator.suspend",
        ),
        (served("repairs", &json!({"driftPolicy": "Repair"})), "`driftPolicy: Repair` needs `mode: Declarative`"),
        (served("repairs-too", &json!({"driftPolicy": "Repair", "mode": "OnDemand"})), "needs `mode: Declarative`"),
        (served("often", &json!({"mode": "Declarative", "driftInterval": "30s"})), "from `1m` to `168h`"),
        (served("sometimes", &json!({"driftInterval": "sometimes"})), "spec.operator.driftInterval"),
        (served("deleted", &json!({"deletionPolicy": "Delete"})), "Unsupported value"),
        (served("late", &json!({"deletionDeadlineSeconds": 5})), "spec.operator.deletionDeadlineSeconds"),
        (
            operation("retries", json!({"cluster": "a", "actionType": "playbook", "action": "b", "operator": {"retries": 11}})),
            "spec.operator.retries",
        ),
        (
            operation("hook", json!({"cluster": "a", "actionType": "playbook", "action": "b", "preHook": [{"action": "c"}]})),
            "spec.preHook[0].actionType",
        ),
    ]
}

fn bad_objects_are_refused(server: &ApiServer) {
    let bad = bad_objects();
    let objects: Vec<&Value> = bad.iter().map(|(object, _)| object).collect();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    // What kubectl itself would refuse is to reach the server.
    let said = server.kubectl(&["create", "--validate=false", "-f", "-"], &list.to_string());
    assert!(!said.success && said.stdout.is_empty(), "{}", said.stdout);
    for (object, expected) in &bad {
        let name = object["metadata"]["name"].as_str().unwrap();
        // An error may have several lines, one for each thing that is wrong.
        let errors: Vec<&str> =
            said.stderr.split("Error from server").filter(|error| error.contains(&format!("\"{name}\" is invalid"))).collect();
        assert!(errors.len() == 1 && errors[0].contains(expected), "{name}: {errors:?}\n{}", said.stderr);
    }
}

fn begun_operations_stay(server: &ApiServer) {
    let patch = |part: &str, patch: &Value| {
        let patch = patch.to_string();
        let mut arguments = vec!["patch", "clusteroperations.kubeonkube.clay.io", "berlin-add-a-worker", "--type=merge", "-p", &patch];
        arguments.extend(Some("--subresource=status").filter(|_| part == "status"));
        server.kubectl(&arguments, "")
    };
    let change = json!({"spec": {"extraArgs": "--limit=worker4"}});
    assert!(patch("spec", &change).success, "nothing has begun");
    assert!(patch("status", &json!({"status": {"status": ""}})).success);
    assert!(patch("spec", &json!({"spec": {"action": "cluster.yml"}})).success, "nothing has begun");
    assert!(patch("status", &json!({"status": {"status": "Running", "startTime": "2026-03-04T05:06:07Z"}})).success);
    let said = patch("spec", &json!({"spec": {"extraArgs": "--limit=worker5"}}));
    assert!(!said.success && said.stderr.contains("an operation that has begun can't be changed"), "{}", said.stderr);
    assert!(patch("spec", &json!({"metadata": {"labels": {"a": "b"}}})).success, "labels are no part of it");
    assert!(patch("status", &json!({"status": {"status": "Succeeded"}})).success);
}

/// Whoever may change a Cluster can't have the operator look for its login, or leave its kubeconfig, in another namespace by that.
fn a_cluster_stays_in_its_namespace(server: &ApiServer) {
    let reference = |namespace: &str| json!({"name": "hosts", "namespace": namespace});
    let patch = |patch: Value| {
        let patch = json!({"spec": patch}).to_string();
        server.kubectl(&["patch", "clusters.kubeonkube.clay.io", "stays", "--type=merge", "-p", &patch], "")
    };
    server.ok(&["create", "-f", "-"], &object("Cluster", "stays", &json!({"hostsConfRef": {"name": "hosts"}})).to_string());
    assert!(patch(json!({"hostsConfRef": reference("n"), "sshAuthRef": {"name": "", "namespace": ""}})).success, "none was said");
    for moved in [
        json!({"hostsConfRef": reference("other")}),
        json!({"hostsConfRef": {"name": "hosts", "namespace": null}, "sshAuthRef": reference("other")}),
        json!({"hostsConfRef": {"name": "", "namespace": "n"}}),
    ] {
        let said = patch(moved);
        assert!(!said.success && said.stderr.contains("can't be changed: make another Cluster"), "{}", said.stderr);
    }
    assert!(patch(json!({"hostsConfRef": {"name": "others"}, "sshAuthRef": reference("n")})).success, "it is the same namespace");
}
