//! Manifests of addons: what is read out of them, and what is wrong with them.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use kok_crds::model::{Addon, Manifest, Prune};
use kok_crds::{File, MOST_MANIFEST_BYTES, Position, Problem, Role, Source, in_two_addons, read_input, read_manifest};
use proptest::prelude::*;
use serde_json::json;

fn addon(name: &str, namespace: Option<&str>) -> Addon {
    Addon {
        name: name.to_owned(),
        namespace: namespace.map(str::to_owned),
        manifest: Manifest::Files(vec!["m.yaml".into()]),
        sha256: None,
        prune: Prune::default(),
        origin: Position { file: "c.yaml".into(), line: 1, column: 1 },
        objects: Vec::new(),
    }
}

fn read(text: &str) -> Result<Addon, Vec<Problem>> {
    let addon = addon("a", None);
    read_manifest(&addon, &Source::file("m.yaml", text)).map(|objects| Addon { objects, ..addon })
}

fn problems(text: &str) -> Vec<String> {
    let told = |problem: Problem| format!("{} at {}", problem.message, problem.position.unwrap());
    read(text).unwrap_err().into_iter().map(told).collect()
}

fn object(name: &str, rest: &str) -> String {
    format!("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n{rest}")
}

/// As kubectl reads them, which means by YAML 1.1: modes of files are octal, and `yes` is true.
#[test]
fn values_are_those_that_kubectl_sends() {
    let text = object(
        "x",
        "data: {yes: no, quoted: \"no\", mode: 0644, size: 1.5, large: 18446744073709551615, nothing: , text: '1'}\nlist: [1, -2, a]\n",
    );
    let read = read(&text).unwrap();
    assert_eq!(
        read.objects[0].value,
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "list": [1, -2, "a"],
            "data": {"yes": false, "quoted": "no", "mode": 420, "size": 1.5, "large": 18_446_744_073_709_551_615_u64, "nothing": null, "text": "1"},
        })
    );
    assert_eq!(read.objects[0].name.to_string(), "ConfigMap x");
}

/// A network out of a manifest is an addon, so what leaves it goes by the same rule.
#[test]
fn what_goes_of_a_network_that_leaves_its_manifest_can_be_said() {
    let of = |network: &str| {
        let text = format!(
            "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {{name: a}}\nspec:\n  kubernetesVersion: 1.37.1\n  \
             hosts: [{{name: cp1, address: 10.0.0.11, roles: [control-plane]}}]\n  network: {{{network}}}\n"
        );
        let input = read_input(&[File { name: "c.yaml".into(), text, role: Role::Main { cluster: None } }]);
        input.cluster.map(|cluster| cluster.addons[0].prune).ok_or(input.problems)
    };
    assert_eq!(of("plugin: manifest, manifest: n.yaml").unwrap(), Prune::Objects);
    assert_eq!(of("plugin: manifest, manifest: n.yaml, prune: All").unwrap(), Prune::All);
    let problems = of("plugin: flannel, prune: All").unwrap_err();
    assert_eq!(problems[0].message, "`prune` belongs to `plugin: manifest`");
    assert!(of("plugin: manifest, manifest: n.yaml, prune: everything").is_err());
}

#[test]
fn lists_are_taken_apart_and_empty_documents_left_out() {
    let text = "---\n# nothing\n---\nkind: List\napiVersion: v1\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: a, namespace: n}}\n\
                - {apiVersion: apps/v1, kind: DeploymentList, items: [{apiVersion: apps/v1, kind: Deployment, metadata: {name: b}}]}\n";
    let names: Vec<String> = read(text).unwrap().objects.iter().map(|object| object.name.to_string()).collect();
    assert_eq!(names, ["Pod n/a", "Deployment b"]);
}

#[test]
fn definitions_of_resources_may_be_deep() {
    let deep = (0..40).fold("{type: string}".to_owned(), |inner, _| format!("{{properties: {{a: {inner}}}}}"));
    assert!(read(&object("x", &format!("schema: {deep}\n"))).is_ok());
    let deeper = (0..100).fold("{type: string}".to_owned(), |inner, _| format!("{{properties: {{a: {inner}}}}}"));
    assert!(problems(&object("x", &format!("schema: {deeper}\n")))[0].contains("too complex"));
}

#[test]
fn what_is_no_object_is_told_with_its_place() {
    assert_eq!(problems("just words\n"), ["the manifest holds text, which is no object of Kubernetes at m.yaml:1:1"]);
    assert_eq!(problems("# nothing\n"), ["the manifest of the addon `a` holds no objects at m.yaml:1:1"]);
    assert_eq!(
        problems("apiVersion: v1\nmetadata: {generateName: x-}\n"),
        ["an object has no `kind` at m.yaml:1:1", "an object has no `metadata.name` at m.yaml:2:11"]
    );
    assert_eq!(
        problems("apiVersion: 1\nkind: A B\nmetadata: {name: x, namespace: [y]}\n"),
        [
            "an object has no `apiVersion` at m.yaml:1:13",
            "`kind` cannot be `A B` at m.yaml:2:7",
            "an object has no `metadata.namespace` at m.yaml:3:32"
        ]
    );
    assert_eq!(problems(&object("x", "data: {a: b, a: c}\n")), ["the field `a` stands twice at m.yaml:5:14"]);
    assert!(problems("kind: [\n")[0].contains("unclosed bracket"));
    assert!(problems(&" ".repeat(MOST_MANIFEST_BYTES + 1))[0].contains("8388609 bytes long"));
    let many: String = (0..1001).map(|number| object(&format!("x{number}"), "")).collect();
    assert!(problems(&many)[0].contains("holds 1001 objects"));
}

#[test]
fn an_object_belongs_to_one_place_of_one_addon() {
    let twice = format!("{}{}", object("x", ""), object("x", ""));
    assert_eq!(problems(&twice), ["the manifest has ConfigMap x twice at m.yaml:6:1"]);
    let objects = read(&object("x", "")).unwrap().objects;
    let of = |name: &str, namespace| Addon { objects: objects.clone(), ..addon(name, namespace) };
    let found = in_two_addons(&[of("a", None), of("b", Some("elsewhere")), of("c", None)]);
    let found: Vec<&str> = found.iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(found, ["the addons `a` and `c` both have ConfigMap x"]);
}

/// A manifest may hold Secrets.
#[test]
fn nothing_shows_what_objects_hold() {
    let objects = read(&object("x", "stringData: {password: hunter2}\n")).unwrap().objects;
    let inline = Addon { manifest: Manifest::Contents("hunter2".into()), objects, ..addon("a", None) };
    assert!(!format!("{inline:?}").contains("hunter2"));
}

proptest! {
    #[test]
    fn any_text_is_objects_or_problems(text in r"(---\n|[a-zA-Z]{1,8}: ?|[-\[\]{},&*|>'#!%@ \n]|kind: List\n|items:\n- |metadata: |name: x\n|apiVersion: v1\n){0,40}") {
        match read(&text) {
            Ok(addon) => prop_assert!(!addon.objects.is_empty()),
            Err(problems) => prop_assert!(problems.iter().all(|problem| problem.position.is_some())),
        }
    }
}

#[test]
fn what_goes_with_an_addon_is_said_by_a_word() {
    let read = |prune: &str| {
        let head = "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {name: c}\nspec:\n  kubernetesVersion: 1.37.1\n";
        let hosts = "  hosts: [{name: cp1, address: 192.0.2.11, roles: [control-plane]}]\n";
        let text = format!("{head}{hosts}  addons: [{{name: a, manifest: a.yaml{prune}}}]\n");
        kok_crds::read_cluster("c.yaml", &text).map(|cluster| cluster.addons[0].prune)
    };
    assert_eq!(read("").unwrap(), Prune::Objects);
    assert_eq!(read(", prune: Objects").unwrap(), Prune::Objects);
    assert_eq!(read(", prune: All").unwrap(), Prune::All);
    let problems = read(", prune: all").unwrap_err();
    assert!(problems[0].to_string().contains("it is one of Objects, All"), "{problems:?}");
}
