//! Values of Kubespray that nobody has set and that templates of users count on.

use crate::Position;
use crate::inventory::{Variable, Vars};
use crate::tree::{Node, Value};

const DEFAULTS: [(&str, &str); 22] = [
    ("bin_dir", "/usr/local/bin"),
    ("cluster_name", "cluster.local"),
    ("container_manager", "containerd"),
    ("dl_k8s_io_url", "https://dl.k8s.io"),
    ("dns_domain", "{{ cluster_name }}"),
    ("docker_image_repo", "docker.io"),
    ("etcd_data_dir", "/var/lib/etcd"),
    ("gcr_image_repo", "gcr.io"),
    ("get_helm_url", "https://get.helm.sh"),
    ("github_image_repo", "ghcr.io"),
    ("github_url", "https://github.com"),
    ("kube_cert_dir", "/etc/kubernetes/pki"),
    ("kube_config_dir", "/etc/kubernetes"),
    ("kube_image_repo", "registry.k8s.io"),
    ("kube_manifest_dir", "/etc/kubernetes/manifests"),
    ("kube_pods_subnet", "10.233.64.0/18"),
    ("kube_proxy_mode", "nftables"),
    ("kube_service_addresses", "10.233.0.0/18"),
    ("kube_version", super::cluster::DEFAULT_VERSION),
    ("local_release_dir", "/tmp/releases"),
    ("quay_image_repo", "quay.io"),
    ("storage_googleapis_url", "https://storage.googleapis.com"),
];

/// The defaults, for those who render templates. None of them counts as set.
pub(crate) fn defaults() -> Vars {
    let mut vars = Vars::default();
    for (line, (name, text)) in (1..).zip(DEFAULTS) {
        let position = Position { file: "Kubespray's defaults".into(), line, column: 1 };
        let node = Node::new(Value::Text(text.to_owned()), position.clone());
        vars.insert(name, Variable { key_position: position, node });
    }
    vars
}
