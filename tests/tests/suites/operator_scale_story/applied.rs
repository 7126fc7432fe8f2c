//! What was applied is what is there: `kubectl diff` has nothing to say, before and after an operator has attended to it.

use serde_json::{Value, json};

use crate::api_server_support::ApiServer;
use crate::lab_support::wait_for;
use crate::operator_faults_story::{HEARD, OperatorStory, ROUND, is_over, objects};
use crate::operator_story::{NAMESPACE, Operator, object, status};

/// What both are called.
const NAME: &str = "applied";

/// Applies a Cluster and its operation as their owner, who looks afterwards, and takes them away.
pub fn nothing_differs(story: &OperatorStory<'_>, replicas: &[Operator]) {
    let server = &story.server;
    let [cluster, operation] = files(story);
    is_applied(server, &cluster);
    let held = || object(server, "kok", NAME)["metadata"]["finalizers"].is_array();
    wait_for("a Cluster that is held", HEARD, held);
    differs_in_nothing(server, &cluster);
    is_applied(server, &operation);
    let logs = || replicas.iter().map(Operator::log).collect::<String>();
    wait_for("the end of the operation", ROUND, || is_over(&status(server, NAME)));
    assert_eq!(status(server, NAME)["phase"], "Succeeded", "{:#}\n{}", status(server, NAME), logs());
    let is_told = || object(server, "kok", NAME)["status"]["conditions"][0]["status"] == "Succeeded";
    wait_for("the status of the Cluster", HEARD, is_told);
    for file in [&cluster, &operation] {
        differs_in_nothing(server, file);
        // Nor is there anything to take from another manager.
        let generation = |file: &Value| object(server, file["kind"].as_str().unwrap(), NAME)["metadata"]["generation"].clone();
        let before = generation(file);
        is_applied(server, file);
        assert_eq!(generation(file), before);
    }
    // A light host can't be taken down.
    server.ok(&["patch", "kok", NAME, "--type=merge", "-p", &json!({"spec": {"operator": {"deletionPolicy": "Orphan"}}}).to_string()], "");
    server.ok(&["delete", "kok", NAME, "--timeout=30s"], "");
    wait_for("the end of its operation", HEARD, || !server.kubectl(&["get", "kokop", NAME], "").success);
    println!("kubectl diff: nothing, before and after the operator has written");
}

/// The Cluster, which its operator holds, and an operation.
fn files(story: &OperatorStory<'_>) -> [Value; 2] {
    let mut cluster = objects::cluster(story.lab, NAMESPACE);
    cluster["metadata"]["name"] = json!(NAME);
    cluster["spec"]["operator"] = json!({"deletionPolicy": "Reset", "mode": "OnDemand"});
    let spec = json!({"cluster": NAME, "actionType": "playbook", "action": "ping.yml"});
    let meta = json!({"name": NAME});
    let operation = json!({"apiVersion": cluster["apiVersion"], "kind": "ClusterOperation", "metadata": meta, "spec": spec});
    [cluster, operation]
}

fn is_applied(server: &ApiServer, file: &Value) {
    server.ok(&["apply", "--server-side", "-f", "-"], &file.to_string());
}

fn differs_in_nothing(server: &ApiServer, file: &Value) {
    let said = server.kubectl(&["diff", "--server-side", "-f", "-"], &file.to_string());
    assert!(said.success && said.stdout.is_empty(), "{}{}", said.stdout, said.stderr);
}
