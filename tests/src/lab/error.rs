use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

/// Why a lab, or something asked of it, failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// This machine can't run a lab.
    #[error("this machine can't run the lab:\n{}", .0.iter().map(|item| format!("  - {item}")).collect::<Vec<_>>().join("\n"))]
    Missing(
        /// What is missing and what to do about it, one sentence each.
        Vec<String>,
    ),
    /// A lab or host name that can't be used.
    #[error("{name:?} can't be the name of a {what}: {why}")]
    Name {
        /// `lab` or `host`.
        what: &'static str,
        /// The name given.
        name: String,
        /// What a name has to be.
        why: &'static str,
    },
    /// More hosts than the lab has addresses for, or none.
    #[error("a lab has 1 to {most} hosts, not {asked}")]
    Hosts {
        /// The number of hosts asked for.
        asked: usize,
        /// The largest number of hosts.
        most: usize,
    },
    /// `up` of a lab that is there.
    #[error("lab {0} is already up; take it down (`lab down --name {0}`) or choose another name")]
    Exists(String),
    /// There is no such lab.
    #[error("there is no lab {name} (no record at {})", .record.display())]
    NoLab {
        /// The name asked for.
        name: String,
        /// Where its record would be.
        record: PathBuf,
    },
    /// The lab is there, but its network's process is not: it was never finished, or this machine was restarted.
    #[error("lab {0} is not running; clean up with `lab down --name {0}`, then `lab up --name {0}`")]
    NotRunning(String),
    /// The lab has no such host.
    #[error("lab {lab} has no host {host}; it has {}", .known.join(", "))]
    NoHost {
        /// The lab's name.
        lab: String,
        /// The name asked for.
        host: String,
        /// The names of the hosts it has.
        known: Vec<String>,
    },
    /// A host's power is not as the call needs it.
    #[error("host {host} is {is}")]
    Power {
        /// The host's name.
        host: String,
        /// What it is.
        is: &'static str,
    },
    /// A file, folder or process operation of the system failed.
    #[error("can't {what}")]
    Io {
        /// What was to be done, with the path.
        what: String,
        /// The system's error.
        source: io::Error,
    },
    /// A record of a lab is not what this program writes.
    #[error("{} is not a record of a lab; remove its folder if nothing runs", .path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// What the parser says.
        source: serde_json::Error,
    },
    /// A program that the lab uses failed.
    #[error("{what} failed ({status}): {output}")]
    Command {
        /// What it was to do.
        what: String,
        /// How it ended.
        status: ExitStatus,
        /// What it wrote.
        output: String,
    },
    /// The root of the hosts could not be built.
    #[error("the hosts' root could not be built ({status}); all of the output is in {}, its end is:\n{tail}", .log.display())]
    Root {
        /// How the build ended.
        status: ExitStatus,
        /// File with all of the output.
        log: PathBuf,
        /// The last lines of it.
        tail: String,
    },
    /// A host did not come up.
    #[error("host {host} did not come up: {why}\nthe end of its console:\n{console}")]
    Boot {
        /// The host's name.
        host: String,
        /// What is wrong with it.
        why: String,
        /// The last lines of its console.
        console: String,
    },
    /// A fault could not be made, or not undone.
    #[error("{what} failed: {why}")]
    Fault {
        /// What was to be done, and where.
        what: String,
        /// What stands against it.
        why: String,
    },
    /// Something did not come about in time.
    #[error("{what} not within {} s", .after.as_secs())]
    Deadline {
        /// What was waited for.
        what: String,
        /// How long.
        after: Duration,
    },
}

impl LabError {
    /// Turns a system error into one that says what was to be done.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}
