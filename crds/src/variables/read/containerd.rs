//! Variables of containerd.

use std::collections::BTreeSet;

use semver::Version;

use super::host::{pem, url};
use crate::Problem;
use crate::decode::{Decoder, Field, Form};
use crate::model::{Mirror, RegistryMirrors, Settings, TomlScalar};
use crate::tree::Value;
use crate::words::quote;

/// The first major version that reads the configuration which we write (its `version = 3`).
const FIRST_MAJOR: u64 = 2;

pub(crate) fn containerd_version(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let Some(text) = decoder.text(field).filter(|text| !text.is_empty()) else { return };
    let problem = match Version::parse(text.strip_prefix('v').unwrap_or(text)) {
        Err(_) => Problem::new(format!("{} is no version of containerd", quote(text))).because("it has three numbers, as in 2.3.7"),
        Ok(version) if version.major < FIRST_MAJOR => Problem::new(format!("containerd {version} cannot be installed"))
            .because(format!("its configuration is written for {FIRST_MAJOR}.0 and later")),
        Ok(version) => {
            settings.containerd_version = Some(version);
            return;
        }
    };
    decoder.report(problem.at(field.position()).hint("write a version that the bundle has, or leave it out for its newest"));
}

pub(crate) fn containerd_limit_open_file_num(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    // Below the lower limit containerd itself runs out of files on a full host; above the upper one the kernel refuses.
    let value = decoder.integer(field, 65_536..=1_073_741_816).and_then(|value| u64::try_from(value).ok());
    settings.containerd_limit_open_file_num = value.unwrap_or(settings.containerd_limit_open_file_num);
}

pub(crate) fn containerd_extra_runtime_args(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let what = "`containerd_extra_runtime_args`";
    for entry in decoder.entries(field, what).unwrap_or_default() {
        let is_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if entry.key.is_empty() || !entry.key.chars().all(is_key) {
            decoder.report(
                Problem::new(format!("{} is no name of an option of containerd", quote(&entry.key)))
                    .at(&entry.key_position)
                    .because("it may only have letters, digits, `_` and `-`")
                    .hint("write it as containerd's configuration has it, for example `BinaryName`"),
            );
        }
        let value = match &entry.node.value {
            Value::Bool(value) => TomlScalar::Bool(*value),
            Value::Integer(value) => TomlScalar::Integer(*value),
            Value::Text(text) => TomlScalar::String(text.clone()),
            Value::Null | Value::Float | Value::List(_) | Value::Map(_) => {
                decoder.report(
                    Problem::new(format!("{} cannot have that value", quote(&entry.key)))
                        .at(&entry.node.position)
                        .because("an option of a runtime is text, a whole number or a boolean")
                        .hint("write such a value, or leave it out"),
                );
                continue;
            }
        };
        settings.containerd_extra_runtime_args.insert(entry.key.clone(), value);
    }
}

const MIRRORS: Form = Form { what: "an entry of `containerd_registries_mirrors`", fields: &["prefix", "mirrors"], refused: &[] };

const MIRROR: Form = Form {
    what: "a mirror of a registry",
    fields: &["host", "capabilities", "skip_verify", "override_path", "ca"],
    refused: &[
        ("client", "this version logs in to no registry by certificate"),
        ("header", "this version sends no headers of its own to a registry"),
    ],
};

/// What a mirror can do when nobody says otherwise; Kubespray's default.
const CAPABILITIES: [&str; 2] = ["pull", "resolve"];

pub(crate) fn containerd_registries_mirrors(decoder: &mut Decoder, field: &Field<'_>, settings: &mut Settings) {
    let rule = "it is a list of registries with their mirrors";
    let mut seen = BTreeSet::new();
    for item in decoder.list(field, rule).unwrap_or_default() {
        let Some(registry) = registry(decoder, &item) else { continue };
        if !seen.insert(registry.prefix.clone()) {
            let problem = Problem::new(format!("the registry {} stands twice", quote(&registry.prefix)));
            decoder.report(problem.at(item.position()).hint("write all its mirrors in one entry"));
        }
        settings.containerd_registries_mirrors.push(registry);
    }
}

fn registry(decoder: &mut Decoder, item: &Field<'_>) -> Option<RegistryMirrors> {
    let fields = decoder.fields(item, &MIRRORS)?;
    let prefix = decoder.required(&fields, "prefix").and_then(|field| prefix(decoder, &field));
    let list = decoder.required(&fields, "mirrors")?;
    let items = decoder.list(&list, "it is a list of mirrors")?;
    if items.is_empty() {
        let problem = Problem::new("a registry has no mirror").at(list.position());
        decoder.report(problem.because("an entry says where images come from instead").hint("leave the entry out"));
    }
    let mirrors = items.iter().filter_map(|item| mirror(decoder, item)).collect();
    Some(RegistryMirrors { prefix: prefix?, mirrors })
}

/// Becomes the name of a folder on the hosts.
fn prefix(decoder: &mut Decoder, field: &Field<'_>) -> Option<String> {
    let text = decoder.text(field)?;
    if matches!(text, "*" | "_default") {
        return Some("_default".to_owned());
    }
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '-' | ':');
    let good = !text.is_empty() && text.len() < 256 && text.chars().all(allowed) && text.starts_with(|c: char| c.is_ascii_alphanumeric());
    if good {
        return Some(text.to_owned());
    }
    let problem = Problem::new(format!("{} is no name of a registry", quote(text))).at(field.position());
    decoder.report(
        problem
            .because("it is what stands before the first `/` of an image's name: a DNS name or an address, perhaps with a port")
            .hint("for example `docker.io`; `_default` stands for all registries without an entry"),
    );
    None
}

fn mirror(decoder: &mut Decoder, item: &Field<'_>) -> Option<Mirror> {
    let fields = decoder.fields(item, &MIRROR)?;
    let host = decoder.required(&fields, "host").and_then(|field| url(decoder, &field, "mirror"));
    let mut flag = |name: &str| fields.get(name).and_then(|field| decoder.boolean(&field)).unwrap_or(false);
    let (skip_verify, override_path) = (flag("skip_verify"), flag("override_path"));
    let choices = ["pull", "resolve", "push"].map(|word| (word, word));
    let capabilities = match fields.get("capabilities") {
        Some(field) => {
            let items = decoder.list(&field, "it is a list of pull, resolve and push").unwrap_or_default();
            items.iter().filter_map(|item| decoder.choice(item, &choices)).map(str::to_owned).collect()
        }
        None => CAPABILITIES.map(str::to_owned).to_vec(),
    };
    let ca = fields.get("ca").and_then(|field| pem(decoder, &field));
    Some(Mirror { host: host?, capabilities, skip_verify, override_path, ca })
}
