//! What is asked of the bundle, and what it holds.

use std::collections::BTreeSet;

use semver::Version;

use super::make::{Inputs, Seen};
use super::refusal::Refusal;
use crate::bundle::{BundleError, BundleFile, BundleImage, KubernetesRelease};
use crate::speaker::speaker;

impl<'a> Inputs<'a> {
    pub(super) fn bundle_file(&self, name: &str, version: Option<&str>, architecture: &str) -> Result<&'a BundleFile, Refusal> {
        let newest = self.bundle.newest_file(name, architecture).map_or("of any version", |file| file.version.as_str());
        self.bundle.file(name, version.unwrap_or(newest), architecture).map_err(|error| lacks(&error))
    }

    pub(super) fn release(&self) -> Result<&'a KubernetesRelease, Refusal> {
        self.bundle.release(&self.cluster.kubernetes_version.to_string()).map_err(|error| {
            let place = self.cluster.position_of("spec.kubernetesVersion");
            let refusal = lacks(&error);
            place.map_or(refusal.clone(), |place| refusal.at(place.to_string()))
        })
    }

    /// The containerd that is asked for by its version, for any architecture.
    pub(super) fn has_containerd(&self) -> Result<(), Refusal> {
        let Some(version) = self.cluster.settings.containerd_version.as_ref().map(ToString::to_string) else { return Ok(()) };
        let held: BTreeSet<&str> = self.bundle.versions("containerd").collect();
        if held.contains(version.as_str()) {
            return Ok(());
        }
        let refusal = Refusal::new(format!("the bundle holds no containerd {version}"))
            .because(format!(
                "it holds {}",
                if held.is_empty() { "none".to_owned() } else { held.into_iter().collect::<Vec<_>>().join(", ") }
            ))
            .hint("write a version that it holds, or leave it out for the newest; or give another bundle with --bundle");
        Err(self.where_containerd_is_said(refusal))
    }

    /// What a newer containerd has written, an older one need not be able to read. A newer one is put there: `apply` restarts one control plane
    /// after the other for it, and containers go on meanwhile.
    pub(super) fn has_no_older_containerd(&self, seen: &Seen) -> Result<(), Refusal> {
        let Some(speaker) = speaker(self.cluster, seen) else { return Ok(()) };
        let Some(state) = &seen.observations(&speaker.name).kubernetes else { return Ok(()) };
        let wanted = self.cluster.settings.containerd_version.clone();
        for host in self.cluster.hosts.iter().filter(|host| host.roles.is_node()) {
            let runs = state.node(&host.name).and_then(|node| version_of(node.container_runtime.strip_prefix("containerd://")?));
            let newest = || {
                let architecture = &seen.facts(&host.name)?.architecture;
                version_of(&self.bundle.newest_file("containerd", architecture)?.version)
            };
            let (Some(runs), Some(comes)) = (runs, wanted.clone().or_else(newest)) else { continue };
            if comes < runs {
                let asked =
                    if wanted.is_some() { format!("the file asks for {comes}") } else { format!("the newest of the bundle is {comes}") };
                let refusal = Refusal::new(format!("{} runs containerd {runs}, and {asked}", host.name))
                    .because("containerd can't go back to an older version, which need not read what the newer one has stored")
                    .hint(format!("ask for containerd_version {runs} or a newer one, with a bundle that holds it"));
                return Err(self.where_containerd_is_said(refusal));
            }
        }
        Ok(())
    }

    fn where_containerd_is_said(&self, refusal: Refusal) -> Refusal {
        let paths = ["spec.vars.containerd_version", "spec.containerRuntime.version"];
        let place = paths.into_iter().find_map(|path| self.cluster.position_of(path));
        place.map_or(refusal.clone(), |place| refusal.at(place.to_string()))
    }

    pub(super) fn release_image(&self, component: &str, architecture: &str) -> Result<&'a BundleImage, Refusal> {
        let release = self.release()?;
        let reference = release.images.get(component).ok_or_else(|| {
            Refusal::new(format!("Kubernetes {} of the bundle names no image of {component}", release.version))
                .hint("build or fetch the bundle again")
        })?;
        self.bundle.image(reference, architecture).map_err(|error| lacks(&error))
    }

    pub(super) fn newest_image(&self, name: &str, architecture: &str) -> Result<&'a BundleImage, Refusal> {
        self.bundle.newest_image(name, architecture).ok_or_else(|| {
            Refusal::new(format!("the bundle holds no image {name} for {architecture}"))
                .hint("use a bundle that has it, given with --bundle")
        })
    }
}

/// A version as containerd says it, with or without a `v`.
fn version_of(text: &str) -> Option<Version> {
    text.trim_start_matches('v').parse().ok()
}

fn lacks(error: &BundleError) -> Refusal {
    let (what, held) = match error {
        BundleError::NoRelease { version, held } => (format!("Kubernetes {version}"), held),
        BundleError::NoFile { name, version, architecture, held } => (format!("{name} {version} for {architecture}"), held),
        BundleError::NoImage { reference, architecture, held } => (format!("image {reference} for {architecture}"), held),
        other => return Refusal::new(other.to_string()),
    };
    Refusal::new(format!("the bundle holds no {what}"))
        .because(format!("it holds {held}"))
        .hint("ask for what it holds, or give another bundle with --bundle")
}
