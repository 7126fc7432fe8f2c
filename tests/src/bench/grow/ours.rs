//! By kokctl: `apply` of a file with hosts that are no nodes yet, and what its events say.

use std::error::Error;
use std::time::Instant;

use serde_json::Value;

use super::api::Api;
use super::report::GrownByKokctl;
use crate::bench::create::PREPARATION;
use crate::bench::site::{Site, milliseconds};
use crate::lab::Host;

/// Tasks of which the first step of a host that begins is the join, whatever else of the host is done beside it: a worker's `kubeadm join`;
/// kubeadm's check of a control plane, before its manifests.
const JOINING: [&str; 2] = ["kubelet-join", "control-plane"];

/// An event of a run.
struct Event {
    kind: String,
    step: String,
    host: String,
    /// Since the command.
    milliseconds: f64,
}

/// Lets hosts of the manifest join that are no nodes yet. Returns when `apply` has ended, with its check of the network.
pub(super) fn join(site: &Site, api: &Api<'_>, hosts: &[Host]) -> Result<GrownByKokctl, Box<dyn Error>> {
    let began = Instant::now();
    let (events, ready) = api.watch(hosts, || apply(site, began))?;
    let end_milliseconds = milliseconds(began);
    let ready_milliseconds = ready.duration_since(began).as_secs_f64() * 1e3;
    let mut prepared = 0.0_f64;
    for host in hosts {
        let at = prepared_at(&events, host.name()).ok_or_else(|| format!("kokctl did not say that {} joins", host.name()))?;
        prepared = prepared.max(at);
    }
    let others = site.lab.hosts().filter(|host| hosts.iter().all(|joining| joining.name() != host.name()));
    let probes = others.map(|host| probes(&events, host.name())).max().unwrap_or_default();
    Ok(GrownByKokctl { milliseconds: ready_milliseconds - prepared, ready_milliseconds, end_milliseconds, probes })
}

fn apply(site: &Site, began: Instant) -> Result<Vec<Event>, Box<dyn Error>> {
    let mut events = Vec::new();
    site.follow("apply", &[], |event| {
        let of = |field: &str| event.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        events.push(Event { kind: of("event"), step: of("step"), host: of("host"), milliseconds: milliseconds(began) });
        Ok(())
    })?;
    Ok(events)
}

/// When a host was prepared: when its last step of [`PREPARATION`] was done; and at the latest when its join began, so that no part of
/// the join is ever taken for preparation. Nothing if it does not join.
fn prepared_at(events: &[Event], host: &str) -> Option<f64> {
    let preparation: Vec<&str> = PREPARATION.split(',').collect();
    let done = times(events, "step-done", host, &preparation).pop();
    let joins = times(events, "step-started", host, &JOINING).into_iter().next()?;
    Some(done.map_or(joins, |done| done.min(joins)))
}

/// When such events of a host's steps of these tasks came, in their order.
fn times(events: &[Event], kind: &str, host: &str, tasks: &[&str]) -> Vec<f64> {
    let found = events.iter().filter(|event| event.kind == kind && is_of(&event.step, host, tasks));
    found.map(|event| event.milliseconds).collect()
}

/// Whether a step is of one of these tasks of a host: its name is `HOST/TASK/NAME`.
fn is_of(step: &str, host: &str, tasks: &[&str]) -> bool {
    let mut parts = step.splitn(3, '/');
    parts.next() == Some(host) && parts.next().is_some_and(|task| tasks.contains(&task))
}

fn probes(events: &[Event], host: &str) -> usize {
    events.iter().filter(|event| event.kind == "host-probed" && event.host == host).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: &str, step: &str, milliseconds: f64) -> Event {
        Event { kind: kind.to_owned(), step: step.to_owned(), host: String::new(), milliseconds }
    }

    #[test]
    fn a_host_is_prepared_when_nothing_but_its_join_is_left() {
        let mut events = vec![
            event("step-done", "w4/kubelet/kubelet", 10.0),
            event("step-started", "w4/network/configuration", 11.0),
            event("step-done", "w4/kubeadm-configuration/kubeadm", 20.0),
            event("step-done", "w4/network/configuration", 21.0),
            event("step-done", "w5/kubeadm-configuration/kubeadm", 29.0),
        ];
        assert_eq!(prepared_at(&events, "w4"), None, "it does not join");
        events.push(event("step-started", "w4/kubelet-join/joined", 30.0));
        events.push(event("step-done", "w4/kubelet-join/joined", 40.0));
        assert_eq!(prepared_at(&events, "w4"), Some(20.0));
        events.push(event("step-done", "w4/images/echo", 50.0));
        assert_eq!(prepared_at(&events, "w4"), Some(30.0), "what comes beside the join is no excuse");
    }

    #[test]
    fn probes_are_counted_by_host() {
        let of = |host: &str| Event { host: host.to_owned(), ..event("host-probed", "", 0.0) };
        let events = [of("a"), of("b"), of("a")];
        assert_eq!((probes(&events, "a"), probes(&events, "b"), probes(&events, "c")), (2, 1, 0));
    }
}
