//! Groups that Kubespray makes of others: old names, and groups that follow from the rest.

use std::sync::Arc;

use super::build::Builder;
use super::{Names, graph};
use crate::Notice;
use crate::words::quote;

/// Names of former versions with the names of today. Kubespray itself maps all but the last, which it derives.
const RENAMED: [(&str, &str); 5] = [
    ("kube-master", CONTROL_PLANE),
    ("kube-node", "kube_node"),
    ("calico-rr", "calico_rr"),
    ("no-floating", "no_floating"),
    ("k8s-cluster", CLUSTER),
];

const CLUSTER: &str = "k8s_cluster";
const CONTROL_PLANE: &str = "kube_control_plane";
const ETCD: &str = "etcd";

/// What `k8s_cluster` consists of where it is not written.
const PARTS: [&str; 3] = ["kube_node", CONTROL_PLANE, "calico_rr"];

/// Today's name of a group.
pub(super) fn current(name: &str) -> &str {
    RENAMED.iter().find(|(old, _)| *old == name).map_or(name, |(_, new)| *new)
}

/// Says that a group goes by an old name.
pub(super) fn renamed(name: &str) -> Notice {
    Notice::new(format!("the group {} is read as {}", quote(name), quote(current(name))))
        .because("that is what Kubespray calls it by now")
        .hint("both names work; rename it when you edit the file anyway")
}

/// Adds the groups that a plan needs where they are missing or empty.
pub(super) fn derive(builder: &mut Builder) {
    let members = |builder: &Builder, names: &[&str]| -> Names {
        let groups = names.iter().filter_map(|name| builder.groups.get_key_value(*name));
        groups.flat_map(|(name, _)| graph::members(&builder.groups, name)).collect()
    };
    if members(builder, &[CLUSTER]).is_empty() {
        let hosts = members(builder, &PARTS);
        fill(builder, CLUSTER, &hosts);
    }
    let planes = members(builder, &[CONTROL_PLANE]);
    if members(builder, &[ETCD]).is_empty() && !planes.is_empty() {
        let at = builder.groups.get(ETCD).map_or(&builder.start, |group| &group.position).clone();
        fill(builder, ETCD, &planes);
        builder.notices.push(
            Notice::new("etcd runs on the hosts of the group `kube_control_plane`")
                .at(&at)
                .because("the group `etcd` is missing or has no hosts"),
        );
    }
}

fn fill(builder: &mut Builder, group: &str, hosts: &Names) {
    if hosts.is_empty() {
        return;
    }
    let start = builder.start.clone();
    let group: Arc<str> = builder.group(group, &start);
    for host in hosts.iter() {
        builder.join(&group, host);
    }
}
