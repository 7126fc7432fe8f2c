//! The journal: every event of a run, as JSON Lines in a folder of its own.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::StateFolder;
use crate::event::{Event, EventKind, Sink};
use crate::failure::{Failure, Kind};

/// The file of a run's events, in its folder.
pub(super) const EVENTS: &str = "events.jsonl";

/// A run of some hundred hosts writes a few hundred KB. Whoever runs kokctl every hour keeps a week.
const MOST_RUNS: usize = 200;

/// Writes the events of one run. A crash can tear the last line and nothing else. The file is locked as long as the run lives, so readers
/// know a run that is at work from one that died.
pub struct Journal {
    file: File,
    path: PathBuf,
    /// Whether something was written that a crash of the machine could undo.
    unflushed: bool,
    broken: bool,
    /// Says that it can't be written any more: it is no event, for a journal hears of events and tells none.
    complain: Complain,
}

/// Takes a warning to whoever watches the run.
type Complain = Box<dyn Fn(&str) + Send>;

impl Journal {
    /// Opens the journal of a run that is named after the time at which it begins, and forgets the oldest runs.
    ///
    /// # Errors
    /// [`Failure`] if the folder can't be made.
    pub fn create(state: &StateFolder, run: &str, complain: Box<dyn Fn(&str) + Send>) -> Result<Self, Failure> {
        let runs = state.runs();
        let path = runs.join(run).join(EVENTS);
        let failure = |error: std::io::Error| {
            Failure::new(Kind::Internal, "the journal can't be written")
                .at(path.display().to_string())
                .because(error.to_string())
                .hint("make room or correct the rights there, or name another folder by XDG_STATE_HOME")
        };
        // Names and addresses of hosts are nobody else's business.
        fs::DirBuilder::new().recursive(true).mode(0o700).create(runs.join(run)).map_err(failure)?;
        let file = File::options().create(true).truncate(true).write(true).mode(0o600).open(&path).map_err(failure)?;
        file.lock().map_err(failure)?;
        forget(&runs, MOST_RUNS);
        Ok(Self { file, path, unflushed: false, broken: false, complain })
    }

    fn write(&mut self, event: &Event) -> std::io::Result<()> {
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        self.file.write_all(&line)?;
        self.unflushed = true;
        // The last word of a run; what may not be repeated blindly is flushed by who begins it, before its script is sent.
        if matches!(event.kind, EventKind::RunRefused { .. } | EventKind::RunFinished { .. }) { self.sync() } else { Ok(()) }
    }

    fn sync(&mut self) -> std::io::Result<()> {
        self.file.sync_data()?;
        self.unflushed = false;
        Ok(())
    }

    fn note(&mut self, written: std::io::Result<()>) {
        if let Err(error) = written {
            // The hosts are the truth: a run that is under way goes on without a journal, but not without a word.
            self.broken = true;
            (self.complain)(&format!("warning: the journal {} ends here: {error}", self.path.display()));
        }
    }
}

/// Removes the oldest runs beyond `most`, but for those that are at work. What can't be removed stays.
fn forget(runs: &Path, most: usize) {
    let Ok(found) = fs::read_dir(runs) else { return };
    let mut folders: Vec<PathBuf> = found.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    // Names begin with the time.
    folders.sort();
    for old in folders.iter().take(folders.len().saturating_sub(most)) {
        if !is_locked(&old.join(EVENTS)) {
            let _ = fs::remove_dir_all(old);
        }
    }
}

/// Whether a run that writes this journal is alive.
pub(super) fn is_locked(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| matches!(file.try_lock_shared(), Err(fs::TryLockError::WouldBlock)))
}

impl Sink for Journal {
    fn take(&mut self, event: &Event) {
        // Progress is for those who watch.
        if self.broken || matches!(event.kind, EventKind::StepProgress { .. }) {
            return;
        }
        let written = self.write(event);
        self.note(written);
    }

    fn flush(&mut self) {
        if self.unflushed && !self.broken {
            let synced = self.sync();
            self.note(synced);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use super::*;

    #[test]
    fn the_oldest_runs_go_and_those_at_work_stay() {
        let folder = tempfile::tempdir().unwrap();
        let run = |name: &str| {
            fs::create_dir(folder.path().join(name)).unwrap();
            File::create(folder.path().join(name).join(EVENTS)).unwrap()
        };
        let (at_work, _old, _new, _newest) = (run("1"), run("2"), run("3"), run("4"));
        at_work.lock().unwrap();
        forget(folder.path(), 2);
        let mut left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["1", "3", "4"]);
    }

    #[test]
    fn steps_that_begin_are_flushed_together_and_the_end_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(EVENTS);
        let mut journal = Journal { file: File::create(&path).unwrap(), path, unflushed: false, broken: false, complain: Box::new(|_| {}) };
        let started = |step: &str| EventKind::StepStarted {
            step: step.to_owned(),
            host: "h".to_owned(),
            title: String::new(),
            summary: String::new(),
        };
        let event = |kind| Event { sequence: 0, milliseconds: 0, kind };
        journal.take(&event(started("a")));
        journal.take(&event(started("b")));
        assert!(journal.unflushed, "each flush of its own would cost a fleet seconds");
        journal.flush();
        assert!(!journal.unflushed && fs::read_to_string(&journal.path).unwrap().lines().count() == 2);
        journal.take(&event(EventKind::RunRefused { code: 3, failures: Vec::new(), took_milliseconds: 1 }));
        assert!(!journal.unflushed);
    }
}
