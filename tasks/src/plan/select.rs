//! Choosing a part of a plan: tasks by name, hosts by pattern.

use std::collections::BTreeSet;

use kok_crds::model::Cluster;
use kok_crds::nearest;

use super::graph::{Action, Plan, Step};
use super::id::StepId;
use super::refusal::Refusal;
use crate::list::TASKS;
use crate::operations::Operation;

/// What somebody asks for, word by word.
#[derive(Debug, Clone, Copy, Default)]
pub struct Choice<'a> {
    /// Names of the only tasks that are wanted; all if there is none.
    pub only: &'a [String],
    /// Names of tasks that are not wanted.
    pub skip: &'a [String],
    /// Names of hosts, with `*` and `?`, and with a leading `!` for those that are not wanted; all if there is none.
    pub limit: &'a [String],
}

/// The part of a plan that is to be done: a step belongs to it if its task and its host do. The host of a step is the one that its name
/// begins with, also where the step is done on another one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    tasks: Option<BTreeSet<&'static str>>,
    hosts: Option<BTreeSet<String>>,
    away: BTreeSet<String>,
}

impl Selection {
    /// Everything.
    #[must_use]
    pub fn whole() -> Self {
        Self::default()
    }

    /// The part that is asked for.
    ///
    /// # Errors
    /// A [`Refusal`] for each word that names no task or no host, and one where nothing is left.
    pub fn new(choice: Choice<'_>, cluster: &Cluster) -> Result<Self, Vec<Refusal>> {
        let (tasks, mut refusals) = choose_tasks(choice);
        let hosts = choose_hosts(choice.limit, cluster);
        refusals.extend(hosts.as_ref().err().cloned().unwrap_or_default());
        match hosts {
            Ok(hosts) if refusals.is_empty() => Ok(Self { tasks, hosts, away: BTreeSet::new() }),
            _ => Err(refusals),
        }
    }

    /// The part that these names say, as [`Selection::tasks`] and [`Selection::hosts`] gave them.
    ///
    /// # Errors
    /// A [`Refusal`] for each name of no task, or of no host of the cluster.
    pub fn named(tasks: Option<&BTreeSet<String>>, hosts: Option<&BTreeSet<String>>, cluster: &Cluster) -> Result<Self, Vec<Refusal>> {
        let mut refusals = Vec::new();
        let mut found = BTreeSet::new();
        for word in tasks.into_iter().flatten() {
            match find_task(word) {
                Some(task) => drop(found.insert(task)),
                None => refusals.push(no_task("the saved plan", word)),
            }
        }
        let gone = hosts.into_iter().flatten().filter(|host| cluster.host(host).is_none());
        refusals.extend(gone.map(|host| {
            Refusal::new(format!("the cluster has no host `{}`", host.escape_debug()))
                .at("the saved plan")
                .because("the plan was made for a part of the cluster with this host in it")
                .hint("make the plan anew with `kokctl plan --save`")
        }));
        let selection = Self { tasks: tasks.map(|_| found), hosts: hosts.cloned(), away: BTreeSet::new() };
        if refusals.is_empty() { Ok(selection) } else { Err(refusals) }
    }

    /// The same, in which nobody waits for these hosts: they can't be reached, and what they need is done another time.
    #[must_use]
    pub fn without(self, away: &BTreeSet<String>) -> Self {
        Self { away: away.clone(), ..self }
    }

    /// Whether nobody waits for a host.
    pub(super) fn is_away(&self, host: &str) -> bool {
        self.away.contains(host)
    }

    /// Whether nothing is left out.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.tasks.is_none() && self.hosts.is_none()
    }

    /// The tasks that are wanted, in their order; `None` if all are.
    #[must_use]
    pub fn tasks(&self) -> Option<Vec<&'static str>> {
        let tasks = self.tasks.as_ref()?;
        Some(TASKS.iter().map(|task| task.name).filter(|name| tasks.contains(name)).collect())
    }

    /// The hosts that are wanted; `None` if all are.
    #[must_use]
    pub fn hosts(&self) -> Option<&BTreeSet<String>> {
        self.hosts.as_ref()
    }

    /// Whether a host is wanted.
    #[must_use]
    pub fn has_host(&self, host: &str) -> bool {
        self.hosts.as_ref().is_none_or(|hosts| hosts.contains(host))
    }

    /// The steps that remove what addons have no more, of those that are not wanted: whoever allows that more goes has to choose them.
    #[must_use]
    pub fn unpruned<'a>(&self, plan: &'a Plan) -> Vec<&'a StepId> {
        let removes = |step: &&Step| matches!(step.action, Action::Operation(Operation::ApplyAddon(_) | Operation::RemoveAddons(_)));
        plan.steps().filter(removes).filter(|step| !self.has(step)).map(|step| &step.id).collect()
    }

    pub(super) fn has_task(&self, task: &str) -> bool {
        self.tasks.as_ref().is_none_or(|tasks| tasks.contains(task))
    }

    pub(super) fn has(&self, step: &Step) -> bool {
        self.has_task(step.task) && self.has_host(step.id.host())
    }
}

fn choose_tasks(choice: Choice<'_>) -> (Option<BTreeSet<&'static str>>, Vec<Refusal>) {
    let mut refusals = Vec::new();
    let mut known = |option: &str, words: &[String]| -> BTreeSet<&'static str> {
        let found = words.iter().map(|word| find_task(word).ok_or_else(|| no_task(option, word)));
        found.filter_map(|result| result.map_err(|refusal| refusals.push(refusal)).ok()).collect()
    };
    let (only, skip) = (known("--only", choice.only), known("--skip", choice.skip));
    if choice.only.is_empty() && choice.skip.is_empty() {
        return (None, refusals);
    }
    let wanted = |name: &&str| (choice.only.is_empty() || only.contains(name)) && !skip.contains(name);
    let tasks: BTreeSet<&'static str> = TASKS.iter().map(|task| task.name).filter(wanted).collect();
    if tasks.is_empty() && refusals.is_empty() {
        refusals.push(Refusal::new("no task is left").at("--only and --skip").hint("leave out one of the two options"));
    }
    (Some(tasks), refusals)
}

fn find_task(word: &str) -> Option<&'static str> {
    TASKS.iter().map(|task| task.name).find(|name| *name == word)
}

fn no_task(option: &str, word: &str) -> Refusal {
    let names: Vec<&str> = TASKS.iter().map(|task| task.name).collect();
    let hint = match nearest(word, &names) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "give names of tasks, with commas between them".to_owned(),
    };
    Refusal::new(format!("there is no task `{}`", word.escape_debug()))
        .at(option)
        .because(format!("the tasks are {}", names.join(", ")))
        .hint(hint)
}

fn choose_hosts(limit: &[String], cluster: &Cluster) -> Result<Option<BTreeSet<String>>, Vec<Refusal>> {
    if limit.is_empty() {
        return Ok(None);
    }
    let all: Vec<&str> = cluster.hosts.iter().map(|host| host.name.as_str()).collect();
    let (unwanted, wanted): (Vec<&str>, Vec<&str>) = limit.iter().map(String::as_str).partition(|word| word.starts_with('!'));
    let found = |pattern: &str| all.iter().copied().filter(|host| matches(pattern, host)).collect::<BTreeSet<_>>();
    let patterns = wanted.iter().copied().chain(unwanted.iter().map(|word| word.trim_start_matches('!')));
    let unknown: Vec<Refusal> = patterns.filter(|pattern| found(pattern).is_empty()).map(|pattern| no_host(pattern, &all)).collect();
    if !unknown.is_empty() {
        return Err(unknown);
    }
    let mut hosts: BTreeSet<&str> =
        if wanted.is_empty() { all.iter().copied().collect() } else { wanted.iter().flat_map(|word| found(word)).collect() };
    for word in &unwanted {
        let found = found(word.trim_start_matches('!'));
        hosts.retain(|host| !found.contains(host));
    }
    if hosts.is_empty() {
        return Err(vec![Refusal::new("no host is left").at("--limit").hint("exclude fewer hosts")]);
    }
    Ok(Some(hosts.into_iter().map(str::to_owned).collect()))
}

fn no_host(pattern: &str, all: &[&str]) -> Refusal {
    // A cluster of hundreds is not listed.
    const MOST_NAMES: usize = 8;
    let mut names = all.iter().take(MOST_NAMES).copied().collect::<Vec<_>>().join(", ");
    if all.len() > MOST_NAMES {
        names.push_str(&format!(" and {} more", all.len() - MOST_NAMES));
    }
    let hint = match nearest(pattern, all) {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            "give names of hosts, with commas between them; `*` and `?` stand for any letters and one letter, `!` before a name excludes it"
                .to_owned()
        }
    };
    Refusal::new(format!("no host of the cluster is named `{}`", pattern.escape_debug()))
        .at("--limit")
        .because(format!("its hosts are {names}"))
        .hint(hint)
}

/// Whether a name is one of a pattern with `*` and `?`.
fn matches(pattern: &str, name: &str) -> bool {
    match (pattern.chars().next(), name.chars().next()) {
        (None, None) => true,
        (Some('*'), _) => {
            let rest = pattern.trim_start_matches('*');
            rest.is_empty() || name.char_indices().any(|(index, _)| name.get(index..).is_some_and(|tail| matches(rest, tail)))
        }
        (Some(wanted), Some(found)) if wanted == '?' || wanted == found => {
            matches(pattern.get(wanted.len_utf8()..).unwrap_or_default(), name.get(found.len_utf8()..).unwrap_or_default())
        }
        _ => false,
    }
}
