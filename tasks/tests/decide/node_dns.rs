//! The DNS cache of each node: where it comes before kubelets and where after them, and what a running cluster can't change about it.

use std::collections::BTreeSet;

use kok_crds::model::{Cluster, DnsZone, NetworkPlugin};
use kok_tasks::facts::HostFacts;
use kok_tasks::operations::Operation;
use kok_tasks::plan::{Action, Choice, Plan, Refusal, Selection};
use kok_tasks::preconditions::{check, warnings};
use serde_json::json;

use crate::support::world::World;
use crate::support::{cluster, highly_available, own_etcd, seen_with};

const LINK: &str = "/sys/class/net/nodelocaldns";
const UNIT: &str = "/etc/systemd/system/kokctl-node-dns.service";
const DAEMON_SET: &str = "DaemonSet/kube-system/nodelocaldns";

fn cached(mut cluster: Cluster) -> Cluster {
    cluster.settings.node_dns.enabled = true;
    cluster
}

fn left(world: &World) -> Vec<String> {
    world.plan().changes().map(|(step, change)| format!("{}: {}", step.id, change.because)).collect()
}

fn nothing() -> Vec<String> {
    Vec::new()
}

/// Whether a step of a plan has to wait for another one, be it for one in between.
fn waits_for(plan: &Plan, later: &str, earlier: &str) -> bool {
    let id = plan.steps().find(|step| step.id.as_str() == later).unwrap_or_else(|| panic!("no step {later}")).id.clone();
    let (mut known, mut left) = (BTreeSet::new(), vec![id]);
    while let Some(id) = left.pop() {
        for (need, _) in plan.needs(&id) {
            if known.insert(need.id.as_str().to_owned()) {
                left.push(need.id.clone());
            }
        }
    }
    known.contains(earlier)
}

fn written(refusals: &[Refusal]) -> String {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    refusals
        .iter()
        .map(|it| format!("{}\n  at: {}\n  because: {}\n  hint: {}\n", it.what, text(&it.at), text(&it.because), text(&it.hint)))
        .collect()
}

fn manifest(plan: &Plan) -> String {
    let manifest = plan.steps().find_map(|step| match &step.action {
        Action::Operation(Operation::ApplyManifest(manifest)) if manifest.name == "nodelocaldns" => Some(manifest.text.clone()),
        _ => None,
    });
    manifest.unwrap()
}

fn corefile(plan: &Plan) -> String {
    let objects: Vec<serde_json::Value> = serde_saphyr::from_multiple(&manifest(plan)).unwrap();
    objects.iter().find_map(|object| object["data"]["Corefile"].as_str()).unwrap().to_owned()
}

#[test]
fn a_cluster_with_caches_converges() {
    for cluster in [cluster(), highly_available(), own_etcd()] {
        let world = World::bare_of(cached(cluster)).converge();
        assert_eq!(left(&world), nothing());
        assert!(world.api.has(DAEMON_SET));
        for host in world.cluster.hosts.iter() {
            assert_eq!(world.hosts[&host.name].has(LINK), host.roles.is_node(), "{}", host.name);
        }
        let uploaded = world.hosts["cp1"].text("/etc/kubernetes/kokctl/cluster.yaml");
        assert!(uploaded.contains("\"clusterDNS\": [\"169.254.25.10\"]"), "{uploaded}");
    }
}

#[test]
fn a_network_is_none_of_its_needs() {
    let mut cluster = cached(cluster());
    cluster.network.plugin = NetworkPlugin::None;
    assert_eq!(left(&World::bare_of(cluster).converge()), nothing());
}

#[test]
fn whoever_has_none_has_no_step_of_it() {
    assert!(!World::bare().plan().steps().any(|step| step.id.as_str().contains("node-dns")));
    assert!(!World::converged().plan().steps().any(|step| step.id.as_str().contains("node-dns")));
}

/// Pods would be told of a cache that does not answer yet.
#[test]
fn it_answers_before_the_kubelets_of_a_running_cluster_name_it() {
    for cluster in [cluster(), highly_available()] {
        let mut world = World::bare_of(cluster).converge();
        world.cluster = cached(world.cluster);
        let plan = world.plan();
        for later in ["cp1/control-plane/kubelet", "cp1/control-plane/manifests", "worker1/kubelet-join/joined"] {
            assert!(waits_for(&plan, later, "cp1/node-dns/serving"), "{later}");
        }
        assert!(waits_for(&plan, "cp1/network-check/pods", "worker1/kubelet-join/joined"), "the pods of the check ask the cache");
        assert!(waits_for(&plan, "cp1/network-check/answers", "cp1/node-dns/running"));
        assert!(plan.changes().any(|(step, _)| step.id.as_str() == "cp1/network-check/answers"), "that names are found is proven anew");
        assert_eq!(left(&world.converge()), nothing());
    }
}

/// Its kubelet may be what the run is to mend.
#[test]
fn no_kubelet_waits_for_a_cache_of_a_node_that_is_not_ready() {
    let mut world = World::converged();
    world.cluster = cached(world.cluster);
    world.host("worker2").units.get_mut("kubelet.service").unwrap().active = "failed".into();
    let plan = world.plan();
    assert!(!plan.steps().any(|step| step.id.as_str() == "cp1/node-dns/serving"));
    assert!(waits_for(&plan, "cp1/node-dns/running", "worker2/kubelet-join/joined"));
    assert_eq!(left(&world.converge()), nothing());
}

#[test]
fn a_new_node_joins_while_the_cache_is_switched_on() {
    let mut world = World::bare_of(cluster());
    let all = world.cluster.hosts.clone();
    world.cluster.hosts.retain(|host| host.name != "worker2");
    let mut world = world.converge();
    world.cluster.hosts = all;
    world.cluster = cached(world.cluster);
    assert!(!waits_for(&world.plan(), "cp1/node-dns/serving", "worker2/kubelet-join/joined"), "that would be a circle");
    assert_eq!(left(&world.converge()), nothing());
}

#[test]
fn kubelets_forget_it_before_it_goes() {
    let mut world = World::bare_of(cached(cluster())).converge();
    world.cluster.settings.node_dns.enabled = false;
    let plan = world.plan();
    for kubelet in ["cp1/control-plane/kubelet", "worker1/kubelet-join/joined", "worker2/kubelet-join/joined"] {
        assert!(waits_for(&plan, "cp1/node-dns/removed", kubelet), "{kubelet}");
    }
    assert!(waits_for(&plan, "worker1/node-dns/link-removed", "cp1/node-dns/removed"));
    let world = world.converge();
    assert_eq!(left(&world), nothing());
    assert!(!world.api.has(DAEMON_SET));
    assert!(world.hosts.values().all(|host| !host.has(LINK) && !host.has(UNIT)));
}

/// Its pods would have no DNS at all, if the address went while the cache and the kubelets still name it.
#[test]
fn it_goes_in_the_same_order_where_the_api_is_silent() {
    let mut world = World::bare_of(cached(cluster())).converge();
    world.cluster.settings.node_dns.enabled = false;
    world.host("cp1").units.get_mut("kubelet.service").unwrap().active = "failed".into();
    let plan = world.plan();
    assert!(plan.changes().any(|(step, _)| step.id.as_str() == "cp1/node-dns/removed"));
    for worker in ["worker1", "worker2"] {
        let (gone, joined) = (format!("{worker}/node-dns/link-removed"), format!("{worker}/kubelet-join/joined"));
        assert!(waits_for(&plan, &gone, "cp1/node-dns/removed") && waits_for(&plan, "cp1/node-dns/removed", &joined), "{worker}");
    }
    let world = world.converge();
    assert_eq!(left(&world), nothing());
    assert!(!world.api.has(DAEMON_SET));
}

/// Kubelets have forgotten it, and the cache is still there.
#[test]
fn a_part_does_not_take_the_address_from_under_the_cache() {
    let before = World::bare_of(cached(cluster())).converge();
    let mut world = before.clone();
    world.cluster.settings.node_dns.enabled = false;
    let mut world = world.converge();
    world.host("worker1").write(UNIT, 0o644, "left");
    world.host("worker1").folder(LINK, 0o755);
    let limit = ["worker1".to_owned()];
    let selection = Selection::new(Choice { only: &[], skip: &[], limit: &limit }, &world.cluster).unwrap();
    let (plan, asked) = world.plan_of(&selection).unwrap();
    assert_eq!(plan.changes().map(|(step, _)| step.id.as_str()).collect::<Vec<_>>(), ["worker1/node-dns/link-removed"]);
    assert!(asked.contains(&"cp1".to_owned()), "{asked:?}");
    world.api.objects.insert(DAEMON_SET.to_owned(), before.api.objects[DAEMON_SET].clone());
    let refused = written(&world.plan_of(&selection).map(|_| ()).unwrap_err());
    assert!(refused.contains("cp1/node-dns/removed"), "{refused}");
}

/// A host that was away when the cache went.
#[test]
fn a_link_that_is_left_goes_later() {
    let mut world = World::converged();
    world.host("worker1").write(UNIT, 0o644, "left");
    world.host("worker1").folder(LINK, 0o755);
    assert_eq!(left(&world), ["worker1/node-dns/link-removed: the link nodelocaldns is there"]);
    assert_eq!(left(&world.converge()), nothing());
}

#[test]
fn a_link_that_somebody_removed_is_made_again() {
    let mut world = World::bare_of(cached(cluster())).converge();
    world.host("worker1").paths.remove(LINK);
    assert_eq!(left(&world)[0], "worker1/node-dns/link: it has no link nodelocaldns");
    assert_eq!(left(&world.converge()), nothing());
}

#[test]
fn what_the_cache_is_told() {
    let mut cluster = cached(cluster());
    insta::assert_snapshot!("manifest", manifest(&World::bare_of(cluster.clone()).plan()));
    let dns = &mut cluster.settings.node_dns;
    let servers = vec!["192.0.2.53:53".parse().unwrap(), "192.0.2.54:5353".parse().unwrap()];
    dns.zones.push(DnsZone { names: vec!["corp.example".into(), "lab.example".into()], servers, cache_seconds: 5 });
    dns.zones.push(DnsZone { names: vec!["live.example".into()], servers: vec!["[2001:db8::53]:53".parse().unwrap()], cache_seconds: 0 });
    dns.metrics_at_host = true;
    insta::assert_snapshot!("corefile", corefile(&World::bare_of(cluster).plan()));
}

/// What is refused of a running cluster whose caches have this address and mark.
fn of_running(cluster: &Cluster, address: &str, mark: Option<&str>) -> (String, String) {
    let mut world = World::bare_of(cached(crate::support::cluster())).converge();
    let object = world.api.objects.get_mut(DAEMON_SET).unwrap();
    object["spec"] = json!({"template": {"spec": {"containers": [{"livenessProbe": {"httpGet": {"host": address}}}]}}});
    if mark.is_none() {
        object["metadata"]["annotations"] = json!({});
    }
    world.cluster = cluster.clone();
    let seen = world.seen();
    (written(&check(cluster, &seen)), written(&warnings(cluster, &seen)))
}

#[test]
fn what_pods_were_told_stays_so() {
    let on = cached(cluster());
    assert_eq!(of_running(&on, "169.254.25.10", Some("ours")), (String::new(), String::new()));
    insta::assert_snapshot!("another_address", of_running(&on, "169.254.20.10", Some("ours")).0);
    insta::assert_snapshot!("of_others", of_running(&on, "169.254.25.10", None).0);
    assert_eq!(of_running(&cluster(), "169.254.25.10", None), (String::new(), String::new()), "that is nobody's business");
    let (refused, warned) = of_running(&cluster(), "169.254.25.10", Some("ours"));
    assert_eq!(refused, "");
    insta::assert_snapshot!("switched_off", warned);
}

/// What is refused of one bare host.
fn refused(change: impl Fn(&mut HostFacts)) -> String {
    let seen = seen_with(|name, facts| {
        if name == "worker1" {
            change(facts)
        }
    });
    written(&check(&cached(cluster()), &seen))
}

#[test]
fn ports_have_to_be_free_where_it_listens() {
    assert_eq!(refused(|facts| facts.listening_ports.extend([53])), "", "systemd-resolved has an address of its own");
    insta::assert_snapshot!(
        "ports",
        refused(|facts| {
            facts.listening_ports.extend([53, 9253, 9254]);
            facts.ports_at_all_addresses.extend([53, 9254]);
        })
    );
    let running = refused(|facts| {
        facts.listening_ports.extend([53, 9253]);
        facts.ports_at_all_addresses.extend([53, 9253]);
        let lo = facts.interfaces["lo"].clone();
        facts.interfaces.insert("nodelocaldns".to_owned(), lo);
    });
    assert_eq!(running, "", "it is the cache that listens");
}

#[test]
fn a_host_that_asks_the_cache_would_ask_itself() {
    let said = refused(|facts| facts.name_servers = vec!["169.254.25.10".parse().unwrap()]);
    assert!(said.contains("its name server 169.254.25.10 is the address of the node's DNS cache"), "{said}");
}
