//! Plans as documents: of the same worlds the same, of others not, and without a secret.

use kok_tasks::plan::{Choice, DocumentInputs, PlanDocument, Selection};

use crate::support::world::World;
use crate::support::{TOKEN_ID, highly_available};

fn inputs(world: &World) -> DocumentInputs {
    DocumentInputs {
        cluster: world.cluster.name.clone(),
        program: "1.0.0".to_owned(),
        token_id: world.token_id.clone(),
        new_cluster_id: "c1".to_owned(),
        tasks: None,
        hosts: None,
        prune: false,
    }
}

fn document(world: &World) -> PlanDocument {
    PlanDocument::new(&world.plan(), inputs(world), &world.cluster.concealed)
}

/// The steps that differ.
fn differing(saved: &World, now: &World) -> Vec<String> {
    let differences = document(saved).compare(&document(now));
    differences.iter().map(ToString::to_string).map(|text| text.split(": ").next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn the_same_worlds_have_the_same_document() {
    for (one, two) in [
        (World::bare(), World::bare()),
        (World::bare_of(highly_available()), World::bare_of(highly_available())),
        (World::bare().converge(), World::bare().converge()),
    ] {
        let (one, two) = (document(&one), document(&two));
        assert_eq!(one, two);
        assert_eq!(one.compare(&two), []);
        assert_eq!(PlanDocument::parse(&serde_json::to_string_pretty(&one).unwrap()).unwrap(), one);
    }
    assert!(document(&World::bare().converge()).is_empty());
    assert!(!document(&World::bare()).is_empty());
}

#[test]
fn what_comes_from_outside_makes_a_difference() {
    let (saved, mut now) = (World::bare(), World::bare());
    now.token_id = "kokxyz".to_owned();
    assert_ne!(now.token_id, TOKEN_ID);
    let ids = "it has another token or another id for a new cluster";
    assert_eq!(differing(&saved, &now), [ids, "cp1/control-plane/bootstrap-token"]);
    let part = Selection::new(Choice { only: &[], skip: &[], limit: &["worker1".to_owned()] }, &saved.cluster).unwrap();
    let of_part = PlanDocument::new(&saved.plan(), inputs(&saved).of_part(&part), &saved.cluster.concealed);
    assert_eq!(document(&saved).compare(&of_part).len(), 1, "the steps are the same here, and the part is not");
}

#[test]
fn a_selection_is_named_in_it_and_found_again() {
    let cluster = World::bare().cluster;
    let choice = Choice { only: &["host".to_owned(), "images".to_owned()], skip: &[], limit: &["worker*".to_owned()] };
    for selection in [Selection::whole(), Selection::new(choice, &cluster).unwrap()] {
        let inputs = inputs(&World::bare()).of_part(&selection);
        assert_eq!(Selection::named(inputs.tasks.as_ref(), inputs.hosts.as_ref(), &cluster).unwrap(), selection);
    }
    let unknown = ["nothing".to_owned()].into();
    let refusals = Selection::named(Some(&unknown), Some(&unknown), &cluster).unwrap_err();
    assert_eq!(refusals.len(), 2, "{refusals:?}");
    assert!(refusals.iter().all(|refusal| refusal.hint.is_some()));
}

#[test]
fn a_host_that_was_changed_since_makes_a_difference_where_it_was() {
    let world = World::bare().converge();
    let mut changed = world.clone();
    changed.hosts.get_mut("worker1").unwrap().paths.remove("/etc/modules-load.d/kokctl.conf");
    assert_eq!(differing(&world, &changed), ["worker1/host/modules-file"]);
    let said = document(&world).compare(&document(&changed)).first().unwrap().to_string();
    assert_eq!(said, "worker1/host/modules-file: nothing was to do, and now: create");
    let mut cluster = world.clone();
    cluster.cluster.settings.host.additional_sysctl.insert("vm.swappiness".to_owned(), "1".to_owned());
    let differing = differing(&world, &cluster);
    assert!(differing.contains(&"worker1/host/sysctls-file".to_owned()), "{differing:?}");
    assert!(differing.contains(&"cp1/host/sysctl-vm.swappiness".to_owned()), "{differing:?}");
}

#[test]
fn secrets_stand_in_it_by_name() {
    let text = serde_json::to_string(&document(&World::bare_of(highly_available()))).unwrap();
    for name in ["pki/ca.key of cp1", "InitConfiguration of cp1 with the bootstrap token", "JoinConfiguration of worker1"] {
        assert!(text.contains(&format!("\"{name}\"")), "{name}");
    }
    assert!(!text.contains("base64 -d"), "no script stands in it");
}
