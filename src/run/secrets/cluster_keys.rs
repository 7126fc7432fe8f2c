//! All keys of a cluster that runs, for a backup of it.

use kok_crds::model::Cluster;
use kok_pki::{SecretText, escrow};
use time::OffsetDateTime;

use super::encryption_key::{NamedKeys, read_encryption_keys};
use super::escrow::Escrowed;
use super::keepers::{Keepers, read_authorities};
use crate::failure::{Failure, Kind};
use crate::run::link::Links;

/// The keys that can't be made a second time, as an escrow has them: read from the hosts that keep them, and nothing is made.
///
/// # Errors
/// [`Failure`] where nobody keeps them, or they can't be read.
pub async fn cluster_keys(cluster: &Cluster, keepers: Keepers<'_>, links: &Links, now_seconds: i64) -> Result<SecretText, Failure> {
    if keepers.control_plane.is_none() || keepers.etcd.is_none() {
        let failure =
            Failure::new(Kind::Host, "the keys of the cluster can't be read").because("no host that answers has all of its authorities");
        return Err(failure.hint("`kokctl status` says what is wrong with the control planes, and with the hosts of etcd"));
    }
    let now = OffsetDateTime::from_unix_timestamp(now_seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let none = Escrowed::none(cluster);
    let authorities = read_authorities(cluster, keepers, (&none, true), links, now).await?;
    let keys = match keepers.encryption {
        Some(host) => read_encryption_keys(host, links).await?,
        None => NamedKeys::default(),
    };
    Ok(escrow(&cluster.name, &authorities, &keys.pairs()))
}
