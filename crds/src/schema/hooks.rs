//! The schema of hooks.

use serde_json::{Value, json};

use super::property::{Property, fields, map, property, text, texts, word};
use crate::model::HookPlace;
use crate::read::hooks::{HOOK, ON_FAILURE};

/// Each is a step on every host.
const MOST_HOOKS: u32 = 200;

/// The list.
pub(super) fn list() -> Property {
    let about = "Scripts of your own, before and after what kokctl does with hosts.";
    property("hooks", about, json!({"type": "array", "items": hook(), "maxItems": MOST_HOOKS}))
}

fn hook() -> Value {
    let variables = || json!({"type": "object", "additionalProperties": {"type": "string"}});
    let properties = vec![
        text("name", "Name of the hook, which no other has.").with("maxLength", 63),
        word("at", "When it runs.", &HookPlace::ALL.map(HookPlace::as_str)),
        texts("on", "Hosts that it is for: their names, their roles, or `all`; without it all."),
        property("once", "Whether it runs on one control plane alone, for all of these hosts.", json!({"type": "boolean"})),
        text("script", "What it runs: a script of the shell, or of what its first line names with `#!`."),
        text("source", "Path of a file with the script, as seen from the folder of this file."),
        text("creates", "A path on the host that says by being there that nothing is to be done."),
        text("unless", "A command of the shell that says by ending well that nothing is to be done. It changes nothing."),
        text("timeout", "How long it may take, as `90s`; without it five minutes."),
        property("environment", "Variables of its environment.", variables()),
        property("secrets", "Variables of its environment that nobody may see.", variables()),
        word("onFailure", "Whether the run ends if it fails (`Stop`, the default), or goes on (`Go`).", &ON_FAILURE.map(|(word, _)| word)),
    ];
    map(&fields(&HOOK), &["name", "at"], properties)
}
