//! Whose words count where a cluster is described by others.

use crate::objects::Objects;
use crate::operation::{Effect, Operation, Verb};
use crate::syntax::name::dns_label;
use crate::words::quote;
use crate::{Notice, Position};

/// The one operation whose arguments count: the only one that applies the cluster and has not ended.
pub(super) fn effective(objects: &Objects) -> (Option<&Operation>, Option<Notice>) {
    let applies = |operation: &&Operation| !operation.ended && operation.main.action.effect == Effect::Runs(Verb::Apply);
    let pending: Vec<&Operation> = objects.operations.iter().filter(applies).collect();
    match pending.as_slice() {
        [only] => (Some(only), None),
        [_, second, ..] => {
            let notice =
                Notice::new(format!("the variables of {} operations are not taken account of", pending.len())).at(&second.position);
            (
                None,
                Some(notice.because("each has its own, and which one is to run is not said").hint("give the file of one operation only")),
            )
        }
        [] => (None, None),
    }
}

/// What a cluster is called that nobody has named.
const UNNAMED: &str = "kubernetes";

/// The name of an inventory's cluster: that of its folder, as far as it can be one.
pub(super) fn cluster_name(written: Option<&str>, start: &Position, notices: &mut Vec<Notice>) -> String {
    let written = written.unwrap_or(UNNAMED);
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let mapped: String = written.chars().map(plain).take(63).collect();
    let name = mapped.trim_matches('-');
    let name = if dns_label(name).is_none() { name } else { UNNAMED };
    if name != written {
        let notice = Notice::new(format!("the cluster is called {}", quote(name))).at(start);
        notices.push(notice.because(format!("an inventory has no name but its folder's, and {} is no DNS label", quote(written))));
    }
    name.to_owned()
}
