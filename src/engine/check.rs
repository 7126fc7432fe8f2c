//! Whether hosts can become the cluster of a file.

mod report;

use kok_crds::model::{Cluster, Host};
use kok_tasks::facts::Extent;
use kok_tasks::observe::{Look, Looks};
use kok_tasks::plan::Seen;
use kok_tasks::preconditions;

use super::context::Context;
use crate::failure::Failure;
use crate::run::{LookAt, connect_each, may_write, probe_all};
use report::report;
pub use report::{CheckFinding, CheckReport, CheckResult, CheckStatus};

/// Looks at the `chosen` hosts, and says of each precondition of `apply` whether they meet it. A host that can't be reached is a finding, and
/// the others are checked all the same. Nothing is changed. `chosen` is `cluster` with no more than the hosts that are meant.
///
/// # Errors
/// [`Failure`]s of the file or of keys that it names; then nobody was contacted.
pub async fn check(context: &Context, cluster: &Cluster, chosen: &Cluster) -> Result<CheckReport, Vec<Failure>> {
    let Context { controller, events, transport, .. } = context;
    let (links, unreachable) = connect_each(chosen, |_| true, transport, events).await?;
    let mut unreachable: Vec<Failure> = unreachable.into_values().collect();
    let mut seen = Seen::default();
    let asked =
        chosen.hosts.iter().map(|host| (host.name.clone(), LookAt { looks: looks(cluster, host), facts: Some(Extent::Node) })).collect();
    if let Err(failures) = probe_all(&links, asked, controller, &mut seen, events).await {
        unreachable.extend(failures);
    }
    let held = may_write(seen.standing(), controller, false).err().unwrap_or_default();
    Ok(report((cluster, chosen), &seen, &unreachable, held))
}

fn looks(cluster: &Cluster, host: &Host) -> Looks {
    let mut looks: Looks = preconditions::looks(cluster, host).into_iter().collect();
    if host.roles.control_plane {
        looks.extend([Look::ApiServer, Look::Kubernetes]);
        // Where no API server answers, these say what runs there.
        looks.extend(preconditions::CONFIGURATIONS.map(|path| Look::Content(path.to_owned())));
    }
    if host.roles.etcd && cluster.has_etcd_units() {
        looks.add(Look::Content(preconditions::ETCD_CONFIGURATION.to_owned()));
    }
    looks
}
