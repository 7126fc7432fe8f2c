//! What is in the way of an upgrade, and found before anything is changed.

use std::collections::BTreeMap;

use kok_tasks::observe::{KUBELET, Look, Observations, Rule, Webhook, Webhooks};
use kok_tasks::upgrade::{CheckName, check};

use crate::support::NOW;
use crate::support::upgrading::{NEW, OLD};
use crate::support::world::World;
use crate::upgrades::old;

#[test]
fn what_is_in_the_way_is_found_with_its_check() {
    let world = old();
    let found = |world: &World| {
        let found = check(&world.cluster, &world.seen(), &NEW.parse().unwrap(), NOW);
        found.into_iter().map(|found| (found.name, found.blocks)).collect::<BTreeMap<CheckName, bool>>()
    };
    assert_eq!(found(&world), BTreeMap::new());
    let mut ill = world;
    ill.api.nodes.get_mut("worker2").unwrap().cordon = kok_tasks::drain::Cordon::Others;
    assert_eq!(found(&ill), BTreeMap::from([(CheckName::Cordons, false)]));
    ill.api.nodes.remove("worker1");
    assert_eq!(found(&ill).get(&CheckName::Nodes), Some(&true));
}

/// What API servers ask before they take what an upgrade writes, and nobody answers: a webhook that selects may mean something else.
#[test]
fn webhooks_that_nobody_answers_for_are_in_the_way() {
    let webhook = |group: &str, resource: &str| Webhook {
        kind: "MutatingWebhookConfiguration".to_owned(),
        configuration: "guard".to_owned(),
        name: "guard.io".to_owned(),
        selects: false,
        service: "guard/guard".to_owned(),
        rules: vec![Rule { groups: vec![group.to_owned()], resources: vec![resource.to_owned()] }],
        answers: false,
    };
    let found = |webhooks: Webhooks| {
        let world = old();
        let mut seen = world.seen();
        let asked = kok_tasks::upgrade::looks(&world.cluster);
        for (host, looks) in asked.iter().filter(|(_, looks)| looks.iter().any(|look| look == Look::Webhooks)) {
            let webhooks = Some(webhooks.clone());
            seen.add_observations(host, Observations { webhooks, ..world.look(host, looks.iter()) });
        }
        let found = check(&world.cluster, &seen, &NEW.parse().unwrap(), NOW);
        found.into_iter().map(|found| (found.name, found.blocks, found.refusal.to_string())).collect::<Vec<_>>()
    };
    let of = |webhook: Webhook| found(Ok(vec![webhook]));
    for (group, resource) in
        [("", "pods"), ("*", "*"), ("*", "*/*"), ("", "nodes/status"), ("", "pods/*"), ("apps", "*"), ("coordination.k8s.io", "leases")]
    {
        let found = of(webhook(group, resource));
        assert!(matches!(&found[..], [(CheckName::Webhooks, true, _)]), "{group} {resource}: {found:?}");
    }
    let said = of(Webhook { selects: true, ..webhook("", "pods") });
    assert!(matches!(&said[..], [(CheckName::Webhooks, false, _)]), "{said:?}");
    assert_eq!(of(Webhook { answers: true, ..webhook("", "pods") }), []);
    // Most webhooks are about objects of their own, all of them.
    for (group, resource) in [("cert-manager.io", "*/*"), ("metrics.k8s.io", "pods"), ("", "pods/exec"), ("apps", "pods")] {
        assert_eq!(of(webhook(group, resource)), [], "{group} {resource}");
    }
    let unknown = found(Err("nobody can say".to_owned()));
    assert!(matches!(&unknown[..], [(CheckName::Webhooks, false, _)]), "{unknown:?}");
}

/// Images of another version lie beside those of the one that runs.
#[test]
fn disks_have_room_for_another_version() {
    let found_by = |mount: &str, free: u64, total: u64, change: &dyn Fn(&mut World)| {
        let mut world = old();
        change(&mut world);
        let mut seen = world.seen();
        let mut facts = seen.facts("worker2").unwrap().clone();
        for folder in ["/usr/local", "/var/lib/containerd"] {
            let storage = facts.storage.get_mut(folder).unwrap();
            (storage.mount, storage.free_bytes, storage.total_bytes) = (mount.to_owned(), free * 1_000_000, total * 1_000_000);
        }
        seen.add_facts("worker2", facts);
        let found = check(&world.cluster, &seen, &NEW.parse().unwrap(), NOW).into_iter();
        let found: Vec<_> = found.filter(|found| found.name == CheckName::Disks).collect();
        assert!(found.iter().all(|found| found.refusal.at.as_deref().is_some_and(|at| at.contains("worker2"))), "{found:?}");
        let because = |refusal: &kok_tasks::plan::Refusal| refusal.because.clone().unwrap_or_default();
        found.into_iter().map(|found| (found.blocks, format!("{}: {}", found.refusal, because(&found.refusal)))).collect::<Vec<_>>()
    };
    let found = |mount: &str, free: u64, total: u64| found_by(mount, free, total, &|_| {});
    assert_eq!(found("/data", 20_000, 50_000), []);
    let full = found("/data", 1_649, 50_000);
    assert!(full.len() == 1 && full[0].0 && full[0].1.contains("1649 MB free") && full[0].1.contains("need 1650 MB"), "{full:?}");
    let begun = |world: &mut World| world.host("worker2").has_version(KUBELET, OLD, NEW);
    assert_eq!(found_by("/data", 1_649, 50_000, &begun), [], "an upgrade that was cut off goes on");
    let nearly = found("/data", 5_000, 50_000);
    assert!(nearly.len() == 1 && !nearly[0].0 && nearly[0].1.contains("DiskPressure"), "{nearly:?}");
}
