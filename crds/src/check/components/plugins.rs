//! Admission plugins and groups of the API: the API server starts with no others than it has.

use serde_json::Value as Json;

use super::{Judge, WrittenSetting};
use crate::Problem;
use crate::check::known::{Known, Program};
use crate::model::Settings;
use crate::words::{quote, with_nearest};

const ENABLED: &str = "enable-admission-plugins";
const DISABLED: &str = "disable-admission-plugins";

/// Versions of groups that the API server knows the names of, and serves no more; nobody should be sent there. What it serves is registered in
/// `pkg/registry/*/rest` of Kubernetes 1.36 and 1.37.
const DEAD: [&str; 22] = [
    "admission.k8s.io/v1",
    "admission.k8s.io/v1beta1",
    "apiextensions.k8s.io/v1beta1",
    "apiregistration.k8s.io/v1beta1",
    "apps/v1beta1",
    "apps/v1beta2",
    "authentication.k8s.io/v1alpha1",
    "authorization.k8s.io/v1beta1",
    "batch/v1beta1",
    "discovery.k8s.io/v1beta1",
    "events.k8s.io/v1beta1",
    "extensions/v1beta1",
    "flowcontrol.apiserver.k8s.io/v1beta1",
    "flowcontrol.apiserver.k8s.io/v1beta2",
    "flowcontrol.apiserver.k8s.io/v1beta3",
    "imagepolicy.k8s.io/v1alpha1",
    "node.k8s.io/v1alpha1",
    "node.k8s.io/v1beta1",
    "policy/v1beta1",
    "rbac.authorization.k8s.io/v1alpha1",
    "rbac.authorization.k8s.io/v1beta1",
    "storage.k8s.io/v1alpha1",
];

pub(super) fn plugins(judge: &mut Judge<'_>, known: &Known, settings: &Settings) {
    let options = &settings.components.api_server.options;
    let setting_of = |option: &'static str| {
        let value = options.get(option)?;
        Some((WrittenSetting::new(Program::ApiServer, option, value), names(value)))
    };
    for (setting, names) in [ENABLED, DISABLED].into_iter().filter_map(setting_of) {
        for name in names.iter().filter(|name| !known.plugins.contains(name)) {
            let problem = Problem::new(format!("{} is no admission plugin of {}", quote(name), known.version()));
            let problem = problem.because("the API server does not start with one that it does not know");
            judge.report(setting, with_nearest(problem, name, &known.plugins, "leave it out"));
        }
    }
    if let (Some((setting, enabled)), Some((_, disabled))) = (setting_of(ENABLED), setting_of(DISABLED)) {
        for name in enabled.iter().filter(|name| disabled.contains(name)) {
            let problem = Problem::new(format!("the admission plugin {} is on and off at once", quote(name)));
            judge.report(setting, problem.because("the API server does not start with both").hint("leave it out of one of the two lists"));
        }
    }
    groups(judge, known, settings);
}

/// Versions of groups that are switched on or off, and resources of them (`ParseGroupVersions` of `apiserver/pkg/server/resourceconfig`).
fn groups(judge: &mut Judge<'_>, known: &Known, settings: &Settings) {
    let Some(value) = settings.components.api_server.options.get("runtime-config") else { return };
    for entry in names(value) {
        let name = entry.split_once('=').map_or(entry, |(name, _)| name);
        let parts: Vec<&str> = name.splitn(3, '/').collect();
        let is_known = match parts.as_slice() {
            // The first group has no name.
            [version] => *version == "v1",
            ["api", kind] => ["all", "ga", "beta", "alpha", "legacy"].contains(kind),
            [group, version, ..] => known.groups.contains(&format!("{group}/{version}").as_str()),
            [] => true,
        };
        if is_known {
            continue;
        }
        let problem = Problem::new(format!("{} is no version of a group of the API of {}", quote(name), known.version()));
        let problem = problem.because("the API server does not start where one is switched on or off that it does not have");
        let setting = WrittenSetting::new(Program::ApiServer, "runtime-config", value);
        let served: Vec<&str> = known.groups.iter().copied().filter(|group| !DEAD.contains(group)).collect();
        let group = |name: &'_ str| name.split('/').next().map(str::to_owned);
        judge.report(
            setting,
            match served.iter().find(|version| group(version) == group(name)) {
                Some(version) => problem.hint(format!("did you mean `{version}`?")),
                None => with_nearest(problem, name, &served, "leave it out"),
            },
        );
    }
}

fn names(value: &Json) -> Vec<&str> {
    value.as_str().unwrap_or_default().split(',').filter(|name| !name.is_empty()).collect()
}
