//! Labels, annotations and taints of nodes.

use std::collections::BTreeMap;

use kok_tasks::observe::{Annotations, Observations};
use kok_tasks::operations::{MarkNode, Operation};

use crate::operations::{ready, said};
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
    let mark = MarkNode { node: "a".into(), labels: BTreeMap::new(), annotations: [(RACK.into(), "7".into())].into(), taints: Vec::new() };
    let with = |annotations: Option<Annotations>| {
        said(&Operation::MarkNode(mark.clone()), &Observations { node_annotations: annotations, ..ready(&[], &[]) })
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
