//! One reader for each kind of entry.

use super::brought;
use super::fields::{self, checked, optional, required, rights};
use super::mounts;
use crate::Problem;
use crate::decode::{Decoder, Field, Fields, Form};
use crate::hide::is_private_key;
use crate::model::{Account, Content, LocalFile, Text, Wish};
use crate::syntax::name;
use crate::tree::Value;

type Reader = fn(&mut Decoder, &Field<'_>) -> Option<Wish>;

/// Every kind, with who reads it.
pub(crate) const KINDS: [(&str, Reader); 17] = [
    ("file", file),
    ("dir", directory),
    ("symlink", symlink),
    ("absent", absent),
    ("line", line),
    ("block", block),
    ("sysctl", sysctl),
    ("kernelModule", kernel_module),
    ("package", package),
    ("user", user),
    ("group", group),
    ("authorizedKey", authorized_key),
    ("binary", brought::binary),
    ("archive", brought::archive),
    ("caCertificate", brought::ca_certificate),
    ("mount", mounts::mount),
    ("unit", unit),
];

/// What a unit may be.
pub(crate) const STATES: [(&str, bool); 2] = [("running", true), ("stopped", false)];

/// Names of the fields of Ansible's modules.
const OF_PATHS: &[(&str, &str)] = &[("dest", "write it as `path`"), ("src", "write it as `source`"), ("state", "leave it out")];

pub(crate) const FILE: Form = Form {
    what: "a file",
    fields: &["path", "content", "source", "template", "mode", "owner", "group", "secret"],
    refused: &[
        ("dest", "write it as `path`"),
        ("src", "write it as `source`, or as `template`"),
        ("state", "leave it out; what is to be gone is an entry `absent: {path: …}`"),
    ],
};
pub(crate) const DIRECTORY: Form = Form { what: "a folder", fields: &["path", "mode", "owner", "group"], refused: OF_PATHS };
pub(crate) const SYMLINK: Form = Form {
    what: "a symbolic link",
    fields: &["path", "target"],
    refused: &[("dest", "write it as `path`"), ("src", "write it as `target`"), ("state", "leave it out")],
};
pub(crate) const ABSENT: Form = Form { what: "what is to be gone", fields: &["path", "recursive"], refused: OF_PATHS };
pub(crate) const LINE: Form = Form {
    what: "a line of a file",
    fields: &["path", "line", "startsWith"],
    refused: &[("regexp", "write how the lines begin that give way as `startsWith`"), ("dest", "write it as `path`")],
};
pub(crate) const BLOCK: Form = Form {
    what: "a block of a file",
    fields: &["path", "text"],
    refused: &[
        ("block", "write it as `text`"),
        ("dest", "write it as `path`"),
        ("marker", "leave it out: the marks have the entry's name"),
    ],
};
pub(crate) const SYSCTL: Form = Form { what: "a kernel parameter", fields: &["name", "value"], refused: &[] };
pub(crate) const KERNEL_MODULE: Form = Form { what: "a kernel module", fields: &["name"], refused: &[] };
pub(crate) const PACKAGE: Form =
    Form { what: "the entry `package`", fields: &["names"], refused: &[("name", "write it as `names`, which is a list")] };
pub(crate) const USER: Form = Form {
    what: "a user",
    fields: &["name", "uid", "group", "groups", "home", "shell", "comment", "system"],
    refused: &[("password", "leave it out: no passwords are set here; write an `authorizedKey`")],
};
pub(crate) const GROUP: Form = Form { what: "a group", fields: &["name", "gid", "system"], refused: &[] };
pub(crate) const AUTHORIZED_KEY: Form = Form { what: "an authorized key", fields: &["user", "key"], refused: &[] };
pub(crate) const UNIT: Form = Form {
    what: "a unit",
    fields: &["name", "state", "enabled", "restartOn"],
    refused: &[("daemon_reload", "leave it out: systemd is told whenever a unit's file has changed")],
};

/// The largest number of a user or a group; the one above it means nobody (chown(2)).
pub(crate) const MOST_ID: i64 = 4_294_967_294;

pub(super) fn path(decoder: &mut Decoder, fields: &Fields<'_>) -> Option<String> {
    required(decoder, fields, ("path", "a path on a host"), fields::host_path)
}

fn flag(decoder: &mut Decoder, fields: &Fields<'_>, name: &str) -> Option<bool> {
    fields.get(name).map_or(Some(false), |field| decoder.boolean(&field))
}

fn file(decoder: &mut Decoder, field: &Field<'_>) -> Option<Wish> {
    let fields = decoder.fields(field, &FILE)?;
    let path = path(decoder, &fields);
    let secret = flag(decoder, &fields, "secret");
    let sealed = ["content", "source", "template"].iter().filter_map(|name| fields.get(name)).any(|field| field.node.tag.is_secret());
    let secret = secret.map(|secret| secret || sealed);
    let rights = rights(decoder, &fields, if secret == Some(true) { 0o600 } else { 0o644 });
    let content = content(decoder, &fields);
    Some(Wish::File { path: path?, content: content?, rights: rights?, secret: secret? })
}

/// What stands in it: one of three.
fn content(decoder: &mut Decoder, fields: &Fields<'_>) -> Option<Content> {
    const SOURCES: [&str; 3] = ["content", "source", "template"];
    let given: Vec<_> = SOURCES.iter().filter_map(|name| Some((*name, fields.get(name)?))).collect();
    match given.as_slice() {
        [("content", field)] => decoder.text(field).map(|text| Content::Text(Text::new(text))),
        [(kind, field)] => {
            let path = checked(decoder, field, local_path, "the path of a file on your side")?;
            let file = LocalFile { path, text: None, origin: field.position().clone() };
            Some(if *kind == "source" { Content::Source(file) } else { Content::Template(file) })
        }
        [] if SOURCES.iter().any(|name| fields.is_misspelled(name)) => None,
        [] => {
            let problem = Problem::new("nothing says what stands in the file").at(fields.position());
            let because =
                "it has `content`, its text; `source`, a file on your side; or `template`, a file of which each host's own is made";
            decoder.report(problem.because(because).hint("write one of these; an empty file has `content: \"\"`"));
            None
        }
        [(one, _), (other, field), ..] => {
            let problem = Problem::new(format!("the file has both `{one}` and `{other}`")).at(field.position());
            decoder.report(problem.because("one of them is what stands in it").hint("leave one of the two out"));
            None
        }
    }
}

/// What is wrong with a path on the user's side.
pub(crate) fn local_path(text: &str) -> Option<&'static str> {
    let is_text = || (is_private_key(text) || text.contains('\n')).then_some("it is a text, which is written as `content`");
    name::path(text).or_else(is_text)
}

fn directory(decoder: &mut Decoder, field: &Field<'_>) -> Option<Wish> {
    let fields = decoder.fields(field, &DIRECTORY)?;
    let (path, rights) = (path(decoder, &fields), rights(decoder, &fields, 0o755));
    Some(Wish::Directory { path: path?, rights: rights? })
}

fn symlink(decoder: &mut Decoder, field: &Field<'_>) -> Option<Wish> {
    let fields = decoder.fields(field, &SYMLINK)?;
    let path = path(decoder, &fields);
    let target = required(decoder, &fields, ("target", "where a link leads"), name::path);
    Some(Wish::Symlink { path: path?, target: target? })
}

fn absent(decoder: &mut Decoder, field: &Field<'_>) -> Option<Wish> {
    let fields = decoder.fields(field, &ABSENT)?;
    let path = required(decoder, &fields, ("path", "a path that can go"), fields::removable);
    let recursive = flag(decoder, &fields, "recursive");
    Some(Wish::Absent { path: path?, recursive: recursive? })
}

fn line(decoder: &mut Decoder, field: &Field<'_>) -> Option<Wish> {
    let fields = decoder.fields(field, &LINE)?;
    let path = path(decoder, &fields);
    let line = required(decoder, &fields, ("line", "a line"), fields::one_line);
    let starts_with = optional(decoder, &fields, ("startsWith", "the beginning of a line"), fields::one_line);
    Some(Wish::Line { path: path?, line: line?, starts_with: starts_with? })
}

fn block(decoder: &mut Decoder, field: &Field<'_>) -> Option<Wish> {
    let fields = decoder.fields(field, &BLOCK)?;
    let path = path(decoder, &fields);
    let text = decoder.required(&fields, "text").and_then(|field| decoder.text(&field).map(str::to_owned));
    let text = text.map(|text| if text.is_empty() || text.ends_with('\n') { text } else { format!("{text}\n") });
    Some(Wish::Block { path: path?, text: text? })
}

fn sysctl(decoder: &mut Decoder, field: &Field<'_>) -> Option<Wish> {
    let fields = decoder.fields(field, &SYSCTL)?;
    let name = required(decoder, &fields, ("name", "the name of a kernel parameter"), fields::sysctl);
    let value = decoder.required(&fields, "value").and_then(|field| match &field.node.value {
        Value::Integer(value) => {
            decoder.place(&field);
            Some(value.to_string())
        }
        _ => checked(decoder, &field, fields::one_line, "the value of a kernel parameter"),
    });
    let value = value.map(|value| value.split_ascii_whitespace().collect::<Vec<_>>().join(" "));
    Some(Wish::Sysctl { name: name?, value: value? })
}

fn kernel_module(decoder: &mut Decoder, field: &Field<'_>) -> Option<Wish> {
    let fields = decoder.fields(field, &KERNEL_MODULE)?;
    Some(Wish::KernelModule { name: required(decoder, &fields, ("name", "the name of a kernel module"), fields::module)? })
}

fn package(decoder: &mut Decoder, field: &Field<'_>) -> Option<Wish> {
    let fields = decoder.fields(field, &PACKAGE)?;
    let field = decoder.required(&fields, "names")?;
    let names = decoder.list(&field, "it is a list of names of packages")?;
    if names.is_empty() {
        let problem = Problem::new("`names` has no package").at(field.position()).because("nothing would be installed");
        decoder.report(problem.hint("write the names of packages, or leave the entry out"));
        return None;
    }
    let checked = |field: &Field<'_>| checked(decoder, field, fields::package, "the name of a package");
    let read: Vec<Option<String>> = names.iter().map(checked).collect();
    Some(Wish::Package { names: read.into_iter().collect::<Option<_>>()? })
}

fn id(decoder: &mut Decoder, fields: &Fields<'_>, name: &str) -> Option<Option<u32>> {
    let Some(field) = fields.get(name) else { return Some(None) };
    decoder.integer(&field, 0..=MOST_ID).and_then(|id| u32::try_from(id).ok()).map(Some)
}

fn user(decoder: &mut Decoder, field: &Field<'_>) -> Option<Wish> {
    let fields = decoder.fields(field, &USER)?;
    let name = required(decoder, &fields, ("name", "the name of a user"), fields::account);
    let uid = id(decoder, &fields, "uid");
    let group = optional(decoder, &fields, ("group", "the name of a group"), fields::account);
    let items = fields.get("groups").map(|field| decoder.list(&field, "it is a list of groups").unwrap_or_default()).unwrap_or_default();
    let groups = items.iter().map(|item| checked(decoder, item, fields::account, "the name of a group")).collect::<Vec<_>>();
    let home = optional(decoder, &fields, ("home", "a path on a host"), fields::host_path);
    let shell = optional(decoder, &fields, ("shell", "a path on a host"), fields::host_path);
    let comment = optional(decoder, &fields, ("comment", "a comment"), fields::comment);
    let system = flag(decoder, &fields, "system");
    let groups = groups.into_iter().collect::<Option<_>>()?;
    Some(Wish::User(Account {
        name: name?,
        uid: uid?,
        group: group?,
        groups,
        home: home?,
        shell: shell?,
        comment: comment?,
        system: system?,
    }))
}

fn group(decoder: &mut Decoder, field: &Field<'_>) -> Option<Wish> {
    let fields = decoder.fields(field, &GROUP)?;
    let name = required(decoder, &fields, ("name", "the name of a group"), fields::account);
    let (gid, system) = (id(decoder, &fields, "gid"), flag(decoder, &fields, "system"));
    Some(Wish::Group { name: name?, gid: gid?, system: system? })
}

fn authorized_key(decoder: &mut Decoder, field: &Field<'_>) -> Option<Wish> {
    let fields = decoder.fields(field, &AUTHORIZED_KEY)?;
    let user = required(decoder, &fields, ("user", "the name of a user"), name::user);
    let key = required(decoder, &fields, ("key", "a line of `authorized_keys`"), fields::key);
    Some(Wish::AuthorizedKey { user: user?, key: key? })
}

/// Whether it runs. Ansible's word for that is nearest to the opposite here.
fn state(decoder: &mut Decoder, field: &Field<'_>) -> Option<bool> {
    if !["started", "restarted", "reloaded"].iter().any(|word| field.is_text(word)) {
        return decoder.choice(field, &STATES);
    }
    let problem = Problem::new("`state` says what is done, and not what is to be").at(field.position());
    let problem = problem.because("it is one of running, stopped");
    decoder.report(problem.hint("write `state: running`; what is a reason to start it again stands in `restartOn`"));
    None
}

fn unit(decoder: &mut Decoder, field: &Field<'_>) -> Option<Wish> {
    let fields = decoder.fields(field, &UNIT)?;
    let name = required(decoder, &fields, ("name", "the name of a unit"), fields::unit);
    let running = fields.get("state").map_or(Some(None), |field| state(decoder, &field).map(Some));
    let enabled = fields.get("enabled").map_or(Some(None), |field| decoder.boolean(&field).map(Some));
    let before = decoder.count();
    let restart_on = fields.get("restartOn").map(|field| decoder.texts(&field, "it is a list of names of entries, and of paths"));
    let restart_on: Vec<String> = restart_on.unwrap_or_default().into_iter().map(|(word, _)| word.to_owned()).collect();
    if decoder.count() == before && running == Some(None) && enabled == Some(None) && restart_on.is_empty() {
        let problem = Problem::new("nothing says what is to be with the unit").at(fields.position());
        let problem = problem.because("it has a `state`, `enabled`, or `restartOn`");
        decoder.report(problem.hint("write what is meant, for example `state: running` and `enabled: true`"));
        return None;
    }
    Some(Wish::Unit { name: name?, running: running?, enabled: enabled?, restart_on })
}
