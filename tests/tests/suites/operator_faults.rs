//! What goes wrong about an operator at work: a replica that stands still, is killed or replaced, a Lease or an API server that is gone, inputs that go
//! and come, hosts that are others, operations and Clusters that end early. What each of them came to is printed.

use crate::cluster_support::clock::Clock;
use crate::cluster_support::up;
use crate::operator_faults_story::{OperatorStory, changed, deleted, ends, inputs, killed, many, replicas};
use crate::operator_story::{meta_cluster, meta_cluster_with_controllers};
use kok_tests::lab::{Lab, LabSpec};

#[test]
fn a_replica_that_is_away_changes_nothing_more() {
    let lab = up(1);
    let story = OperatorStory::new(&lab, meta_cluster(&lab));
    let mut clock = Clock::start();
    let all = vec![story.replica("a", 8081), story.replica("b", 8082)];
    replicas::stands_still(&story, &all);
    clock.lap("paused");
    replicas::lease_is_stolen(&story, &all);
    clock.lap("stolen");
    replicas::api_server_is_away(&story, &all);
    clock.lap("API server away");
    replicas::is_asked_to_end(&story, all).terminate();
    clock.lap("rolled");
}

#[test]
fn operations_wait_for_each_other_and_end_early() {
    let lab = up(1);
    let story = OperatorStory::new(&lab, meta_cluster(&lab));
    let mut clock = Clock::start();
    let all = [story.replica("a", 8081), story.replica("b", 8082)];
    ends::ten_wait_for_each_other(&story);
    clock.lap("ten operations");
    ends::command_line_and_operator_refuse_each_other(&story, &all);
    clock.lap("the command line");
    ends::one_is_cancelled(&story, &all);
    clock.lap("cancelled");
    ends::one_is_late(&story, &all);
    clock.lap("late");
    ends::one_is_suspended(&story, &all);
    clock.lap("suspended");
}

#[test]
fn inputs_go_and_come() {
    let lab = up(1);
    let story = OperatorStory::new(&lab, meta_cluster(&lab));
    let mut clock = Clock::start();
    let operator = story.replica("a", 8081);
    // Of another Cluster, while the host is of none.
    inputs::inventory_comes_late(&story, &operator);
    clock.lap("ConfigMap");
    inputs::secret_is_removed(&story, &operator);
    clock.lap("Secret");
    changed::after_its_plan_was_approved(&story, &operator);
    clock.lap("a host that changed after the approval");
    changed::behind_its_address(&story, &operator);
    clock.lap("another host key");
}

#[test]
fn clusters_that_are_deleted_go() {
    let lab = up(2);
    let story = OperatorStory::new(&lab, meta_cluster_with_controllers(&lab));
    let mut clock = Clock::start();
    let operator = story.replica("a", 8081);
    deleted::hosts_stay(&story, &operator);
    clock.lap("Orphan");
    deleted::hosts_are_taken_down(&story, &operator);
    clock.lap("Reset");
    deleted::a_host_is_dead(&story, &operator);
    clock.lap("a dead host");
    deleted::the_secret_is_gone(&story, &operator);
    clock.lap("Secret gone");
    deleted::the_namespace_is_gone(&story, &operator);
    clock.lap("namespace gone");
}

#[test]
fn killed_at_five_moments_of_a_founding() {
    let lab = up(1);
    let story = OperatorStory::new(&lab, meta_cluster_with_controllers(&lab));
    let mut clock = Clock::start();
    let left = killed::at_five_moments(&story, vec![story.replica("r0", 8081), story.replica("r1", 8082)]);
    clock.lap("founded, with five kills");
    killed::a_cluster_goes_with_its_object(&story, &left);
    clock.lap("taken down");
}

#[test]
fn fifty_clusters_at_once() {
    let lab = Lab::up(LabSpec::unique(many::CLUSTERS).light()).unwrap_or_else(|error| panic!("{error}"));
    let story = OperatorStory::new(&lab, meta_cluster(&lab));
    let mut clock = Clock::start();
    many::fifty_at_once(&story, &[story.replica("a", 8081), story.replica("b", 8082)]);
    clock.lap("fifty Clusters, twice");
}
