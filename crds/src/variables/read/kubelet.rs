//! Variables of the kubelet.

use std::collections::BTreeMap;

use crate::Problem;
use crate::decode::{Decoder, Field};
use crate::model::Settings;
use crate::syntax::eviction::SIGNALS;
use crate::words::{quote, with_nearest};

pub(crate) fn eviction_hard(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let Some(entries) = decoder.entries(field, "`eviction_hard`") else { return };
    let thresholds = settings.components.kubelet.eviction_hard.get_or_insert_default();
    for entry in entries {
        let item = Field { path: format!("{}.{}", field.path, entry.key), node: &entry.node };
        if !SIGNALS.contains(&entry.key.as_str()) {
            let problem = Problem::new(format!("{} is no eviction signal of the kubelet", quote(&entry.key))).at(&entry.key_position);
            decoder.report(with_nearest(
                problem.because(format!("it knows {}", SIGNALS.join(", "))),
                &entry.key,
                &SIGNALS,
                "write one of these, or leave it out",
            ));
            continue;
        }
        let Some(text) = decoder.text(&item) else { continue };
        let is_nothing = text.trim_matches(|c: char| c.is_ascii_alphabetic()).parse() == Ok(0);
        if is_threshold(text) && !is_nothing {
            thresholds.insert(entry.key.clone(), text.to_owned());
        } else {
            let problem = Problem::new(format!("{} is no threshold", quote(text))).at(&entry.node.position);
            let problem = problem.because("it is an amount like `500Mi` that is not nothing, or a share like `10%`");
            decoder.report(problem.hint("write one of the two; `0%` is no threshold at all"));
        }
    }
}

/// A whole number with `%` (below 100), with a binary or decimal suffix of Kubernetes' quantities, or with none.
fn is_threshold(text: &str) -> bool {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let Ok(number) = number.parse::<u64>() else { return false };
    match suffix {
        "%" => number < 100,
        _ => ["", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti"].contains(&suffix),
    }
}

/// Fields of the kubelet's configuration that follow from the rest of the file, or from variables of their own.
pub(crate) const OWN: &[(&str, &str)] = &[
    ("apiVersion", "leave it out"),
    ("kind", "leave it out"),
    ("address", "leave it out: the API server asks kubelets at the address of their node"),
    ("authentication", "leave it out: who asks a kubelet needs a certificate or a token"),
    ("authorization", "leave it out: the API server is asked"),
    ("cgroupDriver", "leave it out: systemd manages control groups"),
    ("clusterDomain", "write `spec.network.clusterDomain`, or dns_domain in an inventory"),
    ("containerRuntimeEndpoint", "leave it out"),
    ("evictionHard", "write eviction_hard"),
    ("failCgroupV1", "write kubelet_fail_cgroup_v1"),
    ("failSwapOn", "write kubelet_fail_swap_on"),
    ("featureGates", "write kubelet_feature_gates or kube_feature_gates"),
    ("kubeReserved", "write kube_cpu_reserved, kube_memory_reserved …"),
    ("rotateCertificates", "leave it out: certificates are valid for a year only"),
    ("serverTLSBootstrap", "leave it out: the cluster's authority signs the certificate in any case, and kokctl makes it anew in time"),
    ("staticPodPath", "leave it out"),
    ("systemReserved", "write system_cpu_reserved, system_memory_reserved …"),
    ("tracing", "write kubelet_tracing and kubelet_tracing_endpoint"),
];

/// An amount of a resource that is kept from pods.
pub(crate) fn reserved(decoder: &mut Decoder, field: &Field<'_>, to: &mut BTreeMap<String, String>, resource: &str) {
    let Some(text) = super::values::scalar(decoder, field) else { return };
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let suffixes: &[&str] = match resource {
        "cpu" => &["", "m"],
        "pid" => &[""],
        _ => &["", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti"],
    };
    if number.parse::<f64>().is_ok() && suffixes.contains(&suffix) {
        to.insert(resource.to_owned(), text);
        return;
    }
    decoder.turn_down(resource);
    let problem = Problem::new(format!("`{}` cannot be {}", field.name(), quote(&text))).at(field.position());
    decoder.report(
        problem
            .because("it is an amount of that resource, like `500m` of processors, `512Mi` of memory or `1000` processes")
            .hint("write such an amount, or leave it out"),
    );
}

/// When the kubelet evicts pods after a while, or how long that is.
pub(crate) fn soft(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings, name: &str) {
    let what = format!("`{}`", field.name());
    let wrong_before = decoder.count();
    for entry in decoder.entries(field, &what).unwrap_or_default() {
        if !SIGNALS.contains(&entry.key.as_str()) {
            let problem = Problem::new(format!("{} is no eviction signal of the kubelet", quote(&entry.key))).at(&entry.key_position);
            let problem = problem.because(format!("it knows {}", SIGNALS.join(", ")));
            decoder.report(with_nearest(problem, &entry.key, &SIGNALS, "write one of these, or leave it out"));
        } else if !matches!(entry.node.value, crate::tree::Value::Text(_)) {
            let problem = Problem::new(format!("{} cannot have that value", quote(&entry.key))).at(&entry.node.position);
            decoder.report(
                problem
                    .because("it is text: an amount like `1Gi`, a share like `10%`, or a time like `1m30s`")
                    .hint("write it so, in quotes"),
            );
        }
    }
    // What is wrong is told of once.
    if decoder.count() == wrong_before {
        super::values::map(decoder, field, &mut settings.components.kubelet.fields, name);
    }
}

/// For whom reserved amounts are limits, too.
pub(crate) fn enforced(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    // Kubespray's own way to say nothing is a text of two quotes.
    if field.is_text("\"\"") {
        return decoder.place(field);
    }
    let Some(names) = super::values::names(decoder, field) else { return };
    match names.iter().find(|name| !["pods", "none"].contains(&name.as_str())) {
        None => super::values::put(decoder, field, &mut settings.components.kubelet.fields, "enforceNodeAllocatable", names.into()),
        Some(name) => {
            let problem = Problem::new(format!("`{}` cannot have {}", field.name(), quote(name))).at(field.position());
            decoder.report(
                problem
                    .because("the kubelet and containerd are in system.slice with the host's other programs, so that they have no limit of their own")
                    .hint("write `pods` or `none`"),
            );
        }
    }
}

/// kubeadm finds out which of the two pods can use, so that the usual file asks for nothing.
pub(crate) fn resolv_conf(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let Some(path) = super::pods::path(decoder, field) else { return };
    if path != "/etc/resolv.conf" {
        super::values::put(decoder, field, &mut settings.components.kubelet.fields, "resolvConf", path.into());
    }
}

/// Where old drivers of volumes lie, for the kubelet and the controller manager.
pub(crate) fn flexvolumes(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let Some(path) = super::pods::path(decoder, field) else { return };
    let components = &mut settings.components;
    super::values::put(decoder, field, &mut components.kubelet.fields, "volumePluginDir", path.clone().into());
    super::values::put(decoder, field, &mut components.controller_manager.options, "flex-volume-plugin-dir", path.into());
}

/// How many images a node fetches at once.
pub(crate) fn parallel_pulls(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let Some(value) = super::values::integer(decoder, field, 1..=1000) else { return };
    let kubelet = &mut settings.components.kubelet.fields;
    super::values::put(decoder, field, kubelet, "maxParallelImagePulls", value.into());
    if value > 1 {
        super::values::put(decoder, field, kubelet, "serializeImagePulls", false.into());
    }
}

/// An amount of bytes.
pub(crate) fn amount(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings, name: &str) {
    let Some(text) = super::values::scalar(decoder, field) else { return };
    if is_threshold(&text) && !text.ends_with('%') {
        return super::values::put(decoder, field, &mut settings.components.kubelet.fields, name, text.into());
    }
    let problem = Problem::new(format!("`{}` cannot be {}", field.name(), quote(&text))).at(field.position());
    decoder.report(problem.because("it is an amount like `10Mi`").hint("write such an amount, or leave it out"));
}
