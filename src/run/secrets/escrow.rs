//! What this machine keeps of the cluster's keys, if the user has an escrow.

use std::path::{Path, PathBuf};

use kok_crds::model::Cluster;
use kok_pki::{Authorities, AuthorityKind, Escrow, FoundAuthorities, Policy, PrivateKey, SecretText, TrustBundle, escrow};
use kok_tasks::pem_set::PemSet;
use kok_tasks::preconditions::authority_kind;
use time::OffsetDateTime;

use super::encryption_key::{NamedKeys, read_encryption_keys};
use super::keepers::Keepers;
use crate::failure::{Failure, Kind};
use crate::randomness::SystemRandomness;
use crate::run::link::Links;
use crate::state::{Keeping, Kept};

/// The escrow of a run, if there is one.
pub(super) struct Escrowed<'a> {
    cluster: &'a Cluster,
    keeping: Option<Keeping<'a>>,
    kept: Option<Kept>,
    /// The keys to encrypt with that this run uses.
    used: NamedKeys,
    /// Those that a host has, whether they are used or not.
    of_host: NamedKeys,
}

impl<'a> Escrowed<'a> {
    /// Reads it now, for an earlier plan of the same run may have written it. What is lent is taken, and kept nowhere.
    pub(super) fn read(cluster: &'a Cluster, home: Option<&Path>) -> Result<Self, Failure> {
        let file = cluster.settings.certificates.escrow.as_ref();
        if let Some(lent) = file.filter(|file| file.is_lent).and_then(|file| file.kept.as_ref()) {
            return Ok(Self { kept: Some(taken(lent)?), ..Self::none(cluster) });
        }
        let keeping = cluster.settings.certificates.escrow.as_ref().map(|file| Keeping::new(&cluster.name, file, home));
        let kept = keeping.as_ref().map(Keeping::read).transpose().map_err(Failure::problem)?.flatten();
        Ok(Self { cluster, keeping, kept, used: NamedKeys::default(), of_host: NamedKeys::default() })
    }

    /// None, whatever the file says: what is asked for is what hosts have.
    pub(super) fn none(cluster: &'a Cluster) -> Self {
        Self { cluster, keeping: None, kept: None, used: NamedKeys::default(), of_host: NamedKeys::default() }
    }

    /// The authorities that were kept. No cluster begins with one that has ended.
    pub(super) fn found(&self, keepers: Keepers<'_>, now: OffsetDateTime) -> Result<FoundAuthorities, Failure> {
        let Some(kept) = &self.kept else { return Ok(FoundAuthorities::default()) };
        let authorities = kept.escrow.authorities();
        let ended = AuthorityKind::ALL.into_iter().map(|kind| authorities.get(kind).facts()).find(|facts| facts.not_after < now);
        match ended.filter(|_| keepers.control_plane.is_none()) {
            None => Ok(authorities.found()),
            Some(facts) => Err(Failure::new(Kind::Input, "an authority that is kept for the cluster has ended")
                .at(self.place())
                .because(format!("the certificate of {} was valid until {}", facts.subject, facts.not_after))
                .hint("move that file away, and new authorities are made")),
        }
    }

    /// The keys to encrypt with that were kept, the newest first. Those of which hosts have none any more stay: what was backed up before needs them.
    pub(super) fn encryption_keys(&self) -> NamedKeys {
        let mut keys = NamedKeys::default();
        for key in self.kept.iter().flat_map(|kept| kept.escrow.encryption_keys()) {
            keys.add(&key.name, key.secret.expose());
        }
        keys.newest_first()
    }

    /// Says that these are the keys to encrypt with.
    pub(super) fn uses(&mut self, keys: &NamedKeys) {
        self.used = std::mem::take(&mut self.used).with(keys);
    }

    /// Whether hosts have something that is not kept, as far as that is known without any of their keys.
    pub(super) fn lacks_what_hosts_have(&self, keepers: Keepers<'_>) -> bool {
        self.is_lacking() || (self.keeping.is_some() && keepers.encryption.is_some() && self.encryption_keys().is_empty())
    }

    /// Compares the keys to encrypt with that hosts have with those that were kept, before anything is done with either.
    pub(super) async fn compare(&mut self, keepers: Keepers<'_>, links: &Links) -> Result<(), Failure> {
        if let (Some(_), true, Some(host)) = (&self.keeping, self.used.is_empty(), keepers.encryption) {
            self.of_host = read_encryption_keys(host, links).await?;
        }
        self.has_key_of_hosts()
    }

    fn known_keys(&self) -> &NamedKeys {
        if self.used.is_empty() { &self.of_host } else { &self.used }
    }

    /// What was encrypted with a kept one could be read by nobody any more. A key that was replaced has another name.
    fn has_key_of_hosts(&self) -> Result<(), Failure> {
        match self.known_keys().contradicts(&self.encryption_keys()) {
            true => Err(self.disagrees("the key to encrypt with")),
            false => Ok(()),
        }
    }

    /// No key that is kept is ever lost for another one.
    fn has_authorities(&self, authorities: &Authorities) -> Result<(), Failure> {
        let Some(kept) = self.kept.as_ref().map(|kept| kept.escrow.authorities()) else { return Ok(()) };
        // While one is replaced by another, hosts know both.
        let known = |kind: AuthorityKind| TrustBundle::from_pem(authorities.get(kind).certificate_pem());
        let differs = |kind: &AuthorityKind| !known(*kind).is_ok_and(|known| known.has(kept.get(*kind).facts()));
        let loses_key = |kind: &AuthorityKind| kept.get(*kind).key_pem().is_some() && authorities.get(*kind).key_pem().is_none();
        if AuthorityKind::ALL.iter().any(differs) {
            return Err(self.disagrees("an authority"));
        }
        if let Some(kind) = AuthorityKind::ALL.into_iter().find(loses_key) {
            return Err(self.has_key_of_others(kind));
        }
        if !PemSet::parse(&authorities.token_keys()).has(&kept.service_account().public_key_pem()) {
            return Err(self.disagrees("the key of service accounts"));
        }
        Ok(())
    }

    /// The key of service accounts that is to be kept: while that is being replaced the new one, whichever of the two the asked host signs with.
    fn service_account(&self, authorities: &Authorities) -> SecretText {
        let kept = self.kept.as_ref().map(|kept| kept.escrow.authorities().service_account());
        let has_signed = |key: &PrivateKey| PemSet::parse(&authorities.token_keys()).has_before(&key.public_key_pem());
        kept.filter(|key| !has_signed(key)).unwrap_or(authorities.service_account()).pem().clone()
    }

    /// What is kept of the authorities that were read: of each the one that signs, or that is to sign next, whichever host was asked; and so of the key of
    /// service accounts.
    fn to_be_kept(&self, authorities: &Authorities) -> Result<Authorities, Failure> {
        let trusted = |kind: AuthorityKind| {
            let own = authorities.get(kind);
            let kept = self.kept.as_ref().map(|kept| kept.escrow.authorities().get(kind));
            let set = PemSet::parse(own.certificate_pem());
            let kept = kept.filter(|kept| set.is_next(&kept.signer_pem()));
            let chosen = kept.unwrap_or(own);
            Some((chosen.signer_pem(), chosen.key_pem().cloned()))
        };
        let found = FoundAuthorities {
            kubernetes: trusted(AuthorityKind::Kubernetes),
            etcd: trusted(AuthorityKind::Etcd),
            front_proxy: trusted(AuthorityKind::FrontProxy),
            service_account: Some(self.service_account(authorities)),
            token_keys: None,
        };
        Authorities::complete(found, &Policy::default(), OffsetDateTime::UNIX_EPOCH, &mut SystemRandomness).map_err(super::made_badly)
    }

    /// Says that hosts are to sign tokens of service accounts with this key, and puts it into the file, if there is one, in the place of the one from before.
    /// Says where, if it did.
    pub(super) fn signs_with(&mut self, key: &SecretText) -> Result<Option<PathBuf>, Failure> {
        let Some(keeping) = &self.keeping else { return Ok(None) };
        // What this run has put there counts, too.
        self.kept = keeping.read().map_err(Failure::problem)?;
        let Some(kept) = &self.kept else { return Ok(None) };
        let authorities = with_service_account(kept.escrow.authorities(), key.clone())?;
        let keys = self.encryption_keys();
        let text: SecretText = escrow(&self.cluster.name, &authorities, &keys.pairs());
        if kept.text.expose() == text.expose() {
            return Ok(None);
        }
        keeping.write(Some(kept), &text).map_err(Failure::problem)?;
        let place = keeping.path().to_owned();
        self.kept = keeping.read().map_err(Failure::problem)?;
        Ok(Some(place))
    }

    fn place(&self) -> String {
        let lent = || self.cluster.settings.certificates.escrow.as_ref().map(|file| file.path.clone()).unwrap_or_default();
        self.keeping.as_ref().map_or_else(lent, |keeping| keeping.path().display().to_string())
    }

    /// Hosts and escrow have the same authority, and the cluster's file says of its key what the escrow shows to be otherwise.
    fn has_key_of_others(&self, kind: AuthorityKind) -> Failure {
        let own = self.cluster.settings.certificates.authorities.iter().find(|own| authority_kind(own.name) == kind);
        let name = own.map(|own| own.name.as_str()).unwrap_or_default();
        let place = own.map(|own| format!(" ({})", own.certificate.origin)).unwrap_or_default();
        Failure::new(Kind::Input, format!("the escrow has the key of `{name}`, and the file says that somebody else keeps it{place}"))
            .at(self.place())
            .because("that file is never overwritten, and a key that is kept is never lost for none")
            .hint("name another file as `escrow`; or write `key` beside the certificate again")
    }

    fn disagrees(&self, what: &str) -> Failure {
        Failure::new(Kind::Host, format!("{what} of the cluster is not the one that is kept of it"))
            .at(self.place())
            .because("its hosts, or the files of the cluster, have another one than that file, which is never overwritten")
            .hint(
                "name another file as `escrow`, and apply puts in what the cluster has; or, if what is kept is right, restore it on the hosts first",
            )
    }

    /// Whether something is there that is not kept, as far as can be told without the authorities.
    fn is_lacking(&self) -> bool {
        self.keeping.is_some() && (self.kept.is_none() || self.known_keys().has_more_than(&self.encryption_keys()))
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
        if !self.is_lacking() || self.used.is_empty() {
            return Ok(());
        }
        Err(Failure::new(Kind::Host, "the cluster's keys can't be kept before its hosts are asked")
            .because("a key to encrypt with is about to be used, and the authorities that it is kept with are on hosts that are no part of this run")
            .hint("leave `--limit` out this time"))
    }

    /// Puts everything into the file that is not there, before anybody else gets it. Says where, if it did.
    pub(super) fn keep(&self, authorities: &Authorities, keepers: Keepers<'_>) -> Result<Option<PathBuf>, Failure> {
        let Some(keeping) = &self.keeping else { return Ok(None) };
        if !self.is_whole(keepers) {
            return self.may_end().map(|()| None);
        }
        self.has_key_of_hosts()?;
        self.has_authorities(authorities)?;
        // With which of them hosts write by now makes no other text.
        let keys = self.known_keys().clone().with(&self.encryption_keys()).newest_first();
        let authorities = self.to_be_kept(authorities)?;
        let text: SecretText = escrow(&self.cluster.name, &authorities, &keys.pairs());
        if self.kept.as_ref().is_some_and(|kept| kept.text.expose() == text.expose()) {
            return Ok(None);
        }
        keeping.write(self.kept.as_ref(), &text).map_err(Failure::problem)?;
        Ok(Some(keeping.path().to_owned()))
    }
}

/// The same authorities with this key of service accounts. Nothing is made anew.
fn with_service_account(authorities: &Authorities, key: SecretText) -> Result<Authorities, Failure> {
    let found = FoundAuthorities { service_account: Some(key), token_keys: None, ..authorities.found() };
    Authorities::complete(found, &Policy::default(), OffsetDateTime::UNIX_EPOCH, &mut SystemRandomness).map_err(super::made_badly)
}

fn taken(lent: &kok_crds::Secret) -> Result<Kept, Failure> {
    let unreadable = |because: String| Failure::new(Kind::Internal, "the keys that were lent can't be read").because(because);
    let text = std::str::from_utf8(lent.expose()).map_err(|error| unreadable(error.to_string()))?;
    let text = SecretText::new(text.to_owned());
    let escrow = Escrow::parse(&text).map_err(|error| unreadable(error.to_string()))?;
    Ok(Kept { escrow, text })
}

#[cfg(test)]
mod tests;
