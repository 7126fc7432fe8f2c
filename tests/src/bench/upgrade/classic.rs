//! By kubeadm, host after host.

use std::error::Error;
use std::time::Instant;

use super::report::UpgradedByKubeadm;
use super::{NEW, Older, bring, upgraded};
use crate::bench::parts;
use crate::bench::site::{milliseconds, names};

const SCRIPT: &str = include_str!("classic.sh");
const LAST: &str = "nodes Ready";

pub(super) fn run(older: Older, progress: &(dyn Fn(&str) + Sync)) -> Result<UpgradedByKubeadm, Box<dyn Error>> {
    let site = &older.site;
    let programs_milliseconds = bring::programs(site)?;
    let (planes, workers) = site.roles();
    let (first, others) = planes.split_first().ok_or("no control plane")?;
    let began = Instant::now();
    let marks = site.classic(SCRIPT, &[NEW, first.name(), &names(others), &names(&workers)])?;
    site.wait_for_nodes(&upgraded())?;
    let milliseconds = milliseconds(began);
    progress(&format!("kubeadm: {:.1} s until all nodes were Ready with {NEW}", milliseconds / 1e3));
    let parts = parts::marked(&marks, milliseconds, LAST);
    older.site.lab.down()?;
    Ok(UpgradedByKubeadm { milliseconds, parts, programs_milliseconds })
}
