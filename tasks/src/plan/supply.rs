//! How what is installed comes to a host: sent by kokctl, or fetched by the host.

use kok_crds::model::Delivery;

use super::draft::HostView;
use super::graph::{Action, Step};
use super::refusal::Refusal;
use crate::artifact::{Artifact, Source, Supply};
use crate::bundle::{BundleFile, BundleImage};
use crate::list::proxy;
use crate::mirrors::Mirrors;
use crate::resources::Resource;

/// What stands before upstream's address in the path of a file.
const FILES: &str = "files/";

/// What images are called that upstream does not have.
const OWN_IMAGES: &str = "ghcr.io/kokctl/";

impl HostView<'_> {
    /// An artifact for a binary of the bundle.
    ///
    /// # Errors
    /// As [`HostView::file`].
    pub fn artifact(&self, name: &str, version: Option<&str>) -> Result<Artifact, Refusal> {
        self.file(name, version).map(|file| self.file_artifact(file))
    }

    /// A file of the bundle, as it comes to this host.
    #[must_use]
    pub fn file_artifact(&self, file: &BundleFile) -> Artifact {
        let supply = self.supply(|mirrors| {
            let upstream = file.path.strip_prefix(FILES).ok_or("the bundle does not say where upstream has it")?;
            Ok((mirrors.address(&format!("https://{upstream}")), false))
        });
        Artifact { supply, ..Artifact::from(file) }
    }

    /// An image of the bundle, as it comes to this host.
    #[must_use]
    pub fn image_artifact(&self, image: &BundleImage) -> Artifact {
        let supply = self.supply(|mirrors| {
            if image.reference.starts_with(OWN_IMAGES) {
                return Err("it is an image of kokctl's own, which upstream does not have");
            }
            let (repository, is_plain) = mirrors.repository(&image.reference);
            Ok((format!("{repository}@{}", image.manifest_digest), is_plain))
        });
        Artifact { supply, ..Artifact::from(image) }
    }

    fn supply(&self, find: impl FnOnce(&Mirrors) -> Result<(String, bool), &'static str>) -> Supply {
        if self.settings().delivery == Delivery::Push {
            return Supply::Sent;
        }
        match find(&Mirrors::of_settings(&self.cluster().settings.upstream_mirrors)) {
            Ok((address, is_plain)) => Supply::Fetched(Source { address, is_plain, environment: proxy::environment(self) }),
            Err(because) => Supply::SentBecause(because),
        }
    }
}

/// Whether a step has its host fetch something.
pub(super) fn is_fetched(step: &Step) -> bool {
    let Action::Resource(resource) = &step.action else { return false };
    let artifact = match resource {
        Resource::Binary(it) => &it.artifact,
        Resource::Archive(it) => &it.artifact,
        Resource::Image(it) => &it.artifact,
        _ => return false,
    };
    matches!(artifact.supply, Supply::Fetched(_))
}
