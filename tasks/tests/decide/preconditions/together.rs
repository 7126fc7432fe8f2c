//! What hosts are together.

use super::running::running;
use super::*;

#[test]
fn copies_of_a_machine_are_found() {
    let keys = seen_with(|_, facts| facts.ssh_host_keys = ["ssh-ed25519 AAAAsame".to_owned(), "ssh-rsa AAAAtoo".to_owned()].into());
    insta::assert_snapshot!("ssh_host_keys", written(&refusals(&keys)));
    let macs = seen_with(|name, facts| {
        if name != "cp1" {
            facts.interfaces.get_mut("eth0").unwrap().mac = Some("52:54:00:aa:bb:cc".to_owned());
        }
    });
    insta::assert_snapshot!("mac", written(&refusals(&macs)));
    let uuids = seen_with(|_, facts| facts.product_uuid = Some("4C4C4544".to_owned()));
    assert_eq!(refusals(&uuids), Vec::new(), "that is a warning");
    let warned =
        examine(&cluster(), &uuids).into_iter().flat_map(|it| it.findings).map(|it| (it.weight, it.refusal.what)).collect::<Vec<_>>();
    assert_eq!(warned, [(Weight::Warning, "the hosts cp1 and worker1 and worker2 have the same product_uuid 4c4c4544".to_owned())]);
    let mut node = running("", &[]);
    let state = NodeState { machine_id: format!("{:032x}", 3), ..NodeState::default() };
    let state =
        KubernetesState::Ready { nodes: [("worker1".to_owned(), state)].into(), objects: BTreeMap::new(), bootstrap_tokens: Vec::new() };
    node.add_observations("cp1", Observations { kubernetes: Some(state), ..Observations::default() });
    insta::assert_snapshot!("node_of_another_machine", written(&refusals(&node)));
}

#[test]
fn hosts_are_told_apart() {
    let clone = seen_with(|name, facts| {
        if name != "cp1" {
            facts.machine_id = "0123456789abcdef0123456789abcdef".to_owned();
        }
    });
    insta::assert_snapshot!("one_machine_id", written(&refusals(&clone)));
    insta::assert_snapshot!("no_machine_id", refused("worker2", |facts| facts.machine_id.clear()));
}

#[test]
fn clocks_may_be_30_seconds_apart() {
    let mut seen = seen_with(|_, _| {});
    seen.add_clock_offset("worker1", -12);
    seen.add_clock_offset("worker2", 18);
    assert_eq!(refusals(&seen), Vec::new());
    seen.add_clock_offset("worker2", 19);
    insta::assert_snapshot!("clocks", written(&refusals(&seen)));
}

/// Hosts that agree with each other, and not with the machine that makes their certificates.
#[test]
fn certificates_must_be_valid_when_they_arrive() {
    let behind = |seconds: i64| {
        let mut seen = seen_with(|_, _| {});
        cluster().hosts.iter().for_each(|host| seen.add_clock_offset(&host.name, -seconds));
        refusals(&seen)
    };
    assert_eq!(behind(1800), Vec::new());
    insta::assert_snapshot!("clock_of_this_machine", written(&behind(1801)));
    // It would make certificates that end too early, and replace good ones as not yet valid.
    assert_eq!(behind(-1800), Vec::new());
    insta::assert_snapshot!("clock_of_this_machine_is_behind", written(&behind(-1801)));
}
