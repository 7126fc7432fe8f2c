//! What befalls a cluster that a plugin encrypts for: another key, a backup, a plugin that stands still.

use std::collections::BTreeSet;

use kok_tests::lab::{Host, Lab};
use serde_json::Value;

use super::plugin::{self, KEYS, NAME};
use super::seen::{are_read_by_all, kubectl_at, mark_of, marks, ready};
use crate::backup::backup_verb;
use crate::backup_story::rehearsed;
use crate::cluster_support::cluster::{control_planes, kubectl};
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::ok;
use crate::highly_available_story::any;
use crate::lab_support::wait_for;

/// Seconds. API servers ask for the newest key once a minute (Kubernetes, `encryptionconfig/config.go`); three times that, for a busy machine.
const HEARD_OF: u64 = 180;
/// Seconds. An API server looks at most 20 s after the last time that all was well, and every 3 s where it is not.
const NOT_READY: u64 = 120;
/// Seconds. A client of gRPC that finds nobody tries again ever later, after two minutes at most.
const READY_AGAIN: u64 = 300;

/// The owner of the plugin gives it another key; kokctl has no part in that. Returns the key.
pub fn the_plugin_has_another_key(lab: &Lab, kokctl: &Kokctl<'_>) -> String {
    let cp1 = lab.host("cp1").unwrap();
    let [old, new] = KEYS.map(|key| format!("{NAME} {key}"));
    let key = plugin::has_key(lab, KEYS[1]);
    for plane in control_planes(lab) {
        let writes = || {
            kubectl_at(&plane, "delete secret probe --ignore-not-found");
            kubectl_at(&plane, "create secret generic probe --from-literal=n=1");
            mark_of(&cp1, "probe") == new
        };
        wait_for(&format!("the API server of {} encrypts by the new key", plane.name()), HEARD_OF, writes);
    }
    are_read_by_all(lab);
    let found = marks(&cp1);
    assert!(found.keys().eq([&old, &new]) && found[&new] == 1, "nobody has written the others anew: {found:?}");
    is_not_for_kokctl(kokctl);
    assert_eq!(marks(&cp1), found);
    let all = "kubectl --kubeconfig=/etc/kubernetes/admin.conf";
    ok(&cp1, &format!("{all} get secrets --all-namespaces -o json | {all} replace -f - >/dev/null"));
    let found = marks(&cp1);
    assert!(found.keys().eq([&new]), "{found:?}");
    are_read_by_all(lab);
    kokctl.has_nothing_to_do();
    key
}

fn is_not_for_kokctl(kokctl: &Kokctl<'_>) {
    let said = kokctl.run(&["secrets", "rotate-key", "-f", kokctl.manifest().to_str().unwrap()]);
    let words = format!("the KMS plugin {NAME} has the keys, and replaces them itself");
    assert!(said.code != 0 && unwrapped(&said.stderr).contains(&words), "{said:?}");
}

/// It has all Secrets, and they can be read where a plugin is: on the last control plane, which tries it.
pub fn is_backed_up(lab: &Lab, kokctl: &Kokctl<'_>) {
    let said = backup_verb(kokctl, "create", &[]);
    assert_eq!(said.code, 0, "{said:?}");
    let secrets = kubectl(lab, "get secrets --all-namespaces -o name").lines().count();
    let said = rehearsed::rehearse(kokctl, None, "own.key", &["--json"]);
    assert_eq!(said.code, 0, "{said:?}");
    let found: Value = serde_json::from_str(&said.stdout).unwrap();
    let kinds = found["found"]["kinds"].as_array().unwrap();
    let read = kinds.iter().find(|kind| kind["name"] == "secrets").unwrap_or_else(|| panic!("no secrets in {kinds:?}"));
    assert_eq!(read["objects"].as_u64(), u64::try_from(secrets).ok(), "{kinds:?}");
    let host = lab.host(found["host"].as_str().unwrap()).unwrap();
    rehearsed::nothing_stays_on(&host, lab, kokctl);
}

/// On one host: its API server says so, nobody is led to it, and the others go on.
pub fn it_stands_still_on_one(lab: &Lab) {
    let stopped = any(control_planes(lab));
    println!("the plugin of {} stands still", stopped.name());
    plugin::stop(&stopped);
    wait_for("its API server is not ready", NOT_READY, || ready(&stopped).contains("[-]kms-providers failed"));
    let worker = lab.host("worker1").unwrap();
    wait_for("the load balancer leads to those that are ready alone", 60, || balanced(&worker, "/readyz") == only("200"));
    assert_eq!(balanced(&worker, "/api/v1/nodes/worker1"), only("200"));
    for other in control_planes(lab).iter().filter(|other| other.name() != stopped.name()) {
        assert_eq!(ready(other), "ok", "{}", other.name());
        kubectl_at(other, "create secret generic meanwhile --from-literal=n=1");
        assert_eq!(kubectl_at(other, "get secret meanwhile -o 'jsonpath={.data.n}' | base64 -d"), "1");
        kubectl_at(other, "delete secret meanwhile");
    }
    plugin::start(&stopped);
    wait_for("its API server is ready again", READY_AGAIN, || ready(&stopped) == "ok");
    are_read_by_all(lab);
}

/// The codes with which a worker's own load balancer has twelve requests answered, made as its kubelet makes them. Each goes to whom it has the fewest
/// connections with, and with one that was not ready it has none: if it led anybody there, it would lead these.
fn balanced(worker: &Host, path: &str) -> BTreeSet<String> {
    let ask = format!(
        "curl -s -o /dev/null -w '%{{http_code}}\\n' --max-time 10 --cacert /etc/kubernetes/pki/ca.crt \
         --cert /var/lib/kubelet/pki/kubelet-client-current.pem https://lb-apiserver.kubernetes.local:6443{path} || :"
    );
    let said = ok(worker, &format!("for n in 1 2 3 4 5 6 7 8 9 10 11 12; do {ask}; done"));
    said.lines().map(str::to_owned).collect()
}

fn only(code: &str) -> BTreeSet<String> {
    BTreeSet::from([code.to_owned()])
}

/// What is said, wherever its lines were broken.
pub fn unwrapped(said: &str) -> String {
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}
