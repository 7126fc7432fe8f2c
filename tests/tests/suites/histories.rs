//! Histories of the simulation, on hosts: what a seed gives there is lived through here, and comes to the same end.

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Lab, LabSpec};

use crate::cluster_support::clock::Clock;
use crate::cluster_support::cluster::{control_planes, kubectl};
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::ok;
use crate::highly_available_story::{endpoint, etcd, units};
use crate::histories_story::document::History;
use crate::histories_story::life;

#[test]
fn of_a_control_plane_that_leaves_while_a_member_is_lost() {
    lives(include_str!("../../histories/1256.json"));
}

#[test]
fn of_a_control_plane_that_leaves_in_a_run_that_is_killed() {
    lives(include_str!("../../histories/1798.json"));
}

#[test]
fn of_a_control_plane_that_leaves_over_a_broken_link_and_joins_while_members_are_away() {
    lives(include_str!("../../histories/2867.json"));
}

#[test]
fn of_a_control_plane_that_leaves_while_etcd_loses_its_majority() {
    lives(include_str!("../../histories/2891.json"));
}

fn lives(document: &str) {
    let history: History = serde_json::from_str(document).unwrap();
    let spec = match history.has_units() {
        true => LabSpec::unique(6).control_planes(2).etcd(3),
        false => LabSpec::unique(5).control_planes(3),
    };
    let lab = Lab::up(spec).unwrap_or_else(|error| panic!("{error}"));
    let kokctl = Kokctl::new(&lab);
    let mut clock = Clock::start();
    kokctl.converge("apply");
    clock.lap("a cluster");
    for life in &history.lives {
        life::live(&lab, &kokctl, life);
        clock.lap(&format!("{:?}", life.order));
    }
    ends(&kokctl);
    is_as_in_the_simulation(&lab, &kokctl, &history);
    clock.lap("what is wanted is there again");
}

/// `apply` makes what is wanted. A host that has left and was not cleaned is made afresh first, as `apply` says.
fn ends(kokctl: &Kokctl<'_>) {
    let bundle = kokctl.bundle().to_str().unwrap().to_owned();
    for _ in 0..3 {
        let said = kokctl.verb("apply", &["--bundle", &bundle]);
        if said.code == 0 {
            return;
        }
        let words = said.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        let named = words.split("`kokctl replace -f FILE ").nth(1).and_then(|rest| rest.split('`').next());
        let hosts: Vec<&str> = named.unwrap_or_else(|| panic!("{said:?}")).split(' ').collect();
        assert_eq!(said.code, 3, "{said:?}");
        println!("apply names {hosts:?}");
        let said = kokctl.verb("replace", &[&hosts[..], &["--yes", "--bundle", &bundle]].concat());
        assert_eq!(said.code, 0, "{said:?}");
    }
    panic!("it does not end");
}

fn is_as_in_the_simulation(lab: &Lab, kokctl: &Kokctl<'_>, history: &History) {
    kokctl.has_nothing_to_do();
    let nodes = kubectl(lab, "get nodes -o name");
    let nodes: Vec<&str> = nodes.lines().map(|line| line.trim_start_matches("node/")).collect();
    assert_eq!(nodes, history.end.nodes);
    let members: Vec<_> = history.end.members.iter().map(|name| lab.host(name).unwrap()).collect();
    if history.has_units() {
        members.iter().for_each(|member| drop(units::works_with(lab, member, &members)));
        control_planes(lab).iter().for_each(|plane| drop(ok(plane, "kubectl --kubeconfig=/etc/kubernetes/admin.conf get --raw /readyz")));
    } else {
        etcd::members_are_those_of_the_file(lab, DEFAULT_KUBERNETES_VERSION);
        endpoint::survives_any_host(lab);
    }
}
