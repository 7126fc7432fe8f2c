#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::{Args as _, Command, FromArgMatches as _};
use kok_crds::{File, Input, Outcome, Role, read_input};
use kok_tasks::bundle::INDEX;

use super::text::of_variables;
use super::{Arguments, BundleFolder, Document, compare, is_valid, operation_line, run};
use crate::failure::Failure;
use crate::remote::tests::harness::keygen;

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

fn validated(line: &[&str]) -> Result<(), Vec<Failure>> {
    let line = ["validate"].iter().chain(line);
    let matches = Arguments::augment_args(Command::new("validate")).get_matches_from(line);
    run(&Arguments::from_arg_matches(&matches).unwrap())
}

/// What every other verb refuses is not valid.
#[test]
fn a_file_with_a_private_key_has_to_be_private() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cluster.yaml");
    let sample = include_str!("../../../tests/corpus/good/kube-on-kube-readme/cluster.yaml");
    let line = sample.lines().find(|line| line.starts_with("  ssh-privatekey:")).unwrap();
    let key = folder.path().join("key");
    keygen(&key, &["-t", "ed25519"]);
    let with_key = format!("  ssh-privatekey: {}", STANDARD.encode(fs::read(&key).unwrap()));
    fs::write(&path, sample.replace(line, &with_key)).unwrap();
    let with_mode = |mode: u32| {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        validated(&["-f", path.to_str().unwrap()])
    };
    assert_eq!(with_mode(0o600), Ok(()));
    let [failure] = <[_; 1]>::try_from(with_mode(0o644).unwrap_err()).unwrap();
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
    let lines: Vec<String> = input.operations.iter().map(operation_line).collect();
    assert_eq!(
        lines,
        ["operation o: ping (`kokctl check`), cluster (`kokctl plan`)", "operation old, which has ended: reset (`kokctl reset`)"]
    );
    let json = serde_json::to_value(Document::new(&input, None)).unwrap();
    let step = json.pointer("/operations/0/steps/1").unwrap();
    assert_eq!((step.get("action").unwrap(), step.get("here").unwrap()), (&"cluster".into(), &"`kokctl plan`".into()));
    assert_eq!(json.pointer("/operations/1/ended"), Some(&true.into()));
}

#[test]
fn what_needs_attention_is_listed_and_the_rest_is_counted() {
    let text = HOSTS.replace("VERSION", "1.37.1").replace(
        "[kube_control_plane]",
        "argocd_enabled=false\nmetrics_server_enabled=true\ncalico_mtu=1440\nmy_own=1\n[kube_control_plane]",
    );
    let input = read("inventory.ini", text);
    let lines = |all| of_variables(&input.variables, (all, "-f inventory.ini"));
    let (few, all) = (lines(false), lines(true));
    assert_eq!(few.first(), all.first(), "the same is counted");
    assert!(
        few.concat().contains("7 lines set variables: 3 honoured, 1 so anyway, 1 without meaning here, 1 not done yet, 1 unknown"),
        "{few:?}"
    );
    assert!(few.iter().any(|line| line == "`kokctl validate -f inventory.ini --all` lists all of them"), "{few:?}");
    let of = |lines: &[String], name: &str| lines.iter().filter(|line| line.starts_with(name)).count();
    for name in ["metrics_server_enabled", "my_own"] {
        assert_eq!((of(&few, name), of(&all, name)), (1, 1), "{name}");
    }
    for name in ["argocd_enabled", "calico_mtu", "kube_version", "ip "] {
        assert_eq!((of(&few, name), of(&all, name)), (0, 1), "{name}");
    }
    assert!(!all.concat().contains("--all"));
    assert_eq!(of_variables(&[], (false, "")), Vec::<String>::new());
}

/// Every other verb looks at them before it reaches a host.
#[test]
fn keys_to_log_in_with_are_judged() {
    let folder = tempfile::tempdir().unwrap();
    let (path, key) = (folder.path().join("cluster.yaml"), folder.path().join("key"));
    let text = "
apiVersion: kubean.io/v1alpha1
kind: Cluster
metadata: {name: c}
spec:
  kubernetesVersion: 1.37.1
  ssh: {privateKeyFile: KEY}
  hosts: [{name: cp1, address: 10.0.0.11, roles: [control-plane]}, {name: w1, address: 10.0.0.12, roles: [worker]}]
";
    fs::write(&path, text.replace("KEY", key.to_str().unwrap())).unwrap();
    // As a file of its own and with -f: a file is a file.
    let wrong = || {
        let file = path.to_str().unwrap();
        let both = [validated(&[file]), validated(&["-f", file])];
        assert_eq!(both[0], both[1]);
        both.into_iter().next().unwrap().err().unwrap_or_default()
    };
    let one = || <[Failure; 1]>::try_from(wrong()).unwrap();
    let [missing] = one();
    assert!(missing.what.ends_with("key can't be read") && missing.at.unwrap().contains("cluster.yaml:7:"));
    fs::write(&key, "no key\n").unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(one()[0].what.ends_with("is not a private key"));
    fs::remove_file(&key).unwrap();
    keygen(&key, &["-t", "ed25519"]);
    assert_eq!(wrong(), []);
    fs::set_permissions(&key, fs::Permissions::from_mode(0o640)).unwrap();
    let [open] = one();
    assert!(open.what.contains("open to others (mode 0640)") && open.hint.unwrap().starts_with("chmod 600"));
}
