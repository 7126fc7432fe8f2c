//! What a lab looks like to kokctl and to other programs.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::folder::LabFolder;
use super::host::{Host, Power};
use super::record::{HostRecord, LabRecord};
use super::{LabError, address, cgroups, network};

/// What the manifest asks for when nobody says otherwise: the newest version that `tests/release` builds.
pub const DEFAULT_KUBERNETES_VERSION: &str = "1.37.1";
/// Bit of CAP_SYS_RESOURCE in the capability sets of proc_pid_status(5); see capability.h.
const CAP_SYS_RESOURCE: u32 = 24;

/// Everything about a lab that is up, for programs.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Facts {
    /// The lab's name.
    pub name: String,
    /// Where the hosts' addresses are from.
    pub subnet: String,
    /// The address of programs in the lab's network namespace.
    pub controller: String,
    /// The link that stands for the lab's network namespace; for `nsenter --net=`.
    pub network_namespace: PathBuf,
    /// Private key for `root`, `ops` and `opspw`.
    pub private_key_file: PathBuf,
    /// Host keys of all hosts.
    pub known_hosts_file: PathBuf,
    /// Configuration for OpenSSH.
    pub ssh_config_file: PathBuf,
    /// The lab's folder.
    pub folder: PathBuf,
    /// The hosts.
    pub hosts: Vec<HostFacts>,
}

/// One host of [`Facts`].
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostFacts {
    /// The host's name.
    pub name: String,
    /// The host's address.
    pub address: String,
    /// Its address of IPv6, where the lab has both families.
    pub address_ipv6: Option<String>,
    /// The roles that the manifest gives it; none for a bastion, which is not in the manifest.
    pub roles: Vec<String>,
    /// The host through which alone it is reached.
    pub bastion: Option<String>,
    /// The host's machine-id.
    pub machine_id: String,
    /// Whether it runs and is connected.
    pub power: Power,
}

pub(crate) fn facts(folder: &LabFolder, record: &LabRecord) -> Result<Facts, LabError> {
    let host = |record: &HostRecord| {
        let host = Host::new(folder.clone(), record.clone());
        Ok(HostFacts {
            name: record.name.clone(),
            address: record.address(),
            address_ipv6: record.address_ipv6(),
            roles: if record.is_bastion { Vec::new() } else { vec![role(&record.name).to_owned()] },
            bastion: record.behind.clone(),
            machine_id: host.machine_id()?,
            power: host.power()?,
        })
    };
    Ok(Facts {
        name: record.name.clone(),
        subnet: address::SUBNET.to_owned(),
        controller: address::CONTROLLER.to_owned(),
        network_namespace: network::namespace(folder)?,
        private_key_file: folder.private_key(),
        known_hosts_file: folder.known_hosts(),
        ssh_config_file: folder.ssh_config(),
        folder: folder.path().to_owned(),
        hosts: record.hosts.iter().map(host).collect::<Result<_, LabError>>()?,
    })
}

fn role(host: &str) -> &'static str {
    match host {
        host if host.starts_with("cp") => "control-plane",
        host if host.starts_with("etcd") => "etcd",
        _ => "worker",
    }
}

pub(crate) fn manifest(folder: &LabFolder, record: &LabRecord, kubernetes_version: &str) -> Result<String, LabError> {
    let machine = Machine { cgroup_v1: !cgroups::unified_only()?, may_raise_limits: has_capability(CAP_SYS_RESOURCE)? };
    let hosts: String = record
        .members()
        .map(|host| format!("    - {{name: {}, address: {}, roles: [{}]}}\n", host.name, host.address(), role(&host.name)))
        .collect();
    let time_source = record.members().next().map_or("", |host| host.name.as_str());
    // The default range has subnets for 64 nodes.
    let dual_stack = if record.members().any(|host| host.dual_stack) { "    dualStack: true\n" } else { "" };
    let pods = if record.members().count() > 64 { "    podCIDR: 10.64.0.0/16\n" } else { "" };
    Ok(format!(
        "apiVersion: kubeonkube.clay.io/v1alpha1
kind: Cluster
metadata:
  name: {name}
spec:
  kubernetesVersion: {kubernetes_version}
  ssh:
    user: root
    privateKeyFile: {key}
    knownHostsFile: {known_hosts}
{bastion}  hosts:
{hosts}  network:
    plugin: flannel
{dual_stack}{pods}  time:
    sources: [{time_source}] # the network has no way out: {time_source} serves time to the others
  vars:
    # What this machine needs, as its user would set it.
{vars}",
        name = record.name,
        key = scalar(&folder.private_key()),
        known_hosts = scalar(&folder.known_hosts()),
        bastion = record
            .members()
            .next()
            .and_then(|host| bastion(folder, record, host))
            .map_or(String::new(), |chain| format!("    bastion: {chain}\n")),
        vars = machine.vars(),
    ))
}

/// The bastion of a host with those before it, as kokctl wants to have it: each is a login of its own.
fn bastion(folder: &LabFolder, record: &LabRecord, host: &HostRecord) -> Option<String> {
    let bastion = record.hosts.iter().find(|other| host.behind.as_ref() == Some(&other.name))?;
    let login = format!("user: root, privateKeyFile: {}, knownHostsFile: {}", scalar(&folder.private_key()), scalar(&folder.known_hosts()));
    let before = self::bastion(folder, record, bastion).map(|chain| format!(", bastion: {chain}")).unwrap_or_default();
    Some(format!("{{address: {}, {login}{before}}}", bastion.address()))
}

/// Properties of this machine that its hosts share and that a user of such a machine would set something for.
struct Machine {
    cgroup_v1: bool,
    may_raise_limits: bool,
}

impl Machine {
    fn vars(&self) -> String {
        let mut vars = String::new();
        let mut add = |why: &str, var: &str| {
            // Writing to a String can't fail.
            let _ = writeln!(vars, "    # {why}\n    {var}");
        };
        if self.cgroup_v1 {
            add(
                "The machine has cgroup v1, with which the kubelet from 1.35 on refuses to start by itself.",
                "kubelet_fail_cgroup_v1: false",
            );
            add(
                "For the same reason: kubeadm's check of the system asks for cgroup v2.",
                "kubeadm_ignore_preflight_errors: [SystemVerification]",
            );
        }
        add(
            "The size of the connection table belongs to the whole machine; a host may not set it, so kube-proxy must not try.",
            "kube_proxy_conntrack_max_per_core: 0",
        );
        add(
            "All hosts of a lab share the machine's disk; how full that is must not make them evict pods while there is room enough.",
            "eviction_hard: {memory.available: 100Mi, nodefs.available: 1Gi, imagefs.available: 1Gi}",
        );
        if !self.may_raise_limits {
            add(
                "Without CAP_SYS_RESOURCE no process may lower its OOM score; containerd then asks only for what it may have.",
                "containerd_extra_runtime_args: {restrict_oom_score_adj: true}",
            );
        }
        vars
    }
}

/// Whether processes of this machine can have the capability at all.
fn has_capability(bit: u32) -> Result<bool, LabError> {
    let path = "/proc/self/status";
    let status = fs::read_to_string(path).map_err(LabError::io(format!("read {path}")))?;
    let bounding = status.lines().find_map(|line| line.strip_prefix("CapBnd:")).unwrap_or_default();
    Ok(u64::from_str_radix(bounding.trim(), 16).is_ok_and(|set| set >> bit & 1 == 1))
}

/// A path as a YAML scalar: plain where no character could mean anything, else in the quotes of JSON, which YAML also reads.
fn scalar(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |character: char| character.is_ascii_alphanumeric() || "/._-".contains(character);
    if text.chars().all(plain) { text } else { serde_json::Value::from(text).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_machine_needs_is_set() {
        let modern = Machine { cgroup_v1: false, may_raise_limits: true }.vars();
        assert!(modern.contains("kube_proxy_conntrack_max_per_core: 0"));
        assert!(!modern.contains("cgroup") && !modern.contains("oom_score"), "{modern}");
        let old = Machine { cgroup_v1: true, may_raise_limits: false }.vars();
        for var in ["kubelet_fail_cgroup_v1: false", "[SystemVerification]", "restrict_oom_score_adj: true"] {
            assert!(old.contains(var), "{var} in {old}");
        }
    }

    #[test]
    fn paths_are_quoted_where_yaml_would_read_them_otherwise() {
        assert_eq!(scalar(Path::new("/home/a/id_ed25519")), "/home/a/id_ed25519");
        assert_eq!(scalar(Path::new("/home/a: b#\"c")), r##""/home/a: b#\"c""##);
    }
}
