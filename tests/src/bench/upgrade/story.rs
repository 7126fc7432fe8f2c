//! What the events of kokctl say of an upgrade: its stages, and the time that went to nothing but sending.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::bench::parts::Part;

const BEFORE: &str = "looks and snapshot";
const LAST: &str = "nodes Ready";
/// The task whose streams are images; those of others are programs.
const IMAGES: &str = "images";

/// Events so far. Times are milliseconds since the command.
#[derive(Debug, Default)]
pub(super) struct Story {
    /// Steps of the stage that send something.
    streams: BTreeSet<String>,
    /// Those of them that send images.
    of_images: BTreeSet<String>,
    at_work: BTreeSet<String>,
    at: f64,
    /// When the snapshot was there.
    kept: Option<f64>,
    /// When stages ended.
    ends: Vec<f64>,
    /// Time in which files were sent and nothing else was at work.
    pub(super) sending: f64,
    /// How many programs were sent.
    pub(super) programs: usize,
    /// How many images.
    pub(super) images: usize,
}

impl Story {
    /// Takes the next event.
    pub(super) fn take(&mut self, at: f64, event: &Value) {
        if !self.at_work.is_empty() && self.at_work.is_subset(&self.streams) {
            self.sending += at - self.at;
        }
        self.at = at;
        let of = |field: &str| event.get(field).and_then(Value::as_str).unwrap_or_default();
        let step = of("step");
        match of("event") {
            "snapshot-taken" | "snapshot-left-out" => self.kept = Some(at),
            "step-planned" => self.planned(step, of("lane") == "stream", of("task") == IMAGES),
            "step-started" => self.started(step),
            "step-done" | "step-failed" => {
                self.at_work.remove(step);
            }
            "run-finished" => {
                self.ends.push(at);
                self.at_work.clear();
            }
            _ => {}
        }
    }

    /// Each stage is a plan of its own, in which a step of the same name may be another one.
    fn planned(&mut self, step: &str, sends: bool, is_of_images: bool) {
        for (set, is_in) in [(&mut self.streams, sends), (&mut self.of_images, sends && is_of_images)] {
            if is_in {
                set.insert(step.to_owned());
            } else {
                set.remove(step);
            }
        }
    }

    fn started(&mut self, step: &str) {
        let is_new = self.at_work.insert(step.to_owned());
        if is_new && self.of_images.contains(step) {
            self.images += 1;
        } else if is_new && self.streams.contains(step) {
            self.programs += 1;
        }
    }

    /// Its stages, called as kokctl has called them in lines `stage NUMBER NAME …` before it began, and what came before and after them.
    pub(super) fn parts(&self, said: &str, total: f64) -> Vec<Part> {
        let names: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("stage ")?.split_whitespace().nth(1)).collect();
        // Two may have one name, and lines of the table are found by theirs.
        let name = |index: usize| format!("stage {} {}", index + 1, names.get(index).unwrap_or(&"")).trim_end().to_owned();
        let stages = self.ends.iter().enumerate().map(|(index, end)| (name(index), *end));
        let before = self.kept.map(|kept| (BEFORE.to_owned(), kept));
        let mut from = 0.0;
        let mut part = |(what, end): (String, f64)| Part { what, milliseconds: end - std::mem::replace(&mut from, end) };
        before.into_iter().chain(stages).chain([(LAST.to_owned(), total)]).map(&mut part).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Story;

    #[test]
    fn sending_alone_is_told_from_sending_beside_work() {
        let planned = |step: &str, task: &str, lane: &str| json!({"event": "step-planned", "step": step, "task": task, "lane": lane});
        let event = |event: &str, step: &str| json!({"event": event, "step": step});
        let mut story = Story::default();
        for (at, event) in [
            (100.0, json!({"event": "snapshot-taken"})),
            (200.0, planned("a/kubelet/kubelet", "kubelet", "stream")),
            (200.0, planned("b/images/etcd", "images", "stream")),
            (200.0, planned("a/etcd/member", "etcd", "wait")),
            (300.0, event("step-started", "a/kubelet/kubelet")),
            (310.0, event("step-started", "b/images/etcd")),
            (350.0, event("step-started", "a/etcd/member")),
            (400.0, event("step-done", "a/etcd/member")),
            (460.0, event("step-done", "a/kubelet/kubelet")),
            (500.0, event("step-done", "b/images/etcd")),
            (600.0, event("run-finished", "")),
            (700.0, planned("a/kubelet/kubelet", "kubelet", "script")),
            (710.0, event("step-started", "a/kubelet/kubelet")),
            (790.0, event("step-done", "a/kubelet/kubelet")),
            (800.0, event("run-finished", "")),
        ] {
            story.take(at, &event);
        }
        assert_eq!((story.sending, story.programs, story.images), (50.0 + 100.0, 1, 1));
        let parts = story.parts("note\nstage 1 etcd            cp1: …\n", 805.0);
        let parts: Vec<(&str, f64)> = parts.iter().map(|part| (part.what.as_str(), part.milliseconds)).collect();
        assert_eq!(parts, [("looks and snapshot", 100.0), ("stage 1 etcd", 500.0), ("stage 2", 200.0), ("nodes Ready", 5.0)]);
    }
}
