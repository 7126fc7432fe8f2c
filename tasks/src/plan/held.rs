//! What is asked of the bundle, and what it holds.

use std::collections::BTreeSet;

use kok_crds::model::Host;
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

    /// Hosts on which a newer containerd runs, as far as the cluster says it: what it has written, an older one need not be able to read. A newer
    /// one than runs is no obstacle: `apply` puts it on one control plane after the other, and containers go on meanwhile.
    pub(super) fn older_containerd(&self, seen: &Seen) -> Vec<Refusal> {
        let speaker = speaker(self.cluster, seen);
        let Some(state) = speaker.and_then(|speaker| seen.observations(&speaker.name).kubernetes.as_ref()) else { return Vec::new() };
        let wanted = self.cluster.settings.containerd_version.as_ref();
        let refused = |host: &Host| {
            // A host that was installed anew may still have the node of its former life.
            let facts = seen.facts(&host.name).filter(|facts| facts.cluster.is_some())?;
            let runs = version_of(state.node(&host.name)?.container_runtime.strip_prefix("containerd://")?)?;
            let newest = || version_of(&self.bundle.newest_file("containerd", &facts.architecture)?.version);
            let comes = wanted.cloned().or_else(newest)?;
            let asked = if wanted.is_some() { "the file asks for" } else { "the newest of the bundle is" };
            let refusal = Refusal::new(format!("{} runs containerd {runs}, and {asked} {comes}", host.name))
                .because("containerd can't go back to an older version, which need not read what the newer one has stored")
                .hint(format!(
                    "ask for containerd_version {runs} or a newer one, with a bundle that holds it; if nobody should have put {runs} there, put \
                     {comes} back by hand"
                ));
            (comes.cmp_precedence(&runs).is_lt()).then(|| self.where_containerd_is_said(refusal))
        };
        self.cluster.hosts.iter().filter(|host| host.roles.is_node()).filter_map(refused).collect()
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
