//! Scripts of a user's, before and after what kokctl does.

use std::collections::BTreeMap;
use std::time::Duration;

use super::resources::fields::{checked, entry_name, host_path, one_line, optional};
use super::resources::kinds::local_path;
use super::resources::{Places, hosts};
use crate::Problem;
use crate::decode::{Decoder, Field, Fields, Form};
use crate::model::{Content, Hook, HookPlace, LocalFile, OnFailure, Text};
use crate::syntax::duration::duration;
use crate::words::quote;

pub(crate) const HOOK: Form = Form {
    what: "a hook",
    fields: &["name", "at", "on", "once", "script", "source", "creates", "unless", "timeout", "environment", "secrets", "onFailure"],
    refused: &[
        ("command", "write it as `script`"),
        ("shell", "write it as `script`"),
        ("file", "write it as `source`"),
        ("when", "write the hosts that are meant as `on`, and when nothing is to be done as `unless`"),
        ("hosts", "write the hosts that are meant as `on`"),
        ("run_once", "write it as `once`"),
        ("env", "write it as `environment`"),
        ("ignore_errors", "write `onFailure: Go`"),
        ("removes", "write it as `unless: test ! -e PATH`"),
    ],
};

/// What may become of a run whose hook fails.
pub(crate) const ON_FAILURE: [(&str, OnFailure); 2] = [("Stop", OnFailure::Stop), ("Go", OnFailure::Go)];

/// What a hook may take that says nothing of it.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(300);

/// Nobody waits longer for a host; what takes more is a unit that the hook starts.
const LONGEST: Duration = Duration::from_secs(3600);

/// Begins the names that kokctl itself gives to a hook's environment.
const OURS: &str = "KOKCTL_";

/// Some shell refuses to set these, or reads its own script in another way because of them.
const OF_SHELLS: [&str; 9] = ["UID", "EUID", "PPID", "SHELLOPTS", "IFS", "ENV", "OPTIND", "PS4", "LD_PRELOAD"];

/// Reads the list.
pub(crate) fn read(decoder: &mut Decoder, field: &Field<'_>, places: &Places, known: &[HookPlace]) -> Vec<Hook> {
    let items = decoder.list(field, "it is a list of hooks, each with a `name`, the place `at` which it runs, and a `script`");
    let mut hooks: Vec<Hook> = Vec::new();
    for item in items.unwrap_or_default() {
        let Some(hook) = hook(decoder, &item, places, known) else { continue };
        if let Some(first) = hooks.iter().find(|other| other.name == hook.name) {
            let problem = Problem::new(format!("two hooks have the name {}", quote(&hook.name))).at(&hook.origin);
            let problem = problem.because(format!("the first one stands at {}", first.origin));
            decoder.report(problem.hint("give each hook a name of its own"));
        }
        hooks.push(hook);
    }
    hooks
}

fn hook(decoder: &mut Decoder, item: &Field<'_>, places: &Places, known: &[HookPlace]) -> Option<Hook> {
    let before = decoder.count();
    let fields = decoder.fields(item, &HOOK)?;
    // A word of somebody else's is told of already.
    let is_known = decoder.count() == before;
    let name = decoder.required(&fields, "name").and_then(|field| checked(decoder, &field, entry_name, "the name of a hook"));
    let at = decoder.required(&fields, "at").and_then(|field| place(decoder, &field, known));
    let hosts = fields.get("on").map_or_else(|| Some(places.hosts.clone()), |field| hosts(decoder, &field, places));
    let once = fields.get("once").map_or(Some(false), |field| decoder.boolean(&field));
    let script = script(decoder, &fields, is_known);
    let creates = optional(decoder, &fields, ("creates", "a path on a host"), host_path);
    let unless = optional(decoder, &fields, ("unless", "a command of the shell"), one_line);
    let timeout = fields.get("timeout").map_or(Some(TIMEOUT), |field| timeout(decoder, &field));
    let environment = fields.get("environment").map_or_else(|| Some(BTreeMap::new()), |field| variables(decoder, &field, false));
    let secrets = fields.get("secrets").map_or_else(|| Some(BTreeMap::new()), |field| variables(decoder, &field, true));
    let on_failure = fields.get("onFailure").map_or(Some(OnFailure::Stop), |field| decoder.choice(&field, &ON_FAILURE));
    let (environment, secrets) = (environment?, secrets?);
    if let Some(twice) = environment.keys().find(|name| secrets.contains_key(*name)) {
        let problem = Problem::new(format!("{} stands under `environment` and `secrets`", quote(twice))).at(item.position());
        decoder.report(problem.hint("leave it out of one of them"));
    }
    Some(Hook {
        name: name?,
        at: at?,
        hosts: hosts?.into_iter().collect(),
        once: once?,
        script: script?,
        creates: creates?,
        unless: unless?,
        timeout: timeout?,
        environment,
        secrets: secrets.into_iter().map(|(name, value)| (name, Text::new(value))).collect(),
        on_failure: on_failure?,
        origin: item.position().clone(),
    })
}

fn place(decoder: &mut Decoder, field: &Field<'_>, known: &[HookPlace]) -> Option<HookPlace> {
    let is_of_clusters = HookPlace::ALL.iter().find(|place| field.is_text(place.as_str()) && !known.contains(place));
    if let Some(place) = is_of_clusters {
        let problem = Problem::new(format!("a hook of a Fleet cannot run at `{}`", place.as_str())).at(field.position());
        let problem = problem.because("its hosts have no Kubernetes");
        decoder.report(problem.hint("write `beforePreparation` or `afterPreparation`"));
        return None;
    }
    let words: Vec<(&str, HookPlace)> = known.iter().map(|place| (place.as_str(), *place)).collect();
    decoder.choice(field, &words)
}

/// A text or a file on the user's side.
fn script(decoder: &mut Decoder, fields: &Fields<'_>, is_known: bool) -> Option<Content> {
    let problem = |what: &str| Problem::new(what).at(fields.position());
    match (fields.get("script"), fields.get("source")) {
        (Some(field), None) => {
            let text = decoder.text(&field)?;
            if text.trim().is_empty() {
                decoder.report(Problem::new("the hook has nothing to run").at(field.position()).hint("write a script of the shell"));
                return None;
            }
            Some(Content::Text(Text::new(text)))
        }
        (None, Some(field)) => {
            let path = checked(decoder, &field, local_path, "the path of a file on your side")?;
            Some(Content::Source(LocalFile { path, text: None, origin: field.position().clone() }))
        }
        (Some(_), Some(_)) => {
            decoder.report(problem("the hook has both `script` and `source`").hint("leave one of the two out"));
            None
        }
        (None, None) if !is_known => None,
        (None, None) => {
            let because = "it has `script`, its text, or `source`, a file on your side";
            decoder.report(problem("nothing says what the hook runs").because(because).hint("write one of these"));
            None
        }
    }
}

fn timeout(decoder: &mut Decoder, field: &Field<'_>) -> Option<Duration> {
    let text = decoder.text(field)?;
    let is_fit = |time: &Duration| *time >= Duration::from_secs(1) && *time <= LONGEST;
    let read = duration(text).filter(is_fit);
    if read.is_none() {
        let problem = Problem::new(format!("`timeout` cannot be {}", quote(text))).at(field.position());
        let problem = problem.because("it is a time between a second and an hour, as `90s` or `10m`");
        decoder.report(problem.hint("write such a time; what takes longer is a unit that the hook starts"));
    }
    read
}

fn variables(decoder: &mut Decoder, field: &Field<'_>, secret: bool) -> Option<BTreeMap<String, String>> {
    let before = decoder.count();
    let mut all = BTreeMap::new();
    for entry in decoder.entries(field, "variables of the hook's environment, by their names").unwrap_or_default() {
        let item = Field { path: format!("{}.{}", field.path, entry.key), node: &entry.node };
        if let Some(reason) = wrong_name(&entry.key) {
            let problem = Problem::new(format!("{} cannot be a variable of the environment", quote(&entry.key))).at(&entry.key_position);
            decoder.report(problem.because(reason).hint("write another name"));
        }
        let Some(value) = decoder.text(&item) else { continue };
        if value.contains('\0') || (secret && value.is_empty()) {
            let problem = Problem::new(format!("{} has a value that no variable has", quote(&entry.key))).at(item.position());
            decoder.report(problem.because("it is empty, or has a NUL").hint("write a text"));
        }
        all.insert(entry.key.clone(), value.to_owned());
    }
    (decoder.count() == before).then_some(all)
}

fn wrong_name(name: &str) -> Option<&'static str> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(allowed) || name.starts_with(|c: char| c.is_ascii_digit()) {
        Some("it has letters, digits and `_`, and begins with no digit")
    } else if name.to_ascii_uppercase().starts_with(OURS) {
        Some("names that begin with `KOKCTL_` are kokctl's own")
    } else if name == "PATH" {
        Some("kokctl sets it")
    } else if OF_SHELLS.contains(&name) || name.starts_with("BASH") {
        Some("shells have it for themselves")
    } else {
        None
    }
}
