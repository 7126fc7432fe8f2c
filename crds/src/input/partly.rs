//! What only follows from something that could not be read, so that it is not said beside it.

use crate::inventory::Unread;
use crate::read::hosts::NO_ROLE;
use crate::resolve::NOT_DEFINED;
use crate::{Position, Problem};

/// Problems of an inventory together with those of what it describes, as far as they do not follow from the first.
pub(super) fn joined(of_inventory: Vec<Problem>, described: Vec<Problem>, unread: Unread) -> Vec<Problem> {
    let places: Vec<Position> = of_inventory.iter().filter_map(|problem| problem.position.clone()).collect();
    // What is missing may stand where nothing could be read.
    let may_be_there = |problem: &Problem| {
        let message = &problem.message;
        (unread.vars || unread.hosts) && (message.ends_with(NOT_DEFINED) || message.ends_with("is missing"))
    };
    // Whose group means nothing here has been told so.
    let is_said = |problem: &Problem| problem.message == NO_ROLE;
    let is_own = |problem: &Problem| problem.position.as_ref().is_none_or(|position| !places.contains(position));
    let described = described.into_iter().filter(|problem| is_own(problem) && !is_said(problem) && !may_be_there(problem));
    of_inventory.iter().cloned().chain(described).collect()
}
