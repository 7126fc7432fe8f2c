//! Calico: what its manifest says, and what is refused.

use kok_crds::model::{CalicoBackend, Cluster, KubeProxyMode, NetworkPlugin, Tunnel};
use kok_tasks::bundle::Bundle;
use kok_tasks::observe::{KubernetesObject, KubernetesState, ModuleState, Observations};
use kok_tasks::operations::Operation;
use kok_tasks::plan::{Action, Seen, looks};
use kok_tasks::ports;
use kok_tasks::preconditions::{check, warnings};

use crate::support::world::World;
use crate::support::{bundle, cluster, dual_stack, highly_available, inputs, seen_with};

fn calico() -> Cluster {
    with_calico(cluster())
}

fn with_calico(mut cluster: Cluster) -> Cluster {
    cluster.network.plugin = NetworkPlugin::Calico;
    cluster.settings.calico.is_wanted = true;
    cluster
}

/// The manifest that a plan puts into the cluster.
fn manifest(cluster: Cluster) -> String {
    let plan = World::bare_of(cluster).plan();
    let manifests: Vec<String> = plan
        .steps()
        .filter(|step| step.id.name() == "calico")
        .filter_map(|step| match &step.action {
            Action::Operation(Operation::ApplyManifest(manifest)) => Some(manifest.text.clone()),
            _ => None,
        })
        .collect();
    let [manifest] = &manifests[..] else { panic!("{} manifests", manifests.len()) };
    manifest.clone()
}

/// What stands behind the kinds of its objects, which a snapshot shows once.
fn workloads(manifest: &str) -> String {
    let at = manifest.find("kind: PodDisruptionBudget").unwrap();
    manifest[at..].replace("\",\"", "\",\n\"").replace("},{", "},\n{")
}

#[test]
fn the_whole_manifest_of_the_usual_one() {
    insta::assert_snapshot!("calico", manifest(calico()).replace("},{", "},\n{"));
}

#[test]
fn typha_and_bgp() {
    let mut cluster = with_calico(highly_available());
    cluster.settings.kube_proxy_mode = KubeProxyMode::Iptables;
    let calico = &mut cluster.settings.calico;
    (calico.typha_enabled, calico.typha_replicas) = (true, 2);
    (calico.backend, calico.vxlan, calico.ipip) = (CalicoBackend::Bird, Tunnel::Never, Tunnel::CrossSubnet);
    calico.mtu = Some(1400);
    calico.nat_outgoing = false;
    let plain = manifest(cluster.clone());
    insta::assert_snapshot!("calico_typha_and_bgp", workloads(&plain));
    let listening: Vec<String> = ports::of_host(&cluster, &cluster.hosts[0]).map(|port| port.dashed()).collect();
    assert!(["179/tcp", "5473/tcp"].iter().all(|port| listening.contains(&(*port).to_owned())), "{listening:?}");
    assert!(!listening.contains(&"4789/udp".to_owned()), "{listening:?}");
}

#[test]
fn both_families() {
    let mut cluster = with_calico(dual_stack());
    cluster.settings.calico.ip6_method = Some("interface=eth1".to_owned());
    cluster.settings.calico.block_size_ipv6 = 120;
    let text = manifest(cluster);
    for pair in [
        r#"{"name":"CALICO_IPV6POOL_BLOCK_SIZE","value":"120"}"#,
        r#"{"name":"CALICO_IPV6POOL_CIDR","value":"fd85:ee78:d8a6:8607::1:0/112"}"#,
        r#"{"name":"CALICO_IPV6POOL_VXLAN","value":"Always"}"#,
        r#"{"name":"FELIX_IPV6SUPPORT","value":"true"}"#,
        r#"{"name":"IP6","value":"autodetect"}"#,
        r#"{"name":"IP6_AUTODETECTION_METHOD","value":"interface=eth1"}"#,
    ] {
        assert!(text.contains(pair), "{pair} is not in {text}");
    }
    assert!(text.contains(r#"assign_ipv6\":\"true\""#), "{text}");
}

#[test]
fn a_cluster_with_it_converges() {
    for mut cluster in [calico(), with_calico(highly_available()), with_calico(dual_stack())] {
        cluster.settings.calico.typha_enabled = true;
        let world = World::bare_of(cluster).converge();
        let left: Vec<String> = world.plan().changes().map(|(step, change)| format!("{}: {}", step.id, change.because)).collect();
        assert_eq!(left, Vec::<String>::new());
        let text = world.hosts["cp1"].text("/etc/kubernetes/kokctl/cluster.yaml");
        assert!(text.contains("name: allocate-node-cidrs\n    value: \"False\""), "Calico gives blocks, nobody shares: {text}");
    }
}

/// The bundle with another release of Calico, and what of it can't be.
fn refused(cluster: Cluster, change: fn(&mut Bundle)) -> String {
    let mut bundle = bundle();
    change(&mut bundle);
    looks(&inputs(&cluster, &bundle)).unwrap_err().iter().map(|refusal| format!("{refusal:?}\n")).collect()
}

fn release(bundle: &mut Bundle, version: &str) {
    let images = bundle.images.iter_mut().filter(|image| image.name.starts_with("calico-"));
    images.for_each(|image| version.clone_into(&mut image.version));
}

#[test]
fn what_a_release_can_t_do_is_refused() {
    let said = refused(calico(), |bundle| release(bundle, "3.28.5"));
    assert!(said.contains("the bundle has Calico 3.28.5, which can't program nftables"), "{said}");
    for other in ["3.27.5", "3.32.1", "today"] {
        let change: fn(&mut Bundle) = match other {
            "3.27.5" => |bundle| release(bundle, "3.27.5"),
            "3.32.1" => |bundle| release(bundle, "3.32.1"),
            _ => |bundle| release(bundle, "today"),
        };
        let said = refused(calico(), change);
        assert!(said.contains(&format!("the bundle has Calico {other}")), "{said}");
    }
    let mut by_bgp = calico();
    by_bgp.settings.calico.backend = CalicoBackend::Bird;
    let said = refused(by_bgp, |bundle| {
        let node = bundle.images.iter_mut().find(|image| image.name == "calico-node").unwrap();
        node.lacks = vec!["bird".to_owned()];
    });
    assert!(said.contains("can't speak BGP"), "{said}");
}

/// Objects of later releases are not in an earlier one's cluster, whose programs would not know them.
#[test]
fn releases_differ_in_their_objects() {
    let kinds = |version: &str| {
        let mut world = World::bare_of({
            let mut cluster = calico();
            cluster.settings.kube_proxy_mode = KubeProxyMode::Iptables;
            cluster
        });
        release(&mut world.bundle, version);
        let plan = world.plan();
        let text = plan.steps().find_map(|step| match &step.action {
            Action::Operation(Operation::ApplyManifest(manifest)) if manifest.what == "Calico" => Some(manifest.text.clone()),
            _ => None,
        });
        let text = text.unwrap();
        let has = |kind: &str| text.contains(&format!("kind: \"{kind}\""));
        [has("IPPool"), has("Tier"), has("StagedNetworkPolicy"), has("BaselineAdminNetworkPolicy"), text.contains("node,loadbalancer")]
    };
    assert_eq!(kinds("3.28.5"), [true, false, false, false, false]);
    assert_eq!(kinds("3.29.7"), [true, true, false, false, false]);
    assert_eq!(kinds("3.31.7"), [true; 5]);
}

/// The cluster's own record says what it was set up by.
#[test]
fn what_a_running_one_keeps_is_refused() {
    let seen = |settings: &str| -> Seen {
        let mut seen = seen_with(|_, facts| facts.cluster = Some("demo".to_owned()));
        let map = KubernetesObject(serde_json::json!({"data": {"kokctl": settings}}));
        let daemons = KubernetesObject(serde_json::json!({"metadata": {"annotations": {"kokctl.io/source-sha256": "0"}}}));
        let objects =
            [("ConfigMap/kube-system/calico-config".to_owned(), map), ("DaemonSet/kube-system/calico-node".to_owned(), daemons)].into();
        let state = KubernetesState::Ready { nodes: Default::default(), objects, bootstrap_tokens: Vec::new() };
        seen.add_observations("cp1", Observations { kubernetes: Some(state), ..Observations::default() });
        seen
    };
    let said = |cluster: &Cluster, settings: &str| {
        let refusals = check(cluster, &seen(settings));
        refusals.iter().map(|refusal| format!("{refusal:?}\n")).collect::<String>()
    };
    let text = manifest(calico());
    let line = text.lines().find(|line| line.starts_with("  kokctl: ")).unwrap();
    let settings: String = serde_json::from_str(line.trim_start_matches("  kokctl: ")).unwrap();
    assert_eq!(said(&calico(), &settings), "");
    assert_eq!(said(&calico(), "{}"), "", "what nobody has written down is not known");
    let mut other = calico();
    other.settings.calico.block_size = 24;
    assert!(said(&other, &settings).contains("Calico's blockSize in the running cluster is 26, the file asks for 24"));
    let mut other = calico();
    other.settings.kube_proxy_mode = KubeProxyMode::Iptables;
    assert!(said(&other, &settings).contains("Calico's dataplane in the running cluster is nftables"));
    let mut other = calico();
    other.network.mtu = Some(1400);
    assert!(said(&other, &settings).contains("leave spec.vars.calico_mtu out"), "{}", said(&other, &settings));
    assert!(said(&cluster(), &settings).contains("spec.network.plugin"), "flannel is another network");
}

/// The mode of kube-proxy that Kubespray's sample has: honoured, and not for long.
#[test]
fn ipvs_is_set_up_where_the_kernel_has_it() {
    let mut cluster = calico();
    cluster.settings.kube_proxy_mode = KubeProxyMode::Ipvs;
    let fields = &mut cluster.settings.components.kube_proxy;
    fields.insert("ipvs.strictARP".to_owned(), true.into());
    fields.insert("MODE.masqueradeAll".to_owned(), true.into());
    fields.insert("MODE.syncPeriod".to_owned(), "1m0s".into());
    let world = World::bare_of(cluster.clone()).converge();
    let text = world.hosts["cp1"].text("/etc/kubernetes/kokctl/cluster.yaml");
    let proxy = text.split("kind: KubeProxyConfiguration").nth(1).unwrap().split("\n---").next().unwrap();
    for part in ["mode: \"ipvs\"", "\"iptables\": {\"masqueradeAll\":true}", "\"ipvs\": {\"strictARP\":true,\"syncPeriod\":\"1m0s\"}"] {
        assert!(proxy.contains(part), "{part} is not in {proxy}");
    }
    let modules = world.hosts["worker1"].text("/etc/modules-load.d/kokctl.conf");
    assert!(
        ["ip_vs", "ip_vs_rr", "ip_vs_sh", "ip_vs_wrr", "ip_set"].iter().all(|name| modules.lines().any(|line| line == *name)),
        "{modules}"
    );
    assert!(manifest(cluster.clone()).contains(r#"{"name":"FELIX_KUBENODEPORTRANGES","value":"30000:32767"}"#));
    let said: String = warnings(&cluster, &world.seen()).iter().map(|warning| format!("{warning:?}\n")).collect();
    assert!(said.contains("kube-proxy's mode is ipvs") && said.contains("write `kube_proxy_mode: iptables`, or `nftables`"), "{said}");
    let mut by_flannel = cluster;
    by_flannel.network.plugin = NetworkPlugin::Flannel;
    let said: String = warnings(&by_flannel, &world.seen()).iter().map(|warning| format!("{warning:?}\n")).collect();
    assert!(said.contains("write `kube_proxy_mode: nftables`\""), "{said}");
}

#[test]
fn a_kernel_without_ipvs_is_refused_with_what_goes_with_the_network() {
    let said = |plugin: NetworkPlugin| {
        let mut cluster = calico();
        cluster.network.plugin = plugin;
        cluster.settings.kube_proxy_mode = KubeProxyMode::Ipvs;
        let mut seen = seen_with(|_, _| {});
        let modules = [("ip_vs".to_owned(), ModuleState::Missing)].into();
        seen.add_observations("worker1", Observations { modules, ..Observations::default() });
        check(&cluster, &seen).iter().map(|refusal| format!("{refusal:?}\n")).collect::<String>()
    };
    assert!(said(NetworkPlugin::Calico).contains("; or write `kube_proxy_mode: iptables`, or `nftables` with Calico 3.30 or newer"));
    assert!(said(NetworkPlugin::Flannel).contains("; or write `kube_proxy_mode: nftables`\""));
}
