//! Reading and showing inventories.

use kok_crds::inventory::{Inventory, Vars};
use kok_crds::resolve::Resolved;
use kok_crds::tree::{Node, Value};
use kok_crds::{Problem, Source};

/// An inventory that has to be right.
pub(crate) fn read(text: &str) -> Inventory {
    read_with(text, &[])
}

/// An inventory with files beside it.
pub(crate) fn read_with(text: &str, beside: &[(&str, &str)]) -> Inventory {
    try_read(text, beside).unwrap_or_else(|problems| panic!("{text}\n{}", rendered(&problems)))
}

pub(crate) fn try_read(text: &str, beside: &[(&str, &str)]) -> Result<Inventory, Vec<Problem>> {
    let beside: Vec<_> = beside.iter().map(|(name, text)| Source::file(*name, *text)).collect();
    Inventory::read(&Source::file("hosts.yml", text), &beside)
}

pub(crate) fn vars(name: &str, text: &str) -> Vars {
    Vars::read(&Source::file(name, text)).unwrap()
}

pub(crate) fn rendered(problems: &[Problem]) -> String {
    let texts: Vec<_> = problems.iter().map(ToString::to_string).collect();
    texts.join("\n\n")
}

/// A value as YAML in one line.
pub(crate) fn shown(node: &Node) -> String {
    match &node.value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Integer(value) => value.to_string(),
        Value::Float => node.spelling.clone(),
        Value::Text(text) => format!("{text:?}"),
        Value::List(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(", ")),
        Value::Map(entries) => {
            let entries: Vec<_> = entries.iter().map(|entry| format!("{}: {}", entry.key, shown(&entry.node))).collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

/// `group: hosts` for the groups that have hosts, without `all`, `ungrouped` and `k8s_cluster`.
pub(crate) fn groups(inventory: &Inventory) -> String {
    let lines = inventory.groups().filter(|group| !["all", "ungrouped", "k8s_cluster"].contains(group)).filter_map(|group| {
        let members = inventory.members(group).unwrap();
        (!members.is_empty()).then(|| format!("{group}: {}", members.join(" ")))
    });
    lines.collect::<Vec<_>>().join("; ")
}

/// Everything that is in an inventory: the hosts with what counts for them, and the groups.
pub(crate) fn everything(inventory: &Inventory) -> String {
    let resolved = Resolved::new(inventory.clone(), Vec::new());
    let mut lines = Vec::new();
    for host in inventory.hosts() {
        let vars = resolved.names(host).into_iter().map(|name| format!("{name}={}", shown(&resolved.origin(host, name).unwrap().node)));
        lines.push(format!("{host} {}", vars.collect::<Vec<_>>().join(" ")));
    }
    for group in inventory.groups() {
        lines.push(format!("[{group}] {}", inventory.members(group).unwrap().join(" ")));
    }
    lines.join("\n")
}

/// The variables of a host that nothing hides.
pub(crate) fn host(inventory: &Inventory, host: &str) -> String {
    let resolved = Resolved::new(inventory.clone(), Vec::new());
    let vars = resolved.names(host).into_iter().map(|name| format!("{name}={}", shown(&resolved.origin(host, name).unwrap().node)));
    vars.collect::<Vec<_>>().join(" ")
}
