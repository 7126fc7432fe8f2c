#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

use serde_json::{Value, json};

use super::*;

fn pod(name: &str, app: &str) -> Pod {
    let labels = [("app".to_owned(), app.to_owned())].into();
    Pod { namespace: "shop".to_owned(), name: name.to_owned(), labels, owner: PodOwner::Another, ..Pod::default() }
}

fn budget(selector: &Value, [allowed, healthy, desired, expected]: [i64; 4]) -> Budget {
    let list = json!({"kind": "PodDisruptionBudgetList", "items": [{
        "metadata": {"namespace": "shop", "name": "b"},
        "spec": {"selector": selector},
        "status": {"disruptionsAllowed": allowed, "currentHealthy": healthy, "desiredHealthy": desired, "expectedPods": expected},
    }]});
    read_budgets(&list.to_string()).unwrap().remove(0)
}

fn app(name: &str) -> Value {
    json!({"matchLabels": {"app": name}})
}

#[test]
fn what_stays_is_no_business_of_a_drain() {
    let pods = [
        Pod { owner: PodOwner::DaemonSet, ..pod("daemon", "a") },
        Pod { is_mirror: true, owner: PodOwner::Nobody, ..pod("static", "a") },
        Pod { has_ended: true, owner: PodOwner::Nobody, ..pod("job", "a") },
    ];
    assert!(judge(&pods, &[], &DrainSettings::default()).is_done());
}

#[test]
fn of_pods_of_one_budget_as_many_leave_as_it_allows() {
    let pods = [pod("a", "cart"), pod("b", "cart"), pod("c", "other"), Pod { namespace: "else".to_owned(), ..pod("d", "cart") }];
    let drain = judge(&pods, &[budget(&app("cart"), [1, 3, 2, 3])], &DrainSettings::default());
    assert_eq!(drain.evict, ["shop/a", "shop/c", "else/d"]);
    assert_eq!(drain.blocked.len(), 1);
    let words = drain.blocked[0].1.to_string();
    assert_eq!(words, "budget b (app=cart) allows 0: 3 pods are healthy, and 2 have to be");
    let forced = judge(&pods, &[budget(&app("cart"), [0, 3, 3, 3])], &DrainSettings { force_budget: true, ..DrainSettings::default() });
    assert_eq!((forced.evict.len(), forced.blocked.len()), (4, 0));
}

#[test]
fn a_budget_that_is_never_met_and_several_are_told_apart() {
    let blocker = |budgets: &[Budget]| judge(&[pod("a", "cart")], budgets, &DrainSettings::default()).blocked.remove(0).1;
    let never = blocker(&[budget(&app("cart"), [0, 2, 2, 2])]);
    assert!(matches!(never, Blocker::NeverMet(_)) && never.to_string().ends_with("it covers 2, so it never allows one"), "{never}");
    assert!(matches!(blocker(&[budget(&app("cart"), [0, 1, 1, 2])]), Blocker::Budget(_)));
    let several = blocker(&[budget(&app("cart"), [1, 2, 1, 2]), budget(&json!({}), [1, 2, 1, 2])]);
    assert!(matches!(several, Blocker::Several(_)), "the API evicts no such pod: {several}");
}

#[test]
fn what_would_be_lost_is_a_decision_and_what_ends_is_waited_for() {
    let alone = Pod { owner: PodOwner::Nobody, ..pod("alone", "a") };
    let holds = Pod { has_empty_dir: true, ..pod("holds", "a") };
    let ends = Pod { is_leaving: true, owner: PodOwner::Nobody, has_empty_dir: true, ..pod("ends", "a") };
    let pods = [alone, holds, ends];
    let drain = judge(&pods, &[], &DrainSettings::default());
    assert!(drain.blocked.len() == 2 && drain.blocked.iter().all(|(_, blocker)| blocker.is_decision()), "{drain:?}");
    assert_eq!(drain.ending, ["shop/ends"]);
    let all = DrainSettings { delete_unmanaged: true, delete_empty_dir: true, ..DrainSettings::default() };
    assert_eq!(judge(&pods, &[], &all).evict, ["shop/alone", "shop/holds"]);
}

#[test]
fn selectors_are_read_as_kubernetes_reads_them() {
    let takes = |selector: Value| budget(&selector, [0; 4]).covers(&pod("a", "cart"));
    assert!(takes(app("cart")) && !takes(app("else")));
    assert!(takes(json!({})), "an empty one takes all");
    assert!(!takes(Value::Null), "one that is not there takes none");
    let by = |operator: &str, values: &[&str]| json!({"matchExpressions": [{"key": "app", "operator": operator, "values": values}]});
    assert!(takes(by("In", &["x", "cart"])) && !takes(by("In", &["x"])) && takes(by("NotIn", &["x"])) && !takes(by("NotIn", &["cart"])));
    assert!(takes(by("Exists", &[])) && !takes(by("DoesNotExist", &[])));
    let shown = budget(&json!({"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "In", "values": ["d"]}]}), [0; 4]);
    assert_eq!(shown.selector.to_string(), "a=b,c in (d)");
}

#[test]
fn pods_are_read_and_an_error_is_no_list() {
    let list = json!({"kind": "PodList", "items": [{
        "metadata": {"namespace": "kube-system", "name": "etcd-cp1", "deletionTimestamp": "2026-01-01T00:00:00Z",
            "annotations": {"kubernetes.io/config.mirror": "x"}, "ownerReferences": [{"kind": "Node", "controller": true}]},
        "spec": {"volumes": [{"hostPath": {}}, {"emptyDir": {}}]}, "status": {"phase": "Failed"},
    }, {"metadata": {"namespace": "a", "name": "b", "ownerReferences": [{"kind": "ReplicaSet"}]}}]});
    let pods = read_pods(&list.to_string()).unwrap();
    let first = &pods[0];
    assert!(first.is_mirror && first.is_leaving && first.has_ended && first.has_empty_dir && first.owner == PodOwner::Another);
    assert_eq!((pods[1].owner, pods[1].has_ended, pods[1].path()), (PodOwner::Nobody, false, "a/b".to_owned()), "no controller");
    assert_eq!(read_pods(r#"{"kind":"Status","message":"no"}"#), None);
    assert_eq!(read_budgets("Error from server (Forbidden)"), None);
}

#[test]
fn a_cordon_is_ours_by_its_annotation_alone() {
    assert_eq!(Cordon::read(false, Some("run")), Cordon::None);
    assert_eq!(Cordon::read(true, None), Cordon::Others);
    assert_eq!(Cordon::read(true, Some("what a later version may say")), Cordon::Others);
    assert_eq!(Cordon::read(true, Some("word")), Cordon::Ours(Cordoner::Word));
    assert!(Cordon::read(true, Some("run")).is_of_run() && !Cordon::read(true, Some("word")).is_of_run());
}
