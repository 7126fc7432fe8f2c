//! Variables of downloads.

use crate::variables::read::downloads;
use crate::variables::row::{Variable, flag, number, text, value, word};

const BUNDLE: &str = "all files and images are those of the bundle, whoever fetches them";
const ONCE: &str =
    "that is what `delivery: push` says, and what holds without it; where hosts are to fetch for themselves, write `delivery: pull`";
const BASE: &str = "it is the base of other addresses, which count where kokctl fetches a bundle";

pub(super) static ROWS: &[Variable] = &[
    word("dl_k8s_io_url", "URL", "none", "Where the programs of Kubernetes are fetched, instead of dl.k8s.io.").reads(downloads::files),
    word("get_helm_url", "URL", "none", "Where helm comes from.").moot(BUNDLE),
    word("github_url", "URL", "none", "Where programs are fetched that are released on GitHub.").reads(downloads::files),
    word("storage_googleapis_url", "URL", "none", "Where programs come from that Google has.").moot(BUNDLE),
    text("registry_host", "none", "A registry of the user's own.").moot(BASE),
    text("minio_address", "none", "A file server of the user's own.").moot(BASE),
    text("files_repo", "none", "A file server of the user's own.").moot(BASE),
    text("files_repo_*", "none", "A part of the address of a file server of the user's own.").moot(BASE).hidden(),
    text("kube_image_repo", "registry.k8s.io", "Where images of Kubernetes are fetched.").reads(downloads::images),
    text("docker_image_repo", "docker.io", "Where images are fetched of Docker's registry.").reads(downloads::images),
    text("gcr_image_repo", "gcr.io", "Where images are fetched of Google's registry.").reads(downloads::images),
    text("quay_image_repo", "quay.io", "Where images are fetched of Quay.").reads(downloads::images),
    text("github_image_repo", "ghcr.io", "Where images are fetched of GitHub's registry.").reads(downloads::images),
    word("k8s_image_pull_policy", "IfNotPresent", "IfNotPresent", "When images of the cluster's own pods are fetched.")
        .moot("images of the cluster's own pods are put on the hosts before anything starts"),
    word("delivery", "push or pull", "push", "Whether kokctl sends what is installed, or the host fetches it from upstream or a mirror.")
        .reads(downloads::delivery),
    flag("download_run_once", "false", "Fetches everything once and hands it on.").moot(ONCE),
    flag("download_localhost", "false", "Fetches everything to the machine that runs the installer.").moot(ONCE),
    flag("download_force_cache", "false", "Keeps what was fetched.").moot(BUNDLE),
    flag("download_container", "true", "Fetches images before they are needed.").moot(BUNDLE),
    flag("download_always_pull", "false", "Fetches images that are there already.").moot(BUNDLE),
    flag("download_validate_certs", "true", "Verifies whom files come from.").moot(BUNDLE),
    number("download_retries", "none", "How often a download is tried.").moot(BUNDLE),
    flag("skip_downloads", "false", "Fetches nothing.").moot(BUNDLE),
    text("download_*", "none", "A setting of downloads.").moot(BUNDLE),
    text("local_release_dir", "none", "Where files are fetched to.").moot(BUNDLE),
    text("image_arch", "that of the host", "The architecture of images.").moot("kokctl finds out the architecture of each host"),
    text("host_architecture", "that of the host", "The architecture of the host.").moot("kokctl finds out the architecture of each host"),
    value("downloads", "map", "none", "What is fetched.").moot(BUNDLE),
    flag("skip_kubeadm_images", "false", "Leaves images of the control plane out.").moot(BUNDLE),
    text("skopeo_version", "none", "A program that copies images.").moot(BUNDLE),
    text("yq_version", "none", "A program that reads YAML.").moot(BUNDLE),
    text("image_command_tool*", "none", "How Kubespray handles images.").moot(BUNDLE),
    text("image_info_command*", "none", "How Kubespray handles images.").moot(BUNDLE),
    text("image_pull_command*", "none", "How Kubespray handles images.").moot(BUNDLE),
    value("kubelet_checksums", "map", "none", "Digests of files.").moot("the bundle has the digest of each file"),
    text("pod_infra_*", "none", "The image that holds a pod together.").moot(BUNDLE),
    text("pause_image_*", "none", "The image that holds a pod together.").moot(BUNDLE),
];

/// What names of Kubespray's for single downloads end with.
pub(in crate::variables) const ENDS: [&str; 6] =
    ["_download_url", "_image_repo", "_image_tag", "_checksum", "_binary_checksum", "_checksums"];

/// All names of such an end.
pub(in crate::variables) static ANY: Variable = text(
    "*_download_url",
    "none",
    "Where one file or image comes from: names that end with _download_url, _image_repo, _image_tag, _checksum or _checksums.",
)
.moot(BUNDLE);
