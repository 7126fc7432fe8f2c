//! What is asked of the bundle, and what it holds.

use std::collections::BTreeSet;

use kok_crds::model::Host;
use semver::Version;

use super::make::{Inputs, Seen};
use super::refusal::Refusal;
use crate::bundle::{BundleError, BundleFile, BundleImage, KubernetesRelease};
use crate::list::etcd;
use crate::observe::{CONTAINERD, ETCD, Installed, version_of};
use crate::preconditions;
use crate::versions::{HostVersions, Versions, named};

impl<'a> Inputs<'a> {
    pub(super) fn bundle_file(&self, name: &str, version: Option<&str>, architecture: &str) -> Result<&'a BundleFile, Refusal> {
        let newest = self.bundle.newest_file(name, architecture).map_or("of any version", |file| file.version.as_str());
        self.bundle.file(name, version.unwrap_or(newest), architecture).map_err(|error| lacks(&error))
    }

    pub(super) fn release(&self) -> Result<&'a KubernetesRelease, Refusal> {
        self.release_of(&self.cluster.kubernetes_version)
    }

    pub(super) fn release_of(&self, version: &Version) -> Result<&'a KubernetesRelease, Refusal> {
        self.bundle.release(&version.to_string()).map_err(|error| {
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

    /// Hosts on which a newer containerd runs: what it has written, an older one need not be able to read. A newer one than runs is no obstacle:
    /// `apply` puts it on one control plane after the other, and containers go on meanwhile.
    pub(super) fn older_containerd(&self, seen: &Seen) -> Vec<Refusal> {
        let wanted = self.cluster.settings.containerd_version.as_ref();
        let refused = |host: &HostVersions| {
            let facts = seen.facts(&host.host)?;
            let runs = host.of_program(CONTAINERD)?.running.as_ref()?;
            let newest = || version_of(&self.bundle.newest_file("containerd", &facts.architecture)?.version);
            let comes = wanted.cloned().or_else(newest)?;
            let asked = if wanted.is_some() { "the file asks for" } else { "the newest of the bundle is" };
            let refusal = Refusal::new(format!("{} runs containerd {runs}, and {asked} {comes}", host.host))
                .because("containerd can't go back to an older version, which need not read what the newer one has stored")
                .hint(format!(
                    "ask for containerd_version {runs} or a newer one, with a bundle that holds it; if nobody should have put {runs} there, put \
                     {comes} back by hand"
                ));
            (comes.cmp_precedence(runs).is_lt()).then(|| self.where_containerd_is_said(refusal))
        };
        let is_node = |host: &&HostVersions| self.cluster.host(&host.host).is_some_and(|host| host.roles.is_node());
        Versions::from_seen(self.cluster, seen).0.iter().filter(is_node).filter_map(refused).collect()
    }

    /// Members of etcd of another minor version than the release has. A newer patch is put on one member after the other; a minor version needs
    /// more than that.
    pub(super) fn other_etcd(&self, seen: &Seen) -> Option<Refusal> {
        // The way of an upgrade goes by what was seen of all members.
        if self.cluster.underway.is_some() {
            return None;
        }
        let release = self.release().ok()?;
        let comes = version_of(etcd::version(release.images.get("etcd")?))?;
        let versions = Versions::from_seen(self.cluster, seen);
        let is_other = |version: &&Version| (version.major, version.minor) != (comes.major, comes.minor);
        // One that was never started is not bound to anything yet.
        let was_started = |host: &HostVersions, etcd: &Installed| etcd.running.is_some() || preconditions::has_etcd_data(seen, &host.host);
        let other = |host| HostVersions::of_program(host, ETCD).filter(|etcd| was_started(host, etcd))?.all().find(is_other).cloned();
        let others: Vec<(&str, Version)> = versions.0.iter().filter_map(|host| Some((host.host.as_str(), other(host)?))).collect();
        let (_, oldest) = others.iter().min_by_key(|(_, version)| version)?;
        let hosts: Vec<&str> = others.iter().map(|(host, _)| *host).collect();
        let because = if *oldest < comes {
            preconditions::UPGRADE_ETCD.to_owned()
        } else {
            "etcd can't go back to an older minor version, which does not read what the newer one has stored".to_owned()
        };
        Some(
            Refusal::new(format!("etcd {oldest} is on {}, and Kubernetes {} of the bundle has {comes}", named(&hosts), release.version))
                .at(format!("hosts {}", named(&hosts)))
                .because(format!("{because}\n{}", versions.table()))
                .hint(format!(
                    "give a bundle whose Kubernetes {} has the etcd that runs; or bring every member to {comes} by hand",
                    release.version
                )),
        )
    }

    fn where_containerd_is_said(&self, refusal: Refusal) -> Refusal {
        let paths = ["spec.vars.containerd_version", "spec.containerRuntime.version"];
        let place = paths.into_iter().find_map(|path| self.cluster.position_of(path));
        place.map_or(refusal.clone(), |place| refusal.at(place.to_string()))
    }

    /// The image of a component that this release names.
    pub(super) fn release_image(&self, component: &str, version: &Version, architecture: &str) -> Result<&'a BundleImage, Refusal> {
        let release = self.release_of(version)?;
        let reference = release.images.get(component).ok_or_else(|| {
            Refusal::new(format!("Kubernetes {} of the bundle names no image of {component}", release.version))
                .hint("build or fetch the bundle again")
        })?;
        self.bundle.image(reference, architecture).map_err(|error| lacks(&error))
    }

    /// The image of etcd for a host: what the release brings, unless an upgrade has another one on its way.
    pub(super) fn etcd_image(&self, host: &Host, architecture: &str) -> Result<&'a BundleImage, Refusal> {
        let of_release = self.release_image(etcd::IMAGE, self.cluster.plane_version(host), architecture)?;
        let is = |image: &BundleImage, wanted: &Version| etcd::version(&image.reference).parse::<Version>().is_ok_and(|is| is == *wanted);
        let Some(version) = self.cluster.etcd_version(host).filter(|version| !is(of_release, version)) else { return Ok(of_release) };
        let mut held = self.bundle.images.iter().filter(|image| image.name == etcd::IMAGE && image.architecture == architecture);
        held.find(|image| is(image, version)).ok_or_else(|| {
            Refusal::new(format!("the bundle holds no etcd {version} for {architecture}")).hint("give another bundle with --bundle")
        })
    }

    pub(super) fn newest_image(&self, name: &str, architecture: &str) -> Result<&'a BundleImage, Refusal> {
        self.bundle.newest_image(name, architecture).ok_or_else(|| {
            Refusal::new(format!("the bundle holds no image {name} for {architecture}"))
                .hint("use a bundle that has it, given with --bundle")
        })
    }
}

fn lacks(error: &BundleError) -> Refusal {
    let (what, held) = match error {
        BundleError::NoRelease { version, held } => (format!("Kubernetes {version}"), held),
        BundleError::NoFile { name, version, architecture, held } => (format!("{name} {version} for {architecture}"), held),
        BundleError::NoImage { reference, architecture, held } => (format!("image {reference} for {architecture}"), held),
        other => return Refusal::new(other.to_string()).hint("give another bundle with --bundle, or build it again"),
    };
    Refusal::new(format!("the bundle holds no {what}"))
        .because(format!("it holds {held}"))
        .hint("ask for what it holds, or give another bundle with --bundle")
}
