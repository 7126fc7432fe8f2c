//! What is missing only because it is encrypted and stays closed: the one error says what to do, the other would send people elsewhere.

use std::collections::BTreeSet;

use crate::Problem;
use crate::message::Kind;

/// What the address of a host may be called.
const ADDRESS: [&str; 4] = ["ip", "access_ip", "ansible_host", "ansible_ssh_host"];

/// Leaves out that something is missing, where that is what stays closed.
pub(super) fn leave_out(problems: &mut Vec<Problem>) {
    let closed = problems.iter().filter(|problem| matches!(problem.kind, Kind::Encrypted | Kind::Locked));
    let closed: BTreeSet<String> = closed.filter_map(Problem::variable).map(str::to_owned).collect();
    let follows = |problem: &Problem| match problem.kind {
        Kind::Absent | Kind::Needed => problem.variable().is_some_and(|name| closed.contains(name)),
        Kind::NoAddress => ADDRESS.iter().any(|name| closed.contains(*name)),
        _ => false,
    };
    problems.retain(|problem| !follows(problem));
}
