//! The key of service accounts, while it is being replaced.

use kok_crds::listed;
use kok_crds::model::{Cluster, Host};

use super::Findings;
use crate::observe::Look;
use crate::pem_set::PemSet;
use crate::plan::{Refusal, Seen};
use crate::token_keys::TOKEN_KEYS;

pub(super) fn looks(host: &Host) -> Option<Look> {
    host.roles.control_plane.then(|| Look::Content(TOKEN_KEYS.to_owned()))
}

pub(super) fn check(cluster: &Cluster, seen: &Seen, found: &mut Findings) {
    replacing_token_key(cluster, seen).into_iter().for_each(|refusal| found.warn(refusal));
}

/// The key of service accounts is being replaced: control planes know more than one key, or not all the same.
#[must_use]
pub fn replacing_token_key(cluster: &Cluster, seen: &Seen) -> Option<Refusal> {
    let keys = |host: &Host| {
        let text = seen.observations(&host.name).contents.get(TOKEN_KEYS)?;
        Some((host.name.clone(), PemSet::parse(&String::from_utf8_lossy(text))))
    };
    let known: Vec<(String, PemSet)> = cluster.control_planes().filter_map(keys).filter(|(_, keys)| keys.signer().is_some()).collect();
    let is_refused = |keys: &PemSet| known.iter().any(|(_, other)| keys.signer().is_some_and(|signer| !other.has(signer)));
    let refused: Vec<&str> = known.iter().filter(|(_, keys)| is_refused(keys)).map(|(host, _)| host.as_str()).collect();
    if !refused.is_empty() {
        let refusal = Refusal::new("tokens of service accounts that some control planes sign are refused by others");
        let refusal = refusal.because(format!("{TOKEN_KEYS} of others lacks the key of {}", listed(refused)));
        let hint = "`kokctl certs rotate service-account` has all of them sign with the newest, where one of them has replaced the other";
        return Some(refusal.hint(hint));
    }
    known.iter().any(|(_, keys)| keys.is_under_way()).then(|| {
        let refusal = Refusal::new("the key of service accounts is being replaced");
        let refusal = refusal.because("control planes know tokens of two keys");
        let hint = "`kokctl certs rotate service-account` goes on with it, and with --finish has the one from before refused; `apply` leaves the keys as they are";
        refusal.hint(hint)
    })
}
