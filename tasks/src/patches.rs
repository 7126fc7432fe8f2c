//! Patches of what kubeadm writes: the user's, and what the kubelet of one host is told otherwise than those of the cluster.

use kok_crds::model::{Cluster, Host, KubeletSettings, Patch};
use kok_pki::AuthorityKind;
use serde_json::{Map, Value as Json, json};

use crate::components;
use crate::digest::sha256;
use crate::issued::is_kept_elsewhere;
use crate::list::kubeadm_configuration::CONFIGURATION_FOLDER;

/// Patches for a host, by the names that kubeadm knows them by; what kokctl patches itself comes last.
pub(crate) fn patches(cluster: &Cluster, host: &Host) -> Vec<(String, String)> {
    let of_user = &cluster.settings.components.patches;
    let name = |(index, patch): (usize, &Patch)| (format!("{}{index:03}+{}.json", patch.target, patch.kind), text(&patch.patch));
    let own = of_kubelet(cluster, host);
    let own = (!own.is_empty()).then(|| (format!("kubeletconfiguration{:03}+merge.json", of_user.len()), text(&Json::Object(own))));
    of_user.iter().enumerate().map(name).chain(own).collect()
}

fn text(patch: &Json) -> String {
    format!("{patch:#}\n")
}

/// The folder of the patches. Its name is that of its content: kubeadm takes all that lies in a folder, also what nobody wants any more.
pub(crate) fn folder(cluster: &Cluster, host: &Host) -> Option<String> {
    let patches = patches(cluster, host);
    let all: String = patches.iter().map(|(name, text)| format!("{name}\n{text}")).collect();
    let sum: String = sha256(all.as_bytes()).chars().take(12).collect();
    (!patches.is_empty()).then(|| format!("{CONFIGURATION_FOLDER}/patches-{sum}"))
}

/// The configuration in the cluster is that of all kubelets, and whoever joins takes it from there.
fn of_kubelet(cluster: &Cluster, host: &Host) -> Map<String, Json> {
    let components = &cluster.settings.components;
    let whole = |settings: &KubeletSettings| {
        let mut fields = components::kubelet(cluster, settings);
        if let Some(thresholds) = settings.evictions() {
            fields.insert("evictionHard".to_owned(), json!(thresholds));
        }
        fields
    };
    let mut patch = difference(&whole(&components.kubelet), &whole(&components.kubelet_of(host)));
    // A kubelet that asks for certificates would go on with the one that it began with, whatever is issued later; and kubeadm turns that on in
    // every configuration (`cmd/kubeadm/app/componentconfigs/kubelet.go`), but leaves alone what is patched.
    if is_kept_elsewhere(cluster, AuthorityKind::Kubernetes) {
        patch.insert("rotateCertificates".to_owned(), false.into());
    }
    patch
}

/// The merge patch (RFC 7396) that makes one of the other.
fn difference(from: &Map<String, Json>, to: &Map<String, Json>) -> Map<String, Json> {
    let gone = from.keys().filter(|name| !to.contains_key(*name)).map(|name| (name.clone(), Json::Null));
    let changed = to.iter().filter(|(name, value)| from.get(*name) != Some(value)).map(|(name, value)| {
        let value = match (from.get(name), value) {
            (Some(Json::Object(from)), Json::Object(to)) => Json::Object(difference(from, to)),
            (_, value) => value.clone(),
        };
        (name.clone(), value)
    });
    gone.chain(changed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(value: Json) -> Map<String, Json> {
        match value {
            Json::Object(map) => map,
            other => unreachable!("{other}"),
        }
    }

    #[test]
    fn a_patch_sets_what_differs_and_takes_away_what_is_gone() {
        let from = map(json!({"same": 1, "other": 1, "gone": 1, "part": {"same": 1, "other": 1, "gone": 1}, "kind": {"a": 1}}));
        let to = map(json!({"same": 1, "other": 2, "new": 3, "part": {"same": 1, "other": 2, "new": {"a": 1}}, "kind": [1]}));
        let patch = json!({"gone": null, "other": 2, "new": 3, "part": {"gone": null, "other": 2, "new": {"a": 1}}, "kind": [1]});
        assert_eq!(Json::Object(difference(&from, &to)), patch);
        assert!(difference(&to, &to).is_empty());
    }
}
