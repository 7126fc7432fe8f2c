//! Variables that several components of the control plane read, and what only the API server does.

use super::values::{integer, names, put, scalar};
use crate::Problem;
use crate::decode::{Decoder, Field};
use crate::model::{Settings, Values};
use crate::words::{quote, with_nearest};

/// What kubeadm switches on; without it a kubelet could change other nodes.
const NODE_RESTRICTION: &str = "NodeRestriction";

/// Options of API server, controller manager and scheduler.
fn all(settings: &mut Settings) -> [&mut Values; 3] {
    let components = &mut settings.components;
    [&mut components.api_server.options, &mut components.controller_manager.options, &mut components.scheduler.options]
}

pub(crate) fn profiling(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let Some(value) = decoder.boolean(field) else { return };
    for to in all(settings) {
        put(decoder, field, to, "profiling", value.into());
    }
}

pub(crate) fn log_level(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let Some(value) = integer(decoder, field, 0..=10) else { return };
    for to in all(settings) {
        put(decoder, field, to, "v", value.into());
    }
    put(decoder, field, &mut settings.components.kubelet.options, "v", value.into());
    put(decoder, field, &mut settings.components.kube_proxy, "logging.verbosity", value.into());
}

pub(crate) fn tls_version(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    // Without a word it is the default, as Kubespray's sample has it.
    let words = ["VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13", ""].map(|word| (word, word));
    let Some(word) = decoder.choice(field, &words).filter(|word| !word.is_empty()) else { return };
    for to in all(settings) {
        put(decoder, field, to, "tls-min-version", word.into());
    }
    put(decoder, field, &mut settings.components.kubelet.fields, "tlsMinVersion", word.into());
}

pub(crate) fn tls_ciphers(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let Some(names) = names(decoder, field).filter(|names| !names.is_empty()) else { return };
    for to in all(settings) {
        put(decoder, field, to, "tls-cipher-suites", names.join(",").into());
    }
    put(decoder, field, &mut settings.components.kubelet.fields, "tlsCipherSuites", names.into());
}

pub(crate) fn admission_plugins(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let Some(mut names) = names(decoder, field).filter(|names| !names.is_empty()) else { return };
    if !names.iter().any(|name| name == NODE_RESTRICTION) {
        names.insert(0, NODE_RESTRICTION.to_owned());
    }
    put(decoder, field, &mut settings.components.api_server.options, "enable-admission-plugins", names.join(",").into());
}

/// Plugins that are off; not the one without which a kubelet could change other nodes.
pub(crate) fn disabled_plugins(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let Some(given_names) = names(decoder, field).filter(|names| !names.is_empty()) else { return };
    if given_names.iter().any(|name| name == NODE_RESTRICTION) {
        let problem = Problem::new(format!("`{}` cannot have `{NODE_RESTRICTION}`", field.name())).at(field.position());
        return decoder.report(problem.because("without it a kubelet could change other nodes").hint("leave it out of the list"));
    }
    put(decoder, field, &mut settings.components.api_server.options, "disable-admission-plugins", given_names.join(",").into());
}

/// What Kubernetes knows (`AuthorizationModeChoices`), without ABAC, whose file of policies kokctl has no variable for.
const MODES: [&str; 5] = ["Node", "RBAC", "Webhook", "AlwaysAllow", "AlwaysDeny"];

/// Without Node and RBAC neither kubelets nor kokctl may do anything.
pub(crate) fn authorization_modes(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let Some(given_names) = names(decoder, field).filter(|names| !names.is_empty()) else { return };
    let is_again = |(index, mode): (usize, &String)| given_names.iter().position(|first| first == mode) != Some(index);
    if let Some(wrong) = given_names.iter().find(|mode| !MODES.contains(&mode.as_str())) {
        let problem = Problem::new(format!("`{}` cannot have {}", field.name(), quote(wrong))).at(field.position());
        let problem = problem.because(format!("the words are {}", MODES.join(", ")));
        return decoder.report(with_nearest(problem, wrong, &MODES, "write those that are meant, with commas between them"));
    }
    if given_names.iter().enumerate().any(is_again) {
        let problem = Problem::new(format!("`{}` has a word twice", field.name())).at(field.position());
        return decoder.report(problem.because("the API server does not start with such a list").hint("keep one of the two"));
    }
    if let Some(missing) = ["Node", "RBAC"].into_iter().find(|mode| !given_names.iter().any(|name| name == mode)) {
        let problem = Problem::new(format!("`{}` lacks {}", field.name(), quote(missing))).at(field.position());
        let because = "kubelets and the parts of Kubernetes have their rights by Node and RBAC";
        return decoder.report(problem.because(because).hint("write both, and others beside them"));
    }
    put(decoder, field, &mut settings.components.api_server.options, "authorization-mode", given_names.join(",").into());
}

/// The ports of services of type NodePort.
pub(crate) fn port_range(decoder: &mut Decoder, field: &Field<'_>, to: &mut Values, name: &str) {
    let Some(text) = scalar(decoder, field) else { return };
    let ports = text.split_once('-').and_then(|(first, last)| Some((first.parse::<u16>().ok()?, last.parse::<u16>().ok()?)));
    let problem = Problem::new(format!("`{}` cannot be {}", field.name(), quote(&text))).at(field.position());
    match ports {
        Some((first, last)) if first > 0 && first <= last => {
            match super::load_balancing::OTHERS.into_iter().find(|port| (first..=last).contains(port)) {
                None => put(decoder, field, to, name, text.into()),
                Some(port) => decoder.report(
                    problem
                        .because(format!("the hosts themselves need the port {port}"))
                        .hint("write a range without it, for example `30000-32767`"),
                ),
            }
        }
        _ => decoder.report(problem.because("it is a range of ports, like `30000-32767`").hint("write such a range, or leave it out")),
    }
}
