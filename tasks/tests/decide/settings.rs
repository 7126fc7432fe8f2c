//! A setting that is called honoured is of use to somebody: with it the plan is another one, or is refused.

use kok_crds::{Effect, variable, variables};

use crate::support::cluster_of;
use crate::support::world::World;

const CLUSTER: &str = include_str!("../fixtures/cluster.yaml");

const HIGHLY_AVAILABLE: &str = include_str!("../fixtures/highly-available.yaml");

/// The setting that says something only where there are several control planes.
const OF_SEVERAL: &str = "loadbalancer_apiserver_localhost";

/// The setting that is refused with flannel, which is what the file has.
const WITHOUT_FLANNEL: &str = "kube_proxy_remove";

/// Each honoured variable with a value that is not its default, one a line.
const VALUES: &str = include_str!("../../../crds/tests/variables/values.yaml");

/// What has to be said beside a setting, or beside its switch, for it to say something.
const BESIDE: [(&str, &str); 9] = [
    ("no_proxy", "http_proxy: \"http://other:3128\""),
    ("additional_no_proxy", "http_proxy: \"http://other:3128\""),
    ("kube_oidc_auth", "kube_oidc_url: \"https://first.example\"; kube_oidc_client_id: first"),
    ("kube_webhook_token_auth", "kube_webhook_token_auth_url: \"https://first.example\""),
    ("kube_webhook_authorization", "kube_webhook_authorization_url: \"https://first.example\""),
    ("kubernetes_audit_webhook", "audit_webhook_server_url: \"https://first.example\""),
    (
        "kube_apiserver_use_authorization_config_file",
        "kube_apiserver_authorization_config_authorizers: [{type: Node, name: node}, {type: RBAC, name: first}]",
    ),
    ("kube_apiserver_admission_control_config_file", "kube_apiserver_admission_plugins_podnodeselector_default_node_selector: zone=b"),
    ("kube_apiserver_tracing", "kube_apiserver_tracing_endpoint: \"first:4317\""),
];

/// Everything that is decided about hosts that lack a program: all steps with all that they write, or why not.
fn decided(cluster: &str, vars: &str) -> Result<String, String> {
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
    let settings = variables().filter(|row| row.effect() == Effect::Honoured && row.details().starts_with("a setting"));
    let mut idle = Vec::new();
    let mut tried = 0;
    for name in settings.map(|row| row.name) {
        let value = VALUES.lines().find_map(|line| line.split_once(": ").filter(|(known, _)| *known == name)).unwrap().1;
        let without = CLUSTER.replace("plugin: flannel", "plugin: none");
        let cluster = match name {
            OF_SEVERAL => HIGHLY_AVAILABLE,
            WITHOUT_FLANNEL => &without,
            _ => CLUSTER,
        };
        let beside = beside(name);
        let is_it = |said: &&String| said.starts_with(&format!("{name}: "));
        let others: Vec<String> = beside.iter().filter(|said| !is_it(said)).cloned().collect();
        let changed = decided(cluster, &[others, vec![format!("{name}: {value}")]].concat().join(", "));
        // What is refused whatever is set would show nothing.
        let usual = decided(cluster, &beside.join(", ")).unwrap_or_else(|refusals| panic!("{name}: {refusals}"));
        if changed == Ok(usual) {
            idle.push(name);
        }
        tried += 1;
    }
    assert!(idle.is_empty(), "these change nothing that is done: {}", idle.join(", "));
    assert!(tried >= 21, "{tried}");
}

/// What has to be said beside a setting: its switch, and what that needs, which may be the setting itself with another value.
fn beside(name: &str) -> Vec<String> {
    let switch = variable(name).unwrap().needs_switch();
    let of = |known: &str| BESIDE.iter().find(|(other, _)| *other == known).map_or("", |(_, beside)| beside);
    let needed = if of(name).is_empty() { of(switch.unwrap_or_default()) } else { of(name) };
    let needed = needed.split("; ").filter(|said| !said.is_empty()).map(str::to_owned);
    switch.map(|switch| format!("{switch}: true")).into_iter().chain(needed).collect()
}
