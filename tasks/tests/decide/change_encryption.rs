//! Another way to encrypt what etcd holds, on a cluster that runs: everything can be read by all API servers at every moment, whoever is killed, and at the end
//! everything is as the file asks for it.

use kok_crds::model::EncryptionAlgorithm;
use kok_tasks::encryption::Provider;
use kok_tasks::observe::{ApiServerState, Look, Observations};
use kok_tasks::plan::{KeyStage, encryption_change, key_to_encrypt_with};

use crate::bootstrap::refusal_text;
use crate::support::change_encryption::{are_killed, chosen, driven, is_done, made, seen, with, world_of};
use crate::support::encryption::secretbox;
use crate::support::{NOW, own_etcd_of_three};

const ONE: &str = include_str!("../fixtures/cluster.yaml");
const THREE: &str = include_str!("../fixtures/highly-available.yaml");
const OFF: &str = "";
const SECRETS: &str = "kube_encrypt_secret_data: true";
const MORE: &str = "kube_encrypt_secret_data: true, kube_encryption_resources: [secrets, configmaps]";
const ALL: &str = "kube_encrypt_secret_data: true, kube_encryption_resources: ['*.*']";
const AESCBC: &str = "kube_encrypt_secret_data: true, kube_encryption_algorithm: aescbc";

#[test]
fn every_change_can_be_killed_on_its_way() {
    let ways = [
        (OFF, SECRETS),
        (OFF, ALL),
        (SECRETS, OFF),
        (MORE, OFF),
        (SECRETS, MORE),
        (MORE, SECRETS),
        (ALL, SECRETS),
        (SECRETS, ALL),
        (SECRETS, AESCBC),
    ];
    let on_the_way = |(from, to): (&str, &str)| {
        let mut world = world_of(THREE, from);
        world.cluster = with(THREE, to);
        (format!("{from} to {to}"), world)
    };
    are_killed(ways.map(on_the_way), 9);
}

#[test]
fn whoever_thinks_of_something_else_meanwhile_gets_that() {
    for (from, first, then) in
        [(OFF, SECRETS, OFF), (SECRETS, OFF, SECRETS), (SECRETS, AESCBC, SECRETS), (MORE, SECRETS, MORE), (OFF, SECRETS, AESCBC)]
    {
        for steps in [1, 4, 7, 10, 13] {
            let mut world = world_of(ONE, from);
            world.cluster = with(ONE, first);
            driven(&mut world, 0, steps);
            world.cluster = with(ONE, then);
            assert!(driven(&mut world, 60, usize::MAX), "{from} to {first} to {then} after {steps}");
            is_done(&world, steps);
        }
    }
}

#[test]
fn etcd_of_its_own_hosts_and_one_control_plane_take_part() {
    for text in [ONE.to_owned(), own_etcd_of_three()] {
        for (from, to) in [(OFF, SECRETS), (SECRETS, OFF)] {
            let mut world = world_of(&text, from);
            world.cluster = with(&text, to);
            assert!(driven(&mut world, 0, usize::MAX));
            is_done(&world, 0);
        }
    }
}

/// What is only added is encrypted with the key that is there; what is left out could be told from the rest by nobody, but by another key.
#[test]
fn a_new_key_is_made_only_where_it_is_needed() {
    let key = |from: &str, to: &str| {
        let mut world = world_of(THREE, from);
        world.cluster = with(THREE, to);
        chosen(&world, 0).unwrap().target.writer
    };
    let new = |algorithm| Some(Provider::Key { algorithm, name: format!("kokctl-{NOW}") });
    assert_eq!(key(SECRETS, MORE), Some(secretbox("kokctl")));
    assert_eq!(key(SECRETS, SECRETS), Some(secretbox("kokctl")));
    assert_eq!(key(MORE, SECRETS), new(EncryptionAlgorithm::Secretbox));
    assert_eq!(key(SECRETS, AESCBC), new(EncryptionAlgorithm::Aescbc));
    assert_eq!(key(OFF, SECRETS), new(EncryptionAlgorithm::Secretbox));
    assert_eq!(key(SECRETS, OFF), None);
}

/// What was there before the key was is found in etcd, and written anew.
#[test]
fn what_is_plain_and_should_not_be_is_found() {
    let mut world = world_of(ONE, SECRETS);
    world.api.stored.insert(("secrets".to_owned(), Provider::Identity), 7);
    let change = chosen(&world, 0).unwrap();
    let plan = made(&world, &change.target, KeyStage::Rewritten);
    let because: Vec<&str> = plan.changes().map(|(_, change)| change.because.as_str()).collect();
    assert_eq!(because, ["values in etcd are not encrypted: 7 secrets"]);
    assert!(driven(&mut world, 0, usize::MAX));
    assert!(!world.api.stored.contains_key(&("secrets".to_owned(), Provider::Identity)));
    is_done(&world, 0);
}

#[test]
fn neither_apply_nor_a_rotation_goes_on_with_it_unasked() {
    let mut world = world_of(THREE, SECRETS);
    world.cluster = with(THREE, AESCBC);
    assert!(!driven(&mut world, 0, 4));
    let warned = kok_tasks::preconditions::reminders(&world.cluster, &world.seen());
    assert!(warned.iter().any(|it| it.what == "how etcd's content is encrypted is being changed"), "{warned:?}");
    assert!(world.plan().changes().all(|(step, _)| !step.id.to_string().ends_with("/encryption")));
    let said = refusal_text(&key_to_encrypt_with(&world.cluster, &seen(&world), NOW).unwrap_err());
    assert!(said.contains("does not encrypt as the file asks for") && said.contains("change-encryption"), "{said}");
}

/// Whoever comes back, or joins, reads what the others write.
#[test]
fn one_whose_file_is_lost_meanwhile_gets_it_as_the_others_have_it() {
    let mut world = world_of(THREE, MORE);
    world.cluster = with(THREE, SECRETS);
    assert!(!driven(&mut world, 0, 8));
    let others = world.hosts["cp1"].encryption_keys().layout;
    assert!(!others.is_steady());
    world.host("cp3").paths.remove("/etc/kubernetes/apiserver/encryption.yaml");
    let plan = world.plan();
    let step = plan.changes().find(|(step, _)| step.id.to_string() == "cp3/api-server/encryption").unwrap().0;
    assert!(format!("{step:?}").contains(&format!("{others:?}")), "{step:?}");
}

#[test]
fn what_keeps_it_from_being_changed_is_said_with_its_host() {
    let mut world = world_of(THREE, SECRETS);
    world.cluster = with(THREE, AESCBC);
    let refused = |change: &dyn Fn(&mut Observations)| {
        let mut seen = seen(&world);
        let mut of_second = seen.observations("cp2").clone();
        change(&mut of_second);
        seen.add_observations("cp2", of_second);
        refusal_text(&encryption_change(&world.cluster, &seen, NOW).expect_err("nothing is refused"))
    };
    let said = refused(&|seen| seen.api_server = Some(ApiServerState::NotReady("etcd failed".to_owned())));
    assert!(said.contains("cp2") && said.contains("etcd failed") && !said.contains("cp1"), "{said}");
    let said = refused(&|seen| seen.encryption_read.as_mut().unwrap().digest = None);
    assert!(said.contains("does not say which keys it has read") && said.contains("cp2"), "{said}");
    let said = refused(&|seen| seen.encryption_read = Some(Default::default()));
    assert!(said.contains("did not answer in time") && said.contains("repeat the command") && !said.contains("1.34"), "{said}");
    let said = refused(&|seen| seen.encryption_keys.as_mut().unwrap().sum = "other".to_owned());
    assert!(said.contains("cp1, cp2 have other keys of the same names"), "{said}");
    let said = refused(&|seen| seen.encryption_keys.as_mut().unwrap().layout = Default::default());
    assert!(said.contains("says more than kokctl writes") && said.contains("by hand"), "{said}");
    // A key that is lost is not replaced by another one.
    for host in ["cp1", "cp2", "cp3"] {
        world.host(host).paths.remove("/etc/kubernetes/apiserver/encryption.yaml");
    }
    assert!(refusal_text(&chosen(&world, 0).unwrap_err()).contains("is on no control plane any more"));
}

/// What somebody has written by hand is neither taken for nothing nor removed.
#[test]
fn a_file_of_another_form_is_left_alone() {
    let mut world = world_of(ONE, SECRETS);
    world.cluster = with(ONE, OFF);
    let mut seen = world.seen();
    let mut of_plane = seen.observations("cp1").clone();
    of_plane.encryption_keys.as_mut().unwrap().layout = Default::default();
    seen.add_observations("cp1", of_plane);
    let refusals = kok_tasks::preconditions::check(&world.cluster, &seen);
    assert!(refusal_text(&refusals).contains("the file does not ask for it"), "{refusals:?}");
    assert!(kok_tasks::preconditions::replacing_key(&world.cluster, &seen).is_none());
}

#[test]
fn values_of_a_key_that_nobody_has_are_found_before_anything_is_changed() {
    let mut world = world_of(THREE, OFF);
    world.cluster = with(THREE, SECRETS);
    world.api.stored.insert(("secrets".to_owned(), secretbox("kokctl-7")), 3);
    let mut seen = seen(&world);
    assert!(encryption_change(&world.cluster, &seen, NOW).is_ok(), "who was not asked says nothing");
    seen.add_observations("cp1", world.look("cp1", [Look::EncryptedValues].into_iter()));
    let said = refusal_text(&encryption_change(&world.cluster, &seen, NOW).unwrap_err());
    assert!(said.contains("encrypted with kokctl-7, a key that no control plane has") && said.contains("escrow"), "{said}");
    world.api.stored.remove(&("secrets".to_owned(), secretbox("kokctl-7")));
    seen.add_observations("cp1", world.look("cp1", [Look::EncryptedValues].into_iter()));
    assert!(encryption_change(&world.cluster, &seen, NOW).is_ok());
}

/// A disk was full.
#[test]
fn a_file_that_is_empty_has_no_key() {
    const FILE: &str = "/etc/kubernetes/apiserver/encryption.yaml";
    let mut world = world_of(THREE, SECRETS);
    let whole = world.hosts["cp1"].text(FILE).to_owned();
    world.host("cp1").write(FILE, 0o600, "");
    assert_eq!(world.plan().changes().map(|(step, _)| step.id.to_string()).next().as_deref(), Some("cp1/api-server/encryption"));
    assert_eq!(world.clone().converge().hosts["cp1"].text(FILE), whole);
    for host in ["cp2", "cp3"] {
        world.host(host).write(FILE, 0o600, "");
    }
    let said = refusal_text(&kok_tasks::preconditions::check(&world.cluster, &world.seen()));
    assert!(said.contains("is on no control plane any more"), "{said}");
    assert!(refusal_text(&chosen(&world, 0).unwrap_err()).contains("is on no control plane any more"));
}

#[test]
fn where_nothing_is_encrypted_and_nothing_is_asked_for_there_is_nothing_to_do() {
    let mut world = world_of(THREE, OFF);
    assert!(chosen(&world, 0).unwrap().is_idle);
    world.cluster = with(THREE, SECRETS);
    assert!(!chosen(&world, 0).unwrap().is_idle && chosen(&world, 0).unwrap().starts);
    assert_eq!(secretbox("kokctl").key(), Some("kokctl"));
}
