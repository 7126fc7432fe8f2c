//! What is refused where etcd has hosts of its own.

use super::{DATA, MEMBERS, TEXT, bare, refused, stop};
use crate::support::world::World;
use crate::support::{cluster_of, own_etcd_of_five};

#[test]
fn a_lost_authority_of_etcd_is_not_replaced() {
    let mut world = bare().converge();
    for name in MEMBERS {
        world.host(name).paths.retain(|path, _| !path.starts_with("/etc/kubernetes/pki"));
    }
    let told = refused(&world);
    assert!(told.contains("the cluster has lost the certificate authority of etcd") && told.contains("host cp1, cp2"), "{told}");
    let mut world = bare().converge();
    world.host("etcd2").write("/etc/kubernetes/pki/etcd/ca.crt", 0o644, "another one");
    let told = refused(&world);
    assert!(told.contains("2 certificate authorities of etcd") && told.contains("etcd2"), "{told}");
}

#[test]
fn a_member_without_its_data_is_refused_whoever_else_answers() {
    for others_answer in [true, false] {
        let mut world = bare().converge();
        for name in MEMBERS.into_iter().filter(|name| *name == "etcd2" || !others_answer) {
            stop(&mut world, name);
        }
        world.host("etcd2").paths.retain(|path, _| !path.starts_with(DATA));
        let told = refused(&world);
        assert!(told.contains("its member of etcd has lost its data") && told.contains("host etcd2 (10.20.0.15)"), "{told}");
        assert!(told.contains("/var/lib/kokctl/made/etcd-started says that it had data"), "{told}");
        assert!(told.contains("`kokctl replace -f FILE etcd2`"), "{told}");
    }
}

#[test]
fn nothing_is_founded_over_data_or_a_unit_of_others() {
    let mut world = bare();
    world.host("etcd3").folder(DATA, 0o700);
    assert!(refused(&world).contains("data of an etcd that kokctl did not start"));
    let mut world = bare();
    world.host("etcd3").start("etcd.service");
    assert!(refused(&world).contains("it already has a etcd.service, which is active"));
    let mut world = bare();
    world.host("worker1").start("etcd.service");
    assert!(world.try_plan().is_ok(), "where kokctl runs none, it is somebody's own");
}

#[test]
fn how_etcd_runs_is_not_changed_by_apply() {
    let beside = TEXT
        .replace("    - {name: cp2, address: 10.20.0.12, roles: [control-plane]}\n", "")
        .lines()
        .filter(|line| !line.contains("[etcd]"))
        .fold(String::new(), |text, line| text + line + "\n");
    let mut world = World::bare_of(cluster_of(&beside)).converge();
    world.api.object("ConfigMap", "kube-system", "kubeadm-config", "");
    let data = |etcd: &str| {
        let head = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nkubernetesVersion: v1.37.1\n";
        serde_json::json!({"ClusterConfiguration": format!("{head}etcd:\n  {etcd}:\n    x: y\n")})
    };
    world.api.objects.get_mut("ConfigMap/kube-system/kubeadm-config").unwrap()["data"] = data("local");
    world.cluster = cluster_of(&format!("{beside}  vars: {{etcd_deployment_type: host}}\n"));
    let told = refused(&world);
    assert!(told.contains("the running cluster has etcd_deployment_type kubeadm, the file asks for host"), "{told}");
    world.api.objects.get_mut("ConfigMap/kube-system/kubeadm-config").unwrap()["data"] = data("external");
    world.cluster = cluster_of(&beside);
    let told = refused(&world);
    assert!(told.contains("the running cluster has etcd_deployment_type host, the file asks for kubeadm"), "{told}");
}

#[test]
fn a_member_is_neither_moved_nor_forgotten_by_an_edit() {
    let mut world = bare().converge();
    world.cluster = cluster_of(&TEXT.replace("address: 10.20.0.16, roles: [etcd]", "address: 10.20.0.19, roles: [etcd]"));
    let told = refused(&world);
    assert!(told.contains("and the file the members of etcd etcd1=https://10.20.0.14:2380") && told.contains("role `etcd`"), "{told}");
    assert!(told.contains("a member has one address") && told.contains("kokctl remove -f FILE etcd3"), "{told}");
    let left = ["etcd2", "etcd3"].iter().fold(TEXT.to_owned(), |text, name| {
        text.lines().filter(|line| !line.contains(&format!("name: {name},"))).fold(String::new(), |text, line| text + line + "\n")
    });
    world.cluster = cluster_of(&left);
    let told = refused(&world);
    assert!(told.contains("a member does not leave etcd because a line of the file is lost"), "{told}");
    assert!(told.contains("kokctl remove -f FILE etcd2 etcd3"), "{told}");
}

/// Members that were started and whose list was cut off meanwhile may have a newer one.
#[test]
fn nobody_joins_while_no_member_says_who_is_one() {
    let mut world = World::bare_of(cluster_of(&own_etcd_of_five()));
    world.cluster = cluster_of(TEXT);
    world.api.members.truncate(3);
    let mut world = world.converge();
    world.host("cp1").paths.retain(|path, _| !path.starts_with("/var/lib/kokctl/made"));
    world.host("cp2").paths.retain(|path, _| !path.starts_with("/var/lib/kokctl/made"));
    MEMBERS.into_iter().for_each(|name| stop(&mut world, name));
    assert!(world.try_plan().is_ok(), "they are started");
    world.cluster = cluster_of(&own_etcd_of_five());
    let told = refused(&world);
    assert!(told.contains("it is not known whether its member of etcd was started before") && told.contains("host etcd4"), "{told}");
}
