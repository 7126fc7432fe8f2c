//! What goes wrong on real machines: a run says so at once, or survives it, and `apply` again ends where it would have ended.
//!
//! The long faults break runs that bring bare hosts to a running containerd. `make test` takes three of them, `make test-faults` all;
//! `KOK_TEST_FAULTS` is `all`, names with commas, or the number that an earlier run printed.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs,
    unreachable_pub
)]

mod bad_input_cases;
mod cluster_support;
mod faults_cases;
mod highly_available_story;
mod lab_support;

use std::collections::hash_map::RandomState;
use std::env;
use std::hash::{BuildHasher as _, Hasher as _};
use std::time::Instant;

use bad_input_cases::Refusals;
use cluster_support::kokctl::Kokctl;
use cluster_support::up;
use faults_cases::{
    away, disk, founding, host_key, killed, link, login, never_up, power, reach, rejoined, shell, taking, upgraded, writers,
};
use highly_available_story::lost;

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

/// With whole clusters, which take minutes each: only with `all`, or by name.
const LONGEST: [Fault; 6] = [
    ("missing-file", never_up::missing_file),
    ("each-control-plane-lost", lost::each_control_plane),
    ("rejoined-by-kubeadm", rejoined::by_kubeadm_alone),
    ("upgraded-by-kubeadm", upgraded::by_kubeadm_alone),
    ("founding-killed", founding::killed),
    ("founding-cut-off", founding::cut_off),
];

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
    let choice = env::var(CHOICE).unwrap_or_else(|_| (RandomState::new().build_hasher().finish() % 1_000).to_string());
    let chosen = chosen(&choice);
    println!("{CHOICE}={choice}: {}", chosen.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(","));
    // The line is counted (tests/make/count.sh).
    let is_left_out = |(name, _): &&Fault| !chosen.iter().any(|(taken, _)| taken == name);
    LONG.iter().chain(&LONGEST).filter(is_left_out).for_each(|(name, _)| println!("skip - the fault {name}"));
    for (name, fault) in chosen {
        let began = Instant::now();
        fault();
        println!("{:6.1} s  {name}", began.elapsed().as_secs_f64());
    }
}

fn chosen(choice: &str) -> Vec<Fault> {
    if choice == "all" {
        return [&LONG[..], &LONGEST].concat();
    }
    if let Ok(number) = choice.parse::<usize>() {
        return LONG.iter().cycle().skip(number % LONG.len()).take(SAMPLE).copied().collect();
    }
    let named =
        |name: &str| *LONG.iter().chain(&LONGEST).find(|(known, _)| *known == name).unwrap_or_else(|| panic!("there is no fault {name}"));
    choice.split(',').map(named).collect()
}
