//! Fields of a kubelet's configuration that have rules of their own, beyond the types of their values.

use serde_json::Value as Json;

use super::super::{Judge, text, values};
use super::{Kubelet, Name, nearest_or};
use crate::Problem;
use crate::syntax::label;
use crate::words::quote;

const LOG_SIZE: Name = ("containerLogMaxSize", "container-log-max-size");
const THROTTLING: Name = ("memoryThrottlingFactor", "");
const RESTARTS: Name = ("crashLoopBackOff.maxContainerRestartPeriod", "");
const TAINTS: Name = ("registerWithTaints", "");
const LOGGING: Name = ("logging.format", "logging-format");
const SYSCTLS: Name = ("allowedUnsafeSysctls", "allowed-unsafe-sysctls");
const IDS: Name = ("userNamespaces.idsPerPod", "");
const LOGS: Name = ("podLogsDir", "");

/// Whether a feature gate is on in the kubelet; nothing where the version's gates are not known.
pub(super) type IsOn<'a> = &'a dyn Fn(&str) -> Option<bool>;

pub(super) fn check(judge: &mut Judge<'_>, kubelet: &Kubelet, is_on: IsOn<'_>) {
    log_size(judge, kubelet);
    throttling(judge, kubelet, is_on);
    restarts(judge, kubelet, is_on);
    taints(judge, kubelet);
    log_format(judge, kubelet);
    sysctls(judge, kubelet);
    ids(judge, kubelet);
    logs(judge, kubelet);
}

/// A value that the kubelet does not start with: what it has to be, and what to write.
fn refuse(judge: &mut Judge<'_>, kubelet: &Kubelet, name: Name, rule: &str, hint: &str) {
    let Some((field, value)) = kubelet.setting(name) else { return };
    let shown = if field == name.0 || name.0.starts_with(&format!("{field}.")) { name.0 } else { field };
    let problem = Problem::new(format!("`{shown}` of the kubelet cannot be {}", quote(&text(value))));
    kubelet.blame(judge, &[name], problem.because(format!("{rule}, and the kubelet does not start otherwise")).hint(hint));
}

fn log_size(judge: &mut Judge<'_>, kubelet: &Kubelet) {
    let Some(Json::String(size)) = kubelet.setting(LOG_SIZE).map(|(_, value)| value) else { return };
    if !values::amount(size).is_some_and(|bytes| bytes.fract() == 0.0) {
        refuse(judge, kubelet, LOG_SIZE, "it is an amount of whole bytes like `10Mi`, or `10M`", "write such an amount, or leave it out");
    }
}

fn throttling(judge: &mut Judge<'_>, kubelet: &Kubelet, is_on: IsOn<'_>) {
    // What stands in files of former versions, as their default, is taken anyway.
    const FORMER: f64 = 0.9;
    let Some(factor) = kubelet.setting(THROTTLING).and_then(|(_, value)| value.as_f64()) else { return };
    if factor <= 0.0 || factor > 1.0 {
        refuse(judge, kubelet, THROTTLING, "it is more than 0, and 1.0 at the most", "write such a number, or leave it out");
    } else if is_on("MemoryQoS") == Some(false) && (factor - FORMER).abs() > f64::EPSILON {
        let hint = "switch `MemoryQoS` on in kubelet_feature_gates, or leave it out";
        refuse(judge, kubelet, THROTTLING, "it needs the feature gate `MemoryQoS`, which is off", hint);
    }
}

fn restarts(judge: &mut Judge<'_>, kubelet: &Kubelet, is_on: IsOn<'_>) {
    let Some(time) = kubelet.time(RESTARTS) else { return };
    if !(1_000..=300_000).contains(&time.as_millis()) {
        refuse(judge, kubelet, RESTARTS, "it is 1s to 300s", "write a time in that range, or leave it out");
    } else if is_on("KubeletCrashLoopBackOffMax") == Some(false) {
        let hint = "switch `KubeletCrashLoopBackOffMax` on in kubelet_feature_gates, or leave it out";
        refuse(judge, kubelet, RESTARTS, "it needs the feature gate `KubeletCrashLoopBackOffMax`, which is off", hint);
    }
}

/// `CheckTaintValidation` of Kubernetes' `pkg/util/taints`.
fn taints(judge: &mut Judge<'_>, kubelet: &Kubelet) {
    const EFFECTS: [&str; 3] = ["NoExecute", "NoSchedule", "PreferNoSchedule"];
    let Some((_, Json::Array(items))) = kubelet.setting(TAINTS) else { return };
    for item in items {
        let part = |name: &str| item.get(name).and_then(Json::as_str).unwrap_or_default();
        let (key, value, effect) = (part("key"), part("value"), part("effect"));
        let wrong = |what: &str| Problem::new(format!("`{}` of the kubelet cannot have the {what}", TAINTS.0));
        if !effect.is_empty() && !EFFECTS.contains(&effect) {
            let problem = wrong(&format!("effect {}", quote(effect)));
            let problem = problem.because(format!("it is one of {}, and the kubelet does not start otherwise", EFFECTS.join(", ")));
            kubelet.blame(judge, &[TAINTS], nearest_or(problem, effect, &EFFECTS, "write one of them"));
        }
        for (what, text, because) in [("key", key, label::key(key)), ("value", value, label::value(value))] {
            let Some(because) = because else { continue };
            let problem = wrong(&format!("{what} {}", quote(text))).because(format!("{because}, and the kubelet does not start otherwise"));
            kubelet.blame(judge, &[TAINTS], problem.hint("write a taint as `{key: a.example/b, value: c, effect: NoSchedule}`"));
        }
        if item.get("timeAdded").is_some_and(|time| !time.is_null()) {
            let problem = wrong("time `timeAdded`").because("the API says it, and the kubelet does not start with one");
            kubelet.blame(judge, &[TAINTS], problem.hint("leave it out"));
        }
    }
}

fn log_format(judge: &mut Judge<'_>, kubelet: &Kubelet) {
    const FORMATS: [&str; 2] = ["json", "text"];
    let Some(Json::String(format)) = kubelet.setting(LOGGING).map(|(_, value)| value) else { return };
    if !format.is_empty() && !FORMATS.contains(&format.as_str()) {
        let problem = Problem::new(format!("`{}` of the kubelet cannot be {}", LOGGING.0, quote(format)));
        let problem = problem.because("it is `json` or `text`, and the kubelet does not start otherwise");
        kubelet.blame(judge, &[LOGGING], nearest_or(problem, format, &FORMATS, "write one of them"));
    }
}

/// `NewAllowlist` of Kubernetes' `pkg/kubelet/sysctl`.
fn sysctls(judge: &mut Judge<'_>, kubelet: &Kubelet) {
    let Some((_, value)) = kubelet.setting(SYSCTLS) else { return };
    let names: Vec<&str> = match value {
        Json::Array(items) => items.iter().filter_map(Json::as_str).collect(),
        Json::String(text) => text.split(',').filter(|name| !name.is_empty()).collect(),
        _ => return,
    };
    for name in names {
        let because = if !is_pattern(name) {
            "it is a name like `net.core.somaxconn`, of which only the end may be `*`"
        } else if !is_of_pods(name) {
            "a pod has none of its own: those are below `net.`, `user.` and `fs.mqueue.`, or of `kernel.shm*`, `kernel.msg*`, `kernel.sem`"
        } else {
            continue;
        };
        let problem = Problem::new(format!("`{}` of the kubelet cannot have {}", SYSCTLS.0, quote(name)));
        let problem = problem.because(format!("{because}, and the kubelet does not start otherwise"));
        kubelet.blame(judge, &[SYSCTLS], problem.hint("write such a name, or leave it out"));
    }
}

/// `IsValidSysctlPattern`: parts of lower-case letters, digits, `-` and `_` between dots or slashes, and at the end perhaps `*`.
fn is_pattern(name: &str) -> bool {
    let end = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    let inner = |part: &str| part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_'));
    let is_part = |part: &str| inner(part) && end(part.chars().next()) && end(part.chars().next_back());
    let (before, last) = name.rsplit_once(['.', '/']).map_or((None, name), |(before, last)| (Some(before), last));
    let is_last = match last.strip_suffix('*') {
        Some("") => true,
        Some(part) => inner(part) && end(part.chars().next()),
        None => is_part(last),
    };
    name.len() <= 253 && is_last && before.is_none_or(|before| before.split(['.', '/']).all(is_part))
}

/// Whether it is of a namespace of the kernel that pods have of their own (`GetNamespace` of `component-helpers`).
fn is_of_pods(name: &str) -> bool {
    const NAMES: [&str; 11] = [
        "kernel.domainname",
        "kernel.msg",
        "kernel.msgmax",
        "kernel.msgmnb",
        "kernel.msgmni",
        "kernel.sem",
        "kernel.shm",
        "kernel.shm_rmid_forced",
        "kernel.shmall",
        "kernel.shmmax",
        "kernel.shmmni",
    ];
    // With slashes between its parts, a dot in it is one of a device's name.
    let first = name.chars().find(|c| matches!(c, '.' | '/'));
    let name = if first == Some('/') { name.replace('/', ".") } else { name.to_owned() };
    let beginning = name.split('*').next().unwrap_or_default();
    NAMES.contains(&beginning) || ["net.", "fs.mqueue.", "user."].iter().any(|prefix| beginning.starts_with(prefix))
}

fn ids(judge: &mut Judge<'_>, kubelet: &Kubelet) {
    const UNIT: i64 = 65_536;
    let Some(ids) = kubelet.setting(IDS).and_then(|(_, value)| value.as_i64()) else { return };
    if ids < UNIT || ids % UNIT != 0 || ids > i64::from(u32::MAX) {
        refuse(judge, kubelet, IDS, "it is 65536 or a multiple of it, below 4294967296", "write such a number, or leave it out");
    }
}

fn logs(judge: &mut Judge<'_>, kubelet: &Kubelet) {
    let Some(Json::String(path)) = kubelet.setting(LOGS).map(|(_, value)| value) else { return };
    let is_clean = path == "/" || path.strip_prefix('/').is_some_and(|rest| !rest.split('/').any(|part| matches!(part, "" | "." | "..")));
    if !path.is_empty() && (!is_clean || !path.is_ascii()) {
        let rule = "it is an absolute path of ASCII characters, without `.`, `..` and doubled slashes";
        refuse(judge, kubelet, LOGS, rule, "write such a path, or leave it out");
    }
}
