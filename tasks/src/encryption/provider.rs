//! Who encrypts.

use kok_crds::model::{Encryption, EncryptionAlgorithm, KmsPlugin};

/// One that reads, or reads and writes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Provider {
    /// What is not encrypted.
    Identity,
    /// What is encrypted with a key.
    Key {
        /// How.
        algorithm: EncryptionAlgorithm,
        /// The key's name.
        name: String,
    },
    /// What is encrypted by a plugin, whose keys nobody here knows.
    Kms(KmsPlugin),
}

impl Provider {
    /// The name of its key, which stands in the file.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Identity | Self::Kms(_) => None,
            Self::Key { name, .. } => Some(name),
        }
    }

    /// The name that stands before what it has encrypted.
    #[must_use]
    pub fn mark(&self) -> Option<&str> {
        match self {
            Self::Identity => None,
            Self::Key { name, .. } => Some(name),
            Self::Kms(plugin) => Some(&plugin.name),
        }
    }

    /// Whether it is what a file asks for, by whatever key.
    #[must_use]
    pub fn is_asked_by(&self, encryption: &Encryption) -> bool {
        match (self, &encryption.kms) {
            (Self::Kms(plugin), Some(asked)) => plugin == asked,
            (Self::Key { algorithm, .. }, None) => *algorithm == encryption.algorithm,
            _ => false,
        }
    }

    /// In a word, how it encrypts.
    #[must_use]
    pub fn word(&self) -> String {
        match self {
            Self::Identity => "plain".to_owned(),
            Self::Key { algorithm, .. } => algorithm.as_str().to_owned(),
            Self::Kms(plugin) => format!("the KMS plugin {}", plugin.name),
        }
    }
}
