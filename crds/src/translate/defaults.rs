//! Values that nobody has set and that templates of users count on.

use crate::Position;
use crate::inventory::{Vars, WrittenVariable};
use crate::tree::{Node, Value};

/// Kubespray's defaults; where it is otherwise here, what holds here.
const DEFAULTS: [(&str, &str); 94] = [
    ("authorization_modes", "{{ ['Node', 'RBAC'] }}"),
    ("bin_dir", "/usr/local/bin"),
    ("cloud_provider", ""),
    ("cluster_name", "cluster.local"),
    ("container_manager", "containerd"),
    ("containerd_base_runtime_spec_rlimit_nofile", "65535"),
    // Kubespray asks the host for it, and changes only how many files may be open.
    ("containerd_default_base_runtime_spec", "{{ {} }}"),
    (
        "containerd_default_base_runtime_spec_patch",
        "{{ {'process': {'rlimits': [{'type': 'RLIMIT_NOFILE', 'hard': containerd_base_runtime_spec_rlimit_nofile, \
         'soft': containerd_base_runtime_spec_rlimit_nofile}]}} }}",
    ),
    ("containerd_cfg_dir", "/etc/containerd"),
    ("containerd_limit_open_file_num", "1048576"),
    ("containerd_state_dir", "/run/containerd"),
    ("containerd_storage_dir", "/var/lib/containerd"),
    ("containerd_use_systemd_cgroup", "true"),
    ("cri_socket", "unix:///run/containerd/containerd.sock"),
    ("dl_k8s_io_url", "https://dl.k8s.io"),
    ("dns_domain", "{{ cluster_name }}"),
    ("dns_mode", "coredns"),
    ("docker_image_repo", "docker.io"),
    ("enable_dual_stack_networks", "false"),
    ("enable_nodelocaldns", "false"),
    ("etcd_access_address", "{{ main_access_ip }}"),
    ("etcd_address", "{{ main_ip }}"),
    ("etcd_cert_dir", "/etc/kubernetes/pki/etcd"),
    ("etcd_data_dir", "/var/lib/etcd"),
    ("etcd_deployment_type", "kubeadm"),
    ("etcd_events_cluster_enabled", "false"),
    ("event_ttl_duration", "1h0m0s"),
    ("external_cloud_provider", ""),
    ("first_kube_control_plane", "{{ groups['kube_control_plane'] | first }}"),
    ("first_kube_control_plane_address", "{{ hostvars[first_kube_control_plane].main_access_ip }}"),
    ("flannel_backend_type", "vxlan"),
    ("flannel_vxlan_port", "8472"),
    ("flannel_vxlan_vni", "1"),
    ("gcr_image_repo", "gcr.io"),
    ("get_helm_url", "https://get.helm.sh"),
    ("github_image_repo", "ghcr.io"),
    ("github_url", "https://github.com"),
    ("helm_enabled", "false"),
    ("ipv4_stack", "true"),
    ("ipv6_stack", "{{ enable_dual_stack_networks | default(false) }}"),
    ("k8s_image_pull_policy", "IfNotPresent"),
    ("kube_api_anonymous_auth", "true"),
    ("kube_apiserver_access_address", "{{ main_access_ip }}"),
    ("kube_apiserver_address", "{{ main_ip }}"),
    ("kube_apiserver_bind_address", "::"),
    ("kube_apiserver_ip", "{{ kube_service_addresses | ipaddr('net') | ipaddr(1) | ipaddr('address') }}"),
    ("kube_apiserver_node_port_range", "30000-32767"),
    ("kube_apiserver_port", "6443"),
    ("kube_apiserver_use_authorization_config_file", "false"),
    ("kube_cert_dir", "/etc/kubernetes/pki"),
    ("kube_cert_group", "root"),
    ("kube_config_dir", "/etc/kubernetes"),
    ("kube_encrypt_secret_data", "false"),
    ("kube_image_repo", "registry.k8s.io"),
    ("kube_major_version", r"{{ kube_version | regex_replace('^v?([0-9]+[.][0-9]+).*$', '\\1') }}"),
    ("kube_manifest_dir", "{{ kube_config_dir }}/manifests"),
    ("kube_network_node_prefix", "24"),
    ("kube_network_node_prefix_ipv6", "120"),
    ("kube_network_plugin_multus", "false"),
    ("kube_owner", "root"),
    ("kube_pods_subnet", "10.233.64.0/18"),
    ("kube_pods_subnet_ipv6", "fd85:ee78:d8a6:8607::1:0000/112"),
    ("kube_pods_subnets", "{{ kube_pods_subnet }}{% if ipv6_stack %},{{ kube_pods_subnet_ipv6 }}{% endif %}"),
    ("kube_proxy_mode", "nftables"),
    ("kube_proxy_strict_arp", "false"),
    ("kube_read_only_port", "0"),
    ("kube_script_dir", "{{ bin_dir }}/kubernetes-scripts"),
    ("kube_service_addresses", super::cluster::SERVICES),
    ("kube_service_addresses_ipv6", "fd85:ee78:d8a6:8607::1000/116"),
    ("kube_service_subnets", "{{ kube_service_addresses }}{% if ipv6_stack %},{{ kube_service_addresses_ipv6 }}{% endif %}"),
    ("kube_token_dir", "{{ kube_config_dir }}/tokens"),
    ("kube_version", super::cluster::DEFAULT_VERSION),
    ("kube_vip_enabled", "false"),
    ("kubeadm_init_phases_skip_default", "{{ ['addon/coredns'] }}"),
    ("kubeadm_join_phases_skip_default", "{{ [] }}"),
    ("kubelet_max_pods", "110"),
    ("kubelet_rotate_server_certificates", "false"),
    ("kubernetes_audit", "false"),
    ("loadbalancer_apiserver_healthcheck_port", "8081"),
    ("loadbalancer_apiserver_localhost", "{{ loadbalancer_apiserver is not defined }}"),
    ("loadbalancer_apiserver_port", "{{ kube_apiserver_port }}"),
    ("local_release_dir", "/tmp/releases"),
    ("main_access_ip", "{{ access_ip | default(main_ip) }}"),
    ("main_ip", "{{ ip | default(access_ip | default(ansible_host | default(inventory_hostname))) }}"),
    ("metallb_enabled", "false"),
    ("metrics_server_enabled", "false"),
    ("nodelocaldns_ip", "169.254.25.10"),
    ("ntp_enabled", "false"),
    ("quay_image_repo", "quay.io"),
    ("remove_anonymous_access", "false"),
    ("resolvconf_mode", "none"),
    ("skydns_server", "{{ kube_service_addresses | ipaddr('net') | ipaddr(10) | ipaddr('address') }}"),
    ("storage_googleapis_url", "https://storage.googleapis.com"),
    ("upgrade_cluster_setup", "false"),
];

/// The defaults, for those who render templates. None of them counts as set.
pub(crate) fn defaults() -> Vars {
    let mut vars = Vars::default();
    for (line, (name, text)) in (1..).zip(DEFAULTS) {
        let position = Position { file: "the defaults".into(), line, column: 1 };
        let node = Node { spelling: text.to_owned(), ..Node::new(value(text), position.clone()) };
        vars.insert(name, WrittenVariable { key_position: position, node });
    }
    vars
}

/// What YAML would make of a default.
fn value(text: &str) -> Value {
    match text {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => text.parse().map_or_else(|_| Value::Text(text.to_owned()), Value::Integer),
    }
}
