//! What is decided, with no API server.

use super::*;

const DAY: i64 = 86_400;

pub(super) fn operation(name: &str, created: i64, life: Life) -> Operation {
    Operation {
        name: name.to_owned(),
        uid: format!("{name}-1"),
        created,
        score: 0,
        life,
        behind: None,
        refused: None,
        has_job: false,
        is_wanted: false,
        is_cancelled: false,
        is_labelled: life == Life::Ended,
        is_left: false,
        made: None,
    }
}

fn view(operations: Vec<Operation>) -> View {
    View { cluster: Some(Served::default()), operations, first_start: 100, history: Some(30), ..View::default() }
}

fn start(name: &str) -> Intent {
    Intent::Start { operation: name.to_owned(), uid: format!("{name}-1") }
}

fn queue(name: &str, behind: &str) -> Intent {
    Intent::Queue { operation: name.to_owned(), behind: behind.to_owned() }
}

fn refuse(name: &str, because: Refused) -> Intent {
    Intent::Refuse { operation: name.to_owned(), because }
}

pub(super) fn active(name: &str) -> Active {
    Active { operation: name.to_owned(), uid: format!("{name}-1"), deadline: DAY, stopping: None }
}

#[test]
fn the_oldest_begins_and_the_others_wait() {
    let all = vec![operation("b", 300, Life::New), operation("a", 300, Life::New), operation("c", 200, Life::New)];
    assert_eq!(decide(&view(all), 1000), [start("c"), queue("a", "c"), queue("b", "a")]);
}

#[test]
fn what_has_begun_is_gone_on_with_first() {
    let all = vec![operation("old", 200, Life::Queued), operation("begun", 300, Life::Begun)];
    assert_eq!(decide(&view(all), 1000), [start("begun"), queue("old", "begun")]);
}

#[test]
fn while_another_replica_has_the_lease_nothing_begins() {
    let held = View { claim: Claim::RetryAt(1010), ..view(vec![operation("a", 200, Life::New)]) };
    assert_eq!(decide(&held, 1000), [Intent::Requeue(1010)]);
    assert_eq!(decide(&held, 1010), [start("a")]);
}

#[test]
fn one_that_is_older_than_the_operator_waits_for_a_word() {
    let old = || operation("a", 99, Life::New);
    assert_eq!(decide(&view(vec![old()]), 1000), [refuse("a", Refused::FoundAtTakeOver)]);
    let said = Operation { refused: Some("FoundAtTakeOver"), ..old() };
    assert_eq!(decide(&view(vec![said.clone()]), 1000), []);
    assert_eq!(decide(&view(vec![Operation { is_wanted: true, ..said }]), 1000), [start("a")]);
    // What this operator has begun is not found.
    assert_eq!(decide(&view(vec![operation("a", 99, Life::Begun)]), 1000), [start("a")]);
}

#[test]
fn what_is_not_begun_lets_others_begin() {
    let job = Operation { has_job: true, ..operation("job", 150, Life::New) };
    let all = vec![job, operation("a", 200, Life::New)];
    assert_eq!(decide(&view(all), 1000), [refuse("job", Refused::HandledByAnotherOperator), start("a")]);
}

#[test]
fn without_a_cluster_and_with_a_suspended_one_nothing_begins() {
    let all = || vec![operation("a", 200, Life::New)];
    let none = View { cluster: None, ..view(all()) };
    assert_eq!(decide(&none, 1000), [refuse("a", Refused::ClusterNotFound)]);
    let suspended = |all| View { cluster: Some(Served { is_suspended: true, ..Served::default() }), ..view(all) };
    assert_eq!(decide(&suspended(all()), 1000), [refuse("a", Refused::Suspended), Intent::Phase("Suspended")]);
    assert_eq!(decide(&suspended(vec![operation("a", 200, Life::Begun)]), 1000), [start("a")], "a run is let end");
    let says = |is_suspended, operations| {
        let cluster = Served { is_suspended, before_suspension: Some("Ready"), ..Served::default() };
        decide(&View { cluster: Some(cluster), ..view(operations) }, 1000)
    };
    assert_eq!(says(true, Vec::new()), []);
    assert_eq!(says(false, all()), [start("a"), Intent::Phase("Ready")]);
}

/// Its hosts may be others, and so may what its owner wants of them.
#[test]
fn what_waited_for_a_cluster_that_is_gone_is_not_done_to_the_next_one_of_its_name() {
    let suspended = Operation { refused: Some(Refused::Suspended.reason()), ..operation("s", 300, Life::New) };
    let mut gone = view(vec![operation("early", 200, Life::New), operation("q", 250, Life::Queued), suspended]);
    gone.cluster = None;
    let cancel = |name: &str| Intent::Cancel { operation: name.to_owned() };
    assert_eq!(decide(&gone, 1000), [cancel("q"), cancel("s"), refuse("early", Refused::ClusterNotFound)]);
}

#[test]
fn a_cancelled_one_ends_before_it_begins_or_as_soon_as_it_can() {
    let cancelled = |life| Operation { is_cancelled: true, ..operation("a", 200, life) };
    assert_eq!(decide(&view(vec![cancelled(Life::New)]), 1000), [Intent::Cancel { operation: "a".to_owned() }]);
    let mut running = View { active: Some(active("a")), ..view(vec![cancelled(Life::Begun)]) };
    let wished = Stopping::Cancel { at: 1000 };
    assert_eq!(decide(&running, 1000), [Intent::Stop(wished), Intent::Requeue(1120)]);
    running.active = Some(Active { stopping: Some(wished), ..active("a") });
    assert_eq!(decide(&running, 1119), [Intent::Requeue(1120)]);
    assert_eq!(decide(&running, 1120), [Intent::Stop(Stopping::Now { cancelled: true })]);
    running.active = Some(Active { stopping: Some(Stopping::Now { cancelled: true }), ..active("a") });
    assert_eq!(decide(&running, 2000), []);
}

#[test]
fn a_deleted_one_is_cancelled_and_a_late_one_is_ended() {
    let mut running = View { active: Some(active("a")), ..view(Vec::new()) };
    assert_eq!(decide(&running, 1000), [Intent::Stop(Stopping::Cancel { at: 1000 }), Intent::Requeue(1120)]);
    running.operations = vec![operation("a", 200, Life::Begun)];
    let gone = View { cluster: None, ..running.clone() };
    assert_eq!(decide(&gone, 1000).first(), Some(&Intent::Stop(Stopping::Cancel { at: 1000 })));
    assert_eq!(decide(&running, 1000), [Intent::Requeue(DAY)]);
    assert_eq!(decide(&running, DAY), [Intent::Stop(Stopping::Deadline { at: DAY }), Intent::Requeue(DAY + GRACE_SECONDS)]);
}

#[test]
fn those_that_have_ended_are_labelled_and_the_surplus_is_forgotten() {
    let ended = |name: &str, created, score| Operation { score, ..operation(name, created, Life::Ended) };
    let all = vec![ended("new", 400, 0), ended("old", 200, 0), ended("scored", 900, 5), ended("newer", 500, 0)];
    let prune = |name: &str| Intent::Prune { operation: name.to_owned() };
    let two = View { history: Some(2), ..view(all.clone()) };
    assert_eq!(decide(&two, 1000), [prune("old"), prune("scored")]);
    assert_eq!(decide(&View { history: None, ..view(all) }, 1000), [], "how many are kept is not known yet");
    let unlabelled = Operation { is_labelled: false, ..ended("a", 200, 0) };
    assert_eq!(decide(&view(vec![unlabelled]), 1000), [Intent::Label { operation: "a".to_owned() }]);
}

#[test]
fn what_runs_is_not_begun_again_and_others_queue_behind_it() {
    let c = Operation { behind: Some("b".to_owned()), ..operation("c", 400, Life::Queued) };
    let all = vec![operation("a", 200, Life::New), operation("b", 300, Life::New), c];
    let running = View { active: Some(active("a")), ..view(all) };
    assert_eq!(decide(&running, 1000), [Intent::Requeue(DAY), queue("b", "a")]);
}

#[test]
fn one_that_waits_says_behind_whom_as_that_changes() {
    let queued = |behind: &str| Operation { behind: Some(behind.to_owned()), ..operation("c", 400, Life::Queued) };
    let of = |behind| View { active: Some(active("a")), ..view(vec![operation("a", 200, Life::Begun), queued(behind)]) };
    assert_eq!(decide(&of("b"), 1000), [Intent::Requeue(DAY), queue("c", "a")], "b was cancelled");
    assert_eq!(decide(&of("a"), 1000), [Intent::Requeue(DAY)]);
}

#[test]
fn another_operation_of_the_name_of_the_one_under_way_is_another_one() {
    let anew = Operation { uid: "a-2".to_owned(), ..operation("a", 300, Life::New) };
    let running = View { active: Some(active("a")), ..view(vec![anew.clone()]) };
    let wished = Stopping::Cancel { at: 1000 };
    assert_eq!(
        decide(&running, 1000),
        [Intent::Stop(wished), Intent::Requeue(1120), queue("a", "a")],
        "nobody wants the first one any more"
    );
    assert_eq!(decide(&view(vec![anew]), 1000), [Intent::Start { operation: "a".to_owned(), uid: "a-2".to_owned() }]);
}
