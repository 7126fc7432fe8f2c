//! What can be wrong with a bundle's index, and what can be missing from it.

use super::{FORMAT, INDEX};

/// Why an index can't be used, or doesn't hold what was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BundleError {
    /// The text is not an index.
    #[error("{INDEX}: {message}. Build or fetch the bundle again")]
    Syntax {
        /// What the parser says, with line and column.
        message: String,
    },
    /// The layout is newer than this code.
    #[error(
        "{INDEX} has format {found}, and this program reads formats up to {FORMAT}: use a newer program, or a bundle made for this one"
    )]
    NewerFormat {
        /// The format that it names.
        found: u32,
    },
    /// A path could lead out of the folder that it belongs to.
    #[error("{INDEX}: {entry}: {path:?} is not a plain relative path. Do not use this bundle; build or fetch it again")]
    Path {
        /// The file or image.
        entry: String,
        /// The path that was refused.
        path: String,
    },
    /// A name has characters that it can't have.
    #[error(
        "{INDEX}: {entry}: {word:?} is no name of a package, a suite or a distribution. Do not use this bundle; build or fetch it again"
    )]
    Word {
        /// The packages that it stands with.
        entry: String,
        /// What was refused.
        word: String,
    },
    /// A digest isn't one.
    #[error("{INDEX}: {entry}: {value:?} is not a sha256 of 64 lower-case hexadecimal digits. Build or fetch the bundle again")]
    Digest {
        /// The file or image.
        entry: String,
        /// What stands there instead.
        value: String,
    },
    /// Two entries can't be told apart.
    #[error("{INDEX}: {entry} stands there twice: remove one of them, or build or fetch the bundle again")]
    Duplicate {
        /// The file, image, release or path.
        entry: String,
    },
    /// A release names an image that isn't there.
    #[error(
        "{INDEX}: Kubernetes {release} needs the image {reference} ({component}) for {architecture}, which the bundle does not \
         hold: add it, or build or fetch the bundle again"
    )]
    Dangling {
        /// The release.
        release: String,
        /// The component's name in the release.
        component: String,
        /// The image that is missing.
        reference: String,
        /// The architecture for which it is missing.
        architecture: String,
    },
    /// A file is not there.
    #[error(
        "the bundle holds no {name} {version} for {architecture}; it holds {held}. Ask for one of these, or use a bundle with {version}"
    )]
    NoFile {
        /// The name that was asked for.
        name: String,
        /// The version that was asked for.
        version: String,
        /// The architecture that was asked for.
        architecture: String,
        /// What there is of the name.
        held: String,
    },
    /// An image is not there.
    #[error(
        "the bundle holds no image {reference} for {architecture}; it holds {held}. Ask for one of these, or use a bundle with this image"
    )]
    NoImage {
        /// The reference that was asked for.
        reference: String,
        /// The architecture that was asked for.
        architecture: String,
        /// What there is of the repository.
        held: String,
    },
    /// A Kubernetes release is not there.
    #[error("the bundle holds no Kubernetes {version}; it holds {held}. Ask for one of these, or use a bundle with {version}")]
    NoRelease {
        /// The version that was asked for.
        version: String,
        /// The releases that there are.
        held: String,
    },
}

/// A list for people; `none of it` when it is empty.
pub(super) fn held(entries: impl Iterator<Item = String>) -> String {
    let entries: Vec<String> = entries.collect();
    if entries.is_empty() { "none of it".to_owned() } else { entries.join(", ") }
}
