//! What a cluster needs a host's firewall to let in.

use kok_crds::model::{Cluster, Host};

use crate::observe::Firewall;
use crate::ports::{self, Port};

/// What has to reach a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    /// Ports, for everybody.
    pub ports: Vec<Port>,
    /// The range of the pods, whose packets come to the host and go through it.
    pub pods: String,
}

impl Opening {
    /// What has to reach this host.
    #[must_use]
    pub fn of(cluster: &Cluster, host: &Host) -> Self {
        let ports = ports::of_host(host, cluster.network.plugin).collect();
        Self { ports, pods: cluster.network.pod_cidr.to_string() }
    }
}

/// What a firewall is called.
#[must_use]
pub fn name(firewall: &Firewall) -> &'static str {
    match firewall {
        Firewall::None => "no firewall",
        Firewall::Firewalld { .. } => "firewalld",
        Firewall::Ufw { .. } => "ufw",
    }
}

/// What a firewall does not let in of what it should, in words. With `only_needed` what the cluster can do without is left out.
#[must_use]
pub fn closed(firewall: &Firewall, opening: &Opening, only_needed: bool) -> Vec<String> {
    let is_open = |port: &Port| match firewall {
        Firewall::None => true,
        Firewall::Firewalld { ports, .. } => ports.iter().any(|open| port.is_within(open)),
        Firewall::Ufw { rules } => ufw_rules(port).iter().any(|rule| has_rule(rules, rule)),
    };
    let pods = match firewall {
        Firewall::None => true,
        Firewall::Firewalld { trusted, .. } => trusted.contains(&opening.pods),
        Firewall::Ufw { rules } => ufw_pods(&opening.pods).iter().all(|rule| has_rule(rules, rule)),
    };
    let wanted = opening.ports.iter().filter(|port| port.needed || !only_needed);
    let closed = wanted.filter(|port| !is_open(port)).map(|port| format!("{} ({})", port.dashed(), port.what));
    closed.chain((!pods).then(|| format!("pods ({})", opening.pods))).collect()
}

/// A rule may have a comment behind it.
fn has_rule(rules: &std::collections::BTreeSet<String>, wanted: &str) -> bool {
    rules.iter().any(|rule| rule.split(" comment=").next() == Some(wanted))
}

/// The rules of ufw's file that let a port in: for its protocol, or for any.
fn ufw_rules(port: &Port) -> [String; 2] {
    [port.protocol, "any"].map(|protocol| format!("allow {protocol} {} 0.0.0.0/0 any 0.0.0.0/0 in", port.colon()))
}

/// The rules of ufw's file that let pods in and through.
fn ufw_pods(pods: &str) -> [String; 3] {
    [
        format!("allow any any 0.0.0.0/0 any {pods} in"),
        format!("route:allow any any 0.0.0.0/0 any {pods} in"),
        format!("route:allow any any {pods} any 0.0.0.0/0 in"),
    ]
}
