//! From bare hosts to a cluster and back: plan, a founding that is killed and reset, apply, a killed apply, drift, a user's pods, status, reset.

use crate::cluster_story::{addons, drift, journal, killed, other_clock, outside, reset, saved};
use crate::cluster_support::arguments::Arguments;
use crate::cluster_support::clock::Clock;
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::{bare, cluster, connection_costs, escrow, secrets, snapshot, up};
use crate::draw::draw;
use kok_tests::lab::DEFAULT_KUBERNETES_VERSION;

/// One story on one lab, because a cluster costs more than every check of it.
#[test]
fn hosts_become_a_cluster_and_bare_again() {
    let lab = up(3);
    let kokctl = Kokctl::new(&lab);
    let started = Arguments::watch();
    let mut clock = Clock::start();
    connection_costs::log_every_command(&lab);
    reset::configure_swap(&lab);
    let before = snapshot::bare_state(&lab);

    killed::plan_changes_nothing(&lab, &kokctl);
    clock.lap("plan of bare hosts");
    killed::what_is_half_made_is_reset(&lab);
    bare::assert_bare(&lab);
    snapshot::assert_same(&before, &snapshot::bare_state(&lab), "a reset of what is half made has to leave what was there before");
    clock.lap("a founding that is killed, and reset");
    escrow::write_field(&kokctl, false);
    killed::apply_survives_sigkill(&lab, &kokctl);
    clock.lap("killed apply, and apply to its end");
    journal::tells_what_was_run(&lab, &kokctl);
    cluster::assert_complete(&lab, DEFAULT_KUBERNETES_VERSION);
    let tree = snapshot::tree(&lab);
    escrow::is_of_the_cluster(&lab, &kokctl);
    clock.lap("checks of the cluster");
    connection_costs::costs_one_connection_each(&lab, || kokctl.has_nothing_to_do());
    clock.lap("apply again");
    let drawn = draw("what a cluster goes through", &[CLOCK, SAVED, ADDONS, OUTSIDE, AGAIN], 3);
    if drawn.contains(&CLOCK) {
        other_clock::is_refused_and_changes_nothing(&lab, &kokctl);
        clock.lap(CLOCK);
    }
    drift::is_shown_and_repaired(&lab, &kokctl);
    clock.lap("drift");
    if drawn.contains(&SAVED) {
        saved::is_carried_out_or_refused(&lab, &kokctl);
        clock.lap(SAVED);
    }
    if drawn.contains(&ADDONS) {
        addons::come_and_go(&lab, &kokctl);
        clock.lap(ADDONS);
    }
    if drawn.contains(&OUTSIDE) {
        outside::shows_the_cluster(&lab, &kokctl);
        clock.lap(OUTSIDE);
    }
    escrow::write_field(&kokctl, false);
    reset::needs_consent(&lab, &kokctl);
    reset::takes_a_worker_out(&lab, &kokctl, &before);
    clock.lap("a worker leaves and comes back");
    let keys = secrets::nothing_was_said(&lab, &kokctl, &started);
    let first = reset::etcd_id(&lab);
    reset::removes_everything(&lab, &kokctl);
    escrow::stays_after_reset(&kokctl);
    secrets::nothing_was_said_of(&keys, &kokctl, &started);
    bare::assert_bare(&lab);
    snapshot::assert_same(&before, &snapshot::bare_state(&lab), "reset has to leave what was there before");
    clock.lap("reset");
    if !drawn.contains(&AGAIN) {
        return;
    }
    reset::apply_works_again_with_sudo(&lab, &kokctl);
    assert_ne!(reset::etcd_id(&lab), first, "to the members of the first cluster these are strangers");
    cluster::assert_complete(&lab, DEFAULT_KUBERNETES_VERSION);
    snapshot::assert_same(&tree, &snapshot::tree(&lab), "a killed apply has to end like one that was not");
    secrets::nothing_was_said(&lab, &kokctl, &started);
    escrow::is_not_made_unasked(&kokctl);
    clock.lap(AGAIN);
}

const CLOCK: &str = "a controller with another clock";
const SAVED: &str = "a saved plan";
const ADDONS: &str = "a user's addons";
const OUTSIDE: &str = "status and kubeconfig";
const AGAIN: &str = "apply once more, with sudo";
