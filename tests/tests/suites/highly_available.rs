//! Several control planes: founded together, killed on the way, none of them needed by the others. And one host that is all of a cluster.

use crate::cluster_support::arguments::Arguments;
use crate::cluster_support::clock::Clock;
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::{bare, cluster, connection_costs, hosts, kept, ok, secrets, snapshot};
use crate::draw::draw;
use crate::highly_available_story::{any, component_settings, edited, endpoint, etcd, killed, lost, member, rolling, rotated, wiped};
use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Image, Lab, LabSpec};

#[test]
fn three_control_planes_and_two_workers() {
    let lab = Lab::up(LabSpec::unique(5).control_planes(3)).unwrap_or_else(|error| panic!("{error}"));
    let kokctl = Kokctl::new(&lab);
    let started = Arguments::watch();
    let mut clock = Clock::start();
    connection_costs::log_every_command(&lab);
    let before = snapshot::bare_state(&lab);
    let manifest = format!("{}{}", lab.inventory(DEFAULT_KUBERNETES_VERSION).unwrap().trim_end(), rolling::VARIABLES);
    kokctl.write_manifest(&manifest);
    lost::before_the_start(&lab, &kokctl);
    clock.lap("a control plane that is off");
    killed::at_a_random_moment(&lab, &kokctl);
    clock.lap("killed apply, and apply to its end");
    cluster::assert_complete(&lab, DEFAULT_KUBERNETES_VERSION);
    etcd::members_are_those_of_the_file(&lab, DEFAULT_KUBERNETES_VERSION);
    etcd::is_of_this_founding(&lab);
    endpoint::survives_any_host(&lab);
    component_settings::one_key_on_all_control_planes(&lab);
    rotated::kubelets_renew_their_certificates(&lab);
    clock.lap("checks of the cluster");
    connection_costs::costs_one_connection_each(&lab, || kokctl.has_nothing_to_do());
    clock.lap("apply again");
    edited::needs_an_operation_of_its_own(&lab, &kokctl, &manifest);
    clock.lap("edited files that are refused");
    let drawn = draw("what befalls control planes", &[WIPED, OPTION, CONTAINERD, KUBELETS, LOST, WITHOUT_DATA], 2);
    // By the manifests of the founding: what is changed below makes others.
    if drawn.contains(&WIPED) {
        wiped::and_started_beside_one_that_lags_behind(&lab, &kokctl);
        clock.lap(WIPED);
    }
    befalls(&lab, &kokctl, manifest, &drawn, &mut clock);
    // Later, one of the API servers may have no etcd beside it.
    let keys = secrets::nothing_was_said(&lab, &kokctl, &started);
    kept::store(&lab);
    let encryption = ok(&lab.host("cp1").unwrap(), "cat /etc/kubernetes/apiserver/encryption.yaml");
    if drawn.contains(&WITHOUT_DATA) {
        member::without_its_data_is_not_started(&any(cluster::control_planes(&lab)), &kokctl);
        clock.lap(WITHOUT_DATA);
    }
    kept::resets(&lab, &kokctl);
    kept::has_its_key(&lab, &kokctl, &encryption);
    secrets::nothing_was_said_of(&keys, &kokctl, &started);
    bare::assert_bare(&lab);
    snapshot::assert_same(&before, &snapshot::bare_state(&lab), "reset has to leave what was there before");
    clock.lap("reset");
}

const WIPED: &str = "a member that is wiped, and one that lags behind";
const OPTION: &str = "an option of the API server is changed";
const CONTAINERD: &str = "a setting that breaks containerd";
const KUBELETS: &str = "a setting that breaks kubelets";
const LOST: &str = "a control plane without power";
const WITHOUT_DATA: &str = "a member without its data";

/// What leaves the cluster as it was.
fn befalls(lab: &Lab, kokctl: &Kokctl<'_>, mut manifest: String, drawn: &[&str], clock: &mut Clock) {
    if drawn.contains(&OPTION) {
        rolling::one_control_plane_after_the_other(lab, kokctl, &manifest);
        manifest.push_str(rolling::CHANGED);
        clock.lap(OPTION);
    }
    if drawn.contains(&CONTAINERD) {
        rolling::what_breaks_containerd_goes_no_further(lab, kokctl, &manifest);
        clock.lap(CONTAINERD);
    }
    if drawn.contains(&KUBELETS) {
        rolling::what_breaks_kubelets_goes_no_further(lab, kokctl, &manifest);
        rolling::what_breaks_a_worker_goes_no_further(lab, kokctl, &manifest);
        clock.lap(KUBELETS);
    }
    if drawn.contains(&LOST) {
        lost::any_control_plane(lab, kokctl);
        clock.lap(LOST);
    }
}

/// Another release, another distribution, a login that has to become root first, and components that are told this and that.
#[test]
fn one_host_is_a_cluster() {
    let lab = Lab::up(LabSpec::unique(1).image(Image::Debian13)).unwrap_or_else(|error| panic!("{error}"));
    let kokctl = Kokctl::new(&lab);
    let manifest = lab.inventory(OTHER_VERSION).unwrap();
    let alone = manifest.replace("roles: [control-plane]}", "roles: [control-plane, worker]}").replace("user: root", "user: ops");
    let alone = format!("{}{}", alone.trim_end(), component_settings::VARIABLES);
    assert!(alone.contains("worker]") && alone.contains("user: ops"), "{alone}");
    kokctl.write_manifest(&alone);
    connection_costs::log_every_command(&lab);
    let before = snapshot::bare_state(&lab);
    let started = Arguments::watch();
    let said = kokctl.converge("apply");
    assert!(said.starts_with(&format!("cluster {} is ready: {} host", lab.name(), hosts(&lab).len())), "{said}");
    cluster::assert_complete(&lab, OTHER_VERSION);
    etcd::members_are_the_control_planes(&lab, OTHER_VERSION);
    etcd::is_of_this_founding(&lab);
    connection_costs::costs_one_connection_each_as("ops", &lab, || kokctl.has_nothing_to_do());
    rotated::kubelets_renew_their_certificates(&lab);
    component_settings::components_run_so(&lab);
    component_settings::secrets_are_encrypted_and_requests_recorded(&lab);
    component_settings::a_change_is_carried_out(&lab, &kokctl, &alone);
    secrets::nothing_was_said(&lab, &kokctl, &started);
    kept::is_not_asked_for(&lab, &kokctl);
    bare::assert_bare(&lab);
    component_settings::nothing_is_left(&lab);
    snapshot::assert_same(&before, &snapshot::bare_state(&lab), "reset has to leave what was there before");
}

/// The older release of the bundle.
const OTHER_VERSION: &str = "1.36.3";
