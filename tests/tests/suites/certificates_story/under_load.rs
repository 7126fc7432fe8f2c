//! Certificates of three control planes that are about to end are made anew while somebody writes and watches.

use kok_tests::lab::{Lab, LabSpec};

use super::aged;
use crate::certificates::{SOON, all_is_well, serials};
use crate::cluster_support::clock::Clock;
use crate::cluster_support::cluster::{control_planes, kubectl};
use crate::cluster_support::kokctl::Kokctl;
use crate::members_story::load::Load;

/// Nobody who tries a second time notices anything.
#[test]
fn those_of_three_control_planes_are_renewed() {
    let lab = Lab::up(LabSpec::unique(4).control_planes(3)).unwrap_or_else(|error| panic!("{error}"));
    let kokctl = Kokctl::new(&lab);
    let mut clock = Clock::start();
    kokctl.converge("apply");
    clock.lap("a cluster");
    let planes = control_planes(&lab);
    planes.iter().for_each(|plane| aged::age(plane, SOON));
    let before: Vec<Vec<String>> = planes.iter().map(serials).collect();
    let load = Load::begin(&lab);
    kokctl.converge("apply");
    load.goes_on_but_for("renewed", 0);
    clock.lap("renewed");
    for (plane, before) in planes.iter().zip(&before) {
        let after = serials(plane);
        assert!(after.len() == before.len() && after.iter().all(|serial| !before.contains(serial)), "{before:?} {after:?}");
    }
    all_is_well(&kokctl);
    kubectl(&lab, "wait --for=condition=Ready --timeout=60s nodes --all");
    kokctl.has_nothing_to_do();
    load.goes_on_but_for("looked at", 0);
    load.end();
}
