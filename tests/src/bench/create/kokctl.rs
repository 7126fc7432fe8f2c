//! By kokctl.

use std::error::Error;
use std::time::Instant;

use serde_json::Value;

use super::report::{CreatedByKokctl, Link, RepeatedApply};
use super::{Prepared, READY};
use crate::bench::median;
use crate::bench::site::{Site, milliseconds};

/// End of the name of the step that is done when all nodes are Ready.
const NODES_READY: &str = "/network/nodes-ready";

pub(super) fn run(prepared: Prepared, progress: &(dyn Fn(&str) + Sync)) -> Result<CreatedByKokctl, Box<dyn Error>> {
    let site = &prepared.site;
    let began = Instant::now();
    let (mut ready, mut name) = (None, String::new());
    site.follow("apply", &[], |event| {
        let of = |field: &str| event.get(field).and_then(Value::as_str).unwrap_or_default();
        match of("event") {
            "run-started" => of("run").clone_into(&mut name),
            // kokctl goes on meanwhile, with CoreDNS and a check of the network; what it writes until then waits in the pipe.
            "step-done" if of("step").ends_with(NODES_READY) => {
                site.wait_for_nodes(READY)?;
                ready = Some(milliseconds(began));
            }
            _ => {}
        }
        Ok(())
    })?;
    let end_milliseconds = milliseconds(began);
    let milliseconds = ready.ok_or("kokctl did not say that the nodes are Ready")?;
    progress(&format!("kokctl: {:.1} s until all nodes were Ready, {:.1} s to its end", milliseconds / 1e3, end_milliseconds / 1e3));
    let mut critical_path = critical_path(site, &name)?;
    end_with_nodes(&mut critical_path);
    let again = RepeatedApply::measure(site)?;
    progress(&format!("kokctl: {:.0} ms where nothing is left to do, {:.0} ms for the task {LIGHT} alone", again.whole, again.light));
    let (preparation_milliseconds, preparation_path) = (prepared.milliseconds, prepared.critical_path);
    prepared.site.lab.down()?;
    Ok(CreatedByKokctl { milliseconds, end_milliseconds, again, preparation_milliseconds, preparation_path, critical_path })
}

/// What costs a host little more than a connection.
const LIGHT: &str = "host";

/// A cluster that has just come to be is busy with itself: so often is measured, and the median counts.
const TIMES: usize = 7;

impl RepeatedApply {
    /// Alternately the whole and the light task, so that what else happens on the machine hits both.
    fn measure(site: &Site) -> Result<Self, Box<dyn Error>> {
        let (mut whole, mut light) = (Vec::new(), Vec::new());
        for _ in 0..TIMES {
            whole.push(nothing_to_do(site, &[])?);
            light.push(nothing_to_do(site, &["--only", LIGHT])?);
        }
        Ok(Self { whole: median(whole), light: median(light) })
    }
}

fn nothing_to_do(site: &Site, more: &[&str]) -> Result<f64, Box<dyn Error>> {
    let began = Instant::now();
    let output = site.verb("apply", more)?.output()?;
    let took = milliseconds(began);
    let said = String::from_utf8_lossy(&output.stdout);
    if said.starts_with("nothing to do") { Ok(took) } else { Err(format!("a converged apply said {said:?}").into()) }
}

/// The chain of steps that the time of a run went to.
pub(super) fn critical_path(site: &Site, run: &str) -> Result<Vec<Link>, Box<dyn Error>> {
    let shown = site.kokctl(&["run", "show", run, "--timeline", "--json"])?.output()?;
    path_of(&serde_json::from_slice(&shown.stdout)?)
}

fn path_of(run: &Value) -> Result<Vec<Link>, Box<dyn Error>> {
    let path = run.pointer("/timeline/criticalPath").ok_or("the run has no critical path")?;
    Ok(serde_json::from_value(path.clone())?)
}

/// What comes after the nodes are Ready is not measured.
fn end_with_nodes(links: &mut Vec<Link>) {
    if let Some(last) = links.iter().position(|link| link.step.ends_with(NODES_READY)) {
        links.truncate(last + 1);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    #[test]
    fn the_path_ends_where_the_nodes_are_ready() {
        let link = |step: &str| json!({"step": step, "began": 1, "tookMilliseconds": 2, "waitedMilliseconds": 0, "together": 1});
        let run = json!({"timeline": {"criticalPath": [link("a/b/c"), link("cp1/network/nodes-ready"), link("cp1/network/more")]}});
        let mut links = super::path_of(&run).unwrap();
        super::end_with_nodes(&mut links);
        let steps: Vec<String> = links.into_iter().map(|link| link.step).collect();
        assert_eq!(steps, ["a/b/c", "cp1/network/nodes-ready"]);
        assert!(super::path_of(&json!({})).is_err());
    }
}
