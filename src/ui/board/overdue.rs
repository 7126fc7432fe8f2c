//! What takes long, said in lines: where nothing is redrawn, silence is all that somebody sees who waits.

use std::collections::BTreeMap;

use kok_crds::count;

use super::{Board, HostState, Lane, Running};
use crate::ui::duration;

/// Longer than most steps take. Then it is said again whenever the time has doubled.
pub(super) const FIRST_MILLISECONDS: u64 = 30_000;

/// What is said of hosts: the first part, and what it waits for or how far it is.
type WaitText = (String, String);

impl Board {
    /// A line for each thing that has been at work for long, once for all hosts on which it is; nothing of what was said a moment ago.
    pub(in crate::ui) fn overdue(&mut self, now: u64) -> Vec<String> {
        let mut lines: BTreeMap<WaitText, (Vec<String>, u64)> = BTreeMap::new();
        for (name, host) in &mut self.hosts {
            for (wait, waited) in host.overdue(now) {
                let (hosts, longest) = lines.entry(wait).or_default();
                hosts.push(name.clone());
                *longest = waited.max(*longest);
            }
        }
        let line = |((what, detail), (hosts, waited)): (WaitText, (Vec<String>, u64))| {
            format!("{}: {what} {}{detail}", hosts.join(", "), duration(waited))
        };
        lines.into_iter().map(line).collect()
    }
}

impl HostState {
    fn overdue(&mut self, now: u64) -> Vec<(WaitText, u64)> {
        let mut texts = Vec::new();
        for lane in [Lane::Script, Lane::Stream] {
            // Steps of one script begin and end together.
            let mut steps: Vec<&mut Running> = self.running.values_mut().filter(|running| running.lane == lane).collect();
            steps.sort_by_key(|running| running.order);
            // Each has to hear it, and not only the first one.
            let due = steps.iter_mut().filter_map(|running| running.is_due(now).then_some(())).count();
            if let (true, Some(first)) = (due > 0, steps.first()) {
                let what = match steps.as_slice() {
                    [.., last] if steps.len() > 1 => format!("{}, from {} to {}", count(steps.len(), "change"), first.title, last.title),
                    _ => first.title.clone(),
                };
                texts.push(((format!("{what}: still at work after"), detail(first)), now.saturating_sub(first.began)));
            }
        }
        for running in self.running.values_mut().filter(|running| running.lane == Lane::Wait) {
            if running.is_due(now) {
                texts.push(((format!("{}: still waits after", running.title), detail(running)), now.saturating_sub(running.began)));
            }
        }
        texts
    }
}

impl Running {
    /// Whether it is to be said by now that this takes long; then not before twice the time.
    fn is_due(&mut self, now: u64) -> bool {
        let is_due = now >= self.began.saturating_add(self.patience);
        while now >= self.began.saturating_add(self.patience) {
            self.patience *= 2;
        }
        is_due
    }
}

fn detail(running: &Running) -> String {
    if running.detail.is_empty() { String::new() } else { format!(": {}", running.detail) }
}
