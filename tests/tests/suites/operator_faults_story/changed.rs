//! A host that is not what it was: after its plan was approved, and behind its address.

use std::fs;

use serde_json::{Value, json};

use super::{HEARD, OperatorStory, ROUND, STEPS, is_over};
use crate::cluster_support::ok;
use crate::lab_support::wait_for;
use crate::operator_story::{NAMESPACE, Operator, condition, operate_with, status};

/// What the Cluster declares for its host.
const DECLARED: &str = "/etc/declared";

fn approve(story: &OperatorStory<'_>, digest: &Value) {
    let annotation = format!("kokctl.io/approved-plan={}", digest.as_str().unwrap());
    story.server.ok(&["annotate", "--overwrite", "kokop", "asks", &annotation], "");
}

/// What is approved is one plan: a host that has changed since gives another one, which waits in turn.
pub fn after_its_plan_was_approved(story: &OperatorStory<'_>, operator: &Operator) {
    let declares = |resources: Value| {
        let patch = json!({"spec": {"hostResources": resources}}).to_string();
        story.server.ok(&["patch", "kok", story.lab.name(), "--type=merge", "-p", &patch], "");
    };
    declares(json!({"resources": [{"name": "declared", "file": {"path": DECLARED, "content": "declared\n"}}]}));
    let fields = json!({"action": "cluster.yml", "extraArgs": "--tags=resources", "operator": {"approval": "Manual"}});
    operate_with(&story.server, story.lab, "asks", fields);
    let asks = || status(&story.server, "asks");
    let waits = || asks()["phase"] == "AwaitingApproval" && asks()["plan"]["digest"].is_string();
    wait_for("a plan to approve", ROUND, waits);
    let first = asks()["plan"]["digest"].clone();
    ok(&story.host(), &format!("echo other >{DECLARED}"));
    approve(story, &first);
    let approved = || condition(&asks()["conditions"], "Approved").cloned().unwrap_or_default();
    wait_for("another plan", HEARD, || approved()["reason"] == "PlanChanged");
    let second = asks()["plan"]["digest"].clone();
    assert!(second != first && approved()["message"].to_string().contains("it is another plan than before: "), "{:#}", asks());
    assert_eq!((asks()["phase"].as_str(), ok(&story.host(), &format!("cat {DECLARED}")).trim()), (Some("AwaitingApproval"), "other"));
    approve(story, &second);
    wait_for("the end of what was approved", ROUND, || is_over(&asks()));
    assert_eq!(asks()["phase"], "Succeeded", "{:#}\n{}", asks(), operator.log());
    assert_eq!(ok(&story.host(), &format!("cat {DECLARED}")).trim(), "declared");
    declares(Value::Null);
}

/// Another key than the one that is known is never accepted, also where new ones are: nobody logs in, and nothing is tried again. It is what is known that is
/// another one here, for the lab itself knows the host by its keys.
pub fn behind_its_address(story: &OperatorStory<'_>, operator: &Operator) {
    let name = format!("{}-known-hosts", story.lab.name());
    let known = story.server.ok(&["get", "configmap", &name, "-n", NAMESPACE, "-o", "jsonpath={.data.known_hosts}"], "");
    let knows = |lines: &str| {
        let patch = json!({"data": {"known_hosts": lines}}).to_string();
        story.server.ok(&["patch", "configmap", &name, "-n", NAMESPACE, "--type=merge", "-p", &patch], "");
    };
    let other = fs::read_to_string(story.lab.private_key_path().with_extension("pub")).unwrap();
    let other: Vec<&str> = other.split_whitespace().take(2).collect();
    let addresses = known.lines().filter(|line| line.contains(" ssh-ed25519 ")).map(|line| line.split(' ').next().unwrap());
    let others: String = addresses.map(|address| format!("{address} {}\n", other.join(" "))).collect();
    assert!(!others.is_empty(), "{known}");
    knows(&others);
    story.describes("stranger");
    story.lets(STEPS);
    story.operates("stranger", json!({}));
    wait_for("the end of what has met a stranger", HEARD, || is_over(&status(&story.server, "stranger")));
    let said = status(&story.server, "stranger");
    assert_eq!((&said["phase"], said["lastError"]["kind"].as_str()), (&json!("Failed"), Some("Host")), "{said:#}\n{}", operator.log());
    assert!(said["lastError"].to_string().contains("host key"), "{said:#}");
    assert_eq!(story.begun("stranger"), Vec::<usize>::new());
    knows(&known);
    story.operates("known-again", json!({}));
    wait_for("the end of the next one", ROUND, || is_over(&status(&story.server, "known-again")));
    assert_eq!(status(&story.server, "known-again")["phase"], "Succeeded", "{}", operator.log());
    assert_eq!(story.begun("stranger"), (1..=STEPS).collect::<Vec<_>>());
}
