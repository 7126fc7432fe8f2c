//! How long a cluster of three control planes and two workers takes by an operation, beside the command line with the same meta-cluster idle, in one run.

use std::fs;
use std::time::Instant;

use kok_tests::lab::{Lab, LabSpec};

use crate::api_server_support::ApiServer;
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::{cluster, hosts};
use crate::kube_on_kube_story::objects;
use crate::operator_story::{Operator, meta_cluster, operate, succeeds};

/// What an operator may take of the command line's time: it keeps a status, a journal and a Lease beside the run.
const MOST: f64 = 1.2;
/// Five hosts on a busy machine, by either way.
const MADE: u64 = 420;

#[test]
fn a_cluster_takes_an_operator_as_long_as_the_command_line() {
    let lab = Lab::up(LabSpec::unique(5).control_planes(3)).unwrap_or_else(|error| panic!("{error}"));
    let kokctl = Kokctl::new(&lab);
    objects::write_apart(&lab, &kokctl, "cluster.yml");
    kokctl.knows_the_hosts();
    let server = meta_cluster(&lab);
    let operator = Operator::start_with(&kokctl, &server, "a", &["--accept-new-host-keys"]);
    // What is slower because it comes first, or later, is so for both.
    let first = by_command_line(&lab, &kokctl);
    server.ok(&["apply", "-f", "-"], &fs::read_to_string(kokctl.manifest()).unwrap());
    let second = by_operation(&lab, &server, &operator, "operation");
    operate(&server, &lab, "another", "cluster.yml");
    let third = by_operation(&lab, &server, &operator, "another");
    let fourth = by_command_line(&lab, &kokctl);
    let ratio = (second + third) / (first + fourth);
    println!("command line {first:.1} and {fourth:.1} s, operator {second:.1} and {third:.1} s: {ratio:.2}");
    assert!(ratio <= MOST, "{ratio:.2}");
    operator.terminate();
}

/// The seconds that it takes; it is taken down afterwards.
fn by_command_line(lab: &Lab, kokctl: &Kokctl<'_>) -> f64 {
    let began = Instant::now();
    kokctl.converge("apply");
    let took = began.elapsed().as_secs_f64();
    all_are_ready(lab);
    let down = kokctl.verb("reset", &["--yes", "--no-snapshot"]);
    assert_eq!(down.code, 0, "{down:?}");
    took
}

/// The same by an operation that was just made. It is watched for, as a user would, so that who waits takes no time from the hosts.
fn by_operation(lab: &Lab, server: &ApiServer, operator: &Operator, name: &str) -> f64 {
    let began = Instant::now();
    let timeout = format!("--timeout={MADE}s");
    let waited = server.kubectl(&["wait", "--for=jsonpath={.status.phase}=Succeeded", &timeout, &format!("kokop/{name}")], "");
    let took = began.elapsed().as_secs_f64();
    assert!(waited.success, "{}\n{}", waited.stderr, operator.log());
    succeeds(server, operator, name, 0);
    all_are_ready(lab);
    let down = format!("down-{name}");
    operate(server, lab, &down, "reset.yml");
    succeeds(server, operator, &down, MADE);
    took
}

fn all_are_ready(lab: &Lab) {
    let nodes = cluster::kubectl(lab, "get nodes --no-headers");
    let ready = nodes.lines().filter(|node| node.split_whitespace().nth(1) == Some("Ready"));
    assert_eq!(ready.count(), hosts(lab).len(), "{nodes}");
}
