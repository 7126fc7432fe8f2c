//! One script for several steps of a host: acting, and the second look at each. And the script that asks later what became of them.

use std::collections::{BTreeMap, BTreeSet};

use kok_tasks::holder::{END_UPLOADS, UPLOAD_SECONDS, UPLOADS, WAIT_SECONDS, begin_script, compare_script};
use kok_tasks::observe::{Looks, Nonce, Observations, ParseError, Section, parse, probe_script, section_marker, sections};
use kok_tasks::resources::Act;
use kok_tasks::script::{Fragment, JOBS, PRELUDE, Part, in_lines};
use kok_tasks::secret_name::SecretName;
use kok_tasks::shell::quote;

use super::hosts::{Acted, Answer, Order};
use super::schedule::HostLane;
use super::secrets::Secrets;
use crate::remote::Output;

/// The script of an order.
#[derive(Debug)]
pub(super) struct Batch<'a> {
    order: &'a Order,
    nonce: Nonce,
    looks: Looks,
}

/// What a host said of an order that nobody had heard of.
#[derive(Debug)]
pub(super) enum Settled {
    /// Something of it is still at work.
    AtWork,
    /// Another run holds the host by now, by this line: what is there may be its work.
    Held(String),
    /// What became of it.
    Answered(Box<Answer>),
}

/// What a script needs to know of the run that sends it.
#[derive(Debug, Clone, Default)]
pub(super) struct Writer {
    /// Name of the run.
    pub(super) run: String,
    /// The line that the host's holder record must have.
    pub(super) line: String,
}

impl<'a> Batch<'a> {
    pub(super) fn new(order: &'a Order, nonce: Nonce) -> Self {
        let looks = order.steps.iter().flat_map(|(step, _)| step.looks()).collect();
        Self { order, nonce, looks }
    }

    fn lane(&self) -> &'static str {
        match self.order.lane {
            HostLane::Streams => UPLOADS,
            HostLane::Scripts | HostLane::Waits => "scripts",
        }
    }

    /// How many bytes the host may answer to either of its scripts, in a cluster of so many hosts.
    pub(super) fn answer_limit(&self, hosts: usize) -> usize {
        let steps = self.order.steps.len() * STEP_LIMIT;
        self.looks.answer_limit(hosts, false).saturating_add(steps + MOST_RECORDS * RECORD_LIMIT)
    }

    /// The text of the script, secrets included: it is sent and dropped, and never printed.
    ///
    /// # Errors
    /// The name of a secret that was not prepared. An empty file in its place would look as if it were done.
    pub(super) fn script(&self, writer: &Writer, secrets: &Secrets) -> Result<String, SecretName> {
        let mut text = format!("{PRELUDE}{}", section_marker(&self.nonce));
        // What is uploaded has come by the order's deadline, or never comes; a job is waited for beyond it.
        let deadline = self.order.deadline.as_secs();
        let limit = if self.order.lane == HostLane::Streams { deadline } else { deadline.max(JOB_SECONDS) };
        text.push_str(&format!("kokctl_run={}\nkokctl_attempt={}\nkokctl_limit={limit}\n", quote(&writer.run), self.order.attempt));
        text.push_str(&begin_script(&writer.line, self.lane(), WAIT_SECONDS));
        text.push_str("failed=\n");
        for (index, (step, act)) in self.order.steps.iter().enumerate() {
            let Some(fragment) = act.script() else { continue };
            text.push_str(&format!("if [ -z \"$failed\" ]; then\n{}", compare_script()));
            text.push_str(&format!("kokctl_step={}\nmark output {index}\n( set -eu\n", quote(step.id.as_str())));
            if matches!(act, Act::Stream { .. } | Act::Fetch(_)) {
                // Whoever ends it lets it remove what it wrote.
                text.push_str("trap 'exit 1' TERM\n");
            }
            push(&mut text, fragment, secrets)?;
            text.push_str(&format!(") 2>&1\nstatus_{index}=$?\n[ $status_{index} = 0 ] || failed=1\nfi\n"));
        }
        text.push_str(&self.results());
        text.push_str(&self.written(secrets)?);
        text.push_str(&probe_script(&self.nonce, &self.looks, None));
        Ok(text)
    }

    /// Says how each step ended, once what it renamed is on the disk: the folders of all of them are flushed together.
    fn results(&self) -> String {
        let scripts: Vec<(usize, &Fragment)> =
            self.order.steps.iter().enumerate().filter_map(|(index, (_, act))| Some((index, act.script()?))).collect();
        let mut text = format!("unflushed=\n{}", self.flushed());
        for (index, script) in scripts {
            if !script.folders().is_empty() {
                text.push_str(&format!("[ \"${{status_{index}-}}\" != 0 ] || [ -z \"$unflushed\" ] || status_{index}={UNFLUSHED}\n"));
            }
            text.push_str(&format!("[ -z \"${{status_{index}-}}\" ] || mark result {index} $status_{index}\n"));
        }
        text
    }

    /// Flushes the folders into which the order renames files, and says what is wrong with that.
    fn flushed(&self) -> String {
        let folders: BTreeSet<&String> = self.order.steps.iter().filter_map(|(_, act)| act.script()).flat_map(Fragment::folders).collect();
        if folders.is_empty() {
            return String::new();
        }
        let folders = folders.into_iter().map(|folder| quote(folder)).collect::<Vec<_>>().join(" ");
        format!("mark {UNFLUSHED}\nflush {folders} 2>&1 || unflushed=1\n")
    }

    /// Has the host compare each file that the order writes with a secret in it with what was sent. Whoever can read the script has the secret, and
    /// its digest tells him nothing more; the answer says only whether they are the same.
    fn written(&self, secrets: &Secrets) -> Result<String, SecretName> {
        let mut text = String::new();
        for (step, act) in &self.order.steps {
            let Some(script) = act.script() else { continue };
            for (path, name) in step.secret_files().into_iter().filter(|(_, name)| script.parts().contains(&Part::Digest(name.clone()))) {
                text.push_str(&format!("written {} {}\n", secrets.digest(&name).ok_or(name)?, quote(&path)));
            }
        }
        Ok(text)
    }

    /// What the script said: of each step how acting ended, and what the second look saw.
    pub(super) fn read(&self, output: &Output, secrets: &Secrets) -> Result<Answer, ParseError> {
        let sections = sections(&self.nonce, &output.stdout);
        let section_of = |name: &str, index: usize| {
            let wanted = index.to_string();
            sections.iter().find(move |section| section.name == name && section.argument.split(' ').next() == Some(wanted.as_str()))
        };
        let acted = (0..self.order.steps.len()).map(|index| match section_of("result", index) {
            None => Acted::NotBegun,
            Some(result) if result.argument.ends_with(" 0") => Acted::Ended,
            Some(result) => {
                let text = |section: &Section<'_>| String::from_utf8_lossy(section.body).trim().to_owned();
                let is_flush = result.argument.ends_with(UNFLUSHED);
                let flush = sections.iter().find(|section| section.name == UNFLUSHED).filter(|_| is_flush);
                let words = flush.or_else(|| section_of("output", index)).map(text).unwrap_or_default();
                Acted::Failed(last_lines(&secrets.redact(&words)))
            }
        });
        let outputs = self.order.steps.iter().enumerate().filter(|(_, (step, _))| step.is_told()).filter_map(|(index, _)| {
            let ended = section_of("result", index).is_some_and(|result| result.argument.ends_with(" 0"));
            let words =
                section_of("output", index).filter(|_| ended).map(|section| String::from_utf8_lossy(section.body).trim().to_owned())?;
            Some((index, last_lines(&secrets.redact(&words)))).filter(|(_, words)| !words.is_empty())
        });
        let outputs = outputs.collect();
        Ok(Answer { acted: acted.collect(), outputs, seen: self.seen(output)?, restarted: false })
    }

    fn seen(&self, output: &Output) -> Result<Observations, ParseError> {
        let mut seen = parse(&self.nonce, &self.looks, &output.stdout)?;
        let written = sections(&self.nonce, &output.stdout).into_iter().filter(|section| section.name == "written");
        seen.written = written.map(|section| (section.argument.to_owned(), section.body.trim_ascii() == b"same")).collect();
        Ok(seen)
    }

    /// The text of the script that asks what became of this order: it waits until neither its script nor its job is at work any more, and
    /// says what is on record. `boot` is the boot id that the host had when the run began; a host that was started anew has to be up
    /// before looking at it means anything.
    ///
    /// # Errors
    /// The name of a secret that was not prepared, as that of [`script`](Self::script).
    pub(super) fn settle_script(
        &self,
        writer: &Writer,
        boot: &str,
        patience_seconds: u64,
        secrets: &Secrets,
    ) -> Result<String, SecretName> {
        // Jobs belong to one lane. Whoever has not its lock could take the input of a job that is only about to begin for what is left of one.
        // And an upload that nobody has heard of has lost the connection that it reads.
        let (uploads, jobs) = match self.order.lane {
            HostLane::Streams => (format!("{END_UPLOADS}flock -x -w {UPLOAD_SECONDS} 8 || end_uploads\n"), ":".to_owned()),
            HostLane::Scripts | HostLane::Waits => (String::new(), format!("jobs_end {patience_seconds} || echo job")),
        };
        Ok(format!(
            "{PRELUDE}{marker}kokctl_holder={line}\nmark boot\nboot=$(cat /proc/sys/kernel/random/boot_id)\necho \"$boot\"\n\
             [ \"$boot\" = {boot} ] || timeout 60 systemctl is-system-running --wait >/dev/null 2>&1\n\
             mkdir -p -m 700 /run/kokctl\nexec 8>/run/kokctl/lane-{lane}\n{uploads}mark busy\n\
             if flock -x -w {patience_seconds} 8; then {jobs}; else echo script; fi\nmark held\nis_ours || echo \"another: $held\"\n\
             for record in {JOBS}/*.record; do\n  [ -f \"$record\" ] || continue\n  mark record\n  head -c {RECORD_LIMIT} \"$record\"\ndone\n{flushed}{written}{probe}",
            marker = section_marker(&self.nonce),
            line = quote(&writer.line),
            boot = quote(boot),
            lane = self.lane(),
            // What nobody has heard of may have renamed files, and not come to this.
            flushed = self.flushed(),
            written = self.written(secrets)?,
            probe = probe_script(&self.nonce, &self.looks, None),
        ))
    }

    /// What that script said.
    pub(super) fn read_settled(&self, output: &Output, writer: &Writer, boot: &str, secrets: &Secrets) -> Result<Settled, ParseError> {
        let seen = self.seen(output)?;
        let sections = sections(&self.nonce, &output.stdout);
        let text = |name: &'static str| {
            let named = sections.iter().filter(move |section| section.name == name);
            named.map(|section| String::from_utf8_lossy(section.body).into_owned())
        };
        if let Some(line) = text("held").find_map(|words| words.trim().strip_prefix("another:").map(|line| line.trim().to_owned())) {
            return Ok(Settled::Held(line));
        }
        if text("busy").any(|words| !words.trim().is_empty()) {
            return Ok(Settled::AtWork);
        }
        let unflushed = text(UNFLUSHED).map(|words| words.trim().to_owned()).find(|words| !words.is_empty());
        let restarted = text("boot").all(|now| now.trim() != boot);
        let records: Vec<Record> = text("record").filter_map(|text| Record::parse(&text)).collect();
        let acted = self.order.steps.iter().map(|(step, act)| {
            // A disk that takes nothing is no work under way: nobody is helped by waiting for it.
            let renames = act.script().is_some_and(|script| !script.folders().is_empty());
            if let Some(reason) = unflushed.as_ref().filter(|_| renames) {
                return Acted::Failed(last_lines(&secrets.redact(reason)));
            }
            let attempt = format!("{} {} {}", writer.run, step.id, self.order.attempt);
            match records.iter().find(|record| record.attempt == attempt).map(|record| (record.code, &record.output)) {
                Some((Some(0), _)) => Acted::Ended,
                Some((Some(_), output)) => Acted::Failed(last_lines(&secrets.redact(output))),
                // Ended by a signal: whoever did that, what it was about is not known to have failed.
                Some((None, _)) | None => Acted::Unknown,
            }
        });
        Ok(Settled::Answered(Box::new(Answer { acted: acted.collect(), outputs: Vec::new(), seen, restarted })))
    }
}

/// The section, and the result of a step, that say that folders could not be flushed.
const UNFLUSHED: &str = "unflushed";

/// The record that a job left (see [`PRELUDE`]).
#[derive(Debug, PartialEq, Eq)]
struct Record {
    attempt: String,
    /// Its exit code, if it ended by itself.
    code: Option<u32>,
    output: String,
}

impl Record {
    fn parse(text: &str) -> Option<Self> {
        let (head, output) = text.split_once("\noutput\n")?;
        let fields: BTreeMap<&str, &str> = head.lines().filter_map(|line| line.split_once(' ')).collect();
        let code = fields.get("exit")?.strip_prefix("exited ").and_then(|code| code.parse().ok());
        Some(Self { attempt: (*fields.get("attempt")?).to_owned(), code, output: output.to_owned() })
    }
}

fn push(text: &mut String, fragment: &Fragment, secrets: &Secrets) -> Result<(), SecretName> {
    for part in fragment.parts() {
        match part {
            Part::Text(part) => text.push_str(part),
            Part::Secret(name) => {
                text.push_str(&in_lines(secrets.get(name).filter(|secret| !secret.is_empty()).ok_or_else(|| name.clone())?.as_bytes()));
            }
            Part::Digest(name) => text.push_str(&secrets.digest(name).ok_or_else(|| name.clone())?),
        }
    }
    Ok(())
}

/// What a step may print: of a job its last lines, of kubectl what it complains of.
const STEP_LIMIT: usize = 256 << 10;

/// How many jobs leave a record until the next run takes the host, and what is read of each.
const MOST_RECORDS: usize = 64;
const RECORD_LIMIT: usize = 16 << 10;

/// How long a job may be at work if its order has a shorter deadline: nobody is hurt by one that ends well while nobody waits for it any more,
/// and a slow host is done sooner.
const JOB_SECONDS: u64 = 900;

/// What is told of a failure at the most: enough to see why, too little to fill the screen, or the journal where a host prints without end.
const TOLD_LINES: usize = 12;
const TOLD_BYTES: usize = 4096;

/// The end of what was said: the cause stands there. A line that is too long loses its beginning.
fn last_lines(output: &str) -> String {
    let lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines.get(lines.len().saturating_sub(TOLD_LINES)..).unwrap_or_default().join("\n");
    let start = last.ceil_char_boundary(last.len().saturating_sub(TOLD_BYTES));
    if start == 0 { last } else { format!("…{}", last.get(start..).unwrap_or_default()) }
}

#[cfg(test)]
mod tests;
