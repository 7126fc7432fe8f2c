//! The kubelet of a control plane: its configuration by kubeadm, and its start.

use std::time::Duration;

use super::record::Record;
use super::tasks_of::end_scripts;
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{ETCD, Look, Observations, UnitState};
use crate::resources::Act;
use crate::script::{Content, Fragment};
use crate::shell::quote;

const FILES: [&str; 2] = ["/var/lib/kubelet/config.yaml", "/var/lib/kubelet/kubeadm-flags.env"];

/// The kubelet of a control plane, configured and running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KubeletStart {
    /// Path of kubeadm's configuration on the host.
    pub configuration: String,
    /// Its sha256.
    pub source: String,
    /// What it was where the cluster had one control plane, and its address was the endpoint: the kubelet's files were the same.
    pub source_alone: Option<String>,
    /// Files besides its configuration that the kubelet read when it started: binary and unit.
    pub reads: Vec<String>,
    /// Whether the member of etcd beside it ends before it starts, while no kubelet runs: one of another version makes all static pods anew, and would start the new
    /// member beside the old one, which has its port.
    pub ends_member: bool,
}

impl KubeletStart {
    fn record(&self) -> Record<'_> {
        Record { name: "kubelet", source: &self.source, also: self.source_alone.as_deref(), files: &FILES }
    }

    pub(super) fn writes(&self) -> Vec<String> {
        FILES.iter().map(|path| (*path).to_owned()).collect()
    }

    pub(super) fn looks(&self) -> Vec<Look> {
        let mut looks = self.record().looks();
        looks.push(Look::Unit("kubelet.service".to_owned()));
        looks.extend(self.reads.iter().map(|path| Look::Path(path.clone())));
        looks
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let files = self.record().diff(seen);
        if files != Verdict::Same {
            return files;
        }
        running("kubelet.service", self.reads.iter().map(String::as_str).chain(FILES), seen)
    }

    /// Where its files are as they were written, it is started and no more: kubeadm may have another version than it by now. Where kubeadm starts it, it has systemd
    /// read its unit itself.
    pub(super) fn act(&self, change: &Change) -> Act {
        // While no kubelet runs, nobody starts it anew.
        let ends = if self.ends_member { format!("systemctl stop kubelet.service\n{}", end_scripts(&[ETCD])) } else { String::new() };
        let (forget, starts) = match change.kind {
            ChangeKind::Start | ChangeKind::Restart | ChangeKind::DoAgain => {
                (String::new(), "systemctl daemon-reload\nsystemctl restart kubelet.service\n".to_owned())
            }
            _ => {
                let writes = format!("kubeadm init phase kubelet-start --config={}\n", quote(&self.configuration));
                (self.record().forget(), format!("{writes}{}", self.record().keep()))
            }
        };
        let mut fragment = Fragment::default();
        fragment.feed(Content::Bytes(format!("{forget}{ends}{starts}").as_bytes()), "job kubelet-start");
        Act::Script(fragment)
    }

    pub(super) fn title(&self) -> String {
        "kubelet".to_owned()
    }
}

/// The kubelet goes on after its start: what it can't read in its configuration ends it within a second, and systemd starts it again and again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KubeletStays {
    /// When its main process was started that was seen before the run, in microseconds since boot. That one has nothing to get over: this run has
    /// not changed what it reads.
    pub was_started_microseconds: Option<u64>,
    /// For how long it has to go on, if that is longer than a kubelet needs to read its configuration.
    pub for_at_least: Duration,
}

/// A kubelet has read its configuration by then, on a busy host too.
const SETTLED_MICROSECONDS: u64 = 3_000_000;

/// What is said of a kubelet that systemd starts again and again.
pub(super) const ENDS: &str = "the kubelet ends after its start, and systemd starts it again; `journalctl -u kubelet` on the host says why";

fn has_settled(unit: &UnitState, seen: &Observations) -> bool {
    has_run(unit, seen, SETTLED_MICROSECONDS)
}

fn has_run(unit: &UnitState, seen: &Observations, microseconds: u64) -> bool {
    seen.monotonic_microseconds.saturating_sub(unit.started_microseconds) >= microseconds
}

/// Whether the kubelet ends soon after each start, whenever it is looked at, dead or for a moment alive.
pub(super) fn ends_again_and_again(unit: &UnitState, seen: &Observations) -> bool {
    unit.restarts > 0 && (unit.active == "activating" || (unit.active == "active" && !has_settled(unit, seen)))
}

impl KubeletStays {
    fn microseconds(&self) -> u64 {
        u64::try_from(self.for_at_least.as_micros()).unwrap_or(u64::MAX).max(SETTLED_MICROSECONDS)
    }

    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Unit("kubelet.service".to_owned())]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let unit = seen!(seen.units.get("kubelet.service"));
        match unit.active.as_str() {
            _ if ends_again_and_again(unit, seen) => Verdict::differs(ChangeKind::Wait, ENDS),
            "active" if has_run(unit, seen, self.microseconds()) || self.was_started_microseconds == Some(unit.started_microseconds) => {
                Verdict::Same
            }
            "active" if has_settled(unit, seen) => Verdict::differs(ChangeKind::Wait, "its pool wants to see it run for longer"),
            "active" => Verdict::differs(ChangeKind::Wait, "the kubelet was started just now"),
            other => Verdict::differs(ChangeKind::Wait, format!("the kubelet is {other}; `journalctl -u kubelet` on the host says why")),
        }
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        Act::Wait
    }

    pub(super) fn title(&self) -> String {
        match self.for_at_least.as_secs() {
            0 => "kubelet goes on".to_owned(),
            seconds => format!("kubelet has run for {seconds} s"),
        }
    }
}

/// Whether a unit runs with the present content of the files that it read at its start. One that ends and is started again and again by systemd needs
/// no start by us; [`KubeletStays`] says that it is so.
pub(super) fn running<'a>(unit: &str, reads: impl Iterator<Item = &'a str>, seen: &Observations) -> Verdict {
    let state = seen!(seen.units.get(unit));
    if !["active", "activating"].contains(&state.active.as_str()) {
        return Verdict::differs(ChangeKind::Start, format!("{unit} is {}", state.active));
    }
    for path in reads {
        seen!(seen.paths.get(path));
        if seen.started_before(unit, path) {
            return Verdict::differs(ChangeKind::Restart, format!("{path} changed after {unit} was started"));
        }
    }
    Verdict::Same
}
