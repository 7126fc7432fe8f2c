//! Options and feature gates of components.

use std::collections::BTreeMap;

use super::fixed::{ETCD, KUBELET};
use super::values::{is_free, put, scalar};
use crate::Problem;
use crate::decode::{Decoder, Field};
use crate::model::{Settings, Values};
use crate::tree::Value;
use crate::words::quote;

/// A map of options to values.
pub(crate) fn options(decoder: &mut Decoder, field: &Field<'_>, to: &mut Values, own: &[(&str, &str)]) {
    named(decoder, field, to, own, str::to_owned);
}

/// Options of etcd, also as its environment has them: `ETCD_MAX_WALS`.
pub(crate) fn etcd(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let name = |key: &str| key.strip_prefix("ETCD_").map_or_else(|| key.to_owned(), |rest| rest.to_ascii_lowercase().replace('_', "-"));
    named(decoder, field, &mut settings.components.etcd, ETCD, name);
}

fn named(decoder: &mut Decoder, field: &Field<'_>, to: &mut Values, own: &[(&str, &str)], name: impl Fn(&str) -> String) {
    let what = format!("`{}`", field.name());
    for entry in decoder.entries(field, &what).unwrap_or_default() {
        let item = Field { path: format!("{}.{}", field.path, entry.key), node: &entry.node };
        let name = name(&entry.key);
        if is_option(&name) {
            if is_free(decoder, field, (&name, &entry.key_position), own)
                && let Some(value) = scalar(decoder, &item)
            {
                put(decoder, &item, to, &name, value.into());
            }
            continue;
        }
        let problem = Problem::new(format!("{} is no name of an option", quote(&entry.key))).at(&entry.key_position);
        decoder.report(problem.because("it has small letters, digits, `-` and `.`, and no `--` before it"));
    }
}

fn is_option(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(allowed)
}

/// Options of the kubelet as its command line has them.
pub(crate) fn kubelet_flags(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let rule = "it is a list of options like `--v=4`";
    for (text, item) in decoder.texts(field, rule) {
        let (name, value) = text.trim().trim_start_matches('-').split_once('=').unwrap_or((text.trim().trim_start_matches('-'), "true"));
        if !text.trim().starts_with("--") || !is_option(name) || value.chars().any(|c| c.is_whitespace() || c.is_control()) {
            let problem = Problem::new(format!("{} is no option of the kubelet", quote(text))).at(item.position());
            decoder.report(problem.because(rule).hint("write what has blanks in it into kubelet_config_extra_args"));
        } else if is_free(decoder, field, (name, item.position()), KUBELET) {
            put(decoder, &item, &mut settings.components.kubelet_options, name, value.into());
        }
    }
}

/// Gates as a list of `Name=true`, or as a map.
pub(crate) fn gates(decoder: &mut Decoder, field: &Field<'_>, to: &mut BTreeMap<String, bool>) {
    const RULE: &str = "it is a list of `Name=true` and `Name=false`";
    let said: Vec<(String, Option<bool>, Field<'_>)> = match &field.node.value {
        Value::Map(entries) => {
            let item = |entry: &'_ crate::tree::Entry| (entry.key.clone(), crate::variables::flag(&entry.node));
            entries.iter().map(|entry| (item(entry).0, item(entry).1, Field { path: field.path.clone(), node: &entry.node })).collect()
        }
        _ => decoder.texts(field, RULE).into_iter().map(|(text, item)| (gate(text).0, gate(text).1, item)).collect(),
    };
    for (name, value, item) in said {
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(|c| c.is_ascii_alphanumeric());
        let problem = match value {
            Some(value) if is_name && !to.contains_key(&name) => {
                to.insert(name, value);
                continue;
            }
            Some(_) if is_name => Problem::new(format!("the feature gate {} stands twice", quote(&name))),
            _ => Problem::new(format!("{} is no feature gate", quote(&name))).because(RULE),
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
