//! Any inventory that is good is the same cluster after `convert`, and no input at all makes the reader do anything but say what is wrong.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fmt::Write as _;

use kok_crds::model::{Cluster, Via};
use kok_crds::{File, Position, Role, read_cluster, read_input};
use proptest::prelude::*;

/// What a host may say of itself.
#[derive(Debug, Clone)]
struct Host {
    lines: Vec<&'static str>,
    is_worker: bool,
}

const HOST_LINES: [&str; 10] = [
    "ansible_user: ops",
    "ansible_port: 2222",
    "ansible_ssh_private_key_file: ~/.ssh/key of mine",
    "ansible_password: dangerous",
    "ansible_become_password: '0123'",
    "ansible_ssh_common_args: -J jump@gate:2200,inner",
    "node_labels: {zone: 'yes', example.com/slot: 1, empty: ''}",
    "node_taints: ['a=1.30:NoSchedule', 'b:NoExecute']",
    "etcd_member_name: etcd1",
    "rack: r7",
];

const GROUP_LINES: [&str; 17] = [
    "kube_proxy_mode: iptables",
    "kube_proxy_conntrack_max_per_core: 0",
    "override_system_hostname: no",
    "additional_sysctl: [{name: kernel.pid_max, value: 4194304}, {name: net.ipv4.tcp_rmem, value: '4096 87380'}]",
    "additional_kernel_modules: [ip_vs, 'on']",
    "http_proxy: 'http://{{ proxy_name | default(\"proxy\") }}:3128'",
    "no_proxy: '10.0.0.0/8, .example'",
    "eviction_hard: {memory.available: 10%, nodefs.available: 1Gi}",
    "containerd_extra_runtime_args: {n: 3, b: true, t: 'true', u: !unsafe '{{ .Name }}'}",
    "containerd_registries_mirrors: [{prefix: '*', mirrors: [{host: 'https://m:5000', capabilities: [pull], skip_verify: yes}]}]",
    "ntp_enabled: true\nntp_manage_config: true\nntp_servers: ['a.example iburst', 192.0.2.1]",
    "kube_pods_subnet: 10.16.0.0/16\nkube_network_node_prefix: 25",
    "cluster_name: example.lan",
    "ipv6_stack: yes\nkube_pods_subnet_ipv6: 'fd00:64::/64'\nkube_network_node_prefix_ipv6: 80",
    "kubeadm_ignore_preflight_errors: [Mem, 'NumCPU']",
    "metrics_server_enabled: true",
    "trusted_certificates:\n  corporate: |\n    -----BEGIN CERTIFICATE-----\n    MIIBIjCByaADAgECAhRBase64Base64Base64Base64Base64Base64Base64Base6\n    MIIBIjCByaADAgECAhRBase64Base64Base64Base64Base64Base64Base64Base6\n    -----END CERTIFICATE-----",
];

fn host() -> impl Strategy<Value = Host> {
    let lines = proptest::sample::subsequence(HOST_LINES.to_vec(), 0..=HOST_LINES.len());
    (lines, any::<bool>()).prop_map(|(lines, is_worker)| Host { lines, is_worker })
}

fn inventory(hosts: &[Host]) -> String {
    let mut text = "all:\n  hosts:\n".to_owned();
    for (index, host) in hosts.iter().enumerate() {
        writeln!(text, "    node{index}:\n      ip: 10.0.0.{}", index + 1).unwrap();
        host.lines.iter().for_each(|line| writeln!(text, "      {line}").unwrap());
    }
    text.push_str("  children:\n    kube_control_plane: {hosts: {node0: }}\n    kube_node:\n      hosts:\n        none_[1:0]: \n");
    // The first is a worker too, or not.
    let workers = hosts.iter().enumerate().filter(|(index, host)| *index > 0 || host.is_worker);
    let workers: String = workers.map(|(index, _)| format!("        node{index}:\n")).collect();
    text.replace("        none_[1:0]: \n", &workers)
}

fn files(inventory: String, group_vars: String) -> [File; 2] {
    [
        File { name: "hosts.yaml".to_owned(), text: inventory, role: Role::Main { cluster: Some("some-name".to_owned()) } },
        File { name: "group_vars/all.yml".to_owned(), text: group_vars, role: Role::Beside },
    ]
}

/// All but places, and secrets, which no copy holds.
fn comparable(mut cluster: Cluster) -> Cluster {
    cluster.positions = Default::default();
    for host in &mut cluster.hosts {
        host.origin = Position { file: "f".into(), line: 1, column: 1 };
        let ssh = &mut host.ssh;
        (ssh.password, ssh.sudo_password, ssh.private_key) = (None, None, None);
        if let Some(Via::Bastion(bastion)) = &mut ssh.via {
            bastion.ssh.password = None;
        }
    }
    cluster
}

fn check(files: &[File]) -> Result<(), TestCaseError> {
    let input = read_input(files);
    prop_assert_eq!(input.cluster.is_some(), input.problems.is_empty());
    for text in input.problems.iter().map(ToString::to_string).chain(input.notices.iter().map(ToString::to_string)) {
        prop_assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
        prop_assert!(!text.contains("dangerous"), "{text}");
    }
    prop_assert!(!input.variables.iter().any(|given| given.value.contains("dangerous") || given.because.contains("dangerous")));
    let Some(text) = input.inline_file() else { return Ok(()) };
    prop_assert!(!text.contains("dangerous"));
    let again = read_cluster("cluster.yaml", &text);
    let again = again.map_err(|problems| TestCaseError::fail(format!("{problems:?}\n{text}")))?;
    prop_assert_eq!(comparable(again), comparable(input.cluster.unwrap()));
    Ok(())
}

#[test]
fn the_pieces_of_these_tests_are_good() {
    let hosts = [Host { lines: HOST_LINES.to_vec(), is_worker: true }, Host { lines: Vec::new(), is_worker: true }];
    let group_vars = format!("kube_network_plugin: flannel\nkube_version: 1.37.1\n{}\n", GROUP_LINES.join("\n"));
    let input = read_input(&files(inventory(&hosts), group_vars));
    let problems: Vec<_> = input.problems.iter().map(ToString::to_string).collect();
    assert!(input.cluster.is_some(), "{}", problems.join("\n"));
}

#[test]
fn numbers_in_octal_stay_what_they_are() {
    let hosts = [Host { lines: HOST_LINES.to_vec(), is_worker: true }];
    let group_vars = "kube_network_plugin: flannel\nkube_version: 1.37.1\nadditional_sysctl: [{name: kernel.pid_max, value: 04}, {name: vm.x, value: 0644}]\n\
                      kubelet_config_extra_args: {maxPods: 0200}\n";
    let files = files(inventory(&hosts), group_vars.to_owned());
    let cluster = read_input(&files).cluster.unwrap();
    assert_eq!(cluster.settings.host.additional_sysctl.values().collect::<Vec<_>>(), ["4", "420"]);
    check(&files).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn converted_and_read_again(
        hosts in proptest::collection::vec(host(), 1..5),
        lines in proptest::sample::subsequence(GROUP_LINES.to_vec(), 0..=GROUP_LINES.len()),
    ) {
        let group_vars = format!("kube_network_plugin: flannel\nkube_version: 1.37.1\n{}\n", lines.join("\n"));
        let files = files(inventory(&hosts), group_vars);
        prop_assert!(read_input(&files).cluster.is_some());
        check(&files)?;
    }

    /// One piece of either file replaced by something else.
    #[test]
    fn a_mutation(place in 0_usize..2000, length in 0_usize..12, which in 0_usize..2, piece in "[a-z0-9./:{}\\[\\],&*!~\"' %|\n-]{0,12}") {
        let hosts = [Host { lines: HOST_LINES.to_vec(), is_worker: true }, Host { lines: Vec::new(), is_worker: true }];
        let group_vars = format!("kube_network_plugin: flannel\nkube_version: 1.37.1\n{}\n", GROUP_LINES.join("\n"));
        let mut files = files(inventory(&hosts), group_vars);
        let text = &mut files[which].text;
        let place = place % text.len();
        text.replace_range(place..(place + length).min(text.len()), &piece);
        // What is no password any more may be told.
        files[0].text = files[0].text.replace("dangerous", "d");
        check(&files)?;
    }

    #[test]
    fn any_text(text in any::<String>(), extra in any::<String>()) {
        let main = File { name: "f".to_owned(), text, role: Role::Main { cluster: None } };
        check(&[main, File { name: "-e".to_owned(), text: extra, role: Role::Extra }])?;
    }
}

#[test]
fn what_is_worked_out_of_a_secret_is_left_out_too() {
    let text = "all:\n  vars: {kube_network_plugin: flannel, ansible_password: dangerous}\n  children:\n    kube_control_plane:\n      hosts:\n        cp1: {ip: 10.0.0.11, node_labels: {a: \"{{ ansible_password }}\", b: plain}}\n    kube_node: {hosts: {cp1: }}\n";
    let role = kok_crds::Role::Main { cluster: Some("c".to_owned()) };
    let input = kok_crds::read_input(&[kok_crds::File { name: "hosts.yaml".to_owned(), text: text.to_owned(), role }]);
    let file = input.inline_file().unwrap();
    assert!(!file.contains("dangerous") && file.contains("# a: left out") && file.contains("b: plain"), "{file}");
    assert!(input.variables.iter().all(|given| !given.value.contains("dangerous")));
}
