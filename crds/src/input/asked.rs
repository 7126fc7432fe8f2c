//! Which part an operation is about, and whether it is for the verb that runs.

use super::Input;
use super::pending::{counting, named, others, pending, verb, wrong_verb};
use super::restoring::AskedRestore;
use super::some_or_all::of_whole_cluster;
use crate::inventory::Inventory;
use crate::model::{Cluster, Host};
use crate::operation::{About, Arguments, Effect, ExtraVar, Operation, Placed, TaskChoice, Verb};
use crate::words::quote;
use crate::{Notice, Position, Problem};

/// What the operation that counts asks of a verb, besides its variables.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Asked {
    /// Its `--limit`, as it was written.
    pub limit: Option<Placed>,
    /// The hosts of the cluster that the limit names.
    pub hosts: Vec<String>,
    /// The tasks that its tags stand for.
    pub tasks: TaskChoice,
    /// Where the first of its tags stands.
    pub tags: Option<Position>,
    /// Whether nothing is to be changed.
    pub check: bool,
    /// Of operations that don't count beside it.
    pub others: Vec<Notice>,
    /// Where an operation stands that asks for a reset or a removal: whoever wrote it has agreed.
    pub agreed_at: Option<Position>,
    /// Whether hosts that are removed may be dead (Kubespray's `allow_ungraceful_removal`).
    pub may_be_dead: bool,
    /// Which host takes the place of the one that is replaced, if it is another one.
    pub with: Option<String>,
    /// The snapshot that etcd is recovered from (Kubespray's `etcd_snapshot`), as it was written.
    pub snapshot: Option<Placed>,
    /// What is restored, if that is.
    pub restore: Option<AskedRestore>,
}

/// What is about to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Intent {
    /// Its verb; that of a plan is [`Verb::Apply`].
    pub verb: Verb,
    /// Whether it only shows what would be done.
    pub dry: bool,
}

impl Input {
    /// The hosts of the cluster that a pattern names, as `--limit` takes it: names, groups, wildcards, `!` and `&`. `at` is its place.
    ///
    /// # Errors
    /// Everything that is wrong with the pattern; also that it names none of the cluster's hosts.
    pub fn hosts(&self, pattern: &str, at: &Position) -> Result<Vec<String>, Vec<Problem>> {
        let Some(cluster) = &self.cluster else { return Ok(Vec::new()) };
        let own;
        let inventory = match &self.resolved {
            Some(resolved) => resolved.inventory(),
            None => {
                own = inventory_of(cluster)?;
                &own
            }
        };
        let named = inventory.select(pattern, at)?;
        let hosts: Vec<String> = named.iter().filter(|name| cluster.host(name).is_some()).map(|name| (*name).to_owned()).collect();
        if hosts.is_empty() {
            let problem = Problem::new(format!("{} names no host of the cluster", quote(pattern))).at(at);
            return Err(vec![
                problem.because(format!("it names {}", named.join(", "))).hint("name hosts that have a role, or groups of them"),
            ]);
        }
        Ok(hosts)
    }

    /// What the files ask of a verb, out of the tasks that there are.
    ///
    /// # Errors
    /// That the files ask for another verb, and everything of their operation that the verb can't do.
    pub fn asked(&self, intent: Intent, tasks: &[&str]) -> Result<Asked, Vec<Problem>> {
        let pending = pending(&self.operations);
        let meant: Vec<&Operation> = pending.iter().copied().filter(|operation| verb(operation) == Some(intent.verb)).collect();
        let verb = intent.verb;
        match (meant.as_slice(), pending.first(), verb.about()) {
            ([], Some(other), About::Wish) => Err(vec![wrong_verb(other, verb)]),
            ([], ..) | (_, _, About::Looks | About::Answers) => Ok(Asked::default()),
            ([only], _, About::Wish) => self.of_operation(only, intent, tasks),
            (several, _, About::Wish) => several_apply(several),
            (several, _, About::NamedHosts) => self.of_named_hosts(verb, several),
            (several, _, About::SomeHosts) => self.of_some_hosts(verb, several),
            (several, _, About::Whole { because, part, .. }) => of_whole_cluster(verb, several, (because, part)),
            (several, _, About::Recovery) => self.of_recovery(several),
            (several, _, About::Restored) => self.of_restore(several),
            (resets, _, About::Down) => self.of_resets(resets),
        }
    }

    /// Adds what [`Self::asked`] finds wrong for the operation that counts.
    pub fn check_operations(&mut self, tasks: &[&str]) {
        let pending = pending(&self.operations);
        let applies = pending.iter().any(|operation| verb(operation) == Some(Verb::Apply));
        let verb = if applies { Some(Verb::Apply) } else { counting(&self.operations).and_then(verb) };
        // Without a cluster nobody knows its hosts.
        let Some(verb) = verb.filter(|_| self.cluster.is_some()) else { return };
        if let Err(problems) = self.asked(Intent { verb, dry: true }, tasks) {
            self.problems.extend(problems);
            self.cluster = None;
        }
    }

    /// Several that mean the whole cluster mean the same; hosts are named by one alone.
    fn of_resets(&self, resets: &[&Operation]) -> Result<Asked, Vec<Problem>> {
        let problems: Vec<Problem> = resets.iter().filter_map(|operation| not_by_reset(operation)).collect();
        if !problems.is_empty() {
            return Err(problems);
        }
        let agreed_at = resets.first().map(|operation| operation.position.clone());
        let mut limits = resets.iter().filter_map(|operation| operation.main.arguments.limit.as_ref());
        match (resets.len(), limits.next_back()) {
            (_, None) => Ok(Asked { agreed_at, ..Asked::default() }),
            (1, Some(limit)) => {
                let hosts = self.hosts(&limit.text, &limit.position)?;
                Ok(Asked { limit: Some(limit.clone()), hosts, agreed_at, ..Asked::default() })
            }
            (_, Some(limit)) => {
                let names: Vec<String> = resets.iter().map(|operation| named(operation)).collect();
                let problem = Problem::new("it is not said which operation counts").at(&limit.position);
                let problem = problem.because(format!("{} mean `kokctl reset`, and not of the same hosts", names.join(" and ")));
                Err(vec![problem.hint("give the file of one of them only, or write all into one")])
            }
        }
    }

    /// Hosts that are given up are named by `-e node=…`. Kubespray's `--limit etcd,kube_control_plane` means the same as none:
    /// all members take part.
    fn of_recovery(&self, operations: &[&Operation]) -> Result<Asked, Vec<Problem>> {
        let operation = only(Verb::Recover, operations)?;
        let arguments = &operation.main.arguments;
        if let Some(problem) = not_by_named(operation, Verb::Recover) {
            return Err(vec![problem]);
        }
        let node = arguments.node();
        let hosts = node.as_ref().map(|node| self.hosts(&node.text, &node.position)).transpose()?.unwrap_or_default();
        let snapshot = arguments.variable("etcd_snapshot");
        let snapshot = snapshot.and_then(|is| Some(Placed { text: is.text()?.to_owned(), position: is.position.clone() }));
        Ok(Asked { hosts, snapshot, agreed_at: Some(operation.position.clone()), ..Asked::default() })
    }

    fn of_operation(&self, operation: &Operation, intent: Intent, tasks: &[&str]) -> Result<Asked, Vec<Problem>> {
        let arguments = &operation.main.arguments;
        let mut problems: Vec<Problem> = resets_in_between(operation).collect();
        if arguments.check && !intent.dry {
            problems.push(
                Problem::new(format!("{} changes nothing", named(operation)))
                    .at(&operation.main.position)
                    .because("its `extraArgs` have `--check`")
                    .hint("type `kokctl plan -f …`; or leave `--check` out"),
            );
        }
        let mut asked = Asked {
            limit: arguments.limit.clone(),
            check: arguments.check,
            others: others(&self.operations, operation),
            ..Asked::default()
        };
        asked.tags = arguments.tags.first().or(arguments.skip_tags.first()).map(|tag| tag.position.clone());
        match arguments.limit.as_ref().map(|limit| self.hosts(&limit.text, &limit.position)) {
            Some(Ok(hosts)) => asked.hosts = hosts,
            Some(Err(found)) => problems.extend(found),
            None => {}
        }
        match arguments.tasks(tasks) {
            Ok(choice) => asked.tasks = choice,
            Err(found) => problems.extend(found),
        }
        if problems.is_empty() { Ok(asked) } else { Err(problems) }
    }
}

/// The groups of a Cluster in the inline form: those by which Kubespray calls its roles.
fn inventory_of(cluster: &Cluster) -> Result<Inventory, Vec<Problem>> {
    let names = |wanted: &dyn Fn(&Host) -> bool| -> Vec<&str> {
        cluster.hosts.iter().filter(|host| wanted(host)).map(|host| host.name.as_str()).collect()
    };
    let planes = names(&|host| host.roles.control_plane);
    let (etcd, workers) = (names(&|host| host.roles.etcd), names(&|host| host.roles.worker));
    let mut groups = vec![("kube_control_plane", planes), ("etcd", etcd), ("kube_node", workers)];
    if let Some(fleet) = &cluster.fleet {
        groups = vec![("ungrouped", names(&|_| true))];
        groups.extend(fleet.groups.iter().map(|(group, hosts)| (group.as_str(), hosts.iter().map(String::as_str).collect())));
    }
    Inventory::of_groups(&Position { file: "the cluster's hosts".into(), line: 1, column: 1 }, &groups)
}

/// A cluster that is to be taken down on the way can't be made by one `apply`.
fn resets_in_between(operation: &Operation) -> impl Iterator<Item = Problem> {
    let hooks = [(&operation.pre_hooks, "before"), (&operation.post_hooks, "afterwards")];
    hooks.into_iter().flat_map(|(hooks, when)| hooks.iter().map(move |hook| (hook, when))).filter_map(|(hook, when)| {
        let is_reset = hook.action.effect == Effect::Runs(Verb::Reset);
        is_reset.then(|| {
            Problem::new(format!("`kokctl apply` does not run the hook {}", quote(hook.action.name)))
                .at(&hook.position)
                .because("it takes the cluster down, which is a command of its own here")
                .hint(format!("leave the hook out, and type `kokctl reset -f …` {when}"))
        })
    })
}

/// A reset has no tasks of which some could be left out, and can't be tried.
fn not_by_reset(operation: &Operation) -> Option<Problem> {
    let Arguments { tags, skip_tags, check, .. } = &operation.main.arguments;
    let part = tags.first().or(skip_tags.first()).map(|part| &part.position);
    let at = part.or(check.then_some(&operation.main.position))?;
    let because = if part.is_some() {
        "its `extraArgs` choose a part of what is done, and `reset` does all of it"
    } else {
        "its `extraArgs` have `--check`, and `reset` would change the hosts"
    };
    Some(
        Problem::new(format!("{} cannot be done by `kokctl reset`", named(operation)))
            .at(at)
            .because(because)
            .hint("leave these arguments out; `--limit` names the hosts, if not all are meant"),
    )
}

/// The only operation for a verb that is done for one at a time.
pub(super) fn only<'a>(verb: Verb, operations: &[&'a Operation]) -> Result<&'a Operation, Vec<Problem>> {
    let [operation] = operations else {
        let names: Vec<String> = operations.iter().map(|operation| named(operation)).collect();
        let problem = Problem::new("it is not said which operation counts");
        let because = format!("{} mean `kokctl {}`, and have not ended", names.join(" and "), verb.as_str());
        return Err(vec![problem.because(because).hint("give the file of one of them only")]);
    };
    Ok(operation)
}

pub(super) fn is_yes(variable: &ExtraVar) -> bool {
    variable.boolean() == Some(true)
        || variable.text().is_some_and(|text| matches!(text.to_lowercase().as_str(), "yes" | "true" | "y" | "1" | "on"))
}

/// Such a verb has no tasks of which some could be left out, and can't be tried.
pub(super) fn not_by_named(operation: &Operation, verb: Verb) -> Option<Problem> {
    let Arguments { tags, skip_tags, check, .. } = &operation.main.arguments;
    let part = tags.first().or(skip_tags.first()).map(|part| &part.position);
    let at = part.or(check.then_some(&operation.main.position))?;
    let problem = Problem::new(format!("{} cannot be done by `kokctl {}`", named(operation), verb.as_str())).at(at);
    Some(problem.because("its `extraArgs` choose a part of what is done, or have `--check`").hint("leave these arguments out"))
}

/// Several that say nothing of their own mean the same.
fn several_apply(operations: &[&Operation]) -> Result<Asked, Vec<Problem>> {
    let says = |operation: &&Operation| {
        let loud = Arguments { verbosity: 0, diff: false, forks: None, ..operation.main.arguments.clone() };
        loud != Arguments::default() || operation.inputs != Default::default()
    };
    if !operations.iter().any(says) {
        return Ok(Asked::default());
    }
    let names: Vec<String> = operations.iter().map(|operation| named(operation)).collect();
    let last = operations.last().map(|operation| operation.position.clone());
    let problem = Problem::new("it is not said which operation counts");
    let problem = problem.because(format!("{} mean `kokctl apply`, and have not ended", names.join(" and ")));
    Err(vec![Problem { position: last, ..problem }.hint("give the file of one of them only, or write all into one")])
}
