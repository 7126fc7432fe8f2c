//! Patches of the kubelet's configuration say what fields say.

use serde_json::Value as Json;

use super::Judge;
use super::fields::{KUBELET, wrong};
use crate::check::known::Known;
use crate::model::Patch;

/// The target of patches that is the kubelet's configuration, in kubeadm's words.
pub(super) const TARGET: &str = "kubeletconfiguration";

pub(super) fn patches(judge: &mut Judge<'_>, known: &Known, patches: &[Patch]) {
    for (index, patch) in patches.iter().enumerate().filter(|(_, patch)| patch.target == TARGET) {
        let position = judge.written(&[&format!("spec.vars.kubeadm_patches[{index}].patch"), "spec.vars.kubeadm_patches"]);
        for (path, value) in patched_fields(&patch.patch) {
            for problem in wrong(known, KUBELET, &path, value) {
                judge.report_at(&position, problem);
            }
        }
    }
}

/// Which fields a patch sets: with a map what is in it, with a list of operations (RFC 6902) what these put somewhere.
pub(super) fn patched_fields(patch: &Json) -> Vec<(String, &Json)> {
    match patch {
        // A word with `$` is for the patch itself (`$patch: delete`).
        Json::Object(fields) => {
            fields.iter().filter(|(name, _)| !name.starts_with('$')).map(|(name, value)| (name.clone(), value)).collect()
        }
        Json::Array(operations) => operations.iter().filter_map(operation).collect(),
        _ => Vec::new(),
    }
}

fn operation(operation: &Json) -> Option<(String, &Json)> {
    let text = |name: &str| operation.get(name).and_then(Json::as_str);
    let value = operation.get("value").filter(|_| matches!(text("op"), Some("add" | "replace")))?;
    let name = text("path")?.strip_prefix('/')?;
    // What is put deeper stands among items and keys that are not known here.
    (!name.contains('/')).then(|| (name.replace("~1", "/").replace("~0", "~"), value))
}
