//! Files that are right, and the model that comes out of them.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use kok_crds::model::{
    ApiEndpoint, Cluster, Components, FirewallPolicy, FlannelBackend, Host, HostKeyChecking, KubeProxyMode, KubeletSettings, Network,
    NetworkPlugin, Roles, SelinuxState, Settings, Ssh, Taint, TaintEffect, TimeSync, TomlScalar, Via,
};
use kok_crds::{Secret, read_cluster, variable};

fn read(text: &str) -> Cluster {
    read_cluster("cluster.yaml", text).unwrap_or_else(|problems| {
        let texts: Vec<_> = problems.iter().map(ToString::to_string).collect();
        panic!("{}", texts.join("\n"))
    })
}

const SMALL: &str = "apiVersion: kubeonkube.clay.io/v1alpha1
kind: Cluster
metadata: {name: demo}
spec:
  kubernetesVersion: 1.37.1
  hosts:
    - {name: cp1, address: 10.0.0.11, roles: [control-plane]}
    - {name: worker1, address: 10.0.0.12, roles: [worker]}
";

#[test]
fn a_small_file_gets_the_defaults() {
    let cluster = read(SMALL);
    assert_eq!(cluster.name, "demo");
    assert_eq!(cluster.kubernetes_version.to_string(), "1.37.1");
    assert_eq!(
        cluster.network,
        Network {
            plugin: NetworkPlugin::Flannel,
            backend: FlannelBackend::Vxlan,
            mtu: None,
            pod_cidr: "10.233.64.0/18".parse().unwrap(),
            service_cidr: "10.233.0.0/18".parse().unwrap(),
            node_prefix: 24,
            ipv6: None,
            cluster_domain: "cluster.local".into(),
        }
    );
    assert_eq!(cluster.network.kubernetes_service_ip().to_string(), "10.233.0.1");
    assert_eq!(cluster.network.cluster_dns().to_string(), "10.233.0.10");
    assert_eq!(cluster.network.max_nodes(), 64);
    assert_eq!(cluster.time, TimeSync::default());
    assert_eq!(cluster.settings, Settings::default());
    let names: Vec<_> = cluster.control_planes().chain(cluster.workers()).map(|host| host.name.as_str()).collect();
    assert_eq!(names, ["cp1", "worker1"]);
    let host = cluster.host("cp1").unwrap();
    assert_eq!(host.ssh, Ssh::default());
    assert!(host.roles.etcd && !cluster.host("worker1").unwrap().roles.etcd);
    assert_eq!(cluster.host("cp2"), None);
}

const FULL: &str = "# as kubectl prints it
apiVersion: kubeonkube.clay.io/v1alpha1
kind: Cluster
metadata:
  name: demo
  namespace: kube-on-kube
  labels: {a: b}
  annotations: {c: d}
  uid: 7c3e
  generation: 3
spec:
  kubernetesVersion: v1.38.0-rc.1
  ssh: {user: ops, port: 2222, privateKeyFile: ~/.ssh/id_ed25519, knownHostsFile: ~/.ssh/known_hosts}
  hosts:
    - &first
      name: cp1
      address: 10.0.0.11
      roles: [control-plane, worker]
    - name: w1
      address: 10.0.0.12
      roles: [worker]
      ssh:
        user: root
        hostKey: SHA256:uNiVztksCsDhcc0u9e8BrrJXVGDR3gT2G0FSHAgE4gE
      labels: {example.com/zone: a.1, empty: }
      annotations: {example.com/rack: '7, by the door'}
      taints:
        - {key: dedicated, value: gpu, effect: NoSchedule}
        - {key: dedicated, effect: NoExecute}
  network: {plugin: flannel, backend: wireguard, podCIDR: 10.16.0.0/16, serviceCIDR: 10.17.0.0/20, nodePrefix: 25, clusterDomain: demo.example}
  time: {sources: [cp1], maxSkewSeconds: 5}
  vars:
    kubelet_fail_cgroup_v1: false
    kube_proxy_mode: iptables
    kube_proxy_conntrack_max_per_core: 0
    kubeadm_ignore_preflight_errors: [Swap, FileContent--proc-sys-net-ipv4-ip_forward]
    containerd_extra_runtime_args: {sandboxer: podsandbox, n: 3, privileged_without_host_devices: true}
    eviction_hard: {memory.available: 100Mi, nodefs.available: 5%}
status: {conditions: []}
---
";

#[test]
fn a_full_file_keeps_every_value() {
    let cluster = read(FULL);
    assert_eq!(cluster.kubernetes_version.to_string(), "1.38.0-rc.1");
    let worker = cluster.host("w1").unwrap();
    assert_eq!(
        worker,
        &Host {
            name: "w1".into(),
            address_ipv6: None,
            address: "10.0.0.12".parse().unwrap(),
            roles: Roles { control_plane: false, worker: true, etcd: false },
            ssh: Ssh {
                user: Some("root".into()),
                port: Some(2222),
                private_key_file: Some("~/.ssh/id_ed25519".into()),
                known_hosts_file: Some("~/.ssh/known_hosts".into()),
                host_key: Some("SHA256:uNiVztksCsDhcc0u9e8BrrJXVGDR3gT2G0FSHAgE4gE".into()),
                ..Ssh::default()
            },
            labels: [("empty", ""), ("example.com/zone", "a.1")].map(|(k, v)| (k.into(), v.into())).into(),
            annotations: [("example.com/rack".into(), "7, by the door".into())].into(),
            taints: vec![
                Taint { key: "dedicated".into(), value: "gpu".into(), effect: TaintEffect::NoSchedule },
                Taint { key: "dedicated".into(), value: String::new(), effect: TaintEffect::NoExecute },
            ],
            origin: worker.origin.clone(),
        }
    );
    assert_eq!(worker.origin.to_string(), "cluster.yaml:19:7");
    assert_eq!(cluster.host("cp1").unwrap().ssh.user.as_deref(), Some("ops"));
    assert_eq!(cluster.workers().count(), 2);
    assert_eq!(cluster.time, TimeSync { servers: vec![], sources: vec!["cp1".into()], max_skew_seconds: 5 });
    assert_eq!(cluster.network.cluster_dns().to_string(), "10.17.0.10");
    assert_eq!((cluster.network.max_nodes(), cluster.network.backend), (512, FlannelBackend::Wireguard));
    let args = [
        ("n", TomlScalar::Integer(3)),
        ("privileged_without_host_devices", TomlScalar::Bool(true)),
        ("sandboxer", TomlScalar::String("podsandbox".into())),
    ];
    let eviction_hard = [("memory.available", "100Mi"), ("nodefs.available", "5%")].map(|(k, v)| (k.into(), v.into()));
    let eviction_hard = Some(eviction_hard.into());
    let kubelet = KubeletSettings { eviction_hard, ..KubeletSettings::default() };
    assert_eq!(
        cluster.settings,
        Settings {
            kubelet_fail_cgroup_v1: false,
            kubeadm_ignore_preflight_errors: vec!["Swap".into(), "FileContent--proc-sys-net-ipv4-ip_forward".into()],
            kube_proxy_mode: KubeProxyMode::Iptables,
            kube_proxy_conntrack_max_per_core: Some(0),
            api_endpoint: ApiEndpoint::default(),
            containerd_extra_runtime_args: args.map(|(name, value)| (name.to_owned(), value)).into(),
            components: Components { kubelet, ..Components::default() },
            ..Settings::default()
        }
    );
}

#[test]
fn places_are_known_afterwards() {
    let cluster = read(FULL);
    let at = |path: &str| cluster.position_of(path).map(ToString::to_string);
    assert_eq!(at("metadata.name").as_deref(), Some("cluster.yaml:5:9"));
    assert_eq!(at("spec.kubernetesVersion").as_deref(), Some("cluster.yaml:12:22"));
    assert_eq!(at("spec.network.podCIDR").as_deref(), Some("cluster.yaml:30:59"));
    assert_eq!(at("spec.vars.kube_proxy_mode").as_deref(), Some("cluster.yaml:34:22"));
    assert_eq!(at("spec.time.servers"), None);
    let of = |host: &str, field: &str| cluster.host_position(host, field).map(ToString::to_string);
    assert_eq!(of("w1", "address").as_deref(), Some("cluster.yaml:20:16"));
    assert_eq!(of("w1", "ssh.user").as_deref(), Some("cluster.yaml:23:15"));
    assert_eq!(of("cp1", "ssh.user").as_deref(), Some("cluster.yaml:16:7"), "left to its default");
    assert_eq!(of("cp9", "address"), None);
}

#[test]
fn aliases_and_merges_work() {
    let text = SMALL.replace("- {name: worker1, address: 10.0.0.12, roles: [worker]}\n", "")
        + "    - &w {name: w1, address: 10.0.0.13, roles: [worker], labels: {a: b}}
    - {<<: *w, name: w2, address: 10.0.0.14}
";
    let cluster = read(&text.replace("    -     -", "    -").replace("\n        - &w", "\n    - &w"));
    assert_eq!(cluster.host("w2").unwrap().labels, cluster.host("w1").unwrap().labels);
}

#[test]
fn the_table_says_the_defaults() {
    let defaults = read(SMALL).settings;
    let row = |name: &str| variable(name).unwrap().default;
    assert_eq!(row("kube_proxy_mode"), defaults.kube_proxy_mode.as_str());
    assert_eq!(row("firewall"), defaults.host.firewall.as_str());
    assert_eq!(row("containerd_limit_open_file_num"), defaults.containerd_limit_open_file_num.to_string());
    for (name, value) in [
        ("install_packages", defaults.host.install_packages),
        ("kubelet_fail_swap_on", defaults.host.kubelet_fail_swap_on),
        ("override_system_hostname", defaults.host.override_system_hostname),
        ("populate_inventory_to_hosts_file", defaults.host.populate_inventory_to_hosts_file),
    ] {
        assert_eq!(row(name), value.to_string(), "{name}");
    }
    assert_eq!(row("kubelet_fail_cgroup_v1"), defaults.kubelet_fail_cgroup_v1.to_string());
}

#[test]
fn logins_carry_passwords_and_chains_of_bastions() {
    let text = FULL
        .replace("knownHostsFile: ~/.ssh/known_hosts}", LOGIN)
        .replace("        user: root\n", "        sudoPassword: other\n        hostKeyChecking: strict\n        bastion: none\n");
    let cluster = read(&text);
    let first = &cluster.host("cp1").unwrap().ssh;
    assert!(first.password == Some(Secret::new("p w")) && first.sudo_password == Some(Secret::new("12345678")));
    assert_eq!(first.host_key_checking, Some(HostKeyChecking::AcceptNew));
    let Some(Via::Bastion(near)) = &first.via else { panic!("{:?}", first.via) };
    let Some(Via::Bastion(far)) = &near.ssh.via else { panic!("{:?}", near.ssh.via) };
    // Nothing of the hosts' login is a bastion's.
    assert_eq!(near.ssh, Ssh { user: Some("jump".into()), via: near.ssh.via.clone(), ..Ssh::default() });
    assert_eq!((near.address.as_str(), far.address.as_str()), ("jump.example.org", "203.0.113.7"));
    assert!(far.ssh.password == Some(Secret::new("far")));
    let second = &cluster.host("w1").unwrap().ssh;
    assert!(second.password == first.password && second.sudo_password == Some(Secret::new("other")));
    assert_eq!((second.via.as_ref(), second.host_key_checking), (Some(&Via::Direct), Some(HostKeyChecking::Strict)));
    let shown = format!("{cluster:?}");
    assert!(!["p w", "12345678", "other", "\"far\""].iter().any(|secret| shown.contains(secret)), "{shown}");
}

const LOGIN: &str = "password: p w, sudoPassword: \"12345678\", hostKeyChecking: accept-new,
    bastion: {address: jump.example.org, user: jump, bastion: {address: 203.0.113.7, port: 2022, password: far}}}";

const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----
      MIIBIjCByaADAgECAhRBase64Base64Base64Base64Base64Base64Base64Base6
      MIIBIjCByaADAgECAhRBase64Base64Base64Base64Base64Base64Base64Base6
      AAAA+/==
      -----END CERTIFICATE-----";

#[test]
fn hosts_are_prepared_as_the_vars_say() {
    let vars = format!(
        "  vars:
    override_system_hostname: false
    populate_inventory_to_hosts_file: false
    kubelet_fail_swap_on: false
    install_packages: false
    additional_sysctl: [{{name: kernel.pid_max, value: 4194304}}, {{name: net.ipv4.tcp_rmem, value: \"4096 87380 6291456\"}}]
    additional_kernel_modules: [ip_vs, nf-conntrack]
    http_proxy: http://proxy.example:3128
    https_proxy: http://192.0.2.9:3128/
    no_proxy: \"10.0.0.0/8, .example\"
    additional_no_proxy: internal.example
    firewall: open
    preinstall_selinux_state: permissive
    containerd_limit_open_file_num: 65536
    containerd_registries_mirrors:
    - prefix: docker.io
      mirrors:
      - host: https://mirror.example:5000
      - {{host: http://192.0.2.8, capabilities: [pull], skip_verify: true, override_path: true}}
    - {{prefix: \"*\", mirrors: [{{host: https://all.example}}]}}
    trusted_certificates:
     corporate: |
      {CERTIFICATE}
"
    );
    let settings = read(&format!("{SMALL}{vars}")).settings;
    let host = &settings.host;
    assert!(
        !host.override_system_hostname && !host.populate_inventory_to_hosts_file && !host.kubelet_fail_swap_on && !host.install_packages
    );
    assert_eq!(host.additional_sysctl["kernel.pid_max"], "4194304");
    assert_eq!(host.additional_sysctl["net.ipv4.tcp_rmem"], "4096 87380 6291456");
    assert_eq!(host.additional_kernel_modules, ["ip_vs", "nf_conntrack"]);
    assert_eq!(host.http_proxy.as_deref(), Some("http://proxy.example:3128"));
    assert_eq!(host.no_proxy.as_deref().unwrap(), ["10.0.0.0/8", ".example"]);
    assert_eq!(host.additional_no_proxy, ["internal.example"]);
    assert_eq!((host.firewall, host.preinstall_selinux_state), (FirewallPolicy::Open, Some(SelinuxState::Permissive)));
    let [docker, all] = settings.containerd_registries_mirrors.as_slice() else { panic!("not two") };
    assert_eq!((docker.prefix.as_str(), all.prefix.as_str()), ("docker.io", "_default"));
    assert_eq!(docker.mirrors[0].capabilities, ["pull", "resolve"]);
    assert!(docker.mirrors[1].skip_verify && docker.mirrors[1].override_path && !docker.mirrors[0].skip_verify);
    let pem = &host.trusted_certificates["corporate"];
    assert!(pem.starts_with("-----BEGIN CERTIFICATE-----\nMII") && pem.ends_with("\n-----END CERTIFICATE-----\n"), "{pem}");
    assert!(!pem.contains(' ') || pem.lines().all(|line| line.starts_with("-----") || !line.contains(' ')));
}

/// kubeadm takes the word in any case, and refuses names beside it.
#[test]
fn all_checks_of_kubeadm_are_named_alone() {
    let named = "[Swap, FileContent--proc-sys-net-ipv4-ip_forward]";
    assert!(FULL.contains(named));
    for all in ["[all]", "[Swap, ALL]", "[All, Mem]"] {
        let settings = read(&FULL.replace(named, all)).settings;
        assert_eq!(settings.kubeadm_ignore_preflight_errors, ["all"], "{all}");
        assert!(settings.ignores_all_preflight_errors());
    }
    assert!(!read(FULL).settings.ignores_all_preflight_errors());
}
