//! Everything that a user gives, read as one: manifests, or an inventory with its variables, and variables of the command line.

mod asked;
mod conceal;
mod described;
mod extra;
mod file;
mod hooks;
mod listed;
mod locked;
mod named_hosts;
mod naming;
mod once;
mod otherwise;
mod partly;
mod pending;
mod refused;
mod remarks;
mod restoring;
mod sealed;
mod some_or_all;
mod without;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::convert::inline_file;
use crate::machines::Machines;
use crate::message::Kind;
use crate::model::{Cluster, Concealed};
use crate::objects::{ClusterForm, Objects, read_partly};
use crate::operation::Operation;
use crate::resolve::Resolved;
use crate::tree::Node;
use crate::variables::Given;
use crate::vault::{NoVault, Vault, open_all};
use crate::{Notice, Position, Problem, Source};
use described::{Extra, by_reference, described, inline};
use file::is_manifest;
use hooks::Hooks;
use otherwise::Defaults;

pub use asked::{Asked, Intent};
pub use file::{File, Role};
pub use restoring::AskedRestore;

/// A file with its text, decrypted if it was encrypted as a whole and can be.
struct Text<'f> {
    file: &'f File,
    source: Source,
}

impl<'f> Text<'f> {
    fn all(files: &'f [File], vault: &dyn Vault) -> Vec<Self> {
        let source = |file: &File| Source::file(file.name.as_str(), file.text.as_str());
        let mut texts: Vec<Self> = files.iter().map(|file| Self { file, source: source(file) }).collect();
        // What stands in an option is one variable or some, which are opened as such.
        let sources = texts.iter_mut().filter(|text| text.file.role != Role::Extra).map(|text| &mut text.source);
        open_sources(sources, vault);
        texts
    }
}

/// Decrypts those of the texts that are encrypted as a whole.
fn open_sources<'s>(sources: impl Iterator<Item = &'s mut Source>, vault: &dyn Vault) {
    let sources: Vec<&mut Source> = sources.filter(|source| source.encrypted().is_some()).collect();
    let opened = open_all(vault, sources.iter().filter_map(|source| source.encrypted()));
    sources.into_iter().for_each(|source| source.unseal(&opened));
}

/// What a user's files say, right or wrong.
#[derive(Default)]
pub struct Input {
    /// The cluster, if nothing is wrong.
    pub cluster: Option<Cluster>,
    /// The same if nothing is wrong but that etcd has an even number of members.
    uneven: Option<Cluster>,
    /// What is to be done, if the files say it.
    pub operations: Vec<Operation>,
    /// Every variable that somebody set, and what becomes of it.
    pub variables: Vec<Given>,
    /// What the user should know.
    pub notices: Vec<Notice>,
    /// Everything that is wrong, in the order of the files.
    pub problems: Vec<Problem>,
    /// The cluster in the inline form, if it was another one.
    inline: Option<Node>,
    /// The inventory, if there is one.
    resolved: Option<Resolved>,
    /// Where encrypted values stand that count for nothing.
    sealed: BTreeSet<Position>,
}

impl Input {
    /// Where the secrets stand that [`Input::inline_file`] lacks.
    #[must_use]
    pub fn secrets_left_out(&self) -> Vec<Position> {
        self.inline.as_ref().map(crate::convert::left_out).unwrap_or_default()
    }

    /// The cluster as one file in the inline form, with the place in a comment at each line; `None` if something is wrong, or if it was
    /// in that form already. Secrets are left out.
    #[must_use]
    pub fn inline_file(&self) -> Option<String> {
        let tree = self.inline.as_ref().filter(|_| self.cluster.is_some())?;
        let mut head = vec![
            "Made by `kokctl convert`. Behind each line stands where it came from; what stands in no file has nothing behind it."
                .to_owned(),
        ];
        if self.cluster.iter().flat_map(|cluster| &cluster.hosts).any(|host| host.ssh.private_key.is_some()) {
            head.push(
                "The private key is left out: write it into a file that only you can read, and name it as privateKeyFile under ssh."
                    .to_owned(),
            );
        }
        Some(inline_file(tree, &self.variables, &head))
    }

    /// Whether something counts that is encrypted, and nobody gave a password for it.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        self.problems.iter().any(Problem::is_locked)
    }

    fn wrong(problems: Vec<Problem>) -> Self {
        Self { problems, ..Self::default() }
    }
}

/// Reads everything that a user gives. The order of files means nothing, but for variables that win over each other. What is encrypted stays
/// closed.
#[must_use]
pub fn read_input(files: &[File]) -> Input {
    read_input_with(files, &NoVault)
}

/// The same, and opens what ansible-vault has encrypted: single values, and files as a whole.
#[must_use]
pub fn read_input_with(files: &[File], vault: &dyn Vault) -> Input {
    let texts = Text::all(files, vault);
    let mut input = of_texts(&texts, vault);
    let Input { problems, sealed, .. } = &mut input;
    let is_encrypted = |problem: &Problem| matches!(problem.kind, Kind::Encrypted | Kind::Locked);
    problems.retain(|problem| !is_encrypted(problem) || problem.position.as_ref().is_none_or(|at| !sealed.contains(at)));
    locked::leave_out(&mut input.problems);
    remarks::remark(&mut input);
    input.problems.sort_by(|a, b| a.position.cmp(&b.position));
    // What a template says of each host it says of all.
    input.problems.dedup_by(|a, b| a.position == b.position && a.message == b.message);
    input.notices.sort_by(|a, b| a.position.cmp(&b.position));
    input.notices.dedup();
    let is_uneven = input.problems.iter().all(|problem| problem.kind == Kind::Uneven);
    let cluster = if input.problems.is_empty() { None } else { input.cluster.take().filter(|_| is_uneven) };
    refused::refuse(&mut input);
    conceal::parts_of_secrets(&mut input);
    input.uneven = cluster;
    input
}

fn of_texts(texts: &[Text<'_>], vault: &dyn Vault) -> Input {
    let main = texts.iter().filter(|text| matches!(text.file.role, Role::Main { .. }));
    let (manifests, inventories): (Vec<&Text<'_>>, Vec<&Text<'_>>) = main.partition(|text| is_manifest(&text.source.text));
    // What a closed one is, nobody knows.
    let closed: Vec<Problem> = inventories.iter().filter_map(|text| text.source.closed()).collect();
    if let Some(list) = texts.iter().find(|text| matches!(text.file.role, Role::Machines { .. })) {
        return listed::of_list(list, (&manifests, &inventories), texts, vault);
    }
    match (manifests.as_slice(), inventories.as_slice()) {
        ([], [only]) => of_inventory(only, texts, vault),
        ([], []) => {
            Input::wrong(vec![Problem::new("there is no file with a cluster").hint("give the file of a Cluster, or an inventory, with -f")])
        }
        (_, []) => of_objects(&manifests, texts, vault, None),
        _ if !closed.is_empty() => Input::wrong(closed),
        ([], [_, second, ..]) => Input::wrong(vec![described_twice(&second.file.name, "there is another inventory")]),
        (_, [first, ..]) => Input::wrong(vec![described_twice(&first.file.name, "there is a manifest with objects too")]),
    }
}

fn described_twice(file: &str, because: &str) -> Problem {
    let position = Position { file: file.into(), line: 1, column: 1 };
    let problem = Problem::new("the cluster is described twice").at(&position).because(because);
    problem.hint("give manifests, or one inventory; an inventory can also be in a ConfigMap of the manifests")
}

fn beside(texts: &[Text<'_>]) -> Vec<Source> {
    texts.iter().filter(|text| text.file.role == Role::Beside).map(|text| text.source.clone()).collect()
}

fn of_inventory(Text { file, source }: &Text<'_>, texts: &[Text<'_>], vault: &dyn Vault) -> Input {
    let beside = beside(texts);
    let start = source.position(1, 1);
    let Role::Main { cluster } = &file.role else { return Input::default() };
    let mut notices = Vec::new();
    let name = naming::cluster_name(cluster.as_deref(), &start, &mut notices);
    let mut problems = Vec::new();
    let extra = extra::of_command_line(texts, &mut problems);
    let extra = Extra { incomplete: !problems.is_empty(), vars: extra };
    let mut input = described((source, &beside), (&name, &start), extra, Defaults::default(), vault);
    input.notices.extend(notices);
    input.problems.extend(problems);
    input
}

fn of_objects(manifests: &[&Text<'_>], all: &[Text<'_>], vault: &dyn Vault, machines: Option<&Machines>) -> Input {
    let texts: Vec<(&str, &str)> = manifests.iter().map(|text| (text.file.name.as_str(), text.source.text.as_str())).collect();
    let encrypted: Vec<&str> = manifests.iter().filter(|text| text.source.is_sealed()).map(|text| text.file.name.as_str()).collect();
    let (objects, problems, secrets) = read_partly(&texts, &encrypted, vault, machines);
    let mut input = of_read(objects, problems, all, vault);
    if let Some(cluster) = input.cluster.as_mut().filter(|cluster| cluster.concealed == Concealed::default()) {
        cluster.concealed = sealed::concealed(&secrets);
    }
    conceal::conceal(&mut input, &secrets);
    input
}

fn of_read(objects: Objects, mut problems: Vec<Problem>, all: &[Text<'_>], vault: &dyn Vault) -> Input {
    // A cluster that could not be read is there all the same.
    if objects.clusters.is_empty() && !problems.is_empty() {
        problems.extend(without_cluster(&objects));
        let variables = objects.unread;
        return Input { operations: objects.operations, variables, notices: objects.notices, ..Input::wrong(problems) };
    }
    let is_known = !problems.is_empty();
    let from_line = extra::of_command_line(all, &mut problems);
    let operation = pending::counting(&objects.operations);
    // Of several, the one that is to be changed is meant.
    let meant = operation.filter(|_| objects.clusters.len() > 1).map(|operation| operation.cluster.text.as_str());
    let mut input = match objects.cluster(meant) {
        Ok(cluster) => match &cluster.form {
            ClusterForm::Inline { cluster, variables } => {
                problems.extend(from_line.first().map(extra::inline_has_none));
                inline((**cluster).clone(), variables, operation)
            }
            ClusterForm::Referenced(inputs) => {
                let incomplete = objects.incomplete || inputs.incomplete;
                let name = (cluster.name.as_str(), &cluster.position);
                by_reference((operation, inputs), name, Extra { vars: from_line, incomplete }, is_known, vault)
            }
        },
        Err(problem) => Input::wrong(vec![without_cluster(&objects).unwrap_or(problem)]),
    };
    if let Some(Hooks { given, notices, problems: found }) = operation.map(Hooks::from_operation) {
        input.variables.extend(given);
        input.notices.extend(notices);
        problems.extend(found);
    }
    input.notices.extend(pending::notices(&objects.operations));
    input.variables.extend(objects.unread);
    input.notices.extend(objects.notices);
    input.operations = objects.operations;
    input.problems.extend(problems);
    input
}

/// That an operation comes without any cluster.
fn without_cluster(objects: &Objects) -> Option<Problem> {
    let operation = objects.lacks_cluster.as_ref()?;
    Some(objects.cluster(None).err()?.at(operation))
}

/// A name for messages.
fn file_name(name: &str) -> Arc<str> {
    name.into()
}
