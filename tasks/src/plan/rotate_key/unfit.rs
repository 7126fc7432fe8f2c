//! What keeps keys from being replaced now.

use kok_crds::listed;
use kok_crds::model::{Cluster, Host};

use super::super::make::Seen;
use super::super::refusal::Refusal;
use super::keys;
use crate::api_files::ENCRYPTION;
use crate::observe::{ApiServerState, EncryptionKeys};
use crate::preconditions;

pub(super) fn refused(cluster: &Cluster, seen: &Seen) -> Vec<Refusal> {
    let refusals = preconditions::check_reset(cluster, seen);
    if !refusals.is_empty() {
        return refusals;
    }
    if !cluster.settings.security.encryption.enabled {
        let refusal = Refusal::new("the cluster does not encrypt what etcd holds, so there is no key to replace");
        return vec![refusal.hint("write `kube_encrypt_secret_data: true`, and run `kokctl secrets change-encryption`")];
    }
    if let Some(plugin) = &cluster.settings.security.encryption.kms {
        let refusal = Refusal::new(format!("the KMS plugin {} has the keys, and replaces them itself", plugin.name));
        let because = "API servers encrypt by the key that it says is its newest, and look for a newer one once a minute";
        return vec![refusal.because(because).hint(
            "rotate the key where the plugin has it; then `kubectl get secrets --all-namespaces -o json | kubectl replace -f -`, and so for each of the resources, writes anew what is there",
        )];
    }
    let mut refusals: Vec<Refusal> = cluster.control_planes().filter_map(|host| unfit(cluster, seen, host)).collect();
    refusals.extend(others(cluster, seen).filter(|_| refusals.is_empty()));
    refusals
}

/// What keeps a control plane from reading another configuration at all.
pub(in super::super) fn silent(seen: &Seen, host: &Host) -> Option<Refusal> {
    match &seen.observations(&host.name).api_server {
        Some(ApiServerState::Ready) => None,
        Some(ApiServerState::NotReady(output)) => {
            let refusal = at(host, "its API server is not ready, and has to read the new key").because(output.trim().to_owned());
            Some(refusal.hint("see `kokctl status`, and mend it first").passing())
        }
        Some(ApiServerState::Absent) | None => {
            let refusal = at(host, "it is no control plane of the cluster yet");
            Some(refusal.hint("run `kokctl apply` first, or take the host out of the file"))
        }
    }
}

/// Without that nobody would know when an old key may go, and what was begun could not come to its end.
pub(in super::super) fn says_nothing(seen: &Seen, host: &Host) -> Option<Refusal> {
    let read = seen.observations(&host.name).encryption_read.clone().unwrap_or_default();
    // Since when it runs is in every answer.
    match (read.digest, read.age_seconds) {
        (Some(_), _) => None,
        (None, None) => {
            let refusal = at(host, "its API server was asked which keys it has read, and did not answer in time")
                .because("it is busy, or is just starting");
            Some(refusal.hint("repeat the command; see `kokctl status` if it stays so").passing())
        }
        (None, Some(_)) => {
            let refusal = at(host, "its API server does not say which keys it has read");
            let refusal = refusal
                .because("its metrics lack `apiserver_encryption_config_controller_last_config_info`, which Kubernetes has from 1.34 on");
            Some(refusal.hint("`kokctl upgrade` first; if it is 1.34 or later, look into `kubectl get --raw /metrics` at that API server"))
        }
    }
}

pub(in super::super) fn at(host: &Host, what: &str) -> Refusal {
    Refusal::new(what).at(format!("host {} ({})", host.name, host.address))
}

/// What keeps the key of a control plane from being replaced.
fn unfit(cluster: &Cluster, seen: &Seen, host: &Host) -> Option<Refusal> {
    if let Some(refusal) = silent(seen, host) {
        return Some(refusal);
    }
    let at = |what: &str| at(host, what);
    let keys = keys(seen, host);
    if !keys.layout.is_as(&cluster.settings.security.encryption) {
        let refusal =
            at("it does not encrypt as the file asks for").because("keys are replaced once nothing else is to be done about them");
        return Some(refusal.hint(match keys.digest.is_empty() {
            true => "run `kokctl apply` first, which says what is to be done",
            false => "run `kokctl secrets change-encryption` first",
        }));
    }
    if !keys.reloads {
        return Some(
            at("its API server would not read another key")
                .because("it was started without `--encryption-provider-config-automatic-reload`, as by earlier versions of kokctl")
                .hint("run `kokctl apply` first, which starts API servers anew with it, one after the other"),
        );
    }
    says_nothing(seen, host)
}

/// Two control planes whose keys have the same names, and are others: what one of them writes the other could not read.
pub(in super::super) fn others(cluster: &Cluster, seen: &Seen) -> Option<Refusal> {
    let planes: Vec<(&Host, &EncryptionKeys)> = cluster.control_planes().map(|host| (host, keys(seen, host))).collect();
    let differs = |one: &EncryptionKeys| planes.iter().find(|(_, other)| one.layout == other.layout && one.sum != other.sum);
    let (one, (other, _)) = planes.iter().find_map(|(host, keys)| Some((host, differs(keys)?)))?;
    let hosts = listed([one.name.as_str(), other.name.as_str()]);
    let refusal =
        Refusal::new(format!("{hosts} have other keys of the same names")).because("what one of them writes the other can't read");
    Some(refusal.hint(format!("compare {ENCRYPTION} of both, and put into both what reads the Secrets that there are")))
}
