//! What a plan says of one step.

use kok_tasks::plan::{Plan, Step};

use crate::support::world::World;

fn refused(plan: &Plan, wanted: &str) -> (String, String) {
    let refusal = plan.find(wanted).unwrap_err();
    (refusal.what, refusal.hint.unwrap())
}

#[test]
fn a_step_is_found_by_its_name_or_a_part_that_no_other_has() {
    let plan = World::bare().plan();
    let found = |wanted: &str| plan.find(wanted).unwrap().id.to_string();
    assert_eq!(found("worker1/kubelet-join/joined"), "worker1/kubelet-join/joined");
    assert_eq!(found("bootstrap-token"), "cp1/control-plane/bootstrap-token");
    assert_eq!(found("worker1/kubelet-j"), "worker1/kubelet-join/joined");
    // A whole name that other names begin with.
    assert_eq!(found("cp1/kubelet/unit"), "cp1/kubelet/unit");
}

#[test]
fn what_is_not_found_is_refused_with_what_may_be_meant() {
    let plan = World::bare().plan();
    let (what, hint) = refused(&plan, "joined");
    assert_eq!(what, "`joined` stands in the names of 2 steps");
    assert_eq!(hint, "give more of the name; `kokctl plan --steps` lists all");
    assert_eq!(plan.find("joined").unwrap_err().because.unwrap(), "worker1/kubelet-join/joined, worker2/kubelet-join/joined");
    assert_eq!(refused(&plan, "worker1/kubelet-join/joind").1, "did you mean worker1/kubelet-join/joined?");
    assert_eq!(refused(&plan, "bootstrap-tokne").1, "did you mean cp1/control-plane/bootstrap-token?");
    assert_eq!(refused(&plan, "zzzzzzzz").1, "`kokctl plan --steps` lists all");
}

#[test]
fn the_longest_way_goes_from_the_root_over_needs_with_their_reasons() {
    let plan = World::bare().plan();
    let why = plan.why(plan.find("worker1/kubelet-join/joined").unwrap());
    assert!(why.all_needs > why.needs.len() && why.all_needed_by > why.needed_by.len());
    let (root, no_reason) = why.chain.first().unwrap();
    assert!(plan.needs(&root.id).is_empty() && no_reason.is_none());
    assert_eq!(why.chain.last().unwrap().0.id, why.step.id);
    for pair in why.chain.windows(2) {
        let ((before, _), (after, reason)) = (&pair[0], &pair[1]);
        assert!(plan.needs(&after.id).iter().any(|(need, why)| need.id == before.id && Some(*why) == *reason), "{}", after.id);
    }
    // No other way is longer: the step before the last one has one that is shorter by one.
    let changes = |chain: &[(&Step, Option<_>)]| chain.iter().filter(|(step, _)| plan.change(&step.id).is_some()).count();
    let longest = why.needs.iter().map(|(need, _)| changes(&plan.why(need).chain)).max().unwrap();
    assert_eq!(changes(&why.chain), longest + 1);
}
