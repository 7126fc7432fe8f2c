//! The run that changes everything, and what its seconds went to.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;

use serde_json::Value;

use super::Bench;
use super::report::{First, Share};

/// `apply` on bare hosts.
pub(super) fn run(bench: &Bench<'_>, hosts: usize) -> Result<First, Box<dyn Error>> {
    let cost = bench.apply(hosts, true)?;
    let events = bench.output()?;
    let events = events.lines().filter(|line| line.starts_with('{')).map(serde_json::from_str).collect::<Result<Vec<Value>, _>>()?;
    Ok(First { hosts, milliseconds: cost.milliseconds, shares: shares(&events, cost.milliseconds) })
}

/// Every moment of the run goes to what was at work then; where steps of several tasks were, each has an equal part of it.
fn shares(events: &[Value], total: f64) -> Vec<Share> {
    let mut spent: BTreeMap<String, f64> = BTreeMap::new();
    let (mut working, mut now) = (BTreeSet::new(), 0.0);
    let mut phase = "start, connections and probes";
    for event in events {
        let (time, kind) = (event["milliseconds"].as_f64().unwrap_or(now), event["event"].as_str().unwrap_or_default());
        spend(&mut spent, &working, phase, time - now);
        now = time;
        let step = event["step"].as_str().unwrap_or_default().to_owned();
        match kind {
            "step-started" => drop(working.insert(step)),
            "step-done" | "step-failed" => drop(working.remove(&step)),
            "plan-made" => phase = "verifying, keys, between steps",
            _ => {}
        }
    }
    spend(&mut spent, &BTreeSet::new(), "before the first event, and the end", total - now);
    let mut shares: Vec<Share> = spent.into_iter().map(|(what, milliseconds)| Share { what, milliseconds }).collect();
    shares.sort_by(|one, other| other.milliseconds.total_cmp(&one.milliseconds));
    shares
}

fn spend(spent: &mut BTreeMap<String, f64>, working: &BTreeSet<String>, phase: &str, milliseconds: f64) {
    // The task stands in the middle of a step's name: HOST/TASK/WHAT.
    let tasks: BTreeSet<&str> = working.iter().filter_map(|step| step.split('/').nth(1)).collect();
    if tasks.is_empty() {
        *spent.entry(phase.to_owned()).or_default() += milliseconds;
    }
    for task in &tasks {
        *spent.entry(format!("steps of {task}")).or_default() += milliseconds / f64::from(u32::try_from(tasks.len()).unwrap_or(1));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    #[test]
    fn every_moment_goes_to_something() {
        let events = [
            json!({"milliseconds": 10, "event": "plan-made"}),
            json!({"milliseconds": 30, "event": "step-started", "step": "h1/host/a"}),
            json!({"milliseconds": 40, "event": "step-started", "step": "h2/images/b"}),
            json!({"milliseconds": 60, "event": "step-done", "step": "h1/host/a"}),
            json!({"milliseconds": 90, "event": "step-done", "step": "h2/images/b"}),
        ];
        let shares = shares(&events, 100.0);
        let of = |what: &str| shares.iter().find(|share| share.what.starts_with(what)).unwrap().milliseconds;
        assert_eq!(
            (of("start"), of("verifying"), of("steps of host"), of("steps of images"), of("before")),
            (10.0, 20.0, 20.0, 40.0, 10.0)
        );
        assert!((shares.iter().map(|share| share.milliseconds).sum::<f64>() - 100.0).abs() < 1e-9);
    }
}
