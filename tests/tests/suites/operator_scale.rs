//! What an operator costs that has very much to know, and what is left of what comes and goes. The figures are printed.

use kok_tests::lab::{Lab, LabSpec};

use crate::cluster_support::clock::Clock;
use crate::operator_faults_story::OperatorStory;
use crate::operator_scale_story::{applied, churn, copies, explained, rest};
use crate::operator_story::{meta_cluster, meta_cluster_with_controllers};

fn light(hosts: usize) -> Lab {
    Lab::up(LabSpec::unique(hosts).light()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_thousand_clusters_at_rest() {
    let lab = light(1);
    let story = OperatorStory::new(&lab, meta_cluster(&lab));
    let mut clock = Clock::start();
    copies::make(&story);
    clock.lap("a thousand Clusters with thirty operations each");
    let operator = rest::starts(&story);
    clock.lap("an operator that has settled");
    rest::costs_nothing(&story, &operator);
    clock.lap("two minutes at rest");
    rest::hears_of_one(&story, &operator);
    clock.lap("one more operation");
    operator.terminate();
}

#[test]
fn ten_minutes_of_churn_leave_nothing_behind() {
    let lab = light(churn::HOSTS);
    let story = OperatorStory::new(&lab, meta_cluster_with_controllers(&lab));
    let mut clock = Clock::start();
    explained::is_complete(&story.server);
    clock.lap("kubectl explain");
    let before = churn::everything(&story);
    let replicas = churn::replicas(&story);
    applied::nothing_differs(&story, &replicas);
    clock.lap("kubectl diff");
    churn::leaves_nothing(&story, &replicas, &before);
    clock.lap("churn");
    replicas.into_iter().for_each(|replica| replica.terminate());
}
