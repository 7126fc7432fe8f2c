//! Whether a bundle has what its index says, without reading it.

use kok_tasks::artifact::Artifact;

use super::BundleFolder;
use crate::failure::{Failure, Kind};

impl BundleFolder {
    /// What the folder lacks of its own index, or has in another length: one [`Failure`] for each. With `images` of these, too. What was changed and has its
    /// length is found by [`verify`](Self::verify), before the stage that needs it; this is for work of many stages, which is not to stop in the middle for a
    /// file that was not there when it began.
    #[must_use]
    pub fn lacking(&self, images: bool) -> Vec<Failure> {
        let bundle = self.bundle();
        let (files, packages) = (bundle.files.iter().map(Artifact::from), bundle.packages.iter().map(Artifact::from));
        let images = bundle.images.iter().filter(|_| images).map(Artifact::from);
        files.chain(packages).chain(images).filter_map(|artifact| self.lack(&artifact)).collect()
    }

    fn lack(&self, artifact: &Artifact) -> Option<Failure> {
        let path = self.file(artifact);
        let because = match path.metadata() {
            Ok(found) if found.is_file() && found.len() == artifact.size => return None,
            Ok(found) => format!("it has {} bytes, and {} by the bundle's index", found.len(), artifact.size),
            Err(error) => error.to_string(),
        };
        let failure = Failure::new(Kind::Input, format!("the bundle lacks {}", artifact.title)).at(path.display().to_string());
        Some(failure.because(because).hint("build or fetch the bundle again; nothing was changed on any host"))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]
mod tests {
    use std::fs;

    use kok_tasks::bundle::{Bundle, BundleFile, BundleImage, FORMAT};

    use super::BundleFolder;

    #[test]
    fn what_is_gone_or_cut_off_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let text = |text: &str| text.to_owned();
        let file = |name: &str| BundleFile {
            name: text(name),
            version: text("1.37.1"),
            architecture: text("amd64"),
            path: text(name),
            size: 4,
            sha256: "0".repeat(64),
            contents: Vec::new(),
        };
        let image = BundleImage {
            name: text("pause"),
            version: text("3.10.2"),
            architecture: text("amd64"),
            path: text("pause.tar"),
            size: 4,
            sha256: "0".repeat(64),
            reference: text("registry.k8s.io/pause:3.10.2"),
            manifest_digest: format!("sha256:{}", "0".repeat(64)),
            lacks: Vec::new(),
        };
        let files = ["kubeadm", "kubectl", "kubelet"].map(file).into();
        let bundle = Bundle { format: FORMAT, kubernetes: Vec::new(), files, images: vec![image], packages: Vec::new() };
        let bundle = BundleFolder { path: folder.path().to_owned(), ..BundleFolder::none() }.with_index(bundle);
        fs::write(folder.path().join("kubeadm"), "1234").unwrap();
        fs::write(folder.path().join("kubectl"), "12").unwrap();
        let named = |images| bundle.lacking(images).into_iter().map(|failure| (failure.what, failure.because)).collect::<Vec<_>>();
        let lacks = named(false);
        assert_eq!(lacks.len(), 2);
        assert!(lacks[0].0.contains("kubectl") && lacks[0].1.as_deref().unwrap().contains("2 bytes, and 4"), "{lacks:?}");
        assert!(lacks[1].0.contains("kubelet"), "{lacks:?}");
        assert!(named(true)[2].0.contains("pause"));
    }
}
