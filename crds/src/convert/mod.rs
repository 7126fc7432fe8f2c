//! From what was read to one file in the inline form.

mod emit;
mod scalar;

use crate::Position;
use crate::tree::Node;
use crate::variables::{Given, Outcome};
use emit::Emitter;

/// The inline file of a tree. Each line says where it came from; secrets are left out, and what has no place in it is named at the end.
pub(crate) fn inline_file(tree: &Node, given: &[Given], head: &[String]) -> String {
    let mut emitter = Emitter::default();
    for line in head {
        emitter.comment(0, line);
    }
    emitter.document(tree);
    let dropped: Vec<&Given> = given.iter().filter(|given| !matches!(given.outcome, Outcome::Honoured | Outcome::Refused)).collect();
    if !dropped.is_empty() {
        emitter.blank();
        emitter.comment(0, "Left out:");
        dropped.iter().for_each(|given| emitter.comment(0, &line(given)));
    }
    emitter.finish()
}

/// Where the secrets stand that the inline file of a tree lacks.
pub(crate) fn left_out(tree: &Node) -> Vec<Position> {
    let mut emitter = Emitter::default();
    emitter.document(tree);
    emitter.left_out()
}

fn line(given: &Given) -> String {
    let reason = match given.outcome {
        Outcome::Anyway => "it is so anyway",
        Outcome::NotYet => "not honoured yet",
        _ => &given.because,
    };
    format!("  {}: {} ({}): {reason}", given.name, given.value, given.position)
}
