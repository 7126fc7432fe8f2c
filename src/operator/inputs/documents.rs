//! The objects as files, for the only reader there is; and what it finds wrong, at its place in the object.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kok_crds::{File, Position, Problem};
use serde_json::{Map, Value, json};

use super::{HeldText, Sources, file};
use crate::failure::Failure;

/// Spaces before each line of a text in its file.
const INDENT: u64 = 4;
/// The line before the first one of such a text.
const HEAD: u64 = 5;

/// Everything as files.
pub(super) fn files(sources: Sources<'_>, operation: &Value) -> Vec<File> {
    let Sources { snapshot, key, .. } = sources;
    let mut files: Vec<File> = [&snapshot.cluster, operation].into_iter().map(|object| file(called(object), pretty(object))).collect();
    let mut by_object: BTreeMap<(&str, &str), Vec<&HeldText>> = BTreeMap::new();
    for held in &snapshot.texts {
        by_object.entry((&held.namespace, &held.name)).or_default().push(held);
    }
    files.extend(by_object.values().map(|held| match held.as_slice() {
        [only] => file(name_of(only), of_text(only)),
        several => of_several(several),
    }));
    files.extend(key.map(|key| {
        let metadata = json!({"namespace": key.reference.namespace, "name": key.reference.name});
        let data = json!({"ssh-privatekey": STANDARD.encode(&key.bytes)});
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data});
        file(format!("Secret {}/{}", key.reference.namespace, key.reference.name), pretty(&secret))
    }));
    files
}

fn called(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    format!("{} {}", text("/kind"), text("/metadata/name"))
}

fn pretty(object: &Value) -> String {
    serde_json::to_string_pretty(object).unwrap_or_else(|_| object.to_string())
}

fn name_of(held: &HeldText) -> String {
    format!("ConfigMap {}/{} ({})", held.namespace, held.name, held.key)
}

/// A ConfigMap that has several texts.
fn of_several(all: &[&HeldText]) -> File {
    let data: Map<String, Value> = all.iter().map(|held| (held.key.clone(), json!(held.text))).collect();
    let metadata = all.first().map(|held| json!({"namespace": held.namespace, "name": held.name}));
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data});
    let name = all.first().map(|held| format!("ConfigMap {}/{}", held.namespace, held.name));
    file(name.unwrap_or_default(), pretty(&object))
}

/// A ConfigMap whose text stands there line by line, so that places in it are places in the text.
fn of_text(held: &HeldText) -> String {
    let metadata = json!({"namespace": held.namespace, "name": held.name});
    let head = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {metadata}\ndata:\n  {}:", json!(held.key));
    let is_plain =
        |letter: char| letter == '\n' || letter == '\t' || (!letter.is_control() && !"\u{feff}\u{2028}\u{2029}".contains(letter));
    if held.text.is_empty() || !held.text.chars().all(is_plain) {
        return format!("{head} {}\n", json!(held.text));
    }
    // All line ends at the end are kept, or there is none.
    let (chomping, end) = if held.text.ends_with('\n') { ("+", "") } else { ("-", "\n") };
    let lines = held.text.split_inclusive('\n').map(|line| if line == "\n" { line.to_owned() } else { format!("    {line}") });
    format!("{head} |2{chomping}\n{}{end}", lines.collect::<String>())
}

/// What is wrong, with its place in the object that its author knows.
pub(super) fn failures(problems: Vec<Problem>, sources: Sources<'_>, operation: &Value) -> Vec<Failure> {
    let place = |position: &Position| {
        let objects = [&sources.snapshot.cluster, operation];
        if let Some(object) = objects.into_iter().find(|object| called(object) == *position.file) {
            return format!("{}: {}", position.file, path_at(&pretty(object), position.line));
        }
        if sources.snapshot.texts.iter().any(|held| name_of(held) == *position.file) && position.line > HEAD {
            let (line, column) = (position.line - HEAD, position.column.saturating_sub(INDENT).max(1));
            return format!("{}:{line}:{column}", position.file);
        }
        position.file.to_string()
    };
    let failure = |problem: Problem| {
        let at = problem.position.as_ref().map(&place);
        Failure { at, ..Failure::problem(problem) }
    };
    problems.into_iter().map(failure).collect()
}

/// The path of what stands at a line of JSON that was printed with a line for each value.
fn path_at(text: &str, line: u64) -> String {
    let last = usize::try_from(line).unwrap_or(usize::MAX);
    // What is open, with the number of the next element if it is a list.
    let mut open: Vec<(String, Option<usize>)> = Vec::new();
    let mut path = String::new();
    for line in text.lines().take(last) {
        let line = line.trim();
        if line.starts_with(['}', ']']) {
            open.pop();
            continue;
        }
        let segment = match open.last_mut() {
            Some((_, Some(next))) => {
                *next += 1;
                format!("[{}]", *next - 1)
            }
            _ => line.strip_prefix('"').and_then(|rest| rest.split('"').next()).map(|key| format!(".{key}")).unwrap_or_default(),
        };
        path = open.iter().map(|(segment, _)| segment.as_str()).chain([segment.as_str()]).collect();
        if line.ends_with(['{', '[']) {
            open.push((segment, line.ends_with('[').then_some(0)));
        }
    }
    path.trim_start_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use kok_crds::model::{Addon, Manifest};
    use kok_crds::{Source, read_manifest};

    use super::*;

    /// Manifests of addons are read by the same reader of YAML.
    fn addon() -> Addon {
        Addon {
            name: "a".to_owned(),
            namespace: None,
            manifest: Manifest::Contents(String::new()),
            sha256: None,
            prune: Default::default(),
            origin: Position { file: "f".into(), line: 1, column: 1 },
            objects: Vec::new(),
        }
    }

    #[test]
    fn a_line_of_json_has_a_path() {
        let object = json!({"spec": {"hosts": [{"name": "a"}, {"name": "b", "roles": ["x", "y"]}], "vars": {}}});
        let text = pretty(&object);
        let found = |part: &str| {
            let line = text.lines().position(|line| line.contains(part)).unwrap_or_default();
            path_at(&text, u64::try_from(line).unwrap_or_default() + 1)
        };
        assert_eq!(found("\"b\""), "spec.hosts[1].name");
        assert_eq!(found("\"y\""), "spec.hosts[1].roles[1]");
        assert_eq!(found("vars"), "spec.vars");
    }

    #[test]
    fn a_text_comes_out_as_it_was() {
        let texts =
            ["a: 1", "a: 1\n", "a: 1\n\n\n", "\n\n  a: 1\n", "  a: 1\n\n b: 2", "", "\n", "a: \"\u{7}\"\r\n", "a:\t1\n", "#x\n---\n"];
        for text in texts {
            let held = HeldText { namespace: "n".to_owned(), name: "m".to_owned(), key: "hosts.yml".to_owned(), text: text.to_owned() };
            let objects = read_manifest(&addon(), &Source::file("f", of_text(&held)));
            let objects = objects.map_err(|problems| format!("{text:?}: {problems:?}"));
            let found = objects.as_ref().ok().and_then(|all| all.first()?.value.pointer("/data/hosts.yml")?.as_str());
            assert_eq!(found, Some(text), "{objects:?}");
        }
    }
}
