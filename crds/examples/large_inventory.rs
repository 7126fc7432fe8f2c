//! How long an inventory of a thousand hosts with three hundred variables takes, from its text to the cluster, and how much memory.
//!
//!     cargo run --release -p kok-crds --example large_inventory

use std::fmt::Write as _;
use std::fs;
use std::time::Instant;

use kok_crds::{File, Role, Variable, VariableEffect, read_input, variables};

const HOSTS: usize = 1000;
const VARIABLES: usize = 300;

fn main() {
    let group_vars = group_vars();
    measure("variables in group_vars", &inventory(""), &group_vars);
    // Three hundred lines for each host: what a generator may write.
    let own: String = (0..VARIABLES).fold(String::new(), |text, number| text + &format!("      our_{number}: value {number}\n"));
    measure("variables of each host", &inventory(&own), &group_vars);
}

fn inventory(own: &str) -> String {
    let mut text = "all:\n  hosts:\n".to_owned();
    for number in 0..HOSTS {
        let (third, fourth) = (number / 250, number % 250 + 1);
        let _ = write!(text, "    node{number}:\n      ip: 10.1.{third}.{fourth}\n      ansible_host: 192.168.{third}.{fourth}\n{own}");
    }
    text.push_str("  children:\n    kube_control_plane: {hosts: {node0: }}\n    kube_node:\n      hosts:\n");
    (1..HOSTS).for_each(|number| _ = writeln!(text, "        node{number}:"));
    text
}

/// Variables of every kind. A third are templates: those of settings are worked out, and one of them goes over all hosts.
fn group_vars() -> String {
    let mut text = "kube_network_plugin: flannel\nkube_version: 1.37.1\nkube_pods_subnet: 10.64.0.0/12\nbase: example.org\n\
                    http_proxy: \"http://proxy.{{ base }}:3128\"\nnode_labels: {host: \"{{ inventory_hostname }}\"}\n\
                    all_hosts: \"{% for h in groups['k8s_cluster'] %}{{ hostvars[h].ip }},{% endfor %}\"\n\
                    no_proxy: \"{{ all_hosts }}.{{ base }}\"\n"
        .to_owned();
    let harmless = |row: &&Variable| !row.is_family() && row.effect() == VariableEffect::NoMeaning && !row.name.starts_with("ansible_");
    // What is compared with what holds anyway has to be worked out for that.
    let flags =
        variables().filter(|row| row.kind == "boolean" && row.effect() != VariableEffect::NoMeaning && !row.name.starts_with("ansible_"));
    let flags: Vec<String> = flags.map(|row| format!("{}: \"{{{{ {} }}}}\"\n", row.name, row.default)).take(VARIABLES / 3).collect();
    text.extend(flags.iter().map(String::as_str));
    // Of some only what holds anyway means nothing, and says nothing else.
    let idle = variables().filter(harmless).filter(|row| row.name != "resolvconf_mode" && !row.details().contains("error"));
    for row in idle.take(VARIABLES - 8 - flags.len()) {
        let _ = writeln!(text, "{}: x", row.name);
    }
    text
}

fn measure(what: &str, inventory: &str, group_vars: &str) {
    let files = [
        File { name: "hosts.yaml".to_owned(), text: inventory.to_owned(), role: Role::Main { cluster: None } },
        File { name: "group_vars/all.yml".to_owned(), text: group_vars.to_owned(), role: Role::Beside },
    ];
    let started = Instant::now();
    let input = read_input(&files);
    let took = started.elapsed();
    let hosts = input.cluster.map_or(0, |cluster| cluster.hosts.len());
    if let Some(problem) = input.problems.first() {
        print(&problem.to_string());
    }
    let peak = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = peak.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("?").trim().to_owned();
    print(&format!(
        "{what}: {} KiB, {hosts} hosts, {} lines about variables, {} problems, {} ms, at most {peak} of memory so far",
        (inventory.len() + group_vars.len()) >> 10,
        input.variables.len(),
        input.problems.len(),
        took.as_millis()
    ));
}

#[allow(clippy::print_stdout)]
fn print(text: &str) {
    println!("{text}");
}
