//! The objects of kube-on-kube, unchanged, with an inventory of Kubespray that is like its sample: every host is a control plane, a node and a
//! member of etcd, which is a unit of systemd there. Five of them.

use crate::cluster_support::arguments::Arguments;
use crate::cluster_support::clock::Clock;
use crate::cluster_support::cluster::{self, Kind};
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::{bare, connection_costs, hosts, kept, secrets, snapshot};
use crate::highly_available_story::{endpoint, units};
use crate::kube_on_kube_story::nodes::{self, TAINTED};
use crate::kube_on_kube_story::objects;
use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Lab, LabSpec};

const HOSTS: usize = 5;

#[test]
fn five_hosts_that_are_everything() {
    let lab = Lab::up(LabSpec::unique(HOSTS).control_planes(HOSTS)).unwrap_or_else(|error| panic!("{error}"));
    let kokctl = Kokctl::new(&lab);
    objects::write(&lab, &kokctl, "cluster.yml");
    let mut clock = Clock::start();
    let started = Arguments::watch();
    connection_costs::log_every_command(&lab);
    let before = snapshot::bare_state(&lab);
    hosts_are_known_only_when_somebody_says_so(&kokctl);
    let said = kokctl.converge("apply");
    assert!(said.starts_with(&format!("cluster {} is ready: {HOSTS} hosts, ", lab.name())), "{said}");
    clock.lap("apply");
    let kind = Kind { version: DEFAULT_KUBERNETES_VERSION, domain: "cluster.local", has_load_balancers: false, tainted: Some(&[TAINTED]) };
    cluster::is_complete(&lab, &kind);
    hosts(&lab).iter().for_each(|host| units::is_a_member(&lab, host, &hosts(&lab)));
    endpoint::survives_any_host(&lab);
    nodes::are_labelled_and_tainted(&lab);
    clock.lap("checks of the cluster");
    connection_costs::costs_one_connection_each(&lab, || kokctl.has_nothing_to_do());
    nodes::get_back_what_was_taken(&lab, &kokctl);
    clock.lap("apply again, and with a label and a taint taken away");
    nodes::any_may_be_lost(&lab, &kokctl);
    clock.lap("a host without power");
    let mut keys = secrets::nothing_was_said(&lab, &kokctl, &started);
    keys.extend(objects::lines_of_the_login(&lab));
    kept::store(&lab);
    objects::write(&lab, &kokctl, "reset.yml");
    kept::resets(&lab, &kokctl);
    secrets::nothing_was_said_of(&keys, &kokctl, &started);
    bare::assert_bare(&lab);
    snapshot::assert_same(&before, &snapshot::bare_state(&lab), "reset has to leave what was there before");
    clock.lap("reset");
}

/// kube-on-kube's objects have no place for host keys, and Ansible was told not to ask.
fn hosts_are_known_only_when_somebody_says_so(kokctl: &Kokctl<'_>) {
    let said = kokctl.verb("apply", &["--bundle", kokctl.bundle().to_str().unwrap()]);
    assert_eq!(said.code, 3, "{said:?}");
    assert!(said.stderr.contains("kokctl known-hosts scan"), "{said:?}");
    kokctl.knows_the_hosts();
}
