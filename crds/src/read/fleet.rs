//! Hosts and nothing else: a Fleet, to which `kokctl converge` does what is declared.

use std::collections::{BTreeMap, BTreeSet};

use semver::Version;

use super::hosts::{ReadHost, placed, read_address};
use super::resources::fields::group_name;
use super::resources::{Places, vars};
use super::{hooks, network, read_label, resources, ssh};
use crate::decode::{Decoder, Field, Form};
use crate::model::{Cluster, Concealed, Fleet, HookPlace, Host, HostResources, Roles, Settings, Ssh, TemplateVars, TimeSync};
use crate::position::Positions;
use crate::words::quote;
use crate::{Position, Problem};

/// What stands in the version's place: a fleet has none.
const NO_VERSION: Version = Version::new(0, 0, 0);

pub(crate) const SPEC: Form = Form {
    what: "the spec of a Fleet",
    fields: &["ssh", "vars", "hosts", "hostResources", "hooks"],
    refused: &[
        ("resources", "write them as `hostResources`"),
        ("kubernetesVersion", "leave it out, or write a Cluster: a Fleet has no Kubernetes"),
        ("network", "leave it out, or write a Cluster: a Fleet has no Kubernetes"),
    ],
};

const HOST: Form = Form {
    what: "a host of a Fleet",
    fields: &["name", "address", "groups", "ssh", "vars"],
    refused: &[
        ("roles", "write them as `groups`: a Fleet has no Kubernetes"),
        ("ansible_host", "write it as `address`"),
        ("ansible_user", "write it as `user` under `ssh`"),
        ("ansible_port", "write it as `port` under `ssh`"),
        ("port", "write it under `ssh`"),
        ("user", "write it under `ssh`"),
    ],
};

/// A host with its groups and variables.
struct Member<'a> {
    read: ReadHost<'a>,
    groups: Vec<String>,
    vars: TemplateVars,
}

/// Reads the spec, with its hosts one by one. The name stands elsewhere.
pub(crate) fn read<'a>(decoder: &mut Decoder, spec: &Field<'a>) -> Option<(Cluster, Vec<ReadHost<'a>>)> {
    let fields = decoder.fields(spec, &SPEC)?;
    let login = ssh::read_defaults(decoder, fields.get("ssh"));
    let vars = fields.get("vars").map(|field| vars(decoder, &field)).unwrap_or_default();
    let field = decoder.required(&fields, "hosts")?;
    let items = decoder.list(&field, "it is a list of hosts")?;
    if items.is_empty() {
        let problem = Problem::new("the fleet has no hosts").at(field.position());
        decoder.report(problem.hint("write them, each with its `name` and its `address`"));
    }
    let members: Vec<Member<'a>> = items.iter().filter_map(|item| member(decoder, item, &login)).collect();
    let fleet = Fleet { groups: groups(&members) };
    let hosts: Vec<Host> = members.iter().filter_map(|member| member.read.host.clone()).collect();
    let names: Vec<String> = hosts.iter().map(|host| host.name.clone()).collect();
    distinct(decoder, &fleet, &names, field.position());
    let places = Places { hosts: names.clone(), groups: fleet.groups.clone() };
    let declared = fields.get("hostResources").map(|field| list(decoder, &field, &places)).unwrap_or_default();
    let hooks = fields.get("hooks").map(|field| hooks::read(decoder, &field, &places, &HookPlace::OF_FLEETS)).unwrap_or_default();
    let own = members.iter().filter_map(|member| Some((member.read.name.as_ref()?.0.clone(), member.vars.clone())));
    let resources = HostResources { vars, host_vars: own.collect(), ..declared };
    let (network, _) = network::read(decoder, None, &mut Vec::new())?;
    let cluster = Cluster {
        name: String::new(),
        kubernetes_version: NO_VERSION,
        hosts,
        leaving: Vec::new(),
        removed: Vec::new(),
        network,
        time: TimeSync::default(),
        addons: Vec::new(),
        resources,
        hooks,
        pools: Vec::new(),
        fleet: Some(fleet),
        settings: Settings::default(),
        concealed: Concealed::default(),
        underway: None,
        positions: Positions::default().with_hosts(names),
    };
    Some((cluster, members.into_iter().map(|member| member.read).collect()))
}

/// Of a fleet only the list has a meaning: there is no Kubernetes to keep anything for.
fn list(decoder: &mut Decoder, field: &Field<'_>, places: &Places) -> HostResources {
    match decoder.list(field, "it is a list of entries, each of one kind: file, dir, unit and others") {
        Some(_) => resources::read(decoder, field, places),
        None => HostResources::default(),
    }
}

fn member<'a>(decoder: &mut Decoder, item: &Field<'a>, login: &Ssh) -> Option<Member<'a>> {
    let fields = decoder.fields(item, &HOST)?;
    let name = placed(decoder, &fields, "name", |decoder, field| read_label(decoder, field, "the name of a host"));
    let address = placed(decoder, &fields, "address", read_address);
    let ssh = ssh::read_host(decoder, fields.get("ssh"), login);
    let groups = fields.get("groups").map(|field| group_names(decoder, &field)).unwrap_or_default();
    let vars = fields.get("vars").map(|field| vars(decoder, &field)).unwrap_or_default();
    let host = || {
        Some(Host {
            name: name.clone()?.0,
            address: address.as_ref()?.0,
            address_ipv6: None,
            roles: Roles::default(),
            ssh,
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            taints: Vec::new(),
            origin: item.position().clone(),
        })
    };
    let host = host();
    Some(Member { read: ReadHost { host, name, address, address_ipv6: None, roles: None, delivery: None, vars: None }, groups, vars })
}

fn group_names(decoder: &mut Decoder, field: &Field<'_>) -> Vec<String> {
    let items = decoder.list(field, "it is a list of groups").unwrap_or_default();
    items.iter().filter_map(|item| group_name(decoder, item)).collect()
}

/// Names of hosts by their groups.
fn groups(members: &[Member<'_>]) -> BTreeMap<String, Vec<String>> {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for member in members {
        let Some((name, _)) = &member.read.name else { continue };
        let unique: BTreeSet<&String> = member.groups.iter().collect();
        unique.into_iter().for_each(|group| groups.entry(group.clone()).or_default().push(name.clone()));
    }
    groups
}

/// `on` and `--limit` have to know what is meant.
fn distinct(decoder: &mut Decoder, fleet: &Fleet, hosts: &[String], at: &Position) {
    for name in fleet.groups.keys().filter(|name| hosts.contains(name)) {
        let problem = Problem::new(format!("{} is a host and a group", quote(name))).at(at);
        let problem = problem.because("`on` and `--limit` take names of both");
        decoder.report(problem.hint("give the group another name"));
    }
}
