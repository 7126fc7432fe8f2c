//! A host that loses its power in the middle of a run.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use kok_tests::lab::Host;
use serde_json::Value;

use crate::cluster_support::kokctl::{Kokctl, KokctlOutput};

/// A lost host is tried to be reached again for two minutes, in which a machine that is started anew comes back. What needs it fails then; the rest is what
/// others still have to do.
const ENDS_WITHIN: Duration = Duration::from_secs(240);

/// How long the run may take until its moment comes, and after that.
const WHOLE_RUN: u64 = 720;

/// When a host dies: with an event of a step.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    pub event: &'static str,
    pub step: &'static str,
}

impl Moment {
    pub const fn started(step: &'static str) -> Self {
        Self { event: "step-started", step }
    }

    pub const fn done(step: &'static str) -> Self {
        Self { event: "step-done", step }
    }

    fn is_of(self, line: &str) -> bool {
        let event: Value = serde_json::from_str(line).unwrap();
        event["event"] == self.event && event["step"] == self.step
    }
}

/// What was said, without the ends of lines.
pub fn words(said: &KokctlOutput) -> String {
    said.stderr.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The run goes on without the host and ends by itself: it names the host, and does not claim to have done all. Gives back what it said, as [`words`].
pub fn at(kokctl: &Kokctl<'_>, verb: &[&str], host: &Host, moment: Moment) -> String {
    println!("{}: {} loses its power at {moment:?}", verb[0], host.name());
    let (manifest, errors) = (kokctl.manifest(), kokctl.folder().join("died.errors"));
    let arguments = [verb, &["-f", manifest.to_str().unwrap(), "--json"]].concat();
    let mut command = kokctl.command_within(WHOLE_RUN, &arguments);
    let mut child = command.stdout(Stdio::piped()).stderr(File::create(&errors).unwrap()).spawn().unwrap();
    let (mut stdout, mut died) = (String::new(), None);
    for line in BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap) {
        if died.is_none() && moment.is_of(&line) {
            host.power_off().unwrap();
            died = Some(Instant::now());
        }
        stdout.push_str(&format!("{line}\n"));
    }
    let code = child.wait().unwrap().code().unwrap_or(-1);
    let said = KokctlOutput { code, stdout, stderr: fs::read_to_string(&errors).unwrap() };
    let took = died.unwrap_or_else(|| panic!("it ended before {moment:?}: {said:?}")).elapsed();
    println!("it ended {:.1} s later with {code}:\n{}", took.as_secs_f64(), said.stderr);
    assert!(took < ENDS_WITHIN, "it went on for {took:?}: {said:?}");
    let (name, words) = (host.name(), words(&said));
    let named = [format!("cannot connect to {name}"), format!("{name}, whose member is to get a vote, can't be reached")];
    assert!(code == 4 && named.iter().any(|named| words.contains(named)), "{said:?}");
    words
}
