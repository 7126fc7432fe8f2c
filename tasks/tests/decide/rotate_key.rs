//! Another key to encrypt with: in which order control planes get it, and that everything can be read by all of them at every moment, whoever is killed.

use kok_crds::model::Cluster;
use kok_tasks::change::{ChangeKind, Verdict};
use kok_tasks::encryption::LayoutTarget;
use kok_tasks::observe::{ApiServerState, EncryptionKeys, EncryptionRead, Observations, StoredValues};
use kok_tasks::operations::{Operation, ReadsEncryption, RewriteEncrypted};
use kok_tasks::plan::{KeyStage, Plan, Refusal, key_to_encrypt_with};

use crate::bootstrap::refusal_text;
use crate::support::change_encryption::{made, seen};
use crate::support::encryption::secretbox;
use crate::support::secrets::JOINING;
use crate::support::world::World;
use crate::support::{NOW, cluster_of, own_etcd_of_three, step_id};

const ONE: &str = include_str!("../fixtures/cluster.yaml");
const THREE: &str = include_str!("../fixtures/highly-available.yaml");
const FILE: &str = "/etc/kubernetes/apiserver/encryption.yaml";
const ENCRYPT: &str = "\n  vars: {kube_encrypt_secret_data: true}\n";

fn encrypting(text: &str) -> Cluster {
    cluster_of(&format!("{text}{ENCRYPT}"))
}

/// A cluster that encrypts, with some values.
fn world_of(text: &str) -> World {
    let mut world = World::bare_of(encrypting(text)).converge();
    world.api.stored = [(("secrets".to_owned(), secretbox("kokctl")), 300)].into();
    world.hosts.values_mut().for_each(|host| host.keys_read = Some(host.encryption_keys()));
    world
}

fn key_of(target: &LayoutTarget) -> String {
    target.key().unwrap().to_owned()
}

fn chosen(world: &World, later: i64) -> Result<LayoutTarget, Vec<Refusal>> {
    key_to_encrypt_with(&world.cluster, &seen(world), NOW + later)
}

fn names(world: &World) -> Vec<Vec<String>> {
    world.cluster.control_planes().map(|host| world.hosts[&host.name].key_names()).collect()
}

/// So many steps on the way to a new key, whatever stage they are of; whether that is the end of it.
fn driven(world: &mut World, later: i64, mut steps: usize) -> bool {
    let target = chosen(world, later).unwrap();
    let mut stage = Some(KeyStage::Read);
    while let Some(now) = stage {
        loop {
            let plan = made(world, &target, now);
            if plan.is_empty() {
                break;
            }
            if steps == 0 {
                return false;
            }
            steps -= 1;
            world.carry_out_some(&plan, 1);
            world.is_readable(&format!("{now:?}"));
        }
        stage = now.next();
    }
    true
}

fn is_done(world: &World, key: &str, after: usize) {
    assert!(names(world).iter().all(|names| names == &[key]), "after {after}: {:?}", names(world));
    let stored: Vec<_> = world.api.stored.keys().collect();
    assert_eq!(stored, [&("secrets".to_owned(), secretbox(key))], "after {after}");
    assert!(world.plan().is_empty(), "after {after}");
}

/// `apply` neither goes on with it nor takes it back, and says what is under way.
fn apply_leaves_it(world: &World, after: usize) {
    let changes: Vec<String> = world.plan().changes().map(|(step, _)| step.id.to_string()).collect();
    assert!(changes.is_empty(), "after {after}: {changes:?}");
    let is_mixed = names(world).iter().any(|has| has.len() > 1) || names(world).iter().any(|has| *has != names(world)[0]);
    let said = kok_tasks::preconditions::reminders(&world.cluster, &world.seen());
    assert_eq!(said.iter().any(|it| it.what.contains("is being replaced")), is_mixed, "after {after}: {said:?}");
}

#[test]
fn a_run_that_is_killed_after_any_step_is_gone_on_with() {
    let with_units = own_etcd_of_three();
    for text in [ONE, THREE, with_units.as_str()] {
        let world = world_of(text);
        let mut ended = None;
        for killed in 0..40 {
            let mut world = world.clone();
            let is_whole = driven(&mut world, 0, killed);
            apply_leaves_it(&world, killed);
            if is_whole {
                ended = Some(killed);
                break;
            }
            // An hour later; the key is the one that was begun with, if any host has it.
            let key = key_of(&chosen(&world, 3600).unwrap());
            assert_eq!(key, format!("kokctl-{}", if killed == 0 { NOW + 3600 } else { NOW }), "after {killed}");
            assert!(driven(&mut world, 3600, usize::MAX));
            is_done(&world, &key, killed);
        }
        // Three times file and reading on each control plane, and the values.
        let planes = world.cluster.control_planes().count();
        assert_eq!(ended, Some(planes * 6 + 1), "steps of a whole one");
    }
}

#[test]
fn a_second_one_has_a_key_of_its_own() {
    let mut world = world_of(THREE);
    assert!(driven(&mut world, 0, usize::MAX) && driven(&mut world, 60, usize::MAX));
    is_done(&world, &format!("kokctl-{}", NOW + 60), 0);
    // The clock of whoever runs it is behind.
    assert!(driven(&mut world, -500, usize::MAX));
    is_done(&world, &format!("kokctl-{}", NOW + 61), 0);
}

/// Somebody has restored an older etcd: what it has is written anew before the key goes.
#[test]
fn values_of_an_old_key_are_found_wherever_the_files_stand() {
    let mut world = world_of(ONE);
    assert!(!driven(&mut world, 0, 5));
    assert_eq!(names(&world), [[format!("kokctl-{NOW}"), "kokctl".to_owned()]]);
    world.api.stored.insert(("secrets".to_owned(), secretbox("kokctl")), 7);
    let key = chosen(&world, 60).unwrap();
    assert!(made(&world, &key, KeyStage::Read).is_empty() && made(&world, &key, KeyStage::First).is_empty());
    let plan = made(&world, &key, KeyStage::Rewritten);
    let change = plan.change(&step_id("cp1", "secrets", "rewritten")).unwrap();
    assert!(change.because.ends_with("other keys: 7 with kokctl"), "{change:?}");
    assert!(driven(&mut world, 60, usize::MAX));
    is_done(&world, &key_of(&key), 5);
}

#[test]
fn what_keeps_the_key_from_being_replaced_is_said_with_its_host() {
    let world = world_of(THREE);
    let refused = |world: &World, change: &dyn Fn(&mut Observations)| {
        let mut seen = seen(world);
        let mut of_second = seen.observations("cp2").clone();
        change(&mut of_second);
        seen.add_observations("cp2", of_second);
        refusal_text(&key_to_encrypt_with(&world.cluster, &seen, NOW).expect_err("nothing is refused"))
    };
    let said = refused(&world, &|seen| seen.api_server = Some(ApiServerState::NotReady("etcd failed".to_owned())));
    assert!(said.contains("cp2") && said.contains("etcd failed") && !said.contains("cp1"), "{said}");
    let said = refused(&world, &|seen| seen.api_server = Some(ApiServerState::Absent));
    assert!(said.contains("no control plane of the cluster yet") && said.contains("cp2"), "{said}");
    let said = refused(&world, &|seen| seen.encryption_keys = Some(EncryptionKeys::default()));
    assert!(said.contains("does not encrypt as the file asks for") && said.contains("cp2"), "{said}");
    let said = refused(&world, &|seen| seen.encryption_keys.as_mut().unwrap().reloads = false);
    assert!(said.contains("run `kokctl apply` first") && said.contains("cp2"), "{said}");
    let said = refused(&world, &|seen| seen.encryption_read.as_mut().unwrap().digest = None);
    assert!(said.contains("does not say which keys it has read") && said.contains("1.34") && said.contains("cp2"), "{said}");
    let said = refused(&world, &|seen| seen.encryption_keys.as_mut().unwrap().sum = "other".to_owned());
    assert!(said.contains("cp1, cp2 have other keys of the same names"), "{said}");
    let mut other = world.clone();
    other.cluster =
        cluster_of(&format!("{THREE}\n  vars: {{kube_encrypt_secret_data: true, kube_encryption_resources: [secrets, configmaps]}}\n"));
    assert!(refused(&other, &|_| {}).contains("does not encrypt as the file asks for"));
    other.cluster = cluster_of(THREE);
    assert!(refused(&other, &|_| {}).contains("the cluster does not encrypt what etcd holds"));
}

/// Which keys a step writes, and from whom they are.
fn written(plan: &Plan, host: &str) -> String {
    let id = step_id(host, "api-server", "encryption");
    assert!(plan.change(&id).is_some(), "{host} gets no keys");
    format!("{:?}", plan.step(&id).unwrap())
}

#[test]
fn a_control_plane_that_joins_meanwhile_gets_both_keys() {
    const THIRD: &str = "    - {name: cp3, address: 10.20.0.13, roles: [control-plane]}\n";
    let five = encrypting(&THREE.replace(THIRD, &format!("{THIRD}{JOINING}")));
    let mut bare = World::bare_of(five.clone());
    bare.cluster = encrypting(THREE);
    bare.api.members.truncate(3);
    let mut world = bare.converge();
    world.api.stored = [(("secrets".to_owned(), secretbox("kokctl")), 300)].into();
    world.hosts.values_mut().for_each(|host| host.keys_read = Some(host.encryption_keys()));
    for (steps, keeper) in [(1, "cp1"), (3, "cp1"), (7, "cp1"), (9, "cp1"), (13, "cp1"), (14, "cp2")] {
        let mut begun = world.clone();
        assert!(!driven(&mut begun, 0, steps));
        begun.cluster = five.clone();
        for host in ["cp4", "cp5"] {
            let step = written(&begun.plan(), host);
            assert!(step.contains(&format!("keeper: Some(\"{keeper}\"), layout: Layout([])")), "after {steps}: {step}");
        }
        let has = begun.hosts[keeper].key_names();
        assert_eq!(has.len(), 2, "after {steps}: {has:?}");
        // Whoever joins has to be part of the cluster before the key is replaced any further.
        assert!(refusal_text(&chosen(&begun, 60).unwrap_err()).contains("cp4"));
    }
}

#[test]
fn one_that_was_away_meanwhile_does_not_come_back_with_the_old_key() {
    let mut world = world_of(THREE);
    let old = world.hosts["cp3"].text(FILE).to_owned();
    assert!(driven(&mut world, 0, usize::MAX));
    world.host("cp3").write(FILE, 0o600, &old);
    let step = written(&world.plan(), "cp3");
    assert!(step.contains("keeper: Some(\"cp1\")") && step.contains("it lacks the key that others encrypt with"), "{step}");
    let world = world.converge();
    assert_eq!(names(&world)[2], [format!("kokctl-{NOW}")]);
}

/// As long as a request may last.
#[test]
fn values_are_written_anew_when_nothing_from_before_is_at_work() {
    let lasts = |vars: &str| {
        let mut world = world_of(ONE);
        assert!(!driven(&mut world, 0, 4));
        world.cluster = cluster_of(&format!("{ONE}\n  vars: {{kube_encrypt_secret_data: true{vars}}}\n"));
        let plan = made(&world, &chosen(&world, 60).unwrap(), KeyStage::Rewritten);
        let needs: Vec<String> = plan.needs(&step_id("cp1", "secrets", "rewritten")).iter().map(|(step, _)| step.id.to_string()).collect();
        assert_eq!(needs, ["cp1/secrets/read"]);
        format!("{:?}", plan.step(&step_id("cp1", "secrets", "read")).unwrap())
    };
    assert!(lasts("").contains("settled: Some(65)"));
    assert!(lasts(", kube_apiserver_request_timeout: 2m30s").contains("settled: Some(155)"));
}

#[test]
fn an_api_server_is_waited_for_until_it_says_which_keys_it_has() {
    let keys = EncryptionKeys { digest: "d2".to_owned(), ..EncryptionKeys::default() };
    let verdict = |settled, digest: Option<&str>, age_seconds| {
        let read = EncryptionRead { digest: digest.map(str::to_owned), age_seconds };
        let seen = Observations { encryption_keys: Some(keys.clone()), encryption_read: Some(read), ..Observations::default() };
        Operation::ReadsEncryption(ReadsEncryption { settled }).diff(&seen)
    };
    let waits = |verdict: Verdict| matches!(verdict, Verdict::Differs(change) if change.kind == ChangeKind::Wait);
    assert!(waits(verdict(None, None, None)) && waits(verdict(None, Some("d1"), Some(999))));
    assert_eq!(verdict(None, Some("d2"), Some(1)), Verdict::Same);
    assert!(
        waits(verdict(Some(65), Some("d2"), Some(64))) && waits(verdict(Some(65), Some("d2"), None)),
        "a request from before may be at work"
    );
    assert_eq!(verdict(Some(65), Some("d2"), Some(65)), Verdict::Same);
}

#[test]
fn the_key_counts_whatever_it_was_encrypted_by() {
    let operation = Operation::RewriteEncrypted(RewriteEncrypted {
        key: Some("kokctl-7".to_owned()),
        resources: vec!["secrets".to_owned()],
        others: Vec::new(),
    });
    let verdict = |values| operation.diff(&Observations { encrypted_values: Some(values), ..Observations::default() });
    let of = |marks: &[&str]| {
        Ok(StoredValues { encrypted: marks.iter().map(|mark| ((*mark).to_owned(), 2)).collect(), ..StoredValues::default() })
    };
    assert_eq!(verdict(of(&[])), Verdict::Same);
    assert_eq!(verdict(of(&["k8s:enc:secretbox:v1:kokctl-7:"])), Verdict::Same);
    for mark in ["k8s:enc:secretbox:v1:kokctl:", "k8s:enc:secretbox:v1:kokctl-77:", "k8s:enc:aescbc:v1:other:", "k8s:enc:"] {
        assert!(matches!(verdict(of(&["k8s:enc:secretbox:v1:kokctl-7:", mark])), Verdict::Differs(_)), "{mark}");
    }
    assert!(matches!(verdict(Err("refused".to_owned())), Verdict::Differs(_)), "what nobody knows is not done");
    assert_eq!(operation.diff(&Observations::default()), Verdict::Unseen);
}
