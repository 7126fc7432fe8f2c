//! Control planes that are added, removed or moved in the file, where etcd's list of members says nothing of them.

use kok_tasks::observe::NodeState;
use kok_tasks::plan::{Choice, Selection};
use proptest::prelude::*;

use super::{MEMBERS, TEXT, bare, refused, stop};
use crate::bootstrap::{advance, refusal_text};
use crate::bootstrap_mixes::is_gone_on_with_or_refused;
use crate::support::host::Host;
use crate::support::world::World;
use crate::support::{cluster_of, own_etcd_of_three as of_three, step_id};

const LABEL: &str = "node-role.kubernetes.io/control-plane";
const MANIFEST: &str = "/etc/kubernetes/manifests/kube-apiserver.yaml";
const FOUNDED: &str = "/var/lib/kokctl/made/founded";
const CP2: &str = "{name: cp2, address: 10.20.0.12, roles: [control-plane]}";
const WORKER: &str = "{name: worker1, address: 10.20.0.13, roles: [worker]}";
const CONTROL_PLANES: [&str; 3] = ["cp1", "cp2", "cp3"];

/// The file with a host or two in place of one.
fn edited(world: &mut World, text: &str, host: &str, by: &str) {
    assert!(text.contains(host), "{text}");
    world.cluster = cluster_of(&text.replace(host, by));
    for host in &world.cluster.hosts {
        world.hosts.entry(host.name.clone()).or_insert_with(|| Host::bare(&host.name));
    }
}

fn another(name: &str, address: &str) -> String {
    format!("{{name: {name}, address: {address}, roles: [control-plane]}}")
}

#[test]
fn a_host_does_not_become_something_else_by_an_edit() {
    let running = bare().converge();
    let mut world = running.clone();
    edited(&mut world, TEXT, WORKER, &WORKER.replace("worker]", "control-plane]"));
    let promoted = refused(&world);
    assert!(promoted.contains("worker1 is a worker of the cluster, and the file makes it a control plane"), "{promoted}");
    assert!(promoted.contains("`kokctl remove -f FILE worker1` with the roles as they were"), "{promoted}");
    let mut world = World::bare_of(cluster_of(&of_three())).converge();
    let third = another("cp3", "10.20.0.17");
    edited(&mut world, &of_three(), &third, &third.replace("control-plane", "worker"));
    let demoted = refused(&world);
    assert!(demoted.contains("cp3 was set up as a control plane, and the file gives it other roles"), "{demoted}");
    assert!(demoted.contains(MANIFEST) && demoted.contains("all hosts know its API server"), "{demoted}");
    assert!(demoted.contains("`kokctl remove -f FILE cp3`"), "{demoted}");
    edited(&mut world, &of_three(), &format!("    - {third}\n"), "");
    let gone = refused(&world);
    assert!(gone.contains("the cluster has a control plane cp3, and the file has no such host"), "{gone}");
    assert!(gone.contains("a control plane does not leave the cluster because a line of the file is lost"), "{gone}");
}

#[test]
fn a_new_control_plane_joins_and_nothing_of_the_others_is_started_anew() {
    let cluster = cluster_of(&of_three());
    let mut world = World::bare_of(cluster.clone());
    world.cluster = cluster_of(TEXT);
    let mut world = world.converge();
    world.cluster = cluster;
    let plan = world.plan();
    for host in ["cp1", "cp2", "etcd1", "etcd2", "etcd3"] {
        for (task, step) in [("etcd", "service"), ("control-plane", "manifests"), ("control-plane", "kubelet")] {
            assert!(plan.change(&step_id(host, task, step)).is_none(), "{host}/{task}/{step}");
        }
    }
    for most in (0..=plan.changes().count()).step_by(9) {
        let mut world = world.clone();
        world.carry_out_some(&plan, most);
        let world = world.converge();
        assert!(world.plan().is_empty(), "after {most}");
        assert!(world.api.nodes["cp3"].labels.contains_key(LABEL));
    }
}

/// The address of the only one was the endpoint.
#[test]
fn the_only_control_plane_gets_another_and_its_address_becomes_a_name() {
    let mut world = World::bare_of(cluster_of(TEXT));
    world.cluster = cluster_of(&TEXT.replace(&format!("    - {CP2}\n"), ""));
    let mut world = world.converge();
    let server = |world: &World| world.hosts["worker1"].text("/etc/kubernetes/kubelet.conf").lines().next().unwrap().to_owned();
    assert_eq!(server(&world), "server: https://10.20.0.11:6443");
    world.cluster = cluster_of(TEXT);
    let plan = world.plan();
    assert!(plan.change(&step_id("cp1", "control-plane", "manifests")).is_none());
    let names = plan.needs(&step_id("worker1", "names", "hosts-file"));
    assert!(names.iter().any(|(need, _)| need.id.as_str() == "cp1/control-plane/named"), "a name that no certificate has leads nowhere");
    assert!(!names.iter().any(|(need, _)| need.host == "cp2"));
    let world = world.converge();
    assert!(world.plan().is_empty());
    assert_eq!(server(&world), "server: https://lb-apiserver.kubernetes.local:6443");
}

#[test]
fn what_a_host_was_made_for_is_all_that_it_is() {
    let member = "roles: [etcd]}\n    - {name: etcd2";
    let mut world = bare().converge();
    edited(&mut world, TEXT, member, &member.replacen("etcd]", "etcd, control-plane]", 1));
    let said = refused(&world);
    assert!(said.contains("etcd1 was set up as a member of etcd alone, and the file makes it a control plane, too"), "{said}");
    assert!(said.contains("`kokctl replace -f FILE etcd1`"), "{said}");
    let fewer = TEXT.replace("    - {name: etcd3, address: 10.20.0.16, roles: [etcd]}\n", "");
    world.api.members.retain(|name| name != "etcd3");
    world.hosts.remove("etcd3");
    for (host, was, has) in
        [(CP2, "cp2 was set up as a control plane", "control-plane]"), (WORKER, "worker1 was set up as a worker", "worker]")]
    {
        edited(&mut world, &fewer, host, &host.replace(has, &has.replace(']', ", etcd]")));
        let said = refused(&world);
        assert!(said.contains(&format!("{was} alone, and the file makes it a member of etcd, too")), "{said}");
    }
}

#[test]
fn a_control_plane_of_the_file_at_another_address_is_another_host() {
    let mut world = bare().converge();
    world.api.nodes.get_mut("cp2").unwrap().addresses = vec!["10.20.0.12".parse().unwrap()];
    assert!(world.plan().is_empty());
    edited(&mut world, TEXT, CP2, &another("cp2", "10.20.0.17"));
    let told = refused(&world);
    assert!(told.contains("the control plane cp2 has the address 10.20.0.12 in the cluster, and 10.20.0.17 in the file"), "{told}");
    assert!(told.contains("kokctl remove -f FILE cp2"), "{told}");
    assert!(told.contains("\"cluster.yaml:9:28\""), "{told}");
}

#[test]
fn what_somebody_removed_by_hand_is_put_back() {
    for (label, manifest) in [(true, false), (false, true), (true, true)] {
        let mut world = bare().converge();
        if label {
            assert!(world.api.nodes.get_mut("cp2").unwrap().labels.remove(LABEL).is_some());
        }
        if manifest {
            assert!(world.host("cp2").paths.remove(MANIFEST).is_some());
        }
        let plan = world.try_plan().unwrap_or_else(|refusals| panic!("{}", refusal_text(&refusals)));
        assert!(plan.changes().any(|(step, _)| step.id.as_str().starts_with("cp2/control-plane/m")));
        assert!(world.converge().plan().is_empty());
    }
    let mut world = bare().converge();
    world.api.nodes.get_mut("worker1").unwrap().labels.insert(LABEL.into(), String::new());
    assert!(world.plan().is_empty(), "a label alone makes no control plane");
}

#[test]
fn a_silent_cluster_knows_its_control_planes_by_their_files() {
    let mut world = bare().converge();
    MEMBERS.into_iter().for_each(|name| stop(&mut world, name));
    assert!(world.try_plan().is_ok(), "{}", refusal_text(&world.try_plan().unwrap_err()));
    let mut promoted = world.clone();
    edited(&mut promoted, TEXT, WORKER, &WORKER.replace("worker]", "control-plane]"));
    assert!(refused(&promoted).contains("worker1 is a worker of the cluster"), "{}", refused(&promoted));
    edited(&mut world, TEXT, CP2, &format!("{CP2}\n    - {}", another("cp3", "10.20.0.17")));
    assert!(refused(&world).contains("cp3 can't become a control plane now"), "{}", refused(&world));
}

/// It was made anew, which is no reason to take it out of the file.
#[test]
fn a_control_plane_without_files_is_no_new_one_while_the_cluster_is_silent() {
    let mut world = bare().converge();
    MEMBERS.into_iter().for_each(|name| stop(&mut world, name));
    world.hosts.insert("cp2".into(), Host::bare("cp2"));
    assert!(world.try_plan().is_ok(), "{}", refusal_text(&world.try_plan().unwrap_err()));
    let newer = |names: &str| format!("1780000001\n{names}\n");
    world.host("cp1").write(FOUNDED, 0o600, &newer("cp1"));
    assert!(refused(&world).contains("cp2 can't become a control plane now"), "{}", refused(&world));
    // As earlier versions have written it.
    world.host("cp1").write(FOUNDED, 0o600, "1780000000\n");
    let said = refused(&world);
    assert!(said.contains("it is not known whether the cluster was set up with the control plane cp2"), "{said}");
    assert!(said.contains("start an API server first") && !said.contains("out of the file"), "{said}");
}

#[test]
fn who_is_a_control_plane_is_said_where_an_earlier_version_did_not() {
    for (annotation, record) in [(None, None), (Some("cp1"), None), (Some("cp2,cp1"), Some("1780000000\n")), (None, Some("1780000000\n"))] {
        let mut world = bare().converge();
        let map = world.api.objects.get_mut("ConfigMap/kube-system/kubeadm-config").unwrap();
        let annotations = map["metadata"]["annotations"].as_object_mut().unwrap();
        annotations.remove("kokctl.io/control-planes").unwrap();
        annotations.extend(annotation.map(|names| ("kokctl.io/control-planes".to_owned(), names.into())));
        record.into_iter().for_each(|text| world.host("cp1").write(FOUNDED, 0o600, text));
        let plan = world.plan();
        let changed: Vec<&str> = plan.changes().map(|(step, _)| step.id.as_str()).collect();
        assert_eq!(changed, ["cp1/control-plane/uploaded"], "{annotation:?} {record:?}");
        assert!(world.converge().plan().is_empty());
    }
    let mut world = bare().converge();
    let map = world.api.objects.get_mut("ConfigMap/kube-system/kubeadm-config").unwrap();
    map["metadata"]["annotations"]["kokctl.io/control-planes"] = "cp2,cp1".into();
    assert!(world.plan().is_empty(), "in which order they stand says nothing");
}

#[test]
fn a_host_that_is_not_asked_is_known_by_its_node() {
    let mut world = World::bare_of(cluster_of(&of_three())).converge();
    let limited = |world: &World| {
        let limit = ["cp1".to_owned()];
        let selection = Selection::new(Choice { only: &[], skip: &[], limit: &limit }, &world.cluster).unwrap();
        world.plan_of(&selection).map(|(plan, _)| plan)
    };
    assert!(limited(&world).is_ok());
    let third = another("cp3", "10.20.0.17");
    edited(&mut world, &of_three(), &third, &third.replace("control-plane", "worker"));
    let refusals = limited(&world).unwrap_err();
    assert!(refusal_text(&refusals).contains("cp3 was set up as a control plane"), "{}", refusal_text(&refusals));
}

#[test]
fn a_cluster_that_says_nothing_of_its_founding_has_those_that_there_are() {
    let mut world = bare().converge();
    // As after an upload by kubeadm itself.
    let map = world.api.objects.get_mut("ConfigMap/kube-system/kubeadm-config").unwrap();
    map["metadata"]["annotations"] = serde_json::json!({});
    let plan = world.try_plan().unwrap_or_else(|refusals| panic!("{}", refusal_text(&refusals)));
    assert!(plan.change(&step_id("cp1", "control-plane", "uploaded")).is_some());
    edited(&mut world, TEXT, CP2, &format!("{CP2}\n    - {}", another("cp3", "10.20.0.17")));
    // As after `kubeadm join --control-plane`.
    world.host("cp3").folder("/etc/kubernetes/manifests", 0o700);
    world.host("cp3").write("/etc/kubernetes/admin.conf", 0o600, "theirs");
    world.host("cp3").write(MANIFEST, 0o600, "theirs");
    let node = NodeState { labels: [(LABEL.to_owned(), String::new())].into(), ..NodeState::default() };
    world.api.nodes.insert("cp3".into(), node);
    let said = world.try_plan().map(|_| String::new()).unwrap_or_else(|refusals| refusal_text(&refusals));
    assert!(!said.contains("control plane is an operation"), "{said}");
}

/// How far a control plane is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Row {
    Nothing,
    Files,
    Started,
    Finalized,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Edit {
    None,
    Added,
    Demoted,
    Promoted,
}

fn at(rows: [Row; 3]) -> World {
    let mut world = World::bare_of(cluster_of(&of_three()));
    advance(&mut world, |id| id.starts_with("etcd"));
    let early = ["etcd", "preflight", "manifests", "kubelet"].map(|step| format!("/control-plane/{step}"));
    for least in [Row::Files, Row::Started, Row::Finalized] {
        for (host, _) in CONTROL_PLANES.into_iter().zip(rows).filter(|(_, row)| *row >= least) {
            advance(&mut world, |id| {
                let is_far = match least {
                    Row::Nothing | Row::Files => !id.contains("/control-plane/") && !id.contains("/images/"),
                    Row::Started => !id.contains("/control-plane/") || early.iter().any(|step| id.ends_with(step)),
                    Row::Finalized => !id.contains("/network-check/"),
                };
                id.starts_with(&format!("{host}/")) && is_far
            });
        }
    }
    world
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 30, failure_persistence: None, ..ProptestConfig::default() })]

    /// Half of a founding goes on with its own file, and by one with more control planes; one that was begun stays one.
    #[test]
    fn a_founding_goes_on_with_the_control_planes_that_it_was_begun_with(
        rows in [0..4_usize, 0..4, 0..4].prop_map(|rows| rows.map(|row| [Row::Nothing, Row::Files, Row::Started, Row::Finalized][row])),
        edit in prop::sample::select(vec![Edit::None, Edit::Added, Edit::Demoted, Edit::Promoted]),
    ) {
        let (text, third) = (of_three(), another("cp3", "10.20.0.17"));
        let mut world = at(rows);
        let is_founded = CONTROL_PLANES.iter().any(|host| world.hosts[*host].has("/var/lib/kokctl/made/founded"));
        prop_assert!(!is_founded || rows.contains(&Row::Finalized));
        let wrong = match edit {
            Edit::None => None,
            Edit::Added => {
                edited(&mut world, &text, &third, &format!("{third}\n    - {}", another("cp4", "10.20.0.18")));
                None
            }
            Edit::Demoted => {
                edited(&mut world, &text, &third, &third.replace("control-plane", "worker"));
                (rows[2] != Row::Nothing).then_some("cp3 was set up as a control plane")
            }
            Edit::Promoted => {
                edited(&mut world, &text, WORKER, &WORKER.replace("worker]", "control-plane]"));
                // It has not joined yet.
                None
            }
        };
        if edit == Edit::None || wrong.is_some() {
            is_gone_on_with_or_refused(world, wrong)?;
        } else {
            // The model has the certificates of those control planes alone that a world was begun with.
            prop_assert!(world.try_plan().is_ok(), "{}", refusal_text(&world.try_plan().unwrap_err()));
        }
    }
}
