//! What `--prune` does not do, because it was not chosen.

use kok_tasks::plan::{Choice, Selection};

use super::{TEXT, hello, with};

/// Who allows that more goes, and has not chosen what would remove it, would believe that it went.
#[test]
fn what_is_not_pruned_because_it_was_not_chosen_is_named() {
    let world = with(hello(), &[("hello", TEXT)]);
    let of = |skip: &[&str], limit: &[&str]| {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let (skip, limit) = (words(skip), words(limit));
        let selection = Selection::new(Choice { only: &[], skip: &skip, limit: &limit }, &world.cluster).unwrap();
        let (plan, _) = world.plan_of(&selection).unwrap();
        selection.unpruned(&plan).into_iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let all = ["cp1/addons/hello", "cp1/addons/Removed"];
    let mut left = of(&["addons"], &[]);
    left.sort_by(|one, other| other.cmp(one));
    assert_eq!(left, all);
    assert_eq!(of(&[], &["worker1"]).len(), 2);
    assert_eq!(of(&[], &["cp1"]), [""; 0]);
    assert_eq!(of(&["host"], &[]), [""; 0]);
}
