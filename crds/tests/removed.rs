//! Hosts that the file wants gone.
#![allow(clippy::unwrap_used, reason = "these are tests")]

use kok_crds::read_cluster;

const FILE: &str = "apiVersion: kubeonkube.clay.io/v1alpha1
kind: Cluster
metadata: {name: c}
spec:
  kubernetesVersion: 1.37.1
  removed: [REMOVED]
  hosts:
  - {name: cp1, address: 10.0.0.11, roles: [control-plane]}
  - {name: cp2, address: 10.0.0.12, roles: [control-plane]}
  - {name: w1, address: 10.0.0.13, roles: [worker]}
";

fn names(hosts: &[kok_crds::model::Host]) -> Vec<&str> {
    hosts.iter().map(|host| host.name.as_str()).collect()
}

#[test]
fn they_count_for_nothing_else() {
    let cluster = read_cluster("c.yaml", &FILE.replace("REMOVED", "cp2, w9")).unwrap();
    assert_eq!((names(&cluster.hosts), names(&cluster.leaving)), (vec!["cp1", "w1"], vec!["cp2"]));
    assert_eq!(cluster.removed, ["cp2", "w9"]);
    let before = cluster.before_removal();
    assert_eq!(names(&before.hosts), ["cp1", "w1", "cp2"]);
    // Lines are those of the file, whoever leaves.
    let line = |host: &str| FILE.lines().position(|line| line.contains(&format!("name: {host},"))).unwrap() as u64 + 1;
    for host in ["cp1", "cp2", "w1"] {
        let at = |cluster: &kok_crds::model::Cluster| cluster.host_position(host, "address").unwrap().line;
        assert_eq!((at(&cluster), at(&before)), (line(host), line(host)), "{host}");
    }
    assert!(!cluster.is_highly_available(), "the rest is what is wanted");
}

#[test]
fn what_is_left_has_to_be_a_cluster() {
    let told = |removed: &str| {
        let problems = read_cluster("c.yaml", &FILE.replace("REMOVED", removed)).unwrap_err();
        problems.iter().map(|problem| problem.message.clone()).collect::<Vec<_>>().join("\n")
    };
    assert!(told("cp1, cp2").contains("control-plane"), "{}", told("cp1, cp2"));
    assert_eq!(told(""), "2 hosts have the role `control-plane`", "an even number");
    assert!(told("w1, w1").contains("stands twice"), "{}", told("w1, w1"));
    assert!(told("'not a name'").contains("cannot be the name of a host"), "{}", told("'not a name'"));
}
