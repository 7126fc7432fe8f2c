//! A certificate that programs are to trust as that of an authority.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use time::OffsetDateTime;

use crate::PkiError;
use crate::inspect::{CertificateFacts, inspect_certificates};

/// Characters in a line of PEM (RFC 7468, section 2).
const LINE: usize = 64;

/// The certificate of one authority, as a store of trusted ones takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustAnchor {
    /// What it says.
    pub facts: CertificateFacts,
}

impl TrustAnchor {
    /// Reads a text in PEM with one certificate, around which others may have written what it says.
    ///
    /// # Errors
    /// [`PkiError`] where a private key stands in the text, where it has no certificate or several, and of a certificate that vouches for nobody: it is
    /// no authority's, may sign nothing, or has ended by `now`. One that begins later is taken: it is put in place before it is needed.
    pub fn from_pem(pem: &str, now: OffsetDateTime) -> Result<Self, PkiError> {
        if pem.contains("PRIVATE KEY") {
            return Err(PkiError::Certificate(
                "a private key stands in the text, and every program of a host may read its trust store".into(),
            ));
        }
        let mut found = inspect_certificates(pem)?;
        let others = found.len() > 1;
        let facts = if others { None } else { found.pop() };
        let Some(facts) = facts else {
            return Err(PkiError::Certificate(format!("there are {} of them, and it has to be one", found.len())));
        };
        let reason = if !facts.is_ca {
            Some("its basic constraints do not say that it is an authority (CA:TRUE)")
        } else if !facts.may_sign {
            Some("its key usage does not allow to sign certificates")
        } else if now > facts.not_after {
            Some("it has expired")
        } else {
            None
        };
        match reason {
            Some(reason) => Err(PkiError::NotAnAuthority { subject: facts.subject.to_string(), reason }),
            None => Ok(Self { facts }),
        }
    }

    /// The certificate in PEM and nothing else, in lines of 64 characters: as stores of trusted certificates write it.
    #[must_use]
    pub fn pem(&self) -> String {
        let body = STANDARD.encode(self.facts.der());
        let mut text = String::from("-----BEGIN CERTIFICATE-----\n");
        let mut rest = body.as_str();
        while let Some((line, behind)) = rest.split_at_checked(LINE) {
            text.push_str(line);
            text.push('\n');
            rest = behind;
        }
        if !rest.is_empty() {
            text.push_str(rest);
            text.push('\n');
        }
        text.push_str("-----END CERTIFICATE-----\n");
        text
    }
}
