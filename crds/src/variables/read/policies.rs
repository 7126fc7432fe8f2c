//! How the kubelet gives processors to pods.

use crate::Problem;
use crate::decode::{Decoder, Field};
use crate::model::Settings;
use crate::variables::spelled;
use crate::words::{quote, with_nearest};

/// Options of the policy `static` (pkg/kubelet/cm/cpumanager/policy_options.go of Kubernetes 1.36); the policy `none` has none.
pub(crate) const STATIC_POLICY_OPTIONS: [&str; 6] = [
    "align-by-socket",
    "distribute-cpus-across-cores",
    "distribute-cpus-across-numa",
    "full-pcpus-only",
    "prefer-align-cpus-by-uncorecache",
    "strict-cpu-reservation",
];

/// The kubelet reads texts, so that a boolean becomes one.
pub(crate) fn options(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let Some(entries) = decoder.entries(field, &format!("`{}`", field.name())) else { return };
    let mut options = serde_json::Map::new();
    for entry in entries {
        let value = spelled(&entry.node).to_ascii_lowercase();
        if !STATIC_POLICY_OPTIONS.contains(&entry.key.as_str()) {
            let problem = Problem::new(format!("{} is no option of the static CPU policy", quote(&entry.key))).at(&entry.key_position);
            let problem = problem.because(format!("the kubelet knows {}", STATIC_POLICY_OPTIONS.join(", ")));
            decoder.report(with_nearest(problem, &entry.key, &STATIC_POLICY_OPTIONS, "leave it out"));
        } else if !["true", "false"].contains(&value.as_str()) {
            let problem = Problem::new(format!("{} cannot have that value", quote(&entry.key))).at(&entry.node.position);
            decoder.report(problem.because("it is `true` or `false`").hint("write one of them"));
        } else {
            options.insert(entry.key.clone(), value.into());
        }
    }
    if !options.is_empty() {
        super::values::put(decoder, field, &mut settings.components.kubelet.fields, "cpuManagerPolicyOptions", options.into());
    }
}
