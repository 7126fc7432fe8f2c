//! Fields of a kubelet's configuration that take some words only.

use serde_json::Value as Json;

use super::super::{Judge, text};
use super::{Kubelet, Name, nearest_or};
use crate::Problem;
use crate::words::quote;

const WORDS: [(Name, &[&str]); 10] = [
    (("configMapAndSecretChangeDetectionStrategy", ""), &["Get", "Cache", "Watch"]),
    (("cpuManagerPolicy", "cpu-manager-policy"), &["none", "static"]),
    (("hairpinMode", "hairpin-mode"), &["promiscuous-bridge", "hairpin-veth", "none"]),
    (
        ("imagePullCredentialsVerificationPolicy", ""),
        &["NeverVerify", "NeverVerifyPreloadedImages", "NeverVerifyAllowlistedImages", "AlwaysVerify"],
    ),
    (("memoryManagerPolicy", "memory-manager-policy"), &["None", "Static"]),
    (("memoryReservationPolicy", ""), &["None", "TieredReservation"]),
    (("memorySwap.swapBehavior", ""), &["", "NoSwap", "LimitedSwap"]),
    (("tlsMinVersion", "tls-min-version"), &["", "VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"]),
    (("topologyManagerPolicy", "topology-manager-policy"), &["none", "best-effort", "restricted", "single-numa-node"]),
    (("topologyManagerScope", "topology-manager-scope"), &["container", "pod"]),
];

/// What limits may hold for (`enforceNodeAllocatable`), each with the field that names the control group that it needs.
const ENFORCED: [(&str, Option<&str>); 6] = [
    ("pods", None),
    ("none", None),
    ("kube-reserved", Some("kubeReservedCgroup")),
    ("kube-reserved-compressible", Some("kubeReservedCgroup")),
    ("system-reserved", Some("systemReservedCgroup")),
    ("system-reserved-compressible", Some("systemReservedCgroup")),
];
const ENFORCE: Name = ("enforceNodeAllocatable", "");

pub(super) fn check(judge: &mut Judge<'_>, kubelet: &Kubelet) {
    for (name, words) in WORDS {
        let Some((field, value)) = kubelet.setting(name) else { continue };
        let written = text(value);
        // What is no text is told as such.
        if value.is_string() && !words.contains(&written.as_str()) {
            let problem = Problem::new(format!("`{field}` of the kubelet cannot be {}", quote(&written)));
            let words: Vec<&str> = words.iter().copied().filter(|word| !word.is_empty()).collect();
            let problem = problem.because(format!("it is one of {}, and the kubelet does not start otherwise", words.join(", ")));
            kubelet.blame(judge, &[name], nearest_or(problem, &written, &words, "write one of them"));
        }
    }
    enforced(judge, kubelet);
}

fn enforced(judge: &mut Judge<'_>, kubelet: &Kubelet) {
    let Some((_, Json::Array(items))) = kubelet.setting(ENFORCE) else { return };
    let names: Vec<&str> = items.iter().filter_map(Json::as_str).collect();
    for (index, name) in names.iter().enumerate() {
        let problem = Problem::new(format!("`{}` of the kubelet cannot have {}", ENFORCE.0, quote(name)));
        let known = ENFORCED.iter().find(|(known, _)| known == name);
        let because = match known {
            None => format!("it knows {}", ENFORCED.map(|(known, _)| known).join(", ")),
            Some((_, Some(group))) if !kubelet.settings.fields.contains_key(*group) => {
                format!("it needs the control group that `{group}` names")
            }
            _ if names.iter().position(|other| other == name) != Some(index) => "it stands twice".to_owned(),
            _ if *name == "none" && names.len() > 1 => "`none` stands alone".to_owned(),
            _ => continue,
        };
        let problem = problem.because(format!("{because}, and the kubelet does not start otherwise"));
        kubelet.blame(judge, &[ENFORCE], problem.hint("write `[pods]`, or leave it out"));
    }
}
