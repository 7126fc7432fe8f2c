//! Packages of the bundle on their way to a host's own package manager.

use super::Act;
use super::packages::missing;
use crate::artifact::Artifact;
use crate::bundle::{BundlePackages, PackageSuite};
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{Look, Observations, PathState, STATE_DIRECTORY};
use crate::script::Fragment;
use crate::shell::quote;

/// A folder with signed lists and packages, as long as commands are missing that they have. Whoever installs from it removes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageArchive {
    /// Commands with the packages that have them.
    pub commands: Vec<(String, String)>,
    /// What is unpacked there.
    pub artifact: Artifact,
    /// The folder, which has the artifact's digest in its name.
    pub folder: String,
}

/// All such folders.
const FOLDERS: &str = "packages-";

/// Where the packages of a bundle are unpacked on a host.
#[must_use]
pub(crate) fn folder_of(packages: &BundlePackages) -> String {
    format!("{STATE_DIRECTORY}/{FOLDERS}{}", packages.sha256.get(..16).unwrap_or(&packages.sha256))
}

/// The lines by which apt finds the lists below a folder. Their signature has to be of the host's own keyring. When they were made is no matter: they
/// are as old as the bundle is, and the clock of a host that lacks chrony may be anything.
pub(super) fn sources(folder: &str, keyring: &str, suites: &[PackageSuite]) -> String {
    let line = |suite: &PackageSuite| {
        let PackageSuite { archive, suite, components, .. } = suite;
        format!("deb [signed-by={keyring} by-hash=no check-date=no] file:{folder}/{archive} {suite} {}\n", components.join(" "))
    };
    suites.iter().map(line).collect()
}

impl PackageArchive {
    pub(super) fn looks(&self) -> Vec<Look> {
        let commands = self.commands.iter().map(|(command, _)| Look::Command(command.clone()));
        commands.chain([Look::Path(self.folder.clone())]).collect()
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        if seen!(missing(&self.commands, seen)).is_empty() {
            return Verdict::Same;
        }
        match seen!(seen.paths.get(&self.folder)) {
            PathState::Present(_) => Verdict::Same,
            PathState::Missing => Verdict::differs(ChangeKind::Upload, "the host lacks commands of them"),
        }
    }

    /// See [`super::Binary`] for what happens when the connection breaks. What earlier runs have left goes.
    pub(super) fn act(&self, _: &Change) -> Act {
        let script = format!(
            "trap '' PIPE\nfolder={folder}\npart={STATE_DIRECTORY}/.kokctl-packages\ntrap 'rm -rf \"$part\"' EXIT\n\
             rm -rf \"$part\" {STATE_DIRECTORY}/{FOLDERS}*\nmkdir -p -m 700 {STATE_DIRECTORY}\nmkdir -m 700 \"$part\" \"$part/folder\"\n\
             timeout \"${{kokctl_limit:-900}}\" cat >\"$part/tar\"\ndigest_of \"$part/tar\" {size}\n\
             [ \"$sum\" = {sum} ] || {{ echo \"what arrived has another sha256: $sum\" >&2; exit 1; }}\n\
             tar -x --no-same-owner -C \"$part/folder\" -f \"$part/tar\"\nmv -T \"$part/folder\" \"$folder\"\n",
            folder = quote(&self.folder),
            size = self.artifact.size,
            sum = quote(&self.artifact.sha256),
        );
        Act::Stream { script: Fragment::text(script), artifact: self.artifact.clone() }
    }

    pub(super) fn writes(&self) -> Vec<String> {
        vec![self.folder.clone()]
    }

    pub(super) fn title(&self) -> String {
        self.artifact.title.clone()
    }
}
