//! Backups that a Cluster's schedule asks for.

use super::{Intent, Make, Operation, OperationOutcome, Served, View, Why, numbered, pause};
use crate::operator::made::{ClusterTarget, Note};

/// Seconds after one that did not succeed: the first pause, and the longest.
const AGAIN: (i64, i64) = (60, 3600);
/// So many seconds the clocks of two replicas may differ. What was made later than that is of a clock that was wrong, which must not hold up others for a year.
const CLOCKS: i64 = 3600;
/// So many are kept beside what else has ended, and the last that succeeded: enough to see that they are made.
const KEPT: usize = 3;

/// One is made for each moment of the schedule, of a cluster that was founded; of several that were missed one alone, and at once.
pub(super) fn of_schedule(view: &View, cluster: &Served, now: i64) -> Vec<Intent> {
    let Some(schedule) = cluster.backups.as_ref().filter(|_| cluster.was_founded) else { return Vec::new() };
    let last = view.last_made(&[Why::Backup]);
    let make = |moment: i64, failures| {
        let target = ClusterTarget { generation: cluster.generation, ..ClusterTarget::default() };
        let note = Note { cluster: cluster.uid.clone(), number: 0, failures, gives_up: false, moment: Some(moment), target };
        numbered(view, Make { why: Why::Backup, note })
    };
    // A Cluster has its time of the API server, whose clock is no replica's.
    let is_known = |moment: &i64| *moment <= now.saturating_add(CLOCKS);
    let after = last.and_then(|last| last.note.moment).filter(is_known).unwrap_or(cluster.created);
    let next = schedule.next(after.min(now.saturating_add(CLOCKS)));
    if next.is_some_and(|next| now >= next) {
        return vec![make(now, 0)];
    }
    let retry = last.and_then(|last| match last.outcome {
        OperationOutcome::Failed => Some((last, last.ended + pause(last.note.failures, AGAIN))),
        // Somebody had to change something, and has.
        OperationOutcome::Waits if last.note.target.generation < cluster.generation => Some((last, now)),
        OperationOutcome::Open | OperationOutcome::Succeeded | OperationOutcome::Waits => None,
    });
    match retry {
        Some((last, at)) if now >= at => vec![make(last.note.moment.unwrap_or(now), last.note.failures + 1)],
        retry => retry.map(|(_, at)| at).into_iter().chain(next).min().map(Intent::Requeue).into_iter().collect(),
    }
}

/// Those of the backups that have ended that are more than are kept.
pub(super) fn surplus(mut ended: Vec<&Operation>) -> impl Iterator<Item = &Operation> {
    ended.sort_by_key(|operation| std::cmp::Reverse(operation.made.as_ref().map(|made| made.note.number)));
    let succeeded = |operation: &&&Operation| operation.made.as_ref().is_some_and(|made| made.outcome == OperationOutcome::Succeeded);
    let useful = ended.iter().find(succeeded).map(|operation| operation.name.clone());
    ended.into_iter().skip(KEPT).filter(move |operation| Some(&operation.name) != useful.as_ref())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

    use kok_crds::model::Schedule;

    use super::super::super::made::Made;
    use super::super::decide;
    use super::super::support::{ended, make, target, view};
    use super::super::tests::{active, operation};
    use super::*;
    use crate::operator::view::Life;

    /// 2026-11-27T00:00:00Z, and what comes each day at three.
    const MIDNIGHT: i64 = 1_795_737_600;
    const THREE: i64 = MIDNIGHT + 3 * 3600;
    const DAY: i64 = 86_400;

    fn cluster() -> Served {
        let schedule = Schedule::parse("0 3 * * *").unwrap();
        let uid = "u".to_owned();
        Served { uid, generation: 3, created: MIDNIGHT, was_founded: true, backups: Some(schedule), ..Served::default() }
    }

    /// One for a moment, with its number and how many before it did not succeed.
    fn backup((number, failures): (u64, u32), moment: i64, outcome: OperationOutcome) -> Made {
        let made = ended(Why::Backup, (number, failures), outcome, moment + 20);
        Made {
            note: Note { moment: Some(moment), target: ClusterTarget { generation: 3, ..ClusterTarget::default() }, ..made.note },
            ..made
        }
    }

    fn made(number: u64, failures: u32, moment: i64) -> Intent {
        let Intent::Make(made) = make(Why::Backup, number, failures, ClusterTarget { generation: 3, ..ClusterTarget::default() }) else {
            unreachable!()
        };
        Intent::Make(Make { note: Note { moment: Some(moment), ..made.note }, ..made })
    }

    #[test]
    fn one_is_made_for_each_moment() {
        assert_eq!(decide(&view(cluster(), Vec::new()), THREE - 1), [Intent::Requeue(THREE)]);
        assert_eq!(decide(&view(cluster(), Vec::new()), THREE), [made(1, 0, THREE)]);
        let first = backup((1, 0), THREE, OperationOutcome::Succeeded);
        assert_eq!(decide(&view(cluster(), vec![first.clone()]), THREE + 30), [Intent::Requeue(THREE + DAY)]);
        // Nobody was there for three days, and it is made up for once.
        let late = THREE + 3 * DAY + 7;
        assert_eq!(decide(&view(cluster(), vec![first]), late), [made(2, 0, late)]);
        let second = backup((2, 0), late, OperationOutcome::Succeeded);
        assert_eq!(decide(&view(cluster(), vec![second]), late + 30), [Intent::Requeue(THREE + 4 * DAY)]);
    }

    #[test]
    fn none_is_made_of_what_is_no_cluster_yet_or_is_left_alone() {
        let none = |change: fn(&mut Served)| {
            let mut cluster = cluster();
            change(&mut cluster);
            decide(&view(cluster, Vec::new()), THREE)
        };
        assert_eq!(none(|cluster| cluster.was_founded = false), []);
        assert_eq!(none(|cluster| cluster.backups = None), []);
        assert_eq!(none(|cluster| cluster.is_suspended = true), [Intent::Phase("Suspended")]);
        // What is under way comes first.
        let running = View { active: Some(active("a")), operations: vec![operation("a", 200, Life::Begun)], ..view(cluster(), Vec::new()) };
        assert!(!decide(&running, THREE).iter().any(|intent| matches!(intent, Intent::Make(_))));
    }

    #[test]
    fn one_that_failed_is_tried_again_and_one_that_nobody_wants_is_not() {
        let failed = |failures| view(cluster(), vec![backup((1, failures), THREE, OperationOutcome::Failed)]);
        assert_eq!(decide(&failed(0), THREE + 79), [Intent::Requeue(THREE + 80)]);
        assert_eq!(decide(&failed(0), THREE + 80), [made(2, 1, THREE)]);
        assert_eq!(decide(&failed(9), THREE + 80), [Intent::Requeue(THREE + 20 + 3600)]);
        let refused = |generation| view(Served { generation, ..cluster() }, vec![backup((1, 0), THREE, OperationOutcome::Waits)]);
        assert_eq!(decide(&refused(3), THREE + 80), [Intent::Requeue(THREE + DAY)], "somebody has to change something");
        assert!(matches!(decide(&refused(4), THREE + 80).as_slice(), [Intent::Make(make)] if make.note.failures == 1));
        assert_eq!(decide(&refused(3), THREE + DAY), [made(2, 0, THREE + DAY)]);
    }

    /// A replica whose clock is a little behind makes none again; one that was a year ahead holds up nobody.
    #[test]
    fn clocks_of_replicas_may_differ() {
        let of = |moment: i64| view(cluster(), vec![backup((1, 0), moment, OperationOutcome::Succeeded)]);
        assert_eq!(decide(&of(THREE + 1), THREE - 1), [Intent::Requeue(THREE + DAY)]);
        let ahead = of(THREE + 365 * DAY);
        assert_eq!(decide(&ahead, THREE - 1), [Intent::Requeue(THREE)]);
        assert_eq!(decide(&ahead, THREE), [made(2, 0, THREE)]);
        let mended = View { operations: [ahead.operations, of(THREE).operations].concat(), ..ahead };
        assert!(!decide(&mended, THREE + 30).iter().any(|intent| matches!(intent, Intent::Make(_))));
    }

    /// Hourly ones leave the others their place, and the last of them is what the next moment is known by.
    #[test]
    fn three_of_them_are_kept_beside_the_others_and_the_last_that_succeeded() {
        let all = (1..=6).map(|number| backup((number, 0), THREE, OperationOutcome::Waits)).collect();
        let mut view = View { history: Some(0), ..view(cluster(), all) };
        view.operations.push(operation("of-somebody", 200, Life::Ended));
        if let Some(first) = view.operations.first_mut() {
            // The only one that was of any use.
            first.made.as_mut().unwrap().outcome = OperationOutcome::Succeeded;
        }
        let names: Vec<String> = view.operations.iter().map(|operation| operation.name.clone()).collect();
        let pruned = |name: &String| Intent::Prune { operation: name.clone() };
        let expected: Vec<Intent> =
            [&names[2], &names[1], &names[6]].into_iter().map(pruned).chain([Intent::Requeue(THREE + DAY)]).collect();
        let mut found = decide(&view, THREE + 30);
        let mut wanted = expected;
        let key = |intent: &Intent| format!("{intent:?}");
        found.sort_by_key(key);
        wanted.sort_by_key(key);
        assert_eq!(found, wanted);
    }

    /// What is due comes before what is changed, and each has a number of its own.
    #[test]
    fn it_comes_before_what_the_description_asks_for() {
        let declared = Served { is_declarative: true, ..cluster() };
        let versions = Some(crate::operator::versions::Versions { at: THREE, text: "v".to_owned() });
        let now = View { versions, ..view(declared, Vec::new()) };
        let makes: Vec<Intent> = decide(&now, THREE).into_iter().filter(|intent| matches!(intent, Intent::Make(_))).collect();
        assert_eq!(makes, [made(1, 0, THREE)]);
        let makes: Vec<Intent> = decide(&now, THREE - 1).into_iter().filter(|intent| matches!(intent, Intent::Make(_))).collect();
        assert_eq!(makes, [make(Why::Description, 1, 0, target(3, "v"))]);
        // One after the other, where backups take longer than from one moment to the next.
        let behind = View { operations: view(cluster(), vec![backup((1, 0), THREE - DAY, OperationOutcome::Succeeded)]).operations, ..now };
        let makes: Vec<Intent> = decide(&behind, THREE).into_iter().filter(|intent| matches!(intent, Intent::Make(_))).collect();
        assert_eq!(makes, [make(Why::Description, 2, 0, target(3, "v"))]);
    }
}
