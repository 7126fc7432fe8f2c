//! Ciphers: every program takes those of Go, and ends where it is told another.

use serde_json::Value as Json;

use super::{Judge, WrittenSetting, all_options, servers};
use crate::Problem;
use crate::check::known::{Known, Program};
use crate::model::{Settings, Values};
use crate::words::{quote, with_nearest};

const OPTION: &str = "tls-cipher-suites";
const FIELD: &str = "tlsCipherSuites";

/// HTTP/2 has to have one of these below TLS 1.3 (RFC 9113 §9.2.2; `ConfigureServer` of Go's `x/net/http2`).
const OF_HTTP2: [&str; 2] = ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"];

pub(super) fn ciphers(judge: &mut Judge<'_>, known: &Known, settings: &Settings) {
    let etcd =
        settings.components.etcd.get("cipher-suites").map(|value| WrittenSetting { name: "cipher-suites", value, likely: &["etcd"] });
    let of_options =
        all_options(settings).filter_map(|(program, options)| Some(WrittenSetting::new(program, OPTION, options.get(OPTION)?)));
    let kubelets = settings.components.kubelets();
    let of_fields = kubelets.filter_map(|kubelet| Some(WrittenSetting::new(Program::Kubelet, FIELD, kubelet.fields.get(FIELD)?)));
    let all: Vec<WrittenSetting<'_>> = etcd.into_iter().chain(of_options).chain(of_fields).collect();
    for setting in all {
        for name in names(setting.value).iter().filter(|name| !known.ciphers.contains(name)) {
            let problem = Problem::new(format!("{} is no cipher that Kubernetes and etcd know", quote(name)));
            let problem = problem.because("who is told to use it does not start; names are those of IANA, as Go has them");
            judge.report(setting, with_nearest(problem, name, &known.ciphers, &format!("write one of these: {}", good(known))));
        }
    }
    for (program, component) in servers(settings) {
        without_http2(judge, known, (program, OPTION, "tls-min-version"), &component.options);
    }
    for kubelet in settings.components.kubelets() {
        without_http2(judge, known, (Program::Kubelet, FIELD, "tlsMinVersion"), &kubelet.fields);
        without_http2(judge, known, (Program::Kubelet, OPTION, "tls-min-version"), &kubelet.options);
    }
}

/// Names as a list, or as one text with commas.
fn names(value: &Json) -> Vec<&str> {
    match value {
        Json::Array(items) => items.iter().filter_map(Json::as_str).collect(),
        _ => value.as_str().unwrap_or_default().split(',').map(str::trim).filter(|name| !name.is_empty()).collect(),
    }
}

/// Those that nobody advises against, of TLS 1.2.
fn good(known: &Known) -> String {
    let good = known.ciphers.iter().filter(|name| name.contains("ECDHE") && name.contains("GCM"));
    good.copied().collect::<Vec<_>>().join(", ")
}

fn without_http2(judge: &mut Judge<'_>, known: &Known, (program, name, oldest): (Program, &str, &str), options: &Values) {
    let Some(value) = options.get(name) else { return };
    let names = names(value);
    let is_newer = options.get(oldest).and_then(Json::as_str) == Some("VersionTLS13");
    let is_right = names.is_empty() || names.iter().any(|name| OF_HTTP2.contains(name) || !known.ciphers.contains(name));
    if is_newer || is_right {
        return;
    }
    let problem = Problem::new(format!("{} cannot do with these ciphers alone", program.words()));
    let problem = problem.because("it speaks HTTP/2, which has to have one of two ciphers below TLS 1.3, and does not start without");
    judge.report(WrittenSetting::new(program, name, value), problem.hint(format!("add {}", OF_HTTP2.join(" or "))));
}
