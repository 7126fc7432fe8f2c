//! What a run costs in logins and commands, as the hosts' sshd counts them.

use std::error::Error;
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::lab::Host;

const DEADLINE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(50);

/// Logins and commands, the most of any host.
#[derive(Debug, Default, Clone, Copy, Serialize)]
pub(super) struct Count {
    pub(super) logins: usize,
    pub(super) commands: usize,
}

/// A place in the logs of some hosts.
pub(super) struct LogPlace<'a> {
    marks: Vec<(&'a Host, String)>,
}

/// From now on sshd's log has a line for every command, not only for every login.
pub(super) fn log_every_command(hosts: &[Host]) -> Result<(), Box<dyn Error>> {
    for host in hosts {
        let line = "echo 'LogLevel VERBOSE' >/etc/ssh/sshd_config.d/verbose.conf && systemctl restart ssh";
        let said = host.ssh(&["sh", "-c", line])?;
        if !said.success() {
            return Err(format!("{}: {}", host.name(), said.stderr).into());
        }
    }
    Ok(())
}

impl<'a> LogPlace<'a> {
    /// Here.
    pub(super) fn mark(hosts: impl Iterator<Item = &'a Host>) -> Result<Self, Box<dyn Error>> {
        let marks = hosts.map(|host| Ok((host, mark(host)?))).collect::<Result<_, Box<dyn Error>>>()?;
        Ok(Self { marks })
    }

    /// What came behind it.
    pub(super) fn count(&self) -> Result<Count, Box<dyn Error>> {
        let mut most = Count::default();
        for (host, begin) in &self.marks {
            let end = mark(host)?;
            let log = log(host)?;
            let between: Vec<&str> = log.lines().skip_while(|line| !line.contains(begin)).take_while(|line| !line.contains(&end)).collect();
            // One of each is the login that makes the mark at the end.
            let count = |text: &str| between.iter().filter(|line| line.contains(text)).count().saturating_sub(1);
            most.logins = most.logins.max(count("Accepted publickey for root from"));
            most.commands = most.commands.max(count("Starting session: command for root from"));
        }
        Ok(most)
    }
}

/// Writes a line that nothing else writes, and waits until it is in the log: then all that happened before is.
fn mark(host: &Host) -> Result<String, Box<dyn Error>> {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let mark = format!("bench-mark-{}.", NUMBER.fetch_add(1, Ordering::Relaxed));
    host.ssh(&["logger", "--tag", "sshd", &mark])?;
    let deadline = Instant::now() + DEADLINE;
    while !log(host)?.contains(&mark) {
        if Instant::now() > deadline {
            return Err(format!("{}: its journal does not take {mark}", host.name()).into());
        }
        thread::sleep(POLL);
    }
    Ok(mark)
}

/// Read from outside, for a login to read it would stand in it.
fn log(host: &Host) -> Result<String, Box<dyn Error>> {
    let output = host.journal_command().args(["--identifier=sshd", "--identifier=sshd-session", "--output=cat"]).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
