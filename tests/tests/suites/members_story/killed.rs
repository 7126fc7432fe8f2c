//! A run that is killed on its way.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use crate::cluster_support::kokctl::{Kokctl, wait_for_event};

/// So many steps are done by then, unless it has ended.
pub fn after(kokctl: &Kokctl<'_>, verb: &[&str], steps: usize) {
    let manifest = kokctl.manifest();
    let mut arguments = verb.to_vec();
    arguments.extend(["-f", manifest.to_str().unwrap(), "--json"]);
    let mut child = kokctl.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut events = BufReader::new(child.stdout.take().unwrap());
    wait_for_event(&mut events, "plan-made", &mut String::new());
    let done = |line: &String| line.contains("\"event\":\"step-done\"");
    events.lines().map_while(Result::ok).filter(done).take(steps).for_each(drop);
    child.kill().unwrap();
    child.wait().unwrap();
}
