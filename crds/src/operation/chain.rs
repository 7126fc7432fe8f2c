//! Whether the actions of an operation make sense one after the other.

use super::{Effect, Invocation, Verb};
use crate::decode::Decoder;
use crate::words::quote;
use crate::{Notice, Problem};

/// Names of the variables by which Kubespray has its questions answered beforehand.
const CONFIRMATIONS: [&str; 3] = ["reset_confirmation", "skip_confirmation", "delete_nodes_confirmation"];

/// Checks the actions in their order.
pub(crate) fn check<'a>(invocations: impl Iterator<Item = &'a Invocation>, decoder: &mut Decoder) {
    let mut gone: Option<&Invocation> = None;
    for invocation in invocations {
        confirmations(invocation, decoder);
        covered(invocation, decoder);
        let Effect::Runs(verb) = invocation.action.effect else { continue };
        let needs_cluster = verb.needs_cluster() || invocation.action.name == "scale";
        match gone {
            Some(reset) if needs_cluster => {
                let problem = Problem::new(format!("{} needs the cluster", quote(invocation.action.name))).at(&invocation.position);
                let because = format!("`reset` has taken it down before, at {}", reset.position);
                decoder.report(problem.because(because).hint("run `cluster.yml` between the two, or leave one of them out"));
            }
            _ if verb == Verb::Reset && invocation.arguments.limit.is_none() => gone = Some(invocation),
            _ if verb == Verb::Apply => gone = None,
            _ => {}
        }
    }
}

/// Whoever asks for an operation has agreed; but a `no` is a `no`.
fn confirmations(invocation: &Invocation, decoder: &mut Decoder) {
    for name in CONFIRMATIONS {
        let Some(variable) = invocation.arguments.variable(name) else { continue };
        let agreed = match (variable.text(), variable.boolean()) {
            (Some(text), _) => matches!(text.to_lowercase().as_str(), "yes" | "true" | "y" | "1" | "on"),
            (None, boolean) => boolean == Some(true),
        };
        if !agreed {
            let problem = Problem::new(format!("`{name}` does not confirm the action")).at(&variable.position);
            decoder.report(problem.because("it says something else than `yes`").hint("leave it out: an operation is its own confirmation"));
        }
    }
}

fn covered(invocation: &Invocation, decoder: &mut Decoder) {
    if let Effect::Covered { by, .. } = invocation.action.effect {
        let notice = Notice::new(format!("{} is no step of its own here", quote(invocation.action.name))).at(&invocation.position);
        decoder.note(notice.because(by));
    }
}
