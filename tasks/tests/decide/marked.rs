//! Labels, annotations and taints of nodes.

use std::collections::BTreeMap;

use kok_crds::model::{Host, Taint, TaintEffect};
use kok_tasks::given::Given;
use kok_tasks::observe::{Annotations, Observations};
use kok_tasks::operations::{MarkNode, Operation};

use crate::operations::{diff_text, ready};
use crate::support::world::World;

const RACK: &str = "example.com/rack";

fn changes(world: &World) -> Vec<String> {
    world.plan().changes().map(|(step, change)| format!("{}: {} because {}", step.id, change.summary(), change.because)).collect()
}

/// The cluster with an annotation for each of its hosts.
fn annotated(mut world: World) -> World {
    for host in &mut world.cluster.hosts {
        host.annotations.insert(RACK.to_owned(), format!("7, {}'s \"own\"\nANNOTATIONS\n", host.name));
    }
    world
}

#[test]
fn nodes_get_what_the_file_says_of_them() {
    let world = annotated(World::bare()).converge();
    for host in &world.cluster.hosts {
        assert_eq!(world.api.annotations[&host.name], host.annotations);
    }
    assert!(changes(&world).is_empty());
}

#[test]
fn who_says_nothing_of_annotations_lacks_none() {
    let mark = MarkNode {
        node: "a".into(),
        labels: BTreeMap::new(),
        annotations: [(RACK.into(), "7".into())].into(),
        taints: Vec::new(),
        given: Given::default(),
        back: Given::default(),
    };
    let with = |annotations: Option<Annotations>| {
        diff_text(&Operation::MarkNode(mark.clone()), &Observations { node_annotations: annotations, ..ready(&[], &[]) })
    };
    let of = |value: &str| Some(Ok([("a".to_owned(), [(RACK.to_owned(), value.to_owned())].into())].into()));
    assert_eq!(with(of("7")), "same");
    assert_eq!(with(of("8")), format!("it lacks the annotation {RACK}"));
    assert_eq!(with(Some(Err("Error from server (Timeout)".into()))), "the API server does not answer: Error from server (Timeout)");
    assert_eq!(with(None), "unseen");
}

#[test]
fn what_another_hand_has_changed_is_put_right_and_its_own_are_left() {
    let mut world = annotated(World::bare()).converge();
    let of_cp1 = world.api.annotations.get_mut("cp1").unwrap();
    of_cp1.insert(RACK.to_owned(), "8".to_owned());
    of_cp1.insert("flannel.alpha.coreos.com/backend-type".to_owned(), "vxlan".to_owned());
    assert_eq!(changes(&world), [format!("cp1/control-plane/marked: mark because it lacks the annotation {RACK}")]);
    let world = world.converge();
    assert_eq!(world.api.annotations["cp1"].len(), 2);
    assert!(changes(&world).is_empty());
}

/// What the file no longer gives is taken back; what somebody else gave is his.
#[test]
fn what_the_file_no_longer_gives_is_taken_back() {
    let mut world = annotated(World::bare());
    let taint = |key: &str| Taint { key: key.to_owned(), value: "1".to_owned(), effect: TaintEffect::NoSchedule };
    let of = |world: &mut World, name: &str, change: &dyn Fn(&mut Host)| {
        change(world.cluster.hosts.iter_mut().find(|host| host.name == name).unwrap());
    };
    of(&mut world, "worker1", &|host| {
        host.labels.insert("zone".to_owned(), "a".to_owned());
        host.taints = vec![taint("own")];
    });
    let mut world = world.converge();
    let node = world.api.nodes.get_mut("worker1").unwrap();
    node.labels.insert("theirs".to_owned(), "x".to_owned());
    node.taints.push("theirs=x:NoSchedule".to_owned());
    assert!(changes(&world).is_empty());
    of(&mut world, "worker1", &|host| {
        host.labels.clear();
        host.taints.clear();
        host.annotations.clear();
    });
    let expected = "worker1/kubelet-join/marked: mark because it has the label zone, which the file no longer gives it";
    assert!(changes(&world).contains(&expected.to_owned()), "{:?}", changes(&world));
    let mut world = world.converge();
    assert!(changes(&world).is_empty());
    let node = &world.api.nodes["worker1"];
    assert_eq!((node.labels.get("zone"), node.labels.get("theirs").map(String::as_str)), (None, Some("x")));
    assert_eq!(node.taints, ["theirs=x:NoSchedule"]);
    assert!(!world.api.annotations["worker1"].contains_key(RACK));
    // A control plane that becomes a worker, too, takes work from then on.
    assert!(world.api.nodes["cp1"].taints.iter().any(|taint| taint.starts_with("node-role.kubernetes.io/control-plane=")));
    of(&mut world, "cp1", &|host| host.roles.worker = true);
    assert!(
        changes(&world).iter().any(|change| change.contains("taint node-role.kubernetes.io/control-plane:NoSchedule, which the file")),
        "{:?}",
        changes(&world)
    );
    let world = world.converge();
    assert!(world.api.nodes["cp1"].taints.is_empty());
}

/// A cluster of an earlier version says nothing of what it was given: it is written down, and nothing is taken.
#[test]
fn what_an_earlier_version_gave_is_written_down() {
    let mut world = annotated(World::bare()).converge();
    world.api.nodes.values_mut().for_each(|node| node.given = Given::default());
    assert!(changes(&world).iter().all(|change| change.contains("marked: record because it does not say")), "{:?}", changes(&world));
    let world = world.converge();
    assert!(changes(&world).is_empty());
}
