//! Variables that hosts of a Cluster say for themselves, as an inventory has them in `host_vars`.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::take as taken;

use super::given::{Given, Outcome};
use super::judge::same as is_value;
use super::row::{Rule, Variable};
use super::spec::{read_one, row_of};
use crate::decode::{Decoder, Field};
use crate::model::{KubeletSettings, Settings};
use crate::resolve::same;
use crate::tree::{Entry, Node, Value};
use crate::words::quote;
use crate::{Position, Problem};

/// What one host says.
pub(super) struct OfHost<'a> {
    /// As messages call it.
    pub(super) name: String,
    pub(super) vars: Option<Field<'a>>,
}

impl<'a> OfHost<'a> {
    /// What it says of a variable.
    pub(super) fn node(&self, name: &str) -> Option<&'a Node> {
        self.vars.as_ref()?.node.entry(name).map(|entry| &entry.node)
    }
}

/// Settings that every host says itself: they count, whatever is said for all.
pub(super) type Settled = BTreeSet<&'static str>;

/// A setting, as one host says it.
struct Own<'a> {
    host: &'a str,
    entry: &'a Entry,
    item: Field<'a>,
}

/// Reads what hosts say beside `of_all`, which is said for all.
pub(super) fn read<'a>(decoder: &mut Decoder, hosts: &'a [OfHost<'a>], of_all: &BTreeMap<&str, &Node>, settings: &mut Settings) -> Settled {
    let mut own: BTreeMap<&'static str, (&'static Variable, Vec<Own<'a>>)> = BTreeMap::new();
    for host in hosts {
        let Some(vars) = &host.vars else { continue };
        for entry in decoder.entries(vars, "what a host has as `vars`").unwrap_or_default() {
            let Some(row) = row_of(decoder, entry) else { continue };
            let item = Field { path: format!("{}.{}", vars.path, entry.key), node: &entry.node };
            match row.rule {
                Rule::Setting(_) => own.entry(row.name).or_insert((row, Vec::new())).1.push(Own { host: &host.name, entry, item }),
                _ => read_one(decoder, &item, (&entry.key, &entry.key_position), row, settings),
            }
        }
    }
    let mut settled = Settled::new();
    for (name, (row, own)) in own {
        let is_settled = own.len() == hosts.len();
        let silent = hosts.iter().find(|host| !is_settled && host.node(name).is_none());
        let of_all = of_all.get(name).copied();
        let problem = differing(name, row, &own, of_all, silent);
        let is_each_its_own = problem.is_some() || is_settled && adds_up(&own, of_all);
        if is_each_its_own && are_of_kubelets(row, own.iter().map(|own| (&own.entry.node, &own.entry.key_position))) {
            take_each(decoder, row, &own, settings);
            // What is said for all holds beside it.
            continue;
        }
        match problem {
            Some(problem) => decoder.report(problem),
            None => take(decoder, row, &own, is_settled, settings),
        }
        if is_settled {
            settled.insert(name);
        }
    }
    settled
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

/// Whether values, each with the place of its name, decide what the host's own kubelet is told, and nothing else.
pub(crate) fn are_of_kubelets<'a>(row: &'static Variable, mut values: impl Iterator<Item = (&'a Node, &'a Position)>) -> bool {
    let mut says_something = false;
    values.all(|(node, at)| {
        let (mut settings, mut decoder) = (Settings::default(), Decoder::default());
        read_one(&mut decoder, &Field { path: row.name.to_owned(), node }, (row.name, at), row, &mut settings);
        let kubelet = taken(&mut settings.components.kubelet);
        // What is wrong is told of as that.
        says_something |= kubelet != KubeletSettings::default() || !decoder.is_clean();
        settings == Settings::default()
    }) && says_something
}

/// Settings of kubelets, which each host has for itself.
fn take_each(decoder: &mut Decoder, row: &'static Variable, own: &[Own<'_>], settings: &mut Settings) {
    for (index, one) in own.iter().enumerate() {
        let mut of_host = Settings::default();
        of_host.components.kubelet = settings.components.kubelet_of_hosts.remove(one.host).unwrap_or_default();
        // Of hosts that are alike, what is said of the first tells enough.
        let is_told = own.iter().take(index).any(|other| same(&other.entry.node, &one.entry.node));
        let mut silent = Decoder::default();
        let decoder = if is_told { &mut silent } else { &mut *decoder };
        read_one(decoder, &one.item, (row.name, &one.entry.key_position), row, &mut of_host);
        settings.components.kubelet_of_hosts.insert(one.host.to_owned(), of_host.components.kubelet);
    }
}

/// What is wrong with a setting that is not the same on all hosts.
fn differing(name: &str, row: &Variable, own: &[Own<'_>], of_all: Option<&Node>, silent: Option<&OfHost<'_>>) -> Option<Problem> {
    let first = own.first()?;
    let node = &first.entry.node;
    let other = own.iter().find(|other| !same(&other.entry.node, node));
    let because = match (other, silent, of_all) {
        (Some(other), _, _) => format!("{} has another at {}", quote(other.host), other.entry.node.position),
        (None, None, _) => return None,
        (None, Some(_), Some(of_all)) if same(of_all, node) => return None,
        (None, Some(silent), Some(of_all)) => format!("{} has another at {}", quote(&silent.name), of_all.position),
        (None, Some(_), None) if is_value(row, node, row.default) => return None,
        (None, Some(silent), None) => format!("{} does not have it", quote(&silent.name)),
    };
    let problem = Problem::new(format!("`{name}` is not the same on all hosts")).at(&node.position);
    let because = format!("{} has this value, {because}; this version has one for the whole cluster", quote(first.host));
    Some(problem.because(because).hint("write one value for all hosts, under `spec.vars`"))
}
