//! Pods of nodes, and the budgets that protect them.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::parse::{ParseError, Section, body_of, text_of};
use crate::drain::{Workload, read_budgets, read_pods};
use crate::shell::quote;

/// What runs on nodes; or what was said instead.
pub(super) type SeenWorkload = Result<Workload, String>;

/// After the question whether the API server is ready.
pub(super) fn push(script: &mut String, nodes: &BTreeSet<String>) {
    if nodes.is_empty() {
        return;
    }
    script.push_str("mark kube-budgets\n[ -z \"$api_server\" ] || raw /apis/policy/v1/poddisruptionbudgets | shorter\n");
    for node in nodes {
        let path = quote(&format!("/api/v1/pods?fieldSelector=spec.nodeName%3D{node}"));
        // Writing to a String can't fail.
        let _ = writeln!(script, "mark kube-pods {}\n[ -z \"$api_server\" ] || raw {path} | shorter", quote(node));
    }
}

/// What runs on these nodes; or what was said instead.
pub(super) fn read(sections: &[Section<'_>], nodes: &BTreeSet<String>) -> Result<SeenWorkload, ParseError> {
    let shortened = |text: &str| text.trim().chars().take(200).collect::<String>();
    let budgets = text_of(sections, "kube-budgets")?;
    let Some(budgets) = read_budgets(budgets) else { return Ok(Err(shortened(budgets))) };
    let mut workload = Workload { budgets, ..Workload::default() };
    for node in nodes {
        let text = String::from_utf8_lossy(body_of(sections, "kube-pods", node)?);
        let Some(pods) = read_pods(&text) else { return Ok(Err(shortened(&text))) };
        workload.pods.insert(node.clone(), pods);
    }
    Ok(Ok(workload))
}

/// What was seen of other nodes before stays; budgets are those of the last look.
pub(super) fn merged(earlier: Option<SeenWorkload>, later: Option<SeenWorkload>) -> Option<SeenWorkload> {
    match (earlier, later) {
        (Some(Ok(earlier)), Some(Ok(later))) => {
            let pods = earlier.pods.into_iter().chain(later.pods).collect();
            Some(Ok(Workload { pods, ..later }))
        }
        (earlier, later) => later.or(earlier),
    }
}
