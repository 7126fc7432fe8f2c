//! A round of the churn: a Cluster of each host, from its first object to its last.

use std::collections::BTreeMap;

use kok_tests::lab::Host;
use serde_json::{Value, json};

use crate::cluster_support::{hosts, ok};
use crate::lab_support::wait_for;
use crate::operator_faults_story::{HEARD, OperatorStory, ROUND, is_over, objects};
use crate::operator_story::{NAMESPACE, Operator};

/// Operations of a Cluster: the first one ends, the second one is cancelled, the third one deleted, the fourth one only looks, and the last one is under way when
/// the Cluster is deleted.
pub const OPERATIONS: [&str; 5] = ["ends", "cancelled", "deleted", "looks", "left"];
/// In each round that this divides the Clusters are held until somebody says that their hosts are not to be taken down, as light ones can't be.
const HELD: usize = 3;

/// A round, and who attends to it.
pub struct Round<'a> {
    story: &'a OperatorStory<'a>,
    replicas: &'a [Operator],
    number: usize,
    hosts: Vec<Host>,
}

/// What the operations of all Clusters say, by their names.
type Said = BTreeMap<String, Value>;

impl<'a> Round<'a> {
    /// The one of this number.
    pub fn new(story: &'a OperatorStory<'a>, replicas: &'a [Operator], number: usize) -> Self {
        Self { story, replicas, number, hosts: hosts(story.lab) }
    }

    /// All of it. How many operations were cancelled.
    pub fn comes_and_goes(&self) -> usize {
        self.create(self.hosts.iter().map(|host| self.cluster(host)).collect());
        let [ends, cancelled, deleted, looks, left] = OPERATIONS;
        self.makes(&[ends, cancelled, deleted]);
        self.waits("the first operations", |said, host| is_over(&said[&self.operation(host, ends)]));
        self.each(&["annotate", "kokop", "kokctl.io/cancel=true"], &|host| self.operation(host, cancelled));
        self.each(&["delete", "kokop", "--wait=false"], &|host| self.operation(host, deleted));
        self.edits();
        self.makes(&[looks]);
        let all = self.waits("the others", |said, host| {
            let is_over = |operation| is_over(&said[&self.operation(host, operation)]);
            is_over(cancelled) && is_over(looks) && !said.contains_key(&self.operation(host, deleted))
        });
        let count = self.outcomes(&all);
        self.makes(&[left]);
        self.waits("what is under way", |said, host| said[&self.operation(host, left)]["startTime"].is_string());
        self.each(&["delete", "kok", "--wait=false"], &|host| self.name(host));
        let prefix = format!("/round-{}-", self.number);
        let is_there = || self.story.server.ok(&["get", "kok,kokop", "-o", "name"], "").contains(&prefix);
        wait_for("the end of the Clusters", ROUND * 2, || !is_there());
        self.frees();
        count
    }

    /// Nobody holds a host any more; and as no reset works on a light one, its owner has it be of no cluster.
    fn frees(&self) {
        for host in &self.hosts {
            wait_for("a host that nobody holds", HEARD, || ok(host, "grep -s run= /var/lib/kokctl/holder || :").is_empty());
            ok(host, "rm -r /var/lib/kokctl");
        }
    }

    /// What came of those that were not deleted. How many of them were cancelled before their end.
    fn outcomes(&self, all: &Said) -> usize {
        let [ends, cancelled, _, looks, _] = OPERATIONS;
        let phase = |host: &Host, operation| all[&self.operation(host, operation)]["phase"].clone();
        for host in &self.hosts {
            for operation in [ends, looks] {
                let said = &all[&self.operation(host, operation)];
                assert_eq!(phase(host, operation), "Succeeded", "{said:#}\n{}", self.logs());
            }
            let phase = phase(host, cancelled);
            assert!(["Cancelled", "Succeeded"].iter().any(|end| phase == *end), "{phase}\n{}", self.logs());
        }
        self.hosts.iter().filter(|host| phase(host, cancelled) == "Cancelled").count()
    }

    /// The name of the Cluster of a host.
    fn name(&self, host: &Host) -> String {
        format!("round-{}-{}", self.number, host.name())
    }

    fn operation(&self, host: &Host, operation: &str) -> String {
        format!("{}-{operation}", self.name(host))
    }

    fn cluster(&self, host: &Host) -> Value {
        let mut cluster = objects::cluster(self.story.lab, NAMESPACE);
        cluster["metadata"]["name"] = json!(self.name(host));
        cluster["spec"]["hosts"] = json!([{"name": host.name(), "address": host.address(), "roles": ["control-plane", "worker"]}]);
        cluster["spec"]["time"] = json!({"sources": [host.name()]});
        cluster["spec"]["hooks"] = self.hooks("first");
        let policy = if self.number.is_multiple_of(HELD) { "Reset" } else { "Orphan" };
        cluster["spec"]["operator"] = json!({"deletionPolicy": policy});
        cluster
    }

    /// Some that have not run yet.
    fn hooks(&self, description: &str) -> Value {
        let environment = json!({"ROUND": self.number.to_string(), "DESCRIPTION": description});
        let hook = |number: usize| json!({"name": format!("step-{number}"), "at": "beforePreparation", "script": "sleep 1", "environment": environment});
        (1..=3).map(hook).collect()
    }

    /// Describes other hooks for all of them, and lets go of those that are held.
    fn edits(&self) {
        let patch = json!({"spec": {"hooks": self.hooks("second"), "operator": {"deletionPolicy": "Orphan"}}}).to_string();
        self.each(&["patch", "kok", "--type=merge", "-p", &patch], &|host| self.name(host));
    }

    /// Makes these operations of each Cluster.
    fn makes(&self, operations: &[&str]) {
        let action = |operation: &str| if operation == OPERATIONS[3] { ("ping.yml", "") } else { ("cluster.yml", "--tags=hooks") };
        let object = |(host, operation): (&Host, &str)| {
            let (action, arguments) = action(operation);
            let spec = json!({"cluster": self.name(host), "actionType": "playbook", "action": action, "extraArgs": arguments});
            let meta = json!({"name": self.operation(host, operation)});
            json!({"apiVersion": "kubeonkube.clay.io/v1alpha1", "kind": "ClusterOperation", "metadata": meta, "spec": spec})
        };
        let all = self.hosts.iter().flat_map(|host| operations.iter().map(move |operation| (host, *operation)));
        self.create(all.map(object).collect());
    }

    fn create(&self, items: Vec<Value>) {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
        self.story.server.ok(&["create", "--validate=strict", "-f", "-"], &list.to_string());
    }

    /// Has kubectl do this to an object of each host.
    fn each(&self, arguments: &[&str], name: &dyn Fn(&Host) -> String) {
        let names: Vec<String> = self.hosts.iter().map(name).collect();
        let names = names.iter().map(String::as_str);
        // The verb and the kind come before the names.
        let all: Vec<&str> = arguments[..2].iter().copied().chain(names).chain(arguments[2..].iter().copied()).collect();
        self.story.server.ok(&all, "");
    }

    /// Waits until this is so of each host, and returns what the operations say then.
    fn waits(&self, what: &str, is_so: impl Fn(&Said, &Host) -> bool) -> Said {
        let mut all = Said::new();
        wait_for(&format!("{what} of round {}", self.number), ROUND, || {
            all = self.said();
            self.hosts.iter().all(|host| is_so(&all, host))
        });
        all
    }

    fn said(&self) -> Said {
        let all: Value = serde_json::from_str(&self.story.server.ok(&["get", "kokop", "-o", "json"], "")).unwrap();
        let name = |operation: &Value| operation["metadata"]["name"].as_str().unwrap().to_owned();
        all["items"].as_array().unwrap().iter().map(|operation| (name(operation), operation["status"].clone())).collect()
    }

    fn logs(&self) -> String {
        self.replicas.iter().map(Operator::log).collect()
    }
}
