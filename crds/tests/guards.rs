//! Settings of components that would end a component, open it, or go unread.
#![allow(clippy::unwrap_used, clippy::panic)]

use kok_crds::model::Cluster;
use kok_crds::read_cluster;

fn read(vars: &str) -> Result<Cluster, String> {
    let text = format!(
        "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {{name: a}}\nspec:\n  kubernetesVersion: 1.37.1\n  \
         hosts: [{{name: cp1, address: 10.0.0.11, roles: [control-plane]}}]\n  vars:\n{}\n",
        vars.lines().map(|line| format!("    {line}\n")).collect::<String>()
    );
    read_cluster("f", &text).map_err(|problems| {
        assert!(problems.iter().all(|problem| problem.position.is_some()), "a problem has no place: {problems:?}");
        problems.iter().map(|problem| format!("{problem}\n")).collect()
    })
}

/// That this is wrong, and which line and words are told.
fn refused(vars: &str, line: u32, words: &[&str]) {
    let told = read(vars).err().unwrap_or_else(|| panic!("accepted: {vars}"));
    assert!(told.contains(&format!("f:{}:", line + 7)), "line {line}: {told}");
    for word in words {
        assert!(told.contains(word), "{word}: {told}");
    }
}

fn accepted(vars: &str) {
    if let Err(told) = read(vars) {
        panic!("{vars}: {told}");
    }
}

const WEBHOOK: &str = "kube_webhook_authorization: true\nkube_webhook_authorization_url: https://a.example";

#[test]
fn a_server_that_decides_and_the_mode_go_together() {
    accepted(&format!("{WEBHOOK}\nauthorization_modes: [Node, RBAC, Webhook]"));
    refused(WEBHOOK, 1, &["needs `Webhook` among the `authorization_modes`", "write `authorization_modes: [Node, RBAC, Webhook]`"]);
    refused("authorization_modes: [Node, RBAC, Webhook]", 1, &["`kube_webhook_authorization` is not on"]);
    refused(&format!("{}\nauthorization_modes: [Node, RBAC, Webhook]", WEBHOOK.replace("true", "false")), 3, &["is not on"]);
}

#[test]
fn modes_are_words_of_kubernetes_each_once() {
    refused("authorization_modes: [Node, RBAC, Node]", 1, &["has a word twice"]);
    refused("authorization_modes: [Node, RBAC, ABAC]", 1, &["cannot have `ABAC`"]);
    refused("authorization_modes: [Node, RBAC, Webhok]", 1, &["cannot have `Webhok`", "did you mean `Webhook`?"]);
    refused("authorization_modes: [RBAC]", 1, &["lacks `Node`"]);
    accepted("authorization_modes: [RBAC, Node]");
}

const PEM: &str = "\"-----BEGIN CERTIFICATE-----\\nMIIBIjCByaADAgECAhRBase64Base64Base64Base64Base64Base64Base64Base6\\nMIIBIjCByaADAgECAhRBase64Base64Base64Base64Base64Base64Base64Base6\\n-----END CERTIFICATE-----\\n\"";

#[test]
fn a_server_is_checked_or_it_is_not() {
    let token =
        format!("kube_webhook_token_auth: true\nkube_webhook_token_auth_url: https://a.example\nkube_webhook_token_auth_ca_data: {PEM}\n");
    accepted(&token);
    let words = ["cannot be checked and not be checked"];
    refused(&format!("{token}kube_webhook_token_auth_url_skip_tls_verify: true"), 4, &words);
    accepted(&format!("{token}kube_webhook_token_auth_url_skip_tls_verify: false"));
    let audit = "kubernetes_audit_webhook: true\naudit_webhook_server_url: https://a.example\naudit_webhook_server_extra_args: ";
    refused(&format!("{audit}{{insecure-skip-tls-verify: true, certificate-authority-data: YQ==}}"), 3, &words);
    accepted(&format!("{audit}{{insecure-skip-tls-verify: true}}"));
}

#[test]
fn a_scheduler_with_a_file_reads_over_some_options() {
    let file = "kube_scheduler_config_extra_opts: {parallelism: 8}\n";
    for option in ["contention-profiling", "kube-api-content-type", "kube-api-qps", "kube_api_burst"] {
        let options = format!("kube_kubeadm_scheduler_extra_args: {{{option}: 1}}");
        accepted(&options);
        refused(&format!("{file}{options}"), 2, &["the scheduler reads over its option", "write `"]);
    }
    accepted(&format!("{file}kube_profiling: false"));
    refused("kube_profiling: false\nkube_scheduler_config_extra_opts: {enableProfiling: true}", 2, &["`enableProfiling` is said twice"]);
}

#[test]
fn further_options_walk_around_no_guard() {
    let of_api = [
        ("authorization-mode: AlwaysAllow", "write authorization_modes"),
        ("authorization_mode: AlwaysAllow", "write authorization_modes"),
        ("enable-admission-plugins: AlwaysAdmit", "write kube_apiserver_enable_admission_plugins"),
        ("disable-admission-plugins: NodeRestriction", "write kube_apiserver_disable_admission_plugins"),
    ];
    for (option, hint) in of_api {
        refused(&format!("kube_kubeadm_apiserver_extra_args: {{{option}}}"), 1, &["`kube_kubeadm_apiserver_extra_args` may not say", hint]);
    }
    refused("kube_apiserver_disable_admission_plugins: [DefaultStorageClass, NodeRestriction]", 1, &["cannot have `NodeRestriction`"]);
    let of_kubelet = [
        "anonymous-auth=true",
        "anonymous_auth",
        "authorization-mode=AlwaysAllow",
        "authentication-token-webhook=false",
        "client-ca-file=/a",
        "cgroup-driver=cgroupfs",
        "fail-swap-on=false",
        "pod-manifest-path=/a",
        "config=/a",
        "config-dir=/a",
        "kubeconfig=/a",
        "eviction-hard=memory.available<1Mi",
        "rotate-certificates=false",
        "register-node=false",
    ];
    for flag in of_kubelet {
        refused(&format!("kubelet_custom_flags: [\"--v=4\", \"--{flag}\"]"), 1, &["`kubelet_custom_flags` may not say", "hint: "]);
    }
    accepted("kubelet_custom_flags: [\"--root-dir=/srv/kubelet\", \"--max-pods=50\"]");
}

#[test]
fn the_audit_log_has_a_folder_of_its_own() {
    for path in ["-", "/var/log/audit/a.log", "/audit/a.log"] {
        accepted(&format!("kubernetes_audit: true\naudit_log_path: \"{path}\""));
    }
    let taken = [
        "/etc/kubernetes/a.log",
        "/etc/kubernetes/pki/etcd/a.log",
        "/var/lib/etcd/a.log",
        "/a.log",
        "/etc/a.log",
        "/var/a.log",
        "/usr/a.log",
    ];
    for path in taken {
        refused(&format!("kubernetes_audit: true\naudit_log_path: {path}"), 2, &["its folder is taken"]);
    }
    for path in ["audit.log", "/var/log/../lib/etcd/a.log", "/var/log//a.log", "/var/log/a/", "/var/log/./a.log", "\"\\\"\""] {
        refused(&format!("kubernetes_audit: true\naudit_log_path: {path}"), 2, &["or a path like"]);
    }
    for path in ["/", "/etc/kubernetes", "/etc/kubernetes/pki", "/var/lib/etcd/", "/var/lib", "/var/log", "/usr/audit"] {
        refused(&format!("kubernetes_audit: true\naudit_log_hostpath: {path}"), 2, &["others have their files there"]);
    }
    accepted("kubernetes_audit: true\naudit_log_hostpath: /srv/audit");
    let volume = "apiserver_extra_volumes: [{name: a, hostPath: /srv/a, mountPath: /var/log/audit/}]";
    accepted(volume);
    refused(&format!("kubernetes_audit: true\n{volume}"), 2, &["the volume `a` is where the audit log is"]);
}

#[test]
fn what_two_maps_say_is_told_with_both_places() {
    let further = "kube_kubeadm_apiserver_extra_args: {audit-log-maxage: 90}\n";
    refused(
        &format!("{further}kubernetes_audit: true\naudit_log_maxage: 7"),
        1,
        &["`audit-log-maxage` is said twice", "`audit_log_maxage` says it too at f:10:"],
    );
    accepted(&format!("{further}kubernetes_audit: true"));
    accepted(&format!("{further}kubernetes_audit: false\naudit_log_maxage: 7"));
    let oidc = "kube_oidc_auth: true\nkube_oidc_url: https://a.example\nkube_oidc_client_id: a\nkube_oidc_groups_claim: g\n";
    refused(
        &format!("{oidc}kube_kubeadm_apiserver_extra_args: {{oidc_groups_claim: h}}"),
        5,
        &["`oidc-groups-claim` is said twice", "`kube_oidc_groups_claim` says it too at f:11:"],
    );
    let kubelet = [
        ("max-pods=50", "kubelet_max_pods: 100"),
        ("pod-max-pids=5", "kubelet_pod_pids_limit: 9"),
        ("cpu-cfs-quota=true", "kubelet_config_extra_args: {cpuCFSQuota: false}"),
    ];
    for (flag, variable) in kubelet {
        refused(&format!("{variable}\nkubelet_custom_flags: [\"--{flag}\"]"), 2, &["is said twice"]);
    }
}

#[test]
fn a_plugin_and_its_configuration_go_together() {
    let switch = "kube_apiserver_admission_control_config_file: true\n";
    let limits = "kube_apiserver_admission_event_rate_limits: {a: {type: Server, qps: 5, burst: 9}}\n";
    let plugin = "kube_apiserver_enable_admission_plugins: [EventRateLimit, PodNodeSelector]\n";
    accepted(&format!("{switch}{limits}{plugin}"));
    refused(&format!("{switch}{limits}"), 2, &["needs the admission plugin `EventRateLimit`", "add `EventRateLimit` to"]);
    refused(plugin, 1, &["the admission plugin `EventRateLimit` needs `kube_apiserver_admission_event_rate_limits`"]);
    refused(&format!("{plugin}{limits}"), 1, &["`EventRateLimit` needs"]);
    refused(&format!("{plugin}{switch}kube_apiserver_admission_event_rate_limits: {{}}"), 1, &["`EventRateLimit` needs"]);
    accepted(&format!("{switch}kube_apiserver_admission_event_rate_limits: {{}}"));
    let selector = "kube_apiserver_admission_plugins_podnodeselector_default_node_selector: a=b";
    refused(&format!("{switch}{selector}"), 2, &["needs the admission plugin `PodNodeSelector`"]);
    accepted("kube_apiserver_enable_admission_plugins: [PodNodeSelector]");
}

#[test]
fn what_kokctl_does_of_a_kubelet_is_not_said_otherwise() {
    refused("kubelet_config_extra_args: {serverTLSBootstrap: true}", 1, &["serverTLSBootstrap", "the cluster's authority signs"]);
    refused("kubelet_config_extra_args: {address: 127.0.0.1}", 1, &["address"]);
    refused("kube_kubeadm_apiserver_extra_args: {service-account-lookup: \"false\"}", 1, &["service-account-lookup", "would be taken"]);
}

#[test]
fn a_patch_of_the_kubelet_is_no_way_around() {
    let patch = |text: &str| format!("kubeadm_patches:\n- {{target: kubeletconfiguration, {text}}}");
    accepted(&patch("patch: {registryPullQPS: 7}"));
    accepted("kubeadm_patches:\n- {target: kube-scheduler, patch: {address: x}}");
    refused(&patch("type: merge, patch: {staticPodPath: /etc}"), 2, &["cannot have `staticPodPath`"]);
    let operation = |path: &str| patch(&format!("type: json, patch: [{{op: add, path: {path}, value: 1}}]"));
    accepted(&operation("/registryPullQPS"));
    refused(&operation("/authentication/anonymous/enabled"), 2, &["cannot have `authentication`", "certificate or a token"]);
}
