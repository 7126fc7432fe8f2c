//! How long a cluster of three control planes and two workers takes on prepared hosts: by kokctl, and in the classic order by kubeadm.
//!
//! The clock runs from the first command until `kubectl get nodes` shows all nodes Ready. Every run has hosts of its own, prepared in the
//! same way by kokctl; how long that took is told beside it.

pub(super) mod classic;
pub mod flannel;
mod kokctl;
mod report;

use std::error::Error;

use super::in_turn;
use super::site::{ClusterOptions, HOSTS, Site, settle};
use crate::lab::DEFAULT_KUBERNETES_VERSION;
pub use report::CreateReport;
use report::{CreateRound, Link};

/// All that hosts need before they are a cluster and that is none of what makes them one.
pub(super) const PREPARATION: &str = "host,packages,names,swap,selinux,firewall,trust,proxy,time-sync,container-runtime,mirrors,images,\
                                      kubelet,kubeadm-configuration";
/// Of a line of `kubectl get nodes`, for awk.
const READY: &str = "$2 ~ /^Ready/";

/// Prepared hosts with a manifest.
struct Prepared {
    site: Site,
    milliseconds: f64,
    /// What the preparation waited for.
    critical_path: Vec<Link>,
}

/// Makes clusters, each on hosts that are booted and prepared for it, and measures.
///
/// # Errors
/// When a program fails that is measured, or the lab does.
pub fn run(options: &ClusterOptions, progress: &(dyn Fn(&str) + Sync)) -> Result<CreateReport, Box<dyn Error>> {
    let mut rounds = Vec::new();
    for number in 0..options.runs {
        let by_kokctl = || kokctl::run(Prepared::new(options, progress)?, progress);
        let by_kubeadm = || classic::run(Prepared::new(options, progress)?, progress);
        progress(&format!("round {} of {}", number + 1, options.runs));
        let (kokctl, classic) = in_turn(number, by_kokctl, by_kubeadm)?;
        rounds.push(CreateRound { kokctl, classic });
    }
    Ok(CreateReport::new(rounds))
}

impl Prepared {
    fn new(options: &ClusterOptions, progress: &(dyn Fn(&str) + Sync)) -> Result<Self, Box<dyn Error>> {
        let site = Site::up(options, HOSTS, DEFAULT_KUBERNETES_VERSION, progress)?;
        let milliseconds = site.applied(&["--only", PREPARATION])?;
        let critical_path = kokctl::critical_path(&site, "latest")?;
        progress(&format!("prepared {HOSTS} bare hosts in {:.1} s", milliseconds / 1e3));
        settle()?;
        Ok(Self { site, milliseconds, critical_path })
    }
}
