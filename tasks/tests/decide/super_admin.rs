//! `super-admin.conf`: on control planes where it is asked for, and nowhere else.

use kok_tasks::plan::Plan;

use crate::support::world::World;
use crate::support::{highly_available, step_id};

const PATH: &str = "/etc/kubernetes/super-admin.conf";

fn asked(world: World, stays: bool) -> World {
    let mut world = world;
    world.cluster.settings.certificates.super_admin_kubeconfig = stays;
    world
}

fn holders(world: &World) -> Vec<&str> {
    world.hosts.values().filter(|host| host.has(PATH)).map(|host| host.name.as_str()).collect()
}

fn changed(plan: &Plan) -> Vec<String> {
    plan.changes().map(|(step, _)| step.id.to_string()).collect()
}

#[test]
fn every_control_plane_has_it_as_long_as_it_is_asked_for() {
    let world = asked(World::bare_of(highly_available()), true).converge();
    assert_eq!(holders(&world), ["cp1", "cp2", "cp3"]);
    assert!(world.hosts.values().filter_map(|host| host.paths.get(PATH)).all(|file| file.mode == 0o600));
    assert!(world.plan().is_empty());
    let world = asked(world, false);
    assert_eq!(changed(&world.plan()), ["cp1", "cp2", "cp3"].map(|host| step_id(host, "certificates", "no-super-admin").to_string()));
    let world = world.converge();
    assert_eq!(holders(&world), [""; 0]);
    assert!(world.plan().is_empty());
}

#[test]
fn a_cluster_that_runs_gets_it_and_nothing_else() {
    let mut world = asked(World::converged(), true);
    assert_eq!(changed(&world.plan()), ["cp1/certificates/super-admin.conf"]);
    world = world.converge();
    world.host("cp1").paths.remove(PATH);
    assert_eq!(changed(&world.plan()), ["cp1/certificates/super-admin.conf"], "one that is lost is made anew");
    world.host("cp1").write(PATH, 0o644, "of somebody");
    assert_eq!(changed(&world.plan()), ["cp1/certificates/super-admin.conf"], "one that others may read does not stay so");
}

#[test]
fn one_that_nobody_asked_for_goes() {
    let mut world = World::converged();
    world.host("cp1").write(PATH, 0o600, "made by kubeadm");
    let plan = world.plan();
    assert_eq!(changed(&plan), ["cp1/certificates/no-super-admin"]);
    let change = plan.change(&step_id("cp1", "certificates", "no-super-admin")).unwrap();
    assert_eq!(change.because, format!("{PATH} is no longer asked for"));
    assert!(world.converge().hosts["cp1"].paths.keys().all(|path| path != PATH));
}
