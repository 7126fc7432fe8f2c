//! The crates that are in the program, as Cargo says.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use super::Result;

/// A crate.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Crate {
    pub(super) name: String,
    pub(super) version: String,
    /// As SPDX spells it.
    pub(super) licence: String,
    /// The folder of its sources.
    pub(super) folder: PathBuf,
    /// Whether it is the project's own.
    pub(super) own: bool,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    manifest_path: PathBuf,
    source: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    /// `build`, `dev`, or nothing for what is linked.
    kind: Option<String>,
}

/// All that is linked into `kokctl` for a target, by name.
pub(super) fn of_program(sources: &Path, target: &str) -> Result<Vec<Crate>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["metadata", "--format-version", "1", "--locked", "--filter-platform", target]).current_dir(sources);
    let output = command.output()?;
    if !output.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    linked(&serde_json::from_slice(&output.stdout)?)
}

fn linked(metadata: &Metadata) -> Result<Vec<Crate>> {
    let packages: BTreeMap<&str, &Package> = metadata.packages.iter().map(|package| (package.id.as_str(), package)).collect();
    let nodes: BTreeMap<&str, &Node> = metadata.resolve.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
    let program = metadata.packages.iter().find(|package| package.name == "kokctl").ok_or("Cargo knows no kokctl")?;
    let (mut found, mut left) = (BTreeSet::new(), vec![program.id.as_str()]);
    while let Some(id) = left.pop() {
        if !found.insert(id) {
            continue;
        }
        let is_linked = |dependency: &&Dependency| dependency.dep_kinds.iter().any(|kind| kind.kind.is_none());
        let dependencies = nodes.get(id).into_iter().flat_map(|node| &node.deps).filter(is_linked);
        left.extend(dependencies.map(|dependency| dependency.pkg.as_str()));
    }
    let mut crates: Vec<Crate> =
        found.into_iter().filter_map(|id| packages.get(id)).map(|package| package.read()).collect::<Result<_>>()?;
    crates.sort();
    Ok(crates)
}

impl Package {
    fn read(&self) -> Result<Crate> {
        let licence = self.license.clone().ok_or_else(|| format!("{} {} names no licence", self.name, self.version))?;
        let folder = self.manifest_path.parent().unwrap_or(Path::new("/")).to_owned();
        // An older spelling of Cargo's.
        let licence = licence.replace('/', " OR ");
        Ok(Crate { name: self.name.clone(), version: self.version.clone(), licence, folder, own: self.source.is_none() })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// What runs while others are compiled, and what only tests take, is in no program.
    #[test]
    fn what_is_linked_is_found_and_nothing_else() {
        let package = |name: &str| {
            let source = if name == "kokctl" { serde_json::Value::Null } else { "registry".into() };
            serde_json::json!({"id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0", "manifest_path": format!("/s/{name}/Cargo.toml"), "source": source})
        };
        let to = |name: &str, kind: Option<&str>| serde_json::json!({"pkg": name, "dep_kinds": [{"kind": kind}]});
        let packages = ["kokctl", "linked", "deep", "build", "tests"].map(package).to_vec();
        let metadata = serde_json::json!({
            "packages": packages,
            "resolve": {"nodes": [
                {"id": "kokctl", "deps": [to("linked", None), to("build", Some("build")), to("tests", Some("dev"))]},
                {"id": "linked", "deps": [to("deep", None), to("build", Some("build"))]},
                {"id": "deep", "deps": [to("linked", None)]}, {"id": "build", "deps": []}, {"id": "tests", "deps": []},
            ]},
        });
        let crates = linked(&serde_json::from_value(metadata).unwrap()).unwrap();
        let names: Vec<&str> = crates.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["deep", "kokctl", "linked"]);
        assert!(crates.iter().all(|one| one.licence == "MIT OR Apache-2.0" && one.own == (one.name == "kokctl")));
    }
}
