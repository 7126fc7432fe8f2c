//! An image in containerd's namespace of Kubernetes.

use super::{Act, fetch};
use crate::artifact::{Artifact, Supply};
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{ImageStore, Look, Observations};
use crate::script::Fragment;
use crate::shell::quote;

/// An image of the bundle, streamed into containerd without touching the disk on its way, or fetched by it, and pinned against the kubelet's
/// garbage collection: the kubelet may be unable to pull it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Full reference with tag.
    pub reference: String,
    /// Digest of its manifest.
    pub digest: String,
    /// Where it comes from.
    pub artifact: Artifact,
}

impl Image {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Images]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let ImageStore::Images(images) = seen!(&seen.images) else {
            return Verdict::differs(ChangeKind::Import, "containerd does not run yet");
        };
        match images.get(&self.reference) {
            None => Verdict::differs(ChangeKind::Import, "containerd does not have it"),
            Some(image) if image.digest != self.digest => {
                Verdict::differs(ChangeKind::Import, format!("containerd has {} under this name", image.digest))
            }
            Some(image) if !image.pinned => Verdict::differs(ChangeKind::Import, "it is not pinned"),
            Some(_) => Verdict::Same,
        }
    }

    /// The label is the one by which containerd's CRI plugin tells the kubelet that an image is pinned.
    /// `--local` has ctr take the archive apart. containerd would do that by its transfer service, to which the whole of it is streamed in small pieces: of
    /// 92 MB that takes twice as long, and 1.5 s of a processor where this takes 0.7.
    pub(super) fn act(&self, _: &Change) -> Act {
        if let Supply::Fetched(source) = &self.artifact.supply {
            return Act::Fetch(Fragment::text(fetch::image(source, &self.reference)));
        }
        let script = format!(
            "timeout \"${{kokctl_limit:-900}}\" /usr/local/bin/ctr -n k8s.io images import --local --digests=false - >/dev/null\n\
             /usr/local/bin/ctr -n k8s.io images label {} io.cri-containerd.pinned=pinned >/dev/null\n",
            quote(&self.reference)
        );
        Act::Stream { script: Fragment::text(script), artifact: self.artifact.clone() }
    }

    pub(super) fn writes(&self) -> Vec<String> {
        vec![format!("image {}", self.reference)]
    }

    pub(super) fn title(&self) -> String {
        format!("image {}{}", self.reference, self.artifact.supply_words())
    }
}
