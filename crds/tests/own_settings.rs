//! What single hosts, and groups of them, have for themselves; and what only some hosts read.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use kok_crds::model::{Cluster, Settings};
use kok_crds::{File, Input, Outcome, Problem, Role, read_cluster, read_input};

/// Two control planes that run no etcd, a worker, and three hosts of etcd.
const HOSTS: &str = "
all:
  hosts: {cp1: {ip: 10.0.0.1}, cp2: {ip: 10.0.0.2}, w1: {ip: 10.0.0.3}, e1: {ip: 10.0.0.4}, e2: {ip: 10.0.0.5}, e3: {ip: 10.0.0.6}}
  vars: {kube_version: 1.37.1, kube_network_plugin: flannel}
  children:
    kube_control_plane: {hosts: {cp1: , cp2: }}
    kube_node: {hosts: {w1: }}
    etcd: {hosts: {e1: , e2: , e3: }}
";

fn read(beside: &[(&str, &str)]) -> Input {
    let main = File { name: "hosts.yaml".to_owned(), text: HOSTS.to_owned(), role: Role::Main { cluster: None } };
    let beside = beside.iter().map(|(name, text)| File { name: (*name).to_owned(), text: (*text).to_owned(), role: Role::Beside });
    read_input(&[main].into_iter().chain(beside).collect::<Vec<_>>())
}

fn settings(beside: &[(&str, &str)]) -> Settings {
    let input = read(beside);
    let problems: Vec<_> = input.problems.iter().map(ToString::to_string).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    input.cluster.unwrap().settings
}

#[test]
fn control_planes_say_what_they_alone_read() {
    let vars = [
        "kubernetes_audit: true",
        "kube_oidc_auth: true\nkube_oidc_url: https://login.example\nkube_oidc_client_id: demo",
        "kube_encrypt_secret_data: true",
        "supplementary_addresses_in_ssl_keys: [api.example]",
        "kube_apiserver_enable_admission_plugins: [NodeRestriction, AlwaysPullImages]",
        "event_ttl_duration: 2h0m0s",
        "kube_controller_node_monitor_grace_period: 30s",
        "kube_scheduler_profiles: [{schedulerName: other}]",
        "kube_apiserver_feature_gates: [ContextualLogging=false]",
        "remove_anonymous_access: true",
    ];
    for text in vars {
        let of_group = settings(&[("group_vars/kube_control_plane.yml", text)]);
        assert!(of_group == settings(&[("group_vars/all.yml", text)]), "{text}");
        assert!(of_group != settings(&[]), "{text}");
        let of_hosts = [("host_vars/cp1.yml", text), ("host_vars/cp2.yml", text)];
        assert!(of_group == settings(&of_hosts), "{text}");
    }
}

#[test]
fn hosts_of_etcd_say_what_they_alone_read() {
    for text in [
        "etcd_quota_backend_bytes: 4294967296",
        "etcd_heartbeat_interval: 200",
        "etcd_extra_vars: {ETCD_MAX_TXN_OPS: 256}",
        "etcd_cert_alt_names: [etcd.example]",
        "etcd_deployment_type: host",
    ] {
        let of_group = settings(&[("group_vars/etcd.yml", text)]);
        assert!(of_group == settings(&[("group_vars/all.yml", text)]), "{text}");
        assert!(of_group != settings(&[]), "{text}");
    }
}

#[test]
fn what_all_say_counts_where_the_readers_say_nothing_else() {
    let all = ("group_vars/all.yml", "etcd_quota_backend_bytes: 3000000000");
    let quota = |settings: &Settings| settings.components.etcd["quota-backend-bytes"].as_i64().unwrap();
    assert_eq!(quota(&settings(&[all, ("group_vars/etcd.yml", "etcd_quota_backend_bytes: 5000000000")])), 5_000_000_000);
    // The worker's own word is that of nobody who reads it.
    let beside = [all, ("group_vars/kube_node.yml", "etcd_quota_backend_bytes: 9000000000")];
    assert_eq!(quota(&settings(&beside)), 3_000_000_000);
    let given = read(&beside).variables.into_iter().find(|given| given.position.file.ends_with("kube_node.yml")).unwrap();
    assert_eq!((given.name.as_str(), given.outcome), ("etcd_quota_backend_bytes", Outcome::NoMeaning));
}

#[test]
fn readers_that_differ_are_refused() {
    for (file, text) in [
        ("host_vars/cp1.yml", "kubernetes_audit: true"),
        ("host_vars/e1.yml", "etcd_quota_backend_bytes: 4294967296"),
        ("host_vars/cp2.yml", "kube_proxy_mode: iptables"),
        ("group_vars/kube_control_plane.yml", "kube_proxy_mode: iptables"),
        ("group_vars/etcd.yml", "kubelet_fail_swap_on: false"),
    ] {
        let problems = read(&[(file, text)]).problems;
        assert!(problems.first().is_some_and(|problem| problem.message.ends_with("is not the same on all hosts")), "{text}: {problems:?}");
    }
}

/// Of all hosts, of a group, of one host: the nearest counts, as with Ansible, and for each variable alone.
#[test]
fn hosts_have_their_own() {
    let settings = settings(&[
        ("group_vars/all.yml", "additional_sysctl: [{name: vm.swappiness, value: 1}]\nhttp_proxy: http://first:3128\n"),
        ("group_vars/kube_node.yml", "additional_sysctl: [{name: vm.overcommit_ratio, value: 90}]\n"),
        (
            "host_vars/cp2.yml",
            "http_proxy: http://second:3128\ncontainerd_registries_mirrors: [{prefix: docker.io, mirrors: [{host: 'https://mirror', capabilities: [pull]}]}]\n",
        ),
        ("host_vars/e1.yml", "firewall: open\ncontainerd_limit_open_file_num: 70000\n"),
    ]);
    let sysctls = |host: &str| settings.of_host(host).host.additional_sysctl.keys().cloned().collect::<Vec<_>>();
    assert_eq!(sysctls("cp1"), ["vm.swappiness"]);
    assert_eq!(sysctls("cp2"), ["vm.swappiness"]);
    assert_eq!(sysctls("w1"), ["vm.overcommit_ratio"]);
    let proxy = |host: &str| settings.of_host(host).host.http_proxy.clone().unwrap();
    assert_eq!(["cp1", "cp2", "w1"].map(proxy), ["first", "second", "first"].map(|name| format!("http://{name}:3128")));
    let mirrors = |host: &str| settings.of_host(host).containerd_registries_mirrors.len();
    assert_eq!(["cp1", "cp2", "w1"].map(mirrors), [0, 1, 0]);
    assert_eq!(settings.of_host("e1").containerd_limit_open_file_num, 70_000);
    assert_ne!(settings.of_host("e1").host.firewall, settings.of_host("e2").host.firewall);
}

#[test]
fn what_is_wrong_with_a_hosts_own_is_told_at_its_line() {
    let problems = read(&[("host_vars/w1.yml", "http_proxy: nowhere\n")]).problems;
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].position.as_ref().unwrap().file.ends_with("w1.yml"));
}

fn inline(vars: &str, of_hosts: [&str; 3]) -> Result<Cluster, Vec<Problem>> {
    let host = |(index, name, roles): (usize, &str, &str)| {
        format!("  - {{name: {name}, address: 10.0.0.1{index}, roles: [{roles}], vars: {{{}}}}}\n", of_hosts[index])
    };
    let hosts: String = [(0, "cp1", "control-plane"), (1, "w1", "worker"), (2, "w2", "worker")].map(host).concat();
    let head = "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {name: demo}\nspec:\n  kubernetesVersion: 1.37.1\n";
    read_cluster("cluster.yaml", &format!("{head}  hosts:\n{hosts}  vars: {{{vars}}}\n"))
}

/// As `convert` writes it.
#[test]
fn hosts_of_the_inline_form_have_their_own() {
    let of_all = "additional_kernel_modules: [ip_vs], https_proxy: 'http://all:1'";
    let settings = inline(of_all, ["kubernetes_audit: true", "additional_kernel_modules: [nbd]", ""]).unwrap().settings;
    assert!(settings.security.audit.enabled);
    let modules = |host: &str| settings.of_host(host).host.additional_kernel_modules.clone();
    assert_eq!(["cp1", "w1", "w2"].map(modules), [vec!["ip_vs"], vec!["nbd"], vec!["ip_vs"]]);
    assert_eq!(settings.of_host("w1").host.https_proxy.as_deref(), Some("http://all:1"));
    assert!(settings.of_host("w1").security.audit.enabled, "the rest is the cluster's");
}

/// What all hosts say alike is of the cluster, with what one of them has besides.
#[test]
fn what_all_hosts_say_alike_holds_beside_what_one_has() {
    let alike = "http_proxy: 'http://alike:1'";
    let settings = inline("", [alike, alike, &format!("{alike}, additional_kernel_modules: [nbd]")]).unwrap().settings;
    assert_eq!(settings.host.http_proxy, settings.of_host("w2").host.http_proxy);
    assert_eq!(settings.of_host("w2").host.additional_kernel_modules, ["nbd"]);
    assert!(settings.host.additional_kernel_modules.is_empty());
}

/// What a host says of how it gets what is installed counts before what its group says, and that before what is said for all.
#[test]
fn each_host_has_its_own_delivery() {
    let delivery = |settings: &Settings| ["cp1", "cp2", "w1"].map(|host| settings.of_host(host).delivery.as_str());
    assert_eq!(delivery(&settings(&[])), ["push"; 3]);
    let all = ("group_vars/all.yml", "delivery: pull");
    assert_eq!(delivery(&settings(&[all])), ["pull"; 3]);
    assert_eq!(delivery(&settings(&[all, ("group_vars/kube_control_plane.yml", "delivery: push")])), ["push", "push", "pull"]);
    let of_host = ("host_vars/cp1.yml", "delivery: pull");
    assert_eq!(delivery(&settings(&[all, ("group_vars/kube_control_plane.yml", "delivery: push"), of_host])), ["pull", "push", "pull"]);
}

#[test]
fn fields_say_it_too() {
    let text = |spec: &str, host: &str| {
        format!(
            "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {{name: a}}\nspec:\n  kubernetesVersion: 1.37.1\n{spec}  \
             hosts:\n  - {{name: cp1, address: 10.0.0.1, roles: [control-plane]}}\n  - {{name: w1, address: 10.0.0.2, roles: [worker]{host}}}\n"
        )
    };
    let delivery = |spec: &str, host: &str| {
        let Cluster { settings, .. } = read_cluster("f", &text(spec, host)).unwrap_or_else(|problems| panic!("{problems:?}"));
        ["cp1", "w1"].map(|host| settings.of_host(host).delivery.as_str())
    };
    assert_eq!(delivery("", ""), ["push", "push"]);
    assert_eq!(delivery("  delivery: pull\n", ""), ["pull", "pull"]);
    assert_eq!(delivery("  delivery: pull\n", ", delivery: push"), ["pull", "push"]);
    assert_eq!(delivery("  delivery: push\n", ", delivery: pull"), ["push", "pull"]);
    assert_eq!(delivery("", ", delivery: pull"), ["push", "pull"]);
    assert_eq!(delivery("", ", vars: {delivery: pull}"), ["push", "pull"]);
    assert_eq!(delivery("  vars: {delivery: pull}\n", ", delivery: push"), ["pull", "push"]);
    let told = |spec: &str, host: &str| {
        let problems = read_cluster("f", &text(spec, host)).unwrap_err();
        problems.iter().map(Problem::to_string).collect::<String>()
    };
    for (spec, host, part) in [
        ("  delivery: Pull\n", "", "`pull`"),
        ("", ", delivery: pulled", "`pull`"),
        ("  delivery: pull\n  vars: {delivery: pull}\n", "", "is said twice"),
        ("", ", delivery: pull, vars: {delivery: push}", "is said twice"),
        ("  delivry: pull\n", "", "`delivery`"),
    ] {
        assert!(told(spec, host).contains(part), "{}", told(spec, host));
    }
}
