//! How etcd is founded: by a token of its own, once, and never again by a member that has lost its data.

use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kok_tasks::change::{Change, ChangeKind};
use kok_tasks::digest::sha256;
use kok_tasks::observe::{Kind, Metadata, Observations, PathState};
use kok_tasks::operations::{Component, FOUNDERS_LINK, MEMBER_DATA, Operation, StaticPods};
use kok_tasks::plan::Plan;
use kok_tasks::resources::Act;
use kok_tasks::script::Part;

use crate::bootstrap::{refusal_text, start};
use crate::operations::diff_text;
use crate::support::host::Host;
use crate::support::shell::{Folder, SHELLS, run};
use crate::support::world::World;
use crate::support::{highly_available, own_etcd, step_id};

const BOOTSTRAP: &str = "/etc/kubernetes/kokctl/bootstrap.yaml";
const MANIFEST: &str = "/etc/kubernetes/manifests/etcd.yaml";
const UNIT: &str = "/etc/etcd/etcd.yaml";
const CONTROL_PLANES: [&str; 3] = ["cp1", "cp2", "cp3"];
const MEMBERS: [&str; 3] = ["etcd1", "etcd2", "etcd3"];

fn several() -> World {
    World::bare_of(highly_available())
}

/// The value of an option of etcd in kubeadm's configuration of a host, without its quotes.
fn option(world: &World, host: &str, name: &str) -> Option<String> {
    let mut lines = world.hosts[host].text(BOOTSTRAP).lines();
    lines.find(|line| line.trim().strip_prefix("- name: ").map(|name| name.trim_matches('"')) == Some(name))?;
    Some(lines.next()?.trim().strip_prefix("value: ")?.trim_matches('"').to_owned())
}

fn token(world: &World, host: &str) -> Option<String> {
    option(world, host, "initial-cluster-token")
}

/// The file without an option and what is said of it, as it was before there was one.
fn without(text: &str, name: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let at = lines.iter().position(|line| line.trim().strip_prefix("- name: ").map(|name| name.trim_matches('"')) == Some(name)).unwrap();
    assert!(lines[at - 1].trim().starts_with('#'), "{}", lines[at - 1]);
    lines.iter().enumerate().filter(|(number, _)| !(at - 1..=at + 1).contains(number)).map(|(_, line)| format!("{line}\n")).collect()
}

/// A control plane as an earlier version has founded it: no token, and a manifest that founds again.
fn make_old(world: &mut World, host: &str) {
    let host = world.host(host);
    let text = without(&without(host.text(BOOTSTRAP), "initial-cluster-token"), "peer-trusted-ca-file");
    host.write(BOOTSTRAP, 0o600, &text);
    let manifest: String =
        host.text(MANIFEST).lines().filter(|line| !line.contains(FOUNDERS_LINK)).map(|line| format!("{line}\n")).collect();
    assert!(manifest.contains("--initial-cluster-state=new"), "{manifest}");
    let record = host.text("/var/lib/kokctl/made/etcd").lines().next().unwrap().to_owned();
    host.write(MANIFEST, 0o600, &manifest);
    host.write("/var/lib/kokctl/made/etcd", 0o600, &format!("{record}\n{}  {MANIFEST}\n", sha256(manifest.as_bytes())));
    host.paths.remove(FOUNDERS_LINK);
}

fn changes(plan: &Plan) -> Vec<&str> {
    plan.changes().map(|(step, _)| step.id.as_str()).collect()
}

#[test]
fn the_token_is_the_id_that_the_records_have() {
    for mut world in [several(), World::bare()] {
        world.host("worker2").folder("/var/lib/kokctl", 0o700);
        world.host("worker2").write("/var/lib/kokctl/cluster", 0o600, "demo\nid-of-the-record\n");
        let world = world.converge();
        for host in world.cluster.control_planes() {
            assert_eq!(token(&world, &host.name).as_deref(), Some("id-of-the-record"), "{}", host.name);
            let uploaded = world.hosts[&host.name].text("/etc/kubernetes/kokctl/cluster.yaml");
            assert!(!uploaded.contains("id-of-the-record") && !uploaded.contains(FOUNDERS_LINK), "{uploaded}");
        }
    }
    let world = World::bare_of(own_etcd()).converge();
    for host in MEMBERS {
        assert!(world.hosts[host].text(UNIT).contains("\ninitial-cluster-token: \"c1\"\n"), "{}", world.hosts[host].text(UNIT));
    }
}

/// Everything else is as it was: the name, the hosts, their addresses, the authorities where they are kept.
#[test]
fn another_cluster_of_the_same_hosts_has_another_token() {
    let again = |id: &str| {
        let mut world = several();
        world.host("cp1").folder("/var/lib/kokctl", 0o700);
        world.host("cp1").write("/var/lib/kokctl/cluster", 0o600, &format!("demo\n{id}\n"));
        let world = world.converge();
        CONTROL_PLANES.map(|host| token(&world, host))
    };
    assert_ne!(again("first"), again("second"));
}

#[test]
fn members_that_run_keep_the_token_of_their_founding() {
    let mut world = World::bare_of(own_etcd()).converge();
    for host in MEMBERS {
        let text = world.hosts[host].text(UNIT).replace("initial-cluster-token: \"c1\"", "initial-cluster-token: \"demo\"");
        world.host(host).write(UNIT, 0o644, &text);
        world.host(host).start("etcd.service");
    }
    assert_eq!(changes(&world.plan()), [""; 0], "no member is started anew for a word that it does not read any more");
    let mut world = several().converge();
    CONTROL_PLANES.iter().for_each(|host| make_old(&mut world, host));
    let plan = world.plan();
    assert!(!changes(&plan).iter().any(|id| id.contains("/kubeadm-configuration/") || id.ends_with("/manifests")), "{:?}", changes(&plan));
    let world = world.converge();
    assert_eq!(CONTROL_PLANES.map(|host| token(&world, host)), [None, None, None]);
    assert!(world.plan().is_empty());
}

#[test]
fn a_founding_that_was_begun_goes_on_with_its_token() {
    let mut world = several();
    start(&mut world, &["cp1"]);
    assert!(world.hosts["cp1"].has(MEMBER_DATA));
    make_old(&mut world, "cp1");
    let world = world.converge();
    assert_eq!(CONTROL_PLANES.map(|host| token(&world, host)), [None, None, None], "cp1 was started without one");
    assert!(world.plan().is_empty());
    // What was only written founds nothing.
    let mut world = several();
    start(&mut world, &["cp1"]);
    world.host("cp1").paths.retain(|path, _| !path.starts_with("/var/lib/etcd/"));
    let text = world.hosts["cp1"].text(BOOTSTRAP).replace("\"c1\"", "\"demo\"");
    world.host("cp1").write(BOOTSTRAP, 0o600, &text);
    assert_eq!(token(&world, "cp1").as_deref(), Some("demo"));
    let world = world.converge();
    assert_eq!(CONTROL_PLANES.map(|host| token(&world, host)), [(); 3].map(|()| Some("c1".to_owned())));
}

#[test]
fn a_member_that_has_lost_its_data_founds_nothing() {
    for world in [several().converge(), World::converged()] {
        for host in world.cluster.control_planes() {
            let there = &world.hosts[&host.name];
            assert!(there.text(MANIFEST).contains(&format!("--peer-trusted-ca-file={FOUNDERS_LINK}\n")), "{}", there.text(MANIFEST));
            assert!(there.has(FOUNDERS_LINK) && there.has(MEMBER_DATA));
            assert_eq!(option(&world, &host.name, "peer-trusted-ca-file").as_deref(), Some(FOUNDERS_LINK));
        }
    }
}

/// It works: so it is done on one after the other, and what else the hosts have stays as it is.
#[test]
fn manifests_of_earlier_versions_that_found_again_are_made_anew() {
    let mut world = several().converge();
    CONTROL_PLANES.iter().for_each(|host| make_old(&mut world, host));
    let plan = world.plan();
    for (host, before) in [("cp2", "cp1"), ("cp3", "cp2")] {
        let step = step_id(host, "etcd", "manifest");
        assert!(plan.change(&step).unwrap().because.contains("could found another cluster"), "{:?}", plan.change(&step));
        let needs: Vec<String> = plan.needs(&step).iter().map(|(need, _)| need.id.to_string()).collect();
        for need in ["etcd/member", "control-plane/api-server"] {
            assert!(needs.contains(&format!("{before}/{need}")), "{needs:?}");
            assert!(plan.change(&step_id(before, need.split_once('/').unwrap().0, need.split_once('/').unwrap().1)).is_some());
        }
    }
    let world = world.converge();
    for host in CONTROL_PLANES {
        assert!(world.hosts[host].text(MANIFEST).contains("--initial-cluster-state=existing\n"), "{}", world.hosts[host].text(MANIFEST));
    }
    assert!(world.plan().is_empty());
    // One that was made again later founds nothing, and stays.
    let mut world = several().converge();
    let manifest = "--initial-cluster-state=existing\n";
    let record = world.hosts["cp2"].text("/var/lib/kokctl/made/etcd").lines().next().unwrap().to_owned();
    world.host("cp2").write(MANIFEST, 0o600, manifest);
    world.host("cp2").write("/var/lib/kokctl/made/etcd", 0o600, &format!("{record}\n{}  {MANIFEST}\n", sha256(manifest.as_bytes())));
    world.host("cp2").paths.remove(FOUNDERS_LINK);
    assert_eq!(changes(&world.plan()), [""; 0]);
}

fn etcd(folder: &str) -> StaticPods {
    let path = |name: &str| format!("{folder}/{name}");
    StaticPods {
        component: Component::Etcd,
        configuration: path("new"),
        of_member: Some(path("existing")),
        source: "s1".into(),
        source_alone: None,
    }
}

#[test]
fn a_manifest_that_founds_needs_what_lies_with_the_data() {
    let seen = |manifest: &str, data: bool, link: bool| {
        let mut seen = Observations::default();
        let there = |text: &str| {
            let sha256 = Some(sha256(text.as_bytes()));
            PathState::Present(Metadata { kind: Kind::File, mode: 0o600, user: 0, group: 0, size: 0, changed_nanoseconds: 0, sha256 })
        };
        let record = format!("s1  configuration\n{}  {MANIFEST}\n", sha256(manifest.as_bytes()));
        for (path, text) in [(MANIFEST, manifest), ("/var/lib/kokctl/made/etcd", &record)] {
            seen.paths.insert(path.to_owned(), there(text));
            seen.contents.insert(path.to_owned(), text.as_bytes().to_vec());
        }
        for (path, is_there) in [(MEMBER_DATA, data), (FOUNDERS_LINK, link)] {
            seen.paths.insert(path.to_owned(), if is_there { there("") } else { PathState::Missing });
        }
        diff_text(&Operation::StaticPods(etcd("")), &seen)
    };
    let old = "- --initial-cluster-state=new\n";
    let founds = format!("{old}- --peer-trusted-ca-file={FOUNDERS_LINK}\n");
    let later = "- --initial-cluster-state=existing\n";
    for data in [true, false] {
        assert_eq!(seen(&founds, data, true), "same");
        assert_eq!(seen(later, data, false), "same");
        assert!(seen(&founds, data, false).contains("kokctl-ca.crt is not there"), "restored by hand, or wiped");
        assert!(seen(old, data, false).contains("another cluster"), "{}", seen(old, data, false));
        assert!(seen(old, data, true).contains("another cluster"), "{}", seen(old, data, true));
    }
}

/// The script itself, with folders of the test in place of the host's.
#[test]
fn only_a_founding_makes_what_has_to_lie_with_the_data() {
    for (shell, has_data) in SHELLS.into_iter().flat_map(|shell| [(shell, false), (shell, true)]) {
        let folder = Folder::new();
        let root = folder.root().to_str().unwrap();
        for name in ["new", "existing"] {
            fs::write(folder.path(name), name).unwrap();
        }
        for name in ["etc/kubernetes/manifests", "var/lib/etcd"] {
            fs::create_dir_all(folder.path(name)).unwrap();
        }
        if has_data {
            fs::create_dir_all(folder.path("var/lib/etcd/member/wal")).unwrap();
        }
        let Act::Script(fragment) = Operation::StaticPods(etcd(root)).act(&Change::new(ChangeKind::Write, "")) else { panic!("no script") };
        let Part::Text(encoded) = &fragment.parts()[1] else { panic!("no text") };
        let script = String::from_utf8(STANDARD.decode(encoded.replace('\n', "")).unwrap()).unwrap();
        let script =
            ["/etc/kubernetes/manifests", "/var/lib"].iter().fold(script, |text, path| text.replace(path, &format!("{root}{path}")));
        // In place of kubeadm: the configuration itself.
        let kubeadm = format!(
            "kubeadm() {{ for last in \"$@\"; do :; done; cat \"${{last#--config=}}\" >{root}/etc/kubernetes/manifests/etcd.yaml; }}\n"
        );
        let output = run(shell, &[], &format!("set -eu\n{kubeadm}{script}"));
        assert!(output.status.success(), "{output:?}");
        let manifest = fs::read_to_string(folder.path("etc/kubernetes/manifests/etcd.yaml")).unwrap();
        let link = fs::read_link(folder.path("var/lib/etcd/member/kokctl-ca.crt")).ok();
        let target = link.as_ref().map(|link| link.to_str().unwrap());
        if has_data {
            assert_eq!((manifest.as_str(), target), ("existing", None));
        } else {
            assert_eq!((manifest.as_str(), target), ("new", Some("/etc/kubernetes/pki/etcd/ca.crt")));
        }
    }
}

/// Only that one has the record that the cluster was founded; the others have what they could not have without that.
#[test]
fn the_control_plane_that_has_founded_the_cluster_is_no_new_one_when_it_is_made_anew() {
    let mut world = several().converge();
    assert!(world.hosts["cp1"].has("/var/lib/kokctl/made/founded") && !world.hosts["cp2"].has("/var/lib/kokctl/made/founded"));
    world.hosts.insert("cp1".into(), Host::bare("cp1"));
    for host in ["cp2", "cp3"] {
        world.host(host).units.get_mut("kubelet.service").unwrap().active = "inactive".into();
    }
    let told = refusal_text(&world.try_plan().expect_err("an empty member would be started before the others"));
    assert!(told.contains("not known whether its member of etcd was started before; host cp1"), "{told}");
}
