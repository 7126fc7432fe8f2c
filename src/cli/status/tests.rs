#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

use kok_crds::{File, Role, read_input};

use super::*;

const CLUSTER: &str = "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {name: berlin}\nspec:\n  kubernetesVersion: 1.37.1
  hosts: [{name: cp1, address: 10.0.0.11, roles: [control-plane]}]\n  addons: [{name: shop, manifest: shop.yaml}]\n";

/// What was read of a file that is gone by now, as a pipe is.
fn read(folder: &std::path::Path) -> Input {
    let name = folder.join("cluster.yaml").display().to_string();
    read_input(&[File { name, text: CLUSTER.to_owned(), role: Role::Main { cluster: None } }])
}

#[test]
fn what_the_files_name_comes_to_what_was_read_of_them() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("shop.yaml"), "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n").unwrap();
    let input = read(folder.path());
    assert!(input.cluster.as_ref().unwrap().addons[0].objects.is_empty());
    assert_eq!(whole(input).unwrap().addons[0].objects.len(), 1);
}

#[test]
fn what_can_not_be_read_is_why_it_is_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let because = whole(read(folder.path())).unwrap_err();
    assert!(because.contains("the manifest of the addon `shop` can't be read") && because.contains("shop.yaml"), "{because}");
}
