//! What only follows from something that could not be read, so that it is not said beside it.

use crate::inventory::Unread;
use crate::message::Kind;
use crate::{Position, Problem};

/// Problems of an inventory together with those of what it describes, as far as they do not follow from the first.
pub(super) fn joined(of_inventory: Vec<Problem>, described: Vec<Problem>, unread: Unread) -> Vec<Problem> {
    let places: Vec<Position> = of_inventory.iter().filter_map(|problem| problem.position.clone()).collect();
    // What is missing may stand where nothing could be read.
    let may_be_there = |problem: &Problem| (unread.vars || unread.hosts) && problem.kind == Kind::Absent;
    // Whose group means nothing here has been told so.
    let is_said = |problem: &Problem| problem.kind == Kind::NoRole;
    let is_own = |problem: &Problem| problem.position.as_ref().is_none_or(|position| !places.contains(position));
    let described = described.into_iter().filter(|problem| is_own(problem) && !is_said(problem) && !may_be_there(problem));
    of_inventory.iter().cloned().chain(described).collect()
}

#[cfg(test)]
mod tests {
    use super::joined;
    use crate::Problem;
    use crate::inventory::Unread;
    use crate::message::Kind;

    #[test]
    fn what_a_message_is_about_counts_and_not_its_words() {
        let described = || {
            let absent = Problem::new("the field `a` is missing").of_kind(Kind::Absent);
            let in_words = Problem::new("the last line of the key is missing");
            vec![absent, in_words, Problem::new("no role").of_kind(Kind::NoRole)]
        };
        let messages = |unread: Unread| -> Vec<String> {
            joined(Vec::new(), described(), unread).into_iter().map(|problem| problem.message).collect()
        };
        let lost = Unread { hosts: false, vars: true };
        assert_eq!(messages(lost), ["the last line of the key is missing"]);
        assert_eq!(messages(Unread::default()), ["the field `a` is missing", "the last line of the key is missing"]);
    }
}
