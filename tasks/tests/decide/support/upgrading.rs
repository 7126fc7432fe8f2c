//! Clusters of the version before, and which versions run on hosts of the model where a run writes others.

use std::collections::BTreeSet;

use kok_crds::model::Cluster;
use kok_tasks::bundle::{Bundle, BundleFile, BundleImage};
use kok_tasks::observe::{ETCD, Installed, KUBELET, version_of};
use kok_tasks::operations::{Component, MEMBER_DATA, Operation, StaticPods};
use kok_tasks::plan::{Action, Step};

use super::world::World;
use super::{bundle, cluster, highly_available};

pub(crate) const OLD: &str = "1.36.3";
pub(crate) const NEW: &str = "1.37.1";

/// The etcd that comes with the old version, the patch from which the next minor version may be gone to, and the one of the new version.
pub(crate) const ETCDS: [&str; 3] = ["3.6.8", "3.6.14", "3.7.0"];

const KUBELET_FILE: &str = "/usr/local/bin/kubelet";

/// The bundle with the version before, its etcd and the one in between.
pub(crate) fn two_releases() -> Bundle {
    let mut bundle = bundle();
    let older = |text: &str| text.replace(NEW, OLD).replace(ETCDS[2], ETCDS[0]);
    let mut release = bundle.kubernetes[0].clone();
    release.version = OLD.to_owned();
    release.images.values_mut().for_each(|reference| *reference = older(reference));
    bundle.kubernetes.push(release);
    for etcd in &ETCDS[..2] {
        for image in bundle.images.clone().into_iter().filter(|image| image.reference.contains(&format!("/etcd:{}", ETCDS[2]))) {
            let of = |text: &str| text.replace(ETCDS[2], etcd);
            let [version, path, reference] = [&image.version, &image.path, &image.reference].map(|text| of(text));
            bundle.images.push(BundleImage { version, path, reference, ..image });
        }
    }
    for image in bundle.images.clone().into_iter().filter(|image| image.version == NEW) {
        let [path, reference] = [&image.path, &image.reference].map(|text| older(text));
        bundle.images.push(BundleImage { version: OLD.to_owned(), path, reference, ..image });
    }
    for file in bundle.files.clone().into_iter().filter(|file| file.version == NEW) {
        let sha256 = file.sha256.chars().rev().collect();
        bundle.files.push(BundleFile { version: OLD.to_owned(), path: older(&file.path), sha256, ..file });
    }
    bundle
}

/// The cluster with several control planes, as its file says it in this version.
pub(crate) fn of_version(version: &str) -> Cluster {
    Cluster { kubernetes_version: version.parse().unwrap(), ..highly_available() }
}

/// The same with one control plane.
pub(crate) fn alone_of_version(version: &str) -> Cluster {
    Cluster { kubernetes_version: version.parse().unwrap(), ..cluster() }
}

/// A cluster of the old version that works, and in which whatever is written and started has the version that it was written in.
pub(crate) fn upgradable(cluster: Cluster) -> World {
    let mut world = World::bare_of(cluster);
    world.bundle = two_releases();
    world.follows_versions = true;
    world.converge()
}

impl World {
    /// After a step: manifests that it wrote are what runs, and a kubelet that was started since its file was written is that file.
    pub(super) fn follow_versions(&mut self, step: &Step) {
        if !self.follows_versions {
            return;
        }
        if let Action::Operation(Operation::StaticPods(pods)) = &step.action {
            self.follow_pods(&step.host, pods);
        }
        self.follow_kubelet(&step.host);
        // A kubelet says of its node which version it is.
        for (name, node) in &mut self.api.nodes {
            let installed = self.hosts[name].versions.get(KUBELET);
            if let Some(runs) = installed.and_then(|installed| installed.running.as_ref()) {
                node.kubelet_version = format!("v{runs}");
            }
        }
    }

    fn follow_pods(&mut self, host: &str, pods: &StaticPods) {
        let of_member = pods.of_member.as_ref().filter(|_| self.hosts[host].has(MEMBER_DATA));
        let text = self.hosts[host].text(of_member.unwrap_or(&pods.configuration));
        let kubernetes = value(text, "kubernetesVersion: ").unwrap().trim_start_matches('v').to_owned();
        let (programs, version): (&[&str], _) = match pods.component {
            Component::Etcd => {
                let of_release = &self.bundle.release(&kubernetes).unwrap().images[ETCD];
                let tag = value(text, "imageTag: ").unwrap_or_else(|| of_release.rsplit(':').next().unwrap());
                (&[ETCD], tag.split('-').next().unwrap().to_owned())
            }
            Component::ControlPlane => (&["kube-apiserver", "kube-controller-manager", "kube-scheduler"], kubernetes),
        };
        let emulates = text.split_once("emulated-version").filter(|_| pods.component == Component::ControlPlane).map(|(_, rest)| {
            let minor = rest.split(|of: char| !of.is_ascii_digit() && of != '.').find(|part| part.contains('.')).unwrap();
            let (major, minor) = minor.split_once('.').unwrap();
            (major.parse().unwrap(), minor.parse().unwrap())
        });
        for program in programs {
            let installed = Installed { running: version_of(&version), next: version_of(&version), emulates };
            self.host(host).versions.insert((*program).to_owned(), installed);
        }
    }

    fn follow_kubelet(&mut self, host: &str) {
        let Some(file) = self.hosts[host].paths.get(KUBELET_FILE) else { return };
        let has_it = |of: &&BundleFile| of.name == KUBELET && of.sha256 == file.sum;
        let next = self.bundle.files.iter().find(has_it).and_then(|of| version_of(&of.version));
        let unit = self.hosts[host].units.get("kubelet.service");
        let is_since = unit.is_some_and(|unit| unit.active == "active" && unit.started_microseconds > file.changed * 1_000_000);
        let before = self.hosts[host].versions.get(KUBELET).and_then(|installed| installed.running.clone());
        let running = if is_since { next.clone() } else { before.clone() };
        if before.is_some() && running != before {
            self.makes_pods_anew(host);
        }
        self.host(host).versions.insert(KUBELET.to_owned(), Installed { running, next, emulates: None });
    }

    /// A kubelet of another version starts static pods anew.
    fn makes_pods_anew(&mut self, host: &str) {
        let has_member = !self.api.etcd_units && self.api.members.iter().any(|member| member == host);
        let host = self.host(host);
        host.now += 1;
        host.programs.extend(has_member.then(|| (ETCD.to_owned(), 0)));
        host.programs.values_mut().for_each(|started| *started = host.now);
    }

    /// The versions of a program that run somewhere.
    pub(crate) fn versions_of(&self, program: &str) -> BTreeSet<(u64, u64, u64)> {
        let all = self.hosts.values().filter_map(|host| host.versions.get(program)?.running.as_ref());
        all.map(|version| (version.major, version.minor, version.patch)).collect()
    }
}

/// What stands behind a name, at the beginning of a line.
fn value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.trim().strip_prefix(name)).map(|value| value.trim_matches('"'))
}
