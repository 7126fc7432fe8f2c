//! Scripts of the user's, before and after what kokctl does. Where they come in the order is said by `plan::hooked`.

use std::time::Duration;

use kok_crds::model::{Cluster, Content, Hook as Wanted, HookPlace, Host};
use semver::Version;

use super::{Task, vacated};
use crate::plan::{Draft, HostView, Reason, Refusal, StepId};
use crate::resources::{Debt, Hook, Resource};
use crate::secret_name::SecretName;

pub(crate) const NAME: &str = "hooks";

pub(super) const TASK: Task = Task { name: NAME, about: "scripts of yours before and after what kokctl does", plan };

/// What ending a script and looking at its host may take.
const AROUND: Duration = Duration::from_secs(60);

/// What is recorded for hooks that run once for each host and form of the script.
const EVER: &str = "ever";

/// Ends the name of the step that says that a hook is owed.
const OWED: &str = ":owed";

fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    for hook in &view.cluster().hooks {
        if let Some(about) = about(view.cluster(), hook, &view.host.name) {
            of_apply(view, draft, hook, about)?;
        }
    }
    Ok(())
}

/// The hooks of hosts that have no Kubernetes.
pub(crate) fn of_fleet(cluster: &Cluster, host: &str, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    for hook in &cluster.hooks {
        let first = || cluster.hosts.iter().find(|other| hook.hosts.contains(&other.name));
        let about = match hook.once {
            true => first().filter(|first| first.name == host).map(|_| hook.hosts.iter().cloned().collect()),
            false => hook.hosts.contains(host).then(|| vec![host.to_owned()]),
        };
        if let Some(about) = about {
            add(cluster, draft, hook, (host, about), EVER)?;
        }
    }
    Ok(())
}

/// The hosts that a hook is about where it runs on this one; nothing where it does not.
fn about(cluster: &Cluster, hook: &Wanted, host: &str) -> Option<Vec<String>> {
    let is_of_nodes = matches!(hook.at, HookPlace::BeforeJoin | HookPlace::AfterJoin);
    let is_meant = |host: &&Host| !is_of_nodes || host.roles.is_node();
    if !hook.once {
        return cluster.host(host).filter(|host| is_meant(host) && hook.hosts.contains(&host.name)).map(|host| vec![host.name.clone()]);
    }
    let keeper = cluster.control_planes().next()?;
    // Those that are to leave are no hosts of it any more.
    let meant = cluster.hosts.iter().filter(|other| hook.hosts.contains(&other.name)).filter(is_meant);
    let meant: Vec<String> = meant.filter(|_| keeper.name == host).map(|other| other.name.clone()).collect();
    (!meant.is_empty()).then_some(meant)
}

fn of_apply(view: &HostView<'_>, draft: &mut Draft<'_>, hook: &Wanted, about: Vec<String>) -> Result<(), Refusal> {
    let (cluster, host) = (view.cluster(), view.host.name.as_str());
    let way = cluster.underway.as_ref().map(|underway| &underway.way);
    let to = way.map_or(&cluster.kubernetes_version, |way| &way.to).to_string();
    match hook.at {
        HookPlace::BeforePreparation | HookPlace::AfterPreparation | HookPlace::BeforeJoin | HookPlace::AfterJoin => {
            add(cluster, draft, hook, (host, about), EVER)?;
        }
        HookPlace::BeforeUpgrade if way.is_some_and(|way| way.begins(&about)) => {
            add(cluster, draft, hook, (host, about), &to)?;
        }
        HookPlace::AfterUpgrade => after_upgrade(view, draft, hook, (about, &to))?,
        HookPlace::BeforeDrain | HookPlace::AfterDrain if about.iter().any(|name| is_drained(view, name)) => {
            // One that skips minor versions is drained more than once.
            add(cluster, draft, hook, (host, about), &format!("upgrade to {}", cluster.kubernetes_version))?;
        }
        _ => {}
    }
    Ok(())
}

fn is_drained(view: &HostView<'_>, name: &str) -> bool {
    view.cluster().host(name).is_some_and(|host| vacated::is_planned(view, host))
}

/// What comes after an upgrade is owed from its beginning on, whoever ends it and when. It is due when all that it is about have the version.
fn after_upgrade(view: &HostView<'_>, draft: &mut Draft<'_>, hook: &Wanted, (about, to): (Vec<String>, &str)) -> Result<(), Refusal> {
    let (cluster, host) = (view.cluster(), view.host.name.as_str());
    let way = cluster.underway.as_ref().map(|underway| &underway.way);
    let debt = Debt::of_upgrade(&hook.name, about.clone(), to);
    let begins = way.is_some_and(|way| way.begins(&about));
    let owed = begins.then(|| draft.add(&format!("{}{OWED}", hook.name), Resource::Debt(debt.clone())));
    let has_it = |host: &Host| {
        let is = |version: &Version| version.to_string() == to;
        (!host.roles.is_node() || is(cluster.kubelet_version(host))) && (!host.roles.control_plane || is(cluster.plane_version(host)))
    };
    if about.iter().filter_map(|name| cluster.host(name)).all(has_it) {
        owing(draft, hook, host, (script(cluster, hook, (host, about), to)?, debt, owed));
    }
    Ok(())
}

/// A hook that runs where it is owed, or comes to be.
fn owing(draft: &mut Draft<'_>, hook: &Wanted, host: &str, (script, debt, owed): (Hook, Debt, Option<StepId>)) {
    let step = enter(draft, hook, host, Hook { owed: Some(Box::new(debt)), ..script });
    if let Some(owed) = owed {
        draft.follows(&step, &owed, Reason::While("it is owed by then"));
    }
}

/// The hooks of one place for hosts that are drained or leave, a draft each. `staying` is a host that does not leave: there those run that are about
/// several hosts.
pub(crate) fn of_hosts<'a>(
    cluster: &'a Cluster,
    at: HookPlace,
    (hosts, staying): (&[&'a str], Option<&'a str>),
    occasion: impl Fn(&str) -> String,
) -> Result<Vec<Draft<'a>>, Refusal> {
    let mut drafts = Vec::new();
    for hook in cluster.hooks.iter().filter(|hook| hook.at == at) {
        for group in groups(hook, hosts) {
            let Some(first) = group.first() else { continue };
            let Some(runs_on) = (!hook.once).then_some(*first).or(staying) else { continue };
            let mut draft = Draft::new(if hook.once { runs_on } else { first }, NAME);
            let occasion = group.iter().map(|host| occasion(host)).collect::<Vec<_>>().join(", ");
            add(cluster, &mut draft, hook, (runs_on, group.iter().map(|host| (*host).to_owned()).collect()), &occasion)?;
            drafts.push(draft);
        }
    }
    Ok(drafts)
}

/// What comes when hosts have left, on one that stays. It is owed from before they leave, so that whoever goes on with that does it. `going` are those
/// of the hosts that are not gone yet.
pub(crate) fn after_removal<'a>(
    cluster: &'a Cluster,
    (hosts, going): (&[&'a str], &[&'a str]),
    staying: &str,
) -> Result<Vec<Draft<'a>>, Refusal> {
    let mut drafts = Vec::new();
    for hook in cluster.hooks.iter().filter(|hook| hook.at == HookPlace::AfterRemoval) {
        for group in groups(hook, hosts) {
            let Some(first) = group.first() else { continue };
            let mut draft = Draft::new(first, NAME);
            let about: Vec<String> = group.iter().map(|host| (*host).to_owned()).collect();
            let debt = Debt::of_removal(&hook.name, about.clone(), (!hook.once).then_some(*first));
            let is_going = group.iter().any(|host| going.contains(host));
            let owed = is_going.then(|| draft.add_on(staying, &format!("{}{OWED}", hook.name), Resource::Debt(debt.clone())));
            owing(&mut draft, hook, staying, (script(cluster, hook, (staying, about), EVER)?, debt, owed));
            drafts.push(draft);
        }
    }
    Ok(drafts)
}

/// The hosts that a hook is about at once.
fn groups<'a>(hook: &Wanted, hosts: &[&'a str]) -> Vec<Vec<&'a str>> {
    let meant: Vec<&'a str> = hosts.iter().copied().filter(|host| hook.hosts.contains(*host)).collect();
    if hook.once { vec![meant] } else { meant.into_iter().map(|host| vec![host]).collect() }
}

/// Adds the step of a hook that runs on a host, about some.
fn add(
    cluster: &Cluster,
    draft: &mut Draft<'_>,
    hook: &Wanted,
    (host, about): (&str, Vec<String>),
    occasion: &str,
) -> Result<StepId, Refusal> {
    let script = script(cluster, hook, (host, about), occasion)?;
    Ok(enter(draft, hook, host, script))
}

fn enter(draft: &mut Draft<'_>, hook: &Wanted, host: &str, script: Hook) -> StepId {
    let step = draft.add_on(host, hook.name.as_str(), Resource::Hook(script));
    draft.within(hook.timeout + AROUND);
    step
}

fn script(cluster: &Cluster, hook: &Wanted, (host, about): (&str, Vec<String>), occasion: &str) -> Result<Hook, Refusal> {
    let text = match &hook.script {
        Content::Text(text) => Some(text),
        Content::Source(file) | Content::Template(file) => file.text.as_ref(),
    };
    let unread = || {
        let refusal = Refusal::new(format!("the script of the hook `{}` was not read", hook.name)).at(hook.origin.to_string());
        refusal.hint("this is a defect of kokctl; please report it")
    };
    let secret = |name: &String| SecretName::HookVariable { host: host.to_owned(), hook: hook.name.clone(), name: name.clone() };
    Ok(Hook {
        name: hook.name.clone(),
        at: hook.at,
        about,
        cluster: cluster.name.clone(),
        script: text.ok_or_else(unread)?.clone(),
        creates: hook.creates.clone(),
        unless: hook.unless.clone(),
        timeout: hook.timeout,
        environment: hook.environment.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
        secrets: hook.secrets.iter().map(|(name, value)| (name.clone(), secret(name), value.clone())).collect(),
        on_failure: hook.on_failure,
        occasion: occasion.to_owned(),
        owed: None,
    })
}
