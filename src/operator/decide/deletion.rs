//! What becomes of a Cluster that is being deleted, and of its hosts.

use super::{Intent, Make, OperationOutcome, Served, View, Why, numbered, pause};
use crate::operator::made::{ClusterTarget, Made, Note};
use crate::operator::served::Deleted;

/// Seconds after a try to take hosts down that did not succeed: the first pause, and the longest.
const AGAIN: (i64, i64) = (30, 300);

/// A Cluster whose hosts are to be taken down does not go before that is done; any other may go whenever somebody deletes it, also where no operator runs.
pub(super) fn hold(cluster: &Served) -> Vec<Intent> {
    match (cluster.resets, cluster.is_held) {
        (true, false) => vec![Intent::Hold],
        (false, true) => vec![Intent::LetGo { given_up: None }],
        _ => Vec::new(),
    }
}

/// Takes the hosts down until that has succeeded or there is no time left, and lets the Cluster go.
pub(super) fn of_deletion(view: &View, cluster: &Served, deleted: Deleted, (is_idle, now): (bool, i64)) -> Vec<Intent> {
    let Deleted { last_chance, deadline } = deleted;
    let mut intents: Vec<Intent> = (now < deadline).then_some(Intent::Requeue(deadline)).into_iter().collect();
    // Who still works on hosts, or ends, is awaited.
    if !cluster.is_held || !is_idle {
        return intents;
    }
    let last = view.last_made(&[Why::Deletion]);
    let let_go = |given_up| vec![Intent::LetGo { given_up }];
    if !cluster.resets || !cluster.has_begun {
        return let_go(None);
    }
    if let Some(done) = last.filter(|last| last.outcome == OperationOutcome::Succeeded) {
        let left = kok_crds::listed(done.left_out.iter().map(String::as_str));
        return let_go((!done.left_out.is_empty()).then(|| format!("{left} did not answer, and the others were taken down")));
    }
    if now >= deadline {
        return let_go(Some(given_up(last)));
    }
    let failures = last.map_or(0, |last| last.note.failures + 1);
    let at = last.map_or(now, |last| {
        let at = last.ended + pause(last.note.failures, AGAIN);
        // The last chance is taken at once.
        if last.note.gives_up { at } else { at.min(last_chance.max(last.ended)) }
    });
    match last.map(|last| last.outcome) {
        Some(OperationOutcome::Open) => {}
        _ if now < at => intents.push(Intent::Requeue(at)),
        _ => {
            let target = ClusterTarget { generation: cluster.generation, ..ClusterTarget::default() };
            let note = Note { cluster: cluster.uid.clone(), number: 0, failures, gives_up: now >= last_chance, moment: None, target };
            intents.push(numbered(view, Make { why: Why::Deletion, note }));
        }
    }
    intents
}

/// Why hosts are left as they are.
fn given_up(last: Option<&Made>) -> String {
    match last.filter(|last| !last.error.is_empty()) {
        Some(last) => format!("the hosts are left as they are, for they could not be taken down in time: {}", last.error),
        None => "the hosts are left as they are, for nobody has let them be taken down in time".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::view::Life;
    use super::super::support::{ended, live, make, view};
    use super::super::{Active, GRACE_SECONDS, Stopping, decide};
    use super::*;

    const NOW: i64 = 10_000;
    const CHANCE: i64 = NOW + 600;
    const DEADLINE: i64 = NOW + 900;

    /// A Cluster that is being deleted, with these operations that were made for it.
    fn deleted(resets: bool, made: Vec<Made>) -> View {
        let cluster = Served {
            resets,
            is_held: true,
            has_begun: true,
            deleted: Some(Deleted { last_chance: CHANCE, deadline: DEADLINE }),
            uid: "u".to_owned(),
            generation: 3,
            ..Served::default()
        };
        view(cluster, made)
    }

    fn reset(number: u64, failures: u32) -> Intent {
        make(Why::Deletion, number, failures, ClusterTarget { generation: 3, ..ClusterTarget::default() })
    }

    #[test]
    fn a_cluster_whose_hosts_are_taken_down_is_held() {
        let of = |resets, is_held| decide(&view(Served { resets, is_held, ..Served::default() }, Vec::new()), NOW);
        assert_eq!(of(true, false), [Intent::Hold]);
        assert_eq!(of(false, true), [Intent::LetGo { given_up: None }]);
        assert_eq!((of(false, false), of(true, true)), (Vec::new(), Vec::new()));
    }

    #[test]
    fn hosts_are_left_unless_they_are_to_be_taken_down() {
        let let_go = Intent::LetGo { given_up: None };
        assert_eq!(decide(&deleted(false, Vec::new()), NOW).as_slice(), std::slice::from_ref(&let_go));
        assert_eq!(decide(&deleted(true, Vec::new()), NOW), [Intent::Requeue(DEADLINE), reset(1, 0)]);
        let mut untouched = deleted(true, Vec::new());
        untouched.cluster.as_mut().into_iter().for_each(|cluster| cluster.has_begun = false);
        assert_eq!(decide(&untouched, NOW).last(), Some(&let_go), "nothing was ever done to its hosts");
        let done = ended(Why::Deletion, (1, 0), OperationOutcome::Succeeded, NOW);
        assert_eq!(decide(&deleted(true, vec![done.clone()]), NOW).last(), Some(&let_go));
        let without = decide(&deleted(true, vec![Made { left_out: vec!["w1".to_owned()], ..done }]), NOW);
        assert!(matches!(without.last(), Some(Intent::LetGo { given_up: Some(because) }) if because.starts_with("w1 ")), "{without:?}");
    }

    #[test]
    fn it_is_tried_again_until_the_deadline_and_then_hosts_are_given_up() {
        let failed = |outcome| Made { error: "cannot connect to w1".to_owned(), ..ended(Why::Deletion, (1, 0), outcome, NOW) };
        for outcome in [OperationOutcome::Failed, OperationOutcome::Waits] {
            assert_eq!(decide(&deleted(true, vec![failed(outcome)]), NOW + 29).last(), Some(&Intent::Requeue(NOW + 30)));
            assert_eq!(decide(&deleted(true, vec![failed(outcome)]), NOW + 30).last(), Some(&reset(2, 1)));
        }
        let late = decide(&deleted(true, vec![failed(OperationOutcome::Failed)]), DEADLINE);
        assert!(matches!(late.last(), Some(Intent::LetGo { given_up: Some(because) }) if because.contains("w1")), "{late:?}");
    }

    #[test]
    fn hosts_that_dont_answer_are_passed_over_when_little_time_is_left() {
        let tried = |gives_up, at| {
            let mut last = ended(Why::Deletion, (4, 3), OperationOutcome::Failed, at);
            last.note.gives_up = gives_up;
            last
        };
        let at = |last: Made, now| decide(&deleted(true, vec![last]), now).pop();
        assert_eq!(at(tried(false, CHANCE - 10), CHANCE - 1), Some(Intent::Requeue(CHANCE)), "that is before its pause is over");
        let Some(Intent::Make(last)) = at(tried(false, CHANCE - 10), CHANCE) else { unreachable!("it is the last chance") };
        assert_eq!((last.note.gives_up, last.note.failures), (true, 4));
        assert_eq!(at(tried(true, CHANCE + 10), CHANCE + 20), Some(Intent::Requeue(CHANCE + 10 + 240)));
    }

    #[test]
    fn what_is_under_way_is_ended_before_hosts_are_taken_down_or_left() {
        let mut running = deleted(true, Vec::new());
        running.operations = vec![live("o", Life::Begun), live("p", Life::New)];
        running.active = Some(Active { operation: "o".to_owned(), uid: "o-1".to_owned(), deadline: NOW * 2, stopping: None });
        let intents = decide(&running, NOW);
        assert_eq!(intents.first(), Some(&Intent::Cancel { operation: "p".to_owned() }));
        assert!(intents.contains(&Intent::Stop(Stopping::Cancel { at: NOW })), "{intents:?}");
        assert!(!intents.iter().any(|intent| matches!(intent, Intent::Make(_) | Intent::LetGo { .. })), "{intents:?}");
    }

    #[test]
    fn a_try_that_is_under_way_ends_at_the_deadline() {
        let mut running =
            deleted(true, vec![Made { outcome: OperationOutcome::Open, ..ended(Why::Deletion, (1, 0), OperationOutcome::Open, 0) }]);
        running.operations.iter_mut().for_each(|operation| operation.life = Life::Begun);
        let name = running.operations.first().map(|operation| operation.name.clone()).unwrap_or_default();
        running.active = Some(Active { uid: format!("{name}-1"), operation: name, deadline: DEADLINE * 2, stopping: None });
        assert!(!decide(&running, DEADLINE - 1).iter().any(|intent| matches!(intent, Intent::Stop(_))));
        let late = decide(&running, DEADLINE);
        assert_eq!(late, [Intent::Stop(Stopping::Cancel { at: DEADLINE }), Intent::Requeue(DEADLINE + GRACE_SECONDS)]);
    }

    #[test]
    fn what_took_a_cluster_down_goes_with_it() {
        let mut gone = view(Served::default(), vec![ended(Why::Deletion, (1, 0), OperationOutcome::Succeeded, NOW)]);
        gone.cluster = None;
        let name = gone.operations.first().map(|operation| operation.name.clone()).unwrap_or_default();
        assert_eq!(decide(&gone, NOW), [Intent::Prune { operation: name }]);
    }
}
