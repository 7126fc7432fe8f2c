//! Packages of the host's distribution.

use super::Act;
use super::package_archive::{folder_of, sources};
use crate::bundle::BundlePackages;
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
    /// Where they are on the host, if they come out of the bundle; else they are of the host's own sources.
    pub source: Option<PackageSource>,
}

/// Packages of the bundle that are on the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageSource {
    /// The folder of the lists and the packages, which goes when they are installed, or can't be.
    pub folder: String,
    /// The lines by which apt finds them.
    pub sources: String,
}

impl PackageSource {
    /// The packages of a bundle, once [`super::PackageArchive`] has brought them; lists count that are signed by a key of `keyring`.
    #[must_use]
    pub fn from_bundle(packages: &BundlePackages, keyring: &str) -> Self {
        let folder = folder_of(packages);
        Self { sources: sources(&folder, keyring, &packages.suites), folder }
    }

    /// How apt is to be called so that it knows these packages and no others, and keeps nothing of them: neither the host's list of sources nor what
    /// it has fetched by that is touched. It reads the folder as root, for nobody else may. Its index stays in memory. What is installed stays in its
    /// version: apt would upgrade all that is made from the same source as a new package (since 2.5.3), and has nothing to do it from.
    fn script(&self, packages: &str) -> String {
        format!(
            "folder={folder}\ntrap 'rm -rf \"$folder\"' EXIT\n\
             [ -d \"$folder\" ] || {{ echo \"$folder has gone; apply once more brings it again\" >&2; exit 1; }}\n\
             mkdir -p \"$folder/state/partial\" \"$folder/cache/archives/partial\"\nprintf %s {sources} >\"$folder/sources.list\"\n\
             own() {{ apt-get -qq -y {OPTIONS} -o Dir::Etc::sourcelist=\"$folder/sources.list\" -o Dir::Etc::sourceparts=/dev/null \
             -o Dir::State::lists=\"$folder/state\" -o Dir::Cache=\"$folder/cache\" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
             -o APT::Sandbox::User=root -o Acquire::Languages=none -o Acquire::GzipIndexes=true -o APT::Update::Error-Mode=any \
             -o APT::Get::Upgrade-By-Source-Package=false \
             -o Acquire::AllowInsecureRepositories=false -o APT::Get::AllowUnauthenticated=false \"$@\"; }}\n\
             own update\nown install --no-install-recommends -- {packages}\n",
            folder = quote(&self.folder),
            sources = quote(&self.sources),
        )
    }
}

/// The package manager waits for its lock, and asks nobody anything.
const OPTIONS: &str = "-o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold";

/// Those of these commands that the host lacks; none if nobody has looked for one of them.
pub(super) fn missing<'a>(commands: &'a [(String, String)], seen: &Observations) -> Option<Vec<&'a str>> {
    let mut missing = Vec::new();
    for (command, _) in commands {
        if !*seen.commands.get(command)? {
            missing.push(command.as_str());
        }
    }
    Some(missing)
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

/// Installs packages. In a job, so that a link that breaks does not kill the package manager. Lists of the host's own sources are fetched only if
/// it does not work without.
pub(super) fn install(manager: Manager, names: &[&str], environment: &[(String, String)], source: Option<&PackageSource>) -> Act {
    let packages = names.iter().map(|name| quote(name)).collect::<Vec<_>>().join(" ");
    let exports: String = environment.iter().map(|(name, value)| format!("export {name}={}\n", quote(value))).collect();
    let wait =
        format!("if command -v cloud-init >/dev/null; then timeout {PATIENCE_SECONDS} cloud-init status --wait >/dev/null 2>&1 || :; fi\n");
    let install = match manager {
        Manager::Apt => {
            let install = match source {
                Some(source) => source.script(&packages),
                None => format!(
                    "install() {{ apt-get -q -y {OPTIONS} install --no-install-recommends -- {packages}; }}\n\
                     install || {{ apt-get -q {OPTIONS} update; install; }}\n"
                ),
            };
            format!("export DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=l\n{install}")
        }
        // dnf waits for its lock by itself.
        Manager::Dnf => format!("timeout {} dnf -q -y install -- {packages}\n", PATIENCE_SECONDS * 2),
    };
    let mut fragment = Fragment::default();
    fragment.feed(Content::Bytes(format!("{exports}{wait}{install}").as_bytes()), "job packages");
    Act::Script(fragment)
}

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
        let missing = seen!(missing(&self.commands, seen));
        let commands = if missing.len() == 1 { "the command" } else { "the commands" };
        let are = if missing.len() == 1 { "is" } else { "are" };
        let verdict = || Verdict::differs(ChangeKind::Install, format!("{commands} {} {are} missing", missing.join(", ")));
        if missing.is_empty() { Verdict::Same } else { verdict() }
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        install(self.manager, &self.names(), &self.environment, self.source.as_ref())
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
