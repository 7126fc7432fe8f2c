//! A KMS plugin encrypts what etcd holds: on the way to it, from one to another and away from it everything can be read by all API servers, whoever is killed.

use kok_crds::model::EncryptionAlgorithm;
use kok_tasks::documents::{encryption_configuration, kms_plugins};
use kok_tasks::encryption::{Layout, Provider};
use kok_tasks::observe::Kind;
use kok_tasks::plan::{encryption_change, key_to_encrypt_with};

use crate::bootstrap::refusal_text;
use crate::support::change_encryption::{are_killed, chosen, driven, is_done, made, seen, with, world_of};
use crate::support::world::World;
use crate::support::{NOW, own_etcd_of_three};

const ONE: &str = include_str!("../fixtures/cluster.yaml");
const THREE: &str = include_str!("../fixtures/highly-available.yaml");
const OFF: &str = "";
const SECRETS: &str = "kube_encrypt_secret_data: true";
const AESCBC: &str = "kube_encrypt_secret_data: true, kube_encryption_algorithm: aescbc";
const KMS: &str =
    "kube_encrypt_secret_data: true, kube_encryption_kms_name: vault, kube_encryption_kms_endpoint: 'unix:///run/kms/vault.sock'";
const MORE: &str = "kube_encrypt_secret_data: true, kube_encryption_kms_name: vault, kube_encryption_kms_endpoint: 'unix:///run/kms/vault.sock', \
                    kube_encryption_resources: [secrets, configmaps]";
const TWO_BREADTHS: &str = "kube_encrypt_secret_data: true, kube_encryption_kms_endpoint: 'unix:///run/kms/vault.sock', kube_encryption_resources: ['*.apps', secrets]";
const MORE_BY_KEY: &str = "kube_encrypt_secret_data: true, kube_encryption_resources: [secrets, configmaps]";
const OTHER: &str =
    "kube_encrypt_secret_data: true, kube_encryption_kms_name: other, kube_encryption_kms_endpoint: 'unix:///run/kms/other.sock'";
const MOVED: &str =
    "kube_encrypt_secret_data: true, kube_encryption_kms_name: vault, kube_encryption_kms_endpoint: 'unix:///run/kms/new.sock'";
const ELSEWHERE: &str =
    "kube_encrypt_secret_data: true, kube_encryption_kms_name: far, kube_encryption_kms_endpoint: 'unix:///run/far/far.sock'";

/// Plugins that listen on each control plane.
fn plugins(world: &mut World) {
    let planes: Vec<String> = world.cluster.control_planes().map(|host| host.name.clone()).collect();
    for plane in planes {
        for socket in ["/run/kms/vault.sock", "/run/kms/other.sock", "/run/kms/new.sock", "/run/far/far.sock"] {
            let host = world.host(&plane);
            host.folder(socket.rsplit_once('/').unwrap().0, 0o755);
            host.write(socket, 0o600, "");
            host.paths.get_mut(socket).unwrap().kind = Kind::Other;
        }
    }
}

fn on_the_way(text: &str, from: &str, to: &str) -> World {
    let mut world = world_of(text, from);
    plugins(&mut world);
    world.cluster = with(text, to);
    world
}

#[test]
fn every_way_to_a_plugin_and_from_it_can_be_killed() {
    let ways =
        [(OFF, KMS), (KMS, OFF), (SECRETS, KMS), (KMS, SECRETS), (KMS, OTHER), (KMS, MOVED), (OFF, TWO_BREADTHS), (KMS, MORE_BY_KEY)];
    are_killed(ways.map(|(from, to)| (format!("{from} to {to}"), on_the_way(THREE, from, to))), 11);
}

#[test]
fn whoever_thinks_of_something_else_on_the_way_gets_that() {
    let thoughts = [
        (SECRETS, KMS, SECRETS),
        (KMS, SECRETS, KMS),
        (OFF, KMS, OFF),
        (OFF, KMS, SECRETS),
        (SECRETS, AESCBC, KMS),
        (SECRETS, KMS, AESCBC),
        (SECRETS, OFF, KMS),
    ];
    for (from, first, then) in thoughts {
        for steps in [1, 4, 7, 10, 13] {
            let mut world = on_the_way(ONE, from, first);
            driven(&mut world, 0, steps);
            world.cluster = with(ONE, then);
            assert!(driven(&mut world, 60, usize::MAX), "{from} to {first} to {then} after {steps}");
            is_done(&world, steps);
        }
    }
}

#[test]
fn etcd_of_its_own_hosts_takes_part() {
    let mut world = on_the_way(&own_etcd_of_three(), SECRETS, KMS);
    assert!(driven(&mut world, 0, usize::MAX));
    is_done(&world, 0);
}

/// No key is made, and there is none that could be lost with the file.
#[test]
fn a_founding_makes_no_key_and_who_has_lost_the_file_gets_it() {
    const FILE: &str = "/etc/kubernetes/apiserver/encryption.yaml";
    let mut world = world_of(THREE, KMS);
    plugins(&mut world);
    let whole = world.hosts["cp1"].text(FILE).to_owned();
    assert!(whole.contains("kms:") && !whole.contains("secret:"), "{whole}");
    assert_eq!(kms_plugins(&whole), [("vault", "/run/kms/vault.sock")]);
    for lost in [true, false] {
        match lost {
            true => drop(world.host("cp3").paths.remove(FILE)),
            false => world.host("cp3").write(FILE, 0o600, ""),
        }
        let first = world.plan().changes().map(|(step, _)| step.id.to_string()).next();
        assert_eq!(first.as_deref(), Some("cp3/api-server/encryption"), "{lost}");
        world = world.converge();
        assert_eq!(world.hosts["cp3"].text(FILE), whole);
    }
}

#[test]
fn what_keeps_it_from_being_changed_is_said() {
    let refused = |world: &World| refusal_text(&encryption_change(&world.cluster, &seen(world), NOW).expect_err("nothing is refused"));
    let mut world = on_the_way(THREE, SECRETS, KMS);
    world.host("cp2").paths.remove("/run/kms/vault.sock");
    let said = refused(&world);
    assert!(said.contains("the KMS plugin vault does not listen") && said.contains("cp2") && !said.contains("cp1"), "{said}");
    world.host("cp2").write("/run/kms/vault.sock", 0o600, "no socket");
    assert!(refused(&world).contains("is no socket"));
    let said = refused(&on_the_way(THREE, KMS, ELSEWHERE));
    assert!(said.contains("reaches the KMS plugin vault in /run/kms, and the file names /run/far"), "{said}");
    for (from, to) in [(MORE, KMS), (KMS, MORE), (SECRETS, MORE), (MORE, SECRETS)] {
        let said = refused(&on_the_way(THREE, from, to));
        assert!(said.contains("vault would have to stand in two places") && said.contains("one after the other"), "{from} to {to}: {said}");
    }
    assert!(chosen(&on_the_way(THREE, MORE, MORE_BY_KEY), 0).is_ok(), "the first of three steps");
}

/// The cluster that runs is never brought there by `apply`, and the plugin's keys are its own.
#[test]
fn neither_apply_nor_a_rotation_changes_who_encrypts() {
    let says = |from: &str, to: &str| refusal_text(&kok_tasks::preconditions::check(&with(THREE, to), &on_the_way(THREE, from, to).seen()));
    let said = says(SECRETS, KMS);
    assert!(said.contains("cluster.yaml:"), "where the file asks for it: {said}");
    assert!(
        said.contains("encrypts with secretbox, the file asks for the KMS plugin vault") && said.contains("change-encryption"),
        "{said}"
    );
    let said = says(KMS, SECRETS);
    assert!(said.contains("encrypts with the KMS plugin vault, the file asks for secretbox"), "{said}");
    assert!(says(KMS, MOVED).contains("the file asks for the KMS plugin vault, reached otherwise"));
    assert!(says(KMS, OFF).contains("the file does not ask for it"));
    let said = refusal_text(&key_to_encrypt_with(&with(THREE, KMS), &seen(&on_the_way(THREE, KMS, KMS)), NOW).unwrap_err());
    assert!(said.contains("the KMS plugin vault has the keys, and replaces them itself") && said.contains("kubectl replace"), "{said}");
    let silent = kok_tasks::preconditions::warnings(&with(THREE, KMS), &world_of(THREE, KMS).seen());
    assert_eq!(silent.iter().filter(|it| it.what == "the KMS plugin vault does not listen").count(), 3, "{silent:?}");
}

/// A disk was full while the key was led to the plugin: who has lost its file reads what the others write by.
#[test]
fn one_whose_file_is_lost_on_the_way_is_led_on_with_the_others() {
    const FILE: &str = "/etc/kubernetes/apiserver/encryption.yaml";
    for (from, to, steps) in
        [(SECRETS, KMS, 12), (SECRETS, KMS, 18), (SECRETS, KMS, 22), (KMS, SECRETS, 5), (KMS, OFF, 0), (SECRETS, OFF, 3)]
    {
        let mut world = on_the_way(THREE, from, to);
        assert!(!driven(&mut world, 0, steps), "{from} to {to} after {steps}");
        match steps % 2 {
            0 => world.host("cp3").write(FILE, 0o600, ""),
            _ => drop(world.host("cp3").paths.remove(FILE)),
        }
        assert!(driven(&mut world, 60, usize::MAX), "{from} to {to} after {steps}");
        is_done(&world, steps);
    }
}

/// It was away all the time, on a disk from before.
#[test]
fn one_that_comes_back_from_before_is_led_to_the_plugin_too() {
    let mut world = on_the_way(THREE, SECRETS, KMS);
    let before = world.clone();
    assert!(driven(&mut world, 0, usize::MAX));
    *world.host("cp3") = before.hosts["cp3"].clone();
    let change = chosen(&world, 60).unwrap();
    assert!(change.starts && change.before.is_some_and(|before| before.reaches.is_some()));
}

/// Somebody has brought a plugin by hand, with a volume of his own: nothing is taken out of the file that his API servers read by.
#[test]
fn what_somebody_has_written_of_a_plugin_stays_in_the_file() {
    let mut world = on_the_way(THREE, KMS, KMS);
    for host in world.hosts.values_mut() {
        if let Some(manifest) = host.paths.get_mut("/etc/kubernetes/manifests/kube-apiserver.yaml") {
            manifest.content = manifest.content.replace("kokctl-kms", "mine");
        }
    }
    let change = chosen(&world, 0).unwrap();
    assert!(change.starts && made(&world, &change.target, kok_tasks::plan::KeyStage::Laid).is_empty());
}

#[test]
fn values_of_a_plugin_that_nobody_names_are_found_before_anything_is_changed() {
    let mut world = on_the_way(THREE, OFF, SECRETS);
    let plugin = with(THREE, KMS).settings.security.encryption.kms.unwrap();
    world.api.stored.insert(("secrets".to_owned(), Provider::Kms(plugin)), 3);
    let mut seen = seen(&world);
    seen.add_observations("cp1", world.look("cp1", [kok_tasks::observe::Look::EncryptedValues].into_iter()));
    let said = refusal_text(&encryption_change(&world.cluster, &seen, NOW).unwrap_err());
    assert!(said.contains("encrypted by the KMS plugin vault, which no control plane names"), "{said}");
}

/// While the file leads away from a plugin, a run of `apply` would take its folder from API servers that read by it.
#[test]
fn apply_waits_while_a_plugin_is_left() {
    let mut world = on_the_way(THREE, KMS, SECRETS);
    assert!(!driven(&mut world, 0, 4));
    let said = refusal_text(&kok_tasks::preconditions::check(&world.cluster, &world.seen()));
    assert!(said.contains("the KMS plugin vault"), "{said}");
}

/// Kubernetes, "Using a KMS provider for data encryption": the first writes, and what was there before is read by the rest.
#[test]
fn the_configuration_is_the_one_that_kubernetes_describes() {
    let plugin = with(THREE, KMS).settings.security.encryption.kms.unwrap();
    let target = chosen(&on_the_way(THREE, SECRETS, KMS), 0).unwrap().target;
    let key = Provider::Key { algorithm: EncryptionAlgorithm::Secretbox, name: "kokctl".to_owned() };
    let entry = |providers| kok_tasks::encryption::Entry { resources: vec!["secrets".to_owned()], providers };
    let layout = Layout::new(vec![entry(vec![key, Provider::Identity])]).after(&target, kok_tasks::plan::KeyStage::First);
    assert_eq!(layout.entries()[0].providers[0], Provider::Kms(plugin));
    let text = encryption_configuration(&layout, &[("kokctl", "c2VjcmV0")]).unwrap();
    insta::assert_snapshot!("kms", text);
}
