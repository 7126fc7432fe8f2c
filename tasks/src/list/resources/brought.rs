//! Files of any length that a user has brought to hosts.

use kok_crds::model::{Held, HostResource, Payload};

use crate::artifact::{Artifact, Supply};
use crate::plan::Refusal;

/// Such a file as it is sent.
pub(super) fn artifact(entry: &HostResource, payload: &Payload) -> Result<Artifact, Refusal> {
    let Held { path, size, sha256 } = payload.held.clone().ok_or_else(|| unread(entry, payload))?;
    Ok(Artifact { title: payload.title().to_owned(), path, size, sha256, supply: Supply::Sent })
}

/// That nobody has read it who has files.
pub(super) fn unread(entry: &HostResource, payload: &Payload) -> Refusal {
    let refusal = Refusal::new(format!("the file of `{}` was not read", entry.name.escape_debug())).at(payload.origin.to_string());
    refusal.hint("this is a defect of kokctl; please report it")
}
