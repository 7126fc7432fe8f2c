//! Workers join a cluster of three control planes and two workers: one by kokctl, one by hand, and three at once by kokctl: with
//! all processors that there are, and each with its own share of them.

use std::error::Error;

use super::api::Api;
use super::by_hand::ByHand;
use super::report::{GrownByKokctl, OneWorker, WorkersRound};
use super::{ours, put_in_place};
use crate::bench::site::{ClusterOptions, Site};
use crate::bench::sshd::{self, LogPlace};
use crate::bench::{in_turn, text};
use crate::lab::{DEFAULT_KUBERNETES_VERSION, Host};

/// The cluster that is measured, the host of each way to join, and two more for three at once.
const HOSTS: usize = 9;
/// Before anything joins, and after what has joined is gone.
const CLUSTER: [&str; 5] = ["cp1", "cp2", "cp3", "worker1", "worker2"];
/// Who joins by hand. kokctl lets it join when the cluster is founded, and has it no longer in the manifest afterwards.
const BY_HAND: &str = "worker3";
const ONE: &[&str] = &["worker4"];
const THREE: &[&str] = &["worker4", "worker5", "worker6"];
/// Thousandths of a processor of each host that joins as if it were a machine of its own: of the two that there are at the least, a quarter is left to the
/// cluster while three do.
const SHARE: u32 = 500;

pub(super) fn measure(options: &ClusterOptions, progress: &(dyn Fn(&str) + Sync)) -> Result<Vec<WorkersRound>, Box<dyn Error>> {
    let site = Site::up(options, HOSTS, DEFAULT_KUBERNETES_VERSION, progress)?;
    progress("founding a cluster of three control planes and three workers, one of which is freed by hand");
    write_manifest(&site, &[BY_HAND])?;
    site.applied(&[])?;
    let hosts: Vec<Host> = site.lab.hosts().collect();
    sshd::log_every_command(&hosts)?;
    let api = Api::new(&site)?;
    let by_hand = ByHand::new(&site, &api, &[BY_HAND])?;
    by_hand.free(&site.lab.host(BY_HAND)?)?;
    let rounds = (0..options.runs).map(|number| {
        progress(&format!("workers, round {} of {}", number + 1, options.runs));
        round(&site, &api, &by_hand, number)
    });
    let rounds = rounds.map(|round| round.inspect(|round| progress(&round.to_string()))).collect::<Result<_, _>>()?;
    site.lab.down()?;
    Ok(rounds)
}

fn round(site: &Site, api: &Api<'_>, by_hand: &ByHand<'_>, number: usize) -> Result<WorkersRound, Box<dyn Error>> {
    let (one, by_hand_milliseconds) = in_turn(number, || one_worker(site, api), || one_by_hand(site, by_hand))?;
    let three = joins(site, api, THREE)?;
    remove(site, THREE)?;
    let (alone, three_apart) = in_turn(number, || joins_apart(site, api, ONE), || joins_apart(site, api, THREE))?;
    Ok(WorkersRound { one, by_hand_milliseconds, three, alone, three_apart })
}

/// Hosts that join, each with its share of a processor: what one of them does takes nothing from another.
fn joins_apart(site: &Site, api: &Api<'_>, names: &[&str]) -> Result<GrownByKokctl, Box<dyn Error>> {
    write_manifest(site, names)?;
    put_in_place(site)?;
    let hosts: Vec<Host> = names.iter().map(|name| site.lab.host(name)).collect::<Result<_, _>>()?;
    hosts.iter().try_for_each(|host| host.limit_processor(Some(SHARE)))?;
    let joined = ours::join(site, api, &hosts);
    hosts.iter().try_for_each(|host| host.limit_processor(None))?;
    remove(site, names)?;
    joined
}

/// One by kokctl, with what that costs the hosts that are there.
fn one_worker(site: &Site, api: &Api<'_>) -> Result<OneWorker, Box<dyn Error>> {
    let others: Vec<Host> = site.lab.hosts().filter(|host| CLUSTER.contains(&host.name())).collect();
    write_manifest(site, ONE)?;
    put_in_place(site)?;
    let place = LogPlace::mark(others.iter())?;
    let kokctl = joins_prepared(site, api, ONE)?;
    let others = place.count()?;
    remove(site, ONE)?;
    Ok(OneWorker { kokctl, others })
}

fn one_by_hand(site: &Site, by_hand: &ByHand<'_>) -> Result<f64, Box<dyn Error>> {
    let host = site.lab.host(BY_HAND)?;
    let ticket = by_hand.ticket()?;
    let milliseconds = by_hand.join(&host, &ticket)?;
    by_hand.free(&host)?;
    Ok(milliseconds)
}

fn write_manifest(site: &Site, joining: &[&str]) -> Result<(), Box<dyn Error>> {
    site.write_manifest_of(&[&CLUSTER[..], joining].concat(), DEFAULT_KUBERNETES_VERSION)
}

fn joins(site: &Site, api: &Api<'_>, names: &[&str]) -> Result<GrownByKokctl, Box<dyn Error>> {
    write_manifest(site, names)?;
    put_in_place(site)?;
    joins_prepared(site, api, names)
}

fn joins_prepared(site: &Site, api: &Api<'_>, names: &[&str]) -> Result<GrownByKokctl, Box<dyn Error>> {
    let hosts: Vec<Host> = names.iter().map(|name| site.lab.host(name)).collect::<Result<_, _>>()?;
    ours::join(site, api, &hosts)
}

/// They are bare afterwards. All leave at once: that is not what is measured.
fn remove(site: &Site, names: &[&str]) -> Result<(), Box<dyn Error>> {
    let manifest = site.manifest();
    site.succeeds(site.kokctl(&[&["remove", "-f", text(&manifest)?, "--yes", "--serial", "100%"], names].concat())?)
}
