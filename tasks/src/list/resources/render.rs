//! Templates of users, filled with the facts and variables of a host.

use std::collections::BTreeSet;

use kok_crds::model::{Cluster, Content, HostResource, LocalFile, Wish};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior};
use serde_json::{Value as Json, json};

use super::HostPlace;
use crate::facts::{HostFacts, Interface, SelinuxMode};
use crate::plan::Refusal;

/// Templates that have been parsed, each once for all hosts for which it is filled.
#[derive(Default)]
pub(crate) struct Templates<'a>(Environment<'a>);

impl std::fmt::Debug for Templates<'_> {
    /// What stands in them may be secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Templates")
    }
}

impl<'a> Templates<'a> {
    /// Those of what is declared. What can't be parsed is left out: whoever fills it says where it is wrong.
    pub(crate) fn of(cluster: &'a Cluster) -> Self {
        let Ok(mut environment) = environment() else { return Self::default() };
        for entry in &cluster.resources.entries {
            if let Wish::File { content: Content::Template(LocalFile { text: Some(text), .. }), .. } = &entry.wish {
                // Its text is its name: paths mean another file in each file that names them.
                let _ = environment.add_template(text.expose(), text.expose());
            }
        }
        Self(environment)
    }
}

fn environment<'a>() -> Result<Environment<'a>, Error> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    // As Ansible has it: the line of a `{% … %}` is none of the file's.
    environment.set_syntax(environment.syntax().to_builder().keep_trailing_newline(true).trim_blocks(true).build()?);
    Ok(environment)
}

/// What a template makes of a host. Nothing where the host was not asked yet, and the template needs a fact of it.
///
/// # Errors
/// [`Refusal`] with the entry, the line of the template, the host, and what is missing.
pub(super) fn render(place: &HostPlace<'_>, entry: &HostResource, file: &LocalFile, text: &str) -> Result<Option<String>, Refusal> {
    let wrong = |error: &Error| failed(place, entry, file, error);
    let own;
    let parsed = match place.templates.0.get_template(text) {
        Err(_) => {
            own =
                environment().map_err(|error| wrong(&error).because(words(&error)).hint("this is a defect of kokctl; please report it"))?;
            own.template_from_named_str(&file.path, text)
        }
        known => known,
    };
    let template = parsed.map_err(|error| wrong(&error).because(words(&error)).hint("mend the template"))?;
    // Of a thousand hosts each would list all others for each of its files.
    let values = values(place, template.undeclared_variables(false).contains("hosts"));
    match template.render(minijinja::value::Serde(&values)) {
        Ok(text) => Ok(Some(text)),
        Err(error) => {
            let mut missing = missing(&template.undeclared_variables(true), &values);
            if !place.is_known {
                // Of a host that nobody has asked, no fact is known yet.
                let all = missing.len();
                missing.retain(|name| name != "facts" && !name.starts_with("facts."));
                if missing.is_empty() && all > 0 {
                    return Ok(None);
                }
            }
            Err(unfilled(wrong(&error), &error, &missing))
        }
    }
}

fn failed(place: &HostPlace<'_>, entry: &HostResource, file: &LocalFile, error: &Error) -> Refusal {
    let line = error.line().map(|line| format!(":{line}")).unwrap_or_default();
    let what = format!("the template of `{}` can't be filled for the host {}", entry.name.escape_debug(), place.host.name);
    Refusal::new(what).at(format!("{}{line} (named at {})", file.path.escape_debug(), file.origin))
}

/// What minijinja says, without values.
fn words(error: &Error) -> String {
    match error.detail() {
        Some(detail) if error.kind() == ErrorKind::SyntaxError => format!("{}: {detail}", error.kind()),
        _ => error.kind().to_string(),
    }
}

fn unfilled(refusal: Refusal, error: &Error, missing: &BTreeSet<String>) -> Refusal {
    if missing.is_empty() || error.kind() != ErrorKind::UndefinedError {
        return refusal.because(words(error)).hint("mend the template");
    }
    let names: Vec<String> = missing.iter().map(|name| format!("`{name}`")).collect();
    let facts = missing.iter().any(|name| name.starts_with("facts."));
    let because = format!("the host has no {}", names.join(", "));
    let hint = if facts {
        "write `{% if facts.NAME is defined %}` around it, or name other hosts as `on`; docs/host-resources.md lists all facts"
    } else {
        "write it as a variable of the host or of all hosts, or mend its name; templates know `facts`, `vars`, `host` and `hosts`"
    };
    refusal.because(because).hint(hint)
}

/// Those of the names that the values don't have.
fn missing<'a>(names: impl IntoIterator<Item = &'a String>, values: &Json) -> BTreeSet<String> {
    let has = |name: &&String| name.split('.').try_fold(values, |value, part| value.get(part)).is_some();
    let is_ours = |name: &&String| !["range", "dict", "debug", "namespace", "loop"].contains(&name.split('.').next().unwrap_or_default());
    names.into_iter().filter(is_ours).filter(|name| !has(name)).cloned().collect()
}

/// What a template may use; the list of all hosts only where it does.
fn values(place: &HostPlace<'_>, with_hosts: bool) -> Json {
    let hosts: Vec<Json> =
        place.cluster.hosts.iter().filter(|_| with_hosts).map(|host| json!({"name": host.name, "address": host.address})).collect();
    let host = place.host;
    let groups = place.cluster.fleet.iter().flat_map(|fleet| &fleet.groups).filter(|(_, hosts)| hosts.contains(&host.name));
    let groups: Vec<&String> = groups.map(|(group, _)| group).collect();
    let roles = [("control-plane", host.roles.control_plane), ("worker", host.roles.worker), ("etcd", host.roles.etcd)];
    let roles: Vec<&str> = roles.into_iter().filter(|(_, has)| *has).map(|(role, _)| role).collect();
    // Of a host that nobody has asked not even the name is there.
    let facts = if place.is_known { facts(place.facts) } else { Json::Null };
    without_null(json!({
        "host": {"name": host.name, "address": host.address, "roles": roles, "groups": groups, "labels": host.labels},
        "hosts": hosts,
        "facts": facts,
        "vars": place.cluster.resources.vars_of(&host.name),
    }))
}

/// The facts by which templates know a host; what it does not have is missing.
fn facts(facts: &HostFacts) -> Json {
    let interface = |interface: &Interface| {
        let addresses: Vec<String> = interface.addresses.iter().map(ToString::to_string).collect();
        without_null(json!({"mac": interface.mac, "mtu": interface.mtu, "addresses": addresses}))
    };
    let interfaces: serde_json::Map<String, Json> = facts.interfaces.iter().map(|(name, is)| (name.clone(), interface(is))).collect();
    let addresses: Vec<String> = facts.addresses().map(|address| address.to_string()).collect();
    let name_servers: Vec<String> = facts.name_servers.iter().map(ToString::to_string).collect();
    without_null(json!({
        "hostname": facts.hostname,
        "machineId": facts.machine_id,
        "productUuid": facts.product_uuid,
        "os": {"id": facts.os_id, "like": facts.os_like, "version": facts.os_version},
        "architecture": facts.architecture,
        "kernel": facts.kernel,
        "memoryBytes": facts.memory_bytes,
        "processors": facts.processors,
        "addresses": addresses,
        "interfaces": interfaces,
        "nameServers": name_servers,
        "selinux": match facts.selinux {
            SelinuxMode::Disabled => "disabled",
            SelinuxMode::Permissive => "permissive",
            SelinuxMode::Enforcing => "enforcing",
        },
    }))
}

fn without_null(value: Json) -> Json {
    match value {
        Json::Object(fields) => fields.into_iter().filter(|(_, value)| !value.is_null()).collect(),
        other => other,
    }
}
