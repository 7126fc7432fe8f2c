//! What goes wrong on real machines: a run says so at once, or survives it, and `apply` again ends where it would have ended.
//!
//! The long faults break runs that bring bare hosts to a running containerd. `make test` takes three of them, by its seed. `KOK_TEST_FAULTS` says
//! something else: names with commas, `long`, `clusters` or `founding` for a list of them, or `all`.

use std::env;
use std::time::Instant;

use crate::bad_input_cases::Refusals;
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::up;
use crate::draw::draw;
use crate::faults_cases::{
    away, disk, founding, host_key, killed, link, login, never_up, power, reach, rejoined, shell, taking, upgraded, writers,
};
use crate::highly_available_story::lost;

const CHOICE: &str = "KOK_TEST_FAULTS";
/// How many of the long ones are tried when nobody chose.
const SAMPLE: usize = 3;

type Fault = (&'static str, fn());

const LONG: [Fault; 14] = [
    ("killed-at-every-boundary", killed::at_every_boundary),
    ("interrupted", killed::interrupted),
    ("interrupted-while-taken", taking::interrupted),
    ("connection-cut-at-every-boundary", link::cut_at_every_boundary),
    ("connection-cut-in-jobs", link::cut_in_jobs),
    ("connection-cut-while-taken", link::cut_while_taken),
    ("power-cut", power::cut_in_the_middle),
    ("rebooted", power::rebooted_in_the_middle),
    ("rebooted-with-sudo", power::rebooted_under_a_login_with_sudo),
    ("full-disk", disk::full),
    ("paused", away::paused),
    ("network-away", away::network),
    ("second-writer", writers::second_is_refused),
    ("first-writer-wakes-up", writers::first_wakes_up_too_late),
];

/// With whole clusters, which take minutes each: only where somebody asks for them.
const CLUSTERS: [Fault; 4] = [
    ("missing-file", never_up::missing_file),
    ("each-control-plane-lost", lost::each_control_plane),
    ("rejoined-by-kubeadm", rejoined::by_kubeadm_alone),
    ("upgraded-by-kubeadm", upgraded::by_kubeadm_alone),
];

/// With twenty foundings each.
const FOUNDING: [Fault; 2] = [("founding-killed", founding::killed), ("founding-cut-off", founding::cut_off)];

#[test]
fn what_stands_in_the_way_is_said_at_once() {
    let lab = up(2);
    let refusals = Refusals::new(&lab);
    reach::black_hole(&refusals);
    reach::paused(&refusals);
    host_key::revoked(&refusals);
    disk::full_before(&refusals);
    disk::read_only(&refusals);
    login::sudo_without_its_password(&refusals);
    login::sudo_with_a_wrong_password(&refusals);
}

#[test]
fn what_is_only_odd_makes_no_difference() {
    let lab = up(2);
    let kokctl = Kokctl::new(&lab);
    let plan = shell::plain_plan(&kokctl);
    shell::noise(&lab, &kokctl, &plan);
    shell::login_shells(&lab, &kokctl, &plan);
    login::sudo_with_its_password(&lab, &kokctl, &plan);
    login::password_that_is_not_needed(&lab, &kokctl, &plan);
    disk::no_programs_in_tmp(&lab, &kokctl, &plan);
}

#[test]
fn apply_ends_the_same_after_a_fault() {
    for (name, fault) in chosen() {
        let began = Instant::now();
        fault();
        println!("{:6.1} s  {name}", began.elapsed().as_secs_f64());
    }
}

fn chosen() -> Vec<Fault> {
    let all = [&LONG[..], &CLUSTERS, &FOUNDING].concat();
    let named = |name: &str| *all.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("there is no fault {name}"));
    let Ok(choice) = env::var(CHOICE) else {
        [&CLUSTERS[..], &FOUNDING].concat().iter().for_each(|(name, _)| println!("skip - faults: {name}"));
        return draw("faults", &LONG.map(|(name, _)| name), SAMPLE).into_iter().map(named).collect();
    };
    match choice.as_str() {
        "all" => all,
        "long" => LONG.to_vec(),
        "clusters" => CLUSTERS.to_vec(),
        "founding" => FOUNDING.to_vec(),
        names => names.split(',').map(named).collect(),
    }
}
