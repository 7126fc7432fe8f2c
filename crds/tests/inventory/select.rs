//! Patterns of hosts.

use kok_crds::Position;
use proptest::prelude::*;

use crate::support::{read, rendered};

const TEXT: &str = "
[kube_control_plane]
cp1
[kube_node]
node[1:5]
[rack1]
cp1
node1
node2
[all]
fe80::1
";

fn selected(pattern: &str) -> String {
    let at = Position { file: "extraArgs".into(), line: 1, column: 9 };
    read(TEXT).select(pattern, &at).map_or_else(|problems| format!("! {}", problems[0].message), |hosts| hosts.join(" "))
}

#[test]
fn patterns_name_hosts() {
    for (pattern, expected) in [
        ("cp1", "cp1"),
        ("node2,cp1", "node2 cp1"),
        ("node2:cp1", "node2 cp1"),
        ("node2, cp1 ,", "node2 cp1"),
        ("kube_node", "node1 node2 node3 node4 node5"),
        ("kube-node", "node1 node2 node3 node4 node5"),
        ("all:!kube_node", "fe80::1 cp1"),
        ("!kube_node", "fe80::1 cp1"),
        ("kube_node:&rack1", "node1 node2"),
        ("&rack1:kube_node:!node1", "node2"),
        ("node*", "node1 node2 node3 node4 node5"),
        ("node?:!*5", "node1 node2 node3 node4"),
        ("node[24]", "! there is no host or group `node`"),
        ("kube_*,cp1", "cp1 node1 node2 node3 node4 node5"),
        ("kube_node[0]", "node1"),
        ("kube_node[-1]", "node5"),
        ("kube_node[1:3]", "node2 node3 node4"),
        ("kube_node[1-3]", "node2 node3 node4"),
        ("kube_node[3:]", "node4 node5"),
        ("kube_node[:1]", "node1 node2"),
        ("kube_node[-2:]", "node4 node5"),
        ("kube_node[5]", "! `kube_node` has no hosts at these places"),
        ("kube_node[3:1]", "! `kube_node` has no hosts at these places"),
        ("fe80::1", "fe80::1"),
        ("!fe80::1,all", "cp1 node1 node2 node3 node4 node5"),
        ("*", "fe80::1 cp1 node1 node2 node3 node4 node5"),
        ("~node.*", "! `~node.*` is a regular expression"),
        ("@hosts.retry", "! `@hosts.retry` is a file with names of hosts"),
        ("nodes", "! there is no host or group `nodes`"),
        ("x*", "! no host or group matches `x*`"),
        ("cp1:!cp1", "! `cp1:!cp1` names no host"),
        ("", "! `` names no host"),
        (" , ", "! ` , ` names no host"),
    ] {
        assert_eq!(selected(pattern), expected, "{pattern}");
    }
}

#[test]
fn all_of_a_pattern_is_checked_at_once() {
    let at = Position { file: "op.yaml".into(), line: 7, column: 14 };
    let problems = read(TEXT).select("node11,~x,cp2,x*,kube_node[9]", &at).unwrap_err();
    insta::with_settings!({snapshot_path => "../snapshots", prepend_module_to_snapshot => false, omit_expression => true}, {
        insta::assert_snapshot!("inventory_patterns", rendered(&problems));
    });
}

proptest! {
    #[test]
    fn any_pattern_names_hosts_once_or_is_explained(pattern in "[a-z0-9*?!&,:~@\\[\\]_ -]{0,24}|(node|kube_node|all|!|&|:|,|\\*|\\[|\\]|[0-9]|-){0,12}") {
        let inventory = read(TEXT);
        let at = Position { file: "f".into(), line: 1, column: 1 };
        match inventory.select(&pattern, &at) {
            Ok(hosts) => {
                let unique: std::collections::BTreeSet<_> = hosts.iter().collect();
                prop_assert!(!hosts.is_empty() && unique.len() == hosts.len());
                prop_assert!(hosts.iter().all(|host| inventory.hosts().contains(host)));
            }
            Err(problems) => prop_assert!(!problems.is_empty() && problems.iter().all(|problem| problem.position.as_ref() == Some(&at))),
        }
    }
}
