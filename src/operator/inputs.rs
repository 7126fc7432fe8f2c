//! What an operation is done by: its Cluster, and what that and the operation name, as it was when the operation began.

mod documents;
mod files;
mod gather;
mod login;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use kok_crds::model::Cluster;
use kok_crds::operation::{Effect, Invocation, Operation, Verb};
use kok_crds::{File, Input, Intent, Role, read_input};
use kok_tasks::support::redacted;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::io::{Read as _, Write as _};
use std::path::Path;
use zeroize::Zeroizing;

use super::object::Reference;
use crate::failure::{Failure, Kind};
use crate::inputs;
pub(super) use files::ObjectFiles;
pub(super) use gather::{Unready, gather, key, named_files};

/// More than an inventory and its variables have, and less than an object of Kubernetes may have: a Secret of 1 MiB is the most.
const MOST_BYTES: usize = 512 << 10;
/// What is unpacked of it at the most.
const MOST_UNPACKED: u64 = 16 << 20;

/// A text of a ConfigMap.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HeldText {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) key: String,
    pub(super) text: String,
}

/// What an operation is done by. The private key is not in it: that is read each time.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Snapshot {
    /// The Cluster without its status.
    pub(super) cluster: Value,
    /// Its generation.
    pub(super) generation: i64,
    /// The texts that it and the operation name.
    pub(super) texts: Vec<HeldText>,
    /// What stands for the files that the Cluster names; nothing in what a version before this one has kept.
    #[serde(default)]
    pub(super) files: String,
    /// What stands for the versions of everything that the Cluster names; nothing in what a version before this one has kept.
    #[serde(default)]
    pub(super) versions: String,
    /// The id of a cluster that has none yet.
    pub(super) new_cluster_id: String,
    /// The public half of the run's token.
    pub(super) token_id: String,
}

impl Snapshot {
    /// As it is stored.
    ///
    /// # Errors
    /// [`Failure`] if it is too long.
    pub(super) fn packed(&self) -> Result<Vec<u8>, Failure> {
        let defect = |error: String| Failure::new(Kind::Internal, "the operation's inputs can't be stored").because(error);
        let text = serde_json::to_vec(self).map_err(|error| defect(error.to_string()))?;
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        let bytes = encoder.write_all(&text).and_then(|()| encoder.finish()).map_err(|error| defect(error.to_string()))?;
        if bytes.len() > MOST_BYTES {
            let failure = Failure::new(Kind::Input, "the inventory and its variables are too long");
            let failure = failure.because(format!("packed they have {} bytes, and {MOST_BYTES} are the most", bytes.len()));
            return Err(failure.hint("keep what is large elsewhere: files under `spec.operator.filesRef`, or a bundle of your own"));
        }
        Ok(bytes)
    }

    /// With what stands for the files that its Cluster names.
    pub(super) fn with_files(self, files: &ObjectFiles) -> Self {
        Self { files: files.digest(), ..self }
    }

    /// With what is random of another one of the same operation.
    pub(super) fn with_ids_of(self, before: &Self) -> Self {
        Self { new_cluster_id: before.new_cluster_id.clone(), token_id: before.token_id.clone(), ..self }
    }

    /// Whether it began with these files. One that was kept by a version before this one does not know.
    pub(super) fn is_of(&self, files: &ObjectFiles) -> bool {
        self.files.is_empty() || self.files == files.digest()
    }

    /// What was stored.
    ///
    /// # Errors
    /// [`Failure`] if it is something else.
    pub(super) fn unpacked(bytes: &[u8]) -> Result<Self, Failure> {
        let mut text = Vec::new();
        let read = GzDecoder::new(bytes).take(MOST_UNPACKED).read_to_end(&mut text).map_err(|error| error.to_string());
        let found = read.and_then(|_| serde_json::from_slice(&text).map_err(|error| error.to_string()));
        found.map_err(|because| {
            let failure = Failure::new(Kind::Input, "what was stored of the operation's inputs can't be read").because(because);
            failure.hint("delete the operation, and make another one: it looks at the hosts anew, and goes on")
        })
    }
}

/// A private key of a Secret.
pub(super) struct Key {
    pub(super) reference: Reference,
    pub(super) bytes: Vec<u8>,
    pub(super) resource_version: String,
}

/// One thing that an operation does, with what it is done by.
pub(super) struct OperationTask {
    pub(super) verb: Verb,
    /// Its place among the hooks and the action of the operation.
    pub(super) place: usize,
    /// Whether it is the action, and no hook.
    pub(super) is_main: bool,
    pub(super) input: Input,
    pub(super) cluster: Cluster,
    /// What the files say of the cluster, without what looks like a secret.
    pub(super) description: String,
    /// What opens the backup that is restored, if the operation names it.
    pub(super) identity: Option<Zeroizing<Vec<u8>>>,
}

/// Where everything stands that tasks are read of.
#[derive(Clone, Copy)]
pub(super) struct Sources<'a> {
    pub(super) snapshot: &'a Snapshot,
    /// The operation as the API has it.
    pub(super) operation: &'a Value,
    pub(super) key: Option<&'a Key>,
    pub(super) files: &'a ObjectFiles,
    /// The file of host keys.
    pub(super) known_hosts: &'a Path,
}

/// Everything that an operation does, in its order.
///
/// # Errors
/// Everything that is wrong with it.
pub(super) fn tasks(sources: Sources<'_>) -> Result<Vec<OperationTask>, Vec<Failure>> {
    let whole = read(sources, sources.operation, None)?;
    let Some(operation) = whole.operations.first() else {
        return Err(vec![Failure::new(Kind::Internal, "the operation was not read")]);
    };
    let leaving = whole.removed_by_operation();
    let verbs: Vec<(usize, Verb)> = operation.invocations().enumerate().filter_map(|(place, it)| Some((place, runs(it)?))).collect();
    verbs.into_iter().map(|(place, verb)| task(sources, operation, (place, verb), &leaving)).collect()
}

fn runs(invocation: &Invocation) -> Option<Verb> {
    if let Effect::Runs(verb) = invocation.action.effect { Some(verb) } else { None }
}

/// The task of the invocation at this place of an operation. Others of the same operation don't count for it, but for those that only set variables; and what only looks may do so
/// where the operation takes out hosts of which there is one too many.
fn task(
    sources: Sources<'_>,
    operation: &Operation,
    (place, verb): (usize, Verb),
    leaving: &[String],
) -> Result<OperationTask, Vec<Failure>> {
    let alone = alone(sources.operation, operation, place);
    let input = read(sources, &alone, verb.only_looks().then_some(leaving))?;
    let leaving = input.replaced_by_another();
    let input = inputs::load(input.without(&leaving), sources.files);
    let Some(mut cluster) = input.cluster.clone() else { return Err(documents::failures(input.problems, sources, &alone)) };
    let key = sources.key.map(|key| key.bytes.as_slice());
    login::prepare(&mut cluster, key, sources.files, sources.known_hosts).map_err(|failure| vec![failure])?;
    let as_given = || serde_json::to_string_pretty(&sources.snapshot.cluster).unwrap_or_default() + "\n";
    let description = redacted(&input.inline_file().unwrap_or_else(as_given));
    let identity = identity(&input, verb, sources.files).map_err(|failure| vec![failure])?;
    Ok(OperationTask { verb, place, is_main: place == operation.pre_hooks.len(), input, cluster, description, identity })
}

/// What opens the backup that is restored. What else is wrong with the operation is said when it is carried out.
fn identity(input: &Input, verb: Verb, files: &ObjectFiles) -> Result<Option<Zeroizing<Vec<u8>>>, Failure> {
    let asked = input.asked(Intent { verb, dry: false }, &[]).unwrap_or_default();
    let Some(named) = asked.restore.and_then(|restore| restore.identity) else { return Ok(None) };
    let missing = || {
        let failure = Failure::new(Kind::Input, "the private key of the backup is not there").at("-e identity");
        let failure = failure.because(format!("the Secret of `spec.operator.secretFilesRef` has no key `{}`", named.text.escape_debug()));
        failure.hint("put the file that `age-keygen -o FILE` has written into that Secret, and name its key")
    };
    files.get(&named.text).map(|bytes| Some(Zeroizing::new(bytes.to_vec()))).ok_or_else(missing)
}

/// The operation as one that is only about the invocation at this place.
fn alone(given: &Value, operation: &Operation, place: usize) -> Value {
    let mut given = given.clone();
    let Some(spec) = given.get_mut("spec").and_then(Value::as_object_mut) else { return given };
    let hooks = |spec: &Map<String, Value>, name: &str| spec.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let (before, after) = (hooks(spec, "preHook"), hooks(spec, "postHook"));
    const FIELDS: [&str; 5] = ["actionType", "action", "actionSource", "actionSourceRef", "extraArgs"];
    let main = FIELDS.iter().filter_map(|name| Some(((*name).to_owned(), spec.get(*name)?.clone()))).collect();
    let all: Vec<Value> = before.into_iter().chain([Value::Object(main)]).chain(after).collect();
    let only_set: Vec<bool> = operation.invocations().map(|it| runs(it).is_none()).collect();
    FIELDS.iter().for_each(|name| drop(spec.remove(*name)));
    if let Some(Value::Object(meant)) = all.get(place) {
        spec.extend(meant.clone());
    }
    let covered = all.iter().zip(only_set).enumerate().filter(|(at, (_, only_sets))| *only_sets && *at != place);
    spec.insert("preHook".to_owned(), covered.map(|(_, (hook, _))| hook.clone()).collect());
    spec.remove("postHook");
    given
}

/// Reads the Cluster with one operation. One that takes a host out may mend what is wrong with it, the number of etcd's members.
fn read(sources: Sources<'_>, operation: &Value, leaving: Option<&[String]>) -> Result<Input, Vec<Failure>> {
    let files = documents::files(sources, operation);
    let input = read_input(&files);
    let leaving = leaving.map_or_else(|| input.removed_by_operation(), <[String]>::to_vec);
    let input = input.even_without(&leaving);
    if input.problems.is_empty() { Ok(input) } else { Err(documents::failures(input.problems, sources, operation)) }
}

/// An object as it is read: with its name, and without its status, which may say that it has ended.
pub(super) fn document(api_version: &str, kind: &str, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec})
}

fn file(name: String, text: String) -> File {
    File { name, text, role: Role::Main { cluster: None } }
}

#[cfg(test)]
mod tests;
