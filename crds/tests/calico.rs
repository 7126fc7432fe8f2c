//! What Calico is asked for, and what can't be together.
#![allow(clippy::unwrap_used, clippy::panic)]

use kok_crds::model::{CalicoBackend, Cluster, NetworkPlugin, Tunnel};
use kok_crds::{File, Role, read_cluster, read_input};

fn read(network: &str, vars: &str) -> Result<Cluster, String> {
    let text = format!(
        "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {{name: a}}\nspec: {{kubernetesVersion: 1.37.1, hosts: [{{name: cp1, \
         address: 10.0.0.11, roles: [control-plane]}}], network: {{{network}}}, vars: {{{vars}}}}}\n"
    );
    read_cluster("f", &text).map_err(|problems| problems.iter().map(|problem| format!("{problem}\n")).collect())
}

fn refused(vars: &str) -> String {
    read("plugin: calico", vars).map(drop).unwrap_err()
}

#[test]
fn one_kind_of_tunnel_carries_the_packets_of_pods() {
    assert!(refused("calico_ipip_mode: Always").contains("at once"));
    assert!(refused("calico_vxlan_mode: Never").contains("nothing would carry the packets of pods"));
    let bgp = read("plugin: calico", "calico_network_backend: bird, calico_vxlan_mode: Never, calico_ipip_mode: CrossSubnet").unwrap();
    let calico = bgp.settings.calico;
    assert_eq!((calico.backend, calico.vxlan, calico.ipip), (CalicoBackend::Bird, Tunnel::Never, Tunnel::CrossSubnet));
    read("plugin: calico", "calico_network_backend: bird, calico_vxlan_mode: Never").unwrap();
}

#[test]
fn kube_proxy_and_calico_program_the_same() {
    assert!(refused("calico_nftable_mode: Disabled").contains("kube-proxy's mode nftables don't go together"));
    assert!(refused("calico_nftable_mode: Enabled, kube_proxy_mode: iptables").contains("Calico's dataplane nftables"));
    for good in ["calico_nftable_mode: Enabled", "calico_nftable_mode: Disabled, kube_proxy_mode: ipvs", "kube_proxy_mode: iptables"] {
        read("plugin: calico", good).unwrap();
    }
}

#[test]
fn what_is_not_set_up_is_an_error_where_calico_is_the_network_and_only_there() {
    let asked = [
        "calico_bpf_enabled: true",
        "calico_wireguard_enabled: true",
        "calico_datastore: etcd",
        "peer_with_router: true",
        "calico_network_backend: none",
        "typha_secure: true",
    ];
    for vars in asked {
        refused(vars);
        read("plugin: flannel", vars).unwrap();
    }
    for own in ["calico_bpf_enabled: false", "calico_datastore: kdd", "global_as_num: 64512", "calico_advertise_cluster_ips: false"] {
        read("plugin: calico", own).unwrap();
    }
    let flannel = read("plugin: flannel", "calico_mtu: 1400, typha_enabled: true").unwrap();
    assert_eq!(flannel.settings, read("plugin: flannel", "").unwrap().settings, "what is of Calico counts for nothing");
    assert!(read("plugin: flannel", "nat_outgoing: false").unwrap_err().contains("nat_outgoing"));
}

#[test]
fn a_range_has_room_for_a_block() {
    assert!(read("plugin: calico, podCIDR: 10.64.0.0/24", "calico_pool_blocksize: 22").unwrap_err().contains("has no block of a /22"));
    read("plugin: calico, podCIDR: 10.64.0.0/24", "calico_pool_blocksize: 24").unwrap();
    let nodes = (1..=100).map(|host| format!("n{host}: {{ip: 10.1.0.{host}}}")).collect::<Vec<_>>().join(", ");
    let text =
        format!("all: {{hosts: {{{nodes}}}, children: {{kube_control_plane: {{hosts: {{n1: }}}}, kube_node: {{hosts: {{n2: }}}}}}}}");
    let of = |extra: &str| {
        let main = File { name: "hosts.yaml".to_owned(), text: text.clone(), role: Role::Main { cluster: None } };
        let extra = File { name: "-e".to_owned(), text: extra.to_owned(), role: Role::Extra };
        read_input(&[main, extra]).cluster
    };
    assert_eq!(of("{kubelet_max_pods: 400}").unwrap().network.plugin, NetworkPlugin::Calico, "a node takes as many blocks as it needs");
    assert!(of("{kubelet_max_pods: 400, kube_network_plugin: flannel}").is_none());
}

/// Two variables of Kubespray say it, and the one of the pods' interfaces counts, whichever stands first.
#[test]
fn the_packet_size_of_pods_interfaces_counts() {
    for vars in ["calico_mtu: 1500, calico_veth_mtu: 1440", "calico_veth_mtu: 1440, calico_mtu: 1500"] {
        assert_eq!(read("plugin: calico", vars).unwrap().settings.calico.mtu, Some(1440), "{vars}");
    }
}
