//! How long hosts take that join a cluster which is there: by kokctl, and by hand with `kubeadm join`.
//!
//! Programs and images are in place on both sides. By hand the clock runs from the start of `kubeadm join`, and by kokctl from the end of
//! the hosts' preparation (`ours.rs`), until the API says that the nodes are Ready; of control planes, until their own API servers
//! are ready as well. Who watches is the same for both (`api.rs`).

mod api;
mod by_hand;
mod ours;
mod planes;
mod report;
mod workers;

use std::error::Error;

use super::site::{ClusterOptions, Site, settle};
pub use report::GrowReport;

/// What brings containerd and images to a host; these tasks need no others. The kubelet, kubeadm and names are left, as for whoever has an
/// image of a machine with containers in it: the last of these is the end of the preparation.
const IN_PLACE: &str = "host,packages,swap,selinux,firewall,trust,proxy,time-sync,container-runtime,mirrors,images";

/// Makes clusters of hosts that are booted for it, lets them grow, and measures.
///
/// # Errors
/// When a program fails that is measured, or the lab does.
pub fn run(options: &ClusterOptions, progress: &(dyn Fn(&str) + Sync)) -> Result<GrowReport, Box<dyn Error>> {
    let workers = workers::measure(options, progress)?;
    let planes = planes::measure(options, progress)?;
    Ok(GrowReport::new(workers, planes))
}

/// Brings containerd and images to those hosts of the manifest that don't have them.
fn put_in_place(site: &Site) -> Result<(), Box<dyn Error>> {
    site.applied(&["--only", IN_PLACE])?;
    settle()
}
