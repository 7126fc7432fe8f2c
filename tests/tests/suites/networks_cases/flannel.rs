//! flannel with ranges, a domain and a size of packets that are a user's own.

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Lab};

use crate::cluster_support::cluster::{items, kubectl, kubectl_json};
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::snapshot::{assert_same, fingerprint};
use crate::cluster_support::{hosts, ok};

pub const DOMAIN: &str = "lab.example";

/// Beside `plugin: flannel`.
const NETWORK: &str = "    plugin: flannel
    backend: BACKEND
    podCIDR: 10.64.0.0/20
    nodePrefix: 25
    serviceCIDR: 10.72.0.0/22
    clusterDomain: lab.example
    mtu: 1400
";

pub fn ask_for(lab: &Lab, kokctl: &Kokctl<'_>, backend: &str) {
    let plain = lab.inventory(DEFAULT_KUBERNETES_VERSION).unwrap();
    let text = plain.replace("    plugin: flannel\n", &NETWORK.replace("BACKEND", backend));
    assert_ne!(text, plain);
    kokctl.write_manifest(&text);
}

/// Which hosts can't have it is said before any is changed. A kernel that has it would make no test of this.
pub fn is_refused_without_wireguard(lab: &Lab, kokctl: &Kokctl<'_>) {
    let lacks = |host| ok(&host, "[ -d /sys/module/wireguard ] || modprobe -n wireguard 2>/dev/null || echo lacks") == "lacks";
    if !hosts(lab).into_iter().all(lacks) {
        println!("this machine's kernel has WireGuard: nothing to refuse");
        return;
    }
    let before = fingerprint(lab);
    ask_for(lab, kokctl, "wireguard");
    let said = kokctl.verb("apply", &["--bundle", kokctl.bundle().to_str().unwrap()]);
    assert_eq!((said.code, said.stdout.as_str()), (3, ""), "{said:?}");
    assert!(said.stderr.contains("error: its kernel has no module wireguard"), "{said:?}");
    assert!(said.stderr.contains("or choose another backend than wireguard (spec.network.backend)"), "{said:?}");
    for host in hosts(lab) {
        assert!(said.stderr.contains(host.name()), "{said:?}");
    }
    assert_same(&before, &fingerprint(lab), "what is refused must not change anything");
}

/// Shares of the nodes, ranges, sizes of packets, and the way between the hosts.
pub fn has_what_was_asked_for(lab: &Lab, backend: &str) {
    let nodes = kubectl_json(lab, "get nodes");
    let mut shares: Vec<&str> = items(&nodes).iter().map(|node| node["spec"]["podCIDR"].as_str().unwrap()).collect();
    shares.sort_unstable();
    assert_eq!(shares, ["10.64.0.0/25", "10.64.0.128/25"]);
    assert_eq!(kubectl(lab, "get service kubernetes -o jsonpath='{.spec.clusterIP}'"), "10.72.0.1");
    let mtu = |host: &_, link: &str| ok(host, &format!("cat /sys/class/net/{link}/mtu 2>/dev/null || echo none"));
    let all = hosts(lab);
    for (host, other) in all.iter().zip(all.iter().rev()) {
        // Packets of IPv6 take 20 bytes more of the host's; kokctl leaves room for them, and flannel counts both alike.
        let links = if backend == "vxlan" { ["1420", "1420"] } else { ["none", "none"] };
        assert_eq!([mtu(host, "flannel.1"), mtu(host, "flannel-v6.1")], links, "{}", host.name());
        assert_eq!(mtu(host, "cni0"), "1400", "{}", host.name());
        let pod = ok(host, "nsenter --net=/proc/$(pgrep -n -x echo)/ns/net ip -oneline link show eth0");
        assert!(pod.contains(" mtu 1400 "), "{}: {pod}", host.name());
        let share = items(&nodes).iter().find(|node| node["metadata"]["name"] == other.name()).unwrap();
        let way = ok(host, &format!("ip -4 route show {}", share["spec"]["podCIDR"].as_str().unwrap()));
        let by = if backend == "vxlan" { "dev flannel.1 ".to_owned() } else { format!("via {} dev host0", other.address()) };
        assert!(way.contains(&by), "{}: {way}", host.name());
        let way = ok(host, &format!("ip -6 route show {}", share["spec"]["podCIDRs"][1].as_str().unwrap()));
        let by =
            if backend == "vxlan" { "dev flannel-v6.1 ".to_owned() } else { format!("via {} dev host0", other.address_ipv6().unwrap()) };
        assert!(way.contains(&by), "{}: {way}", host.name());
    }
}

/// A running cluster keeps its backend.
pub fn another_is_refused(lab: &Lab, kokctl: &Kokctl<'_>, backend: &str) {
    let other = if backend == "vxlan" { "host-gw" } else { "vxlan" };
    let before = fingerprint(lab);
    ask_for(lab, kokctl, other);
    let said = kokctl.verb("apply", &["--bundle", kokctl.bundle().to_str().unwrap()]);
    assert_eq!((said.code, said.stdout.as_str()), (3, ""), "{said:?}");
    let error = format!("error: flannel's backend in the running cluster is {backend}, the file asks for {other}");
    assert!(said.stderr.contains(&error), "{said:?}");
    assert_same(&before, &fingerprint(lab), "what is refused must not change anything");
    ask_for(lab, kokctl, backend);
}
