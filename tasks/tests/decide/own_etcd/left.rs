//! Members that are units, and control planes beside them, leave a cluster that goes on.

use std::collections::BTreeSet;

use kok_tasks::gate::{Disruption, Removal};
use kok_tasks::plan::Plan;

use super::grown::five;
use super::{DATA, bare, refusal_debug, refused};
use crate::leave_members::{leaving, order};
use crate::present;
use crate::support::world::World;
use crate::support::{cluster_of, own_etcd_of_five, own_etcd_of_three, step_id};

/// The file without these hosts.
fn without(text: &str, names: &[&str]) -> kok_crds::model::Cluster {
    let left = text.lines().filter(|line| !names.iter().any(|name| line.contains(&format!("name: {name},"))));
    cluster_of(&left.fold(String::new(), |text, line| text + line + "\n"))
}

fn steps<'a>(plan: &'a Plan, host: &str) -> Vec<&'a str> {
    plan.changes().filter(|(step, _)| step.id.host() == host).map(|(step, _)| step.id.name()).collect()
}

fn members(world: &World) -> BTreeSet<&str> {
    world.api.members.iter().map(String::as_str).collect()
}

#[test]
fn a_host_of_etcd_alone_has_no_pods_and_no_node() {
    let mut world = five();
    let plan = leaving(&world, &["etcd1"], (&[], true)).unwrap();
    assert_eq!(steps(&plan, "etcd1").into_iter().collect::<BTreeSet<_>>(), ["leader", "member", "reset"].into());
    assert!(order(&plan, ("etcd1", "leader"), ("etcd1", "member")) && order(&plan, ("etcd1", "member"), ("etcd1", "reset")));
    let step = |name: &str| plan.step(&step_id("etcd1", "reset", name)).unwrap();
    assert_eq!((step("leader").host.as_str(), step("member").host.as_str()), ("etcd1", "etcd2"), "another one is asked");
    assert!(matches!(step("leader").gate, Some((Disruption::MoveLeader { from: 14 }, _))), "etcd1 leads");
    assert!(matches!(step("member").gate, Some((Disruption::RemoveMember { member: 14, why: Removal::Leaving }, _))));
    world.carry_out_all(&plan);
    assert_eq!(members(&world), ["etcd2", "etcd3", "etcd4", "etcd5"].into());
    assert!(!world.hosts["etcd1"].has("/etc/etcd") && !world.hosts["etcd1"].is_active("etcd.service"));
    let world = world.converge();
    assert_eq!(members(&world).len(), 5, "as long as the file has it, it joins anew");
}

#[test]
fn five_become_three_and_api_servers_are_told() {
    let mut world = five();
    let plan = leaving(&world, &["etcd1", "etcd5"], (&[], false)).unwrap();
    assert!(order(&plan, ("etcd1", "reset"), ("etcd5", "member")), "one after the other");
    for (first, second) in [("cordoned", "drained"), ("drained", "member"), ("member", "reset"), ("reset", "node")] {
        assert!(order(&plan, ("etcd5", first), ("etcd5", second)), "it is a worker, too: {first}, {second}");
    }
    world.carry_out_all(&plan);
    world.cluster = without(&own_etcd_of_five(), &["etcd1", "etcd5"]);
    let plan = world.plan();
    assert!(plan.change(&step_id("cp1", "control-plane", "manifests")).is_some());
    for name in ["etcd2", "etcd3", "etcd4"] {
        assert!(plan.change(&step_id(name, "etcd", "service")).is_none(), "{name} goes on");
    }
    let world = world.converge();
    assert!(world.plan().is_empty());
    assert_eq!(members(&world), ["etcd2", "etcd3", "etcd4"].into());
    assert!(!world.hosts["cp1"].text("/etc/kubernetes/kokctl/bootstrap.yaml").contains("10.20.0.14:2379"));
}

#[test]
fn a_removal_that_is_cut_off_anywhere_is_gone_on_with() {
    let begun = five();
    let hosts = ["etcd1", "etcd5"];
    let steps = leaving(&begun, &hosts, (&[], false)).unwrap().changes().count();
    for most in 0..=steps {
        let mut world = begun.clone();
        let plan = leaving(&world, &hosts, (&[], false)).unwrap();
        world.carry_out_some(&plan, most);
        let rest = leaving(&world, &hosts, (&[], false)).unwrap_or_else(|refusals| panic!("after {most}: {}", refusal_debug(&refusals)));
        world.carry_out_all(&rest);
        assert_eq!(members(&world), ["etcd2", "etcd3", "etcd4"].into(), "after {most}");
        assert!(!world.api.nodes.contains_key("etcd5"));
        assert_eq!(members(&world.converge()).len(), 5, "after {most}");
    }
}

#[test]
fn what_leaves_too_few_is_refused() {
    let world = five();
    let said = refusal_debug(&leaving(&world, &["etcd2"], (&[], false)).unwrap_err());
    assert!(said.contains("etcd would be left with 4 members") && said.contains("name another member, too"), "{said}");
    let said = refusal_debug(&leaving(&world, &["etcd9"], (&["etcd9"], true)).err().unwrap_or_default());
    assert_eq!(said, "", "nobody knows of it");
    let mut without_line = world.clone();
    without_line.cluster = without(&own_etcd_of_five(), &["etcd3", "etcd4"]);
    let said = refusal_debug(&leaving(&without_line, &["etcd4"], (&["etcd4"], true)).unwrap_err());
    assert!(
        said.contains("etcd4 is a member of etcd, and the file has no such host") && said.contains("put the line of etcd4 back"),
        "{said}"
    );
}

/// An apply that was cut off has not told it of the members that stay.
#[test]
fn no_api_server_is_left_without_a_member_that_it_knows() {
    let mut world = five();
    let servers = |from: u8, to: u8| {
        let urls: Vec<String> = (from..=to).map(|last| format!("https://10.20.0.{last}:2379")).collect();
        format!("spec:\n  containers:\n  - command:\n    - --etcd-servers={}\n", urls.join(","))
    };
    let manifest = "/etc/kubernetes/manifests/kube-apiserver.yaml";
    world.host("cp2").write(manifest, 0o600, &servers(14, 16));
    let said = refusal_debug(&leaving(&world, &["etcd1", "etcd2", "etcd3"], (&[], true)).unwrap_err());
    assert!(said.contains("the API server of cp2 would know no member of etcd that works") && said.contains("`kokctl apply`"), "{said}");
    assert!(leaving(&world, &["etcd1", "etcd2"], (&[], true)).is_ok());
    world.host("cp2").write(manifest, 0o600, &servers(14, 17));
    assert!(leaving(&world, &["etcd1", "etcd2", "etcd3"], (&[], true)).is_ok());
}

#[test]
fn a_dead_one_leaves_by_the_word_of_the_others_and_what_comes_back_is_not_let_in() {
    let mut world = five();
    let plan = leaving(&world, &["etcd2"], (&["etcd2"], false)).unwrap();
    assert_eq!(steps(&plan, "etcd2"), ["member"], "it is no node");
    let gate = plan.step(&step_id("etcd2", "reset", "member")).unwrap().gate.clone();
    assert!(matches!(gate, Some((Disruption::RemoveMember { member: 15, why: Removal::Dead }, _))), "{gate:?}");
    world.carry_out_all(&plan);
    assert!(!members(&world).contains("etcd2"));
    let said = refused(&world);
    assert!(said.contains("its member of etcd was taken out of the cluster") && said.contains("kokctl replace -f FILE etcd2"), "{said}");
    let plan = leaving(&world, &["etcd2"], (&[], true)).unwrap();
    assert_eq!(steps(&plan, "etcd2"), ["reset"]);
    world.carry_out_all(&plan);
    assert_eq!(members(&world.converge()).len(), 5);
}

/// The data alone, or the whole disk.
#[test]
fn one_without_its_data_is_named_and_joins_anew() {
    for is_bare in [false, true] {
        let mut world = five();
        world.host("etcd1").units.get_mut("etcd.service").unwrap().active = "inactive".into();
        world.host("etcd1").paths.retain(|path, _| !path.starts_with(DATA));
        if is_bare {
            world.leave_host("etcd1");
        }
        let said = refused(&world);
        assert!(said.contains("its member of etcd has lost its data") && said.contains("kokctl replace -f FILE etcd1"), "{said}");
        let plan = leaving(&world, &["etcd1"], (&[], true)).unwrap();
        assert_eq!(steps(&plan, "etcd1").contains(&"reset"), !is_bare);
        world.carry_out_all(&plan);
        let world = world.converge();
        assert_eq!(members(&world).len(), 5);
        assert!(world.plan().is_empty());
        assert!(world.hosts["etcd1"].text("/etc/etcd/etcd.yaml").contains("initial-cluster-state: existing"));
    }
}

#[test]
fn a_control_plane_without_a_member_leaves() {
    let mut world = World::bare_of(cluster_of(&own_etcd_of_three())).converge();
    let plan = leaving(&world, &["cp2", "cp3"], (&[], false)).unwrap();
    for host in ["cp2", "cp3"] {
        for (first, second) in [("drained", "api-server"), ("api-server", "reset"), ("reset", "node")] {
            assert!(order(&plan, (host, first), (host, second)), "{first}, {second}");
        }
        let gate = plan.step(&step_id(host, "reset", "api-server")).unwrap().gate.clone();
        assert!(matches!(gate, Some((Disruption::RestartApiServer { .. }, _))), "{gate:?}");
        assert!(plan.step(&step_id(host, "reset", "member")).is_none());
    }
    assert!(order(&plan, ("cp2", "node"), ("cp3", "cordoned")), "one after the other");
    world.carry_out_all(&plan);
    world.cluster = without(&own_etcd_of_three(), &["cp2", "cp3"]);
    let world = world.converge();
    assert!(world.plan().is_empty());
    assert_eq!(world.api.nodes.keys().collect::<Vec<_>>(), ["cp1", "worker1"]);
}

#[test]
fn nobody_removes_the_address_that_all_ask() {
    let mut world = bare().converge();
    let map = world.api.objects.get_mut("ConfigMap/kube-system/kubeadm-config").unwrap();
    let text = map["data"]["ClusterConfiguration"].as_str().unwrap().replace("lb-apiserver.kubernetes.local:6443", "10.20.0.11:6443");
    map["data"]["ClusterConfiguration"] = text.into();
    let said = refusal_debug(&leaving(&world, &["cp1"], (&[], true)).unwrap_err());
    assert!(said.contains("the whole cluster asks the API at the address of cp1"), "{said}");
}

/// What a host is counts, whatever the file makes of it by now.
#[test]
fn a_member_leaves_that_the_file_calls_something_else() {
    let mut world = five();
    let line = |name: &str| own_etcd_of_five().lines().find(|line| line.contains(&format!("name: {name},"))).unwrap().to_owned();
    let lines = ["etcd4", "etcd5", "cp2"].map(line);
    let roles = |line: &str| line.split("roles: [").nth(1).unwrap().split(']').next().unwrap().to_owned();
    let as_worker = |line: &str| line.replace(&format!("roles: [{}]", roles(line)), "roles: [worker]");
    world.cluster = cluster_of(&lines.iter().fold(own_etcd_of_five(), |text, line| text.replace(line.as_str(), &as_worker(line))));
    let plan = present::leaving(&world, &["etcd5"], &[]).unwrap();
    assert!(order(&plan, ("etcd5", "member"), ("etcd5", "reset")), "{:?}", steps(&plan, "etcd5"));
    world.carry_out_all(&plan);
    assert!(!members(&world).contains("etcd5"));
    let plan = present::leaving(&world, &["cp2"], &[]).unwrap();
    assert!(order(&plan, ("cp2", "api-server"), ("cp2", "reset")), "it is a control plane: {:?}", steps(&plan, "cp2"));
}

/// Pods and the API server of a host would be away before the gate says no.
#[test]
fn nobody_leaves_where_those_that_stay_would_not_be_enough() {
    let mut world = five();
    for dead in ["etcd3", "etcd4"] {
        world.leave_host(dead);
    }
    let said = refusal_debug(&leaving(&world, &["etcd2"], (&[], true)).unwrap_err());
    assert!(said.contains("of the 4 members that etcd would be left with 2 would vote, and 3 have to"), "{said}");
    assert!(said.contains("on etcd3, etcd4 it does not work"), "{said}");
    assert!(leaving(&world, &["etcd3"], (&["etcd3"], true)).is_ok(), "a dead one makes it better");
}
