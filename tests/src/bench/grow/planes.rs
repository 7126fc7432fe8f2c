//! One control plane becomes three: by kokctl, and by hand one after the other.
//!
//! Each round has hosts of its own. kokctl comes first, for it is who prepares them; then the two that joined are freed and join by hand. While kokctl
//! gives the API its name, by hand it has one already, as kubeadm asks for it.

use std::error::Error;

use super::api::Api;
use super::by_hand::ByHand;
use super::report::PlanesRound;
use super::{ours, put_in_place};
use crate::bench::parts::Part;
use crate::bench::site::{CONTROL_PLANES, ClusterOptions, Site};
use crate::lab::{DEFAULT_KUBERNETES_VERSION, Host};

const FIRST: &str = "cp1";

pub(super) fn measure(options: &ClusterOptions, progress: &(dyn Fn(&str) + Sync)) -> Result<Vec<PlanesRound>, Box<dyn Error>> {
    let mut rounds = Vec::new();
    for number in 0..options.runs {
        progress(&format!("control planes, round {} of {}", number + 1, options.runs));
        let round = round(options, progress)?;
        progress(&round.to_string());
        rounds.push(round);
    }
    Ok(rounds)
}

fn round(options: &ClusterOptions, progress: &(dyn Fn(&str) + Sync)) -> Result<PlanesRound, Box<dyn Error>> {
    let site = Site::up(options, CONTROL_PLANES, DEFAULT_KUBERNETES_VERSION, progress)?;
    let others: Vec<Host> = site.lab.hosts().filter(|host| host.name() != FIRST).collect();
    site.write_manifest_of(&[FIRST], DEFAULT_KUBERNETES_VERSION)?;
    site.applied(&[])?;
    site.write_manifest(DEFAULT_KUBERNETES_VERSION)?;
    put_in_place(&site)?;
    let api = Api::new(&site)?;
    let kokctl = ours::join(&site, &api, &others)?;
    let by_hand = join_by_hand(&site, &api, &others)?;
    site.lab.down()?;
    Ok(PlanesRound { kokctl, by_hand })
}

/// The same hosts, once kokctl has let them join.
fn join_by_hand(site: &Site, api: &Api<'_>, others: &[Host]) -> Result<Vec<Part>, Box<dyn Error>> {
    let names: Vec<&str> = others.iter().map(Host::name).collect();
    let by_hand = ByHand::new(site, api, &names)?;
    for host in others.iter().rev() {
        by_hand.free_plane(host)?;
    }
    let ticket = by_hand.plane_ticket()?;
    others.iter().map(|host| Ok(Part { what: host.name().to_owned(), milliseconds: by_hand.join(host, &ticket)? })).collect()
}
