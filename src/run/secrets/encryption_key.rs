//! The key that a control plane encrypts with.

use kok_tasks::documents;
use zeroize::Zeroizing;

use super::keepers::read_in;
use crate::failure::{Failure, Kind};
use crate::run::link::Links;

/// As the API server has it. It may be there before any certificate is.
const FOLDER: &str = "/etc/kubernetes/apiserver";
const ENCRYPTION: &str = "encryption.yaml";

/// The key of a control plane that encrypts.
pub(super) async fn read_encryption_key(host: &str, links: &Links) -> Result<Zeroizing<String>, Failure> {
    let files = read_in(FOLDER, host, links, &[ENCRYPTION]).await?;
    let key = files.first().and_then(|text| documents::encryption_key(text));
    key.map(|key| Zeroizing::new(key.to_owned())).ok_or_else(|| {
        Failure::new(Kind::Host, "the key that secrets are encrypted with can't be read")
            .at(format!("host {host}: /etc/kubernetes/apiserver/encryption.yaml"))
            .because("the file has no key of kokctl's")
            .hint("copy it from another control plane, or from a backup: without it nobody can read what is encrypted")
    })
}
