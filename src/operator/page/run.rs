//! What the page shows of a run.

use serde_json::{Value, json};

use crate::state::{Fate, Record, StepRecord, Story, Timeline};

/// Columns of the picture of a host's time.
const COLUMNS: u64 = 120;
/// Hosts in the picture; of a large fleet those that were busy to the end are worth looking at.
const MOST_HOSTS: usize = 100;
/// Steps that are listed.
const MOST_STEPS: usize = 1500;
/// Steps that failed of which all is shown.
const MOST_FAILED: usize = 50;
/// Characters of what a step has said, from its end.
const MOST_SAID: usize = 16 << 10;

/// A run as a document.
pub(super) fn document(story: &Story) -> Value {
    let record = Record::from_story(story);
    let timeline = Timeline::from_record(&record);
    let end = record.took_milliseconds.max(1);
    let hosts: Vec<Value> =
        timeline.hosts.iter().take(MOST_HOSTS).map(|host| json!({"name": host.host, "picture": host.picture(end, COLUMNS)})).collect();
    let wrong = |step: &&StepRecord| matches!(step.fate, Fate::Failed { .. }) || (step.fate == Fate::InDoubt && !story.alive);
    let failed: Vec<Value> = record.steps.iter().filter(wrong).take(MOST_FAILED).map(trouble).collect();
    let path: Vec<Value> = timeline.critical_path.iter().map(|link| json!([link.step, link.began, link.took_milliseconds])).collect();
    json!({
        "run": record.run, "verb": record.verb, "part": record.part, "time": record.time,
        "ending": record.ending, "stopped": record.stopped, "took": record.took_milliseconds, "refused": record.refused,
        "marks": timeline.before, "hosts": hosts, "moreHosts": timeline.hosts.len().saturating_sub(MOST_HOSTS),
        "failed": failed, "moreFailed": record.steps.iter().filter(wrong).count().saturating_sub(MOST_FAILED), "path": path,
        "steps": record.steps.iter().take(MOST_STEPS).map(line).collect::<Vec<_>>(),
        "moreSteps": record.steps.len().saturating_sub(MOST_STEPS), "unknown": story.unknown,
        "leftOut": record.left_out,
    })
}

const fn word(fate: &Fate) -> &'static str {
    match fate {
        Fate::Done => "done",
        Fate::Failed { .. } => "failed",
        Fate::InDoubt => "begun",
        Fate::NotBegun => "waiting",
    }
}

fn line(step: &StepRecord) -> Value {
    json!([step.step, step.summary, step.began, step.ended, word(&step.fate)])
}

/// A step that has failed, or of which nobody has heard any more, with all that it said.
fn trouble(step: &StepRecord) -> Value {
    let (error, is_unknown) = match &step.fate {
        Fate::Failed { error, unknown } => (error.as_str(), *unknown),
        _ => ("", true),
    };
    let output = step.said.as_deref().map(last);
    json!({"step": step.step, "title": step.title, "summary": step.summary, "error": last(error), "unknown": is_unknown, "said": output})
}

/// The end of a text: what went wrong stands there.
fn last(text: &str) -> String {
    let skipped = text.chars().count().saturating_sub(MOST_SAID);
    let end: String = text.chars().skip(skipped).collect();
    if skipped == 0 { end } else { format!("… {skipped} characters before this\n{end}") }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

    use super::*;
    use crate::event::{Event, EventKind, Lane};

    fn story(alive: bool) -> Story {
        let step = |name: &str| format!("w1/hook/{name}");
        let planned = |name: &str| EventKind::StepPlanned {
            step: step(name),
            host: "w1".to_owned(),
            task: "hook".to_owned(),
            title: format!("the hook {name}"),
            summary: "run".to_owned(),
            lane: Lane::Script,
            needs: Vec::new(),
        };
        let started = |name: &str| {
            let (host, title, summary) = ("w1".to_owned(), String::new(), String::new());
            EventKind::StepStarted { step: step(name), host, title, summary }
        };
        let kinds = vec![planned("a"), planned("b"), started("a"), started("b")];
        let said = EventKind::HookSaid { step: step("a"), host: "w1".to_owned(), said: "<b>no</b>".to_owned() };
        let (host, error) = ("w1".to_owned(), "x".repeat(MOST_SAID + 7));
        let failed = EventKind::StepFailed { step: step("a"), host, error, unknown: false };
        let kinds = kinds.into_iter().chain([said, failed]);
        let events = (0..).zip(kinds).map(|(sequence, kind)| Event { sequence, milliseconds: sequence * 100, kind }).collect();
        Story { id: "r".to_owned(), events, unknown: 0, alive }
    }

    #[test]
    fn what_failed_is_shown_with_all_that_it_said() {
        let of = |alive| document(&story(alive));
        let running = of(true);
        assert_eq!((&running["ending"], running["failed"].as_array().unwrap().len()), (&json!("at-work"), 1));
        let failed = &running["failed"][0];
        assert_eq!((&failed["said"], &failed["unknown"]), (&json!("<b>no</b>"), &json!(false)));
        assert!(failed["error"].as_str().unwrap().starts_with("… 7 characters before this\nxxx"));
        assert_eq!(running["steps"][1], json!(["w1/hook/b", "run", 300, null, "begun"]));
        assert_eq!(running["hosts"][0]["picture"].as_str().unwrap().len(), 120);
        let died = of(false);
        assert_eq!((&died["ending"], died["failed"].as_array().unwrap().len()), (&json!("died"), 2), "what was at work then is in doubt");
    }
}
