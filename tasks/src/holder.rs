//! The holder: the record on each host of the run that may write.
//!
//! Two machines that work on one cluster at once would undo each other's work. So before its first change a run writes its line into
//! [`PATH`] on every host, by compare and swap under a lock; each of its scripts and jobs begins by comparing that line, and does nothing
//! once it is another. At its end a run takes its line away and leaves the epoch, which never goes back, and who keeps the host from then on ([`Manager`]).

mod manager;
mod others;
mod scripts;

use std::collections::{BTreeMap, BTreeSet};

pub use manager::{Manager, OtherManager, left_line};
pub use others::{Other, OtherRun};
pub use scripts::{
    BUSY, END_UPLOADS, FIRST_LOOK_SECONDS, HELD, LOOK_SECONDS, RECORD_SECONDS, TAKE_SECONDS, UPLOAD_SECONDS, UPLOADS, WAIT_SECONDS,
    begin_script, compare_script, look_script, release_script, take_script,
};

/// The record on a host: one line.
pub const PATH: &str = "/var/lib/kokctl/holder";

/// A line above this length is no record of kokctl.
const LINE_LIMIT: usize = 512;

/// Who may write: one run of one controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Name of the run, unique.
    pub run: String,
    /// Identifies the folder on the controlling machine that has the cluster's lock. A run that has that lock knows that an earlier holder
    /// with the same value has died.
    pub controller: String,
    /// When the run began, RFC 3339.
    pub since: String,
    /// `user@machine`, for people.
    pub by: String,
}

/// What stands in a host's record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standing {
    /// The number of the last run that held the host; 0 where none ever did.
    pub epoch: u64,
    /// Who holds it now.
    pub holder: Option<Holder>,
    /// Who keeps it as it is described, if nobody holds it.
    pub manager: Option<Manager>,
    /// The line as it stands there, for the compare and swap.
    pub line: String,
}

impl Holder {
    /// Its line in the record. What a user or a machine is called must not end the line or a field.
    #[must_use]
    pub fn line(&self, epoch: u64) -> String {
        let [run, controller, since, by] = [&self.run, &self.controller, &self.since, &self.by].map(|text| word(text));
        format!("epoch={epoch} run={run} controller={controller} since={since} by={by}")
    }
}

/// A field of the record: nothing in it ends the line or the field.
fn word(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_graphic() { c } else { '_' }).take(100).collect()
}

impl Standing {
    /// Reads a record. Text that is no record of kokctl is a holder that nobody knows: better refused than overwritten.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let line = text.lines().next().unwrap_or_default();
        let line: String = line.chars().filter(|c| c.is_ascii_graphic() || *c == ' ').take(LINE_LIMIT).collect();
        if line.is_empty() {
            return Self::default();
        }
        let fields: BTreeMap<&str, &str> = line.split(' ').filter_map(|field| field.split_once('=')).collect();
        let field = |name: &str| fields.get(name).map(|value| (*value).to_owned());
        let unknown = || "unknown".to_owned();
        let epoch = field("epoch").and_then(|epoch| epoch.parse().ok());
        let holder = match (epoch, field("run")) {
            (Some(_), None) => None,
            (_, run) => Some(Holder {
                run: run.unwrap_or_else(unknown),
                controller: field("controller").unwrap_or_default(),
                since: field("since").unwrap_or_else(unknown),
                by: field("by").unwrap_or_else(unknown),
            }),
        };
        let manager = if holder.is_none() { Manager::read(&field) } else { None };
        Self { epoch: epoch.unwrap_or_default(), holder, manager, line }
    }

    /// Whether a run that died has left its line, and this controller may know that it did.
    #[must_use]
    pub fn is_stale(&self, controller: &str) -> bool {
        self.holder.as_ref().is_some_and(|holder| holder.controller == controller)
    }
}

/// The epoch of a new run of `controller`, which has the cluster's lock on its own machine, from what stands on the hosts.
///
/// # Errors
/// Each other run that holds a host, and each other manager of one, unless it is to be taken over.
pub fn next_epoch(standing: &BTreeMap<String, Standing>, controller: &str, take_over: bool) -> Result<u64, Vec<Other>> {
    let mut others: BTreeMap<(&str, &str, &str), BTreeSet<&str>> = BTreeMap::new();
    for (host, standing) in standing {
        if let Some(holder) = standing.holder.as_ref().filter(|_| !take_over && !standing.is_stale(controller)) {
            others.entry((&holder.run, &holder.by, &holder.since)).or_default().insert(host);
        }
    }
    let managers = if take_over { Vec::new() } else { OtherManager::all(standing, controller) };
    if !others.is_empty() || !managers.is_empty() {
        let other = |((run, by, since), hosts): ((&str, &str, &str), BTreeSet<&str>)| OtherRun {
            run: run.to_owned(),
            by: by.to_owned(),
            since: since.to_owned(),
            hosts: hosts.into_iter().map(str::to_owned).collect(),
        };
        return Err(others.into_iter().map(|found| Other::Run(other(found))).chain(managers.into_iter().map(Other::Manager)).collect());
    }
    Ok(standing.values().map(|standing| standing.epoch).max().unwrap_or_default().saturating_add(1))
}

/// Runs of others that still hold hosts and are taken over, for people: `RUN of WHO, since WHEN`.
#[must_use]
pub fn taken_over(standing: &BTreeMap<String, Standing>, controller: &str) -> BTreeSet<String> {
    let holders = standing.values().filter(|standing| !standing.is_stale(controller)).filter_map(|standing| standing.holder.as_ref());
    holders.map(|holder| format!("{} of {}, since {}", holder.run, holder.by, holder.since)).collect()
}

#[cfg(test)]
mod tests;
