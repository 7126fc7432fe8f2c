//! Which images a Kubernetes release needs, as its own kubeadm says.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use kok_tasks::bundle::KubernetesRelease;

use super::error::{ReleaseError, Result};
use super::recipe::split_reference;

/// Asks this kubeadm for the images of its release. With the version given it looks nothing up on the network.
///
/// # Errors
/// When it fails, or says something that isn't a list of references.
pub fn release_images(kubeadm: &Path, version: &str, work: &Path) -> Result<KubernetesRelease> {
    let what = format!("kubeadm config images list --kubernetes-version v{version}");
    let output = Command::new(kubeadm)
        .env_clear()
        .env("HOME", work)
        .current_dir(work)
        .args(["config", "images", "list", "--kubernetes-version", &format!("v{version}")])
        .output()
        .map_err(ReleaseError::io("run", kubeadm))?;
    let failed = |output: String, status: String| ReleaseError::Command { what: what.clone(), status, output };
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).into_owned(), output.status.to_string()));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let images = parse_images(&text).map_err(|message| failed(message, "unexpected output".to_owned()))?;
    Ok(KubernetesRelease { version: version.to_owned(), images })
}

/// References by the last part of their repository, which is the component's name.
fn parse_images(text: &str) -> std::result::Result<BTreeMap<String, String>, String> {
    let mut images = BTreeMap::new();
    for line in text.lines() {
        let (repository, _) = split_reference(line).ok_or_else(|| format!("not an image reference: {line:?}"))?;
        let name = repository.rsplit('/').next().unwrap_or(repository);
        if let Some(other) = images.insert(name.to_owned(), line.to_owned()) {
            return Err(format!("{other} and {line} have one name"));
        }
    }
    if images.is_empty() { Err("it listed no image".to_owned()) } else { Ok(images) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;

    #[test]
    fn images_are_named_by_the_last_part_of_their_repository() {
        let images = parse_images("registry.k8s.io/kube-proxy:v1.37.1\nregistry.k8s.io/coredns/coredns:v1.14.6\n").unwrap();
        assert_eq!(images["coredns"], "registry.k8s.io/coredns/coredns:v1.14.6");
        assert_eq!(images["kube-proxy"], "registry.k8s.io/kube-proxy:v1.37.1");
    }

    #[test]
    fn anything_but_references_is_refused() {
        assert!(parse_images("").is_err());
        assert!(parse_images("W0101 remote version is much newer\n").is_err());
        assert!(parse_images("a/b/x:1\na/x:2\n").is_err());
    }
}
