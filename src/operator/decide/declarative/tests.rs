//! When the operator makes operations by itself, and when it looks at hosts.

use super::super::super::served::ServedDrift;
use super::super::super::versions::Versions;
use super::super::super::view::{Active, Life, Operation};
use super::super::support::{ended, live, make, operation_of, target, view};
use super::super::{Refused, decide};
use super::*;

const NOW: i64 = 10_000;
/// What is known of a Cluster is looked at again then.
const LOOK: Intent = Intent::Requeue(NOW + LOOKED);

fn cluster() -> Served {
    Served { uid: "u".to_owned(), generation: 3, is_declarative: true, ..Served::default() }
}

/// A declared Cluster, of which the versions were seen now.
fn declared(made: Vec<Made>) -> View {
    View { versions: seen("v", NOW), ..view(cluster(), made) }
}

fn seen(text: &str, at: i64) -> Option<Versions> {
    Some(Versions { at, text: text.to_owned() })
}

fn described(number: u64, failures: u32) -> Intent {
    make(Why::Description, number, failures, target(3, "v"))
}

fn done(outcome: OperationOutcome, at: i64) -> Made {
    ended(Why::Description, (1, 0), outcome, at)
}

#[test]
fn a_declared_cluster_is_made_once_for_each_description() {
    assert_eq!(decide(&declared(Vec::new()), NOW), [LOOK, described(1, 0)]);
    assert_eq!(decide(&declared(vec![done(OperationOutcome::Succeeded, NOW - 9)]), NOW), [LOOK]);
    let changed = |change: fn(&mut View)| {
        let mut view = declared(vec![done(OperationOutcome::Succeeded, NOW - 9)]);
        change(&mut view);
        decide(&view, NOW).last().cloned()
    };
    let generation = changed(|view| view.cluster.as_mut().into_iter().for_each(|cluster| cluster.generation = 4));
    assert_eq!(generation, Some(make(Why::Description, 2, 0, target(4, "v"))));
    let reference = changed(|view| view.versions = seen("w", NOW));
    assert_eq!(reference, Some(make(Why::Description, 2, 0, target(3, "w"))));
    let asked = changed(|view| view.cluster.as_mut().into_iter().for_each(|cluster| cluster.asked = "now".to_owned()));
    assert_eq!(asked, Some(make(Why::Description, 2, 0, ClusterTarget { asked: "now".to_owned(), ..target(3, "v") })));
}

/// As after an update that has not been heard of: what was made for a later description was not made for an earlier one.
#[test]
fn what_is_known_of_a_cluster_may_be_old() {
    let mut later = done(OperationOutcome::Succeeded, NOW - 9);
    later.note.target.generation = 4;
    assert_eq!(decide(&declared(vec![later]), NOW), [LOOK]);
}

#[test]
fn what_was_seen_before_the_end_of_a_run_is_looked_at_anew() {
    let of = |versions, now| decide(&View { versions, ..declared(vec![done(OperationOutcome::Succeeded, NOW)]) }, now);
    assert_eq!(of(seen("old", NOW), NOW), [Intent::Requeue(NOW + 1)]);
    assert_eq!(of(seen("old", NOW), NOW + 1), [Intent::Look]);
    assert_eq!(of(None, NOW + 1), [Intent::Look]);
    assert_eq!(of(seen("v", NOW + 1), NOW + 1), [Intent::Requeue(NOW + 1 + LOOKED)]);
    assert_eq!(of(seen("v", NOW + 1), NOW + 1 + LOOKED), [Intent::Look]);
}

#[test]
fn a_cluster_that_only_operations_change_is_left_alone() {
    let plain = Served { is_declarative: false, ..cluster() };
    assert_eq!(decide(&View { versions: seen("v", NOW), ..view(plain, Vec::new()) }, NOW), []);
}

/// Also at the first start of an operator where another one was, or this one with other settings.
#[test]
fn nothing_is_made_while_anything_waits_or_runs_or_the_cluster_is_suspended() {
    let with = |operation: Operation| View { operations: vec![operation], ..declared(Vec::new()) };
    for life in [Life::New, Life::Queued, Life::Begun] {
        let intents = decide(&with(live("o", life)), NOW);
        assert!(!intents.iter().any(|intent| matches!(intent, Intent::Make(_) | Intent::Look)), "{intents:?}");
    }
    let active = Active { operation: "o".to_owned(), uid: "o-1".to_owned(), deadline: NOW * 2, stopping: None };
    let running = View { active: Some(active), ..with(live("o", Life::Begun)) };
    assert_eq!(decide(&running, NOW), [Intent::Requeue(NOW * 2)]);
    let suspended = Served { is_suspended: true, ..cluster() };
    assert_eq!(decide(&View { cluster: Some(suspended), ..declared(Vec::new()) }, NOW), [Intent::Phase("Suspended")]);
    // One that nobody begins keeps nobody from anything.
    let old = Operation { created: 99, refused: Some(Refused::FoundAtTakeOver.reason()), ..live("o", Life::New) };
    assert_eq!(decide(&with(old), NOW), [LOOK, described(1, 0)]);
}

#[test]
fn one_of_somebody_is_begun_before_the_operators_own() {
    let own = operation_of(done(OperationOutcome::Open, 0));
    let later = Operation { created: 900, ..live("o", Life::New) };
    let both = View { operations: vec![own.clone(), later], ..declared(Vec::new()) };
    let intents = decide(&both, NOW);
    assert_eq!(
        intents,
        [Intent::Start { operation: "o".to_owned(), uid: "o-1".to_owned() }, Intent::Queue { operation: own.name, behind: "o".to_owned() }]
    );
}

#[test]
fn what_somebody_has_to_change_waits_for_a_change_and_the_rest_is_tried_later_and_later() {
    assert_eq!(decide(&declared(vec![done(OperationOutcome::Waits, NOW - 9000)]), NOW), [LOOK]);
    let mut changed = declared(vec![done(OperationOutcome::Waits, NOW - 9000)]);
    changed.versions = seen("mended", NOW);
    assert_eq!(decide(&changed, NOW).last(), Some(&make(Why::Description, 2, 0, target(3, "mended"))));
    let failed = |failures| {
        let end = NOW - 1;
        let last = Made { ended: end, ..ended(Why::Description, (7, failures), OperationOutcome::Failed, end) };
        let Some(Intent::Requeue(at)) = decide(&declared(vec![last.clone()]), NOW).last().cloned() else { return (0, None) };
        let then = View { versions: seen("v", at), ..declared(vec![last]) };
        (at - end, decide(&then, at).last().cloned())
    };
    let pauses: Vec<i64> = (0..9).map(|failures| failed(failures).0).collect();
    assert_eq!(pauses, [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]);
    assert_eq!(failed(2).1, Some(described(8, 3)));
}

#[test]
fn a_plan_that_nobody_has_approved_is_called_off_when_the_cluster_is_described_otherwise() {
    let mut asks = operation_of(Made { awaits_approval: true, ..done(OperationOutcome::Open, 0) });
    asks.life = Life::Begun;
    let mut waiting = declared(Vec::new());
    waiting.operations = vec![asks.clone()];
    let supersede = Intent::Supersede { operation: asks.name.clone() };
    assert!(!decide(&waiting, NOW).contains(&supersede));
    waiting.cluster = Some(Served { generation: 4, ..cluster() });
    assert!(decide(&waiting, NOW).contains(&supersede));
    waiting.operations = vec![Operation { is_cancelled: true, ..asks }];
    assert!(!decide(&waiting, NOW).contains(&supersede), "it was said");
}

#[test]
fn the_last_one_that_was_made_is_not_forgotten() {
    let first = ended(Why::Description, (1, 0), OperationOutcome::Succeeded, 300);
    let last = ended(Why::Drift, (2, 0), OperationOutcome::Succeeded, 400);
    let mut both = View { history: Some(0), ..declared(vec![first, last]) };
    let pruned = |view: &View| {
        let all = decide(view, NOW).into_iter().filter(|intent| matches!(intent, Intent::Prune { .. }));
        all.collect::<Vec<_>>()
    };
    let names: Vec<String> = both.operations.iter().map(|operation| operation.name.clone()).collect();
    assert_eq!(pruned(&both), [Intent::Prune { operation: names.first().cloned().unwrap_or_default() }]);
    both.cluster = None;
    assert_eq!(pruned(&both).len(), 2, "with the Cluster that they are of");
}

#[test]
fn a_name_that_is_taken_is_taken_by_nobody_else() {
    let Some(Intent::Make(first)) = decide(&declared(Vec::new()), NOW).pop() else { unreachable!("it is made") };
    let name = format!("c{}", crate::operator::made::name_end(&first.note));
    let taken = View { operations: vec![live(&name, Life::Ended)], ..declared(Vec::new()) };
    assert_eq!(decide(&taken, NOW).last(), Some(&described(2, 0)));
}

/// A Cluster that is as it is to be, and was looked at when it was.
fn watched(changes: i64, is_repaired: bool) -> View {
    let drift = ServedDrift { interval: Some(600), is_repaired, checked_at: NOW - 100, changes };
    let served = Served { is_ready: true, drift, ..cluster() };
    View { cluster: Some(served), ..declared(vec![done(OperationOutcome::Succeeded, NOW - 500)]) }
}

#[test]
fn hosts_are_looked_at_once_in_each_interval() {
    let mut view = watched(0, false);
    let Some(Intent::Requeue(at)) = decide(&view, NOW).pop() else { unreachable!("nothing is due") };
    assert!((NOW - 100 + 540..=NOW - 100 + 660).contains(&at), "{at}");
    view.versions = seen("v", at);
    assert_eq!(decide(&view, at - 1).last(), Some(&Intent::Requeue(at)));
    assert_eq!(decide(&view, at).last(), Some(&Intent::Check));
    let with = |change: fn(&mut View)| {
        let mut view = view.clone();
        change(&mut view);
        decide(&view, at).contains(&Intent::Check)
    };
    assert!(!with(|view| view.is_checking = true), "that is under way");
    assert!(!with(|view| view.check_after = NOW * 9), "it was tried");
    assert!(!with(|view| view.claim = Claim::RetryAt(NOW * 9)), "another replica has the Lease");
    assert!(!with(|view| view.operations.push(live("o", Life::New))), "what somebody wants is first");
    assert!(!with(|view| view.cluster.as_mut().into_iter().for_each(|cluster| cluster.is_ready = false)));
    assert!(!with(|view| view.cluster.as_mut().into_iter().for_each(|cluster| cluster.is_suspended = true)));
    assert!(!with(|view| view.cluster.as_mut().into_iter().for_each(|cluster| cluster.drift.interval = None)));
    assert!(with(|view| view.cluster.as_mut().into_iter().for_each(|cluster| cluster.is_declarative = false)));
}

#[test]
fn looks_at_clusters_that_were_made_together_are_spread() {
    let at = |uid: &str| spread(600, &Served { uid: uid.to_owned(), ..Served::default() });
    let all: std::collections::BTreeSet<i64> = (0..100).map(|number| at(&format!("uid-{number}"))).collect();
    assert!(all.len() > 40 && all.iter().all(|seconds| (540..=660).contains(seconds)), "{all:?}");
    assert_eq!(at("uid-1"), at("uid-1"));
}

#[test]
fn what_differs_is_mended_once_where_that_is_wished() {
    let repair = make(Why::Drift, 2, 0, target(3, "v"));
    assert_eq!(decide(&watched(2, true), NOW).last(), Some(&repair));
    assert!(!decide(&watched(2, false), NOW).contains(&repair));
    assert!(!decide(&watched(0, true), NOW).contains(&repair));
    let mut mended = watched(2, true);
    mended.operations.push(operation_of(ended(Why::Drift, (2, 0), OperationOutcome::Succeeded, NOW - 50)));
    let intents = decide(&mended, NOW);
    assert!(!intents.iter().any(|intent| matches!(intent, Intent::Make(_))), "what was seen before the repair is old: {intents:?}");
    // A repair that has failed is tried again as any other.
    let mut failed = watched(2, true);
    failed.operations.push(operation_of(ended(Why::Drift, (2, 1), OperationOutcome::Failed, NOW - 50)));
    assert_eq!(decide(&failed, NOW).last(), Some(&Intent::Requeue(NOW - 50 + 120)));
    failed.versions = seen("v", NOW + 70);
    assert_eq!(decide(&failed, NOW + 70).last(), Some(&make(Why::Drift, 3, 2, target(3, "v"))));
}
