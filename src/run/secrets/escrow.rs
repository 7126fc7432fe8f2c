//! What this machine keeps of the cluster's keys, if the user has an escrow.

use std::path::PathBuf;

use kok_crds::model::Cluster;
use kok_pki::{Authorities, AuthorityKind, FoundAuthorities, Secret, escrow};
use time::OffsetDateTime;
use zeroize::Zeroizing;

use super::encryption_key::read_encryption_key;
use super::keepers::Keepers;
use crate::run::link::Links;
use crate::state::{Keeping, Kept};
use crate::ui::{Failure, Kind};

/// The escrow of a run, if there is one.
pub(super) struct Escrowed<'a> {
    cluster: &'a Cluster,
    keeping: Option<Keeping<'a>>,
    kept: Option<Kept>,
    /// The key to encrypt with that this run uses.
    key: Option<Zeroizing<String>>,
}

impl<'a> Escrowed<'a> {
    /// Reads it now, for an earlier plan of the same run may have written it.
    pub(super) fn read(cluster: &'a Cluster) -> Result<Self, Failure> {
        let keeping = cluster.settings.certificates.escrow.as_ref().map(|file| Keeping::new(&cluster.name, file));
        let kept = keeping.as_ref().map(Keeping::read).transpose().map_err(Failure::problem)?.flatten();
        Ok(Self { cluster, keeping, kept, key: None })
    }

    /// The authorities that were kept. No cluster begins with one that has ended.
    pub(super) fn found(&self, keepers: Keepers<'_>, now: OffsetDateTime) -> Result<FoundAuthorities, Failure> {
        let (Some(keeping), Some(kept)) = (&self.keeping, &self.kept) else { return Ok(FoundAuthorities::default()) };
        let authorities = kept.escrow.authorities();
        let ended = AuthorityKind::ALL.into_iter().map(|kind| authorities.get(kind).facts()).find(|facts| facts.not_after < now);
        match ended.filter(|_| keepers.control_plane.is_none()) {
            None => Ok(authorities.found()),
            Some(facts) => Err(Failure::new(Kind::Input, "an authority that is kept for the cluster has ended")
                .at(keeping.path().display().to_string())
                .because(format!("the certificate of {} was valid until {}", facts.subject, facts.not_after))
                .hint("move that file away, and new authorities are made")),
        }
    }

    /// The key to encrypt with that was kept.
    pub(super) fn encryption_key(&self) -> Option<Zeroizing<String>> {
        self.kept.as_ref()?.escrow.encryption_key().map(|key| Zeroizing::new(key.expose().to_owned()))
    }

    /// Says that this is the key to encrypt with.
    pub(super) fn uses(&mut self, key: Zeroizing<String>) {
        self.key = Some(key);
    }

    /// Whether something is used that is not kept, as far as can be told without the authorities.
    fn is_lacking(&self) -> bool {
        self.keeping.is_some() && (self.kept.is_none() || (self.key.is_some() && self.key != self.encryption_key()))
    }

    /// Whether what the cluster has, and only that, is to be put in.
    pub(super) fn is_owed(&self, keepers: Keepers<'_>) -> bool {
        self.is_lacking() && keepers.control_plane.is_some() && self.is_whole(keepers)
    }

    /// Whether the authorities of a run are those of the cluster: without its keeper, that of etcd is only made up for want of it.
    fn is_whole(&self, keepers: Keepers<'_>) -> bool {
        keepers.control_plane.is_none() || keepers.etcd.is_some() || self.kept.is_some()
    }

    /// A run that uses a key to encrypt with has to be able to keep it.
    pub(super) fn may_end(&self) -> Result<(), Failure> {
        if !self.is_lacking() || self.key.is_none() {
            return Ok(());
        }
        Err(Failure::new(Kind::Host, "the cluster's keys can't be kept before its hosts are asked")
            .because("a key to encrypt with is about to be used, and the authorities that it is kept with are on hosts that are no part of this run")
            .hint("leave `--limit` out this time"))
    }

    /// Puts everything into the file that is not there, before anybody else gets it. Says where, if it did.
    pub(super) async fn keep(&self, authorities: &Authorities, keepers: Keepers<'_>, links: &Links) -> Result<Option<PathBuf>, Failure> {
        let Some(keeping) = &self.keeping else { return Ok(None) };
        if !self.is_whole(keepers) {
            return self.may_end().map(|()| None);
        }
        let key = match (self.key.clone().or_else(|| self.encryption_key()), keepers.encryption) {
            (None, Some(host)) => Some(read_encryption_key(host, links).await?),
            (key, _) => key,
        };
        let text: Secret = escrow(&self.cluster.name, authorities, key.as_ref().map(|key| key.as_str()));
        if self.kept.as_ref().is_some_and(|kept| kept.text.expose() == text.expose()) {
            return Ok(None);
        }
        keeping.write(self.kept.as_ref(), &text).map_err(Failure::problem)?;
        Ok(Some(keeping.path().to_owned()))
    }
}

#[cfg(test)]
mod tests;
