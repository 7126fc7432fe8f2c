//! How long a cluster of three control planes and two workers takes to the next minor version: by kokctl, and by kubeadm by hand, host after host.
//!
//! The clock runs from the first command until it has ended and `kubectl get nodes` shows all nodes Ready with the new version. Every run has a cluster of its
//! own, which kokctl has founded with the older version, and whose hosts have all images. Of kokctl's time that in which it did nothing but send programs does
//! not count, for those of kubeadm's way are on the hosts already.

mod bring;
mod classic;
mod kokctl;
mod report;
mod story;

use std::error::Error;

use super::in_turn;
use super::site::{ClusterOptions, HOSTS, Site};
use crate::lab::DEFAULT_KUBERNETES_VERSION as NEW;
pub use report::UpgradeReport;
use report::UpgradeRound;

/// The version before that the bundle holds.
const OLD: &str = "1.36.3";

/// What a founding's check of the network has left is still being removed when kokctl has ended, and DNS is the last that runs.
const AT_REST: &str = "kubectl --kubeconfig /etc/kubernetes/admin.conf wait --for=delete namespace/kokctl-network-check --timeout=120s && \
                       kubectl --kubeconfig /etc/kubernetes/admin.conf -n kube-system wait --for=condition=Available --timeout=120s deployment/coredns";

/// A cluster with the older version, and all images of the newer one.
struct Older {
    site: Site,
}

/// Upgrades clusters, and measures.
///
/// # Errors
/// When a program fails that is measured, or the lab does.
pub fn run(options: &ClusterOptions, progress: &(dyn Fn(&str) + Sync)) -> Result<UpgradeReport, Box<dyn Error>> {
    let mut rounds = Vec::new();
    for number in 0..options.runs {
        let by_kokctl = || kokctl::run(Older::found(options, progress)?, progress);
        let by_kubeadm = || classic::run(Older::found(options, progress)?, progress);
        progress(&format!("round {} of {}", number + 1, options.runs));
        let (kokctl, classic) = in_turn(number, by_kokctl, by_kubeadm)?;
        rounds.push(UpgradeRound { kokctl, classic });
    }
    Ok(UpgradeReport::new(rounds))
}

impl Older {
    fn found(options: &ClusterOptions, progress: &(dyn Fn(&str) + Sync)) -> Result<Self, Box<dyn Error>> {
        let site = Site::up(options, HOSTS, OLD, progress)?;
        let milliseconds = site.applied(&[])?;
        progress(&format!("a cluster with {OLD} in {:.1} s", milliseconds / 1e3));
        bring::images(&site)?;
        let said = site.first()?.ssh(&["sh", "-c", AT_REST])?;
        if !said.success() {
            return Err(format!("the cluster does not come to rest: {}", said.stderr).into());
        }
        progress(&format!("its hosts have the images of {NEW}"));
        Ok(Self { site })
    }
}

/// Of a line of `kubectl get nodes`, for awk: nodes that take no pods say so beside Ready.
fn upgraded() -> String {
    format!("$2 == \"Ready\" && $5 == \"v{NEW}\"")
}
