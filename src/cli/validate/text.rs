//! What `kokctl validate` prints for people: the cluster, and what needs their attention.

use kok_crds::model::Cluster;
use kok_crds::{Given, Input, Outcome, count, counted};
use kok_tasks::documents::joined;

use super::{is_valid, operation_line, releases, roles};
use crate::artifacts::BundleFolder;
use crate::failure::printable;
use crate::ui::line;

/// Shows it: of the variables all, or those that need attention, with the options that name the files.
pub(super) fn show(input: &Input, bundle: Option<&BundleFolder>, (all, options): (bool, &str)) {
    let Input { cluster, operations, variables, notices, .. } = input;
    if let Some(fleet) = cluster.as_ref().filter(|cluster| cluster.fleet.is_some()) {
        let declared = counted(fleet.resources.entries.len(), "thing is", "things are");
        let hooks = if fleet.hooks.is_empty() { String::new() } else { format!(", {}", count(fleet.hooks.len(), "hook")) };
        line(&format!("fleet {}: {}; {declared} declared for them{hooks}", fleet.name, count(fleet.hosts.len(), "host")));
    } else if let Some(cluster) = cluster {
        summary(cluster);
        match bundle {
            Some(bundle) => line(&format!("the bundle has Kubernetes {}", releases(bundle).join(", "))),
            None => line(&format!("the bundle has to have Kubernetes {}; with --bundle this is looked at too", cluster.kubernetes_version)),
        }
    }
    operations.iter().for_each(|operation| line(&operation_line(operation)));
    of_variables(variables, (all, options)).iter().for_each(|text| line(text));
    notices.iter().for_each(|notice| line(&format!("\n{}", printable(&notice.to_string()))));
    // What is wrong follows, on the other stream.
    line(if is_valid(input) { "\nvalid" } else { "" });
}

/// How many variables there are of each kind, and a table of all of them or of those that need attention.
pub(super) fn of_variables(variables: &[Given], (all, options): (bool, &str)) -> Vec<String> {
    if variables.is_empty() {
        return Vec::new();
    }
    let shown: Vec<&Given> = variables.iter().filter(|given| all || needs_attention(given.outcome)).collect();
    let mut lines = vec![format!("\n{}: {}", counted(variables.len(), "line sets a variable", "lines set variables"), kinds(variables))];
    if shown.len() < variables.len() {
        lines.push(format!("`kokctl validate {options} --all` lists {}", if shown.is_empty() { "them" } else { "all of them" }));
    }
    if !shown.is_empty() {
        lines.push(format!("\n{:<40} {:<28} {:<11} {}", "VARIABLE", "VALUE", "EFFECT", "WHERE AND WHY"));
        lines.extend(shown.into_iter().map(row));
    }
    lines
}

/// Whether the user may have to do something: what is written is not done, or nobody knows what it is.
fn needs_attention(outcome: Outcome) -> bool {
    match outcome {
        Outcome::NotYet | Outcome::Refused | Outcome::Unknown => true,
        Outcome::Honoured | Outcome::Anyway | Outcome::NoMeaning | Outcome::Overruled | Outcome::Own => false,
    }
}

/// How many there are of each kind, the harmless ones first.
fn kinds(variables: &[Given]) -> String {
    let number_of = |outcome| variables.iter().filter(|given| given.outcome == outcome).count();
    let kinds = [
        (Outcome::Honoured, "honoured"),
        (Outcome::Anyway, "so anyway"),
        (Outcome::Own, "your own"),
        (Outcome::NoMeaning, "without meaning here"),
        (Outcome::Overruled, "overruled by others"),
        (Outcome::NotYet, "not done yet"),
        (Outcome::Unknown, "unknown"),
        (Outcome::Refused, "refused"),
    ];
    let some = kinds.into_iter().map(|(outcome, words)| (number_of(outcome), words)).filter(|(count, _)| *count > 0);
    some.map(|(count, words)| format!("{count} {words}")).collect::<Vec<_>>().join(", ")
}

fn summary(cluster: &Cluster) {
    let (planes, workers) = (cluster.control_planes().count(), cluster.workers().count());
    let network = &cluster.network;
    line(&format!(
        "cluster {} with Kubernetes {}: {}, {}, {}",
        cluster.name,
        cluster.kubernetes_version,
        count(cluster.hosts.len(), "host"),
        count(planes, "control plane"),
        count(workers, "worker")
    ));
    line(&format!(
        "network {}: pods {}, services {}, domain {}",
        network.plugin.as_str(),
        joined(&network.pod_cidrs()),
        joined(&network.service_cidrs()),
        network.cluster_domain
    ));
    let few = cluster.hosts.iter().take(MOST_HOSTS);
    few.for_each(|host| {
        line(&format!("  {:<20} {:<16} {}", host.name, host.address.to_string(), roles(host.roles, cluster.has_etcd_units())))
    });
    if cluster.hosts.len() > MOST_HOSTS {
        line(&format!("  and {} more", cluster.hosts.len() - MOST_HOSTS));
    }
}

/// More than that say nothing at a glance.
const MOST_HOSTS: usize = 20;

fn row(given: &Given) -> String {
    let more = given.hosts.filter(|hosts| *hosts > 1).map(|hosts| format!(" for {hosts} hosts")).unwrap_or_default();
    let because = if given.because.is_empty() { String::new() } else { format!(": {}", given.because) };
    let value = if given.value.chars().count() > 28 { given.value.chars().take(27).chain(['…']).collect() } else { given.value.clone() };
    let text = format!("{:<40} {value:<28} {:<11} {}{more}{because}", given.name, given.outcome.as_str(), given.position);
    printable(&text)
}
