#![allow(clippy::unwrap_used, reason = "these are tests")]

use super::super::test_files::{parse, read_line};
use super::{Arguments, Failure, Wanted, snapshot, wanted};

const FILES: &str = "apiVersion: kubean.io/v1alpha1\nkind: Cluster\nmetadata: {name: c}\nspec:\n  kubernetesVersion: 1.37.1\n  hosts:\n
  - {name: cp1, address: 10.0.0.11, roles: [control-plane]}\n  - {name: cp2, address: 10.0.0.12, roles: [control-plane]}\n
  - {name: cp3, address: 10.0.0.13, roles: [control-plane]}\n  - {name: w1, address: 10.0.0.14, roles: [worker]}\n";

fn read(operation: &str, line: &[&str]) -> Result<Wanted, Failure> {
    read_line(FILES, ("recover-control-plane.yml", operation), line, wanted)
}

#[test]
fn an_operation_has_agreed_to_what_it_says_and_to_nothing_else() {
    let of = |operation: &str, line: &[&str]| {
        let Wanted { lost, from, agreed, .. } = read(operation, line).map_err(|failure| format!("{failure:?}")).unwrap();
        (lost.join(","), from.map(|from| from.display().to_string()).unwrap_or_default(), agreed.is_some())
    };
    assert_eq!(of("-e node=cp1,cp2", &[]), ("cp1,cp2".to_owned(), String::new(), true));
    assert_eq!(of("-e etcd_snapshot=/s.db", &[]), (String::new(), "/s.db".to_owned(), true));
    assert_eq!(of("-e node=cp1", &["--lost", "cp2"]), ("cp2".to_owned(), String::new(), false));
    assert_eq!(of("-e node=cp1", &["--member", "cp2"]), ("cp1".to_owned(), String::new(), false));
    assert_eq!(of("", &["--lost", "cp1,cp2"]), ("cp1,cp2".to_owned(), String::new(), false));
}

#[test]
fn what_can_not_be_meant_is_said_before_any_host_is_asked() {
    let refused = |operation: &str, line: &[&str]| {
        let failure = read(operation, line).err().unwrap();
        assert!(failure.hint.is_some(), "{failure:?}");
        (failure.what.clone(), failure.at.unwrap_or_default())
    };
    assert_eq!(refused("", &["--lost", "w1"]), ("w1 is no host with a member of etcd or a control plane".to_owned(), "--lost".to_owned()));
    assert_eq!(refused("-e node=w1", &[]).1, "--lost");
    assert_eq!(refused("", &["--member", "cp9"]).1, "--member");
    assert!(refused("", &["--member", "cp1", "--lost", "cp1,cp2"]).0.contains("given up"));
    for (one, other) in [("--continue", "--undo"), ("--undo", "--from=/s.db"), ("--continue", "--member=cp1")] {
        assert!(parse::<Arguments>(["recover", "-f", "c.yaml", one, other]).is_err(), "{one} {other}");
    }
}

#[test]
fn a_file_that_is_no_snapshot_is_named_with_its_option() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    std::fs::write(&path, b"no snapshot").unwrap();
    let failure = snapshot(&path).unwrap_err();
    assert_eq!(failure.at.as_deref(), Some("--from"));
    assert!(failure.what.contains("s.db can't be recovered from") && failure.hint.is_some(), "{failure:?}");
}
