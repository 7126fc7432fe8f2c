//! The table of variables: what it has to hold, and the page that is made of it.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;
use std::{env, fs};

use kok_crds::{File, Input, Outcome, Role, SUBJECTS, Variable, VariableEffect, read_input, variable, variables};

/// Names that people of kube-on-kube, kubean and Kubespray set.
const NAMES: &str = include_str!("variables/names.txt");

#[test]
fn every_name_that_people_set_has_a_row_of_its_own() {
    for name in NAMES.lines() {
        let row = variable(name.trim_end_matches('*')).unwrap_or_else(|| panic!("{name} has no row"));
        assert_eq!(row.name, name);
    }
    assert!(NAMES.lines().count() > 250);
}

/// Names that Kubespray gives defaults to, in its roles and in its sample inventory (August 2026), names that only its templates and its
/// documentation have, and those that it has given up since 2.21.
const KUBESPRAY: &str = include_str!("variables/kubespray.txt");

#[test]
fn no_variable_of_kubespray_is_unknown() {
    let unknown: Vec<&str> = KUBESPRAY.lines().filter(|name| variable(name).is_none()).collect();
    assert!(unknown.is_empty(), "these have no row: {}", unknown.join(", "));
    assert!(KUBESPRAY.lines().count() > 1600);
}

const HEAD: &str = "# Variables

This page is made from the table in `crds/src/variables/table/`; `make docs` writes it. `kokctl vars NAME` prints a row, and `kokctl validate -f …`
says of each variable in your files what becomes of it. In a `Cluster` they stand under `spec.vars`, in an inventory where Ansible has them.

| effect | what it means |
|---|---|
| honoured | it does what it says: as a setting under `spec.vars`, or as a field of the `Cluster` |
| anyway | some values say what kokctl does anyway; others are errors |
| no-meaning | it means nothing here: what it asks for comes otherwise, or what it is a part of is not there; `validate` says so, and nothing fails |
| not-yet | what it asks for is not done, and the value has no effect. A value that asks for nothing is fine; others `kokctl validate` lists, and `apply` counts them |
| refused | nobody may set it; or what it asks for is not done yet, and the cluster would be another one without it: then a value that asks for nothing is fine |

A name that ends with `*` stands for all that begin so and have no row of their own. The default is what holds here when nobody sets the variable.
";

fn row(variable: &Variable) -> String {
    let escape = |text: &str| text.replace('|', "\\|").replace('*', "\\*");
    let effect = format!("{}: {}", variable.effect().as_str(), variable.details());
    let name = variable.name;
    format!("| `{name}` | {} | {} | {} | {} |\n", variable.kind, escape(variable.default), escape(variable.about), escape(&effect))
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    for subject in SUBJECTS {
        page.push_str(&format!(
            "\n## {}\n\n| variable | value | default | what it does | effect |\n|---|---|---|---|---|\n",
            subject.title
        ));
        page.extend(subject.rows.iter().map(row));
    }
    page
}

#[test]
fn the_page_about_variables_is_current() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/variables.md");
    if env::var_os("KOK_WRITE_DOCS").is_some() {
        fs::write(&file, page()).unwrap();
    }
    let found = fs::read_to_string(file).unwrap_or_default();
    assert!(found == page(), "docs/variables.md is not what the table says: run `make docs`");
}

/// Wishes that would come true elsewhere, and don't here.
const UNDONE: [&str; 23] = [
    "common_required_pkgs: [nfs-common]",
    "coreos_auto_upgrade: true",
    "coreos_locksmithd_disable: true",
    "coredns_version: 1.11.3",
    "disable_host_nameservers: true",
    "epel_enabled: true",
    "etcd_version: 3.5.16",
    "flush_iptables: true",
    "kube_cert_dir: /etc/kubernetes/ssl",
    "kube_encrypt_token: c2VjcmV0",
    "kube_owner: kube",
    "loadbalancer_apiserver_type: nginx",
    "metrics_server_enabled: true",
    "openeuler_metalink_enabled: true",
    "pkgs_to_remove: [unattended-upgrades]",
    "resolvconf_mode: host_resolvconf",
    "rhel_enable_repos: true",
    "runc_version: 1.2.1",
    "system_upgrade: true",
    "ubuntu_kernel_unattended_upgrades_disabled: true",
    "ubuntu_stop_unattended_upgrades: true",
    "use_oracle_public_repo: true",
    "yum_repo: http://mirror.example/yum",
];

#[test]
fn a_wish_that_is_not_done_is_called_that() {
    for line in UNDONE {
        let (name, _) = line.split_once(": ").unwrap();
        let input = read_line(line);
        assert!(input.problems.is_empty(), "{line}");
        let given = input.variables.iter().find(|given| given.name == name).unwrap();
        assert_eq!(given.outcome, Outcome::NotYet, "{line}");
    }
}

/// No row of what is not done, and no line about it, can be taken for something that was done.
#[test]
fn what_is_not_done_does_not_read_as_if_it_were() {
    for row in variables().filter(|row| row.effect() == VariableEffect::NotYet) {
        let details = row.details();
        assert!(details.starts_with("it has no effect yet"), "{}: {details}", row.name);
    }
    // What stops `apply` is refused, whatever may be done one day.
    for name in ["kubelet_systemd_hardening", "kube_vip_bgp_enabled"] {
        assert_eq!(variable(name).unwrap().effect(), VariableEffect::Refused, "{name}");
    }
    for line in UNDONE {
        let input = read_line(line);
        let undone = input.variables.iter().find(|given| given.outcome == Outcome::NotYet).unwrap();
        assert!(undone.because.starts_with("it has no effect yet"), "{line}: {}", undone.because);
    }
}

/// Rows that say of another value that it is an error are none of what means nothing, of which nothing is an error.
#[test]
fn what_may_be_an_error_is_not_called_meaningless() {
    for row in variables().filter(|row| matches!(row.effect(), VariableEffect::NoMeaning | VariableEffect::Honoured)) {
        assert!(!row.details().contains("an error"), "{}: {}", row.name, row.details());
    }
    for line in ["etcd_address: 192.0.2.1", "kube_override_hostname: other", "ansible_become_user: nobody", "skydns_server: 10.233.0.99"] {
        let (name, _) = line.split_once(": ").unwrap();
        assert_eq!(variable(name).unwrap().effect(), VariableEffect::Anyway, "{name}");
        let input = read_line(line);
        assert!(!input.problems.is_empty(), "{line}");
        assert!(input.variables.iter().all(|given| given.name != name || given.outcome == Outcome::Refused), "{line}");
    }
}

/// Also where a family of names would take it in.
#[test]
fn a_misspelled_name_is_answered_with_the_right_one() {
    for (line, meant) in [
        ("audit_log_maxag: 5", "audit_log_maxage"),
        ("kube_reserved_cpu: 100m", "kube_cpu_reserved"),
        ("kube_vers: v1.37.1", "kube_version"),
    ] {
        let input = read_line(line);
        assert!(input.variables.iter().any(|given| given.outcome == Outcome::Unknown), "{line}");
        let hint = format!("did you mean `{meant}`?");
        assert!(input.notices.iter().any(|notice| notice.hint.as_deref() == Some(&*hint)), "{line}: {:?}", input.notices);
    }
}

#[test]
fn all_effects_occur() {
    for effect in VariableEffect::ALL {
        assert!(variables().any(|row| row.effect() == effect), "{effect:?}");
    }
}

/// What Kubespray has where nobody sets a variable.
const DEFAULTS: &str = include_str!("variables/defaults.yaml");

/// Defaults that say what kind of a cluster it is. kokctl makes another, and whoever writes them down is told.
const CHOICES: [&str; 1] = ["etcd_deployment_type: docker"];

/// Defaults that a component does not start with alone, and those that Kubespray has beside them.
const BESIDE_DEFAULTS: [(&str, &str); 2] = [
    ("etcd_heartbeat_interval:", "etcd_election_timeout: 5000"),
    ("kubelet_shutdown_grace_period_critical_pods:", "kubelet_shutdown_grace_period: 60s"),
];

fn problems_of(line: &str) -> Vec<String> {
    let beside = BESIDE_DEFAULTS.iter().find(|(name, _)| line.starts_with(name)).map(|(_, beside)| format!("\n{beside}"));
    read_line(&format!("{line}{}", beside.unwrap_or_default())).problems.iter().map(ToString::to_string).collect()
}

/// A cluster whose variables have that line.
fn read_line(line: &str) -> Input {
    let hosts = "all: {hosts: {cp1: {ip: 10.0.0.11}, w1: {ip: 10.0.0.12}}, \
                 children: {kube_control_plane: {hosts: {cp1: }}, kube_node: {hosts: {w1: }}}}";
    let flannel = if line.starts_with("kube_network_plugin:") { "" } else { "kube_network_plugin: flannel\n" };
    let main = File { name: "hosts.yaml".to_owned(), text: hosts.to_owned(), role: Role::Main { cluster: None } };
    let vars = File { name: "group_vars/all.yml".to_owned(), text: format!("{flannel}{line}\n"), role: Role::Beside };
    read_input(&[main, vars])
}

#[test]
fn what_kubespray_has_anyway_may_be_written_out() {
    let lines: Vec<&str> = DEFAULTS.lines().filter(|line| !line.starts_with('#')).collect();
    let wrong: Vec<String> = lines.iter().flat_map(|line| problems_of(line)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(lines.len() > 300, "{}", lines.len());
    for line in CHOICES {
        assert_eq!(problems_of(line).len(), 1, "{line}");
    }
}

#[test]
fn other_values_of_the_same_variables_are_errors() {
    for line in [
        "kube_cpu_reserved: much",
        "kubelet_bind_address: 192.0.2.1",
        "etcd_client_url: 'https://192.0.2.1:2379'",
        "kube_read_only_port: 70000",
        "etcd_hosts: [w1]",
        "etcd_access_addresses: 'https://192.0.2.1:2379'",
        "etcd_peer_addresses: 'etcd1=https://10.0.0.11:2480'",
        "kube_apiserver_endpoint: 'https://192.0.2.1:6443'",
        "kube_apiserver_global_endpoint: 'https://10.0.0.11:8443'",
        "containerd_base_runtime_specs: {cri-base.json: {process: {rlimits: [{type: RLIMIT_NOFILE, hard: 9, soft: 9}]}}}",
    ] {
        assert!(!problems_of(line).is_empty(), "{line}");
    }
}
