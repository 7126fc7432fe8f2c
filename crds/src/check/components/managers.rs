//! The kubelet's managers of processors, memory and topology, which want to know what is kept from pods (`NewManager` of Kubernetes'
//! `pkg/kubelet/cm/cpumanager`, `memorymanager` and `topologymanager`).

use serde_json::Value as Json;

use super::kubelet::{Kubelet, Name};
use super::{Judge, text, values};
use crate::Problem;
use crate::model::Reserved;
use crate::variables::STATIC_POLICY_OPTIONS;
use crate::words::{quote, with_nearest};

const PROCESSORS: Name = ("cpuManagerPolicy", "cpu-manager-policy");
const PROCESSOR_OPTIONS: Name = ("cpuManagerPolicyOptions", "cpu-manager-policy-options");
const RESERVED_PROCESSORS: Name = ("reservedSystemCPUs", "reserved-cpus");
const MEMORY: Name = ("memoryManagerPolicy", "memory-manager-policy");
const RESERVED_MEMORY: Name = ("reservedMemory", "reserved-memory");
const TOPOLOGY_OPTIONS: Name = ("topologyManagerPolicyOptions", "topology-manager-policy-options");

const OF_TOPOLOGY: [&str; 2] = ["max-allowable-numa-nodes", "prefer-closest-numa-nodes"];

/// The kubelet's own threshold of memory (`memory.available` of `evictionHard`).
const USUAL_EVICTION: f64 = 104_857_600.0;

pub(super) fn check(judge: &mut Judge<'_>, kubelet: &Kubelet) {
    let policy = |name: Name| kubelet.setting(name).map(|(_, value)| text(value)).unwrap_or_default();
    processors(judge, kubelet, policy(PROCESSORS) == "static");
    if policy(MEMORY) == "Static" {
        memory(judge, kubelet);
    }
    for (name, known) in [(PROCESSOR_OPTIONS, &STATIC_POLICY_OPTIONS[..]), (TOPOLOGY_OPTIONS, &OF_TOPOLOGY[..])] {
        for option in options(kubelet, name).iter().filter(|option| !known.contains(&option.as_str())) {
            let problem = Problem::new(format!("{} is none of the `{}`", quote(option), name.0));
            let problem = problem.because(format!("the kubelet knows {}, and does not start with others", known.join(", ")));
            kubelet.blame(judge, &[name], with_nearest(problem, option, known, "leave it out"));
        }
    }
}

/// Names of options that are a map, or pairs on the command line.
fn options(kubelet: &Kubelet, name: Name) -> Vec<String> {
    match kubelet.setting(name) {
        Some((_, Json::Object(options))) => options.keys().cloned().collect(),
        Some((_, Json::String(pairs))) => pairs.split(',').filter_map(|pair| Some(pair.split_once('=')?.0.trim().to_owned())).collect(),
        _ => Vec::new(),
    }
}

fn processors(judge: &mut Judge<'_>, kubelet: &Kubelet, is_static: bool) {
    if let Some((name, value)) = kubelet.setting(RESERVED_PROCESSORS)
        && !is_list_of_processors(&text(value))
    {
        let problem = Problem::new(format!("`{name}` cannot be {}", quote(&text(value))));
        let problem = problem.because("it is a list of numbers of processors, and the kubelet does not start otherwise");
        kubelet.blame(judge, &[RESERVED_PROCESSORS], problem.hint("write a list like `0-1,4`"));
    }
    if !is_static && !options(kubelet, PROCESSOR_OPTIONS).is_empty() {
        let problem = Problem::new(format!("`{}` needs the policy `static`", PROCESSOR_OPTIONS.0));
        let problem = problem.because("the kubelet does not start with such options and without that policy");
        kubelet.blame(judge, &[PROCESSOR_OPTIONS], problem.hint("write `kubelet_cpu_manager_policy: static`, or leave them out"));
    }
    let is_reserved = kubelet.setting(RESERVED_PROCESSORS).is_some_and(|(_, value)| !text(value).is_empty());
    let is_told = judge.decoder.has_turned_down(&["cpu", "kubeReserved", "systemReserved"]);
    if is_static && !is_reserved && !is_told && reserved(kubelet, "cpu") <= 0.0 {
        let problem = Problem::new("the kubelet cannot give pods processors of their own and keep none");
        let because = "with the policy `static` it does not start unless something is kept for the host and for Kubernetes";
        let hint = "write `system_cpu_reserved: 500m` or `kube_cpu_reserved`, or `reservedSystemCPUs` in kubelet_config_extra_args";
        kubelet.blame(judge, &[PROCESSORS], problem.because(because).hint(hint));
    }
}

/// Numbers and ranges with commas between (`cpuset.Parse`).
fn is_list_of_processors(text: &str) -> bool {
    let is_part = |part: &str| match part.split_once('-') {
        Some((first, last)) => matches!((first.parse::<u32>(), last.parse::<u32>()), (Ok(first), Ok(last)) if first <= last),
        None => part.parse::<u32>().is_ok(),
    };
    text.is_empty() || text.split(',').all(is_part)
}

/// What is kept from pods of a resource, with the amounts that are kept where only that something is kept is said.
fn reserved(kubelet: &Kubelet, resource: &str) -> f64 {
    let amount_of = |reserved: &Reserved, usual: [(&str, f64); 2]| {
        let given = reserved.amounts.get(resource).and_then(|text| values::amount(text));
        let usual = usual.into_iter().find(|(name, _)| *name == resource && reserved.enabled == Some(true)).map(|(_, amount)| amount);
        given.or(usual).unwrap_or_default()
    };
    let settings = &kubelet.settings;
    amount_of(&settings.kube_reserved, [("cpu", 0.1), ("memory", 268_435_456.0)])
        + amount_of(&settings.system_reserved, [("cpu", 0.5), ("memory", 536_870_912.0)])
}

/// What it keeps of memory has to be on some part of the host's memory, to the byte.
fn memory(judge: &mut Judge<'_>, kubelet: &Kubelet) {
    let Some(kept) = kept_memory(kubelet) else { return };
    let evicted = kubelet
        .settings
        .evictions()
        .map_or(Some(USUAL_EVICTION), |thresholds| thresholds.get("memory.available").map_or(Some(0.0), |text| values::amount(text)));
    // A share of the memory is known on the host only.
    let Some(evicted) = evicted else { return };
    let needed = reserved(kubelet, "memory") + evicted;
    if (kept - needed).abs() < 0.5 || judge.decoder.has_turned_down(&["memory", "kubeReserved", "systemReserved", "evictionHard"]) {
        return;
    }
    let problem = Problem::new(format!("`reservedMemory` has {} bytes of memory, and {} are kept from pods", kept.round(), needed.round()));
    let because = "with the policy `Static` the kubelet does not start unless both are the same; kept are reserved amounts and the threshold \
                   `memory.available`, 100Mi without a word";
    let hint = format!(
        "write `reservedMemory: [{{numaNode: 0, limits: {{memory: {}}}}}]` in kubelet_config_extra_args, or share it out among the NUMA nodes",
        needed.round()
    );
    kubelet.blame(judge, &[RESERVED_MEMORY, MEMORY], problem.because(because).hint(hint));
}

/// The memory of all entries of `reservedMemory`; nothing where it is said by an option, or what is said is none.
fn kept_memory(kubelet: &Kubelet) -> Option<f64> {
    match kubelet.setting(RESERVED_MEMORY) {
        None => Some(0.0),
        Some((_, Json::Array(items))) => {
            let limits = items.iter().filter_map(|item| item.get("limits")?.get("memory"));
            limits.map(|limit| values::amount(&text(limit))).sum()
        }
        Some(_) => None,
    }
}
