//! One script for several steps of a host: acting, and the second look at each.

use kok_tasks::observe::{Looks, Nonce, Observations, ParseError, parse, probe_script, section_marker, sections};
use kok_tasks::plan::{Step, StepId};
use kok_tasks::resources::Act;
use kok_tasks::script::{Fragment, PRELUDE, Part, in_lines};

use super::secrets::Secrets;
use crate::remote::Output;

/// What the script of a batch said of one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Acted {
    /// The action ended without an error; the second look decides.
    Ended,
    /// The action ended with an error; what it printed.
    Failed(String),
    /// An earlier step of the batch failed.
    NotBegun,
}

/// Steps of one host that are done by one script.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) steps: Vec<Step>,
    nonce: Nonce,
    looks: Looks,
}

/// Scripts that change a host hold the host's lock shared, so that a later run can wait until none is left of this one.
const LOCK: &str = "mkdir -p -m 700 /run/kokctl\nexec 9>/run/kokctl/lock\nflock -s -w 120 9 || { echo 'another kokctl looks at this host' >&2; exit 1; }\n";

impl Batch {
    pub(super) fn new(steps: Vec<Step>, nonce: Nonce) -> Self {
        let looks = steps.iter().flat_map(Step::looks).collect();
        Self { steps, nonce, looks }
    }

    /// The text of the script, secrets included: it is sent and dropped, and never printed.
    pub(super) fn script(&self, acts: &[(StepId, Act)], secrets: &Secrets) -> String {
        let mut text = format!("{LOCK}{PRELUDE}{}failed=\n", section_marker(&self.nonce));
        for (index, (_, act)) in acts.iter().enumerate() {
            let fragment = match act {
                Act::Script(script) | Act::Stream { script, .. } => script,
                Act::Wait => continue,
            };
            text.push_str(&format!("if [ -z \"$failed\" ]; then\nmark output {index}\n( set -eu\n"));
            push(&mut text, fragment, secrets);
            text.push_str(&format!(") 2>&1\nstatus=$?\nmark result {index} $status\n[ $status = 0 ] || failed=1\nfi\n"));
        }
        text.push_str(&probe_script(&self.nonce, &self.looks, false));
        text
    }

    /// What the script said: of each step how acting ended, and what the second look saw.
    pub(super) fn read(&self, output: &Output, secrets: &Secrets) -> Result<(Vec<Acted>, Observations), ParseError> {
        let sections = sections(&self.nonce, &output.stdout);
        let of = |name: &str, index: usize| {
            let wanted = index.to_string();
            sections.iter().find(move |section| section.name == name && section.argument.split(' ').next() == Some(wanted.as_str()))
        };
        let acted = (0..self.steps.len()).map(|index| match of("result", index) {
            None => Acted::NotBegun,
            Some(result) if result.argument.ends_with(" 0") => Acted::Ended,
            Some(_) => {
                let said = of("output", index).map(|section| String::from_utf8_lossy(section.body).trim().to_owned()).unwrap_or_default();
                Acted::Failed(secrets.redact(&last_lines(&said)))
            }
        });
        Ok((acted.collect(), parse(&self.nonce, &self.looks, &output.stdout)?))
    }
}

fn push(text: &mut String, fragment: &Fragment, secrets: &Secrets) {
    for part in fragment.parts() {
        match part {
            Part::Text(part) => text.push_str(part),
            Part::Secret(name) => text.push_str(&in_lines(secrets.get(name).unwrap_or_default().as_bytes())),
        }
    }
}

/// Enough to see why, too little to fill the screen: the cause stands at the end.
fn last_lines(said: &str) -> String {
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    lines.get(lines.len().saturating_sub(12)..).unwrap_or_default().join("\n")
}
