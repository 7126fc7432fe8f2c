//! Settings of components that can't be together, or not one without the other.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::security::at;
use crate::decode::Decoder;
use crate::given::Given;
use crate::model::{API_SERVER_PORT, Settings, SwitchedSettings, Values};
use crate::words::quote;
use crate::{Position, Problem};

const API_SERVER: &str = "kube_kubeadm_apiserver_extra_args";
const SCHEDULER: &str = "kube_kubeadm_scheduler_extra_args";

pub(crate) fn check(decoder: &mut Decoder, given: &[Given], settings: &Settings) {
    webhooks(decoder, given, settings);
    unchecked_servers(decoder, given, settings);
    admission(decoder, given, settings);
    said_by_groups(decoder, given, settings);
    audit_folder(decoder, given, settings);
    plugin_folder(decoder, given, settings);
    scheduler(decoder, settings);
    kubelet(decoder, given, settings);
    port(decoder, given, settings);
    node_dns(decoder, given, settings);
}

/// The API server ends where it is to ask a server and knows none, and where it knows one and is not to ask it.
fn webhooks(decoder: &mut Decoder, given: &[Given], settings: &Settings) {
    let (switch, modes) = ("kube_webhook_authorization", "authorization_modes");
    let written = settings.components.api_server.options.get("authorization-mode").and_then(Json::as_str).unwrap_or_default();
    // A file instead of modes excludes the switch, which is said as such.
    let problem = match (written.split(',').any(|mode| mode == "Webhook"), settings.security.authorization_webhook.enabled) {
        (false, true) if !settings.security.authorization.enabled => {
            let problem = Problem::new(format!("`{switch}` needs `Webhook` among the `{modes}`"));
            at(given, switch, problem).hint(format!("write `{modes}: [Node, RBAC, Webhook]`"))
        }
        (true, false) => {
            let problem = Problem::new(format!("`{modes}` has `Webhook`, and `{switch}` is not on"));
            at(given, modes, problem).hint(format!("write `{switch}: true` and kube_webhook_authorization_url, or leave `Webhook` out"))
        }
        _ => return,
    };
    decoder.report(problem.because("the API server does not start with one of the two alone"));
}

/// Whoever has an authority to check a server by, and is told not to check it, talks to none.
fn unchecked_servers(decoder: &mut Decoder, given: &[Given], settings: &Settings) {
    let is_on = |values: &Values, name: &str| values.get(name).and_then(Json::as_bool) == Some(true);
    let token = &settings.security.token_webhook;
    let audit = &settings.security.audit_webhook;
    let more: Values = match audit.values.get("cluster") {
        Some(Json::Object(more)) => more.clone().into_iter().collect(),
        _ => Values::new(),
    };
    let authority = ["certificate-authority-data", "certificate-authority"].iter().any(|name| more.contains_key(*name));
    let wrong = [
        (
            token,
            is_on(&token.values, "skip-verify") && token.values.contains_key("authority"),
            "kube_webhook_token_auth_url_skip_tls_verify",
        ),
        (audit, is_on(&more, "insecure-skip-tls-verify") && authority, "audit_webhook_server_extra_args"),
    ];
    for (_, _, variable) in wrong.into_iter().filter(|(group, both, _)| group.enabled && *both) {
        let problem = Problem::new("a server's certificate cannot be checked and not be checked");
        let because = "with an authority and without a check at once, the API server refuses to talk to it";
        decoder.report(at(given, variable, problem).because(because).hint("keep the authority, and leave out that nothing is checked"));
    }
}

/// What is configured has to be switched on; and one of them does not start without its configuration.
fn admission(decoder: &mut Decoder, given: &[Given], settings: &Settings) {
    let plugins = "kube_apiserver_enable_admission_plugins";
    let variables = [
        ("EventRateLimit", "kube_apiserver_admission_event_rate_limits"),
        ("PodNodeSelector", "kube_apiserver_admission_plugins_podnodeselector_default_node_selector"),
    ];
    let written = settings.components.api_server.options.get("enable-admission-plugins").and_then(Json::as_str).unwrap_or_default();
    let admission = &settings.security.admission;
    for (plugin, variable) in variables {
        let is_on = written.split(',').any(|name| name == plugin);
        let is_configured = admission.enabled && admission.values.contains_key(plugin);
        // One that is wrong is told of as such; one that is empty says nothing.
        let is_said = given.iter().any(|given| given.name == variable && !["{}", "[]"].contains(&given.value.as_str()));
        let is_wrong = is_said && !admission.values.contains_key(plugin);
        if is_configured && !is_on {
            let problem = Problem::new(format!("`{variable}` needs the admission plugin `{plugin}`"));
            let problem = at(given, variable, problem).because("the API server reads the configuration of plugins that are on only");
            decoder.report(problem.hint(format!("add `{plugin}` to `{plugins}`")));
        } else if is_on && !is_configured && !is_wrong && plugin == "EventRateLimit" {
            let problem = Problem::new(format!("the admission plugin `{plugin}` needs `{variable}`"));
            let problem = at(given, plugins, problem).because("the API server does not start with that plugin and without limits");
            decoder.report(
                problem.hint(format!("write it, and `kube_apiserver_admission_control_config_file: true`; or leave `{plugin}` out")),
            );
        }
    }
}

/// What a variable of its own and the further options both say.
fn said_by_groups(decoder: &mut Decoder, given: &[Given], settings: &Settings) {
    let security = &settings.security;
    let options = &settings.components.api_server.options;
    for group in [&security.oidc, &security.audit, &security.audit_webhook].into_iter().filter(|group| group.enabled) {
        for name in group.values.keys().filter(|name| options.contains_key(*name)) {
            let variable = variable_of(name);
            decoder.report(twice(decoder, given, (API_SERVER, name), &variable));
        }
    }
}

/// The variable that an option of a group comes from.
fn variable_of(option: &str) -> String {
    let words = option.replace('-', "_");
    match option {
        "audit-log-maxbackup" => "audit_log_maxbackups".to_owned(),
        _ if option.starts_with("oidc-") => format!("kube_{}", words.replace("issuer_url", "url")),
        _ => words,
    }
}

fn twice(decoder: &Decoder, given: &[Given], (further, name): (&str, &str), variable: &str) -> Problem {
    let first = given.iter().find(|given| given.name == variable).map(|given| format!(" at {}", given.position)).unwrap_or_default();
    let problem = Problem::new(format!("{} is said twice", quote(name))).because(format!("`{variable}` says it too{first}"));
    let problem = problem.hint(format!("leave it out of `{further}`"));
    match said_at(decoder, further, name) {
        Some(position) => problem.at(&position),
        None => at(given, further, problem),
    }
}

/// Where a map of further options has one.
fn said_at(decoder: &Decoder, variable: &str, name: &str) -> Option<Position> {
    let spelled = [name.to_owned(), name.replace('-', "_")];
    spelled.into_iter().find_map(|name| decoder.position(&format!("spec.vars.{variable}.{name}")).cloned())
}

/// Two volumes can't be at one place of a container.
fn plugin_folder(decoder: &mut Decoder, given: &[Given], settings: &Settings) {
    let Some(plugin) = settings.security.encryption.plugin() else { return };
    let volumes = &settings.components.api_server.volumes;
    if let Some(volume) = volumes.iter().find(|volume| volume.mount_path.trim_end_matches('/') == plugin.folder()) {
        let problem = Problem::new(format!("the volume {} is where the socket of the KMS plugin is", quote(&volume.name)));
        let problem = at(given, "apiserver_extra_volumes", problem).because("API servers are shown that folder anyway");
        decoder.report(problem.hint("leave the volume out"));
    }
}

/// The same of the audit log.
fn audit_folder(decoder: &mut Decoder, given: &[Given], settings: &Settings) {
    let audit: &SwitchedSettings = &settings.security.audit;
    let folder = audit.text("audit-log-path").and_then(|path| path.rsplit_once('/')).map_or("/var/log/audit", |(folder, _)| folder);
    let volumes = &settings.components.api_server.volumes;
    if let Some(volume) = volumes.iter().find(|volume| audit.enabled && volume.mount_path.trim_end_matches('/') == folder) {
        let problem = Problem::new(format!("the volume {} is where the audit log is", quote(&volume.name)));
        let problem =
            at(given, "apiserver_extra_volumes", problem).because(format!("the API server's container has one of them at {folder}"));
        decoder.report(problem.hint("write another mountPath, or another audit_log_path"));
    }
}

/// Options that the scheduler reads over where it has a file of configuration, and what says the same in the file.
const UNREAD: [(&str, &str); 4] = [
    ("contention-profiling", "write `enableContentionProfiling` into kube_scheduler_config_extra_opts"),
    ("kube-api-content-type", "write `contentType` into kube_scheduler_client_conn_extra_opts"),
    ("kube-api-qps", "write `qps` into kube_scheduler_client_conn_extra_opts"),
    ("kube-api-burst", "write `burst` into kube_scheduler_client_conn_extra_opts"),
];

fn scheduler(decoder: &mut Decoder, settings: &Settings) {
    let (options, file) = (&settings.components.scheduler.options, &settings.components.scheduler_configuration);
    if file.is_empty() {
        return;
    }
    for (name, hint) in UNREAD.into_iter().filter(|(name, _)| options.contains_key(*name)) {
        let problem = Problem::new(format!("the scheduler reads over its option `{name}`")).hint(hint);
        let problem = problem.because("with a file of configuration, which kokctl makes of other variables, it takes that of the file");
        let position = said_at(decoder, SCHEDULER, name);
        decoder.report(match position {
            Some(position) => problem.at(&position),
            None => problem,
        });
    }
    let position = decoder.position("spec.vars.kube_scheduler_config_extra_opts.enableProfiling").cloned();
    if let Some(position) = position.filter(|_| options.contains_key("profiling") && file.contains_key("enableProfiling")) {
        let problem = Problem::new("`enableProfiling` is said twice").at(&position);
        decoder.report(problem.because("`kube_profiling`, or the option `profiling`, says it too").hint("keep one of the two"));
    }
}

/// Pods ask one address, and the cache has two ports besides.
fn node_dns(decoder: &mut Decoder, given: &[Given], settings: &Settings) {
    let dns = &settings.node_dns;
    if dns.enabled && settings.components.kubelets().any(|kubelet| kubelet.fields.contains_key("clusterDNS")) {
        let problem =
            Problem::new("`clusterDNS` is said twice").because("`enable_nodelocaldns` gives pods the address of their node's cache");
        let problem = problem.hint("leave `clusterDNS` out of `kubelet_config_extra_args`, or `enable_nodelocaldns`");
        decoder.report(match said_at(decoder, "kubelet_config_extra_args", "clusterDNS") {
            Some(position) => problem.at(&position),
            None => at(given, "kubelet_config_extra_args", problem),
        });
    }
    if let Some(problem) = super::node_dns::same_ports(dns) {
        let ports = ["nodelocaldns_health_port", "nodelocaldns_prometheus_port"];
        let variable = ports.into_iter().find(|name| given.iter().any(|given| given.name == *name)).unwrap_or("enable_nodelocaldns");
        decoder.report(at(given, variable, problem));
    }
}

/// Fields of the kubelet's configuration whose options have other words.
const OTHER_WORDS: [(&str, &str); 4] = [
    ("event-qps", "eventRecordQPS"),
    ("image-gc-high-threshold", "imageGCHighThresholdPercent"),
    ("image-gc-low-threshold", "imageGCLowThresholdPercent"),
    ("pod-max-pids", "podPidsLimit"),
];

/// An option of the kubelet counts more than the field of its configuration, wherever that is said.
fn kubelet(decoder: &mut Decoder, given: &[Given], settings: &Settings) {
    let plain = |text: &str| text.replace('-', "").to_lowercase();
    let options = settings.components.kubelets().flat_map(|kubelet| kubelet.options.keys());
    for option in options.collect::<BTreeSet<_>>() {
        let known = OTHER_WORDS.iter().find(|(name, _)| name == option).map_or(option.as_str(), |(_, field)| field);
        let mut fields = settings.components.kubelets().flat_map(|kubelet| kubelet.fields.keys());
        if let Some(field) = fields.find(|field| plain(field) == plain(known)) {
            let says = |name: &&str| given.iter().any(|given| given.name == *name && given.value.contains(option));
            let variable = FLAGS.into_iter().find(says).unwrap_or(FLAGS[0]);
            let problem = Problem::new(format!("{} is said twice", quote(&format!("--{option}"))));
            let because = format!("another variable says it as `{field}` of the kubelet's configuration, and the option would count");
            decoder.report(at(given, variable, problem).because(because).hint(format!("leave it out of `{variable}`")));
        }
    }
}

/// Variables that say options of kubelets.
const FLAGS: [&str; 2] = ["kubelet_custom_flags", "kubelet_node_custom_flags"];

/// Nobody else may have the port of the API servers.
fn port(decoder: &mut Decoder, given: &[Given], settings: &Settings) {
    let port = settings.api_endpoint.server_port.unwrap_or(API_SERVER_PORT);
    let node_ports = settings.components.api_server.options.get("service-node-port-range").and_then(Json::as_str).unwrap_or("30000-32767");
    let ports = node_ports.split_once('-').and_then(|(first, last)| Some(first.parse::<u16>().ok()?..=last.parse().ok()?));
    if ports.is_some_and(|ports| ports.contains(&port)) {
        let problem = Problem::new(format!("`kube_apiserver_port` cannot be `{port}`"));
        let because = format!("services of the type NodePort have the ports {node_ports}");
        let variable = ["kube_apiserver_port", "loadbalancer_apiserver_port", "kube_apiserver_node_port_range"];
        let variable = variable.into_iter().find(|name| given.iter().any(|given| given.name == *name)).unwrap_or("kube_apiserver_port");
        decoder.report(at(given, variable, problem).because(because).hint("write another one of the two"));
    }
}
