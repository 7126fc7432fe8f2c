//! What can go wrong while making or reading keys and certificates.

use time::OffsetDateTime;

/// Why a key, certificate or kubeconfig could not be made or read. No variant carries key material.
#[derive(Debug, thiserror::Error)]
pub enum PkiError {
    /// A key pair could not be made, or a certificate could not be signed.
    #[error("cannot make {what}")]
    Make {
        /// What was to be made.
        what: String,
        /// The library's reason.
        #[source]
        source: rcgen::Error,
    },
    /// The caller's source of randomness failed.
    #[error("no randomness: {0}")]
    Randomness(String),
    /// A certificate could not be read.
    #[error("cannot read the certificate: {0}")]
    Certificate(String),
    /// A private key could not be read. The reason is left out on purpose: it might quote the key.
    #[error("cannot read the private key: neither PKCS#8, SEC 1 nor PKCS#1 in PEM, or of an unsupported kind")]
    PrivateKey,
    /// A certificate that was to sign others must not do so.
    #[error("the certificate of {subject} cannot sign others: {reason}")]
    NotAnAuthority {
        /// Subject of the certificate.
        subject: String,
        /// What it lacks.
        reason: &'static str,
    },
    /// A certificate and a private key don't belong together.
    #[error("the certificate of {0} and the private key don't belong together")]
    KeyMismatch(String),
    /// Something was to be signed by an authority whose key somebody else keeps.
    #[error("the key of {0} is not known, so it signs nothing here")]
    NoKey(String),
    /// A certificate would be valid at no moment from now on: by a wrong clock, or by an authority that has ended.
    #[error("{what} would be valid from {from} until {until}, and by this machine's clock it is {now}: never")]
    NoValidity {
        /// What was to be made.
        what: String,
        /// When it would begin to be valid.
        from: OffsetDateTime,
        /// When it would end.
        until: OffsetDateTime,
        /// When it was to be made.
        now: OffsetDateTime,
    },
    /// A name cannot stand in a certificate.
    #[error("{what} `{value}` cannot stand in a certificate: {reason}")]
    InvalidName {
        /// Which name it is.
        what: &'static str,
        /// The name.
        value: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A kubeconfig could not be read. The reason names the place, not the content.
    #[error("cannot read the kubeconfig: {0}")]
    Kubeconfig(String),
    /// A text with kept keys could not be read. The reason names the place, not the content.
    #[error("it holds no keys that kokctl has kept: {0}")]
    Escrow(String),
}

impl PkiError {
    pub(crate) fn make(what: impl Into<String>) -> impl FnOnce(rcgen::Error) -> Self {
        let what = what.into();
        move |source| Self::Make { what, source }
    }
}
