//! A `ClusterOperation`.

use super::data_object::DataObjects;
use super::document::Document;
use super::head;
use super::operator;
use super::place::Lines;
use super::reference::{self, source_of};
use crate::decode::{Decoder, Field, Fields, Form};
use crate::operation::{Arguments, Invocation, Operation, Placed, action_problem, check_chain, find, read_arguments};
use crate::read::OPERATOR;
use crate::{Notice, Problem};

const OPERATION: Form = Form { what: "a ClusterOperation", fields: &["apiVersion", "kind", "metadata", "spec", "status"], refused: &[] };

/// The spec of an operation. What is refused here is no mistake: it has no use.
pub(crate) const SPEC: Form = Form {
    what: "the spec of a ClusterOperation",
    fields: &[
        "cluster",
        "actionType",
        "action",
        "actionSource",
        "actionSourceRef",
        "extraArgs",
        "preHook",
        "postHook",
        "activeDeadlineSeconds",
        "hostsConfRef",
        "varsConfRef",
        "sshAuthRef",
        OPERATOR,
    ],
    refused: &[
        ("image", "kokctl does itself what the image's playbooks did"),
        ("entrypointSHRef", "it names a script that the operator made for its Job; there is no Job here"),
        ("resources", "they limited the Job; there is no Job here"),
    ],
};

/// An action before or after the one that the operation is about.
pub(crate) const HOOK: Form =
    Form { what: "a hook", fields: &["actionType", "action", "actionSource", "actionSourceRef", "extraArgs"], refused: &[] };

/// Fields without which another thing would be done: misspelled, they are no fields that others may have.
const NEEDED: [&str; 7] = ["cluster", "actionType", "action", "extraArgs", "hostsConfRef", "varsConfRef", "sshAuthRef"];

/// How an action is given.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ActionType {
    Playbook,
    Shell,
}

/// Whether an operation, right or wrong, says something of its cluster.
pub(super) fn may_set_variables(document: &Document<'_>) -> bool {
    let spec = document.node.entry("spec").map(|entry| &entry.node);
    spec.is_some_and(|spec| ["extraArgs", "hostsConfRef", "varsConfRef"].iter().any(|name| spec.entry(name).is_some()))
}

/// Reads a ClusterOperation.
pub(super) fn read(document: &Document<'_>, data_objects: &DataObjects<'_>, decoder: &mut Decoder) -> Option<Operation> {
    let (fields, head) = head::read(&document.root(), &OPERATION, decoder)?;
    let ended = fields.get("status").is_some_and(|status| {
        let word = status.node.entry("status").map(|entry| &entry.node.value);
        matches!(word, Some(crate::tree::Value::Text(text)) if text == "Succeeded" || text == "Failed")
    });
    let spec = decoder.required(&fields, "spec")?;
    let fields = decoder.fields_but(&spec, &SPEC, &NEEDED)?;
    let cluster = decoder.required(&fields, "cluster").and_then(|field| placed(decoder, &field));
    let pre_hooks = hooks(fields.get("preHook"), document.lines, decoder);
    let main = invocation(&fields, document.lines, decoder);
    let post_hooks = hooks(fields.get("postHook"), document.lines, decoder);
    if let Some(field) = fields.get(OPERATOR) {
        operator::check_operation(&field, decoder);
    }
    let seconds = fields.get("activeDeadlineSeconds").and_then(|field| decoder.integer(&field, 1..=i64::MAX));
    let operation = Operation {
        name: head.name,
        position: head.position,
        cluster: cluster?,
        pre_hooks,
        main: main?,
        post_hooks,
        active_deadline_seconds: seconds.and_then(|seconds| u64::try_from(seconds).ok()),
        inputs: reference::inputs_that_are_there(&fields, data_objects, decoder),
        ended,
    };
    check_chain(operation.invocations(), decoder);
    Some(operation)
}

fn placed(decoder: &mut Decoder, field: &Field<'_>) -> Option<Placed> {
    let text = decoder.text(field)?;
    if text.trim().is_empty() {
        decoder.report(
            Problem::new(format!("`{}` is empty", field.name()))
                .at(field.position())
                .because("it says what is meant, and nothing does not")
                .hint("write it, or leave the field out"),
        );
        return None;
    }
    Some(Placed { text: text.to_owned(), position: field.position().clone() })
}

fn hooks(field: Option<Field<'_>>, lines: &Lines<'_>, decoder: &mut Decoder) -> Vec<Invocation> {
    let items = field.and_then(|field| decoder.list(&field, "it is a list of actions")).unwrap_or_default();
    let read = |item: &Field<'_>| {
        let fields = decoder.fields_but(item, &HOOK, &NEEDED)?;
        invocation(&fields, lines, decoder)
    };
    items.iter().filter_map(read).collect()
}

/// One action, of a hook or of the operation itself.
fn invocation(fields: &Fields<'_>, lines: &Lines<'_>, decoder: &mut Decoder) -> Option<Invocation> {
    const TYPES: [(&str, ActionType); 2] = [("playbook", ActionType::Playbook), ("shell", ActionType::Shell)];
    let kind = decoder.required(fields, "actionType").and_then(|field| decoder.choice(&field, &TYPES));
    let action = decoder.required(fields, "action").and_then(|field| placed(decoder, &field));
    let builtin = is_builtin(fields, decoder);
    let arguments = match fields.get("extraArgs") {
        Some(field) => decoder.text(&field).map(|text| read_arguments(&source_of(&field, text, lines), decoder)),
        None => Some(Arguments::default()),
    };
    let action = action?;
    if kind? == ActionType::Shell {
        decoder.report(shell_problem(&action));
        return None;
    }
    // What another playbook of a known name does, nobody knows.
    if !builtin {
        return None;
    }
    if let Some(problem) = action_problem(&action.text) {
        decoder.report(problem.at(&action.position));
        return None;
    }
    Some(Invocation { action: find(&action.text)?, arguments: arguments?, position: action.position })
}

fn is_builtin(fields: &Fields<'_>, decoder: &mut Decoder) -> bool {
    let Some(field) = fields.get("actionSource") else {
        return true;
    };
    match decoder.choice(&field, &[("builtin", true), ("configmap", false)]) {
        Some(true) => {
            if let Some(source) = fields.get("actionSourceRef") {
                let notice = Notice::new("`actionSourceRef` is not used").at(source.position());
                decoder.note(notice.because("`actionSource` is `builtin`"));
            }
            true
        }
        Some(false) => {
            let problem = Problem::new("`actionSource` cannot be `configmap`").at(field.position());
            decoder.report(
                problem
                    .because("kokctl runs no playbooks and no scripts of others")
                    .hint("run it yourself, before or after; or leave the field out, for an action that kokctl knows"),
            );
            false
        }
        None => false,
    }
}

/// A shell action can do anything, so that nothing can be promised of it.
fn shell_problem(action: &Placed) -> Problem {
    let problem = Problem::new("`actionType: shell` is not run").at(&action.position);
    let problem = problem.because("kokctl does what it knows how to check and to repeat, and a script is neither");
    let words: Vec<&str> = action.text.split_whitespace().collect();
    let names = words.iter().map(|word| word.rsplit('/').next().unwrap_or(word));
    let playbook = names.clone().find(|name| find(name).is_some() && (name.ends_with(".yml") || name.ends_with(".yaml")));
    match playbook {
        Some(name) if names.clone().next() == Some("ansible-playbook") => {
            problem.hint(format!("write `actionType: playbook`, `action: {name}`, and its options under `extraArgs`"))
        }
        // The script is not repeated: it may hold passwords.
        _ => problem.hint("run the script yourself, before or after the operation"),
    }
}
