//! Parts of a plan: tasks and hosts that somebody chose.

use std::collections::BTreeSet;

use kok_tasks::plan::{Choice, Plan, Refusal, Selection};

use crate::support::cluster;
use crate::support::world::World;

/// Everything that makes a host ready for a cluster, and nothing of a cluster.
const PREPARATION: &str = "host,time-sync,container-runtime,images";

fn words(list: &str) -> Vec<String> {
    list.split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn choose(only: &str, skip: &str, limit: &str) -> Result<Selection, Vec<Refusal>> {
    let (only, skip, limit) = (words(only), words(skip), words(limit));
    Selection::new(Choice { only: &only, skip: &skip, limit: &limit }, &cluster())
}

fn part(world: &World, only: &str, skip: &str, limit: &str) -> Result<(Plan, Vec<String>), Vec<Refusal>> {
    world.plan_of(&choose(only, skip, limit).unwrap())
}

fn tasks(plan: &Plan) -> BTreeSet<&str> {
    plan.changes().map(|(step, _)| step.task).collect()
}

fn hosts(plan: &Plan) -> BTreeSet<&str> {
    plan.changes().map(|(step, _)| step.host.as_str()).collect()
}

fn carry_out(world: &mut World, plan: &Plan) {
    plan.changes().for_each(|(step, change)| world.carry_out(step, change));
}

#[test]
fn bare_hosts_are_prepared_and_then_nothing_is_to_do() {
    let mut world = World::bare();
    let (plan, asked) = part(&world, PREPARATION, "", "").unwrap();
    assert_eq!((tasks(&plan), asked), (words(PREPARATION).iter().map(String::as_str).collect(), vec![]));
    assert!(plan.left_out().len() > 50, "{}", plan.left_out().len());
    carry_out(&mut world, &plan);
    let (plan, _) = part(&world, PREPARATION, "", "").unwrap();
    assert!(plan.is_empty() && !plan.left_out().is_empty());
    // What was prepared is what a whole run goes on from.
    let whole = world.plan();
    assert!(tasks(&whole).is_disjoint(&words(PREPARATION).iter().map(String::as_str).collect()), "{:?}", tasks(&whole));
    carry_out(&mut world, &whole);
    assert!(world.plan().is_empty());
}

/// In a whole run it comes before the others; left out, it holds up nobody.
#[test]
fn a_worker_whose_kubelet_ends_may_be_left_out() {
    let mut world = World::converged();
    world.api.nodes.get_mut("worker1").unwrap().taints.push("node.kubernetes.io/not-ready=:NoExecute".to_owned());
    let unit = world.host("worker1").units.get_mut("kubelet.service").unwrap();
    (unit.active, unit.restarts) = ("activating".to_owned(), 9);
    world.host("worker2").paths.remove("/var/lib/kubelet/config.yaml");
    let (plan, _) = part(&world, "", "", "cp1,worker2").unwrap();
    let of = |name: &str| plan.changes().any(|(step, _)| step.id.to_string() == name);
    assert!(of("worker2/kubelet-join/joined") && of("cp1/network/nodes-ready"), "{:?}", tasks(&plan));
    assert_eq!(hosts(&plan), ["cp1", "worker2"].into());
}

#[test]
fn a_host_says_whose_it_is_whatever_is_chosen() {
    let (plan, _) = part(&World::bare(), "time-sync", "", "").unwrap();
    assert_eq!(tasks(&plan), ["host", "time-sync"].into());
    assert!(plan.changes().filter(|(step, _)| step.task == "host").all(|(step, _)| step.id.as_str().ends_with("/host/claim")));
}

#[test]
fn a_part_that_needs_what_is_not_chosen_is_refused_with_all_that_is_missing() {
    let world = World::bare();
    let refusals = part(&world, "images", "", "").unwrap_err();
    assert_eq!(refusals.len(), 1, "{refusals:?}");
    let refusal = &refusals[0];
    assert_eq!(refusal.what, "the task container-runtime is not chosen, and images needs it");
    assert!(refusal.at.as_ref().unwrap().starts_with("cp1/images/coredns and "), "{refusal:?}");
    assert!(refusal.because.as_ref().unwrap().starts_with("it comes after cp1/container-runtime/service (it talks to that service), "));
    assert_eq!(refusal.hint.as_deref(), Some("choose what is needed too: --only host,container-runtime,images"));
    // The choice of the hint is complete.
    assert!(part(&world, "host,container-runtime,images", "", "").is_ok());
    let refusals = part(&world, "", "images", "").unwrap_err();
    assert!(refusals.iter().all(|refusal| refusal.what.starts_with("the task images is not chosen, and ")), "{refusals:?}");
}

#[test]
fn what_is_satisfied_already_needs_not_be_chosen() {
    let mut world = World::converged();
    world.host("worker1").images.clear();
    let (plan, asked) = part(&world, "images", "", "worker1").unwrap();
    assert_eq!((tasks(&plan), hosts(&plan), asked), (["images"].into(), ["worker1"].into(), vec![]));
    assert_eq!(plan.left_out().len(), 0);
}

/// A unit is restarted because a file that it reads changes: not where that file is left as it is.
#[test]
fn what_is_left_out_triggers_nothing() {
    let mut world = World::converged();
    world.host("worker1").write("/etc/sysctl.d/99-zz-kokctl.conf", 0o644, "changed");
    world.host("worker1").write("/etc/containerd/config.toml", 0o644, "changed");
    let (plan, _) = part(&world, "", "container-runtime", "").unwrap();
    let changes: Vec<&str> = plan.changes().map(|(step, _)| step.id.as_str()).collect();
    assert_eq!(changes, ["worker1/host/sysctls-file"]);
    assert!(plan.left_out().iter().any(|id| id.as_str() == "worker1/container-runtime/configuration"));
}

#[test]
fn hosts_outside_of_the_limit_are_neither_asked_nor_changed() {
    let world = World::bare();
    let (plan, asked) = part(&world, "host,container-runtime,images", "", "worker2").unwrap();
    assert_eq!((hosts(&plan), asked), (["worker2"].into(), vec![]));
    // The hosts of this cluster take their time from the control plane.
    let (plan, asked) = part(&world, PREPARATION, "", "worker2").unwrap();
    assert_eq!((hosts(&plan), asked), (["worker2"].into(), vec!["cp1".to_owned()]));
}

#[test]
fn what_a_host_needs_of_others_is_asked_there_and_refused_while_it_is_missing() {
    let mut world = World::converged();
    // Nothing is to do on the worker, so nobody else is asked.
    assert_eq!(part(&world, "", "", "worker1").map(|(plan, asked)| (plan.is_empty(), asked)), Ok((true, vec![])));
    world.host("worker1").paths.remove("/etc/kubernetes/kubelet.conf");
    let refusals = part(&world, "", "", "worker1").unwrap_err();
    assert_eq!(refusals[0].what, "the host cp1 is not chosen, and worker1 needs it");
    assert_eq!(refusals[0].hint.as_deref(), Some("choose what is needed too: --limit cp1,worker1"));
    let (plan, asked) = part(&world, "", "", "cp1,worker1").unwrap();
    assert!(tasks(&plan).contains("kubelet-join"));
    assert_eq!(asked, Vec::<String>::new(), "who is not chosen does not join in this run");
    carry_out(&mut world, &plan);
    assert!(world.plan().is_empty());
}

/// One who has joined needs no token, and it is nobody's matter whether others would.
#[test]
fn a_node_gets_its_kubelet_back_alone() {
    let mut world = World::converged();
    world.host("worker1").paths.remove("/var/lib/kubelet/config.yaml");
    let (plan, asked) = part(&world, "", "", "worker1").unwrap();
    let changes: Vec<&str> = plan.changes().map(|(step, _)| step.id.as_str()).collect();
    assert_eq!(changes, ["worker1/kubelet-join/joined", "worker1/kubelet-join/goes-on", "worker1/kubelet-join/still-ready"]);
    assert_eq!(asked, ["cp1"]);
    let (without, _) = part(&world, "", "kubelet", "worker1").unwrap();
    let changes_without: Vec<&str> = without.changes().map(|(step, _)| step.id.as_str()).collect();
    assert_eq!(changes_without, changes, "who starts it waits for it");
}

#[test]
fn unknown_words_are_refused_with_the_nearest() {
    let refusals = choose("imagse", "hsot", "wroker1,nothing").unwrap_err();
    let told: Vec<_> = refusals.iter().map(|one| (one.what.as_str(), one.at.as_deref().unwrap(), one.hint.as_deref().unwrap())).collect();
    assert_eq!(
        told[..3],
        [
            ("there is no task `imagse`", "--only", "did you mean `images`?"),
            ("there is no task `hsot`", "--skip", "did you mean `host`?"),
            ("no host of the cluster is named `wroker1`", "--limit", "did you mean `worker1`?"),
        ]
    );
    assert_eq!(told.len(), 4);
    assert_eq!(choose("images", "images", "").unwrap_err()[0].what, "no task is left");
    assert_eq!(choose("", "", "*,!*").unwrap_err()[0].what, "no host is left");
}

#[test]
fn patterns_choose_hosts() {
    let chosen = |limit: &str| choose("", "", limit).unwrap().hosts().unwrap().iter().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(chosen("worker?"), "worker1 worker2");
    assert_eq!(chosen("*1"), "cp1 worker1");
    assert_eq!(chosen("w*r*"), "worker1 worker2");
    assert_eq!(chosen("!worker1"), "cp1 worker2");
    assert_eq!(chosen("worker*,!*2"), "worker1");
    assert_eq!(chosen("cp1,cp1"), "cp1");
    assert!(choose("", "", "worker").is_err());
    assert!(choose("", "", "").unwrap().is_whole());
}
