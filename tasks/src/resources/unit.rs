//! A systemd unit.

use super::Act;
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{Look, Observations, UnitState};
use crate::script::Fragment;
use crate::shell::quote;

/// A systemd unit that is known, enabled and, if so desired, running with the present content of its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// Full name, such as `containerd.service`.
    pub name: String,
    /// Whether it should run.
    pub goal: UnitGoal,
    /// Files that its main process read when it started. One that changed after that start asks for a restart, whoever changed it and
    /// whenever: nobody has to remember that a restart is still owed.
    pub reads: Vec<String>,
}

/// Whether a unit should run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitGoal {
    /// Enabled and running.
    Running,
    /// Enabled; something else starts it.
    Enabled,
    /// Neither enabled nor running, where it is there at all.
    Stopped,
    /// As a user declares it; what is `None` is left as it is.
    Declared {
        /// Whether it runs.
        running: Option<bool>,
        /// Whether it starts with the host.
        enabled: Option<bool>,
    },
}

impl Unit {
    pub(super) fn looks(&self) -> Vec<Look> {
        let paths = self.reads.iter().map(|path| Look::Path(path.clone()));
        [Look::Unit(self.name.clone())].into_iter().chain(paths).collect()
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let is = seen!(seen.units.get(&self.name));
        if let UnitGoal::Declared { running, enabled } = self.goal {
            return self.declared(is, seen, (running, enabled));
        }
        if self.goal == UnitGoal::Stopped {
            let runs = is.active == "active" || is.active == "activating";
            let starts = is.file == "enabled";
            let state = if runs { &is.active } else { &is.file };
            return if runs || starts { Verdict::differs(ChangeKind::Stop, format!("it is {state}")) } else { Verdict::Same };
        }
        if self.goal == UnitGoal::Running && is.active == "active" {
            for path in &self.reads {
                seen!(seen.paths.get(path));
                if seen.started_before(&self.name, path) {
                    return Verdict::differs(ChangeKind::Restart, format!("{path} changed after it was started"));
                }
            }
        }
        if is.needs_reload {
            return Verdict::differs(ChangeKind::Reload, "its unit file changed since systemd read it");
        }
        if self.goal == UnitGoal::Running && is.active != "active" {
            let state = if is.load == "loaded" { &is.active } else { &is.load };
            return Verdict::differs(ChangeKind::Start, format!("it is {state}"));
        }
        if is.file != "enabled" {
            let state = if is.file.is_empty() { &is.load } else { &is.file };
            return Verdict::differs(ChangeKind::Enable, format!("it is {state}"));
        }
        Verdict::Same
    }

    /// What differs of what is declared: first what its programs run with, then what systemd knows of it.
    fn declared(&self, is: &UnitState, seen: &Observations, (running, enabled): (Option<bool>, Option<bool>)) -> Verdict {
        let runs = matches!(is.active.as_str(), "active" | "activating" | "reloading");
        for path in self.reads.iter().filter(|_| running != Some(false)) {
            seen!(seen.paths.get(path));
            if runs && seen.started_before(&self.name, path) {
                return Verdict::differs(ChangeKind::Restart, format!("{path} changed after it was started"));
            }
        }
        let state = if is.load == "loaded" { &is.active } else { &is.load };
        match running {
            Some(true) if is.active != "active" => return Verdict::differs(ChangeKind::Start, format!("it is {state}")),
            Some(false) if runs => return Verdict::differs(ChangeKind::Stop, format!("it is {state}")),
            _ => {}
        }
        if is.needs_reload {
            return Verdict::differs(ChangeKind::Reload, "its unit file changed since systemd read it");
        }
        let file = if is.file.is_empty() { &is.load } else { &is.file };
        match enabled {
            Some(true) if is.file != "enabled" => Verdict::differs(ChangeKind::Enable, format!("it is {file}")),
            Some(false) if is.file == "enabled" => Verdict::differs(ChangeKind::Disable, format!("it is {file}")),
            _ => Verdict::Same,
        }
    }

    /// All that is declared at once. Where nothing says that it runs, only one that does is started again.
    fn act_declared(&self, change: &Change, (running, enabled): (Option<bool>, Option<bool>)) -> Act {
        let name = quote(&self.name);
        let mut script = match enabled {
            Some(true) => format!("systemctl enable --quiet --no-reload -- {name}\n"),
            Some(false) => format!("systemctl disable --quiet --no-reload -- {name}\n"),
            None => String::new(),
        };
        script.push_str("systemctl daemon-reload\n");
        let interrupts = !matches!(change.kind, ChangeKind::Reload | ChangeKind::Enable | ChangeKind::Disable);
        let verb = match running {
            Some(false) => Some("stop"),
            _ if !interrupts => None,
            Some(true) => Some("restart"),
            None => Some("try-restart"),
        };
        if let Some(verb) = verb {
            script.push_str(&format!("systemctl {verb} -- {name} || {{\n{}  exit 1\n}}\n", last_words(&name)));
        }
        Act::Script(Fragment::text(script))
    }

    /// Starts or restarts only where that is the change: enabling a unit is no reason to interrupt it.
    pub(super) fn act(&self, change: &Change) -> Act {
        if let UnitGoal::Declared { running, enabled } = self.goal {
            return self.act_declared(change, (running, enabled));
        }
        let name = quote(&self.name);
        if self.goal == UnitGoal::Stopped {
            // Another name of a unit that was just disabled is gone with it.
            return Act::Script(Fragment::text(format!(
                "systemctl disable --quiet --now -- {name} || ! systemctl is-active --quiet -- {name}\n"
            )));
        }
        // One reload for both: systemd runs a dozen generators in each.
        let mut script = format!("systemctl enable --quiet --no-reload -- {name}\nsystemctl daemon-reload\n");
        let interrupts = self.goal == UnitGoal::Running && !matches!(change.kind, ChangeKind::Reload | ChangeKind::Enable);
        if interrupts {
            script.push_str(&format!("systemctl restart -- {name} || {{\n{}  exit 1\n}}\n", last_words(&name)));
        }
        Act::Script(Fragment::text(script))
    }

    pub(super) fn writes(&self) -> Vec<String> {
        vec![format!("unit {}", self.name)]
    }

    pub(super) fn title(&self) -> String {
        format!("unit {}", self.name)
    }
}

/// What the programs of a unit said since its last start, and if nothing, what systemd says of it. Its state would name every process that
/// runs below it, which for containerd is one for each pod.
fn last_words(unit: &str) -> String {
    format!(
        "  journalctl --sync\n  said=$(journalctl -q --no-pager -o cat -n {LAST_LINES} _SYSTEMD_UNIT={unit} \\\n    \
         _SYSTEMD_INVOCATION_ID=\"$(systemctl show -P InvocationID -- {unit})\")\n  \
         [ -n \"$said\" ] || said=$(journalctl -q --no-pager -o cat -n {LAST_LINES} -u {unit})\n  printf '%s\\n' \"$said\" >&2\n"
    )
}

/// As many as fit into what is told of a failure.
const LAST_LINES: usize = 5;
