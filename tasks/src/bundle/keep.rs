//! A bundle without what only some of its releases need.

use super::{Bundle, BundleError, BundleFile, BundleImage, KubernetesRelease};

/// Files that each release has of its own version.
const OF_A_RELEASE: [&str; 3] = ["kubeadm", "kubelet", "kubectl"];

impl Bundle {
    /// The same bundle with these releases alone: without the programs of the others, and without images and etcd that only the others name. What
    /// belongs to no release stays: containerd in all its versions, for a cluster's file may name any of them, and packages of distributions.
    ///
    /// # Errors
    /// [`BundleError::NoRelease`] for a release that it does not hold.
    pub fn keeping(&self, versions: &[String]) -> Result<Self, BundleError> {
        for version in versions {
            self.release(version)?;
        }
        let (kept, dropped): (Vec<_>, Vec<_>) = self.kubernetes.iter().cloned().partition(|release| versions.contains(&release.version));
        let files = self.files.iter().filter(|file| names_file(&kept, file) || !names_file(&dropped, file));
        let images = self.images.iter().filter(|image| names_image(&kept, image) || !names_image(&dropped, image));
        let (files, images) = (files.cloned().collect(), images.cloned().collect());
        Ok(Self { format: self.format, files, images, kubernetes: kept, packages: self.packages.clone() })
    }
}

fn names_file(releases: &[KubernetesRelease], file: &BundleFile) -> bool {
    releases.iter().any(|release| match file.name.as_str() {
        name if OF_A_RELEASE.contains(&name) => release.version == file.version,
        "etcd" => release.images.get("etcd").is_some_and(|reference| etcd_version(reference) == file.version),
        _ => false,
    })
}

/// An image of etcd is tagged with its version and, behind a `-`, how often it was built.
fn etcd_version(reference: &str) -> &str {
    let tag = reference.rsplit_once(':').map_or("", |(_, tag)| tag);
    tag.rsplit_once('-').map_or(tag, |(version, _)| version).trim_start_matches('v')
}

fn names_image(releases: &[KubernetesRelease], image: &BundleImage) -> bool {
    releases.iter().any(|release| release.images.values().any(|reference| *reference == image.reference))
}
