//! A variable that is called honoured changes the cluster. A row that is honoured and not tried here fails the test.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeSet;

use kok_crds::model::{Cluster, Settings};
use kok_crds::{Effect, File, Position, Role, read_cluster, read_input, variables};

/// What the inventory says before. Three variables of time do something only together.
const HOST: &str = "all: {hosts: {cp1: {ip: 10.0.0.11}}, children: {kube_control_plane: {hosts: {cp1: }}}, vars: {
  kube_network_plugin: flannel, kube_version: 1.37.1, ntp_enabled: true, ntp_manage_config: true, ntp_servers: [a.example]}}";

/// The same, where the address is that of SSH.
const WITHOUT_IP: &str = "all: {hosts: {cp1: {ansible_host: 10.0.0.11}}, children: {kube_control_plane: {hosts: {cp1: }}}, vars: {
  kube_network_plugin: flannel, kube_version: 1.37.1}}";

/// Each honoured variable with a value that is not its default.
const VALUES: [(&str, &str); 51] = [
    ("access_ip", "10.0.0.99"),
    ("additional_kernel_modules", "[ip_vs]"),
    ("additional_no_proxy", "a.example"),
    ("additional_sysctl", "[{name: kernel.pid_max, value: 4194304}]"),
    ("ansible_become_pass", "secret"),
    ("ansible_become_password", "secret"),
    ("ansible_host", "cp1.example"),
    ("ansible_password", "secret"),
    ("ansible_port", "2222"),
    ("ansible_private_key_file", "~/.ssh/key"),
    ("ansible_ssh_args", "-o ProxyJump=gate"),
    ("ansible_ssh_common_args", "-o ProxyJump=gate"),
    ("ansible_ssh_extra_args", "-o ProxyJump=gate"),
    ("ansible_ssh_host", "cp1.example"),
    ("ansible_ssh_pass", "secret"),
    ("ansible_ssh_password", "secret"),
    ("ansible_ssh_port", "2222"),
    ("ansible_ssh_private_key_file", "~/.ssh/key"),
    ("ansible_ssh_user", "ops"),
    ("ansible_sudo_pass", "secret"),
    ("ansible_user", "ops"),
    ("cluster_name", "example.lan"),
    ("containerd_extra_runtime_args", "{sandboxer: podsandbox}"),
    ("containerd_limit_open_file_num", "65536"),
    ("containerd_registries_mirrors", "[{prefix: docker.io, mirrors: [{host: \"https://m.example\"}]}]"),
    ("dns_domain", "example.lan"),
    ("eviction_hard", "{memory.available: 100Mi}"),
    ("firewall", "open"),
    ("http_proxy", "http://proxy:3128"),
    ("https_proxy", "http://proxy:3128"),
    ("install_packages", "false"),
    ("ip", "10.0.0.99"),
    ("kube_network_node_prefix", "25"),
    ("kube_pods_subnet", "10.16.0.0/16"),
    ("kube_proxy_conntrack_max_per_core", "0"),
    ("kube_proxy_mode", "iptables"),
    ("kube_service_addresses", "10.17.0.0/16"),
    ("kube_version", "1.36.0"),
    ("kubeadm_ignore_preflight_errors", "[Mem]"),
    ("kubelet_fail_cgroup_v1", "false"),
    ("kubelet_fail_swap_on", "false"),
    ("no_proxy", "a.example"),
    ("node_labels", "{a: b}"),
    ("node_taints", "[\"a=b:NoExecute\"]"),
    ("ntp_enabled", "false"),
    ("ntp_manage_config", "false"),
    ("ntp_servers", "[b.example]"),
    ("override_system_hostname", "false"),
    ("populate_inventory_to_hosts_file", "false"),
    ("preinstall_selinux_state", "disabled"),
    ("trusted_certificates", CERTIFICATE),
];

/// There is one plugin so far, and what says it in words can't be changed to another.
const ONE_VALUE: [&str; 1] = ["kube_network_plugin"];

const CERTIFICATE: &str = "{a: \"-----BEGIN CERTIFICATE-----\\nMIIBIjCByaADAgECAhRBase64Base64Base64Base64Base64Base64Base64Base6\\nMIIBIjCByaADAgECAhRBase64Base64Base64Base64Base64Base64Base64Base6\\n-----END CERTIFICATE-----\\n\"}";

fn read(inventory: &str, extra: Option<String>) -> Cluster {
    let main = File { name: "hosts.yaml".to_owned(), text: inventory.to_owned(), role: Role::Main { cluster: None } };
    let extra = extra.map(|text| File { name: "-e".to_owned(), text, role: Role::Extra });
    let input = read_input(&[main].into_iter().chain(extra).collect::<Vec<_>>());
    let problems: Vec<_> = input.problems.iter().map(ToString::to_string).collect();
    without_places(input.cluster.unwrap_or_else(|| panic!("{}", problems.join("\n"))))
}

fn without_places(mut cluster: Cluster) -> Cluster {
    cluster.positions = Default::default();
    for host in &mut cluster.hosts {
        host.origin = Position { file: "f".into(), line: 1, column: 1 };
    }
    cluster
}

#[test]
fn every_honoured_variable_changes_the_cluster() {
    let honoured: BTreeSet<&str> = variables().filter(|row| row.effect() == Effect::Honoured).map(|row| row.name).collect();
    let tried: BTreeSet<&str> = VALUES.iter().map(|(name, _)| *name).chain(ONE_VALUE).collect();
    assert_eq!(honoured, tried);
    for (name, value) in VALUES {
        let inventory = if name == "access_ip" { WITHOUT_IP } else { HOST };
        let changed = read(inventory, Some(format!("{{\"{name}\": {value}}}")));
        assert!(changed != read(inventory, None), "{name} changes nothing");
    }
}

#[test]
fn every_setting_also_works_in_the_inline_form() {
    let settings = variables().filter(|row| row.effect() == Effect::Honoured && row.field().is_none());
    let mut tried = 0;
    for row in settings {
        let (_, value) = VALUES.iter().find(|(name, _)| *name == row.name).unwrap();
        let text = format!(
            "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {{name: a}}\nspec: {{kubernetesVersion: 1.37.1, \
             hosts: [{{name: cp1, address: 10.0.0.11, roles: [control-plane]}}], vars: {{{}: {value}}}}}\n",
            row.name
        );
        let cluster = read_cluster("f", &text).unwrap_or_else(|problems| panic!("{}: {problems:?}", row.name));
        assert_ne!(cluster.settings, Settings::default(), "{}", row.name);
        tried += 1;
    }
    assert!(tried >= 21, "{tried}");
}

#[test]
fn text_of_the_command_line_becomes_what_the_variable_is() {
    for text in ["kubelet_fail_swap_on=no", "kubelet_fail_swap_on=False", "kubelet_fail_swap_on=false"] {
        assert!(!read(HOST, Some(text.to_owned())).settings.host.kubelet_fail_swap_on, "{text}");
    }
    assert_eq!(read(HOST, Some("kube_network_node_prefix=26".to_owned())).network.node_prefix, 26);
}
