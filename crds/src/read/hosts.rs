//! The list of hosts.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

use super::annotations;
use super::read_label;
use super::ssh::read_host;
use crate::decode::{Decoder, Field, Fields, Form, Wording};
use crate::message::Kind;
use crate::model::{Host, Roles, Ssh, Taint, TaintEffect};
use crate::syntax::{address, label};
use crate::variables::{OfHost, OwnField};
use crate::words::{quote, with_nearest};
use crate::{Position, Problem};

pub(crate) const HOST: Form = Form {
    what: "a host",
    fields: &["name", "address", "addressIPv6", "roles", "ssh", "labels", "annotations", "taints", "delivery", "vars"],
    refused: &[
        ("ip", "write it as `address`"),
        ("access_ip", "write it as `address`"),
        ("ip6", "write it as `addressIPv6`"),
        ("ansible_host", "write it as `address`"),
        ("ansible_user", "write it as `user` under `ssh`"),
        ("ansible_port", "write it as `port` under `ssh`"),
        ("port", "write it under `ssh`"),
        ("user", "write it under `ssh`"),
        ("containerRuntime", "leave it out: the `containerRuntime` of the spec holds for all hosts"),
    ],
};

pub(crate) const TAINT: Form = Form { what: "a taint", fields: &["key", "value", "effect"], refused: &[] };

const ROLES: &str = "a host has one or several of the roles control-plane, worker and etcd";

/// What hosts say of variables for themselves.
pub(crate) fn of_hosts<'a>(hosts: &[ReadHost<'a>]) -> Vec<OfHost<'a>> {
    let of_host = |(index, host): (usize, &ReadHost<'a>)| OfHost {
        // A name may be missing, or be none.
        name: host.name.as_ref().map_or_else(|| format!("hosts[{index}]"), |(name, _)| name.clone()),
        vars: host.vars.clone(),
        field: host.delivery.clone(),
        roles: host.roles.as_ref().map(|(roles, _)| *roles),
    };
    hosts.iter().enumerate().map(of_host).collect()
}

/// What roles are called elsewhere.
const FOREIGN_ROLES: [(&str, &str); 7] = [
    ("master", "control-plane"),
    ("controlplane", "control-plane"),
    ("control_plane", "control-plane"),
    ("kube_control_plane", "control-plane"),
    ("node", "worker"),
    ("kube_node", "worker"),
    ("agent", "worker"),
];

/// A host as far as it could be read, so that one wrong value doesn't hide what else is wrong.
pub(crate) struct ReadHost<'a> {
    pub(crate) name: Option<(String, Position)>,
    pub(crate) address: Option<(IpAddr, Position)>,
    pub(crate) address_ipv6: Option<(Ipv6Addr, Position)>,
    pub(crate) roles: Option<(Roles, Position)>,
    /// How it gets what is installed, as the field says it that the variable of that name says too.
    pub(crate) delivery: Option<OwnField<'a>>,
    /// What it says of variables.
    pub(crate) vars: Option<Field<'a>>,
    /// The whole host, if nothing was wrong with it.
    pub(crate) host: Option<Host>,
}

pub(crate) fn read<'a>(decoder: &mut Decoder, field: &Field<'a>, ssh: &Ssh) -> Option<Vec<ReadHost<'a>>> {
    let items = decoder.list(field, "it is a list of hosts")?;
    let mut hosts: Vec<ReadHost<'a>> = items.iter().filter_map(|item| read_one(decoder, item, ssh)).collect();
    beside_api_servers(&mut hosts);
    Some(hosts)
}

/// Where no host has the role `etcd`, the control planes have it.
fn beside_api_servers(hosts: &mut [ReadHost<'_>]) {
    let given = hosts.iter().any(|host| host.roles.as_ref().is_some_and(|(roles, _)| roles.etcd));
    for host in hosts.iter_mut().filter(|_| !given) {
        let roles = host.roles.iter_mut().map(|(roles, _)| roles).chain(host.host.iter_mut().map(|host| &mut host.roles));
        roles.for_each(|roles| roles.etcd = roles.control_plane);
    }
}

fn read_one<'a>(decoder: &mut Decoder, item: &Field<'a>, ssh: &Ssh) -> Option<ReadHost<'a>> {
    let fields = decoder.fields(item, &HOST)?;
    let name = placed(decoder, &fields, "name", |decoder, field| read_label(decoder, field, "the name of a host"));
    let address = placed(decoder, &fields, "address", read_address);
    let second = fields.get("addressIPv6").map(|field| (read_address_ipv6(decoder, &field), field.position().clone()));
    let address_ipv6 = second.as_ref().and_then(|(address, at)| Some(((*address)?, at.clone())));
    let roles = placed(decoder, &fields, "roles", read_roles);
    let login = read_host(decoder, fields.get("ssh"), ssh);
    let labels = fields.get("labels").map(|field| read_labels(decoder, &field));
    let annotations = fields.get("annotations").map(|field| annotations::read(decoder, &field));
    let taints = fields.get("taints").map(|field| read_taints(decoder, &field));
    let delivery = fields.get("delivery").and_then(|field| Some(OwnField { entry: item.node.entry("delivery")?, field }));
    let whole = || {
        Some(Host {
            name: name.clone()?.0,
            address: address.as_ref()?.0,
            // One that can't be read is a problem, and not a host without one.
            address_ipv6: second.map_or(Some(None), |(address, _)| address.map(Some))?,
            roles: roles.as_ref()?.0,
            ssh: login,
            labels: labels.unwrap_or_default(),
            annotations: annotations.unwrap_or_default(),
            taints: taints.unwrap_or_default(),
            origin: item.position().clone(),
        })
    };
    Some(ReadHost { host: whole(), name, address, address_ipv6, roles, delivery, vars: fields.get("vars") })
}

/// A required value with its place.
pub(super) fn placed<T>(
    decoder: &mut Decoder,
    fields: &Fields<'_>,
    name: &str,
    read: impl FnOnce(&mut Decoder, &Field<'_>) -> Option<T>,
) -> Option<(T, Position)> {
    let field = decoder.required(fields, name)?;
    Some((read(decoder, &field)?, field.position().clone()))
}

pub(super) fn read_address(decoder: &mut Decoder, field: &Field<'_>) -> Option<IpAddr> {
    let text = decoder.text(field)?;
    let problem = Problem::new(format!("{} cannot be the address of a host", quote(text))).at(field.position());
    let problem = match text.parse::<IpAddr>() {
        Err(_) => problem
            .because("it is no IP address")
            .hint("write the host's IPv4 address; it stands in certificates, so that a name does not do"),
        Ok(IpAddr::V6(_)) => problem.because("the first family of a cluster is IPv4 here").hint(match decoder.wording() {
            Wording::Cluster => "write the host's IPv4 address; with dual stack, that of IPv6 is its `addressIPv6`",
            Wording::Inventory => "write the host's IPv4 address; with `ipv6_stack: true`, that of IPv6 is its `ip6`",
        }),
        Ok(IpAddr::V4(address)) => match address::reserved(&Ipv4Net::from(address)) {
            None => return Some(address.into()),
            Some(reason) => problem.because(reason).hint("write the address by which the other hosts reach it"),
        },
    };
    decoder.report(problem);
    None
}

fn read_address_ipv6(decoder: &mut Decoder, field: &Field<'_>) -> Option<Ipv6Addr> {
    let text = decoder.text(field)?;
    let problem = Problem::new(format!("{} cannot be the IPv6 address of a host", quote(text))).at(field.position());
    let problem = match text.parse::<Ipv6Addr>() {
        Err(_) => problem.because("it is no IPv6 address").hint("write it without a prefix length, for example `fd00:20::11`"),
        Ok(address) => match address::reserved_ipv6(&Ipv6Net::from(address)) {
            None => return Some(address),
            Some(reason) => problem.because(reason).hint("write the address by which the other hosts reach it"),
        },
    };
    decoder.report(problem);
    None
}

fn read_roles(decoder: &mut Decoder, field: &Field<'_>) -> Option<Roles> {
    let items = decoder.list(field, "it is a list of roles: control-plane, worker, etcd")?;
    if items.is_empty() {
        // In inventories, that follows from their groups.
        let problem = Problem::new("the host has no role").of_kind(Kind::NoRole).at(field.position());
        decoder.report(problem.because(ROLES).hint("write those that it has, for example `roles: [worker]`"));
        return None;
    }
    let mut roles = Roles::default();
    let mut good = true;
    for item in &items {
        match decoder.text(item) {
            Some("control-plane") if !roles.control_plane => roles.control_plane = true,
            Some("worker") if !roles.worker => roles.worker = true,
            Some("etcd") if !roles.etcd => roles.etcd = true,
            Some(text) => {
                decoder.report(role_problem(text).at(item.position()));
                good = false;
            }
            None => good = false,
        }
    }
    good.then_some(roles)
}

fn role_problem(text: &str) -> Problem {
    let known = ["control-plane", "worker", "etcd"];
    if known.contains(&text) {
        return Problem::new(format!("the role {} stands twice", quote(text)))
            .because("a host has a role once")
            .hint("keep one of the two");
    }
    let problem = Problem::new(format!("unknown role {}", quote(text))).because(ROLES);
    match FOREIGN_ROLES.iter().find(|(foreign, _)| *foreign == text) {
        Some((_, ours)) => problem.hint(format!("did you mean `{ours}`?")),
        None => with_nearest(problem, text, &known, "write one of these"),
    }
}

/// What to do about a key of a label or a taint that is none.
const KEY: &str = "write a key like `zone` or `example.org/zone`";

fn read_labels(decoder: &mut Decoder, field: &Field<'_>) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    for entry in decoder.entries(field, "the labels of a host").unwrap_or_default() {
        if let Some(reason) = label::key(&entry.key) {
            decoder.report(
                Problem::new(format!("{} cannot be the key of a label", quote(&entry.key)))
                    .at(&entry.key_position)
                    .because(reason)
                    .hint(KEY),
            );
        }
        let item = Field { path: format!("{}.{}", field.path, entry.key), node: &entry.node };
        if let Some(value) = label_value(decoder, &item, "the value of a label") {
            labels.insert(entry.key.clone(), value);
        }
    }
    labels
}

fn read_taints(decoder: &mut Decoder, field: &Field<'_>) -> Vec<Taint> {
    let items = decoder.list(field, "it is a list of taints").unwrap_or_default();
    let mut taints: Vec<Taint> = Vec::new();
    for item in &items {
        let Some(taint) = read_taint(decoder, item) else {
            continue;
        };
        if taints.iter().any(|other| (&other.key, other.effect) == (&taint.key, taint.effect)) {
            let what = format!("{}:{}", taint.key, taint.effect.as_str());
            decoder.report(
                Problem::new(format!("the taint {} stands twice", quote(&what)))
                    .at(item.position())
                    .because("the taints of a node differ in their key or their effect")
                    .hint("keep one of the two"),
            );
        }
        taints.push(taint);
    }
    taints
}

fn read_taint(decoder: &mut Decoder, item: &Field<'_>) -> Option<Taint> {
    let fields = decoder.fields(item, &TAINT)?;
    let key_field = decoder.required(&fields, "key");
    let key = key_field.and_then(|field| {
        let text = decoder.text(&field)?;
        let Some(reason) = label::key(text) else {
            return Some(text.to_owned());
        };
        let problem = Problem::new(format!("{} cannot be the key of a taint", quote(text)));
        decoder.report(problem.at(field.position()).because(reason).hint(KEY));
        None
    });
    let value = match fields.get("value") {
        Some(field) => label_value(decoder, &field, "the value of a taint"),
        None => Some(String::new()),
    };
    let effects = [TaintEffect::NoSchedule, TaintEffect::PreferNoSchedule, TaintEffect::NoExecute].map(|effect| (effect.as_str(), effect));
    let effect_field = decoder.required(&fields, "effect");
    let effect = effect_field.and_then(|field| decoder.choice(&field, &effects));
    Some(Taint { key: key?, value: value?, effect: effect? })
}

fn label_value(decoder: &mut Decoder, field: &Field<'_>, what: &str) -> Option<String> {
    if matches!(field.node.value, crate::tree::Value::Null) {
        return Some(String::new());
    }
    let text = decoder.text(field)?;
    let Some(reason) = label::value(text) else {
        return Some(text.to_owned());
    };
    let problem = Problem::new(format!("{} cannot be {what}", quote(text)));
    decoder
        .report(problem.at(field.position()).because(reason).hint("write a word of at most 63 letters, digits, `-`, `_` and `.`, or \"\""));
    None
}
