//! What can be wrong with a catalog, and what it may lack.

use super::FORMAT;

/// Why a catalog can't be used, or does not have what is asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    /// The text is no catalog.
    #[error("it is no catalog: {message}")]
    Syntax {
        /// What the parser says, with line and column.
        message: String,
    },
    /// Its form is newer than this program.
    #[error("it has format {found}, and this program reads formats up to {FORMAT}: use a newer program")]
    NewerFormat {
        /// The format that it names.
        found: u32,
    },
    /// An entry is wrong.
    #[error("{entry}: {because}")]
    Entry {
        /// Which.
        entry: String,
        /// What is wrong with it.
        because: String,
    },
    /// A minor of Kubernetes is not in it.
    #[error("the catalog has no Kubernetes {release}: it has {}", .held.join(", "))]
    NoMinor {
        /// The release that was asked for.
        release: String,
        /// The minors that it has.
        held: Vec<String>,
    },
    /// A minor names no version of a component.
    #[error("the catalog names no {component} for Kubernetes {minor}")]
    NoComponent {
        /// The component.
        component: String,
        /// The minor.
        minor: String,
    },
    /// A distribution is not in it.
    #[error("the catalog has no packages of {name}: it has {}", if .held.is_empty() { "none".to_owned() } else { .held.join(", ") })]
    NoDistribution {
        /// What was asked for.
        name: String,
        /// The distributions that it has.
        held: Vec<String>,
    },
    /// Nothing in it is called so.
    #[error("the catalog has neither a file nor an image {name}: it has {}", .held.join(", "))]
    NoName {
        /// What was asked for.
        name: String,
        /// What there is.
        held: Vec<String>,
    },
}
