//! The objects of a lab in the inline form, by which hooks can be said.

use std::fs;

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Lab};
use serde_json::{Value, json};

use super::{HOOK, STEPS};

/// The Secret by which its hosts are logged in to.
pub fn login(lab: &Lab, namespace: &str) -> Value {
    let key = fs::read_to_string(lab.private_key_path()).unwrap();
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "ssh-auth", "namespace": namespace},
        "type": "kubernetes.io/ssh-auth", "stringData": {"ssh-privatekey": key}})
}

/// The Cluster, with what it names in this namespace.
pub fn cluster(lab: &Lab, namespace: &str) -> Value {
    let mut cluster = manifest(lab);
    let spec = cluster["spec"].as_object_mut().unwrap();
    // An operator reads no files.
    spec.insert("ssh".to_owned(), json!({"user": "root"}));
    spec.insert("sshAuthRef".to_owned(), json!({"namespace": namespace, "name": "ssh-auth"}));
    cluster
}

/// The Cluster as the lab has it for the command line. Every control plane has pods, too.
pub fn manifest(lab: &Lab) -> Value {
    let mut manifest: Value = serde_saphyr::from_str(&lab.inventory(DEFAULT_KUBERNETES_VERSION).unwrap()).unwrap();
    for host in manifest["spec"]["hosts"].as_array_mut().unwrap() {
        if host["roles"] == json!(["control-plane"]) {
            host["roles"] = json!(["control-plane", "worker"]);
        }
    }
    manifest
}

/// The hooks of a round.
pub fn hooks(round: &str) -> Value {
    let hook = |number: usize| {
        let environment = json!({"ROUND": round, "NUMBER": number.to_string()});
        json!({"name": format!("step-{number}"), "at": "beforePreparation", "on": ["cp1"], "script": HOOK, "environment": environment})
    };
    (1..=STEPS).map(hook).collect()
}
