//! Templates with values that try to become structure.

use std::collections::BTreeMap;

use kok_crds::model::Cluster;
use kok_tasks::documents::{bootstrap_token_configuration, join_configuration};
use kok_tasks::templates::{ALL, render};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::cluster;

/// A context that has every name of a template, with `text` for each that is text.
fn context(name: &str, text: &str) -> Value {
    let taints = json!([{"key": text, "value": text, "effect": "NoSchedule"}]);
    let arguments = json!([{"name": "a", "value": text}]);
    let pod = json!({"arguments": arguments, "volumes": [{"name": text}], "environment": arguments});
    match name {
        "kube-apiserver/audit-policy.yaml.j2" => json!({"rules": [{"level": text}]}),
        "kube-apiserver/encryption.yaml.j2" => {
            let plugin = json!({"name": text, "endpoint": text, "timeout": text});
            let providers = json!([
                {"algorithm": "aesgcm", "keys": [{"name": text, "secret": text}]}, {"algorithm": "", "keys": [], "plugin": plugin}, {"algorithm": "", "keys": [], "plugin": null},
            ]);
            json!({"entries": [{"resources": [text], "providers": providers}]})
        }
        "kube-apiserver/webhook.yaml.j2" => json!({"cluster": {"server": text}}),
        "chrony/chrony.conf.j2" => {
            json!({"servers": ["ntp1.example.org", "192.0.2.1"], "near": true, "serves": true, "clients": ["10.20.0.12"]})
        }
        "containerd/containerd.service.j2" => json!({"open_files": 1_048_576}),
        "containerd/hosts.toml.j2" => json!({"server": text, "mirrors": [
            {"host": text, "capabilities": ["pull", "resolve"], "skip_verify": true, "override_path": true, "ca": text},
            {"host": "https://plain", "capabilities": ["pull"], "skip_verify": false, "override_path": false, "ca": null},
        ]}),
        "proxy/proxy.conf.j2" => json!({"variables": [["HTTP_PROXY", "http://proxy.example:3128"], ["NO_PROXY", "a,b"]]}),
        "containerd/config.toml.j2" => json!({"pause_image": text, "extra_runtime_args": {"a": text, "b": true, "c": -7}}),
        "etcd/etcd.service.j2" => json!({"user": "etcd", "credentials": ["ca.crt", "peer.key"], "started": "/var/lib/x"}),
        "etcd/etcd.yaml.j2" => json!({
            "name": text, "listens_at": text, "clients": text, "peers": text, "initial_cluster": text, "initial_cluster_token": text, "joins": true,
            "top": {"a": text}, "of_clients": {"b": text}, "of_peers": {"c": text}, "of_sockets": {"d": text},
        }),
        "calico/calico.yaml.j2" => json!({
            "objects": [{"group": text, "version": text, "name": text, "kind": text, "list": text, "plural": text, "singular": text, "scope": text, "status": true, "approved": text}],
            "settings": text, "images": {"node": text, "cni": text, "controllers": text},
            "typha": {"image": text, "replicas": 3, "environment": arguments}, "controllers_environment": arguments,
            "install_environment": arguments, "node_environment": arguments, "alive": [text], "ready": [text],
        }),
        "flannel/flannel.yaml.j2" => {
            json!({"image": text, "network_configuration": text, "api_server": text, "api_server_host": text, "api_server_port": text})
        }
        "kernel/modules.conf.j2" => json!({"modules": ["overlay", "br_netfilter"]}),
        "kernel/sysctl.conf.j2" => json!({"sysctls": {"net.ipv4.ip_forward": "1"}}),
        "kubeadm/bootstrap-token.yaml.j2" => {
            json!({"token": text, "ttl": text, "name": text, "address": text, "port": 6443, "kubernetes_version": text, "endpoint": text})
        }
        "kubeadm/init.yaml.j2" => json!({
            "name": text, "address": text, "port": 6443, "node_ip": text, "taints": taints, "ignore_preflight_errors": [text], "kubelet_arguments": arguments, "patches": text,
        }),
        "bridge/10-kokctl-bridge.conflist.j2" => json!({"shares": [text, text], "mtu": null}),
        "bridge/kokctl-pod-network.service.j2" => json!({"commands": text, "rules": text}),
        "bridge/rules.nft.j2" => json!({"tables": [{"name": text, "family": text, "range": text, "multicast": text, "masquerades": true}]}),
        "flannel/10-flannel.conflist.j2" => json!({"mtu": null}),
        "haproxy/haproxy.cfg.j2" => {
            json!({"port": 6443, "health_port": 8081, "servers": [{"name": "cp1", "address": "10.20.0.11:6443"}]})
        }
        "haproxy/haproxy.yaml.j2" => json!({"image": text, "health_port": 8081, "configuration_sum": text}),
        "keepalived/keepalived.conf.j2" => json!({
            "name": "cp1", "state": "/run/x", "interface": "eth0", "router": 200, "priority": 250, "address": "10.20.0.11",
            "peers": ["10.20.0.12"], "virtual_address": "10.20.0.200",
        }),
        "keepalived/ready.sh.j2" => {
            json!({"address": "10.20.0.11:6443", "authority": "/run/ca.crt", "port": 6443, "read": "/run/y", "state": "/run/x"})
        }
        "keepalived/kokctl-keepalived.service.j2" | "keepalived/kokctl-keepalived-check.service.j2" | "keepalived/release.sh.j2" => json!({
            "configuration": "/etc/x", "read": "/run/y", "authority": "/etc/ca.crt", "known": "/run/ca.crt", "state": "/run/x", "user": "u",
            "check": "/etc/x.sh", "check_unit": "x.service", "release": "/etc/y.sh",
        }),
        "kubeadm/cluster.yaml.j2" => json!({
            "cluster_name": text, "etcd_tag": text, "initial_cluster": text, "initial_cluster_token": text, "founders_link": text, "etcd_endpoints": [],
            "kubernetes_version": text, "endpoint": text, "pod_cidr": text, "service_cidr": text, "cluster_domain": text,
            "certificate_names": [text], "key_algorithm": text, "certificate_validity": text, "authority_validity": text, "node_prefix": text, "node_prefix_ipv6": text, "shares": text, "etcd_certificate_names": [text], "fail_cgroup_v1": true, "fail_swap_on": true, "kube_proxy_mode": text, "kube_proxy_remove": false,
            "conntrack_max_per_core": 0, "eviction_hard": {"nodefs.available": text}, "initial_cluster_state": text,
            "api_server": pod, "controller_manager": pod, "scheduler": pod, "etcd": arguments, "kubelet": {"a": text},
            "kube_proxy": {"a": text}, "kubeadm_feature_gates": {"A": true},
        }),
        "kubeadm/join.yaml.j2" => {
            json!({
                "token": text, "name": text, "node_ip": text, "taints": taints, "ignore_preflight_errors": [text],
                "kubelet_arguments": arguments, "patches": text,
            })
        }
        "kubeadm/kubelet-configuration.yaml.j2" => {
            json!({"fail_cgroup_v1": true, "fail_swap_on": true, "eviction_hard": {"nodefs.available": text}, "kubelet": {"a": text}})
        }
        "kubeadm/kubelet.yaml.j2" => json!({
            "name": text, "address": text, "node_ip": text, "kubernetes_version": text, "pod_cidr": text, "service_cidr": text, "cluster_domain": text,
            "fail_cgroup_v1": true, "fail_swap_on": true, "eviction_hard": {"nodefs.available": text},
            "kubelet": {"a": text}, "kubelet_arguments": arguments, "patches": text,
        }),
        "node-dns/Corefile.j2" => json!({
            "zones": [{"names": ["a.example"], "servers": ["192.0.2.53:53"], "cache_seconds": 0}], "address": "169.254.25.10",
            "cluster_domain": "cluster.local", "cluster_dns": "10.233.0.10", "metrics": ":9253", "health_port": 9254,
        }),
        "node-dns/kokctl-node-dns.service.j2" => json!({"link": "nodelocaldns", "address": "169.254.25.10"}),
        "node-dns/node-dns.yaml.j2" => json!({
            "image": text, "corefile": text, "address": text, "health_port": 9254, "metrics_port": text,
            "requests": {"cpu": text}, "limits": {"memory": text},
        }),
        "network-check/network-check.yaml.j2" => json!({"image": text}),
        _ => json!({}),
    }
}

fn documents(yaml: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(yaml).unwrap_or_else(|error| panic!("{error}\n{yaml}"))
}

/// How many texts of a tree are equal to `text`.
fn count(value: &Value, text: &str) -> usize {
    match value {
        Value::String(found) => usize::from(found == text),
        Value::Array(items) => items.iter().map(|item| count(item, text)).sum(),
        Value::Object(fields) => fields.values().map(|item| count(item, text)).sum(),
        _ => 0,
    }
}

/// The same tree with one text for another.
fn with(value: &Value, old: &str, new: &str) -> Value {
    match value {
        Value::String(found) if found == old => Value::from(new),
        Value::Array(items) => items.iter().map(|item| with(item, old, new)).collect(),
        Value::Object(fields) => fields.iter().map(|(key, item)| (key.clone(), with(item, old, new))).collect(),
        other => other.clone(),
    }
}

#[test]
fn every_template_renders_and_ends_its_last_line() {
    for (name, _) in ALL {
        let text = render(name, &context(name, "plain")).unwrap_or_else(|error| panic!("{error}"));
        assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{name}");
        assert!(!text.contains("{{") && !text.contains("{%"), "{name}");
    }
}

#[test]
fn a_name_that_nobody_defines_is_an_error_without_values() {
    for (name, source) in ALL.iter().filter(|(_, source)| source.contains("{{")) {
        let error = render(name, &json!({"token": "secret-value"})).expect_err(source);
        assert!(error.to_string().contains(name) && !error.to_string().contains("secret-value"), "{error}");
    }
    assert!(render("no/such.j2", &json!({})).map_or(true, |text| text.is_empty()));
}

#[test]
fn json_and_toml_templates_are_what_their_names_say() {
    let plugins: Value = serde_json::from_str(&render("flannel/10-flannel.conflist.j2", &json!({"mtu": null})).unwrap()).unwrap();
    assert_eq!(plugins["plugins"][0]["type"], "flannel");
    let text = render("containerd/config.toml.j2", &context("containerd/config.toml.j2", "registry.k8s.io/pause:3.10.2")).unwrap();
    let table: toml::Table = text.parse().unwrap();
    let hosts: toml::Table =
        render("containerd/hosts.toml.j2", &context("containerd/hosts.toml.j2", "https://m")).unwrap().parse().unwrap();
    assert_eq!(hosts["server"].as_str(), Some("https://m"));
    assert_eq!(
        (hosts["host"]["https://m"]["skip_verify"].as_bool(), hosts["host"]["https://m"]["ca"].as_str()),
        (Some(true), Some("https://m"))
    );
    assert_eq!(hosts["host"]["https://plain"]["capabilities"].as_array().map(Vec::len), Some(1));
    let images = &table["plugins"]["io.containerd.cri.v1.images"];
    assert_eq!(images["pinned_images"]["sandbox"].as_str(), Some("registry.k8s.io/pause:3.10.2"));
    let runtime = &table["plugins"]["io.containerd.cri.v1.runtime"];
    assert_eq!((runtime["b"].as_bool(), runtime["c"].as_integer()), (Some(true), Some(-7)));
    assert_eq!(runtime["containerd"]["runtimes"]["runc"]["options"]["SystemdCgroup"].as_bool(), Some(true));
}

#[test]
fn a_proxy_stands_in_the_environment_of_a_unit() {
    let text = render("proxy/proxy.conf.j2", &context("proxy/proxy.conf.j2", "")).unwrap();
    assert_eq!(
        text,
        "# Written by kokctl.\n[Service]\nEnvironment=\"HTTP_PROXY=http://proxy.example:3128\"\nEnvironment=\"NO_PROXY=a,b\"\n"
    );
}

#[test]
fn only_a_host_that_serves_answers_others() {
    let render = |serves: bool| {
        render("chrony/chrony.conf.j2", &json!({"servers": ["10.20.0.11"], "near": !serves, "serves": serves, "clients": ["10.20.0.12"]}))
            .unwrap()
    };
    assert!(render(true).contains("\nlocal stratum 10 orphan\nallow 10.20.0.12\n"));
    assert!(!render(false).contains("local") && !render(false).contains("allow"));
    assert!(render(false).contains("\nserver 10.20.0.11 iburst minpoll 3 maxpoll 6\n"));
}

/// A cluster with names that no reader of a file would let through.
fn hostile(text: &str) -> Cluster {
    let mut cluster = cluster();
    cluster.hosts[0].name = text.to_owned();
    cluster.hosts[0].taints =
        vec![kok_crds::model::Taint { key: text.to_owned(), value: text.to_owned(), effect: kok_crds::model::TaintEffect::NoExecute }];
    cluster.settings.kubeadm_ignore_preflight_errors = vec![text.to_owned()];
    cluster
}

/// What YAML lets stand in a file as it is (YAML 1.2.2, production 1); a reader refuses the others, whatever is around them.
fn is_printable(text: &str) -> bool {
    text.chars().all(|c| matches!(c, '\0'..='\u{7e}' | '\u{85}' | '\u{a0}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}' | '\u{10000}'..))
}

/// Text that YAML, TOML and JSON have their own opinion of.
fn nasty() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        r#"[\[\]{}'"\\:#&*!|>%@`,?\n\r\t -]{0,8}[a-z0-9]{0,3}"#,
        prop::sample::select(vec![
            "",
            "yes",
            "null",
            "~",
            "1.10",
            "0x1f",
            "- a",
            "a: b",
            "---",
            "...",
            "\u{2028}",
            "\u{feff}",
            "\u{7f}",
            "\u{0}",
            "{{ token }}"
        ])
        .prop_map(str::to_owned),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_value_becomes_structure(text in nasty().prop_filter("YAML refuses it", |text| is_printable(text))) {
        for (name, _) in ALL.iter().filter(|(name, _)| name.ends_with(".yaml.j2")) {
            const PLAIN: &str = "a plain value that stands nowhere else";
            let plain = documents(&render(name, &context(name, PLAIN)).unwrap());
            let nasty = documents(&render(name, &context(name, &text)).unwrap());
            let wanted: Vec<Value> = plain.iter().map(|document| with(document, PLAIN, &text)).collect();
            prop_assert_eq!(&nasty, &wanted, "{}", name);
            prop_assert!(plain.iter().map(|document| count(document, PLAIN)).sum::<usize>() > 0, "{} shows no value", name);
        }
    }

    #[test]
    fn containerds_configuration_stays_toml(text in nasty()) {
        let rendered = render("containerd/config.toml.j2", &context("containerd/config.toml.j2", &text)).unwrap();
        let table: toml::Table = rendered.parse().unwrap_or_else(|error| panic!("{error}\n{rendered}"));
        prop_assert_eq!(table["plugins"]["io.containerd.cri.v1.images"]["pinned_images"]["sandbox"].as_str(), Some(text.as_str()));
        prop_assert_eq!(table["plugins"]["io.containerd.cri.v1.runtime"]["a"].as_str(), Some(text.as_str()));
    }

    #[test]
    fn documents_with_a_token_say_what_they_are_given(text in nasty().prop_filter("YAML refuses it", |text| is_printable(text))) {
        let cluster = hostile(&text);
        let join = documents(&join_configuration(&cluster, &cluster.hosts[0], "abcdef.0123456789abcdef").unwrap());
        prop_assert_eq!(join.len(), 1);
        prop_assert_eq!(&join[0]["discovery"]["tlsBootstrapToken"], "abcdef.0123456789abcdef");
        prop_assert_eq!(&join[0]["nodeRegistration"]["name"], &Value::from(text.as_str()));
        let token = documents(&bootstrap_token_configuration(&cluster, &cluster.hosts[0], "abcdef.0123456789abcdef").unwrap());
        prop_assert_eq!(&token[0]["bootstrapTokens"][0]["token"], "abcdef.0123456789abcdef");
        prop_assert_eq!(&token[1]["kubernetesVersion"], "v1.37.1");
    }
}

#[test]
fn sums_of_manifests_are_put_in_where_they_belong() {
    for name in ["calico/calico.yaml.j2", "flannel/flannel.yaml.j2", "network-check/network-check.yaml.j2"] {
        let text = render(name, &context(name, "x")).unwrap();
        let found: BTreeMap<&str, usize> = [("@SHA256@", text.matches("@SHA256@").count())].into();
        assert!(found["@SHA256@"] >= 1, "{name} could not be told from another version of it");
        let last = documents(&text).pop().unwrap();
        assert_eq!(last["kind"], "DaemonSet", "{name}: the object that stands for the manifest is applied last");
        assert_eq!(last["metadata"]["annotations"]["kokctl.io/source-sha256"], "@SHA256@");
    }
}
