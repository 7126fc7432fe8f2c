//! Runs for people.

use std::collections::BTreeMap;

use kok_crds::{count, counted};

use crate::event::Lane;
use crate::failure::{Failure, Kind};
use crate::state::{CriticalStep, Ending, Fate, Record, StepRecord, Timeline};
use crate::ui::duration;

/// `2026-11-21 12:40:00`, from RFC 3339.
pub(super) fn when(time: &str) -> String {
    time.trim_end_matches('Z').replace('T', " ")
}

pub(super) fn ending_text(record: &Record) -> String {
    let done = record.count(|fate| *fate == Fate::Done) + record.left_out.0;
    let in_doubt = record.count(|fate| *fate == Fate::InDoubt);
    let changes = count(record.steps.len() + record.left_out.0 + record.left_out.1, "change");
    match record.ending {
        Ending::Done => format!("done: {}", count(done, "change")),
        Ending::NothingToDo => "nothing to do".to_owned(),
        Ending::Incomplete => {
            let failed = record.count(|fate| matches!(fate, Fate::Failed { .. }));
            let doubt = if in_doubt == 0 { String::new() } else { format!(", {in_doubt} in doubt") };
            let stopped = record.stopped.as_ref().map(|because| format!("; stopped, for {because}")).unwrap_or_default();
            format!("incomplete: {done} of {changes}, {failed} failed{doubt}{stopped}")
        }
        Ending::Refused => {
            let first = record.refused.first().map(|refusal| refusal.what.clone()).unwrap_or_default();
            let more = record.refused.len().saturating_sub(1);
            if more == 0 { format!("refused: {first}") } else { format!("refused: {first}, and {more} more") }
        }
        Ending::AtWork => format!("at work: {done} of {changes}"),
        Ending::Died => format!("died: {done} of {changes}, {in_doubt} in doubt"),
    }
}

/// Who began a run, and so how it is gone on with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// A command on this machine.
    Command,
    /// The operator, for an operation.
    Operation,
}

impl By {
    fn go_on(self, record: &Record) -> String {
        match self {
            Self::Command => format!("run `kokctl {}` again", record.verb),
            Self::Operation => "make another operation, if the operator does not go on by itself".to_owned(),
        }
    }
}

/// A run with its steps and its failures.
pub(super) fn run_text(record: &Record, by: By) -> String {
    let mut lines = head(record);
    if !record.steps.is_empty() {
        lines.push(String::new());
    }
    for step in &record.steps {
        let began = step.began.map_or_else(|| "       -".to_owned(), |began| format!("{:>7.1}s", began as f64 / 1000.0));
        let took = step.began.zip(step.ended).map_or_else(String::new, |(began, ended)| duration(ended - began));
        lines.push(format!("{began} {took:>10}  {:<9} {}: {}", fate_word(&step.fate), step.step, step.summary));
        lines.extend(step.said.iter().flat_map(|output| output.lines()).map(|line| format!("{:>31}| {line}", "")));
    }
    for refusal in &record.refused {
        lines.push(format!("\n{}", Failure::from_record(Kind::Host, refusal)));
    }
    for step in &record.steps {
        if let Fate::Failed { error, unknown } = &step.fate {
            let what = if *unknown { "it is not known whether it was done" } else { "failed" };
            let failure = Failure::new(Kind::Incomplete, format!("{}: {what}", step.title)).at(&step.step).because(error);
            lines.push(format!(
                "\n{}",
                failure.hint(match by {
                    By::Command => "mend the cause and run the same command again: it goes on where this run stopped",
                    By::Operation => "mend the cause and make another operation: it goes on where this one stopped",
                })
            ));
        }
    }
    lines.extend(in_doubt(record, by));
    lines.join("\n")
}

fn head(record: &Record) -> Vec<String> {
    let part = record.part.as_ref().map(|part| format!(" {part}")).unwrap_or_default();
    vec![
        format!("run {}: {} of {}{part}", record.run, record.verb, record.cluster),
        format!(
            "began {} UTC, took {}, by {} with kokctl {}",
            when(&record.time),
            duration(record.took_milliseconds),
            record.who,
            record.version
        ),
        ending_text(record),
    ]
    .into_iter()
    .chain(left_out(record))
    .collect()
}

/// What a copy of a journal that was too long does not have.
fn left_out(record: &Record) -> Option<String> {
    let (done, not_begun) = record.left_out;
    (done + not_begun > 0)
        .then(|| format!("not listed, for its journal was too long: {done} that were done, {not_begun} that were not begun"))
}

fn fate_word(fate: &Fate) -> &'static str {
    match fate {
        Fate::Done => "done",
        Fate::Failed { .. } => "FAILED",
        Fate::InDoubt => "in doubt",
        Fate::NotBegun => "not begun",
    }
}

fn in_doubt(record: &Record, by: By) -> Option<String> {
    let steps: Vec<&str> = record.steps.iter().filter(|step| step.fate == Fate::InDoubt).map(|step| step.step.as_str()).collect();
    (record.ending != Ending::AtWork && !steps.is_empty()).then(|| {
        format!(
            "\nin doubt, for the run ended while they were at work: {}\n{}: it looks at each before it does anything",
            steps.join(", "),
            by.go_on(record)
        )
    })
}

/// Hosts in the table at the most; of a large fleet those that were busy to the end are worth looking at.
const MOST_HOSTS: usize = 20;

/// Columns of the picture of a host's time.
const COLUMNS: u64 = 60;

pub(super) fn timeline_text(record: &Record, timeline: &Timeline) -> String {
    let mut lines = head(record);
    lines.push("\nwhere the time went:".to_owned());
    lines.extend(timeline.before.iter().map(|(what, took)| format!("  {:>11}  {what}", duration(*took))));
    if timeline.critical_path.is_empty() {
        return lines.join("\n");
    }
    lines.push(format!("  {:>11}  {}", duration(timeline.changes_milliseconds), count(record.steps.len(), "change")));
    lines.extend(host_lines(record, timeline));
    lines.push("\nthe chain of steps that made it as long as it was:".to_owned());
    let by_name: BTreeMap<&str, &StepRecord> = record.steps.iter().map(|step| (step.step.as_str(), step)).collect();
    lines.extend(timeline.critical_path.iter().map(|link| link_line(link, by_name.get(link.step.as_str()).copied())));
    lines.join("\n")
}

fn link_line(link: &CriticalStep, step: Option<&StepRecord>) -> String {
    let waited = if link.waited_milliseconds >= 100 {
        format!(", {} after the one before it", duration(link.waited_milliseconds))
    } else {
        String::new()
    };
    let turn = if link.for_its_turn { ", when it was its turn" } else { "" };
    let together = if link.together > 1 { format!(" with {} in one script", count(link.together - 1, "other")) } else { String::new() };
    let lane = match step.map(|step| step.lane) {
        Some(Lane::Stream) => " (stream)",
        Some(Lane::Wait) => " (waited for)",
        _ => "",
    };
    format!("  {:>7.1}s {:>11}  {}{lane}{together}{turn}{waited}", link.began as f64 / 1000.0, duration(link.took_milliseconds), link.step)
}

fn host_lines(record: &Record, timeline: &Timeline) -> Vec<String> {
    let end = record.took_milliseconds.max(1);
    let width = timeline.hosts.iter().take(MOST_HOSTS).map(|host| host.host.len()).max().unwrap_or_default().max(4);
    let columns = COLUMNS as usize;
    let mut lines =
        vec![format!("\n{:width$}  {:<columns$}  {:>10} {:>10} {:>10} {:>10}", "HOST", "", "SCRIPTS", "STREAMS", "WAITS", "IDLE")];
    for host in timeline.hosts.iter().take(MOST_HOSTS) {
        let [scripts, streams, waits, idle] =
            [host.scripts_milliseconds, host.streams_milliseconds, host.waits_milliseconds, host.idle_milliseconds].map(duration);
        lines.push(format!("{:width$}  {}  {scripts:>10} {streams:>10} {waits:>10} {idle:>10}", host.host, host.picture(end, COLUMNS)));
    }
    if timeline.hosts.len() > MOST_HOSTS {
        let others = counted(timeline.hosts.len() - MOST_HOSTS, "host that was", "hosts that were");
        lines.push(format!("and {others} done earlier"));
    }
    lines.push(format!("{:width$}  # script, = stream, ~ waiting, . nothing; {} wide", "", duration(end)));
    lines
}
