//! The variables of the files that Kubespray tests itself with (`tests/files`, August 2026), written out anew, each with the hosts of its
//! test: what becomes of each of them. What those say of the test's own machines is left out.
//!
//! `KOK_WRITE_TABLE=1 cargo test -p kok-crds --test kubespray` writes the table; then read what changed: each reason has to be one that a
//! user agrees with.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use kok_crds::{File, Input, Outcome, Role, read_input};
use serde_json::Value as Json;

const FILES: &str = include_str!("kubespray/files.jsonl");

/// What Kubespray installs where nobody says otherwise, and its sample too.
const CALICO: &str = "Calico is Kubespray's default";

struct Tested {
    name: String,
    inventory: String,
    vars: String,
}

fn files() -> Vec<Tested> {
    FILES.lines().map(|line| serde_json::from_str::<Json>(line).unwrap()).map(|json| tested(&json)).collect()
}

fn tested(json: &Json) -> Tested {
    let mut groups: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut hosts = String::new();
    for (number, of_host) in (1..).zip(json["hosts"].as_array().unwrap()) {
        writeln!(hosts, "    instance-{number}: {{ip: 10.0.0.{number}}}").unwrap();
        let of_host = of_host.as_str().unwrap().split('+');
        of_host.for_each(|group| groups.entry(group).or_default().push(format!("instance-{number}: ")));
    }
    let groups: String = groups.iter().map(|(group, hosts)| format!("    {group}: {{hosts: {{{}}}}}\n", hosts.join(", "))).collect();
    let name = json["file"].as_str().unwrap().to_owned();
    Tested { name, inventory: format!("all:\n  hosts:\n{hosts}  children:\n{groups}"), vars: json["vars"].to_string() }
}

fn read(tested: &Tested, extra: Option<&str>) -> Input {
    let file = |name: &str, text: &str, role| File { name: name.to_owned(), text: text.to_owned(), role };
    let main = file("hosts.yaml", &tested.inventory, Role::Main { cluster: None });
    let vars = file("group_vars/all.yml", &tested.vars, Role::Beside);
    let extra = extra.map(|text| file("-e", text, Role::Extra));
    read_input(&[main, vars].into_iter().chain(extra).collect::<Vec<_>>())
}

/// Why an input is refused; nothing if it isn't.
fn reasons(input: &Input) -> Vec<String> {
    let reason = |problem: &kok_crds::Problem| {
        let because = problem.because.clone().unwrap_or_default();
        if because.starts_with(CALICO) { "Calico is wanted".to_owned() } else { format!("{}: {because}", problem.message) }
    };
    input.problems.iter().map(reason).collect()
}

fn names(input: &Input, outcome: Outcome) -> String {
    let names: BTreeSet<&str> = input.variables.iter().filter(|given| given.outcome == outcome).map(|given| given.name.as_str()).collect();
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn row(tested: &Tested) -> String {
    let own = read(tested, None);
    let mut refused = reasons(&own);
    let is_calico = refused.iter().any(|reason| reason == "Calico is wanted");
    let with_flannel = is_calico.then(|| read(tested, Some("kube_network_plugin=flannel")));
    let shown = with_flannel.as_ref().unwrap_or(&own);
    if let Some(flannel) = &with_flannel {
        let of_all: BTreeSet<String> = reasons(flannel).into_iter().chain(["Calico is wanted".to_owned()]).collect();
        assert!(refused.iter().all(|reason| of_all.contains(reason)), "{}: {refused:?}", tested.name);
        refused = reasons(flannel);
    }
    let result = match (is_calico, refused.is_empty()) {
        (false, true) => "accepted",
        (false, false) => "refused",
        (true, true) => "refused for Calico alone; with `-e kube_network_plugin=flannel` accepted",
        (true, false) => "refused for Calico, and",
    };
    let reasons = refused.iter().map(|reason| reason.replace('|', "\\|")).collect::<Vec<_>>().join("; ");
    format!("| {} | {result} | {reasons} | {} | {} |\n", tested.name, names(shown, Outcome::NotYet), names(shown, Outcome::Unknown))
}

#[test]
fn the_table_of_kubesprays_own_tests_is_current() {
    let files = files();
    assert_eq!(files.len(), 65);
    let head = "| file | result | reasons | listed as not done yet | known to nobody |\n|---|---|---|---|---|\n";
    let found = files.iter().map(row).fold(head.to_owned(), |table, row| table + &row);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kubespray/table.md");
    if env::var_os("KOK_WRITE_TABLE").is_some() {
        fs::write(&path, &found).unwrap();
    }
    assert!(fs::read_to_string(path).unwrap_or_default() == found, "tests/kubespray/table.md is not what is said now:\n{found}");
}

/// Whatever is refused says what to do.
#[test]
fn each_refusal_says_why_and_what_to_do() {
    for tested in files() {
        for problem in read(&tested, None).problems.iter().chain(&read(&tested, Some("kube_network_plugin=flannel")).problems) {
            assert!(problem.because.is_some() && problem.hint.is_some(), "{}: {problem}", tested.name);
        }
    }
}

/// The commonest wish of these files after the network is what every run does.
#[test]
fn a_wish_for_renewal_is_fulfilled() {
    let wishing: Vec<Tested> = files().into_iter().filter(|tested| tested.vars.contains("\"auto_renew_certificates\":true")).collect();
    assert!(wishing.len() > 20, "{}", wishing.len());
    for tested in wishing {
        let input = read(&tested, Some("kube_network_plugin=flannel"));
        assert!(!input.problems.iter().any(|problem| problem.to_string().contains("auto_renew")), "{}", tested.name);
        let said = |notice: &kok_crds::Notice| notice.message.contains("auto_renew_certificates");
        assert!(!input.notices.iter().any(said), "{}", tested.name);
    }
}
