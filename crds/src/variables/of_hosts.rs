//! Variables that hosts of a Cluster say for themselves, as an inventory has them in `host_vars`.

use std::collections::{BTreeMap, BTreeSet};

use super::judge::same as is_value;
use super::lookup::variable;
use super::readers::Readers;
use super::row::{Rule, Variable};
use super::spec::{read_one, row_of};
use crate::Problem;
use crate::decode::{Decoder, Field};
use crate::given::{Given, Outcome};
use crate::model::{Roles, Settings};
use crate::tree::same;
use crate::tree::{Entry, Node, Value};
use crate::words::quote;

/// A field of a host that says what the variable of its name says.
#[derive(Clone)]
pub(crate) struct OwnField<'a> {
    /// With its name.
    pub(crate) entry: &'a Entry,
    /// With its path.
    pub(crate) field: Field<'a>,
}

/// What one host says.
pub(crate) struct OfHost<'a> {
    /// As messages call it.
    pub(crate) name: String,
    pub(crate) vars: Option<Field<'a>>,
    pub(crate) field: Option<OwnField<'a>>,
    /// What it does; `None` if that is wrong.
    pub(crate) roles: Option<Roles>,
}

impl<'a> OfHost<'a> {
    /// What it says of a variable.
    pub(super) fn node(&self, name: &str) -> Option<&'a Node> {
        self.entries().find(|entry| entry.key == name).map(|entry| &entry.node)
    }

    /// All that it says.
    fn entries(&self) -> impl Iterator<Item = &'a Entry> + use<'a> {
        let vars: &'a [Entry] = match self.vars.as_ref().map(|vars| &vars.node.value) {
            Some(Value::Map(entries)) => entries,
            _ => &[],
        };
        self.field.as_ref().map(|own| own.entry).into_iter().chain(vars)
    }
}

/// Settings that every host says itself: they count, whatever is said for all.
pub(super) type Settled = BTreeSet<&'static str>;

/// What was found in what hosts say.
#[derive(Default)]
pub(super) struct Found {
    /// Settings that every host that reads them says itself.
    pub(super) settled: Settled,
    /// Settings of which hosts have values of their own.
    theirs: BTreeSet<&'static str>,
}

/// A setting, as one host says it.
struct Own<'a> {
    host: &'a OfHost<'a>,
    entry: &'a Entry,
    item: Field<'a>,
}

/// Reads what hosts say beside `of_all`, which is said for all.
pub(super) fn read<'a>(decoder: &mut Decoder, hosts: &'a [OfHost<'a>], of_all: &BTreeMap<&str, &Node>, settings: &mut Settings) -> Found {
    let mut own: BTreeMap<&'static str, (&'static Variable, Vec<Own<'a>>)> = BTreeMap::new();
    for host in hosts {
        if let Some((row, OwnField { entry, field })) = host.field.as_ref().and_then(|own| Some((variable(&own.entry.key)?, own.clone()))) {
            own.entry(row.name).or_insert((row, Vec::new())).1.push(Own { host, entry, item: field });
        }
        let Some(vars) = &host.vars else { continue };
        for entry in decoder.entries(vars, "what a host has as `vars`").unwrap_or_default() {
            let Some(row) = row_of(decoder, entry) else { continue };
            let item = Field { path: format!("{}.{}", vars.path, entry.key), node: &entry.node };
            if let Some(field) = host.field.as_ref().filter(|own| own.entry.key == entry.key) {
                decoder.report(twice(entry, &field.field));
                continue;
            }
            match row.rule {
                Rule::Setting(_) => own.entry(row.name).or_insert((row, Vec::new())).1.push(Own { host, entry, item }),
                _ => read_one(decoder, &item, (&entry.key, &entry.key_position), row, settings),
            }
        }
    }
    let mut found = Found::default();
    for (name, (row, own)) in own {
        one(decoder, (row, own), hosts, of_all.get(name).copied(), (settings, &mut found));
    }
    found
}

fn twice(entry: &Entry, field: &Field<'_>) -> Problem {
    Problem::new(format!("{} is said twice", quote(&entry.key)))
        .at(&entry.key_position)
        .because(format!("the field of the host says it at {}", field.position()))
        .hint("keep one of the two")
}

/// One setting that hosts say.
fn one<'a>(
    decoder: &mut Decoder,
    (row, own): (&'static Variable, Vec<Own<'a>>),
    hosts: &[OfHost<'a>],
    of_all: Option<&Node>,
    (settings, found): (&mut Settings, &mut Found),
) {
    let all: Vec<&OfHost<'a>> = hosts.iter().collect();
    let problem = differing(row, &own, of_all, &all);
    let readers = if problem.is_some() || own.len() == all.len() && adds_up(&own, of_all) {
        Readers::from_values(row, own.iter().map(|own| (&own.entry.node, &own.entry.key_position)))
    } else {
        Readers::Cluster
    };
    match (apart_from_all(row, readers, of_all), problem) {
        // What is said for all holds beside it.
        (Readers::Kubelets, _) => return take_each(decoder, row, &own, settings),
        (Readers::Hosts, Some(_)) => {
            found.theirs.insert(row.name);
            return tell_each(decoder, row, &own);
        }
        (Readers::Cluster, Some(problem)) => decoder.report(problem),
        (Readers::Cluster | Readers::Hosts, None) => take(decoder, row, &own, own.len() == all.len(), settings),
        _ => return of_some(decoder, (row, own), hosts, (readers, of_all), (settings, found)),
    }
    if own.len() == all.len() {
        found.settled.insert(row.name);
    }
}

/// Who reads what hosts say. A host that says what holds without anybody's word says something where another thing is said for all.
fn apart_from_all(row: &'static Variable, readers: Readers, of_all: Option<&Node>) -> Readers {
    let of_all = of_all.filter(|_| readers == Readers::Cluster);
    let of_all = of_all.map(|node| Readers::from_values(row, std::iter::once((node, &node.position))));
    of_all.filter(|readers| *readers == Readers::Hosts).unwrap_or(readers)
}

/// A setting that some hosts read alone.
fn of_some<'a>(
    decoder: &mut Decoder,
    (row, own): (&'static Variable, Vec<Own<'a>>),
    hosts: &[OfHost<'a>],
    (readers, of_all): (Readers, Option<&Node>),
    (settings, found): (&mut Settings, &mut Found),
) {
    let is_one = |host: &OfHost<'_>| host.roles.is_none_or(|roles| readers.have(roles));
    let those: Vec<&OfHost<'a>> = hosts.iter().filter(|host| is_one(host)).collect();
    let (own, others): (Vec<Own<'a>>, Vec<Own<'a>>) = own.into_iter().partition(|own| is_one(own.host));
    if let Some(first) = others.first() {
        let given = Given::new(row.name, Some(row), &first.entry.node, Outcome::NoMeaning, readers.others());
        decoder.give(Given { hosts: (others.len() > 1).then_some(others.len()), ..given });
    }
    let is_settled = own.len() == those.len();
    match differing(row, &own, of_all, &those) {
        Some(problem) => decoder.report(problem),
        None => take(decoder, row, &own, is_settled, settings),
    }
    if is_settled && !own.is_empty() {
        found.settled.insert(row.name);
    }
}

/// The whole settings of each host that has something of its own, when those of the cluster are read.
pub(super) fn whole(
    hosts: &[OfHost<'_>],
    of_all: &BTreeMap<&str, &Node>,
    found: &Found,
    settings: &Settings,
) -> BTreeMap<String, Settings> {
    if found.theirs.is_empty() {
        return BTreeMap::new();
    }
    let is_of_hosts = |name: &str, node: &Node| {
        let row = variable(name).filter(|row| matches!(row.rule, Rule::Setting(_)));
        row.is_some_and(|row| Readers::from_values(row, std::iter::once((node, &node.position))) == Readers::Hosts)
    };
    let shared: Vec<(&str, &Node)> =
        of_all.iter().map(|(name, node)| (*name, *node)).filter(|(name, node)| is_of_hosts(name, node)).collect();
    let mut whole = BTreeMap::new();
    for host in hosts {
        let own: BTreeMap<&str, &Node> =
            host.entries().map(|entry| (entry.key.as_str(), &entry.node)).filter(|(_, node)| !matches!(node.value, Value::Null)).collect();
        if !found.theirs.iter().any(|name| own.contains_key(name)) {
            continue;
        }
        let shared = shared.iter().filter(|(name, _)| !own.contains_key(name)).copied();
        let mut of_host = Settings::default();
        for (name, node) in shared.chain(own.iter().map(|(name, node)| (*name, *node))) {
            let Some(row) = variable(name).filter(|row| matches!(row.rule, Rule::Setting(_))) else { continue };
            // What is wrong is told already.
            read_one(&mut Decoder::default(), &Field { path: name.to_owned(), node }, (name, &node.position), row, &mut of_host);
        }
        let mut settings = settings.clone();
        settings.take_own(&of_host);
        whole.insert(host.name.clone(), settings);
    }
    whole
}

/// Whether what all hosts say alike may have something of what is said for all beside it: fields or options.
fn adds_up(own: &[Own<'_>], of_all: Option<&Node>) -> bool {
    let (Some(first), Some(of_all)) = (own.first(), of_all) else { return false };
    matches!(of_all.value, Value::Map(_) | Value::List(_)) && !same(of_all, &first.entry.node)
}

/// What hosts say alike. If some of them are silent, what is said for all is read, or holds anyway.
fn take(decoder: &mut Decoder, row: &'static Variable, own: &[Own<'_>], is_settled: bool, settings: &mut Settings) {
    let Some(first) = own.first() else { return };
    if is_settled {
        return read_one(decoder, &first.item, (row.name, &first.entry.key_position), row, settings);
    }
    let given = Given::new(row.name, Some(row), &first.entry.node, Outcome::Anyway, "what holds for all hosts says the same");
    decoder.give(Given { hosts: (own.len() > 1).then_some(own.len()), ..given });
}

/// Settings of hosts, each for itself: here it is only told what becomes of them.
fn tell_each(decoder: &mut Decoder, row: &'static Variable, own: &[Own<'_>]) {
    for (index, one) in own.iter().enumerate() {
        let is_told = own.iter().take(index).any(|other| same(&other.entry.node, &one.entry.node));
        let mut silent = Decoder::default();
        let decoder = if is_told { &mut silent } else { &mut *decoder };
        read_one(decoder, &one.item, (row.name, &one.entry.key_position), row, &mut Settings::default());
    }
}

/// Settings of kubelets, which each host has for itself.
fn take_each(decoder: &mut Decoder, row: &'static Variable, own: &[Own<'_>], settings: &mut Settings) {
    for (index, one) in own.iter().enumerate() {
        let mut of_host = Settings::default();
        of_host.components.kubelet = settings.components.kubelet_of_hosts.remove(&one.host.name).unwrap_or_default();
        // Of hosts that are alike, what is said of the first tells enough.
        let is_told = own.iter().take(index).any(|other| same(&other.entry.node, &one.entry.node));
        let mut silent = Decoder::default();
        let decoder = if is_told { &mut silent } else { &mut *decoder };
        read_one(decoder, &one.item, (row.name, &one.entry.key_position), row, &mut of_host);
        settings.components.kubelet_of_hosts.insert(one.host.name.clone(), of_host.components.kubelet);
    }
}

/// What is wrong with a setting that is not the same on all of these hosts.
fn differing(row: &Variable, own: &[Own<'_>], of_all: Option<&Node>, hosts: &[&OfHost<'_>]) -> Option<Problem> {
    let (name, first) = (row.name, own.first()?);
    let node = &first.entry.node;
    let other = own.iter().find(|other| !same(&other.entry.node, node));
    let silent = hosts.iter().find(|host| own.len() != hosts.len() && host.node(name).is_none());
    let because = match (other, silent, of_all) {
        (Some(other), _, _) => format!("{} has another at {}", quote(&other.host.name), other.entry.node.position),
        (None, None, _) => return None,
        (None, Some(_), Some(of_all)) if same(of_all, node) => return None,
        (None, Some(silent), Some(of_all)) => format!("{} has another at {}", quote(&silent.name), of_all.position),
        (None, Some(_), None) if is_value(row, node, row.default) => return None,
        (None, Some(silent), None) => format!("{} does not have it", quote(&silent.name)),
    };
    let problem = Problem::new(format!("`{name}` is not the same on all hosts")).at(&node.position);
    let because = format!("{} has this value, {because}; this version has one for the whole cluster", quote(&first.host.name));
    Some(problem.because(because).hint("write one value for all hosts, under `spec.vars`"))
}
