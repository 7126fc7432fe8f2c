//! Units of systemd for the machine on which kokctl runs, by which backups are made as a schedule has it.

use std::fmt::Write as _;

use kok_crds::model::Schedule;

/// What the units are made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimerUnits<'a> {
    /// The cluster's name.
    pub cluster: &'a str,
    /// When.
    pub schedule: &'a Schedule,
    /// The program and its arguments. Paths in it are absolute.
    pub command: &'a [String],
    /// Whose keys and known hosts it uses: a number as the system knows it.
    pub user: u32,
    /// Variables that say where kokctl keeps what it has.
    pub environment: &'a [(String, String)],
}

/// The first line of each, by which a later run knows them.
pub const WRITTEN: &str = "# Written by `kokctl backup timer`";

impl TimerUnits<'_> {
    /// What both are called, without their endings.
    #[must_use]
    pub fn name(&self) -> String {
        format!("kokctl-backup-{}", self.cluster)
    }

    /// The service, which makes one backup (systemd.service(5)).
    #[must_use]
    pub fn service(&self) -> String {
        let command: Vec<String> = self.command.iter().map(|word| quoted(word, true)).collect();
        let environment: String =
            self.environment.iter().map(|(name, value)| format!("Environment={}\n", quoted(&format!("{name}={value}"), false))).collect();
        format!(
            "{WRITTEN}\n[Unit]\nDescription=Backup of the Kubernetes cluster {}\nWants=network-online.target\nAfter=network-online.target\n\n\
             [Service]\nType=oneshot\nUser={}\n{environment}ExecStart={}\n\
             # A backup that hangs must not keep the next one from being tried.\nTimeoutStartSec=1h\n",
            self.cluster,
            self.user,
            command.join(" ")
        )
    }

    /// The timer, which starts it. What was missed while the machine was off is made up for (`Persistent`).
    #[must_use]
    pub fn timer(&self) -> String {
        let mut text = format!(
            "{WRITTEN}\n[Unit]\nDescription=Backups of the Kubernetes cluster {}: {}, in UTC\n\n[Timer]\n",
            self.cluster, self.schedule
        );
        for calendar in self.schedule.calendars() {
            let _ = writeln!(text, "OnCalendar={calendar}");
        }
        text + "Persistent=true\n\n[Install]\nWantedBy=timers.target\n"
    }
}

/// One word as systemd reads it: quoted, and with `%` and, in a command, `$` doubled, which stand for something else there.
fn quoted(word: &str, is_command: bool) -> String {
    let mut text = String::from("\"");
    for letter in word.chars() {
        match letter {
            '"' | '\\' => text.extend(['\\', letter]),
            '%' => text.push_str("%%"),
            '$' if is_command => text.push_str("$$"),
            letter if letter.is_control() => {
                letter.to_string().bytes().for_each(|byte| {
                    let _ = write!(text, "\\x{byte:02x}");
                });
            }
            letter => text.push(letter),
        }
    }
    text + "\""
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use super::*;

    #[test]
    fn units_are_what_systemd_reads() {
        let schedule = Schedule::parse("0 0 1 * 7").unwrap();
        let command = ["/usr/bin/kokctl", "backup", "create", "-f", "/srv/50% \"of\" $it\n/c.yaml"].map(str::to_owned);
        let environment = [("XDG_STATE_HOME".to_owned(), "/var/lib/k $x".to_owned())];
        let units = TimerUnits { cluster: "demo", schedule: &schedule, command: &command, user: 0, environment: &environment };
        assert_eq!(units.name(), "kokctl-backup-demo");
        let service = units.service();
        assert!(
            service.contains("\nExecStart=\"/usr/bin/kokctl\" \"backup\" \"create\" \"-f\" \"/srv/50%% \\\"of\\\" $$it\\x0a/c.yaml\"\n"),
            "{service}"
        );
        assert!(service.contains("\nUser=0\nEnvironment=\"XDG_STATE_HOME=/var/lib/k $x\"\n"), "{service}");
        let timer = units.timer();
        assert!(timer.contains("\nOnCalendar=*-*-01 00:00:00 UTC\nOnCalendar=Sun *-*-* 00:00:00 UTC\nPersistent=true\n"), "{timer}");
    }
}
