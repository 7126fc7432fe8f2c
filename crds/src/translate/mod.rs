//! From an inventory with its variables to the tree of a Cluster in the inline form. Every node has the place of the user's own line, so
//! that one reader, with one set of rules, reads both.

mod build;
mod cluster;
mod defaults;
mod definitions;
mod groups;
mod hosts;
mod lift;
mod login;
mod sealed;
mod settings;
mod values;

use std::collections::BTreeSet;

use crate::resolve::Resolved;
use crate::tree::Node;
use crate::variables::Given;
use crate::{Notice, Position, Problem};
use build::{Map, implied, text};
use groups::Groups;
use values::HostValues;

pub use cluster::DEFAULT_VERSION;
pub(crate) use defaults::defaults;

/// What an inventory says, as a Cluster.
pub(crate) struct Translation {
    /// The cluster in the inline form.
    pub(crate) tree: Node,
    /// What becomes of each variable, but for settings that are in the tree.
    pub(crate) given: Vec<Given>,
    pub(crate) notices: Vec<Notice>,
    pub(crate) problems: Vec<Problem>,
    /// Where encrypted values stand that count for nothing.
    pub(crate) sealed: BTreeSet<Position>,
}

/// Translates an inventory; `start` is where it begins, `name` that of the cluster and where that stands.
pub(crate) fn translate(resolved: &Resolved, start: &Position, name: (&str, &Position)) -> Translation {
    let inventory = resolved.inventory();
    let groups = Groups::from_inventory(inventory, start.clone());
    let members = groups.members.clone();
    let mut values = HostValues::new(resolved, &members, &groups);
    let tolerant = cluster::is_tolerant(&mut values);
    let (mut problems, mut notices) = groups.problems(inventory, tolerant);
    notices.extend(inventory.notices().iter().cloned());
    // Who has no control plane has other groups than we know: what else is wrong would only hide that.
    let (tree, given) = if groups.control_planes.is_empty() {
        (Map::at(start).node(), Vec::new())
    } else {
        whole(&mut values, &groups, name, &mut notices)
    };
    problems.append(&mut values.problems);
    notices.append(&mut values.notices);
    let sealed = if given.is_empty() { BTreeSet::new() } else { sealed::without_effect(&values) };
    Translation { tree, given, notices, problems, sealed }
}

fn whole(values: &mut HostValues<'_>, groups: &Groups<'_>, name: (&str, &Position), notices: &mut Vec<Notice>) -> (Node, Vec<Given>) {
    let start = groups.position.clone();
    let version = cluster::version(values, &start, notices);
    let (ssh, hosts) = lift::shared_logins(hosts::read(values, groups));
    let network = cluster::network(values, &start);
    let prefixes = cluster::node_prefixes(network.as_ref());
    let time = cluster::time(values);
    cluster::check(values, prefixes);
    let (vars, report) = settings::read(values, &start);
    let mut spec = Map::at(&start);
    spec.add("kubernetesVersion", version);
    spec.add_some("ssh", ssh);
    spec.add("hosts", hosts::with_vars(hosts, vars.of_hosts));
    spec.add_some("network", network);
    spec.add_some("time", time);
    spec.add_some("vars", vars.of_all.some());
    notices.extend(report.notices);
    let mut metadata = Map::at(name.1);
    // An inventory says nothing of a name; that of a Cluster has a line.
    let is_said = *name.1 != start;
    metadata.add("name", if is_said { text(name.0, name.1) } else { implied(name.0, &start) });
    let mut tree = Map::at(&start);
    tree.add("apiVersion", implied(crate::read::API_VERSION, &start));
    tree.add("kind", implied(crate::read::KIND, &start));
    tree.add("metadata", metadata.node());
    tree.add("spec", spec.node());
    (tree.node(), report.given)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fmt::Write as _;

    use super::{defaults, translate};
    use crate::Source;
    use crate::inventory::{Inventory, Vars};
    use crate::resolve::Resolved;

    const HOSTS: usize = 1_000;

    /// How often templates ask for variables while a thousand hosts with these variables are translated.
    fn lookups(vars: &str) -> usize {
        let mut text = "all:\n  hosts:\n".to_owned();
        (0..HOSTS).for_each(|host| _ = writeln!(text, "    n{host}: {{ip: 10.1.{}.{}}}", host / 250, host % 250 + 1));
        text.push_str("  children:\n    kube_control_plane: {hosts: {n0: }}\n    kube_node:\n      hosts:\n");
        (1..HOSTS).for_each(|host| _ = writeln!(text, "        n{host}:"));
        let source = Source::file("hosts.yaml", text);
        let inventory = Inventory::read(&source, &[]).unwrap();
        let vars = Vars::read(&Source::file("all.yml", format!("kube_network_plugin: flannel\n{vars}"))).unwrap();
        let resolved = Resolved::new(inventory, vec![vars]).with_defaults(defaults());
        let start = source.position(1, 1);
        let translation = translate(&resolved, &start, ("a", &start));
        assert_eq!(translation.problems, []);
        resolved.lookups()
    }

    /// A list of all hosts in a variable of all hosts: a million lookups, if each host made its own.
    #[test]
    fn templates_over_all_hosts_are_worked_out_once() {
        let all = "{% for h in groups['k8s_cluster'] %}{{ hostvars[h].ip }},{% endfor %}";
        let direct = lookups(&format!("no_proxy: \"{all}\"\n"));
        let nested = lookups(&format!("no_proxy: \"localhost,{{{{ all_ips }}}}\"\nall_ips: \"{all}\"\n"));
        assert!((HOSTS..10 * HOSTS).contains(&direct), "{direct}");
        assert!((HOSTS..10 * HOSTS).contains(&nested), "{nested}");
    }

    /// Settings, each made of another variable: three hundred thousand lookups, if each host made its own.
    #[test]
    fn templates_of_groups_are_worked_out_once_for_their_hosts() {
        let settings = ["http_proxy", "https_proxy", "no_proxy", "additional_no_proxy", "kube_image_repo", "quay_image_repo"];
        let mut vars = "base: example.org\nbase_url: 'http://{{ base }}'\n".to_owned();
        settings.iter().for_each(|name| _ = writeln!(vars, "{name}: '{{{{ base_url }}}}'"));
        let lookups = lookups(&vars);
        assert!((1..HOSTS).contains(&lookups), "{lookups}");
    }
}
