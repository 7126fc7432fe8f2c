//! `kokctl version`

use clap::Args;
use kok_crds::{DEFAULT_KUBERNETES, OLDEST_KUBERNETES_MINOR};
use kok_tasks::bundle;
use serde::Serialize;

use super::common::print_json;
use crate::event::FORMAT;
use crate::failure::Failure;
use crate::ui::line;

/// Show the version of this program, and of what it reads and builds
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    version: &'static str,
    /// Whoever builds the program says it, in the environment of the compiler: a copy of the sources needs no git.
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'static str>,
    kubernetes: Kubernetes,
    bundle_format: u32,
    journal_format: u32,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Kubernetes {
    /// What an inventory gets that names none.
    default: &'static str,
    /// The oldest minor that can be built.
    oldest: String,
}

/// This program, as a plan says by which it was made: the version, and the commit if that is known.
pub(super) fn program() -> String {
    let Version { version, commit, .. } = Version::of_this();
    commit.map_or_else(|| version.to_owned(), |commit| format!("{version} (commit {commit})"))
}

impl Version {
    fn of_this() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            commit: option_env!("KOKCTL_COMMIT").filter(|commit| !commit.is_empty()),
            kubernetes: Kubernetes { default: DEFAULT_KUBERNETES, oldest: format!("1.{OLDEST_KUBERNETES_MINOR}") },
            bundle_format: bundle::FORMAT,
            journal_format: FORMAT,
        }
    }

    fn lines(&self) -> [String; 3] {
        let commit = self.commit.map(|commit| format!(" (commit {commit})")).unwrap_or_default();
        let Kubernetes { default, oldest } = &self.kubernetes;
        [
            format!("kokctl {}{commit}", self.version),
            format!("Kubernetes {oldest} or newer, as the bundle has it; {default} for an inventory that names none"),
            format!("reads bundles up to format {} and journals up to format {}", self.bundle_format, self.journal_format),
        ]
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let version = Version::of_this();
    if arguments.json {
        return print_json(&version);
    }
    version.lines().iter().for_each(|text| line(text));
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::Version;

    #[test]
    fn both_forms_say_the_same() {
        for commit in [None, Some("1a2b3c4")] {
            let version = Version { commit, ..Version::of_this() };
            let (text, json) = (version.lines().join("\n"), serde_json::to_value(&version).unwrap());
            assert!(text.starts_with(&format!("kokctl {}", env!("CARGO_PKG_VERSION"))), "{text}");
            assert_eq!(json.get("version").unwrap(), env!("CARGO_PKG_VERSION"));
            assert_eq!(json.get("commit").and_then(|commit| commit.as_str()), commit);
            assert_eq!(text.contains("1a2b3c4"), commit.is_some());
            assert!(text.contains(json.pointer("/kubernetes/default").unwrap().as_str().unwrap()));
        }
    }
}
