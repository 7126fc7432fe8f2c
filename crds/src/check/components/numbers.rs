//! Numbers and times that are out of their range.

use std::time::Duration;

use super::{Judge, WrittenSetting, servers, text};
use crate::Problem;
use crate::check::known::Program;
use crate::model::Settings;
use crate::syntax::duration::duration;
use crate::words::quote;

/// Fields of the kubelet's configuration, and options that say the same: the least and the most that it takes.
const OF_KUBELET: [(&str, &str, i64, i64); 22] = [
    ("containerLogMaxFiles", "container-log-max-files", 2, i32::MAX as i64),
    ("containerLogMaxWorkers", "", 1, i32::MAX as i64),
    ("eventBurst", "event-burst", 0, i32::MAX as i64),
    ("eventRecordQPS", "event-qps", 0, i32::MAX as i64),
    ("healthzPort", "healthz-port", 0, PORTS),
    ("imageGCHighThresholdPercent", "image-gc-high-threshold", 0, 100),
    ("imageGCLowThresholdPercent", "image-gc-low-threshold", 0, 100),
    ("iptablesDropBit", "iptables-drop-bit", 0, 31),
    ("iptablesMasqueradeBit", "iptables-masquerade-bit", 0, 31),
    ("kubeAPIBurst", "kube-api-burst", 0, i32::MAX as i64),
    ("kubeAPIQPS", "kube-api-qps", 0, i32::MAX as i64),
    ("maxOpenFiles", "max-open-files", 0, i64::MAX),
    ("maxParallelImagePulls", "", 1, i32::MAX as i64),
    ("maxPods", "max-pods", 0, i32::MAX as i64),
    ("nodeLeaseDurationSeconds", "", 1, i32::MAX as i64),
    ("nodeStatusMaxImages", "node-status-max-images", -1, i32::MAX as i64),
    ("oomScoreAdj", "oom-score-adj", -1000, 1000),
    ("podsPerCore", "pods-per-core", 0, i32::MAX as i64),
    ("port", "port", 1, PORTS),
    ("readOnlyPort", "read-only-port", 0, PORTS),
    ("registryBurst", "registry-burst", 0, i32::MAX as i64),
    ("registryPullQPS", "registry-qps", 0, i32::MAX as i64),
];
const PORTS: i64 = 65_535;

/// Options of servers of that kind.
const OF_SERVERS: [(Program, &str, i64, i64); 9] = [
    (Program::ApiServer, "audit-log-maxage", 0, i64::MAX),
    (Program::ApiServer, "audit-log-maxbackup", 0, i64::MAX),
    (Program::ApiServer, "audit-log-maxsize", 0, i64::MAX),
    (Program::ApiServer, "kubernetes-service-node-port", 0, PORTS),
    (Program::ApiServer, "max-mutating-requests-inflight", 0, i64::MAX),
    (Program::ApiServer, "max-requests-inflight", 0, i64::MAX),
    (Program::ApiServer, "min-request-timeout", 0, i64::MAX),
    (Program::ControllerManager, "secure-port", 1, PORTS),
    (Program::Scheduler, "secure-port", 1, PORTS),
];

/// Times of the kubelet, in milliseconds.
const TIMES: [(&str, &str, u64, u64); 2] =
    [("containerLogMonitorInterval", "", 3_000, u64::MAX), ("cpuCFSQuotaPeriod", "cpu-cfs-quota-period", 1, 1_000)];

pub(super) fn numbers(judge: &mut Judge<'_>, settings: &Settings) {
    for kubelet in settings.components.kubelets() {
        for (field, option, least, most) in OF_KUBELET {
            let places = [(field, kubelet.fields.get(field)), (option, kubelet.options.get(option))];
            for (name, value) in places.into_iter().filter_map(|(name, value)| Some((name, value?))) {
                number(judge, WrittenSetting::new(Program::Kubelet, name, value), (least, most));
            }
        }
        for (field, option, least, most) in TIMES {
            let places = [(field, kubelet.fields.get(field)), (option, kubelet.options.get(option))];
            for (name, value) in places.into_iter().filter_map(|(name, value)| Some((name, value?))) {
                time(judge, WrittenSetting::new(Program::Kubelet, name, value), (least, most));
            }
        }
    }
    for (program, component) in servers(settings) {
        let own = OF_SERVERS.into_iter().filter(|(owner, ..)| *owner == program);
        for (_, name, least, most) in own {
            let Some(value) = component.options.get(name) else { continue };
            let setting = WrittenSetting::new(program, name, value);
            if name == "secure-port" && text(value) == "0" {
                judge.report(setting, closed(program));
            } else {
                number(judge, setting, (least, most));
            }
        }
    }
}

/// Without its port the component does start, and the kubelet ends it again and again.
fn closed(program: Program) -> Problem {
    let problem = Problem::new(format!("`secure-port` of {} cannot be `0`", program.words()));
    let because = "0 closes the port at which the kubelet asks whether it is well, so that the kubelet would start it again and again";
    problem.because(because).hint("write a port from 1 to 65535, or leave it out")
}

/// What is no number at all is told as such.
fn number(judge: &mut Judge<'_>, setting: WrittenSetting<'_>, (least, most): (i64, i64)) {
    let Some(number) = setting.value.as_i64().or_else(|| setting.value.as_str()?.parse().ok()) else { return };
    if (least..=most).contains(&number) {
        return;
    }
    let range = if most >= i64::from(i32::MAX) { format!("{least} or more") } else { format!("{least} to {most}") };
    judge.report(setting, out_of_range(setting, &range));
}

fn time(judge: &mut Judge<'_>, setting: WrittenSetting<'_>, (least, most): (u64, u64)) {
    let Some(time) = setting.value.as_str().and_then(duration) else { return };
    if (Duration::from_millis(least)..=Duration::from_millis(most)).contains(&time) {
        return;
    }
    let range = if most == u64::MAX { format!("{least}ms or more") } else { format!("{least}ms to {most}ms") };
    judge.report(setting, out_of_range(setting, &range));
}

fn out_of_range(setting: WrittenSetting<'_>, range: &str) -> Problem {
    let problem = Problem::new(format!("`{}` cannot be {}", setting.name, quote(&text(setting.value))));
    problem.because(format!("it is {range}, and the component does not start with anything else")).hint("write a value in that range")
}
