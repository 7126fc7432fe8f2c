//! Each honoured variable with a value that is not its default, and what has to be said beside it.

const VALUES: &str = include_str!("values.yaml");

pub(crate) fn values() -> impl Iterator<Item = (&'static str, &'static str)> {
    VALUES.lines().filter_map(|line| line.split_once(": ")).filter(|(name, _)| !name.starts_with('#'))
}

/// What has to be said beside a variable: its switch, and what that switch needs, or what it needs itself.
pub(crate) fn beside(name: &str) -> String {
    let own = kok_crds::variable(name).unwrap();
    let switch = own.needs_switch().unwrap_or(name);
    let of = |known: &str| NEEDED.iter().find(|(name, _)| *name == known).map_or(&[][..], |(_, needed)| *needed);
    let needed = of(switch).iter().chain(if switch == name { &[] } else { of(name) });
    let needed = needed.filter(|(other, _)| *other != name).map(|(other, value)| format!("{other}: {value}")).filter(|text| text != switch);
    // Most are switched on; some count with a word.
    let switch = (switch != name).then(|| if switch.contains(": ") { switch.to_owned() } else { format!("{switch}: true") });
    switch.into_iter().chain(needed).map(|text| format!("{text}, ")).collect()
}

/// What is said in the cluster that one with the variable is compared with: what is beside it, and where that can't be without the variable,
/// the variable with another value.
pub(crate) fn usual(name: &str) -> String {
    // Without the variable, these would be errors.
    let without = match name {
        "kube_webhook_authorization" => WITH_WEBHOOK,
        "issued_certificates" => WITHOUT_KEY,
        "backup_s3_bucket" => "backup_s3_credentials_file: s3.key, ",
        "backup_s3_credentials_file" => "backup_s3_bucket: first, ",
        "custom_cni_manifests" => "kube_network_plugin: custom_cni, ",
        _ => "none",
    };
    let beside = beside(name).replace(without, "");
    let is_needed = kok_crds::variable(name).unwrap().needs_switch().is_some();
    let first = NEEDED.iter().flat_map(|(_, needed)| *needed).chain(&FIRST).filter(|(known, _)| *known == name && is_needed);
    let first = first.map(|(known, value)| format!("{known}: {value}")).next().unwrap_or_default();
    format!("{beside}{first}")
}

const WITH_WEBHOOK: &str = "authorization_modes: [Node, RBAC, Webhook], ";
const WITHOUT_KEY: &str = "certificate_authorities: {frontProxy: {certificate: front.crt}}, ";
const EVENTS: &str = "kube_apiserver_admission_event_rate_limits";
const SELECTOR: &str = "kube_apiserver_admission_plugins_podnodeselector_default_node_selector";

const CALICO: (&str, &str) = ("kube_network_plugin", "calico");
const S3: [(&str, &str); 2] = [("backup_s3_bucket", "first"), ("backup_s3_credentials_file", "s3.key")];
const KMS: [(&str, &str); 1] = [("kube_encryption_kms_endpoint", "unix:///run/kms/first.sock")];
const DUAL_STACK: (&str, &str) = ("ipv6_stack", "true");

/// A plugin that has to have something.
const FIRST: [(&str, &str); 1] = [(EVENTS, "{first: {type: Server, qps: 1, burst: 1}}")];

/// What variables, of which most are switches, can't be without.
const NEEDED: [(&str, &[(&str, &str)]); 38] = [
    ("kube_encryption_kms_name", &KMS),
    ("kube_encryption_kms_timeout", &KMS),
    ("backup_s3_bucket", &[S3[1]]),
    ("backup_s3_credentials_file", &[S3[0]]),
    ("backup_s3_endpoint", &S3),
    ("backup_s3_region", &S3),
    ("backup_s3_prefix", &S3),
    ("backup_s3_ca_file", &S3),
    ("issued_certificates", &[("certificate_authorities", "{frontProxy: {certificate: front.crt}}")]),
    (
        "populate_loadbalancer_apiserver_to_hosts_file",
        &[("loadbalancer_apiserver", "{address: 192.0.2.100}"), ("apiserver_loadbalancer_domain_name", "first.example")],
    ),
    ("api_virtual_router_id", &[("api_virtual_address", "10.0.0.100")]),
    ("kube_vip_controlplane_enabled", &[("kube_vip_enabled", "true"), ("kube_vip_address", "10.0.0.100")]),
    ("kube_oidc_auth", &[("kube_oidc_url", "https://first.example"), ("kube_oidc_client_id", "first")]),
    ("kube_webhook_token_auth", &[("kube_webhook_token_auth_url", "https://first.example")]),
    (
        "kube_webhook_authorization",
        &[("kube_webhook_authorization_url", "https://first.example"), ("authorization_modes", "[Node, RBAC, Webhook]")],
    ),
    ("kubernetes_audit_webhook", &[("audit_webhook_server_url", "https://first.example")]),
    (
        "kube_apiserver_use_authorization_config_file",
        &[("kube_apiserver_authorization_config_authorizers", "[{type: Node, name: node}, {type: RBAC, name: first}]")],
    ),
    ("kube_apiserver_tracing", &[("kube_apiserver_tracing_endpoint", "first:4317")]),
    (EVENTS, &[("kube_apiserver_enable_admission_plugins", "[EventRateLimit]")]),
    ("kubelet_cpu_manager_policy_options", &[("kubelet_cpu_manager_policy", "static"), ("kube_cpu_reserved", "100m")]),
    ("etcd_heartbeat_interval", &[("etcd_election_timeout", "3000")]),
    ("eviction_soft", &[("eviction_soft_grace_period", "{memory.available: 1m}")]),
    ("kube_controller_manager_leader_elect_renew_deadline", &[("kube_controller_manager_leader_elect_lease_duration", "40s")]),
    ("kube_scheduler_leader_elect_renew_deadline", &[("kube_scheduler_leader_elect_lease_duration", "40s")]),
    ("kubelet_cpu_manager_policy", &[("kube_cpu_reserved", "100m")]),
    ("kubelet_image_gc_high_threshold", &[("kubelet_image_gc_low_threshold", "50")]),
    ("kubelet_shutdown_grace_period_critical_pods", &[("kubelet_shutdown_grace_period", "30s")]),
    ("ip6", &[DUAL_STACK]),
    ("access_ip6", &[DUAL_STACK]),
    ("kube_pods_subnet_ipv6", &[DUAL_STACK]),
    ("kube_service_addresses_ipv6", &[DUAL_STACK]),
    ("kube_network_node_prefix_ipv6", &[DUAL_STACK]),
    ("nat_outgoing_ipv6", &[DUAL_STACK, ("kube_network_plugin", "bridge")]),
    ("nat_outgoing", &[CALICO]),
    ("custom_cni_manifests", &[("kube_network_plugin", "custom_cni")]),
    ("calico_ipip_mode", &[("calico_vxlan_mode", "Never, calico_network_backend: bird")]),
    ("typha_enabled", &[CALICO]),
    (SELECTOR, &[("kube_apiserver_enable_admission_plugins", "[PodNodeSelector]")]),
];
