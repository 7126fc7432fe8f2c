//! What of a folder is read, and what is said of the rest.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use super::{CLUSTER, ClusterFiles, ExtraVars, folder, refused};

fn input(folder: &Path) -> kok_crds::Input {
    ClusterFiles { files: vec![folder.to_owned()], ..Default::default() }.input(&ExtraVars::default()).unwrap()
}

fn notices(input: &kok_crds::Input) -> Vec<String> {
    input.notices.iter().map(|notice| notice.message.clone()).collect()
}

#[test]
fn of_two_inventories_one_is_read_and_that_is_said() {
    let folder = folder();
    let path = folder.path().join("berlin");
    fs::write(path.join("inventory.ini"), "[all]\n").unwrap();
    let input = input(&path);
    let notice = input.notices.first().unwrap().to_string();
    assert!(notice.contains("inventory.ini` is not read") && notice.contains("hosts.yaml` is"), "{notice}");
    assert!(input.cluster.is_some());
}

#[test]
fn a_folder_of_manifests_is_read_whole() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("cluster.yaml", CLUSTER);
    write(
        "operation.yml",
        "apiVersion: kubean.io/v1alpha1\nkind: ClusterOperation\nmetadata: {name: o}\nspec: {cluster: bern, actionType: playbook, action: cluster.yml}\n",
    );
    write("values.yaml", "a: b\n");
    write("README.md", "no manifest");
    let input = input(folder.path());
    assert_eq!(input.cluster.as_ref().unwrap().name, "bern");
    assert_eq!(input.operations.len(), 1);
    let notices = notices(&input);
    assert!(notices.len() == 1 && notices.concat().contains("values.yaml` is not read"), "{notices:?}");
}

/// An object of Kubernetes may be called as inventories are: its text says what it is.
#[test]
fn manifests_are_told_by_their_text_and_not_by_their_names() {
    const HELD: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hosts}\ndata:\n  hosts.yml: |\n    ";
    const REFERS: &str =
        "apiVersion: kubean.io/v1alpha1\nkind: Cluster\nmetadata: {name: bern}\nspec: {hostsConfRef: {namespace: default, name: hosts}}\n";
    for name in ["hosts.yaml", "hosts.yml", "inventory.yaml", "inventory.yml"] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(name), format!("{HELD}{}", super::HOSTS)).unwrap();
        fs::write(folder.path().join("cluster.yaml"), REFERS).unwrap();
        fs::write(folder.path().join("values.yaml"), "a: b\n").unwrap();
        let input = input(folder.path());
        assert!(input.problems.iter().all(|problem| problem.message.contains("network plugin")), "{name}: {:?}", input.problems);
        assert!(notices(&input).iter().any(|notice| notice.contains("values.yaml` is not read")), "{name}: {:?}", notices(&input));
    }
}

#[test]
fn objects_beside_an_inventory_are_named_as_left_out() {
    let folder = folder();
    let path = folder.path().join("berlin");
    fs::write(path.join("dashboard.yaml"), "apiVersion: v1\nkind: Namespace\nmetadata: {name: dashboard}\n").unwrap();
    fs::write(path.join("notes.yaml"), b"\xff no text").unwrap();
    let input = input(&path);
    assert!(input.cluster.is_some());
    let notices = notices(&input);
    assert!(
        notices.iter().any(|notice| notice.starts_with("of the folder not read: ") && notice.ends_with("dashboard.yaml")),
        "{notices:?}"
    );
    assert!(!notices.concat().contains("notes.yaml"), "{notices:?}");
}

/// As after `kokctl convert -f . > cluster.yaml`: nobody but the user knows which one is meant.
#[test]
fn a_folder_with_an_inventory_and_a_cluster_says_two_things() {
    let folder = folder();
    let path = folder.path().join("berlin");
    for (name, text) in
        [("cluster.yaml", CLUSTER.to_owned()), ("cluster.json", r#"{"apiVersion": "kubean.io/v1alpha1", "kind": "Cluster"}"#.to_owned())]
    {
        fs::write(path.join(name), text).unwrap();
        let failure = refused(&path, &[]);
        assert_eq!(failure.what, "the folder describes the cluster twice");
        let hint = failure.hint.unwrap();
        assert!(hint.contains("hosts.yaml") && hint.contains(name), "{hint}");
        fs::remove_file(path.join(name)).unwrap();
    }
}

/// What an encrypted file is shows when it is opened: beside an inventory it is named as left out, and elsewhere it may be a manifest.
#[test]
fn an_encrypted_manifest_is_not_passed_over() {
    const ENCRYPTED: &str = "$ANSIBLE_VAULT;1.1;AES256\n3132\n";
    let folder = folder();
    let path = folder.path().join("berlin");
    fs::write(path.join("cluster.yaml"), ENCRYPTED).unwrap();
    let read = input(&path);
    assert!(notices(&read).iter().any(|notice| notice.contains("not read") && notice.contains("cluster.yaml")), "{:?}", notices(&read));

    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("cluster.yaml"), CLUSTER).unwrap();
    fs::write(folder.path().join("secret.yaml"), ENCRYPTED).unwrap();
    let input = ClusterFiles { files: vec![folder.path().to_owned()], ..Default::default() }.input(&ExtraVars::default());
    let said = match input {
        Ok(input) => input.problems.iter().map(ToString::to_string).collect::<String>(),
        Err(failures) => failures.iter().map(ToString::to_string).collect(),
    };
    assert!(said.contains("secret.yaml"), "{said}");
}

/// Before Vagrant is asked: the story `vagrant` has what follows.
#[test]
fn an_inventory_beside_a_vagrantfile_lists_the_hosts_twice() {
    let folder = folder();
    let path = folder.path().join("berlin");
    fs::write(path.join("Vagrantfile"), "raise 'nobody runs this'\n").unwrap();
    for given in [path.clone(), path.join("Vagrantfile")] {
        let files = ClusterFiles { files: vec![given], ..Default::default() };
        let [failure] = <[_; 1]>::try_from(files.input(&ExtraVars::default()).err().unwrap()).unwrap();
        let said = failure.to_string();
        assert!(said.contains("lists the hosts twice"), "{said}");
    }
    let itself = input(&path.join("hosts.yaml"));
    assert!(itself.cluster.is_some(), "the inventory itself may be meant");
}
