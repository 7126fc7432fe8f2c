//! Why a bundle's images can't go into a registry.

/// Why it can't be said where an image goes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PushError {
    /// Two hosts of upstream's have an image of one name.
    #[error("{one} and {other} would both be {to}")]
    Collision {
        /// The first.
        one: String,
        /// The other.
        other: String,
        /// Repository and tag in the registry.
        to: String,
    },
    /// A reference without tag or host, or with letters that no registry takes.
    #[error("{reference:?} makes no name in a registry: names have small letters, digits and . _ - between slashes")]
    Name {
        /// The reference.
        reference: String,
    },
}
