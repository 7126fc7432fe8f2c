//! Packages of the host's distribution.

use super::Act;
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{Look, Observations};
use crate::script::{Content, Fragment};
use crate::shell::quote;

/// Commands that come with packages of the host's distribution. What has to be there is the command; packages that are there are neither
/// updated nor held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packages {
    /// What installs them.
    pub manager: Manager,
    /// Commands with the packages that have them.
    pub commands: Vec<(String, String)>,
    /// Variables of the proxy, if the packages come through one.
    pub environment: Vec<(String, String)>,
}

/// A package manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manager {
    /// Debian's and Ubuntu's.
    Apt,
    /// That of the RHEL family.
    Dnf,
}

/// How long a lock of another package manager is waited for, in seconds: an unattended upgrade of a host that was off for long takes
/// minutes. The same for cloud-init, which installs packages too.
const PATIENCE_SECONDS: u32 = 300;

impl Packages {
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.commands.iter().map(|(_, package)| package.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    pub(super) fn looks(&self) -> Vec<Look> {
        self.commands.iter().map(|(command, _)| Look::Command(command.clone())).collect()
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let mut missing = Vec::new();
        for (command, _) in &self.commands {
            if !*seen!(seen.commands.get(command)) {
                missing.push(command.as_str());
            }
        }
        let commands = if missing.len() == 1 { "the command" } else { "the commands" };
        let are = if missing.len() == 1 { "is" } else { "are" };
        let verdict = || Verdict::differs(ChangeKind::Install, format!("{commands} {} {are} missing", missing.join(", ")));
        if missing.is_empty() { Verdict::Same } else { verdict() }
    }

    /// In a job, so that a link that breaks does not kill the package manager. Lists are fetched only if it does not work without.
    pub(super) fn act(&self, _: &Change) -> Act {
        let packages = self.names().iter().map(|name| quote(name)).collect::<Vec<_>>().join(" ");
        let exports: String = self.environment.iter().map(|(name, value)| format!("export {name}={}\n", quote(value))).collect();
        let wait = format!(
            "if command -v cloud-init >/dev/null; then timeout {PATIENCE_SECONDS} cloud-init status --wait >/dev/null 2>&1 || :; fi\n"
        );
        let install = match self.manager {
            Manager::Apt => format!(
                "export DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=l\n\
                 install() {{ apt-get -q -y -o DPkg::Lock::Timeout={PATIENCE_SECONDS} -o Dpkg::Options::=--force-confdef \
                 -o Dpkg::Options::=--force-confold install --no-install-recommends -- {packages}; }}\n\
                 install || {{ apt-get -q -o DPkg::Lock::Timeout={PATIENCE_SECONDS} update; install; }}\n"
            ),
            // dnf waits for its lock by itself.
            Manager::Dnf => format!("timeout {} dnf -q -y install -- {packages}\n", PATIENCE_SECONDS * 2),
        };
        let mut fragment = Fragment::default();
        fragment.feed(Content::Bytes(format!("{exports}{wait}{install}").as_bytes()), "job packages");
        Act::Script(fragment)
    }

    pub(super) fn writes(&self) -> Vec<String> {
        self.names().into_iter().map(|name| format!("package {name}")).collect()
    }

    pub(super) fn title(&self) -> String {
        format!("packages {}", self.names().join(", "))
    }
}

/// A package manager that was not interrupted, or has gone on since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackageDatabase;

/// What dpkg has begun and not ended; while something is here it refuses to work.
const UPDATES: &str = "/var/lib/dpkg/updates/*";

impl PackageDatabase {
    pub(super) fn looks() -> Vec<Look> {
        vec![Look::Matching(UPDATES.to_owned())]
    }

    pub(super) fn diff(seen: &Observations) -> Verdict {
        if seen!(seen.matching.get(UPDATES)).is_empty() {
            Verdict::Same
        } else {
            Verdict::differs(ChangeKind::Repair, "dpkg was interrupted")
        }
    }

    pub(super) fn act() -> Act {
        let script = "export DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=l\ndpkg --force-confdef --force-confold --configure -a\n";
        let mut fragment = Fragment::default();
        fragment.feed(Content::Bytes(script.as_bytes()), "job dpkg");
        Act::Script(fragment)
    }
}
