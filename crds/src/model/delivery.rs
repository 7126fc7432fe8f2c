//! How a host gets what is installed on it.

/// How files and images of the bundle come to a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Delivery {
    /// kokctl sends them.
    #[default]
    Push,
    /// The host fetches them from upstream or a mirror, and compares them with the digests of the bundle.
    Pull,
}

impl Delivery {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Push, Self::Pull];

    /// The word that stands for it in a user's file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Push => "push",
            Self::Pull => "pull",
        }
    }
}
