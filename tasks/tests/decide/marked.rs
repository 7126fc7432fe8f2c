//! Labels, annotations and taints of nodes.

use crate::support::world::World;

const RACK: &str = "example.com/rack";

fn changes(world: &World) -> Vec<String> {
    world.plan().changes().map(|(step, change)| format!("{}: {} because {}", step.id, change.summary, change.because)).collect()
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

/// Any text may be a value: it goes as JSON on one line, so that nothing in it can end what it stands in.
#[test]
fn a_value_cannot_leave_its_place() {
    let world = annotated(World::bare());
    let plan = world.plan();
    let (step, change) = plan.changes().find(|(step, _)| step.id.to_string() == "cp1/control-plane/marked").unwrap();
    let script = format!("{:?}", step.act(change));
    assert_eq!(script.matches("ANNOTATIONS").count(), 3, "{script}");
    let said = "{\\\"metadata\\\":{\\\"annotations\\\":{\\\"example.com/rack\\\":";
    assert!(script.contains(said) && script.contains("\\\\nANNOTATIONS\\\\n"), "{script}");
}
