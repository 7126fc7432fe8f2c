//! What is said of an operation follows from the row of its verb.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeSet;

use kok_crds::operation::{ACTIONS, About, Effect, Verb};
use kok_crds::{File, Input, Intent, Role, read_input};

const CLUSTER: &str = "
apiVersion: kubeonkube.clay.io/v1alpha1
kind: Cluster
metadata: {name: c}
spec:
  kubernetesVersion: 1.37.1
  hosts:
  - {name: cp1, address: 10.0.0.11, roles: [control-plane]}
  - {name: w1, address: 10.0.0.12, roles: [worker]}
---
apiVersion: kubeonkube.clay.io/v1alpha1
kind: ClusterOperation
metadata: {name: o}
spec: {cluster: c, actionType: playbook, ";

fn input(operation: &str) -> Input {
    let text = format!("{CLUSTER}{operation}}}\n");
    read_input(&[File { name: "all.yaml".to_owned(), text, role: Role::Main { cluster: None } }])
}

fn verbs() -> impl Iterator<Item = (&'static str, Verb)> {
    ACTIONS.iter().filter_map(|action| match action.effect {
        Effect::Runs(verb) => Some((action.name, verb)),
        _ => None,
    })
}

#[test]
fn only_what_looks_says_that_it_looks_at_all_hosts() {
    for (action, verb) in verbs() {
        let said = input(&format!("action: {action}, extraArgs: -l w1"));
        let is_noted = said.notices.iter().any(|notice| notice.message.contains("choose no part"));
        assert_eq!(is_noted, verb.only_looks(), "{action}: {:?}", said.notices);
    }
}

#[test]
fn what_is_done_to_a_cluster_is_not_done_to_one_that_was_taken_down() {
    for (action, verb) in verbs() {
        let said = input(&format!("action: {action}, preHook: [{{actionType: playbook, action: reset.yml}}]"));
        let is_refused = said.problems.iter().any(|problem| problem.message.ends_with("needs the cluster"));
        assert_eq!(is_refused, verb.needs_cluster() || action == "scale", "{action}: {:?}", said.problems);
    }
    let none = [Verb::Upgrade, Verb::Kubeconfig, Verb::Backup].iter().find(|verb| !verb.needs_cluster());
    assert_eq!(none, None);
    assert_eq!([Verb::Apply, Verb::Check, Verb::Restore, Verb::Reset].iter().find(|verb| verb.needs_cluster()), None);
}

/// A verb that were read as if it had no arguments would be done to all hosts, whomever its operation names.
#[test]
fn hosts_that_an_operation_names_are_meant_or_refused() {
    for (action, verb) in verbs().filter(|(_, verb)| !verb.only_looks()) {
        let said = input(&format!("action: {action}, extraArgs: -l w1"));
        let asked = said.asked(Intent { verb, dry: false }, &[]);
        match (verb.about(), asked) {
            (About::Whole { .. } | About::Restored, asked) => assert!(asked.is_err(), "{action}"),
            // Kubespray's own has `--limit etcd,kube_control_plane`.
            (About::Recovery, asked) => assert!(asked.unwrap().hosts.is_empty(), "{action}"),
            (_, asked) => assert_eq!(asked.unwrap().hosts, ["w1"], "{action}"),
        }
    }
}

#[test]
fn every_verb_of_an_action_has_a_word_of_its_own() {
    let all: BTreeSet<(String, &str)> = verbs().map(|(_, verb)| (format!("{verb:?}"), verb.as_str())).collect();
    let words: BTreeSet<&str> = all.iter().map(|(_, word)| *word).collect();
    assert_eq!(words.len(), all.len());
}
