//! Text that must not be printed.

use zeroize::Zeroizing;

/// Text that holds a private key: a PEM block or a kubeconfig.
///
/// It has no `Debug`, `Display` or `Serialize` on purpose, and is wiped from memory when dropped. [`SecretText::expose`] is the only way out.
#[derive(Clone)]
pub struct SecretText(Zeroizing<String>);

impl SecretText {
    /// Takes the text over.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(Zeroizing::new(text))
    }

    /// Takes text over that is wiped already when it is dropped.
    #[must_use]
    pub fn from_zeroizing(text: Zeroizing<String>) -> Self {
        Self(text)
    }

    /// The text, for the one place that writes it to where it belongs.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}
