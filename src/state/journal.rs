//! The journal: every event of a run, as JSON Lines in a folder of its own.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};

use super::folder;
use crate::run::{Event, EventKind, Sink};
use crate::ui::{Failure, Kind};

/// Writes the events of one run. A crash can tear the last line and nothing else.
#[derive(Debug)]
pub struct Journal {
    file: File,
}

impl Journal {
    /// Opens the journal of a run that is named after the time at which it begins.
    ///
    /// # Errors
    /// [`Failure`] if the folder can't be made.
    pub fn create(run: &str) -> Result<Self, Failure> {
        let folder = folder()?.join("runs").join(run);
        let path = folder.join("events.jsonl");
        let failure = |error: std::io::Error| {
            Failure::new(Kind::Internal, "the journal can't be written").at(path.display().to_string()).because(error.to_string())
        };
        // Names and addresses of hosts are nobody else's business.
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(failure)?;
        let file = File::options().create(true).truncate(true).write(true).mode(0o600).open(&path).map_err(failure)?;
        Ok(Self { file })
    }
}

impl Sink for Journal {
    fn take(&mut self, event: &Event) {
        // Progress is for those who watch.
        if matches!(event.kind, EventKind::StepProgress { .. }) {
            return;
        }
        if let Ok(mut line) = serde_json::to_vec(event) {
            line.push(b'\n');
            let _ = self.file.write_all(&line);
        }
        // A step that may not be repeated blindly must be on the disk before its script is sent; so must the end.
        if matches!(event.kind, EventKind::StepStarted { .. } | EventKind::RunFinished { .. }) {
            let _ = self.file.sync_data();
        }
    }
}
