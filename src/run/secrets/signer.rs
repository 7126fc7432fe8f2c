//! What signs in a run.

use std::collections::BTreeSet;

use kok_crds::model::Cluster;
use kok_pki::{Authorities, AuthorityKind, SecretText};
use kok_tasks::plan::Plan;
use kok_tasks::secret_name::SecretName;
use time::OffsetDateTime;

use super::escrow::Escrowed;
use super::keepers::{CERTIFICATE, Keepers, may_be_made, read_authorities, read_files};
use super::made_badly;
use crate::failure::{Failure, Kind};
use crate::run::link::Links;

/// What signs, or at least says who would.
pub(super) enum Signer {
    Keys(Box<Authorities>),
    Certificate(String),
}

impl Signer {
    /// What signs in this run, from their keepers: keys leave a host only where something has to be signed, or is owed to the escrow.
    pub(super) async fn find(
        cluster: &Cluster,
        plan: &Plan,
        (names, owed): (&BTreeSet<SecretName>, bool),
        (keepers, escrow): (Keepers<'_>, &Escrowed<'_>),
        links: &Links,
        now: OffsetDateTime,
    ) -> Result<Self, Failure> {
        let signs = |name: &SecretName| {
            matches!(name, SecretName::ControlPlaneFile { .. } | SecretName::KubeletFile { .. } | SecretName::SuperAdminKubeconfig { .. })
        };
        let of_set = |name: &SecretName| matches!(name, SecretName::ControlPlaneFile { .. });
        match keepers.control_plane {
            None if !may_be_made(cluster, plan, names, keepers) => {
                Err(Failure::new(Kind::Internal, "something has to be signed, and no host is known to have the authorities"))
            }
            Some(keeper) if !names.iter().any(signs) && !owed => {
                Ok(Self::Certificate(read_files(keeper, links, &[CERTIFICATE]).await?.iter().map(|file| file.as_str()).collect()))
            }
            _ => {
                let signs_for_etcd = names.iter().any(of_set);
                Ok(Self::Keys(Box::new(read_authorities(cluster, keepers, (escrow, signs_for_etcd), links, now).await?)))
            }
        }
    }

    /// The same with an authority of which the run knows more than its keeper, where something is signed.
    pub(super) fn with(self, kind: AuthorityKind, trusted: &str, key: Option<&SecretText>) -> Result<Self, Failure> {
        match self {
            Self::Keys(authorities) => {
                let authorities = authorities.with(kind, trusted.to_owned(), key.cloned()).map_err(made_badly)?;
                Ok(Self::Keys(Box::new(authorities)))
            }
            Self::Certificate(_) if kind == AuthorityKind::Kubernetes => Ok(Self::Certificate(trusted.to_owned())),
            Self::Certificate(certificate) => Ok(Self::Certificate(certificate)),
        }
    }

    pub(super) fn keys(&self) -> Result<&Authorities, Failure> {
        match self {
            Self::Keys(authorities) => Ok(authorities),
            Self::Certificate(_) => Err(Failure::new(Kind::Internal, "something has to be signed, and the keys were not read")),
        }
    }

    pub(super) fn certificate(&self) -> &str {
        match self {
            Self::Keys(authorities) => authorities.get(AuthorityKind::Kubernetes).certificate_pem(),
            Self::Certificate(certificate) => certificate,
        }
    }
}
