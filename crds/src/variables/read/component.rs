//! Options and feature gates of components.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::fixed::{ETCD, KUBELET};
use super::values::{is_free, put, scalar};
use crate::Problem;
use crate::decode::{Decoder, Field};
use crate::model::etcd::etcd_options;
use crate::model::{EtcdOption, EtcdValue, Settings, Values};
use crate::syntax::duration::duration;
use crate::tree::Value;
use crate::words::{quote, with_nearest};

/// A map of options to values.
pub(crate) fn options(decoder: &mut Decoder, field: &Field<'_>, to: &mut Values, own: &[(&str, &str)]) {
    let what = format!("`{}`", field.name());
    for entry in decoder.entries(field, &what).unwrap_or_default() {
        let item = Field { path: format!("{}.{}", field.path, entry.key), node: &entry.node };
        if is_option(&entry.key) {
            let name = in_one_spelling(&entry.key);
            if is_free(decoder, field, (&name, &entry.key_position), own)
                && let Some(value) = scalar(decoder, &item)
            {
                put(decoder, &item, to, &name, value.into());
            }
            continue;
        }
        let problem = Problem::new(format!("{} is no name of an option", quote(&entry.key))).at(&entry.key_position);
        decoder.report(
            problem
                .because("it has small letters, digits, `-` and `.`, and no `--` before it")
                .hint("write it as the component's own `--help` has it, without the `--`"),
        );
    }
}

/// Options of etcd, also as its environment has them: `ETCD_MAX_WALS`.
pub(crate) fn etcd(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let what = format!("`{}`", field.name());
    for entry in decoder.entries(field, &what).unwrap_or_default() {
        let item = Field { path: format!("{}.{}", field.path, entry.key), node: &entry.node };
        let name = etcd_name(&entry.key);
        if !is_free(decoder, field, (&name, &entry.key_position), ETCD) {
            continue;
        }
        match EtcdOption::by_name(&name) {
            Some(option) => put_etcd(decoder, &item, &mut settings.components.etcd, option),
            None => decoder.report(no_option_of_etcd(&entry.key, &name).at(&entry.key_position)),
        }
    }
}

/// The option that a variable of etcd's environment is.
fn etcd_name(key: &str) -> String {
    key.strip_prefix("ETCD_").map_or_else(|| key.to_owned(), |rest| rest.to_ascii_lowercase().replace('_', "-"))
}

fn no_option_of_etcd(key: &str, name: &str) -> Problem {
    let problem = Problem::new(format!("{} is no option of etcd", quote(key)));
    match name.strip_prefix("experimental-").filter(|name| EtcdOption::by_name(name).is_some()) {
        Some(new) => problem.because("etcd 3.7 has given up that name").hint(format!("write `{new}`")),
        None => with_nearest(
            problem.because("etcd would not start with it, or read over it"),
            name,
            &etcd_options(),
            "leave it out; `etcd --help` lists its options",
        ),
    }
}

fn put_etcd(decoder: &mut Decoder, item: &Field<'_>, to: &mut Values, option: &EtcdOption) {
    let Some(text) = scalar(decoder, item) else { return };
    let (value, rule) = match option.value {
        EtcdValue::Number => (text.parse::<u64>().ok().map(Json::from), "it is a whole number"),
        EtcdValue::Flag => (text.parse::<bool>().ok().map(Json::from), "it is `true` or `false`"),
        EtcdValue::Time => (duration(&text).map(|_| Json::from(text.as_str())), super::values::TIME),
        EtcdValue::Text | EtcdValue::Names => ((!text.is_empty()).then(|| Json::from(text.as_str())), "it is not empty"),
    };
    match value {
        Some(value) => put(decoder, item, to, option.name, value),
        None => {
            let problem = Problem::new(format!("{} cannot be {}", quote(option.name), quote(&text))).at(item.position());
            decoder.report(problem.because(rule).hint("write such a value, or leave it out"));
        }
    }
}

/// Components of Kubernetes take `_` in a name for `-` (`WordSepNormalizeFunc`).
fn in_one_spelling(name: &str) -> String {
    name.replace('_', "-")
}

fn is_option(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(allowed)
}

/// Options of the kubelet as its command line has them.
pub(crate) fn kubelet_flags(decoder: &mut Decoder, field: &Field<'_>, to: &mut Values) {
    let rule = "it is a list of options like `--v=4`";
    for (text, item) in decoder.texts(field, rule) {
        let (name, value) = text.trim().trim_start_matches('-').split_once('=').unwrap_or((text.trim().trim_start_matches('-'), "true"));
        if !text.trim().starts_with("--") || !is_option(name) || value.chars().any(|c| c.is_whitespace() || c.is_control()) {
            let problem = Problem::new(format!("{} is no option of the kubelet", quote(text))).at(item.position());
            decoder.report(
                problem
                    .because(rule)
                    .hint(format!("write what has blanks in it into {}", field.name().replace("custom_flags", "config_extra_args"))),
            );
        } else if is_free(decoder, field, (&in_one_spelling(name), item.position()), KUBELET) {
            put(decoder, &item, to, &in_one_spelling(name), value.into());
        }
    }
}

/// Gates as a list of `Name=true`, or as a map.
pub(crate) fn gates(decoder: &mut Decoder, field: &Field<'_>, to: &mut BTreeMap<String, bool>) {
    const RULE: &str = "it is a list of `Name=true` and `Name=false`";
    let items: Vec<(String, Option<bool>, Field<'_>)> = match &field.node.value {
        Value::Map(entries) => {
            let item = |entry: &'_ crate::tree::Entry| (entry.key.clone(), crate::variables::flag(&entry.node));
            entries.iter().map(|entry| (item(entry).0, item(entry).1, Field { path: field.path.clone(), node: &entry.node })).collect()
        }
        _ => decoder.texts(field, RULE).into_iter().map(|(text, item)| (gate(text).0, gate(text).1, item)).collect(),
    };
    for (name, value, item) in items {
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(|c| c.is_ascii_alphanumeric());
        let problem = match value {
            Some(value) if is_name && !to.contains_key(&name) => {
                decoder.tell(&item, &name, &value.into());
                to.insert(name, value);
                continue;
            }
            Some(_) if is_name => Problem::new(format!("the feature gate {} stands twice", quote(&name)))
                .because("a gate is open or closed")
                .hint("keep one of the two"),
            _ => Problem::new(format!("{} is no feature gate", quote(&name))).because(RULE).hint("write it as `Name=true` or `Name=false`"),
        };
        decoder.report(problem.at(item.position()));
    }
}

fn gate(text: &str) -> (String, Option<bool>) {
    let Some((name, value)) = text.split_once('=') else { return (text.to_owned(), None) };
    let value = match value.trim().to_ascii_lowercase().as_str() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    };
    (name.trim().to_owned(), value)
}
