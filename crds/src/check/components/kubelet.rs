//! What a kubelet is told in the end, from all places together, and whether it starts with it (`ValidateKubeletConfiguration` of Kubernetes'
//! `pkg/kubelet/apis/config/validation`, `ParseThresholdConfig` of `pkg/kubelet/eviction`).

use std::time::Duration;

use serde_json::Value as Json;

use super::{Judge, WrittenSetting, gates, managers, patches, ports, text, values};
use crate::Problem;
use crate::check::known::{Known, Program};
use crate::model::{Components, Host, KubeletSettings, Roles, Settings, Values};
use crate::read::ReadHost;
use crate::syntax::duration::duration;
use crate::words::{quote, with_nearest};

mod eviction;
mod single;
mod words;

/// The kubelet of a host, or of several that are told the same.
pub(super) struct Kubelet {
    /// What it is told, with what patches say.
    pub(super) settings: KubeletSettings,
    /// Parts of the paths that say it, the likeliest first.
    likely: Vec<String>,
}

/// A field of its configuration and the option that says the same and counts more.
pub(super) type Name = (&'static str, &'static str);

impl Kubelet {
    /// What one of the two says, with the name under which it is said.
    pub(super) fn setting(&self, (field, option): Name) -> Option<(&'static str, &Json)> {
        let of_option = self.settings.options.get(option).map(|value| (option, value));
        let within = || {
            let (whole, part) = field.split_once('.')?;
            Some((whole, self.settings.fields.get(whole)?.get(part)?))
        };
        of_option.or_else(|| self.settings.fields.get(field).map(|value| (field, value))).or_else(within)
    }

    pub(super) fn number(&self, name: Name) -> Option<i64> {
        self.setting(name).and_then(|(_, value)| value.as_i64().or_else(|| value.as_str()?.parse().ok()))
    }

    pub(super) fn time(&self, name: Name) -> Option<Duration> {
        self.setting(name).and_then(|(_, value)| duration(value.as_str()?))
    }

    /// Reports a problem with what the first of these that is said says.
    pub(super) fn blame(&self, judge: &mut Judge<'_>, names: &[Name], problem: Problem) {
        let likely: Vec<&str> = self.likely.iter().map(String::as_str).chain(Program::Kubelet.likely().iter().copied()).collect();
        // Of a part of a map, the place of the map is known.
        let whole = |(name, value)| (name, self.settings.fields.get(name).unwrap_or(value));
        match names.iter().find_map(|name| self.setting(*name)).map(whole) {
            Some((name, value)) => judge.report(WrittenSetting { name, value, likely: &likely }, problem),
            None => judge.report_at(&judge.spec.clone(), problem),
        }
    }
}

pub(super) fn kubelets(judge: &mut Judge<'_>, known: Option<&Known>, settings: &Settings, hosts: &[ReadHost<'_>]) {
    let components = &settings.components;
    let mut seen: Vec<(KubeletSettings, Roles)> = Vec::new();
    for (index, host) in hosts.iter().enumerate().filter_map(|(index, host)| Some((index, host.host.as_ref()?))) {
        let own = (kubelet_settings(components, host), host.roles);
        if host.roles.is_node() && !seen.contains(&own) {
            let kubelet = Kubelet { settings: own.0.clone(), likely: vec![format!("spec.hosts[{index}].")] };
            check(judge, &kubelet, &|name| gates::is_kubelets_on(known?, settings, name));
            ports::ports(judge, settings, host, &kubelet);
            seen.push(own);
        }
    }
}

/// As kubeadm and kokctl make it: the configuration of all, the user's patches, and what the host is told otherwise.
fn kubelet_settings(components: &Components, host: &Host) -> KubeletSettings {
    let mut settings = components.kubelet_of(host);
    let of_all = &components.kubelet.fields;
    for patch in components.patches.iter().filter(|patch| patch.target == patches::TARGET) {
        for (name, value) in patches::patched_fields(&patch.patch) {
            let is_otherwise = settings.fields.get(&name) != of_all.get(&name);
            if !is_otherwise {
                settings.fields.insert(name, value.clone());
            }
        }
    }
    settings
}

const HIGH: Name = ("imageGCHighThresholdPercent", "image-gc-high-threshold");
const LOW: Name = ("imageGCLowThresholdPercent", "image-gc-low-threshold");
const SHUTDOWN: Name = ("shutdownGracePeriod", "");
const CRITICAL: Name = ("shutdownGracePeriodCriticalPods", "");
const OLDEST: Name = ("imageMaximumGCAge", "");
const YOUNGEST: Name = ("imageMinimumGCAge", "minimum-image-ttl-duration");
const PULLS: Name = ("maxParallelImagePulls", "");
const SERIAL: Name = ("serializeImagePulls", "serialize-image-pulls");

fn check(judge: &mut Judge<'_>, kubelet: &Kubelet, is_on: single::IsOn<'_>) {
    images(judge, kubelet);
    shutdown(judge, kubelet);
    eviction::check(judge, kubelet);
    words::check(judge, kubelet);
    single::check(judge, kubelet, is_on);
    managers::check(judge, kubelet);
}

fn images(judge: &mut Judge<'_>, kubelet: &Kubelet) {
    let (high, low) = (kubelet.number(HIGH).unwrap_or(85), kubelet.number(LOW).unwrap_or(80));
    let is_in_range = (0..=100).contains(&high) && (0..=100).contains(&low);
    if is_in_range && low >= high {
        let problem = Problem::new(format!("images are removed from {high} % of the disk on, and down to {low} %"));
        let problem = problem.because("the kubelet does not start unless the second is less than the first; its own are 85 and 80");
        kubelet.blame(judge, &[LOW, HIGH], problem.hint("write kubelet_image_gc_low_threshold below kubelet_image_gc_high_threshold"));
    }
    let (oldest, youngest) = (kubelet.time(OLDEST).unwrap_or_default(), kubelet.time(YOUNGEST).unwrap_or(Duration::from_secs(120)));
    if !oldest.is_zero() && oldest <= youngest {
        let problem = Problem::new(format!("`{}` is not longer than `{}`", OLDEST.0, YOUNGEST.0));
        let problem = problem.because("the kubelet does not start with that; the second is 2m0s without a word");
        kubelet.blame(judge, &[OLDEST], problem.hint("write a longer time, or leave it out"));
    }
    let is_serial = kubelet.setting(SERIAL).is_some_and(|(_, value)| text(value) == "true");
    if is_serial && kubelet.number(PULLS).is_some_and(|pulls| pulls > 1) {
        let problem = Problem::new("images cannot be fetched one by one and several at once");
        let problem = problem.because(format!("the kubelet does not start with `{}: true` and more than one of `{}`", SERIAL.0, PULLS.0));
        kubelet.blame(judge, &[PULLS], problem.hint("keep one of the two"));
    }
}

fn shutdown(judge: &mut Judge<'_>, kubelet: &Kubelet) {
    let (whole, critical) = (kubelet.time(SHUTDOWN).unwrap_or_default(), kubelet.time(CRITICAL).unwrap_or_default());
    let period = |name: Name| kubelet.setting(name).map_or_else(|| "0s".to_owned(), |(_, value)| text(value));
    if critical > whole {
        let problem =
            Problem::new(format!("critical pods have {} of the {} that a host waits for its pods", period(CRITICAL), period(SHUTDOWN)));
        let problem = problem.because("the kubelet does not start with that: the time of critical pods is part of the whole");
        let hint = "write kubelet_shutdown_grace_period, and kubelet_shutdown_grace_period_critical_pods that is not longer";
        kubelet.blame(judge, &[CRITICAL], problem.hint(hint));
    }
    let too_short = |time: Duration| !time.is_zero() && time < Duration::from_secs(1);
    for name in [(whole, SHUTDOWN), (critical, CRITICAL)].into_iter().filter(|(time, _)| too_short(*time)).map(|(_, name)| name) {
        let problem = Problem::new(format!("`{}` cannot be {}", name.0, quote(&period(name))));
        kubelet.blame(judge, &[name], problem.because("the kubelet takes 0s, or a second and more").hint("write such a time"));
    }
    if !whole.is_zero() && kubelet.setting(("shutdownGracePeriodByPodPriority", "")).is_some_and(|(_, value)| value != &Json::Array(vec![]))
    {
        let problem = Problem::new("`shutdownGracePeriod` and `shutdownGracePeriodByPodPriority` exclude each other");
        kubelet.blame(judge, &[SHUTDOWN], problem.because("the kubelet does not start with both").hint("keep one of the two"));
    }
}

/// A map of texts that is said.
fn texts<'a>(fields: &'a Values, name: &str) -> Vec<(&'a str, &'a str)> {
    let entries = fields.get(name).and_then(Json::as_object).into_iter().flatten();
    entries.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?))).collect()
}

/// Adds the nearest word, or else this hint.
fn nearest_or(problem: Problem, written: &str, known: &[&str], hint: &str) -> Problem {
    with_nearest(problem, written, known, hint)
}

/// A share like `10%`, or an amount that is more than nothing.
fn is_threshold(text: &str) -> bool {
    match text.strip_suffix('%') {
        Some(share) => share.parse::<f64>().is_ok_and(|share| (0.0..=100.0).contains(&share)),
        None => values::amount(text).is_some_and(|amount| amount > 0.0),
    }
}
