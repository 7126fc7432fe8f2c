//! What is declared for the hosts themselves: one entry a thing, each of one kind.

pub(crate) mod brought;
pub(crate) mod fields;
pub(crate) mod kinds;
pub(crate) mod mounts;
mod together;

use std::collections::BTreeMap;

use crate::Problem;
use crate::decode::{Decoder, Field, Fields, Form};
use crate::inventory::{is_glob, matches};
use crate::model::{HostResource, HostResources, TemplateVars, Wish};
use crate::tree::Value;
use crate::variables::json;
use crate::words::{quote, with_nearest};

use kinds::KINDS;

/// Words by which several hosts are meant.
const ALL: &str = "all";

pub(crate) const ENTRY: Form = Form {
    what: "an entry of `hostResources`",
    fields: &[
        "name",
        "on",
        "after",
        "file",
        "dir",
        "symlink",
        "absent",
        "line",
        "block",
        "sysctl",
        "kernelModule",
        "package",
        "user",
        "group",
        "authorizedKey",
        "binary",
        "archive",
        "caCertificate",
        "mount",
        "unit",
    ],
    refused: &[
        ("copy", "write it as `file`, with its `content` or `source`"),
        ("template", "write it as `file`, with its `template`"),
        ("lineinfile", "write it as `line`"),
        ("blockinfile", "write it as `block`"),
        ("directory", "write it as `dir`"),
        ("link", "write it as `symlink`"),
        ("modprobe", "write it as `kernelModule`"),
        ("apt", "write it as `package`"),
        ("dnf", "write it as `package`"),
        ("yum", "write it as `package`"),
        ("service", "write it as `unit`"),
        ("systemd", "write it as `unit`"),
        ("authorized_key", "write it as `authorizedKey`"),
        ("unarchive", "write it as `archive`"),
        ("get_url", "write it as `binary`, with its `url` and `sha256`"),
        ("ca_certificate", "write it as `caCertificate`"),
        ("certificate", "write it as `caCertificate`"),
        ("notify", "write `restartOn` at the unit that is to be started again"),
        ("when", "write the hosts that are meant as `on`"),
        ("hosts", "write the hosts that are meant as `on`"),
        ("become", "leave it out: what is declared here is done as root"),
        ("state", "write it within the kind: `unit: {name: …, state: running}`, or `absent: {path: …}`"),
    ],
};

/// The hosts that entries may be for: all of them, and those of each group.
pub(crate) struct Places {
    pub(crate) hosts: Vec<String>,
    pub(crate) groups: BTreeMap<String, Vec<String>>,
}

/// Reads the field: a list of entries, or a map with such a list and variables for templates.
pub(crate) fn read(decoder: &mut Decoder, field: &Field<'_>, places: &Places) -> HostResources {
    match &field.node.value {
        Value::List(_) => HostResources { entries: entries(decoder, field, places), ..HostResources::default() },
        // All of its fields are known by then.
        Value::Map(_) => {
            let part = |name: &str| {
                let entry = field.node.entry(name)?;
                Some(Field { path: format!("{}.{name}", field.path), node: &entry.node })
            };
            let vars = part("vars").map(|field| vars(decoder, &field)).unwrap_or_default();
            let host_vars = part("hostVars").map(|field| host_vars(decoder, &field, places)).unwrap_or_default();
            let entries = part("resources").map(|field| entries(decoder, &field, places)).unwrap_or_default();
            HostResources { entries, vars, host_vars }
        }
        _ => HostResources::default(),
    }
}

/// Variables for templates.
pub(crate) fn vars(decoder: &mut Decoder, field: &Field<'_>) -> TemplateVars {
    let mut vars = TemplateVars::default();
    for entry in decoder.entries(field, "variables for templates").unwrap_or_default() {
        let item = Field { path: format!("{}.{}", field.path, entry.key), node: &entry.node };
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if entry.key.is_empty() || !entry.key.chars().all(is_name) || entry.key.starts_with(|c: char| c.is_ascii_digit()) {
            let problem = Problem::new(format!("{} cannot be the name of a variable", quote(&entry.key))).at(&entry.key_position);
            let problem = problem.because("templates write it as `vars.NAME`: it has letters, digits and `_`, and begins with no digit");
            decoder.report(problem.hint("write such a name"));
        }
        if let Some(value) = json(decoder, &item) {
            vars.0.insert(entry.key.clone(), value);
        }
    }
    vars
}

fn host_vars(decoder: &mut Decoder, field: &Field<'_>, places: &Places) -> BTreeMap<String, TemplateVars> {
    let mut all = BTreeMap::new();
    for entry in decoder.entries(field, "variables of single hosts, by the names of these").unwrap_or_default() {
        if !places.hosts.contains(&entry.key) {
            let hosts: Vec<&str> = places.hosts.iter().map(String::as_str).collect();
            let problem = Problem::new(format!("{} is no host here", quote(&entry.key))).at(&entry.key_position);
            let problem = problem.because("`hostVars` has variables by the name of the host");
            decoder.report(with_nearest(problem, &entry.key, &hosts, "write the name of a host under `hosts`"));
        }
        let item = Field { path: format!("{}.{}", field.path, entry.key), node: &entry.node };
        all.insert(entry.key.clone(), vars(decoder, &item));
    }
    all
}

fn entries(decoder: &mut Decoder, field: &Field<'_>, places: &Places) -> Vec<HostResource> {
    let items = decoder.list(field, "it is a list of entries, each of one kind: file, dir, unit and others").unwrap_or_default();
    let before = decoder.count();
    let mut read: Vec<HostResource> = items.iter().filter_map(|item| entry(decoder, item, places)).collect();
    number(&mut read);
    // Of what could not be read nobody knows whether others name it.
    together::check(decoder, &read, decoder.count() == before);
    read
}

/// Of several lines of one file, packages, keys or archives that have no names of their own, the later ones are told apart by their number.
fn number(entries: &mut [HostResource]) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for entry in entries.iter_mut().filter(|entry| entry.name.contains(':')) {
        if matches!(entry.wish, Wish::Line { .. } | Wish::Package { .. } | Wish::AuthorizedKey { .. } | Wish::Archive { .. }) {
            let number = seen.entry(entry.name.clone()).or_default();
            *number += 1;
            if *number > 1 {
                entry.name = format!("{}#{number}", entry.name);
            }
        }
    }
}

fn entry(decoder: &mut Decoder, item: &Field<'_>, places: &Places) -> Option<HostResource> {
    let before = decoder.count();
    let fields = decoder.fields(item, &ENTRY)?;
    // A word of somebody else's is told of already.
    let is_known = decoder.count() == before;
    let wish = wish(decoder, &fields, is_known);
    let given = fields.get("name").map(|field| fields::checked(decoder, &field, fields::entry_name, "a name"));
    let hosts = fields.get("on").map_or_else(|| Some(places.hosts.clone()), |field| hosts(decoder, &field, places));
    let after = fields.get("after").map(|field| decoder.texts(&field, "it is a list of names of other entries")).unwrap_or_default();
    let wish = wish?;
    let name = match given {
        Some(name) => name?,
        None => format!("{}:{}", wish.kind(), wish.subject()),
    };
    let after = after.into_iter().map(|(name, _)| name.to_owned()).collect();
    Some(HostResource { name, hosts: hosts?.into_iter().collect(), after, wish, origin: item.position().clone() })
}

/// What it is: one kind.
fn wish(decoder: &mut Decoder, fields: &Fields<'_>, is_known: bool) -> Option<Wish> {
    let given: Vec<_> = KINDS.iter().filter_map(|(name, read)| Some((*name, fields.get(name)?, *read))).collect();
    match given.as_slice() {
        [(_, field, read)] => read(decoder, field),
        [] if !is_known => None,
        [] => {
            let kinds: Vec<&str> = KINDS.iter().map(|(name, _)| *name).collect();
            let problem = Problem::new("the entry does not say what it is").at(fields.position());
            let problem = problem.because(format!("it has one of {}", kinds.join(", ")));
            decoder.report(problem.hint("write one of these, for example `file: {path: /etc/motd, content: Hello}`"));
            None
        }
        [(one, ..), (other, field, _), ..] => {
            let problem = Problem::new(format!("the entry is both `{one}` and `{other}`")).at(field.position());
            decoder.report(problem.because("an entry is one thing").hint("make two entries of it"));
            None
        }
    }
}

/// The hosts that an entry is for, each once and in the order of the file.
pub(crate) fn hosts(decoder: &mut Decoder, field: &Field<'_>, places: &Places) -> Option<Vec<String>> {
    let before = decoder.count();
    let mut meant: Vec<&str> = Vec::new();
    let words = decoder.texts(field, "it is a list of hosts, of their roles or groups, or `all`");
    if words.is_empty() && decoder.count() == before {
        let problem = Problem::new("`on` names no host").at(field.position()).because("the entry would be for nobody");
        decoder.report(problem.hint("leave `on` out to mean all hosts, or leave out the entry"));
    }
    for (word, item) in words {
        let group = places.groups.get(word);
        if word == ALL {
            meant.extend(places.hosts.iter().map(String::as_str));
        } else if let Some(host) = places.hosts.iter().find(|host| *host == word) {
            meant.push(host);
        } else if let Some(group) = group {
            meant.extend(group.iter().map(String::as_str));
        } else if places.hosts.iter().any(|host| is_glob(word) && matches(word, host)) {
            meant.extend(places.hosts.iter().filter(|host| matches(word, host)).map(String::as_str));
        } else {
            let known: Vec<&str> = places.groups.keys().chain(&places.hosts).map(String::as_str).chain([ALL]).collect();
            let problem = Problem::new(format!("`{}` cannot be {}", field.name(), quote(word))).at(item.position());
            let problem = problem.because("it names hosts of the file (`web-*` several), their roles or groups, or `all`");
            decoder.report(with_nearest(problem, word, &known, "name a host, a role or a group of the file"));
        }
    }
    let hosts = places.hosts.iter().filter(|host| meant.contains(&host.as_str())).cloned().collect();
    (decoder.count() == before).then_some(hosts)
}
