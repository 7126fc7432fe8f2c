//! The kinds of objects that Calico keeps its state in, and what else differs between its releases: here alone.

use semver::Version;
use serde::Serialize;

const OURS: &str = "crd.projectcalico.org";
const POLICY: &str = "policy.networking.k8s.io";

/// A kind of objects. Their fields are not checked by the API server: Calico's programs check what they read, in every release otherwise.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Definition {
    group: &'static str,
    version: &'static str,
    name: String,
    kind: &'static str,
    list: String,
    plural: String,
    singular: String,
    scope: &'static str,
    /// Whether its status is written apart.
    status: bool,
    /// Where Kubernetes' own group was approved of, which the API server asks for there.
    approved: Option<&'static str>,
}

/// A kind, and whether its objects are in namespaces.
type Kind = (&'static str, bool);

const ALWAYS: [Kind; 18] = [
    ("BGPConfiguration", false),
    ("BGPFilter", false),
    ("BGPPeer", false),
    ("BlockAffinity", false),
    ("CalicoNodeStatus", false),
    ("ClusterInformation", false),
    ("FelixConfiguration", false),
    ("GlobalNetworkPolicy", false),
    ("GlobalNetworkSet", false),
    ("HostEndpoint", false),
    ("IPAMBlock", false),
    ("IPAMConfig", false),
    ("IPAMHandle", false),
    ("IPPool", false),
    ("IPReservation", false),
    ("KubeControllersConfiguration", false),
    ("NetworkPolicy", true),
    ("NetworkSet", true),
];
const FROM_3_29: [Kind; 1] = [("Tier", false)];
const FROM_3_30: [Kind; 3] = [("StagedGlobalNetworkPolicy", false), ("StagedKubernetesNetworkPolicy", true), ("StagedNetworkPolicy", true)];

fn is_since(version: &Version, minor: u64) -> bool {
    (version.major, version.minor) >= (3, minor)
}

impl Definition {
    fn new(group: &'static str, version: &'static str, kind: &'static str, in_namespaces: bool) -> Self {
        let plural = plural(kind);
        Self {
            group,
            version,
            name: format!("{plural}.{group}"),
            kind,
            list: format!("{kind}List"),
            plural,
            singular: kind.to_ascii_lowercase(),
            scope: if in_namespaces { "Namespaced" } else { "Cluster" },
            status: false,
            approved: None,
        }
    }
}

/// The kinds that a release knows.
pub(super) fn definitions(version: &Version) -> Vec<Definition> {
    let later: [(u64, &[Kind]); 2] = [(29, &FROM_3_29), (30, &FROM_3_30)];
    let later = later.into_iter().filter(|(minor, _)| is_since(version, *minor)).flat_map(|(_, kinds)| kinds);
    let own = ALWAYS.iter().chain(later).map(|(kind, in_namespaces)| Definition::new(OURS, "v1", kind, *in_namespaces));
    own.chain(policies(version)).collect()
}

/// Policies of administrators, of Kubernetes' own group (KEP-2091).
fn policies(version: &Version) -> Vec<Definition> {
    const APPROVED: &str = "https://github.com/kubernetes-sigs/network-policy-api/pull/30";
    let kinds: &[&'static str] = match version.minor {
        ..29 => &[],
        29 => &["AdminNetworkPolicy"],
        30.. => &["AdminNetworkPolicy", "BaselineAdminNetworkPolicy"],
    };
    let of_kind =
        |kind: &&'static str| Definition { status: true, approved: Some(APPROVED), ..Definition::new(POLICY, "v1alpha1", kind, false) };
    kinds.iter().map(of_kind).collect()
}

fn plural(kind: &str) -> String {
    let singular = kind.to_ascii_lowercase();
    match singular.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None if singular.ends_with('s') => format!("{singular}es"),
        None => format!("{singular}s"),
    }
}

/// The controllers that watch a cluster whose state is in its API.
pub(super) fn controllers(version: &Version) -> &'static str {
    if is_since(version, 30) { "node,loadbalancer" } else { "node" }
}
