//! Runs that are stopped while it is not known whether a step is done.

use super::*;

/// It was done, and the cluster went away before it could say so: that is neither done nor not begun.
#[test]
fn what_was_done_and_not_confirmed_is_in_doubt_when_the_run_is_stopped() {
    for fault in [Fault::UnansweredInterrupt, Fault::UnansweredLookInterrupt] {
        let mut doubts = 0;
        for at in 0..orders() {
            let plan = World::bare().plan();
            let (outcome, model) = run(World::bare(), &[(at, fault)]);
            for id in model.done() {
                let step = plan.steps().find(|step| step.id.as_str() == id).unwrap();
                let failed = outcome.failed.iter().find(|failure| failure.step == step.id);
                assert!(model.was_done(&step.id) != failed.is_some(), "{fault:?} at {at}: {id}: {outcome:?}");
                if let Some(failure) = failed {
                    assert!(failure.unknown && failure.error.contains("connection refused"), "{}", failure.error);
                    doubts += 1;
                }
            }
            let (again, second) = run(model.world(), &[]);
            assert!(again.is_complete() && second.done().iter().all(|id| !model.done().contains(id) || model::is_made_anew(id)));
        }
        assert!(doubts > 0, "{fault:?}");
    }
}
