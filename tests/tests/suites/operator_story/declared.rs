//! A declared cluster: what its objects say is done without an operation that somebody has written, and what somebody changes on its hosts is seen.

use kok_tests::lab::Lab;
use serde_json::{Value, json};

use super::{NAMESPACE, Operator, condition, object, operate, succeeds};
use crate::api_server_support::ApiServer;
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::{cluster, hosts, ok};
use crate::lab_support::wait_for;

/// A run that changes little is over by then.
const RUN: u64 = 240;
/// What a Cluster names is looked at twice a minute, and an operation is made then.
const HEARD: u64 = 75;
/// Hosts are looked at each minute, a tenth more or less.
const LOOKED: u64 = 150;
/// A file that kokctl keeps on hosts, of which nothing is restarted.
const FILE: &str = "/etc/modules-load.d/kokctl.conf";

/// The whole of it, on a cluster that is ready; afterwards operations alone change it again.
pub fn clusters_follow_their_objects(server: &ApiServer, lab: &Lab, kokctl: &Kokctl<'_>, operator: &Operator) {
    set(server, lab, &json!({"mode": "Declarative", "driftInterval": "1m"}));
    let (name, adopted) = next(server, operator, "description", 1);
    let generation = object(server, "kok", lab.name())["metadata"]["generation"].clone();
    assert!(name.starts_with(&format!("{}-{generation}-", lab.name())), "{name}");
    assert_eq!(adopted["plan"]["changes"], 0, "{adopted:#}");
    others_are_refused_until_they_take_over(lab, kokctl);
    a_changed_reference_is_applied(server, lab, operator);
    assert!(is_kept(lab), "who has changed the hosts keeps them");
    a_change_by_hand_is_seen(server, lab);
    set(server, lab, &json!({"mode": "Declarative", "driftInterval": "1m", "driftPolicy": "Repair"}));
    let (_, mended) = next(server, operator, "description", 3);
    assert!(mended["plan"]["changes"].as_u64() > Some(0), "{mended:#}");
    assert_eq!(drifted(server, lab)["status"], "False");
    truncate(lab);
    let (_, mended) = next(server, operator, "drift", 1);
    assert!(mended["plan"]["changes"].as_u64() > Some(0), "{mended:#}");
    for host in hosts(lab) {
        assert!(host.ssh(&["test", "-s", FILE]).unwrap().success());
    }
    set(server, lab, &Value::Null);
    operate(server, lab, "undeclared", "cluster.yml");
    succeeds(server, operator, "undeclared", RUN);
    assert!(!is_kept(lab), "operations alone change it from now on");
}

/// Whether the hosts have the mark of who keeps them as they are described.
fn is_kept(lab: &Lab) -> bool {
    hosts(lab).iter().all(|host| ok(host, "cat /var/lib/kokctl/holder").contains(&format!(" by={}@{NAMESPACE}", lab.name())))
}

/// What the command line changed would be mended again; it may look.
fn others_are_refused_until_they_take_over(lab: &Lab, kokctl: &Kokctl<'_>) {
    assert!(is_kept(lab), "also by a run that had nothing to do");
    kokctl.knows_the_hosts();
    let options = ["--bundle", kokctl.bundle().to_str().unwrap()];
    let said = kokctl.verb("apply", &options);
    assert!(said.code == 3 && said.stderr.contains("mode: Declarative") && said.stderr.contains("--take-over"), "{said:?}");
    let said = kokctl.verb("plan", &options);
    assert!(!said.stderr.contains("mode: Declarative"), "{said:?}");
    let said = kokctl.verb("apply", &[&options[..], &["--take-over"]].concat());
    assert!(said.code == 0 && said.stderr.contains("no longer kept by the operator of"), "{said:?}");
    assert!(!is_kept(lab));
    kokctl.converge("apply");
}

/// How the Cluster is served.
fn set(server: &ApiServer, lab: &Lab, operator: &Value) {
    let nothing = json!({"mode": null, "driftInterval": null, "driftPolicy": null});
    let mut fields = nothing.as_object().unwrap().clone();
    fields.extend(operator.as_object().cloned().unwrap_or_default());
    let patch = json!({"spec": {"operator": fields}}).to_string();
    server.ok(&["patch", "kok", lab.name(), "--type=merge", "-p", &patch], "");
}

/// The operations that the operator has made for this reason, the last one last.
pub(super) fn made(server: &ApiServer, because: &str) -> Vec<String> {
    let label = format!("kokctl.io/made-because={because}");
    let sorted = "--sort-by=.metadata.creationTimestamp";
    let names = server.ok(&["get", "kokop", "-l", &label, sorted, "-o", "jsonpath={.items[*].metadata.name}"], "");
    names.split_whitespace().map(str::to_owned).collect()
}

/// The operation that is made next, as the one of this number, with its status when it has succeeded.
fn next(server: &ApiServer, operator: &Operator, because: &str, number: usize) -> (String, Value) {
    wait_for(&format!("an operation because of {because}"), HEARD.max(LOOKED), || made(server, because).len() >= number);
    let all = made(server, because);
    assert_eq!(all.len(), number, "one for each description: {all:?}");
    let name = all.last().unwrap().clone();
    let status = succeeds(server, operator, &name, RUN);
    (name, status)
}

/// The inventory says something else of the host.
fn a_changed_reference_is_applied(server: &ApiServer, lab: &Lab, operator: &Operator) {
    let mut map = object(server, "configmap", "hosts-conf");
    let text = map["data"]["hosts.yml"].as_str().unwrap();
    let login = "      ansible_user: root\n";
    let more = format!("{login}      node_labels: {{example.com/declared: \"yes\"}}\n");
    map["data"]["hosts.yml"] = json!(text.replace(login, &more));
    server.ok(&["replace", "-n", NAMESPACE, "-f", "-"], &map.to_string());
    let (_, applied) = next(server, operator, "description", 2);
    assert!(applied["plan"]["changes"].as_u64() > Some(0), "{applied:#}");
    assert_eq!(cluster::kubectl(lab, "get nodes -l example.com/declared=yes -o name").lines().count(), hosts(lab).len());
}

/// It stands in the status, and nobody mends it.
fn a_change_by_hand_is_seen(server: &ApiServer, lab: &Lab) {
    truncate(lab);
    wait_for("drift", LOOKED, || drifted(server, lab)["status"] == "True");
    let drift = object(server, "kok", lab.name())["status"]["drift"].clone();
    assert!(drift["changes"].as_u64() > Some(0) && drift["steps"].to_string().contains("modules-file"), "{drift:#}");
    assert_eq!(made(server, "drift"), [""; 0]);
}

fn truncate(lab: &Lab) {
    for host in hosts(lab) {
        assert!(host.ssh(&["truncate", "-s", "0", FILE]).unwrap().success());
    }
}

fn drifted(server: &ApiServer, lab: &Lab) -> Value {
    condition(&object(server, "kok", lab.name())["status"]["clusterConditions"], "Drifted").cloned().unwrap_or_default()
}
