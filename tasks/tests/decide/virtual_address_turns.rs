//! An address that moves between control planes that come, go and are changed: who begins after whom.

use std::collections::BTreeSet;

use kok_crds::model::Cluster;
use kok_tasks::plan::{Choice, Inputs, Making, Plan, Reason, Seen, Selection, Step, make};

use crate::bootstrap::refusal_text;
use crate::leave_members::{leaving, order};
use crate::support::secrets::JOINING;
use crate::support::world::World;
use crate::support::{cluster_of, inputs, step_id};

const TEXT: &str = include_str!("../fixtures/highly-available.yaml");
const VIP: &str = "  apiEndpoint: {vip: 10.20.0.200}\n";
const CONFIGURATION: &str = "/etc/kubernetes/keepalived/keepalived.conf";
const UNIT_FILE: &str = "/etc/systemd/system/kokctl-keepalived.service";

fn moving(text: &str) -> Cluster {
    cluster_of(&format!("{text}{VIP}"))
}

fn of_three() -> World {
    World::bare_of(moving(TEXT)).converge()
}

/// Three control planes that run, and a file with five.
fn asked_to_grow() -> World {
    let third = "    - {name: cp3, address: 10.20.0.13, roles: [control-plane]}\n";
    let five = moving(&TEXT.replace(third, &format!("{third}{JOINING}")));
    let mut world = World::bare_of(five.clone());
    world.cluster = moving(TEXT);
    world.api.members.truncate(3);
    let mut world = world.converge();
    world.cluster = five;
    world
}

/// The steps of this task on other hosts that a host's keepalived is started after.
fn before(plan: &Plan, host: &str) -> BTreeSet<String> {
    let service = step_id(host, "virtual-address", "service");
    let other = |need: &&Step| need.id.task() == "virtual-address" && need.id.host() != host;
    plan.needs(&service).into_iter().map(|(need, _)| need).filter(other).map(|need| need.id.to_string()).collect()
}

fn steps(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// The plan with hosts of which one can't be reached, or one has the address.
fn plan_with(world: &World, silent: Option<&str>, holder: Option<&str>) -> Plan {
    let inputs = Inputs { token_id: &world.token_id, ..inputs(&world.cluster, &world.bundle) };
    let away: BTreeSet<String> = silent.into_iter().map(str::to_owned).collect();
    let mut seen: Seen = world.seen_but(&away);
    away.iter().for_each(|host| seen.add_unreachable(host));
    if let Some(holder) = holder {
        let mut facts = seen.facts(holder).unwrap().clone();
        facts.interfaces.get_mut("eth0").unwrap().addresses.insert("10.20.0.200".parse().unwrap());
        seen.add_facts(holder, facts);
    }
    loop {
        match make(&inputs, &seen).unwrap_or_else(|refusals| panic!("{}", refusal_text(&refusals))) {
            Making::Made(plan) => return *plan,
            Making::LookFirst(asked) => {
                asked.into_iter().for_each(|(host, looks)| seen.add_observations(&host, world.look(&host, looks.iter())));
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Nobody who has the address speaks to a host that he doesn't know: it would hear nothing, and take it for itself.
#[test]
fn whoever_joins_begins_when_the_others_speak_to_it() {
    let world = asked_to_grow();
    let plan = world.plan();
    for host in ["cp4", "cp5"] {
        assert_eq!(
            before(&plan, host),
            steps(&["cp1/virtual-address/read", "cp2/virtual-address/read", "cp3/virtual-address/read"]),
            "{host}"
        );
    }
    for host in ["cp1", "cp2", "cp3"] {
        assert!(plan.change(&step_id(host, "virtual-address", "read")).is_some(), "{host} learns of them");
        assert!(plan.change(&step_id(host, "virtual-address", "service")).is_none(), "{host} is not started anew");
    }
    let grown = world.converge();
    assert!(grown.plan().is_empty() && grown.hosts["cp1"].text(CONFIGURATION).contains("    10.20.0.17\n"));
    let first = World::bare_of(moving(TEXT)).plan();
    for host in ["cp1", "cp2", "cp3"] {
        assert_eq!(before(&first, host), BTreeSet::new(), "nobody has it yet");
    }
}

#[test]
fn it_does_not_join_alone_or_while_one_who_may_have_it_is_away() {
    let world = asked_to_grow();
    let limit = ["cp4".to_owned()];
    let selection = Selection::new(Choice { only: &[], skip: &[], limit: &limit }, &world.cluster).unwrap();
    let refused = refusal_text(&world.plan_of(&selection).expect_err("the others don't know it"));
    assert!(refused.contains("the host cp1 is not chosen, and cp4 needs it") && refused.contains("it has to hear of them"), "{refused}");
    let plan = plan_with(&asked_to_grow(), Some("cp2"), None);
    assert!(before(&plan, "cp4").contains("cp2/virtual-address/read"), "{:?}", before(&plan, "cp4"));
    assert!(plan.change(&step_id("cp2", "virtual-address", "read")).is_some(), "it is still to be done");
    let plan = plan_with(&World::bare_of(moving(TEXT)), Some("cp2"), None);
    assert_eq!(before(&plan, "cp1"), BTreeSet::new(), "where nobody has it, one that is away hasn't either");
}

/// As with a new kokctl.
#[test]
fn keepalived_is_started_anew_on_one_host_after_the_other_and_last_where_the_address_is() {
    let mut world = of_three();
    for name in ["cp1", "cp2", "cp3"] {
        world.host(name).write(UNIT_FILE, 0o644, "an older one");
    }
    let plan = plan_with(&world, None, Some("cp1"));
    assert!(plan.change(&step_id("cp1", "virtual-address", "service")).is_some());
    assert_eq!(before(&plan, "cp2"), BTreeSet::new());
    assert_eq!(before(&plan, "cp3"), steps(&["cp2/virtual-address/able"]));
    assert_eq!(before(&plan, "cp1"), steps(&["cp2/virtual-address/able", "cp3/virtual-address/able"]));
    let reasons = plan.needs(&step_id("cp1", "virtual-address", "service"));
    let reason = reasons.iter().find(|(need, _)| need.id == step_id("cp3", "virtual-address", "able")).map(|(_, reason)| *reason);
    assert!(matches!(reason, Some(Reason::While(_))), "{reason:?}: whoever is asked for alone waits for nobody");
    for name in ["cp1", "cp2", "cp3"] {
        assert!(plan.change(&step_id(name, "virtual-address", "able")).is_some(), "{name} is looked at again");
    }
    assert_eq!(before(&plan_with(&world, None, Some("cp3")), "cp1"), BTreeSet::new(), "no order of the file");
}

/// Clients move while what they have asked is still answered.
#[test]
fn the_address_leaves_a_host_before_its_api_server_ends() {
    let mut world = of_three();
    let plan = leaving(&world, &["cp2", "cp3"], (&[], false)).unwrap();
    for (first, second) in [("drained", "virtual-address"), ("virtual-address", "api-server"), ("virtual-address", "member")] {
        assert!(order(&plan, ("cp2", first), ("cp2", second)), "{first}, {second}");
    }
    assert!(plan.change(&step_id("cp2", "reset", "virtual-address")).is_some());
    world.carry_out_all(&plan);
    let without = World::bare_of(cluster_of(TEXT)).converge();
    let plan = leaving(&without, &["cp2"], (&[], true)).unwrap();
    assert!(plan.step(&step_id("cp2", "reset", "virtual-address")).is_none(), "there is none");
}

/// A file that is sorted in another way is no reason to read anything again.
#[test]
fn who_comes_first_hangs_on_addresses_and_not_on_the_order_of_the_file() {
    let first = "    - {name: cp1, address: 10.20.0.11, roles: [control-plane]}\n";
    let third = "    - {name: cp3, address: 10.20.0.13, roles: [control-plane]}\n";
    let turned = TEXT.replace(first, "FIRST").replace(third, first).replace("FIRST", third);
    assert_ne!(turned, TEXT);
    let (world, other) = (of_three(), World::bare_of(moving(&turned)).converge());
    for (host, priority) in [("cp1", 250), ("cp2", 230), ("cp3", 210)] {
        let text = world.hosts[host].text(CONFIGURATION);
        assert!(text.contains(&format!("  priority {priority}\n")), "{text}");
        assert_eq!(text, other.hosts[host].text(CONFIGURATION));
    }
}
