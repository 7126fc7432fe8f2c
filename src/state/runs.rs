//! Reading the journals of earlier runs.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::StateFolder;
use super::journal::{EVENTS, is_locked};
use crate::event::{Event, FORMAT};
use crate::failure::{Failure, Kind};

/// What stands in the journal of a run.
#[derive(Debug)]
pub struct Story {
    /// Name of the run.
    pub id: String,
    /// Its events, in order. The first is `run-started`.
    pub events: Vec<Event>,
    /// Events of kinds that this version does not know.
    pub unknown: usize,
    /// Whether the process that writes it is alive.
    pub alive: bool,
}

impl Story {
    /// Reads the journal of a run that is kept elsewhere, as it was written. `alive` says whether its run is at work.
    ///
    /// # Errors
    /// Why it is none that this version reads.
    pub fn read(id: &str, text: &[u8], alive: bool) -> Result<Self, String> {
        let (events, unknown) = parse(text)?;
        Ok(Self { id: id.to_owned(), events, unknown, alive })
    }
}

impl StateFolder {
    /// Names of all runs, the oldest first.
    ///
    /// # Errors
    /// [`Failure`] if the folder can't be read; where there is none, there are no runs.
    pub fn run_names(&self) -> Result<Vec<String>, Failure> {
        let folder = self.runs();
        let found = match fs::read_dir(&folder) {
            Ok(found) => found,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(unreadable(&folder, error.to_string())),
        };
        let mut names: Vec<String> = found.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort();
        Ok(names)
    }

    /// The run that is meant: `latest`, or the beginning or end of a name that no other has.
    ///
    /// # Errors
    /// [`Failure`] if there is none, or several.
    pub fn find_run(&self, wanted: &str) -> Result<String, Failure> {
        let names = self.run_names()?;
        let failure = |what: String| Failure::new(Kind::Input, what).at("the command line");
        if wanted == "latest" {
            return names.last().cloned().ok_or_else(|| failure("there are no runs".to_owned()).hint("`kokctl apply` makes one"));
        }
        let quoted = wanted.escape_debug();
        let alike: Vec<&String> =
            names.iter().filter(|name| *name == wanted || name.starts_with(wanted) || name.ends_with(wanted)).collect();
        match alike.as_slice() {
            [name] => Ok((*name).clone()),
            [] => Err(failure(format!("there is no run `{quoted}`")).hint("`kokctl runs` lists them; `latest` is the last one")),
            several => {
                let names = several.iter().take(5).map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
                Err(failure(format!("`{quoted}` is part of the names of {} runs", several.len()))
                    .because(names)
                    .hint("give more of the name"))
            }
        }
    }

    /// The journal of a run as it is written; nothing if it can't be read.
    #[must_use]
    pub fn journal_of(&self, id: &str) -> Option<String> {
        let text = fs::read(self.runs().join(id).join(EVENTS)).ok()?;
        Some(String::from_utf8_lossy(&text).into_owned())
    }

    /// Reads the journal of a run.
    ///
    /// # Errors
    /// [`Failure`] if it can't be read, is none, or was written in another version of the format.
    pub fn read_run(&self, id: &str) -> Result<Story, Failure> {
        let path: PathBuf = self.runs().join(id).join(EVENTS);
        let text = fs::read(&path).map_err(|error| unreadable(&path, error.to_string()))?;
        let (events, unknown) = parse(&text).map_err(|because| unreadable(&path, because))?;
        Ok(Story { id: id.to_owned(), events, unknown, alive: is_locked(&path) })
    }
}

fn unreadable(path: &Path, because: String) -> Failure {
    let hint = "read it with the kokctl that wrote it, or remove its folder: no run needs it";
    Failure::new(Kind::Internal, "the journal can't be read").at(path.display().to_string()).because(because).hint(hint)
}

/// The events of a journal, and how many of unknown kinds there are. The last line may be torn: the run died while it was written.
pub(super) fn parse(text: &[u8]) -> Result<(Vec<Event>, usize), String> {
    let (mut events, mut unknown) = (Vec::new(), 0);
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    for (number, line) in (1..).zip(text.get(..whole).unwrap_or_default().split(|byte| *byte == b'\n')) {
        if line.is_empty() {
            continue;
        }
        let value: Value = serde_json::from_slice(line).map_err(|error| format!("line {number} is no event: {error}"))?;
        if events.is_empty() {
            check_format(&value)?;
        }
        match serde_json::from_value(value) {
            Ok(event) => events.push(event),
            Err(error) if events.is_empty() => return Err(format!("line {number} is no event: {error}")),
            // Kinds of events may be added without another version of the format.
            Err(_) => unknown += 1,
        }
    }
    if events.is_empty() { Err("it is empty: the run died before it began".to_owned()) } else { Ok((events, unknown)) }
}

fn check_format(first: &Value) -> Result<(), String> {
    if first.get("event").and_then(Value::as_str) != Some("run-started") {
        return Err("it does not begin with the start of a run".to_owned());
    }
    match first.get("v").and_then(Value::as_u64) {
        Some(version) if version == u64::from(FORMAT) => Ok(()),
        Some(version) => Err(format!("it is of version {version} of the format, and this kokctl reads version {FORMAT}")),
        None => Err(format!("it says no version of the format, and this kokctl reads version {FORMAT}")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use super::*;

    const START: &str = r#"{"sequence":0,"milliseconds":0,"event":"run-started","v":1,"run":"r","verb":"apply","cluster":"c","time":"2026-11-21T12:00:00Z","version":"0.1.0","who":"a@b"}"#;
    const DONE: &str = r#"{"sequence":1,"milliseconds":9,"event":"step-done","step":"s","host":"h","tookMilliseconds":9}"#;

    fn read(lines: &[&str]) -> Result<(usize, usize), String> {
        parse(lines.concat().as_bytes()).map(|(events, unknown)| (events.len(), unknown))
    }

    #[test]
    fn a_torn_last_line_is_left_out() {
        assert_eq!(read(&[START, "\n", DONE, "\n"]), Ok((2, 0)));
        assert_eq!(read(&[START, "\n", DONE]), Ok((1, 0)));
        let torn = format!("{START}\n{}", DONE.get(..40).unwrap());
        assert_eq!(read(&[&torn]), Ok((1, 0)));
    }

    #[test]
    fn other_versions_and_what_is_no_journal_are_refused_clearly() {
        let other = START.replace("\"v\":1", "\"v\":2");
        assert_eq!(read(&[&other, "\n"]).unwrap_err(), "it is of version 2 of the format, and this kokctl reads version 1");
        let old = START.replace("\"v\":1,", "");
        assert_eq!(read(&[&old, "\n"]).unwrap_err(), "it says no version of the format, and this kokctl reads version 1");
        assert_eq!(read(&[DONE, "\n"]).unwrap_err(), "it does not begin with the start of a run");
        assert!(read(&[START, "\nnothing\n", DONE, "\n"]).unwrap_err().starts_with("line 2 is no event: "));
        assert!(read(&[]).unwrap_err().starts_with("it is empty"));
    }

    #[test]
    fn kinds_of_events_that_are_not_known_are_counted() {
        let new = DONE.replace("step-done", "step-pondered");
        assert_eq!(read(&[START, "\n", &new, "\n", DONE, "\n"]), Ok((2, 1)));
    }
}
