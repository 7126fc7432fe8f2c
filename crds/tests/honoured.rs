//! A variable that is called honoured changes the cluster. A row that is honoured and not tried here fails the test.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeSet;

use kok_crds::model::{Cluster, Settings};
use kok_crds::{File, Position, Role, VariableEffect, read_cluster, read_input, variables};

#[path = "variables/beside.rs"]
mod beside;

use beside::{beside, usual, values};

/// What the inventory says before. Three variables of time do something only together.
const HOST: &str = "all: {hosts: {cp1: {ip: 10.0.0.11}}, children: {kube_control_plane: {hosts: {cp1: }}}, vars: {
  kube_network_plugin: flannel, kube_version: 1.37.1, ntp_enabled: true, ntp_manage_config: true, ntp_servers: [a.example]}}";

/// The same, where the address is that of SSH.
const WITHOUT_IP: &str = "all: {hosts: {cp1: {ansible_host: 10.0.0.11}}, children: {kube_control_plane: {hosts: {cp1: }}}, vars: {
  kube_network_plugin: flannel, kube_version: 1.37.1}}";

/// The same, with a network that may carry Services.
const WITHOUT_FLANNEL: &str = "all: {hosts: {cp1: {ip: 10.0.0.11}}, children: {kube_control_plane: {hosts: {cp1: }}}, vars: {
  kube_network_plugin: none, kube_version: 1.37.1}}";

/// What decides how an inventory is read has a test of its own.
const OF_READING: &str = "ignore_assert_errors";

fn read(inventory: &str, extra: Option<String>) -> Cluster {
    let main = File { name: "hosts.yaml".to_owned(), text: inventory.to_owned(), role: Role::Main { cluster: None } };
    let extra = extra.map(|text| File { name: "-e".to_owned(), text, role: Role::Extra });
    let input = read_input(&[main].into_iter().chain(extra).collect::<Vec<_>>());
    let problems: Vec<_> = input.problems.iter().map(ToString::to_string).collect();
    without_places(input.cluster.unwrap_or_else(|| panic!("{}", problems.join("\n"))))
}

fn without_places(mut cluster: Cluster) -> Cluster {
    cluster.positions = Default::default();
    for host in &mut cluster.hosts {
        host.origin = Position { file: "f".into(), line: 1, column: 1 };
    }
    cluster
}

#[test]
fn every_honoured_variable_changes_the_cluster() {
    let honoured: BTreeSet<&str> = variables().filter(|row| row.effect() == VariableEffect::Honoured).map(|row| row.name).collect();
    let tried: BTreeSet<&str> = values().map(|(name, _)| name).chain([OF_READING]).collect();
    assert_eq!(honoured, tried);
    for (name, value) in values() {
        let inventory = match name {
            "access_ip" => WITHOUT_IP,
            "kube_proxy_remove" | "kube_controller_manager_allocate_node_cidrs" => WITHOUT_FLANNEL,
            _ => HOST,
        };
        let changed = read(inventory, Some(format!("{{{}\"{name}\": {value}}}", beside(name))));
        let usual = Some(format!("{{{}}}", usual(name))).filter(|text| text != "{}");
        assert!(changed != read(inventory, usual), "{name} changes nothing");
    }
}

#[test]
fn every_setting_also_works_in_the_inline_form() {
    let settings = variables().filter(|row| row.effect() == VariableEffect::Honoured && row.field().is_none() && row.name != OF_READING);
    let mut tried = 0;
    for row in settings {
        let (_, value) = values().find(|(name, _)| *name == row.name).unwrap();
        // Here the plugin is a field.
        let (beside, calico) = (beside(row.name), "kube_network_plugin: calico, ");
        let plugin = if beside.contains(calico) { "calico" } else { "none" };
        let text = format!(
            "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {{name: a}}\nspec: {{kubernetesVersion: 1.37.1, \
             hosts: [{{name: cp1, address: 10.0.0.11, roles: [control-plane]}}], network: {{plugin: {plugin}}}, vars: {{{}{}: {value}}}}}\n",
            beside.replace(calico, ""),
            row.name
        );
        let cluster = read_cluster("f", &text).unwrap_or_else(|problems| panic!("{}: {problems:?}", row.name));
        assert_ne!(cluster.settings, Settings::default(), "{}", row.name);
        tried += 1;
    }
    assert!(tried >= 21, "{tried}");
}

/// What is said of two hosts of which both are members of etcd, and these are control planes: notices and problems.
fn said_of_two(control_planes: &str, vars: &str) -> (Vec<String>, Vec<String>) {
    let text = format!(
        "all: {{hosts: {{a: {{ip: 10.0.0.1}}, b: {{ip: 10.0.0.2}}}}, vars: {{kube_network_plugin: flannel, kube_version: 1.37.1, {vars}}}, \
         children: {{kube_control_plane: {{hosts: {{{control_planes}}}}}, kube_node: {{hosts: {{a: , b: }}}}, etcd: {{hosts: {{a: , b: }}}}}}}}"
    );
    let input = read_input(&[File { name: "hosts.yaml".to_owned(), text, role: Role::Main { cluster: None } }]);
    (input.notices.iter().map(ToString::to_string).collect(), input.problems.iter().map(ToString::to_string).collect())
}

#[test]
fn an_even_number_of_etcd_members_is_a_notice_for_who_ignores_it() {
    let read = |vars: &str| {
        let (notices, problems) = said_of_two("a: ", vars);
        let says = |texts: &[String]| texts.iter().any(|text| text.contains("even number of members"));
        (says(&notices), says(&problems))
    };
    assert_eq!(read("ignore_assert_errors: false"), (false, true));
    assert_eq!(read("ignore_assert_errors: true"), (true, false));
}

/// Members of etcd that are the control planes are told as these.
#[test]
fn an_even_number_of_control_planes_with_etcd_is_told_once() {
    let (notices, problems) = said_of_two("a: , b: ", "ignore_assert_errors: false");
    assert_eq!((notices.len(), problems.len()), (0, 1), "{notices:?} {problems:?}");
}

#[test]
fn text_of_the_command_line_becomes_what_the_variable_is() {
    for text in ["kubelet_fail_swap_on=no", "kubelet_fail_swap_on=False", "kubelet_fail_swap_on=false"] {
        assert!(!read(HOST, Some(text.to_owned())).settings.host.kubelet_fail_swap_on, "{text}");
    }
    assert_eq!(read(HOST, Some("kube_network_node_prefix=26".to_owned())).network.node_prefix, 26);
}
