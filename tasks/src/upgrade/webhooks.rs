//! Webhooks of admission that nobody answers for, and that refuse what an upgrade writes.

use std::collections::BTreeSet;

use kok_crds::listed;
use kok_crds::model::Cluster;

use super::check::{CheckName, Found, push};
use crate::observe::{Rule, Webhook};
use crate::plan::{Refusal, Seen};
use crate::speaker::speaker;

/// What an upgrade writes, and what is written where pods leave their nodes, by their groups of the API.
const WRITTEN: [(&str, &str); 8] = [
    ("", "pods"),
    ("", "nodes"),
    ("", "configmaps"),
    ("", "secrets"),
    ("coordination.k8s.io", "leases"),
    ("apps", "daemonsets"),
    ("apps", "deployments"),
    ("apps", "replicasets"),
];

/// What is asked of a pod that runs, and never by an upgrade.
const OF_USERS: [&str; 5] = ["exec", "attach", "portforward", "proxy", "log"];

/// What of a webhook's rules an upgrade writes, as they name it.
fn written(webhook: &Webhook) -> BTreeSet<&str> {
    let pairs = webhook.rules.iter().flat_map(|rule| rule.resources.iter().map(move |resource| (rule, resource.as_str())));
    pairs.filter(|(rule, resource)| is_written(rule, resource)).map(|(_, resource)| resource).collect()
}

fn is_written(rule: &Rule, named: &str) -> bool {
    let (resource, part) = named.split_once('/').unwrap_or((named, ""));
    let is_of = |group: &str| rule.groups.iter().any(|named| named == "*" || named == group);
    !OF_USERS.contains(&part) && WRITTEN.iter().any(|(group, written)| is_of(group) && (resource == "*" || resource == *written))
}

pub(super) fn webhooks(cluster: &Cluster, seen: &Seen, found: &mut Vec<Found>) {
    let Some(host) = speaker(cluster, seen) else { return };
    let webhooks = match &seen.observations(&host.name).webhooks {
        Some(Ok(webhooks)) => webhooks,
        Some(Err(reason)) => {
            let refusal = Refusal::new("it is not known whether webhooks refuse what an upgrade writes").at(format!("host {}", host.name));
            let refusal = refusal.because(format!("the API server was asked for them, and this was said: {reason}"));
            return push(found, CheckName::Webhooks, false, refusal.hint("ask again; where that does not help, look at them by `kubectl`"));
        }
        None => return,
    };
    for webhook in webhooks.iter().filter(|webhook| !webhook.answers) {
        let written = written(webhook);
        if written.is_empty() {
            continue;
        }
        let what = if webhook.selects { "may refuse what it selects of" } else { "refuses all" };
        let refusal = Refusal::new(format!("webhook {} {what} {}: nobody answers for it", webhook.name, listed(written)));
        let refusal = refusal.at(format!("{} {}", webhook.kind, webhook.configuration)).because(format!(
            "its service {} has no endpoint that is ready, and with `failurePolicy: Fail` API servers refuse then",
            webhook.service
        ));
        let delete = format!("`kubectl delete {} {}`", webhook.kind.to_lowercase(), webhook.configuration);
        let hint = format!("bring its pods up, or take it out where nobody needs it: {delete}");
        push(found, CheckName::Webhooks, !webhook.selects, refusal.hint(hint));
    }
}
