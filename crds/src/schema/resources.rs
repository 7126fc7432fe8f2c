//! The schema of what is declared for the hosts themselves.

use serde_json::{Value, json};

use super::property::{Property, fields, integer, map, property, text, texts, word};
use crate::decode::Form;
use crate::read::resources::ENTRY;
use crate::read::resources::brought::{ARCHIVE, BINARY, CA_CERTIFICATE, MOST_STRIPPED, PRESENCE};
use crate::read::resources::kinds::{
    ABSENT, AUTHORIZED_KEY, BLOCK, DIRECTORY, FILE, GROUP, KERNEL_MODULE, LINE, MOST_ID, PACKAGE, STATES, SYMLINK, SYSCTL, UNIT, USER,
};
use crate::read::resources::mounts::{MOST_PASS, MOUNT, STATES as MOUNT_STATES};

/// More than a role of Ansible has tasks; each is a step on every host.
const MOST_ENTRIES: u32 = 1000;

const PATH: &str = "Absolute path on the host.";
const PATH_OF_FILE: &str = "Absolute path of the file; it is made if it is not there.";

/// The list.
pub(super) fn list() -> Property {
    let schema = json!({"type": "array", "items": entry(), "maxItems": MOST_ENTRIES});
    property("resources", "What is to be on the hosts besides: files, packages, units and others, each entry one of them.", schema)
}

/// Variables of templates.
pub(super) fn vars() -> Vec<Property> {
    let any = || json!({"type": "object"});
    let of_hosts = json!({"type": "object", "additionalProperties": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    vec![
        property("vars", "Variables for the templates under `resources`.", any()).with("x-kubernetes-preserve-unknown-fields", true),
        property("hostVars", "The same for single hosts, by their names; they win.", of_hosts),
    ]
}

fn form_schema(form: &Form, required: &[&str], properties: Vec<Property>) -> Value {
    map(&fields(form), required, properties)
}

fn flag(name: &'static str, about: &str) -> Property {
    property(name, about, json!({"type": "boolean"}))
}

/// Octal digits, in quotes or without.
fn mode() -> Property {
    property("mode", "Mode in octal digits, as `\"0644\"`.", json!({"x-kubernetes-int-or-string": true}))
}

fn rights() -> [Property; 3] {
    [
        mode(),
        text("owner", "Name or number of the user that has it; without it root."),
        text("group", "Name or number of its group; without it the owner's."),
    ]
}

fn entry() -> Value {
    let head = vec![
        text("name", "Name of the entry; without it its kind and what it is about, as `file:/etc/motd`.").with("maxLength", 63),
        texts("on", "Hosts that it is for: their names, their roles, or `all`; without it all."),
        texts("after", "Names of entries that come before it on the same host."),
    ];
    form_schema(
        &ENTRY,
        &[],
        head.into_iter()
            .chain(of_paths())
            .chain(of_lines())
            .chain(of_kernel())
            .chain(of_accounts())
            .chain(of_brought())
            .chain([mount()])
            .collect(),
    )
}

fn mount() -> Property {
    let properties = vec![
        text("path", "Absolute path of the folder that it is mounted at."),
        text("device", "What is mounted: `UUID=…`, `LABEL=…`, a path below /dev, `HOST:/PATH` of NFS, or a folder for a bind mount."),
        text("fstype", "Type of the file system; a bind mount needs none."),
        text("options", "Options with commas between; without them `defaults`."),
        integer("dump", "Whether dump saves it.", 0, 1),
        integer("pass", "When fsck looks at it; without it never.", 0, MOST_PASS),
        word("state", "What is wanted of it; without it `mounted`.", &MOUNT_STATES.map(|(word, _)| word)),
    ];
    property("mount", "What is mounted at a path.", form_schema(&MOUNT, &["path"], properties))
}

/// Where a file of any length comes from.
fn payload() -> [Property; 3] {
    [
        text("source", "Path of the file, as seen from the folder of this file."),
        text("url", "Where the user's machine fetches it."),
        text("sha256", "Its SHA-256; needed with `url`.").with("pattern", "^[0-9a-f]{64}$"),
    ]
}

fn of_brought() -> Vec<Property> {
    let binary = [text("path", PATH)].into_iter().chain(payload()).chain(rights()).collect();
    let [_, owner, group] = rights();
    let archive = [text("into", "Absolute path of the folder on the host that it is unpacked into.")].into_iter().chain(payload()).chain([
        integer("strip", "How many folders at the beginning of each path are left out.", 0, MOST_STRIPPED),
        text("creates", "A path that says by being there that all of it is."),
        owner,
        group,
    ]);
    let certificate = vec![
        text("name", "By which the trust store has it; without `kokctl-` at its beginning."),
        text("content", "The certificate of one authority, in PEM."),
        text("source", "Path of a file with it, as seen from the folder of this file."),
        word("state", "Whether the store is to have it; without it `present`.", &PRESENCE.map(|(word, _)| word)),
    ];
    vec![
        property("binary", "A file of any length, as a program is.", form_schema(&BINARY, &["path"], binary)),
        property("archive", "All of a tar, below a folder.", form_schema(&ARCHIVE, &["into"], archive.collect())),
        property(
            "caCertificate",
            "A certificate of an authority that programs trust.",
            form_schema(&CA_CERTIFICATE, &["name"], certificate),
        ),
    ]
}

fn of_paths() -> Vec<Property> {
    let file = vec![
        text("path", PATH),
        text("content", "What stands in it."),
        text("source", "Path of a file with what stands in it, as seen from the folder of this file."),
        text("template", "The same of a template, which each host's facts and variables fill."),
        flag("secret", "Whether nobody may see what stands in it."),
    ];
    let directory = [text("path", PATH)].into_iter().chain(rights()).collect();
    let link = vec![text("path", PATH), text("target", "Where the link leads.")];
    let absent = vec![text("path", PATH), flag("recursive", "Whether a folder goes with all that is in it.")];
    vec![
        property("file", "A file with all that stands in it.", form_schema(&FILE, &["path"], file.into_iter().chain(rights()).collect())),
        property("dir", "A folder.", form_schema(&DIRECTORY, &["path"], directory)),
        property("symlink", "A symbolic link.", form_schema(&SYMLINK, &["path", "target"], link)),
        property("absent", "A path at which nothing is to be.", form_schema(&ABSENT, &["path"], absent)),
    ]
}

fn of_lines() -> Vec<Property> {
    let line = vec![text("path", PATH_OF_FILE), text("line", "The line."), text("startsWith", "Other lines that begin so give way to it.")];
    let block = vec![text("path", PATH_OF_FILE), text("text", "The lines.")];
    vec![
        property("line", "A line of a file that others write.", form_schema(&LINE, &["path", "line"], line)),
        property("block", "Lines between two marks in a file that others write.", form_schema(&BLOCK, &["path", "text"], block)),
    ]
}

fn of_kernel() -> Vec<Property> {
    let sysctl = vec![text("name", "Its dotted name."), property("value", "Its value.", json!({"x-kubernetes-int-or-string": true}))];
    let unit = vec![
        text("name", "Its full name, as `nginx.service`."),
        word("state", "Whether it runs; left out, it stays as it is.", &STATES.map(|(word, _)| word)),
        flag("enabled", "Whether it starts with the host; left out, that stays as it is."),
        texts("restartOn", "Names of entries, and paths, whose change is a reason to start it again."),
    ];
    vec![
        property("sysctl", "A kernel parameter, now and after each start.", form_schema(&SYSCTL, &["name", "value"], sysctl)),
        property(
            "kernelModule",
            "A kernel module, now and after each start.",
            form_schema(&KERNEL_MODULE, &["name"], vec![text("name", "Its name.")]),
        ),
        property("unit", "A unit of systemd.", form_schema(&UNIT, &["name"], unit)),
    ]
}

fn of_accounts() -> Vec<Property> {
    let user = vec![
        text("name", "Its name."),
        integer("uid", "Its number.", 0, MOST_ID),
        text("group", "Name of its own group."),
        texts("groups", "Names of further groups that it is in."),
        text("home", "Its home."),
        text("shell", "Its login shell."),
        text("comment", "Its comment."),
        flag("system", "Whether it is one for programs."),
    ];
    let group =
        vec![text("name", "Its name."), integer("gid", "Its number.", 0, MOST_ID), flag("system", "Whether it is one for programs.")];
    let key = vec![text("user", "The user that may log in."), text("key", "A line of `authorized_keys`.")];
    vec![
        property("package", "Packages of the distribution.", form_schema(&PACKAGE, &["names"], vec![texts("names", "Their names.")])),
        property("user", "A user.", form_schema(&USER, &["name"], user)),
        property("group", "A group.", form_schema(&GROUP, &["name"], group)),
        property("authorizedKey", "A key by which a user may log in.", form_schema(&AUTHORIZED_KEY, &["user", "key"], key)),
    ]
}
