//! References to ConfigMaps and Secrets, and what they lead to.

use super::data_object::{DataObject, DataObjects, ObjectValue};
use super::document::ObjectKind;
use super::{Inputs, SshKey, private_key};
use crate::decode::{Decoder, Field, Fields, Form};
use crate::tree::Value;
use crate::words::{quote, with_nearest};
use crate::{Notice, Place, Position, Problem, Secret, Source, not_text};

/// A reference, as the fields of both groups have it.
pub(crate) const DATA_REF: Form = Form { what: "a reference", fields: &["namespace", "name"], refused: &[] };

/// Keys under which kube-on-kube and kubean expect inventory, variables and key: they are mounted as files of these names.
const HOSTS_KEY: &str = "hosts.yml";
const VARS_KEY: &str = "group_vars.yml";
const SSH_KEY: &str = "ssh-privatekey";

/// Types of a Secret that can hold a key for SSH. Copies that operators make of the first type lose it and become the second.
const SSH_TYPES: [&str; 2] = ["kubernetes.io/ssh-auth", "Opaque"];

/// A reference that is not empty.
pub(super) struct DataRef {
    pub(super) name: String,
    pub(super) namespace: Option<String>,
    pub(super) position: Position,
}

/// A field that is a reference; one without a name counts as absent, as in the operators.
pub(super) fn read(fields: &Fields<'_>, name: &str, decoder: &mut Decoder) -> Option<DataRef> {
    read_field(&fields.get(name)?, decoder)
}

/// The private key that a reference leads to.
pub(super) fn key(field: &Field<'_>, data_objects: &DataObjects<'_>, decoder: &mut Decoder) -> Option<SshKey> {
    let reference = read_field(field, decoder)?;
    ssh_key(&reference, data_objects, decoder)
}

fn read_field(field: &Field<'_>, decoder: &mut Decoder) -> Option<DataRef> {
    let fields = decoder.fields_but(field, &DATA_REF, &["name", "namespace"])?;
    let mut text = |name: &str| {
        let field = fields.get(name)?;
        let text = decoder.text(&field)?;
        (!text.is_empty()).then(|| (text.to_owned(), field.position().clone()))
    };
    let namespace = text("namespace").map(|(text, _)| text);
    let (name, position) = text("name")?;
    Some(DataRef { name, namespace, position })
}

/// What the three references of a Cluster lead to. Every one that leads nowhere is a problem.
pub(super) fn inputs(fields: &Fields<'_>, data_objects: &DataObjects<'_>, decoder: &mut Decoder) -> Inputs {
    let hosts = read(fields, "hostsConfRef", decoder).and_then(|reference| source(&reference, HOSTS_KEY, data_objects, decoder));
    let vars_ref = read(fields, "varsConfRef", decoder);
    let vars = vars_ref.as_ref().and_then(|reference| source(reference, VARS_KEY, data_objects, decoder));
    let incomplete = (vars_ref.is_some() && vars.is_none()) || fields.is_misspelled("varsConfRef");
    let ssh_key = read(fields, "sshAuthRef", decoder).and_then(|reference| ssh_key(&reference, data_objects, decoder));
    Inputs { hosts, vars, ssh_key, incomplete }
}

/// As [`inputs`] for an operation, whose references may be to copies that the operator made: where an object is not there, the cluster's
/// own is taken.
pub(super) fn inputs_that_are_there(fields: &Fields<'_>, data_objects: &DataObjects<'_>, decoder: &mut Decoder) -> Inputs {
    let mut there = |name: &str, kind: ObjectKind| {
        let reference = read(fields, name, decoder)?;
        if !data_objects.meant(kind, &reference).is_empty() {
            return Some(reference);
        }
        let notice = Notice::new(format!("`{name}` of the operation is not used")).at(&reference.position);
        decoder.note(notice.because(format!("the files hold no {} {}; the Cluster's own is taken", kind.word(), quote(&reference.name))));
        None
    };
    let hosts = there("hostsConfRef", ObjectKind::ConfigMap);
    let vars = there("varsConfRef", ObjectKind::ConfigMap);
    let key = there("sshAuthRef", ObjectKind::Secret);
    let hosts = hosts.and_then(|reference| source(&reference, HOSTS_KEY, data_objects, decoder));
    let found = vars.as_ref().and_then(|reference| source(reference, VARS_KEY, data_objects, decoder));
    Inputs {
        hosts,
        incomplete: (vars.is_some() && found.is_none()) || fields.is_misspelled("varsConfRef"),
        vars: found,
        ssh_key: key.and_then(|reference| ssh_key(&reference, data_objects, decoder)),
    }
}

fn source(reference: &DataRef, key: &str, data_objects: &DataObjects<'_>, decoder: &mut Decoder) -> Option<Source> {
    let data_object = find(ObjectKind::ConfigMap, reference, data_objects, decoder)?;
    let held = value(data_object, key, reference, decoder)?;
    let bytes = held.bytes(key, decoder)?;
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let (because, hint) = not_text(error.as_bytes());
            let problem = Problem::new(format!("{} is not in UTF-8", quote(key))).at(&held.node.position);
            decoder.report(problem.because(because).hint(hint));
            return None;
        }
    };
    let place = if held.encoded { Place::At(held.node.position.clone()) } else { data_object.lines.place(&held.node.position, &text) };
    // What stands in an object that was encrypted is encrypted, too.
    Some(Source::placed(key, text, place).sealed(held.node.tag.is_secret()))
}

fn ssh_key(reference: &DataRef, data_objects: &DataObjects<'_>, decoder: &mut Decoder) -> Option<SshKey> {
    let data_object = find(ObjectKind::Secret, reference, data_objects, decoder)?;
    if let Some(field) = &data_object.secret_type
        && let Some(text) = decoder.text(field)
        && !SSH_TYPES.contains(&text)
    {
        let problem = Problem::new(format!("{} has the type {}", data_object.title(), quote(text))).at(field.position());
        decoder.report(
            problem
                .because(format!("`sshAuthRef` names a Secret of the type {}", SSH_TYPES.join(" or ")))
                .hint("write one of these types, with the key as `ssh-privatekey`"),
        );
        return None;
    }
    let held = value(data_object, SSH_KEY, reference, decoder)?;
    let bytes = held.bytes(SSH_KEY, decoder)?;
    if let Some((because, hint)) = private_key::wrong(&bytes) {
        let problem = Problem::new(format!("{} is no private key", quote(SSH_KEY))).at(&held.node.position);
        decoder.report(problem.because(because).hint(hint));
        return None;
    }
    Some(SshKey { key: Secret::new(bytes), position: held.node.position.clone() })
}

/// The only object that a reference means.
fn find<'h, 'd>(
    kind: ObjectKind,
    reference: &DataRef,
    data_objects: &'h DataObjects<'d>,
    decoder: &mut Decoder,
) -> Option<&'h DataObject<'d>> {
    let meant = data_objects.meant(kind, reference);
    for data_object in &meant {
        data_object.used.set(true);
    }
    match meant.as_slice() {
        [only] => Some(only),
        [] => {
            decoder.report(missing(kind, reference, data_objects));
            None
        }
        // Two of one name and namespace are a problem of their own.
        [first, second, ..] if first.namespace == second.namespace => None,
        [first, second, ..] => {
            let problem = Problem::new(format!("{} may be one of several objects", quote(&reference.name))).at(&reference.position);
            let because = format!("there are {} and {}", first.title(), second.title());
            decoder.report(problem.because(because).hint("say the `namespace`, in the reference and in the objects"));
            None
        }
    }
}

fn missing(kind: ObjectKind, reference: &DataRef, data_objects: &DataObjects<'_>) -> Problem {
    let word = kind.word();
    let wanted = match &reference.namespace {
        Some(namespace) => format!("{} of namespace {}", quote(&reference.name), quote(namespace)),
        None => quote(&reference.name),
    };
    let problem = Problem::new(format!("there is no {word} {wanted}")).at(&reference.position);
    if let Some(other) = data_objects.0.iter().find(|data_object| data_object.name == reference.name) {
        return problem.because(format!("there is {}", other.title())).hint("make reference and object agree");
    }
    let names: Vec<&str> =
        data_objects.0.iter().filter(|data_object| data_object.kind == kind).map(|data_object| data_object.name.as_str()).collect();
    if names.is_empty() {
        let namespace = reference.namespace.as_ref().map(|namespace| format!(" -n {namespace}")).unwrap_or_default();
        let kubectl = format!("kubectl get {}{namespace} {} -o yaml", word.to_lowercase(), reference.name);
        let problem = problem.because(format!("the files hold no {word}"));
        return problem.hint(format!("give the file that holds it too; `{kubectl}` prints one that is in a cluster"));
    }
    with_nearest(
        problem.because(format!("the files hold {}", names.join(", "))),
        &reference.name,
        &names,
        "give the file that holds it too, or name one of these",
    )
}

fn value<'h>(data_object: &'h DataObject<'_>, key: &str, reference: &DataRef, decoder: &mut Decoder) -> Option<&'h ObjectValue<'h>> {
    if let Some(held) = data_object.value(key) {
        if !matches!(held.node.value, Value::Null) {
            return Some(held);
        }
        decoder.report(
            Problem::new(format!("{} of {} is empty", quote(key), data_object.title()))
                .at(&held.node.position)
                .because("what it should hold is read from there")
                .hint("write the text there, as `key: |` with the text below it"),
        );
        return None;
    }
    let keys: Vec<&str> = data_object.values.iter().map(|held| held.key).collect();
    let problem = Problem::new(format!("{} has no key {}", data_object.title(), quote(key))).at(&reference.position);
    let problem = match keys.as_slice() {
        [] => problem.because("it holds nothing"),
        _ => problem.because(format!("it has {}", keys.iter().map(|key| quote(key)).collect::<Vec<_>>().join(", "))),
    };
    decoder.report(problem.hint(format!("name the key {}, at {}", quote(key), data_object.position)));
    None
}

/// The text of a field, with the place of each of its characters.
pub(super) fn source_of(field: &Field<'_>, text: &str, lines: &super::place::Lines<'_>) -> Source {
    Source::placed(field.name(), text, lines.place(field.position(), text))
}
