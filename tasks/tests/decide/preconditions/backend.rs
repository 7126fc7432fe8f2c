//! How flannel carries packets, and what that asks of hosts.

use kok_crds::model::{FlannelBackend, NetworkPlugin};
use kok_tasks::observe::{Family, ModuleState, PodNetwork};

use super::running::running;
use super::*;

fn with(backend: FlannelBackend) -> Cluster {
    let mut cluster = cluster();
    cluster.network.backend = backend;
    cluster
}

/// Another subnet on the way to the other hosts.
fn far(name: &str, facts: &mut HostFacts) {
    if name == "worker1" {
        let route = |to: &str, via: Option<&str>| Route {
            to: to.parse().unwrap(),
            interface: "eth0".to_owned(),
            via: via.map(|via| via.parse().unwrap()),
        };
        facts.routes = vec![route("10.20.0.12/32", None), route("10.20.0.0/24", Some("10.20.0.1"))];
    }
}

#[test]
fn packets_without_a_link_of_their_own_need_neighbours() {
    let refused = |backend: FlannelBackend, change: fn(&str, &mut HostFacts)| written(&check(&with(backend), &seen_with(change)));
    assert_eq!(refused(FlannelBackend::HostGw, |_, _| {}), "");
    insta::assert_snapshot!("host_gw", refused(FlannelBackend::HostGw, far));
    let mut bridge = cluster();
    bridge.network.plugin = NetworkPlugin::Bridge;
    assert_eq!(written(&check(&bridge, &seen_with(|_, _| {}))), "");
    insta::assert_snapshot!("bridge", written(&check(&bridge, &seen_with(far))));
    for backend in [FlannelBackend::Vxlan, FlannelBackend::Wireguard] {
        assert_eq!(refused(backend, far), "");
    }
}

/// Else the second `apply` would refuse what the first one did.
#[test]
fn routes_to_the_pods_of_other_hosts_are_ours() {
    let seen = |cluster: Option<&str>, via: &str| {
        seen_with(|name, facts| {
            facts.cluster = cluster.map(str::to_owned);
            if name == "worker1" {
                let to = "10.233.64.0/24".parse().unwrap();
                facts.routes.push(Route { to, interface: "eth0".to_owned(), via: Some(via.parse().unwrap()) });
            }
        })
    };
    let overlaps = |seen: &Seen| written(&check(&with(FlannelBackend::HostGw), seen)).contains("its route to 10.233.64.0/24 overlaps");
    assert!(!overlaps(&seen(Some("demo"), "10.20.0.11")));
    assert!(overlaps(&seen(Some("demo"), "10.20.0.99")), "that is no host of the cluster");
    assert!(overlaps(&seen(None, "10.20.0.11")), "nobody of ours has been there yet");
}

/// The bridge's own to a host that has left the file: a step takes it away.
#[test]
fn routes_of_the_bridge_are_ours_wherever_they_lead() {
    let mut bridge = cluster();
    bridge.network.plugin = NetworkPlugin::Bridge;
    let overlaps = |ours: bool| {
        let (to, via): (ipnet::Ipv4Net, std::net::Ipv4Addr) = ("10.233.70.0/24".parse().unwrap(), "10.20.0.99".parse().unwrap());
        let mut seen = seen_with(|name, facts| {
            facts.cluster = Some("demo".to_owned());
            if name == "worker1" {
                facts.routes.push(Route { to, interface: "eth0".to_owned(), via: Some(via) });
            }
        });
        let network = PodNetwork { routes: [(to.into(), (via.into(), ours))].into(), masquerades: [Family::V4].into() };
        seen.add_observations("worker1", Observations { pod_network: Some(network), ..Observations::default() });
        written(&check(&bridge, &seen)).contains("its route to 10.233.70.0/24 overlaps")
    };
    assert!(overlaps(false) && !overlaps(true));
}

#[test]
fn a_kernel_without_a_module_is_refused() {
    let state = |state: ModuleState| Observations { modules: [("wireguard".to_owned(), state)].into(), ..Observations::default() };
    let refused = |backend: FlannelBackend, is: ModuleState| refused_when_seen(&with(backend), "worker1", state(is));
    insta::assert_snapshot!("no_wireguard", refused(FlannelBackend::Wireguard, ModuleState::Missing));
    assert_eq!(refused(FlannelBackend::Wireguard, ModuleState::Loadable), "", "a step loads it");
    assert_eq!(refused(FlannelBackend::Vxlan, ModuleState::Missing), "", "nobody needs it");
    let mut cluster = cluster();
    cluster.settings.host.additional_kernel_modules = vec!["ip_vs".to_owned()];
    let seen = Observations { modules: [("ip_vs".to_owned(), ModuleState::Missing)].into(), ..Observations::default() };
    insta::assert_snapshot!("no_module_of_the_user", refused_when_seen(&cluster, "worker1", seen));
}

#[test]
fn a_running_cluster_keeps_its_backend() {
    let with_backend = |word: &str| {
        let mut seen = running("", &[]);
        let map = serde_json::json!({"data": {"net-conf.json": format!("{{\"Network\":\"10.233.64.0/18\",\"Backend\":{{\"Type\":\"{word}\"}}}}")}});
        let objects = [("ConfigMap/kube-flannel/kube-flannel-cfg".to_owned(), KubernetesObject(map))].into();
        let state = KubernetesState::Ready { nodes: BTreeMap::new(), objects, bootstrap_tokens: Vec::new() };
        seen.add_observations("cp1", Observations { kubernetes: Some(state), ..Observations::default() });
        seen
    };
    assert_eq!(check(&with(FlannelBackend::HostGw), &with_backend("host-gw")), Vec::new());
    insta::assert_snapshot!("another_backend", written(&check(&cluster(), &with_backend("host-gw"))));
    // Written into the JSON behind the word of the backend.
    let with_mtu = with_backend(r#"vxlan","MTU":1450,"of":""#);
    let mut same = cluster();
    same.network.mtu = Some(1400);
    assert_eq!(check(&same, &with_mtu), Vec::new());
    insta::assert_snapshot!("another_mtu", written(&check(&cluster(), &with_mtu)));
    insta::assert_snapshot!("a_new_mtu", written(&check(&same, &with_backend("vxlan"))));
}

#[test]
fn packets_that_the_interface_does_not_send_are_refused() {
    let of = |backend: FlannelBackend, mtu: u16| {
        let mut cluster = with(backend);
        cluster.network.mtu = Some(mtu);
        written(&check(&cluster, &seen_with(|_, _| {})))
    };
    let most = [(FlannelBackend::Vxlan, 1450), (FlannelBackend::HostGw, 1500), (FlannelBackend::Wireguard, 1420)];
    for (backend, mtu) in most {
        assert_eq!(of(backend, mtu), "");
        assert!(of(backend, mtu + 1).contains(&format!("write {mtu} or less at spec.network.mtu")));
    }
    insta::assert_snapshot!("packets", of(FlannelBackend::Vxlan, 1500));
}

/// The same names are those of upstream's manifest, which may well be the user's own.
#[test]
fn a_running_cluster_keeps_its_network() {
    let with_daemon = |annotations: serde_json::Value| {
        let mut seen = running("", &[]);
        let daemon = KubernetesObject(serde_json::json!({"metadata": {"annotations": annotations}}));
        let objects = [("DaemonSet/kube-flannel/kube-flannel-ds".to_owned(), daemon)].into();
        let state = KubernetesState::Ready { nodes: BTreeMap::new(), objects, bootstrap_tokens: Vec::new() };
        seen.add_observations("cp1", Observations { kubernetes: Some(state), ..Observations::default() });
        seen
    };
    let mut without = cluster();
    without.network.plugin = NetworkPlugin::None;
    assert_eq!(check(&without, &with_daemon(serde_json::json!({}))), Vec::new());
    let ours = with_daemon(serde_json::json!({"kokctl.io/source-sha256": "0"}));
    assert_eq!(check(&cluster(), &ours), Vec::new());
    insta::assert_snapshot!("without_its_network", written(&check(&without, &ours)));
}

#[test]
fn routes_of_a_network_of_ones_own_are_no_obstacle() {
    let mut without = cluster();
    without.network.plugin = NetworkPlugin::None;
    let seen = |cluster: Option<&str>| {
        seen_with(|_, facts| {
            facts.cluster = cluster.map(str::to_owned);
            facts.routes.push(Route { to: "10.233.64.0/24".parse().unwrap(), interface: "cilium_vxlan".to_owned(), via: None });
        })
    };
    let overlaps = |seen: &Seen| written(&check(&without, seen)).contains("overlaps");
    assert!(!overlaps(&seen(Some("demo"))));
    assert!(overlaps(&seen(None)), "nothing of the cluster is there yet");
}
