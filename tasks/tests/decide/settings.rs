//! A setting that is called honoured is of use to somebody: with it the plan is another one, or is refused, however etcd runs.

use kok_crds::{VariableEffect, variables};

use crate::support::cluster_of;
use crate::support::world::World;

#[path = "../../../crds/tests/variables/beside.rs"]
mod beside;

const CLUSTER: &str = include_str!("../fixtures/cluster.yaml");

const HIGHLY_AVAILABLE: &str = include_str!("../fixtures/highly-available.yaml");

/// The setting that says something only where there are several control planes.
const OF_SEVERAL: &str = "loadbalancer_apiserver_localhost";

/// Both ways in which etcd runs, and the setting that says which.
const WAYS: [&str; 2] = ["kubeadm", "host"];
const WAY: &str = "etcd_deployment_type";

/// Members that are units have them in their certificates, which no step shows; a test of its own looks there.
const IN_CERTIFICATES: [&str; 2] = ["etcd_cert_alt_names", "etcd_cert_alt_ips"];

/// The settings by which a bundle is fetched, before anything is decided; a test of `kokctl` looks there.
const OF_FETCHING: [&str; 7] =
    ["dl_k8s_io_url", "github_url", "kube_image_repo", "docker_image_repo", "gcr_image_repo", "quay_image_repo", "github_image_repo"];

/// The settings of Calico that say something of IPv6 alone, which the file has not, and the one that is as kube-proxy's mode in any case; tests of
/// their own look there.
const OF_CALICO: [&str; 3] = ["calico_ip6_auto_method", "calico_pool_blocksize_ipv6", "calico_nftable_mode"];

/// The settings that say how much may be away at a time, how pods leave nodes and when certificates are made anew, which a plan for bare hosts does not
/// show; tests of the order of kubelets, of drains, of upgrades and of renewals look there.
const OF_LATER: [&str; 7] = [
    "serial",
    "drain_grace_period",
    "drain_timeout",
    "drain_fallback_enabled",
    "drain_nodes",
    "upgrade_cluster_setup",
    "certificates_renew_before",
];

/// The settings of backups, which change nothing on hosts; tests of `kokctl` and of which backups stay look there.
const OF_BACKUPS: [&str; 14] = [
    "backup_s3_bucket",
    "backup_s3_endpoint",
    "backup_s3_region",
    "backup_s3_prefix",
    "backup_s3_credentials_file",
    "backup_s3_ca_file",
    "backup_schedule",
    "etcd_backup_prefix",
    "etcd_backup_retention_count",
    "backup_recipients",
    "backup_encrypt",
    "backup_keep_daily",
    "backup_keep_weekly",
    "backup_keep_monthly",
];

/// The settings that are refused with flannel, which is what the file has.
const WITHOUT_FLANNEL: [&str; 2] = ["kube_proxy_remove", "kube_controller_manager_allocate_node_cidrs"];

/// What has to be said besides for a setting to say something.
const BESIDE: [(&str, &str); 5] = [
    ("kube_vip_enabled", "kube_vip_controlplane_enabled: true, kube_vip_address: 10.0.0.100, "),
    ("no_proxy", "http_proxy: \"http://other:3128\", "),
    ("additional_no_proxy", "http_proxy: \"http://other:3128\", "),
    ("additional_no_proxy_list", "http_proxy: \"http://other:3128\", "),
    (
        "kube_apiserver_admission_control_config_file",
        "kube_apiserver_admission_plugins_podnodeselector_default_node_selector: zone=b, \
         kube_apiserver_enable_admission_plugins: [PodNodeSelector], ",
    ),
];

/// Here the network plugin is a field, of which a variable may need another one.
const CALICO: &str = "kube_network_plugin: calico, ";

/// Everything that is decided about hosts that lack a program: all steps with all that they write, or why not.
fn decided(cluster: &str, vars: &str) -> Result<String, String> {
    let cluster = if vars.contains(CALICO) { cluster.replace("plugin: flannel", "plugin: calico") } else { cluster.to_owned() };
    // The address that moves has to be of the network of these hosts.
    let vars = vars.replace(CALICO, "").replace(": 10.0.0.10", ": 10.20.0.10");
    let mut world = World::bare_of(cluster_of(&format!("{cluster}\n  vars: {{{vars}}}\n")));
    for host in world.hosts.values_mut() {
        host.lacks = ["tar"].map(str::to_owned).into();
        for folder in ["/etc/cloud/cloud.cfg.d", "/sys/fs/selinux", "/etc/selinux", "/var/lib/dpkg/updates"] {
            host.folder(folder, 0o755);
        }
    }
    let plan = world.try_plan().map_err(|refusals| format!("{refusals:?}"))?;
    Ok(plan.steps().map(|step| format!("{step:?}\n")).collect())
}

#[test]
fn every_setting_changes_what_is_done() {
    let settings = variables().filter(|row| row.effect() == VariableEffect::Honoured && row.details().starts_with("a setting"));
    let mut idle = Vec::new();
    let mut tried = 0;
    let is_shown = |name: &&str| [&OF_FETCHING[..], &OF_CALICO, &OF_LATER, &OF_BACKUPS].iter().all(|others| !others.contains(name));
    for name in settings.map(|row| row.name).filter(is_shown) {
        let value = beside::values().find(|(known, _)| *known == name).unwrap().1;
        let without = CLUSTER.replace("plugin: flannel", "plugin: none");
        let cluster = match name {
            OF_SEVERAL => HIGHLY_AVAILABLE,
            name if WITHOUT_FLANNEL.contains(&name) => &without,
            _ => CLUSTER,
        };
        let besides = BESIDE.iter().find(|(known, _)| *known == name).map_or("", |(_, said)| said);
        // The setting itself is compared with the way that holds where nobody says one.
        for way in if name == WAY { &WAYS[..1] } else { &WAYS[..] } {
            let way = if name == WAY { String::new() } else { format!("{WAY}: {way}, ") };
            let changed = decided(cluster, &format!("{way}{besides}{}{name}: {value}", beside::beside(name)));
            // What is refused whatever is set would show nothing.
            let usual = decided(cluster, &format!("{way}{besides}{}", beside::usual(name)));
            let usual = usual.unwrap_or_else(|refusals| panic!("{name}: {refusals}"));
            if changed == Ok(usual) && !(IN_CERTIFICATES.contains(&name) && way.contains("host")) {
                idle.push(format!("{way}{name}"));
            }
            tried += 1;
        }
    }
    assert!(idle.is_empty(), "these change nothing that is done: {}", idle.join("; "));
    assert!(tried >= 42, "{tried}");
}
