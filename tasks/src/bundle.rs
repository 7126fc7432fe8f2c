//! The typed content of `bundle.json`: what a bundle holds, at which path, with which digest.
//!
//! A *bundle* is a folder:
//!
//! ```text
//! bundle.json
//! files/dl.k8s.io/release/v1.37.1/bin/linux/amd64/kubeadm      upstream's address without the scheme
//! files/github.com/opencontainers/runc/releases/download/v1.5.2/runc.amd64
//! images/registry.k8s.io/kube-apiserver/v1.37.1-linux-amd64.tar   one OCI archive an image and architecture
//! ```
//!
//! Paths follow upstream's, so the same folder can come from a builder, from upstream or from a mirror. Nothing in it is
//! trusted by name: whoever installs from it compares the sha256 of what it read with the one that stands here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The newest layout of `bundle.json` that this code reads and the one it writes.
pub const FORMAT: u32 = 1;

/// The name of the index inside the bundle's folder.
pub const INDEX: &str = "bundle.json";

/// What `bundle.json` says: every file and image, and what each Kubernetes release needs of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Bundle {
    /// Layout of this document; a reader refuses a newer one.
    pub format: u32,
    /// Kubernetes releases that can be installed from this bundle, each with the images that its own kubeadm names.
    pub kubernetes: Vec<KubernetesRelease>,
    /// Binaries and archives, sorted by name, version and architecture.
    pub files: Vec<BundleFile>,
    /// Container images, sorted by reference and architecture.
    pub images: Vec<BundleImage>,
}

/// One Kubernetes release of the bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct KubernetesRelease {
    /// Version without a leading `v`, such as `1.37.1`.
    pub version: String,
    /// Image references by component (`kube-apiserver`, `etcd`, `coredns`, `pause` …), as `kubeadm config images list` of this
    /// very release prints them. Every reference stands in [`Bundle::images`] too.
    pub images: BTreeMap<String, String>,
}

/// One file of the bundle: a binary, or an archive of binaries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct BundleFile {
    /// What it is: `kubeadm`, `kubelet`, `kubectl`, `containerd`, `runc`, `cni-plugins`, `flannel-cni-plugin`, `etcd` …
    pub name: String,
    /// Version without a leading `v`.
    pub version: String,
    /// Architecture as Go and the registries spell it: `amd64`, `arm64`.
    pub architecture: String,
    /// Path inside the bundle, `/` between its parts, never absolute and without `..`.
    pub path: String,
    /// Length in bytes.
    pub size: u64,
    /// Lower-case hexadecimal sha256 of the file.
    pub sha256: String,
    /// For an archive (`.tar.gz`, `.tgz`): the regular files inside, sorted by path. Empty for a plain file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contents: Vec<ArchiveEntry>,
}

/// One regular file inside an archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ArchiveEntry {
    /// Path inside the archive, without a leading `./`.
    pub path: String,
    /// Length in bytes.
    pub size: u64,
    /// Lower-case hexadecimal sha256 of the file.
    pub sha256: String,
}

/// One container image of the bundle, as an OCI archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct BundleImage {
    /// What it is: `kube-apiserver`, `etcd`, `coredns`, `pause`, `flannel`, `echo` …
    pub name: String,
    /// Version without a leading `v`; for an image that follows another numbering, its tag.
    pub version: String,
    /// Architecture as Go and the registries spell it.
    pub architecture: String,
    /// Path of the OCI archive inside the bundle.
    pub path: String,
    /// Length of the archive in bytes.
    pub size: u64,
    /// Lower-case hexadecimal sha256 of the archive.
    pub sha256: String,
    /// Full reference with tag, such as `registry.k8s.io/kube-apiserver:v1.37.1`.
    pub reference: String,
    /// Digest of the image manifest inside the archive, `sha256:` and 64 hexadecimal digits.
    pub manifest_digest: String,
}
