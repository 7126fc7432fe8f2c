//! The plan that makes certificates anew, and changes nothing else of a cluster. It needs no bundle, and no other version is brought about by it.

use kok_crds::model::{Cluster, Host};

use super::draft::{Draft, Edge, HostView};
use super::graph::Plan;
use super::make::{Inputs, Making, Seen, compared, defect, enter};
use super::refusal::Refusal;
use super::select::Selection;
use crate::bundle::{Bundle, FORMAT};
use crate::completed::completed;
use crate::facts::HostFacts;
use crate::list::kubeadm_configuration::Configurations;
use crate::list::renew;
use crate::list::resources::Templates;
use crate::observe::Looks;
use crate::preconditions;
use crate::renewal::Renewal;

/// Nothing is installed.
static NO_BUNDLE: Bundle = Bundle { format: FORMAT, kubernetes: Vec::new(), files: Vec::new(), images: Vec::new(), packages: Vec::new() };

/// What a first look at a host asks.
#[must_use]
pub fn renew_looks(cluster: &Cluster, host: &Host) -> Looks {
    renew::looks(cluster, host)
}

/// The plan for what is asked for, at `now_seconds` since 1970.
///
/// # Errors
/// [`Refusal`] where a host is another cluster's, or etcd is being recovered.
pub fn renew(cluster: &Cluster, renewal: &Renewal<'_>, now_seconds: i64, seen: &Seen) -> Result<Making, Vec<Refusal>> {
    let refusals = preconditions::check_reset(cluster, seen);
    if !refusals.is_empty() {
        return Err(refusals);
    }
    of_hosts(cluster, now_seconds, seen, |host| renewal.concerns(cluster, host), &|view| renew::drafts(view, renewal))
}

/// What is written down for a host.
type Drafts<'a> = dyn for<'v> Fn(&HostView<'v>) -> Result<Vec<Draft<'v>>, Refusal> + 'a;

/// A plan for these hosts of a cluster that is as it is: nothing of a bundle is installed.
pub(super) fn of_hosts(
    cluster: &Cluster,
    now_seconds: i64,
    seen: &Seen,
    is_meant: impl Fn(&Host) -> bool,
    drafts: &Drafts<'_>,
) -> Result<Making, Vec<Refusal>> {
    let cluster = &*completed(cluster, seen);
    let inputs = Inputs { cluster, bundle: &NO_BUNDLE, token_id: "", new_cluster_id: "", now_seconds, prune: false };
    let (expected, templates) = (HostFacts::expected(), &Templates::of(cluster));
    let (mut plan, mut edges) = (Plan::default(), Vec::new());
    for host in cluster.hosts.iter().filter(|host| is_meant(host)) {
        let facts = seen.facts(&host.name).unwrap_or(&expected);
        let configurations = &Configurations::default();
        let view = HostView { inputs: &inputs, host, seen, facts, cluster_id: None, configurations, templates };
        for draft in drafts(&view).map_err(|refusal| vec![refusal])? {
            edges.extend(enter(&mut plan, draft).map_err(|refusal| vec![refusal])?);
        }
    }
    for Edge { later, earlier, reason } in edges {
        plan.order(&later, &earlier, reason).map_err(|sentence| vec![defect(sentence)])?;
    }
    compared(plan, seen, &Selection::whole())
}
