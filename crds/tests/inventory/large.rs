//! An inventory of the size that has to work.

use std::fmt::Write as _;
use std::time::Instant;

use kok_crds::resolve::Resolved;

use crate::support::{read_with, shown, vars};

fn inventory(hosts: usize) -> String {
    let mut text = String::from("all:\n  hosts:\n");
    for index in 0..hosts {
        let (third, fourth) = (index / 250, index % 250 + 1);
        writeln!(text, "    node{index:04}:\n      ansible_host: 10.1.{third}.{fourth}\n      ip: 10.1.{third}.{fourth}").unwrap();
    }
    text.push_str(
        "  children:\n    kube_control_plane:\n      hosts: {node0000: , node0001: , node0002: }\n    kube_node:\n      hosts:\n",
    );
    (0..hosts).for_each(|index| writeln!(text, "        node{index:04}:").unwrap());
    text
}

/// The time is printed with `--nocapture`; it depends on the machine, so nothing is asserted of it.
#[test]
fn a_thousand_hosts_with_three_hundred_variables() {
    let text = inventory(1_000);
    let variables: String = (0..300).map(|index| format!("variable_{index}: {{enabled: true, value: text {index}}}\n")).collect();
    let expressions = "of_cluster: '{{ variable_1.value }}'\nof_host: 'https://{{ ip }}:2379'\n";
    let begin = Instant::now();
    let resolved = Resolved::new(read_with(&text, &[]), vec![vars("group_vars.yml", &variables), vars("-e", expressions)]);
    let values: usize = resolved.inventory().hosts().iter().map(|host| resolved.names(host).len()).sum();
    eprintln!("1,000 hosts, 300 variables: {:?}", begin.elapsed());
    assert_eq!(values, 1_000 * 304);
    let begin = Instant::now();
    let hosts = resolved.inventory().hosts();
    assert!(hosts.iter().all(|host| shown(&resolved.get(host, "of_cluster").unwrap().unwrap()) == "\"text 1\""));
    assert_eq!(resolved.lookups(), 1, "what is the same on all hosts is worked out once");
    let urls: std::collections::BTreeSet<_> =
        resolved.inventory().hosts().iter().map(|host| shown(&resolved.get(host, "of_host").unwrap().unwrap())).collect();
    eprintln!("2,000 expressions: {:?}", begin.elapsed());
    assert_eq!(urls.len(), 1_000);
    assert_eq!(shown(&resolved.origin("node0999", "ip").unwrap().node), "\"10.1.3.250\"");
}

/// The same with each variable written for each host.
#[test]
fn a_thousand_hosts_with_three_hundred_variables_each() {
    let mut text = String::from("all:\n  hosts:\n");
    for host in 0..1_000 {
        writeln!(text, "    node{host}:").unwrap();
        (0..300).for_each(|index| writeln!(text, "      variable_{index}: value {index}").unwrap());
    }
    let begin = Instant::now();
    let inventory = read_with(&text, &[]);
    eprintln!("300,000 variables, {} bytes: {:?}", text.len(), begin.elapsed());
    let resolved = Resolved::new(inventory, Vec::new());
    assert_eq!(resolved.names("node999").len(), 300);
}
