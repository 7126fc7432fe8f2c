//! Certificate authorities, while one takes the place of another.

use kok_crds::model::{Cluster, Host};
use kok_pki::AuthorityKind;

use super::Findings;
use super::own_authorities::word;
use crate::list::authorities::{known, signs, trusted_file, trusts};
use crate::observe::Look;
use crate::plan::{Refusal, Seen};

pub(super) fn looks(host: &Host) -> impl Iterator<Item = Look> {
    let of_host = move |kind: &AuthorityKind| trusts(*kind, host);
    AuthorityKind::ALL.into_iter().filter(of_host).map(|kind| Look::Content(trusted_file(kind))).collect::<Vec<_>>().into_iter()
}

pub(super) fn check(cluster: &Cluster, seen: &Seen, found: &mut Findings) {
    for kind in replacing_authorities(cluster, seen) {
        let word = word(kind);
        let refusal = Refusal::new(format!("the certificate authority `{word}` is being replaced"));
        let refusal = refusal.because("hosts trust two of them");
        found.warn(refusal.hint(format!(
            "`kokctl certs rotate ca {word}` goes on with it, and with --finish has nobody trust the one from before; `apply` leaves both as they are"
        )));
    }
}

/// The authorities that are being replaced: hosts know more than one of them, or do not all sign with the same.
#[must_use]
pub fn replacing_authorities(cluster: &Cluster, seen: &Seen) -> Vec<AuthorityKind> {
    let is_replaced = |kind: &AuthorityKind| {
        let sets: Vec<_> = cluster.hosts.iter().filter(|host| trusts(*kind, host)).map(|host| (host, known(*kind, host, seen))).collect();
        let mut signers = sets.iter().filter(|(host, _)| signs(*kind, host)).filter_map(|(_, set)| set.signer());
        let first = signers.next();
        sets.iter().any(|(_, set)| set.is_under_way()) || (first.is_some() && signers.any(|signer| Some(signer) != first))
    };
    AuthorityKind::ALL.into_iter().filter(is_replaced).collect()
}
