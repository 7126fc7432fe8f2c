//! Ports of the programs of a host: where two listen at one, the second does not start.

use std::net::{IpAddr, SocketAddr};

use serde_json::Value as Json;

use super::kubelet::{Kubelet, Name};
use super::{Judge, text};
use crate::Problem;
use crate::check::known::Program;
use crate::model::{API_SERVER_PORT, Host, Settings, Values};

const HEALTH: Name = ("healthzPort", "healthz-port");
const HEALTH_ADDRESS: Name = ("healthzBindAddress", "healthz-bind-address");
const READ_ONLY: Name = ("readOnlyPort", "read-only-port");

/// Somebody who listens.
struct Listener<'a> {
    /// As messages call it.
    who: &'static str,
    /// Nothing for all addresses of the host.
    at: Option<IpAddr>,
    port: u16,
    /// What says the port, if a user does.
    source: Option<PortSource<'a>>,
}

/// Name and value of what says a port, and whose it is.
#[derive(Clone, Copy)]
enum PortSource<'a> {
    OfKubelet(Name),
    Of(&'a [&'a str], &'static str, &'a Json),
    /// Where it is written, if it is.
    At(&'static [&'static str]),
}

const DNS_METRICS: [&str; 3] =
    ["spec.vars.nodelocaldns_prometheus_port", "spec.network.nodeLocalDNS.metricsPort", "spec.vars.enable_nodelocaldns"];

const LOOPBACK: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

pub(super) fn ports(judge: &mut Judge<'_>, settings: &Settings, host: &Host, kubelet: &Kubelet) {
    let listeners = listeners(settings, host, kubelet);
    for (index, one) in listeners.iter().enumerate() {
        for other in listeners.iter().skip(index + 1).filter(|other| meet(one, other)) {
            let Some(source) = one.source.or(other.source) else { continue };
            let problem = Problem::new(format!("{} and {} cannot have one port, {}", one.who, other.who, one.port));
            let problem =
                problem.because("they are on one host, and the second of them does not start").hint("write another port, or leave it out");
            match source {
                PortSource::OfKubelet(name) => kubelet.blame(judge, &[name], problem),
                PortSource::Of(likely, name, value) => judge.report(super::WrittenSetting { name, value, likely }, problem),
                PortSource::At(paths) => judge.report_at(&judge.written(paths), problem),
            }
        }
    }
}

/// Whether two want the same.
fn meet(one: &Listener<'_>, other: &Listener<'_>) -> bool {
    let is_same = match (one.at, other.at) {
        (Some(one), Some(other)) => one == other,
        _ => true,
    };
    one.port == other.port && is_same
}

fn listeners<'a>(settings: &'a Settings, host: &Host, kubelet: &'a Kubelet) -> Vec<Listener<'a>> {
    let fixed = |who, at, port| Listener { who, at, port, source: None };
    let mut all = vec![fixed("the kubelet", None, 10250)];
    all.extend(of_kubelet("the kubelet's health", kubelet, HEALTH, (HEALTH_ADDRESS, Some(LOOPBACK)), 10248));
    all.extend(of_kubelet("what anybody may read of the kubelet", kubelet, READ_ONLY, (("address", "address"), None), 0));
    if !settings.kube_proxy_remove {
        all.push(of_proxy("kube-proxy's health", settings, "healthzBindAddress", (None, 10256)));
        all.push(of_proxy("kube-proxy's metrics", settings, "metricsBindAddress", (Some(LOOPBACK), 10249)));
    }
    if settings.node_dns.enabled && !settings.node_dns.metrics_at_host {
        let source = Some(PortSource::At(&DNS_METRICS));
        all.push(Listener { who: "the metrics of the DNS cache", at: None, port: settings.node_dns.metrics_port, source });
    }
    if host.roles.control_plane {
        all.push(fixed("the API server", None, settings.api_endpoint.server_port.unwrap_or(API_SERVER_PORT)));
        let components = &settings.components;
        all.extend(of_server("the controller manager", (Program::ControllerManager, &components.controller_manager.options), 10257));
        all.extend(of_server("the scheduler", (Program::Scheduler, &components.scheduler.options), 10259));
    }
    if host.roles.etcd {
        all.extend([fixed("etcd", None, 2379), fixed("etcd, for its other members,", None, 2380)]);
        all.extend(of_etcd(settings));
    }
    all
}

/// An address that is said; what is none, and all addresses, are everywhere.
fn address(text: &str) -> Option<IpAddr> {
    text.parse::<IpAddr>().ok().filter(|address| !address.is_unspecified())
}

/// Port 0 is none.
fn of_kubelet<'a>(
    who: &'static str,
    kubelet: &Kubelet,
    name: Name,
    (at, usual_at): (Name, Option<IpAddr>),
    usual: u16,
) -> Option<Listener<'a>> {
    let at = kubelet.setting(at).map_or(usual_at, |(_, value)| address(&text(value)));
    let port = kubelet.number(name).map_or(Some(usual), |port| u16::try_from(port).ok())?;
    let source = kubelet.setting(name).map(|_| PortSource::OfKubelet(name));
    (port > 0).then_some(Listener { who, at, port, source })
}

fn of_proxy<'a>(who: &'static str, settings: &'a Settings, name: &'static str, (usual_at, usual): (Option<IpAddr>, u16)) -> Listener<'a> {
    let value = settings.components.kube_proxy.get(name);
    let source = value.map(|value| PortSource::Of(Program::KubeProxy.likely(), name, value));
    let place = value.and_then(|value| text(value).parse::<SocketAddr>().ok());
    match place {
        Some(place) => Listener { who, at: Some(place.ip()).filter(|ip| !ip.is_unspecified()), port: place.port(), source },
        None => Listener { who, at: usual_at, port: usual, source },
    }
}

fn of_server<'a>(who: &'static str, (program, options): (Program, &'a Values), usual: u16) -> Option<Listener<'a>> {
    let value = options.get("secure-port");
    let port = value.map_or(Some(usual), |value| text(value).parse().ok())?;
    let at = options.get("bind-address").map_or(Some(LOOPBACK), |value| address(&text(value)));
    (port > 0).then(|| Listener { who, at, port, source: value.map(|value| PortSource::Of(program.likely(), "secure-port", value)) })
}

/// Where etcd tells numbers about itself: URLs with commas between.
fn of_etcd(settings: &Settings) -> Vec<Listener<'_>> {
    const NAME: &str = "listen-metrics-urls";
    let who = "etcd's metrics";
    let Some(value) = settings.components.etcd.get(NAME) else {
        return vec![Listener { who, at: Some(LOOPBACK), port: 2381, source: None }];
    };
    let urls = text(value);
    let places = urls.split(',').filter_map(|url| {
        let (address_text, port) = url.trim().split_once("://")?.1.trim_end_matches('/').rsplit_once(':')?;
        Some((address(address_text.trim_matches(['[', ']'])), port.parse().ok()?))
    });
    places.map(|(at, port)| Listener { who, at, port, source: Some(PortSource::Of(&["etcd"], NAME, value)) }).collect()
}
