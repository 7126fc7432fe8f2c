//! Every other variable: settings go into the tree, and of each it is said what becomes of it.

use std::collections::BTreeMap;

use super::build::Map;
use super::cluster;
use super::definitions::VariableDefinition;
use super::values::HostValues;
use crate::resolve::{aliases, field_of_ssh_options};
use crate::tree::same;
use crate::tree::{Tag, Value};
use crate::variables::{
    Given, Outcome, Readers, Rule, Variable, Verdict, WITHOUT_CALICO, flag, judge, nearest_variable, neither, variable,
};
use crate::words::quote;
use crate::{Notice, Position, Problem};

/// What became of the variables.
#[derive(Default)]
pub(super) struct Report {
    pub(super) given: Vec<Given>,
    pub(super) notices: Vec<Notice>,
}

/// What stands in fields `vars`.
pub(super) struct VarsFields {
    /// Of the cluster.
    pub(super) of_all: Map,
    /// Of hosts, by their names.
    pub(super) of_hosts: BTreeMap<String, Map>,
}

/// The fields `vars`, and a line for each place at which a variable is written.
pub(super) fn read(values: &mut HostValues<'_>, start: &Position) -> (VarsFields, Report) {
    let mut report = Report::default();
    let mut vars = VarsFields { of_all: Map::at(start), of_hosts: BTreeMap::new() };
    let names: Vec<&str> = values.definitions.iter().map(|(name, _)| name).collect();
    for name in names {
        match variable(name) {
            None => unknown(values, name, &mut report),
            Some(row) => known(values, name, row, &mut vars, &mut report),
        }
    }
    (vars, report)
}

fn known(values: &mut HostValues<'_>, name: &str, row: &'static Variable, vars: &mut VarsFields, report: &mut Report) {
    let idle = values.definitions.get(name).iter().filter(|place| place.hosts.is_empty());
    report.add(name, Some(row), idle.map(|place| (place, beside(values, place, row))));
    let (without, is_moot) = (values.definitions.get(name).iter().filter(|place| has_no_value(place)), matches!(row.rule, Rule::Moot(_)));
    report.add(name, Some(row), without.filter(|_| !is_moot).map(|place| (place, (Outcome::Anyway, NO_VALUE))));
    let before = (values.problems.len(), report.given.len());
    counted(values, name, row, vars, report);
    if values.problems.len() > before.0 && report.given.len() == before.1 {
        all(values, name, row, Outcome::Refused, "a problem says why", report);
    }
}

/// What counts for hosts of the cluster.
fn counted(values: &mut HostValues<'_>, name: &str, row: &'static Variable, vars: &mut VarsFields, report: &mut Report) {
    match row.rule {
        Rule::Setting(_) => setting(values, name, row, vars, report),
        Rule::Field(field) => {
            check_flag(values, name, row);
            fields(values, name, row, field, report);
        }
        Rule::Reading(how) => {
            check_flag(values, name, row);
            let is_on = values.distinct(name).iter().any(|value| flag(&value.node) == Some(true));
            let (outcome, because) = if is_on { (Outcome::Honoured, how) } else { (Outcome::Anyway, "") };
            all(values, name, row, outcome, because, report);
        }
        // Nothing of it counts, so it is not rendered either: it may hang on what is only known on hosts.
        Rule::Moot(_) | Rule::Follows(_) if values.definitions.counts(name) => {
            all(values, name, row, Outcome::Own, "other values use it", report)
        }
        Rule::Needed(_) if row.needs_switch().is_some() && !cluster::has_calico(values) => {
            all(values, name, row, Outcome::NoMeaning, WITHOUT_CALICO, report);
        }
        Rule::Moot(because) => all(values, name, row, Outcome::NoMeaning, because, report),
        Rule::Follows(because) => all(values, name, row, Outcome::Anyway, because, report),
        _ => judged(values, name, row, report),
    }
}

/// One value for all hosts, or for all that read it; what kubelets are told, and what is a host's own, may be another for each of them.
fn setting(values: &mut HostValues<'_>, name: &str, row: &'static Variable, vars: &mut VarsFields, report: &mut Report) {
    let mut distinct = values.distinct(name);
    let mut problem = values.difference(name, &distinct, values.hosts);
    let mut readers = Readers::Cluster;
    if problem.is_some() {
        readers = Readers::from_values(row, distinct.iter().map(|value| (&value.node, &value.key_position)));
        let hosts = values.that_read(readers);
        distinct.iter_mut().for_each(|value| value.hosts.retain(|host| hosts.contains(host)));
        distinct.retain(|value| !value.hosts.is_empty());
        problem = values.difference(name, &distinct, &hosts);
        // Of one that is refused, all is said elsewhere.
        let places = values.definitions.get(name).iter().filter(|place| !place.hosts.is_empty() && (problem.is_none() || readers.differ()));
        let unread = places.filter(|place| !place.hosts.iter().any(|host| hosts.contains(host)));
        report.add(name, Some(row), unread.map(|place| (place, (Outcome::NoMeaning, readers.others()))));
    }
    match problem {
        Some(_) if readers.differ() => {
            for value in distinct {
                for host in value.hosts {
                    let of_host = vars.of_hosts.entry(host.to_owned()).or_insert_with(|| Map::at(&value.key_position));
                    of_host.add_at(name, &value.key_position, value.node.clone());
                }
            }
        }
        Some(problem) => values.problems.push(problem),
        None => distinct.into_iter().take(1).for_each(|only| vars.of_all.add_at(name, &only.key_position, only.node)),
    }
}

/// What is written for a host that is no part of the cluster, or counts for no host of it.
fn beside(values: &HostValues<'_>, place: &VariableDefinition<'_>, row: &Variable) -> (Outcome, &'static str) {
    match place.owner {
        Some(owner) if values.bastion == Some(owner) && matches!(row.rule, Rule::Field(field) if field.contains(".ssh")) => {
            (Outcome::Honoured, "the bastion's login")
        }
        Some(owner) if !values.hosts.contains(&owner) => (Outcome::Overruled, "its host is no part of the cluster"),
        _ => (Outcome::Overruled, "something else counts for every host of the cluster"),
    }
}

fn fields(values: &mut HostValues<'_>, name: &str, row: &'static Variable, field: &'static str, report: &mut Report) {
    let (outcome, because) = match name {
        "ntp_enabled" | "ntp_manage_config" | "ntp_servers" => time(values),
        "ansible_ssh_args" | "ansible_ssh_common_args" | "ansible_ssh_extra_args" => ssh_options(values, name),
        "cluster_name" => cluster_name(values, field, report),
        "enable_dual_stack_networks" if values.definitions.get("ipv6_stack").iter().any(|place| !place.hosts.is_empty()) => {
            (Outcome::Overruled, "`ipv6_stack` counts where both are set, as with Kubespray")
        }
        _ if cluster::is_of_ipv6(name) && !cluster::has_ipv6(values) => {
            (Outcome::NoMeaning, "it is of IPv6, which the cluster has with `ipv6_stack: true` only")
        }
        "custom_cni_manifests" if !cluster::has_own_manifests(values) => {
            (Outcome::NoMeaning, "it is read with the network plugin custom_cni only")
        }
        _ if is_overruled(values, name) => (Outcome::Overruled, "another name of it counts where both are set, as in Ansible"),
        _ => (Outcome::Honoured, field),
    };
    all(values, name, row, outcome, because, report);
}

/// Whether on every host for which a variable of a login counts, another name of it is set that counts more.
fn is_overruled(values: &HostValues<'_>, name: &str) -> bool {
    let is_set = |host: &str, name: &str| {
        let written = values.resolved.origin(host, name);
        written.is_some_and(|variable| !matches!(variable.node.value, Value::Null))
    };
    let mut hosts = values.definitions.get(name).iter().flat_map(|place| &place.hosts).peekable();
    hosts.peek().is_some() && hosts.all(|host| aliases::before(name).iter().any(|other| is_set(host, other)))
}

/// It is the DNS domain where nobody names that itself, and the name of nothing here.
fn cluster_name(values: &mut HostValues<'_>, field: &'static str, report: &mut Report) -> (Outcome, &'static str) {
    const BECAUSE: &str = "`dns_domain` says another DNS domain, and the cluster itself has its name elsewhere";
    let domain = values.distinct("dns_domain").into_iter().next();
    let other =
        values.distinct("cluster_name").into_iter().find(|own| domain.as_ref().is_some_and(|domain| !same(&own.node, &domain.node)));
    let Some(other) = other else { return (Outcome::Honoured, field) };
    let notice = Notice::new("`cluster_name` has no effect").at(&other.node.position).because(BECAUSE);
    report.notices.push(notice.hint("a cluster is called as its object or the folder of its inventory is"));
    (Outcome::Overruled, BECAUSE)
}

/// Only some options of ssh say something of the way to a host.
fn ssh_options(values: &mut HostValues<'_>, name: &str) -> (Outcome, &'static str) {
    let field = values.distinct(name).iter().find_map(|value| match &value.node.value {
        Value::Text(text) => field_of_ssh_options(text),
        _ => None,
    });
    let nothing = (Outcome::NoMeaning, "no option of it says a way to a host; a note says what becomes of each");
    field.map_or(nothing, |field| (Outcome::Honoured, field))
}

/// The three say something only together.
fn time(values: &mut HostValues<'_>) -> (Outcome, &'static str) {
    let mut on = |name: &str| values.distinct(name).iter().any(|value| flag(&value.node) == Some(true));
    match (on("ntp_enabled"), on("ntp_manage_config")) {
        (true, true) => (Outcome::Honoured, "spec.time.servers"),
        (false, _) => (Outcome::Anyway, "hosts keep the sources of time that they have, as with ntp_enabled: false"),
        (true, false) => (
            Outcome::NotYet,
            "hosts keep the sources of time that they have; with ntp_manage_config: true, kokctl sets them up from ntp_servers",
        ),
    }
}

fn all(values: &HostValues<'_>, name: &str, row: &'static Variable, outcome: Outcome, because: &'static str, report: &mut Report) {
    let places = values.definitions.get(name).iter().filter(|place| !place.hosts.is_empty());
    let places = places.filter(|place| matches!(row.rule, Rule::Moot(_)) || !has_no_value(place));
    report.add(name, Some(row), places.map(|place| (place, (outcome, because))));
}

/// Why a variable without a value does nothing.
const NO_VALUE: &str = "it has no value, and counts as not set";

/// Whether `name:` stands there for hosts of the cluster with nothing behind it. What was encrypted has nothing left, and had a value.
fn has_no_value(place: &VariableDefinition<'_>) -> bool {
    let node = &place.variable.node;
    !place.hosts.is_empty() && matches!(node.value, Value::Null) && node.tag == Tag::None
}

/// Values that are compared with what is known of them.
fn judged(values: &mut HostValues<'_>, name: &str, row: &'static Variable, report: &mut Report) {
    let before = values.problems.len();
    let distinct = values.distinct(name);
    // What is not done yet counts for nothing, so that it need not be known.
    if matches!(row.rule, Rule::Later) && values.problems.len() > before {
        values.problems.truncate(before);
        return all(values, name, row, Outcome::NotYet, "it has no effect yet, so that it need not be known", report);
    }
    for value in distinct {
        let (outcome, because) = match judge(row, name, &value.node, &value.key_position) {
            Verdict::Read => continue,
            Verdict::Anyway => (Outcome::Anyway, String::new()),
            Verdict::NoMeaning(because) => (Outcome::NoMeaning, because.to_owned()),
            Verdict::NotYet => (Outcome::NotYet, row.undone()),
            Verdict::Refused(problem) => {
                let because = problem.because.clone().unwrap_or_default();
                values.problems.push(problem);
                (Outcome::Refused, because)
            }
        };
        let given = Given::new(name, Some(row), &value.node, outcome, because);
        report.given.push(Given { hosts: some_hosts(value.hosts.len(), values.hosts.len()), ..given });
    }
}

/// How many hosts something counts for, if not for all.
fn some_hosts(hosts: usize, all: usize) -> Option<usize> {
    (hosts < all).then_some(hosts)
}

/// Of more hosts that are alike, one stands for all: nobody reads a thousand lines that say the same.
const FEW: usize = 8;

impl Report {
    /// A line for each place; of many hosts of which the same becomes, one for all.
    fn add<'a>(
        &mut self,
        name: &str,
        row: Option<&Variable>,
        places: impl Iterator<Item = (&'a VariableDefinition<'a>, (Outcome, &'static str))>,
    ) {
        let mut of_hosts: BTreeMap<(Outcome, &'static str), Vec<&VariableDefinition<'_>>> = BTreeMap::new();
        for (place, (outcome, because)) in places {
            match place.owner {
                None => self.given.push(Given::new(name, row, &place.variable.node, outcome, because)),
                Some(_) => of_hosts.entry((outcome, because)).or_default().push(place),
            }
        }
        for ((outcome, because), places) in of_hosts {
            let hosts = (places.len() > FEW).then_some(places.len());
            let shown = if hosts.is_some() { 1 } else { places.len() };
            let given = places.iter().take(shown).map(|place| Given::new(name, row, &place.variable.node, outcome, because));
            self.given.extend(given.map(|given| Given { hosts, ..given }));
        }
    }
}

/// People have variables of their own, which their templates use; others are misspelled.
fn unknown(values: &HostValues<'_>, name: &str, report: &mut Report) {
    let is_used = values.definitions.is_used(name);
    let (outcome, because) = if is_used { (Outcome::Own, "other values use it") } else { (Outcome::Unknown, "nothing here reads it") };
    let places = values.definitions.get(name);
    report.add(name, None, places.iter().map(|place| (place, (outcome, because))));
    if let Some(place) = places.first().filter(|_| !is_used) {
        let notice = Notice::new(format!("nothing here reads the variable {}", quote(name))).at(&place.variable.key_position);
        let notice =
            notice.because("neither kokctl nor Kubespray has one of that name, as far as is known here, and no other value uses it");
        report.notices.push(match nearest_variable(name) {
            Some(near) => notice.hint(format!("did you mean `{near}`?")),
            None => notice,
        });
    }
}

/// Fields that are neither true nor false. Of other variables, whoever judges them says so.
fn check_flag(values: &mut HostValues<'_>, name: &str, row: &'static Variable) {
    let wrong: Vec<Problem> = values.distinct(name).iter().filter_map(|value| neither(row, name, &value.node)).collect();
    values.problems.extend(wrong);
}
