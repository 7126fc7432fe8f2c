//! The plan of one control plane and two workers: its steps, their order and the reasons for it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use kok_crds::model::FlannelBackend;
use kok_tasks::list::TASKS;
use kok_tasks::operations::Operation;
use kok_tasks::plan::{Action, Plan, Reason, StepId, lint};
use kok_tasks::ports;
use kok_tasks::resources::Resource;

use crate::support::world::World;
use crate::support::{bundle, cluster, cluster_of, highly_available, inputs, step_id};

fn bare() -> Plan {
    World::bare().plan()
}

/// All steps that a step needs, directly or not.
fn behind(plan: &Plan, id: &StepId) -> BTreeSet<StepId> {
    let (mut found, mut next) = (BTreeSet::new(), vec![id.clone()]);
    while let Some(id) = next.pop() {
        next.extend(plan.needs(&id).into_iter().map(|(step, _)| step.id.clone()).filter(|id| found.insert(id.clone())));
    }
    found
}

/// Steps by name, each with its change and what it needs: independent of the order of those that don't need each other.
fn written(plan: &Plan) -> String {
    let mut steps: Vec<_> = plan.steps().collect();
    steps.sort_by_key(|step| step.id.clone());
    let mut text = String::new();
    for step in steps {
        let change =
            plan.change(&step.id).map_or("nothing".to_owned(), |change| format!("{} because {}", change.summary(), change.because));
        writeln!(text, "{} on {}: {}\n  to do: {change}", step.id, step.host, step.title()).unwrap();
        let mut needs: Vec<_> = plan.needs(&step.id).into_iter().map(|(need, reason)| format!("  after {}: {reason}", need.id)).collect();
        needs.sort();
        needs.iter().for_each(|need| writeln!(text, "{need}").unwrap());
    }
    text
}

#[test]
fn the_whole_plan_of_bare_hosts() {
    insta::assert_snapshot!(written(&bare()));
}

#[test]
fn what_the_settings_add_to_the_plan() {
    let usual: BTreeSet<String> = written(&bare()).split("\ncp1/").map(str::to_owned).collect();
    let all = written(&World::with_everything().plan());
    // One host is enough: what the others get is the same.
    let of_host: Vec<&str> = all.split("\nworker1/").next().unwrap().split("\ncp1/").filter(|step| !usual.contains(*step)).collect();
    let tasks = ["packages", "names", "swap", "selinux", "firewall", "trust", "proxy", "time-sync", "host", "mirrors"];
    let host = of_host.into_iter().filter(|step| tasks.iter().any(|task| step.starts_with(&format!("{task}/"))));
    insta::assert_snapshot!(host.collect::<Vec<_>>().join("\n"));
}

fn manifest_of_flannel(plan: &Plan) -> &str {
    let manifest = plan.steps().find_map(|step| match &step.action {
        Action::Operation(Operation::ApplyManifest(manifest)) if manifest.what == "flannel" => Some(manifest.text.as_str()),
        _ => None,
    });
    manifest.unwrap()
}

#[test]
fn the_backend_decides_what_flannel_is_told_and_what_it_needs() {
    let expected = [
        (FlannelBackend::Vxlan, r#"{\"Type\":\"vxlan\"}"#, "8472/udp", false),
        (FlannelBackend::HostGw, r#"{\"Type\":\"host-gw\"}"#, "", false),
        (FlannelBackend::Wireguard, r#"{\"Type\":\"wireguard\"}"#, "51820/udp", true),
    ];
    for (backend, told, ports, has_module) in expected {
        let mut cluster = cluster();
        cluster.network.backend = backend;
        let of_pods = ports::of_host(&cluster, &cluster.hosts[0]).filter(|port| port.what == "the pods' network");
        assert_eq!(of_pods.map(|port| port.dashed()).collect::<Vec<_>>().join(" "), ports);
        let plan = World::bare_of(cluster).plan();
        let manifest = manifest_of_flannel(&plan);
        assert!(manifest.contains(told), "{manifest}");
        let module = step_id("worker1", "host", "module-wireguard");
        let joined = step_id("worker1", "kubelet-join", "joined");
        assert_eq!(behind(&plan, &joined).contains(&module), has_module, "{told}");
    }
}

/// The user says what pods send; flannel is told what hosts send, of which its backend takes a part.
#[test]
fn the_largest_packet_of_pods_is_told_to_flannel_and_its_plugin() {
    for (backend, of_hosts) in [(FlannelBackend::Vxlan, 1450), (FlannelBackend::HostGw, 1400), (FlannelBackend::Wireguard, 1480)] {
        let mut cluster = cluster();
        (cluster.network.backend, cluster.network.mtu) = (backend, Some(1400));
        let plan = World::bare_of(cluster).plan();
        assert!(manifest_of_flannel(&plan).contains(&format!(r#"\"MTU\":{of_hosts},\"Type\""#)), "{}", manifest_of_flannel(&plan));
        let configuration = plan.steps().find_map(|step| match &step.action {
            Action::Resource(Resource::File(file)) if file.path.ends_with(".conflist") => Some(format!("{file:?}")),
            _ => None,
        });
        assert!(configuration.unwrap().contains("1400"));
    }
}

#[test]
fn everything_that_is_set_is_undone_again() {
    let mut world = World::with_everything();
    let plan = world.plan();
    for (step, change) in plan.changes() {
        world.carry_out(step, change);
    }
    assert!(world.plan().is_empty(), "something is left to do");
    world.cluster = cluster();
    let left: Vec<String> =
        world.plan().changes().filter(|(step, _)| step.host == "worker1").map(|(step, _)| step.id.to_string()).collect();
    for id in ["proxy/no-others", "mirrors/no-others", "trust/no-others", "container-runtime/service"] {
        assert!(left.contains(&format!("worker1/{id}")), "{id} is not in {left:?}");
    }
    for (step, change) in world.clone().plan().changes() {
        world.carry_out(step, change);
    }
    assert!(world.plan().is_empty(), "something is left to do");
    assert!(
        !world.hosts["worker1"]
            .paths
            .keys()
            .any(|path| path.contains("kokctl-proxy") || path.contains("certs.d/") || path.contains("kokctl-corporate"))
    );
}

#[test]
fn the_same_input_gives_the_same_plan() {
    let print = |plan: &Plan| {
        let steps: Vec<_> = plan.steps().map(|step| (step.clone(), plan.change(&step.id).cloned())).collect();
        let needs: Vec<_> = plan
            .steps()
            .map(|step| plan.needs(&step.id).into_iter().map(|(need, why)| (need.id.clone(), why.clone())).collect::<Vec<_>>())
            .collect();
        (steps, needs)
    };
    assert_eq!(print(&bare()), print(&bare()));
}

#[test]
fn steps_stand_behind_what_they_need() {
    let plan = bare();
    let mut before = BTreeSet::new();
    for step in plan.steps() {
        assert!(
            plan.needs(&step.id).iter().all(|(need, _)| before.contains(&need.id)),
            "{} stands before something that it needs",
            step.id
        );
        before.insert(step.id.clone());
    }
}

#[test]
fn every_need_has_a_reason_and_every_plan_is_sound() {
    for plan in [bare(), World::converged().plan()] {
        assert_eq!(lint(&plan), Vec::new());
        for step in plan.steps() {
            for (need, reason) in plan.needs(&step.id) {
                assert!(!matches!(reason, Reason::Because(words) if words.len() < 10), "{} after {}", step.id, need.id);
                assert!(plan.needed_by(&need.id).iter().any(|(later, why)| later.id == step.id && *why == reason));
            }
        }
    }
}

/// Workers do all but their join while the control plane starts. What their kubelets show waits for the authority that signs it, and for no more.
#[test]
fn workers_wait_for_the_control_plane_only_to_join() {
    let plan = bare();
    for worker in ["worker1", "worker2"] {
        let join = step_id(worker, "kubelet-join", "joined");
        let free = plan.steps().filter(|step| step.host == worker && step.id != join && !behind(&plan, &step.id).contains(&join));
        let mut count = 0;
        for step in free {
            // The control plane is also what the others take their time from.
            let other = |id: &&StepId| {
                id.as_str().starts_with("cp1/") && !id.as_str().starts_with("cp1/time-sync/") && id.as_str() != "cp1/host/claim"
            };
            let mut needs = behind(&plan, &step.id);
            if step.task == "kubelet-certificate" {
                let set = step_id("cp1", "certificates", "set");
                let of_set = behind(&plan, &set);
                needs.retain(|id| *id != set && !of_set.contains(id));
            }
            let found: Vec<_> = needs.iter().filter(other).collect();
            // flannel's daemon of a host is waited for in that host's own task, but runs only where the host is a node.
            assert!(found.is_empty(), "{} waits for {found:?}", step.id);
            count += 1;
        }
        assert!(count > 25, "{worker} has only {count} steps that don't wait for the control plane");
        assert!(behind(&plan, &join).contains(&step_id("cp1", "control-plane", "bootstrap-token")));
    }
}

#[test]
fn certificates_wait_for_no_other_host() {
    let plan = bare();
    let certificates: Vec<_> = plan.steps().filter(|step| step.task == "certificates").collect();
    assert!(!certificates.is_empty());
    for step in certificates {
        assert!(behind(&plan, &step.id).iter().all(|id| id.as_str().starts_with("cp1/")), "{}", step.id);
    }
}

#[test]
fn a_host_is_claimed_before_anything_else() {
    let plan = bare();
    for step in plan.steps() {
        let claim = step_id(&step.host, "host", "claim");
        assert!(step.id == claim || behind(&plan, &step.id).contains(&claim), "{} does not wait for {claim}", step.id);
    }
}

#[test]
fn no_secret_stands_in_a_plan() {
    let world = World::converged();
    let mut damaged = world.clone();
    damaged.host("cp1").paths.remove("/etc/kubernetes/pki/apiserver.key");
    damaged.host("worker1").paths.remove("/etc/kubernetes/kubelet.conf");
    for plan in [bare(), world.plan(), damaged.plan()] {
        let mut text = format!("{plan:?}");
        for (step, change) in plan.changes() {
            write!(text, "{change:?} {:?}", step.act(change)).unwrap();
        }
        assert!(!text.contains("-----BEGIN"), "a PEM block stands in the plan");
        let words = text.split(|c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit() && c != '.');
        let token = |word: &&str| matches!(word.split_once('.'), Some((id, secret)) if id.len() == 6 && secret.len() == 16 && !secret.contains('.'));
        assert_eq!(words.filter(token).collect::<Vec<_>>(), Vec::<&str>::new(), "what looks like a token stands in the plan");
    }
}

#[test]
fn every_task_has_steps_and_a_sentence() {
    let moves = cluster_of(&format!("{}  vars: {{api_virtual_address: 10.20.0.100}}\n", include_str!("../fixtures/highly-available.yaml")));
    let declares = "  hostResources: [{file: {path: /etc/motd, content: Hello}}]\n  hooks: [{name: a, at: afterJoin, script: 'true'}]\n";
    let declares = cluster_of(&format!("{}{declares}", include_str!("../fixtures/highly-available.yaml")));
    let worlds = [World::with_everything(), World::bare_of(highly_available()), World::bare_of(moves), World::bare_of(declares)];
    let plans = worlds.map(|world| world.plan());
    for task in TASKS {
        assert!(plans.iter().flat_map(Plan::steps).any(|step| step.task == task.name), "{} has no step", task.name);
        assert!(!task.about.is_empty() && !task.about.ends_with('.'), "{}", task.name);
    }
}

/// Changes of a converged world, after something in it was changed by hand.
fn repaired(change: impl Fn(&mut World)) -> Vec<String> {
    let mut world = World::converged();
    change(&mut world);
    let plan = world.plan();
    let found = plan.changes().map(|(step, change)| format!("{}: {} because {}", step.id, change.summary(), change.because)).collect();
    for (step, change) in plan.changes() {
        world.carry_out(step, change);
    }
    assert!(world.plan().is_empty(), "something is left to do");
    found
}

#[test]
fn damage_by_hand_is_repaired_with_nothing_else() {
    let file = repaired(|world| world.host("worker1").write("/etc/sysctl.d/99-zz-kokctl.conf", 0o644, "net.ipv4.ip_forward = 0\n"));
    assert_eq!(file, ["worker1/host/sysctls-file: replace the content because its content is not what it should be"]);
    let mode = repaired(|world| world.host("cp1").paths.get_mut("/etc/kubernetes/admin.conf").unwrap().mode = 0o644);
    assert_eq!(mode, ["cp1/certificates/admin.conf: set mode 0600 and owner root because it has mode 0644 and owner 0:0"]);
    let unit = repaired(|world| world.host("worker2").units.get_mut("containerd.service").unwrap().active = "failed".into());
    assert_eq!(unit.first().unwrap(), "worker2/container-runtime/service: start because it is failed");
}

#[test]
fn a_missing_key_gets_a_new_pair_and_never_a_new_authority() {
    let changes = repaired(|world| drop(world.host("cp1").paths.remove("/etc/kubernetes/pki/apiserver.key")));
    assert_eq!(
        changes.iter().filter(|change| change.contains("/certificates/")).collect::<Vec<_>>(),
        [
            "cp1/certificates/pki/apiserver.key: create because it does not exist",
            "cp1/certificates/pki/apiserver.crt: write because /etc/kubernetes/pki/apiserver.key is missing",
            "cp1/control-plane/api-server: look again because cp1/certificates/pki/apiserver.crt changes",
        ]
    );
    let mut world = World::converged();
    world.host("cp1").paths.remove("/etc/kubernetes/pki/etcd/ca.key");
    let refusals = world.try_plan().unwrap_err();
    assert_eq!(refusals.len(), 1);
    assert_eq!(refusals[0].what, "/etc/kubernetes/pki/etcd/ca.key is missing");
}

/// Killed between a new key and its certificate, a run must not leave the certificate of the old key, for nobody reads keys to compare them.
#[test]
fn a_pair_is_new_or_incomplete_and_never_mixed() {
    let mut world = World::converged();
    world.host("cp1").paths.remove("/etc/kubernetes/pki/apiserver.key");
    let plan = world.plan();
    let (step, change) = plan.changes().next().unwrap();
    assert_eq!(step.id.as_str(), "cp1/certificates/pki/apiserver.key");
    world.carry_out(step, change);
    let again: Vec<_> = world.plan().changes().map(|(step, _)| step.id.to_string()).filter(|id| id.contains("/certificates/")).collect();
    assert_eq!(again, ["cp1/certificates/pki/apiserver.key", "cp1/certificates/pki/apiserver.crt"]);
}

#[test]
fn what_is_looked_at_first_knows_no_facts() {
    let (cluster, bundle) = (cluster(), bundle());
    let looks = kok_tasks::plan::looks(&inputs(&cluster, &bundle)).unwrap();
    assert_eq!(looks.keys().collect::<Vec<_>>(), ["cp1", "worker1", "worker2"]);
    assert!(looks.values().all(|looks| !looks.is_empty()));
}
