//! Descriptions of components, and the keys that stand for them.

use std::collections::BTreeSet;

use super::*;
use crate::release::build::{alone, leave_out_unbuilt, wanted};
use crate::release::key::{Surroundings, component_key};
use crate::release::paths::default_recipes;
use crate::release::recipe::{Recipe, split_reference};
use crate::release::source::{Component, discover};

const RECIPE: &str = "\
go:
  binaries:
    tool: example.org/tool
  define:
    main.version: v${version}
    main.minor: ${minor}
files:
  - name: tool
    path: example.org/v${version}/tool-${architecture}.tgz
    archive:
      tool-${version}/tool: tool
images:
  - name: tool
    reference: example.org/tool:v${version}
    contents:
      /bin/tool: tool
    entrypoint: [/bin/tool]
";

fn parse(text: &str) -> Result<Recipe, String> {
    Recipe::parse(text, "1.2.3", "amd64")
}

#[test]
fn placeholders_are_filled_in() {
    let recipe = parse(RECIPE).unwrap();
    assert_eq!(recipe.go.define["main.version"], "v1.2.3");
    assert_eq!(recipe.go.define["main.minor"], "2");
    assert_eq!(recipe.files[0].path, "example.org/v1.2.3/tool-amd64.tgz");
    assert_eq!(recipe.files[0].archive.as_ref().unwrap()["tool-1.2.3/tool"], "tool");
    assert_eq!(recipe.images[0].reference, "example.org/tool:v1.2.3");
}

#[test]
fn mistakes_are_refused_with_their_place_or_name() {
    // What is replaced, by what, and what the error must say.
    let mistakes = [
        ("  define:", "  defines:", "line 4"),
        ("go:\n", "group: tools\ngo:\n", "onRequest"),
        ("files:", "file:", "file"),
        ("binaries:\n    tool: example.org/tool", "binaries: {}", "go.binaries"),
        ("${minor}", "${minro}", "${minro}"),
        ("${minor}", "${minor", "without `}`"),
        ("v${version}\n    main", "v ${version}\n    main", "space"),
        ("tool-${architecture}.tgz", "tool", ".tar.gz"),
        ("    path: example.org/", "    path: /", "plain relative path"),
        ("tool-${version}/tool: tool", "../tool: tool", "plain relative path"),
        ("tool-${version}/tool: tool", "x: other", "\"other\""),
        ("    archive:", "    binary: tool\n    archive:", "either"),
        ("example.org/tool:v${version}", "example.org/tool", "reference"),
        ("      /bin/tool: tool", "      bin/tool: tool", "absolute"),
        ("      /bin/tool: tool", "      /bin/tool: other", "\"other\""),
        ("[/bin/tool]", "[]", "entrypoint"),
        ("    entrypoint:", "    user: nobody\n    entrypoint:", "two numbers"),
        ("    entrypoint:", "    stopSignal: USR1\n    entrypoint:", "name of a signal"),
        ("    entrypoint:", "    packagePrograms: [/bin/x]\n    entrypoint:", "`debian`"),
        ("files:", "debian: {packages: []}\nfiles:", "debian.packages"),
        ("    tool: example.org/tool", "    tool: example.org/tool\n    more: other.org/tool/v2", "two packages"),
        ("images:", "  - name: tool\n    path: x\n    binary: tool\nimages:", "two files"),
    ];
    for (from, to, expected) in mistakes {
        let text = RECIPE.replacen(from, to, 1);
        assert_ne!(text, RECIPE, "{from}");
        let error = parse(&text).unwrap_err();
        assert!(error.contains(expected), "{to}: {error}");
    }
}

#[test]
fn references_need_a_registry_and_a_tag_and_make_safe_paths() {
    assert_eq!(split_reference("registry.k8s.io/coredns/coredns:v1.14.6"), Some(("registry.k8s.io/coredns/coredns", "v1.14.6")));
    for bad in ["pause:3", "a/pause", "a/pause:", "a/../pause:3", "/a/pause:3", "a/pause:..", "a/pa use:3", "a/b:c/d"] {
        assert_eq!(split_reference(bad), None, "{bad}");
    }
}

#[test]
fn every_component_of_the_tree_is_described_well() {
    let components = discover(&default_recipes(), "amd64").unwrap();
    let names: Vec<&str> = components.iter().map(|component| component.name.as_str()).collect();
    for name in
        ["kubernetes", "etcd", "containerd", "runc", "cni-plugins", "coredns", "flannel", "flannel-cni-plugin", "pause", "echo", "haproxy"]
    {
        assert!(names.contains(&name), "{name}");
    }
    let versions = |name: &str| components.iter().filter(|component| component.name == name).count();
    assert!(["kubernetes", "etcd", "coredns", "containerd"].into_iter().all(|name| versions(name) > 1), "what upgrades go between");
    for component in components {
        let has = |file: &str| component.files.iter().any(|(path, _)| path == file);
        let own_source = has("main.go");
        let no_go = component.recipe.go.binaries.is_empty();
        assert!(own_source || no_go || has("go.sum"), "{} has no go.sum", component.label());
    }
}

fn component(recipes: &Path) -> Component {
    discover(recipes, "amd64").unwrap().remove(0)
}

fn write_component(recipes: &Path) -> PathBuf {
    let folder = recipes.join("tool/1.2.3");
    fs::create_dir_all(folder.join("inner")).unwrap();
    fs::write(folder.join("component.yaml"), RECIPE).unwrap();
    fs::write(folder.join("go.mod"), "module example.org/x\n\ngo 1.26.0\n").unwrap();
    fs::write(folder.join("inner/main.go"), "package main\n").unwrap();
    folder
}

#[test]
fn the_key_changes_with_every_file_and_with_nothing_else_of_the_folder() {
    let recipes = tempfile::tempdir().unwrap();
    let folder = write_component(recipes.path());
    let plain = surroundings();
    let key = || component_key(&component(recipes.path()), &plain);
    let before = key();
    fs::write(folder.join("inner/main.go"), "package main\n").unwrap();
    assert_eq!(key(), before, "written again with the same content");
    fs::write(folder.join("inner/main.go"), "package main \n").unwrap();
    let changed = key();
    assert_ne!(changed, before, "content");
    fs::rename(folder.join("inner/main.go"), folder.join("inner/other.go")).unwrap();
    assert_ne!(key(), changed, "name");
    fs::remove_file(folder.join("inner/other.go")).unwrap();
    assert_ne!(key(), changed, "removed");
    write_component(recipes.path());
    assert_eq!(key(), before, "as it was");
    fs::rename(&folder, recipes.path().join("tool/1.2.4")).unwrap();
    assert_ne!(key(), before, "version");
}

#[test]
fn what_is_built_on_request_is_left_out_unless_it_is_asked_for_by_name() {
    let recipes = tempfile::tempdir().unwrap();
    let folder = write_component(recipes.path());
    fs::write(folder.join("component.yaml"), format!("onRequest: true\n{RECIPE}")).unwrap();
    let asked = |names: &[&str]| {
        let with: BTreeSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
        wanted(vec![component(recipes.path())], &with).map(|components| components.len())
    };
    assert_eq!(asked(&[]).unwrap(), 0);
    assert_eq!(asked(&["tool"]).unwrap(), 1);
    fs::write(folder.join("component.yaml"), format!("onRequest: true\ngroup: tools\n{RECIPE}")).unwrap();
    assert_eq!((asked(&[]).unwrap(), asked(&["tool"]).unwrap(), asked(&["tools"]).unwrap()), (0, 1, 1));
    fs::write(folder.join("component.yaml"), format!("onRequest: true\n{RECIPE}")).unwrap();
    let error = asked(&["tol"]).unwrap_err().to_string();
    assert!(error.contains("no component tol") && error.contains("there is: tool"), "{error}");
}

/// All of a group or nothing of it: a release without its etcd is none.
#[test]
fn of_what_is_taken_where_it_is_built_nothing_is_missing() {
    let group = "older-release".to_owned();
    let all = || wanted(discover(&default_recipes(), "amd64").unwrap(), &BTreeSet::from([group.clone()])).unwrap();
    let with = |unbuilt: &str| {
        let mut components = all();
        let said = leave_out_unbuilt(&mut components, [&group].into_iter(), |component| Ok(component.label() != unbuilt)).unwrap();
        (components.iter().map(Component::label).collect::<BTreeSet<_>>(), said)
    };
    let (whole, said) = with("nothing");
    assert!(whole.contains("kubernetes 1.36.3") && whole.contains("etcd 3.6.8") && said.is_empty(), "{whole:?}");
    let (rest, said) = with("etcd 3.6.8");
    assert_eq!(said, ["without older-release: etcd 3.6.8 is not built yet"]);
    assert!(["kubernetes 1.37.1", "etcd 3.7.0"].iter().all(|label| rest.contains(*label)), "{rest:?}");
    assert!(!rest.iter().any(|label| label.contains("1.36.3") || label.contains("3.6.")), "{rest:?}");
    // What is always built is never left out.
    assert_eq!(with("etcd 3.7.0").0, whole);
}

#[test]
fn a_component_can_be_built_alone() {
    let components = || discover(&default_recipes(), "amd64").unwrap();
    let names: Vec<String> = alone(components(), "distribution").unwrap().into_iter().map(|component| component.name).collect();
    assert_eq!(names, ["distribution"]);
    assert!(!wanted(components(), &BTreeSet::new()).unwrap().iter().any(|component| component.name == "distribution"), "no bundle has it");
    let error = alone(components(), "distributor").unwrap_err().to_string();
    assert!(error.contains("no component distributor") && error.contains("distribution"), "{error}");
}

fn surroundings() -> Surroundings<'static> {
    Surroundings { recipe_version: 1, go_version: "go1.26.8", architecture: "amd64", compiler: None, packages: &[], host_files: &[] }
}

#[test]
fn the_key_changes_with_everything_around_the_folder() {
    let recipes = tempfile::tempdir().unwrap();
    write_component(recipes.path());
    let component = component(recipes.path());
    let pair = [("nftables".to_owned(), "1.0.6".to_owned())];
    let other = [("nftables".to_owned(), "1.0.9".to_owned())];
    let variants = [
        surroundings(),
        Surroundings { recipe_version: 2, ..surroundings() },
        Surroundings { go_version: "go1.26.9", ..surroundings() },
        Surroundings { architecture: "arm64", ..surroundings() },
        Surroundings { compiler: Some("gcc 12"), ..surroundings() },
        Surroundings { packages: &pair, ..surroundings() },
        Surroundings { packages: &other, ..surroundings() },
        Surroundings { host_files: &pair, ..surroundings() },
    ];
    let keys: std::collections::BTreeSet<String> = variants.iter().map(|around| component_key(&component, around)).collect();
    assert_eq!(keys.len(), variants.len());
}

#[test]
fn folders_that_hold_no_component_are_told_by_name() {
    let recipes = tempfile::tempdir().unwrap();
    assert!(discover(recipes.path(), "amd64").unwrap_err().to_string().contains("there is no component"));
    let folder = write_component(recipes.path());
    fs::write(folder.join("go.mod"), "module x\n").unwrap();
    assert!(discover(recipes.path(), "amd64").unwrap_err().to_string().contains("go.mod"));
    fs::remove_file(folder.join("component.yaml")).unwrap();
    assert!(discover(recipes.path(), "amd64").unwrap_err().to_string().contains("component.yaml"));
}
