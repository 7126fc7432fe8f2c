//! What users can't say of components, because the rest of their file says it, or kokctl. A name that ends with `*` stands for all that begin
//! so.

const KUBEADM: &str = "leave it out: it follows from the hosts and the network of the cluster";
const LEFT: &str = "leave it out";
const STRANGERS: &str = "leave it out: who asks a kubelet needs a certificate or a token";

/// Options of the API server that follow from the rest of the file, or from variables of their own.
pub(crate) const API_SERVER: &[(&str, &str)] = &[
    ("advertise-address", KUBEADM),
    ("bind-address", LEFT),
    ("secure-port", LEFT),
    ("client-ca-file", LEFT),
    ("etcd-cafile", LEFT),
    ("etcd-certfile", LEFT),
    ("etcd-keyfile", LEFT),
    ("etcd-servers", LEFT),
    ("kubelet-client-certificate", LEFT),
    ("kubelet-client-key", LEFT),
    ("proxy-client-cert-file", LEFT),
    ("proxy-client-key-file", LEFT),
    ("requestheader-client-ca-file", LEFT),
    ("service-cluster-ip-range", "write `spec.network.serviceCIDR`, or kube_service_addresses in an inventory"),
    ("tls-cert-file", LEFT),
    ("tls-private-key-file", LEFT),
    ("service-account-lookup", "leave it out: tokens of service accounts that were deleted would be taken"),
    ("enable-bootstrap-token-auth", "leave it out: hosts join by such tokens"),
    ("feature-gates", "write kube_apiserver_feature_gates or kube_feature_gates"),
    ("anonymous-auth", "write kube_apiserver_authentication_config_anonymous"),
    ("audit-policy-file", "write kubernetes_audit, with a policy of your own as audit_policy_custom_rules"),
    ("audit-log-path", "write kubernetes_audit and audit_log_path"),
    ("audit-webhook-config-file", "write kubernetes_audit_webhook and audit_webhook_server_url"),
    ("encryption-provider-config", "write kube_encrypt_secret_data"),
    ("encryption-provider-config-automatic-reload", "leave it out: with kube_encrypt_secret_data it is on"),
    ("admission-control-config-file", "write kube_apiserver_admission_control_config_file or kube_pod_security_use_default"),
    ("authentication-config", "write kube_apiserver_use_authentication_config_file"),
    ("authorization-config", "write kube_apiserver_use_authorization_config_file"),
    ("authentication-token-webhook-config-file", "write kube_webhook_token_auth"),
    ("authorization-webhook-config-file", "write kube_webhook_authorization"),
    ("oidc-issuer-url", "write kube_oidc_auth and kube_oidc_url"),
    ("oidc-client-id", "write kube_oidc_auth and kube_oidc_client_id"),
    ("oidc-ca-file", "write kube_oidc_auth and kube_oidc_ca_cert"),
    ("tracing-config-file", "write kube_apiserver_tracing"),
    ("authorization-mode", "write authorization_modes"),
    ("authorization-policy-file", "leave it out: Node and RBAC decide, or another server by kube_webhook_authorization"),
    ("enable-admission-plugins", "write kube_apiserver_enable_admission_plugins"),
    ("disable-admission-plugins", "write kube_apiserver_disable_admission_plugins"),
    ("admission-control", "write kube_apiserver_enable_admission_plugins"),
];

/// Options of the controller manager of that kind.
pub(crate) const CONTROLLER_MANAGER: &[(&str, &str)] = &[
    ("allocate-node-cidrs", KUBEADM),
    ("authentication-kubeconfig", LEFT),
    ("authorization-kubeconfig", LEFT),
    ("client-ca-file", LEFT),
    ("cluster-cidr", "write `spec.network.podCIDR`, or kube_pods_subnet in an inventory"),
    ("cluster-name", LEFT),
    ("cluster-signing-cert-file", LEFT),
    ("cluster-signing-key-file", LEFT),
    ("feature-gates", "write kube_controller_feature_gates or kube_feature_gates"),
    ("kubeconfig", LEFT),
    ("leader-elect", "leave it out: several controller managers need it"),
    ("node-cidr-mask-size*", "write `spec.network.nodePrefix`, or kube_network_node_prefix in an inventory"),
    ("requestheader-client-ca-file", LEFT),
    ("root-ca-file", LEFT),
    ("service-account-private-key-file", LEFT),
    ("service-cluster-ip-range", "write `spec.network.serviceCIDR`, or kube_service_addresses in an inventory"),
    ("use-service-account-credentials", LEFT),
];

/// Options of the scheduler of that kind.
pub(crate) const SCHEDULER: &[(&str, &str)] = &[
    ("authentication-kubeconfig", LEFT),
    ("authorization-kubeconfig", LEFT),
    ("config", "write kube_scheduler_config_extra_opts"),
    ("feature-gates", "write kube_scheduler_feature_gates or kube_feature_gates"),
    ("kubeconfig", LEFT),
    ("leader-elect", "leave it out: several schedulers need it"),
    ("master", LEFT),
    ("write-config-to", "leave it out: with it the scheduler only writes a file, and ends"),
];

/// Options of etcd of that kind, and those by which a member would lose its data, or let in whoever asks.
pub(crate) const ETCD: &[(&str, &str)] = &[
    ("name", KUBEADM),
    ("data-dir", LEFT),
    ("wal-dir", "leave it out: a member whose journal is elsewhere begins without its data"),
    ("advertise-client-urls", KUBEADM),
    ("initial-advertise-peer-urls", KUBEADM),
    ("initial-cluster", KUBEADM),
    ("initial-cluster-state", KUBEADM),
    ("initial-cluster-token", KUBEADM),
    ("listen-client-http-urls", KUBEADM),
    ("listen-client-urls", KUBEADM),
    ("listen-peer-urls", KUBEADM),
    ("discovery*", "leave it out: the members are told of each other"),
    ("config-file", "leave it out: beside a file of configuration etcd reads nothing else"),
    ("force-new-cluster", "leave it out: a member would throw the others away, at each start"),
    ("unsafe-no-fsync", "leave it out: a host that loses its power would lose data"),
    ("auto-tls", "leave it out: whoever asks would be let in"),
    ("peer-auto-tls", "leave it out: whoever asks would be let in"),
    ("self-signed-cert-validity", LEFT),
    ("cert-file", LEFT),
    ("key-file", LEFT),
    ("client-cert-file", LEFT),
    ("client-key-file", LEFT),
    ("trusted-ca-file", LEFT),
    ("client-cert-auth", LEFT),
    ("peer-cert-file", LEFT),
    ("peer-key-file", LEFT),
    ("peer-client-cert-file", LEFT),
    ("peer-client-key-file", LEFT),
    ("peer-trusted-ca-file", LEFT),
    ("peer-client-cert-auth", LEFT),
    ("feature-gates", LEFT),
    ("experimental-initial-corrupt-check", "leave it out: etcd looks at its data before it begins"),
];

/// Options of the kubelet of that kind.
pub(crate) const KUBELET: &[(&str, &str)] = &[
    ("bootstrap-kubeconfig", LEFT),
    ("kubeconfig", LEFT),
    ("config", "write kubelet_config_extra_args"),
    ("container-runtime-endpoint", LEFT),
    ("hostname-override", "leave it out: a node has the name of its host"),
    ("node-ip", "leave it out: it is the address of the host"),
    ("node-labels", "write `labels` of the host, or node_labels in an inventory"),
    ("register-with-taints", "write `taints` of the host, or node_taints in an inventory"),
    ("feature-gates", "write kubelet_feature_gates or kube_feature_gates"),
    // What is no user's to say of its configuration is none here either.
    ("anonymous-auth", STRANGERS),
    ("authentication-token-webhook*", STRANGERS),
    ("client-ca-file", STRANGERS),
    ("authorization-mode", "leave it out: the API server is asked"),
    ("authorization-webhook*", "leave it out: the API server is asked"),
    ("cgroup-driver", "leave it out: systemd manages control groups"),
    ("cluster-dns", LEFT),
    ("cluster-domain", "write `spec.network.clusterDomain`, or dns_domain in an inventory"),
    ("config-dir", "write kubelet_config_extra_args"),
    ("enable-server", "leave it out: the API server asks kubelets"),
    ("eviction-hard", "write eviction_hard"),
    ("eviction-soft", "write eviction_soft"),
    ("eviction-soft-grace-period", "write eviction_soft_grace_period"),
    ("fail-cgroupv1", "write kubelet_fail_cgroup_v1"),
    ("fail-swap-on", "write kubelet_fail_swap_on"),
    ("image-service-endpoint", LEFT),
    ("kube-reserved", "write kube_cpu_reserved, kube_memory_reserved …"),
    ("manifest-url*", "leave it out: static pods are kubeadm's"),
    ("pod-manifest-path", "leave it out: static pods are kubeadm's"),
    ("port", "leave it out: the API server asks kubelets at 10250"),
    ("register-node", "leave it out: a kubelet makes its node"),
    ("rotate-certificates", "leave it out: certificates are valid for a year only"),
    ("runonce", "leave it out: with it the kubelet ends"),
    ("system-reserved", "write system_cpu_reserved, system_memory_reserved …"),
];

/// Fields of the scheduler's configuration of that kind.
pub(crate) const SCHEDULER_CONFIGURATION: &[(&str, &str)] = &[
    ("apiVersion", LEFT),
    ("kind", LEFT),
    ("profiles", "write kube_scheduler_profiles"),
    ("extenders", "write kube_scheduler_extenders"),
    ("clientConnection", "write kube_scheduler_client_conn_extra_opts"),
    ("leaderElection", "write kube_scheduler_leader_elect_extra_opts"),
];

/// Parts of its fields that are of that kind.
pub(crate) const SCHEDULER_PARTS: &[(&str, &str)] = &[
    ("kubeconfig", LEFT),
    ("leaderElect", "leave it out: several schedulers need it"),
    ("leaseDuration", "write kube_scheduler_leader_elect_lease_duration"),
    ("renewDeadline", "write kube_scheduler_leader_elect_renew_deadline"),
];
