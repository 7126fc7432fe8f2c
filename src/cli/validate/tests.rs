#![allow(clippy::unwrap_used)]
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use clap::{Args as _, Command, FromArgMatches as _};
use kok_crds::{File, Input, Outcome, Role, read_input};
use kok_tasks::bundle::INDEX;

use super::{Arguments, BundleFolder, Document, compare, is_valid, run, told};

const HOSTS: &str = "
[all:vars]
kube_network_plugin=flannel
kube_version=VERSION
[kube_control_plane]
cp1 ip=10.0.0.11
[kube_node]
cp1
";

fn bundle() -> (tempfile::TempDir, BundleFolder) {
    let folder = tempfile::tempdir().unwrap();
    let index = r#"{"format": 1, "kubernetes": [{"version": "1.37.1", "images": {}}], "files": [], "images": []}"#;
    fs::write(folder.path().join(INDEX), index).unwrap();
    let bundle = BundleFolder::open(folder.path()).unwrap();
    (folder, bundle)
}

fn read(name: &str, text: String) -> Input {
    read_input(&[File { name: name.to_owned(), text, role: Role::Main { cluster: None } }])
}

#[test]
fn the_bundle_has_to_have_the_version() {
    let (_folder, bundle) = bundle();
    for version in ["1.99.0", "1.37.1-rc.1"] {
        let mut input = read("inventory.ini", HOSTS.replace("VERSION", version));
        assert!(is_valid(&input), "{:?}", input.problems);
        compare(&mut input, &bundle);
        assert!(!is_valid(&input));
        let problem = input.problems.first().unwrap();
        assert_eq!(problem.because.as_deref(), Some("it has 1.37.1"));
        assert_eq!(problem.position.as_ref().unwrap().line, 4);
        let row = input.variables.iter().find(|given| given.name == "kube_version").unwrap();
        assert_eq!(row.outcome, Outcome::Refused);
    }
    let mut input = read("inventory.ini", HOSTS.replace("VERSION", "1.37.1"));
    compare(&mut input, &bundle);
    assert!(is_valid(&input));
}

#[test]
fn the_bundle_has_to_have_the_containerd_that_is_asked_for() {
    let (_folder, bundle) = bundle();
    let text = HOSTS.replace("VERSION", "1.37.1").replace("[kube_control_plane]", "containerd_version=2.2.1\n[kube_control_plane]");
    let mut input = read("inventory.ini", text);
    assert!(is_valid(&input), "{:?}", input.problems);
    compare(&mut input, &bundle);
    let problem = input.problems.first().unwrap();
    assert_eq!((problem.message.as_str(), problem.position.as_ref().unwrap().line), ("the bundle has no containerd 2.2.1", 5));
    let row = input.variables.iter().find(|given| given.name == "containerd_version").unwrap();
    assert_eq!(row.outcome, Outcome::Refused);
}

/// What every other verb refuses is not valid.
#[test]
fn a_file_with_a_private_key_has_to_be_private() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cluster.yaml");
    fs::write(&path, include_str!("../../../tests/corpus/good/kube-on-kube-readme/cluster.yaml")).unwrap();
    let validated = |mode: u32| {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let matches = Arguments::augment_args(Command::new("validate")).get_matches_from(["validate", "-f", path.to_str().unwrap()]);
        run(&Arguments::from_arg_matches(&matches).unwrap())
    };
    assert_eq!(validated(0o600), Ok(()));
    let [failure] = <[_; 1]>::try_from(validated(0o644).unwrap_err()).unwrap();
    assert_eq!((failure.what.as_str(), failure.kind.exit_code()), ("a private key is open to others", 2));
}

#[test]
fn operations_are_listed_with_what_they_would_run() {
    let text = "
apiVersion: kubean.io/v1alpha1
kind: Cluster
metadata: {name: c}
spec:
  kubernetesVersion: 1.37.1
  hosts: [{name: cp1, address: 10.0.0.11, roles: [control-plane, worker]}]
---
apiVersion: kubean.io/v1alpha1
kind: ClusterOperation
metadata: {name: o}
spec: {cluster: c, actionType: playbook, action: cluster.yml, extraArgs: -C, preHook: [{actionType: playbook, action: ping.yml}]}
---
apiVersion: kubean.io/v1alpha1
kind: ClusterOperation
metadata: {name: old}
spec: {cluster: c, actionType: playbook, action: reset.yml}
status: {status: Succeeded}
";
    let input = read("c.yaml", text.to_owned());
    let lines: Vec<String> = input.operations.iter().map(told).collect();
    assert_eq!(
        lines,
        ["operation o: ping (`kokctl check`), cluster (`kokctl plan`)", "operation old, which has ended: reset (`kokctl reset`)"]
    );
    let json = serde_json::to_value(Document::new(&input, None)).unwrap();
    let step = json.pointer("/operations/0/steps/1").unwrap();
    assert_eq!((step.get("action").unwrap(), step.get("here").unwrap()), (&"cluster".into(), &"`kokctl plan`".into()));
    assert_eq!(json.pointer("/operations/1/ended"), Some(&true.into()));
}
