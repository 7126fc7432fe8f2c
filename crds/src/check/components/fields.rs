//! Fields of configurations: whether they exist, and take such a value.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::{Judge, WrittenSetting, values};
use crate::Problem;
use crate::check::known::{Known, Program};
use crate::model::Settings;
use crate::words::{quote, with_nearest};

/// A configuration and the program that reads it.
#[derive(Clone, Copy)]
pub(super) struct Configuration {
    pub(super) program: Program,
    kind: &'static str,
    /// As messages call it.
    what: &'static str,
}

pub(super) const KUBELET: Configuration =
    Configuration { program: Program::Kubelet, kind: "KubeletConfiguration", what: "the kubelet's configuration" };
const SCHEDULER: Configuration =
    Configuration { program: Program::Scheduler, kind: "KubeSchedulerConfiguration", what: "the scheduler's configuration" };
const KUBE_PROXY: Configuration =
    Configuration { program: Program::KubeProxy, kind: "KubeProxyConfiguration", what: "kube-proxy's configuration" };

pub(super) fn fields(judge: &mut Judge<'_>, known: &Known, settings: &Settings) {
    let components = &settings.components;
    let mode = settings.kube_proxy_mode;
    let of_kubelets = components.kubelets().flat_map(|kubelet| &kubelet.fields).map(|fields| (KUBELET, fields));
    let of_scheduler = components.scheduler_configuration.iter().map(|fields| (SCHEDULER, fields));
    let of_proxy = components.kube_proxy.iter().filter(|_| !settings.kube_proxy_remove).map(|fields| (KUBE_PROXY, fields));
    for (configuration, (name, value)) in of_kubelets.chain(of_scheduler).chain(of_proxy) {
        let path = mode.field(name);
        for problem in wrong(known, configuration, &path, value) {
            judge.report(WrittenSetting::new(configuration.program, name, value), problem);
        }
    }
}

/// What is wrong with a field and all that is in it.
pub(super) fn wrong(known: &Known, configuration: Configuration, path: &str, value: &Json) -> Vec<Problem> {
    let fields = known.fields(configuration.kind);
    let mut problems = Vec::new();
    walk(known, (configuration, fields), path, value, &mut problems);
    problems
}

type Table<'a> = (Configuration, &'a BTreeMap<&'static str, &'static str>);

fn walk(known: &Known, table: Table<'_>, path: &str, value: &Json, problems: &mut Vec<Problem>) {
    let (configuration, fields) = table;
    let Some(kind) = fields.get(path) else {
        problems.push(unknown(known, table, path));
        return;
    };
    if let Some(rule) = values::of_field(kind, value) {
        problems.push(mistaken(configuration, path, value, rule));
        return;
    }
    match (*kind, value) {
        ("struct", Json::Object(entries)) => {
            entries.iter().for_each(|(name, value)| walk(known, table, &format!("{path}.{name}"), value, problems));
        }
        ("map", Json::Object(entries)) => {
            entries.values().for_each(|value| walk(known, table, &format!("{path}{{}}"), value, problems));
        }
        ("list", Json::Array(items)) => items.iter().for_each(|value| walk(known, table, &format!("{path}[]"), value, problems)),
        _ => {}
    }
}

/// A path as users write it.
fn plain(path: &str) -> String {
    path.replace("[]", "").replace("{}", "")
}

fn unknown(known: &Known, (configuration, fields): Table<'_>, path: &str) -> Problem {
    let (parent, name) = path.rsplit_once('.').map_or(("", path), |(parent, name)| (parent, name));
    let beside = fields.keys().filter_map(|field| {
        let name = if parent.is_empty() { field } else { field.strip_prefix(parent)?.strip_prefix('.')? };
        (!name.contains(['.', '[', '{'])).then_some(name)
    });
    let names: Vec<&str> = beside.collect();
    let problem = Problem::new(format!("{} of {} has no field {}", configuration.what, known.version(), quote(&plain(path))));
    let because = format!("{} would take no notice of it, and kubeadm takes no such configuration", configuration.program.words());
    with_nearest(problem.because(because), name, &names, "leave it out")
}

fn mistaken(configuration: Configuration, path: &str, value: &Json, rule: &str) -> Problem {
    let text = super::text(value);
    let problem = Problem::new(format!("the field `{}` of {} cannot be {}", plain(path), configuration.what, quote(&text)));
    let problem = problem.because(format!("{rule}, and {} does not start with anything else", configuration.program.words()));
    let is_quoted = value.is_string() && (text.parse::<f64>().is_ok() || ["true", "false"].contains(&text.as_str()));
    problem.hint(if is_quoted && !rule.contains("text") { "write it without quotes" } else { "write such a value" })
}
