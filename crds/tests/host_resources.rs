//! What is declared for hosts, and files of kind Fleet.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use kok_crds::model::{Cluster, Content, Wish};
use kok_crds::{File, Input, Role, read_cluster, read_input};

fn input(text: &str) -> Input {
    read_input(&[File { name: "fleet.yaml".to_owned(), text: text.to_owned(), role: Role::Main { cluster: None } }])
}

fn fleet(hosts: &str, resources: &str) -> String {
    format!(
        "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Fleet\nmetadata: {{name: office}}\nspec:\n  ssh: {{user: ops}}\n  \
         vars: {{port: 80}}\n  hosts:\n{hosts}  hostResources:\n{resources}"
    )
}

const HOSTS: &str = "  - {name: a, address: 10.0.0.1, groups: [web], vars: {port: 81}}\n  - {name: b, address: 10.0.0.2, groups: [web, db]}\n  \
                     - {name: c, address: 10.0.0.3, ssh: {user: root}}\n";

fn read(resources: &str) -> Cluster {
    let input = input(&fleet(HOSTS, resources));
    assert!(input.problems.is_empty(), "{:?}", input.problems);
    input.cluster.unwrap()
}

fn problems(hosts: &str, resources: &str) -> Vec<String> {
    input(&fleet(hosts, resources)).problems.iter().map(ToString::to_string).collect()
}

#[test]
fn a_fleet_is_hosts_and_what_is_declared_for_them() {
    let cluster = read("  - {file: {path: /etc/motd, template: motd.j2}, on: [web]}\n  - {name: x, on: [c, a], dir: {path: /srv/x}}\n");
    assert_eq!(cluster.name, "office");
    assert!(cluster.fleet.as_ref().unwrap().groups["db"] == ["b"] && cluster.control_planes().next().is_none());
    let users: Vec<_> = cluster.hosts.iter().map(|host| host.ssh.user.as_deref().unwrap()).collect();
    assert_eq!(users, ["ops", "ops", "root"]);
    let entries: Vec<_> = cluster
        .resources
        .entries
        .iter()
        .map(|entry| (entry.name.as_str(), entry.hosts.iter().cloned().collect::<Vec<_>>().join(",")))
        .collect();
    assert_eq!(entries, [("file:/etc/motd", "a,b".to_owned()), ("x", "a,c".to_owned())], "those that are meant");
    assert_eq!([cluster.resources.vars_of("a")["port"].clone(), cluster.resources.vars_of("b")["port"].clone()], [81, 80]);
}

#[test]
fn limits_take_hosts_and_groups_of_a_fleet() {
    let input = input(&fleet(HOSTS, "  - {dir: {path: /srv/x}}\n"));
    let at = kok_crds::Position { file: "--limit".into(), line: 1, column: 1 };
    let named = |pattern: &str| input.hosts(pattern, &at).map_err(|problems| problems[0].message.clone());
    assert_eq!(named("web:!b").unwrap(), ["a"]);
    assert_eq!(named("db,c").unwrap(), ["b", "c"]);
    assert_eq!(named("all").unwrap().len(), 3);
    assert!(named("wbe").is_err());
}

#[test]
fn what_is_no_fleet_is_said_with_its_place() {
    let entry = "  - {dir: {path: /srv/x}}\n";
    let wrong = [
        ("  - {name: a, address: 10.0.0.1, roles: [worker]}\n", entry, "unknown field `roles`"),
        ("  - {name: a, address: 10.0.0.1}\n  - {name: a, address: 10.0.0.2}\n", entry, "two hosts have the name `a`"),
        ("  - {name: a, address: 10.0.0.1, groups: [all]}\n", entry, "`all` cannot be the name of a group"),
        ("  - {name: a, address: 10.0.0.1, groups: [a]}\n", entry, "`a` is a host and a group"),
        ("  - {name: a, address: web.example}\n", entry, "`web.example` cannot be the address of a host"),
        ("    []\n", entry, "the fleet has no hosts"),
        (HOSTS, "  - {dir: {path: /srv/x}, on: [worker]}\n", "`on` cannot be `worker`"),
        (HOSTS, "    maxPods: 3\n", "`hostResources` cannot be a map"),
    ];
    for (hosts, resources, what) in wrong {
        let found = problems(hosts, resources);
        assert!(found.iter().any(|problem| problem.contains(what)), "{what}: {found:?}");
        assert!(found.iter().all(|problem| problem.contains("fleet.yaml:") && problem.contains("hint: ")), "{found:?}");
    }
}

#[test]
fn a_cluster_declares_in_a_list_or_beside_what_is_kept() {
    let of = |resources: &str| {
        let text = format!(
            "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {{name: demo}}\nspec:\n  kubernetesVersion: 1.37.1\n  \
             hosts:\n    - {{name: cp1, address: 10.0.0.11, roles: [control-plane]}}\n    - {{name: w1, address: 10.0.0.12, roles: [worker]}}\n  \
             hostResources:{resources}"
        );
        read_cluster("cluster.yaml", &text).unwrap_or_else(|problems| panic!("{problems:?}"))
    };
    let list = of(" [{dir: {path: /srv/x}, on: [worker]}]\n");
    assert!(list.resources.entries[0].hosts.iter().eq(["w1"]));
    let map = of("\n    maxPods: 90\n    vars: {a: 1}\n    hostVars: {w1: {a: 2}}\n    resources: [{dir: {path: /srv/x}}]\n");
    assert_eq!(
        (map.resources.entries.len(), &map.resources.vars_of("w1")["a"], &map.resources.vars_of("cp1")["a"]),
        (1, &2.into(), &1.into())
    );
    assert_eq!(map.resources.entries[0].origin.to_string(), "cluster.yaml:13:17");
}

#[test]
fn modes_are_octal_and_secrets_are_the_owners() {
    let cluster = read(
        "  - {file: {path: /a, content: x, mode: 0640}}\n  - {file: {path: /b, content: x, mode: \"750\"}}\n  \
         - {file: {path: /c, content: x, secret: true}}\n  - {file: {path: /d, content: x}}\n",
    );
    let modes: Vec<u32> = cluster
        .resources
        .entries
        .iter()
        .map(|entry| match &entry.wish {
            Wish::File { rights, .. } => rights.mode,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(modes, [0o640, 0o750, 0o600, 0o644]);
}

#[test]
fn what_is_not_said_of_a_mount_or_an_archive_has_a_meaning() {
    use kok_crds::model::{Mount, MountState, PayloadSource};
    let cluster = read(
        "  - {mount: {path: /srv/a, device: LABEL=a, fstype: xfs}}\n  - {mount: {path: /srv/b, device: /srv/a, options: \"bind,ro\", state: present}}\n  \
         - {mount: {path: /srv/c, state: absent}}\n  - {archive: {into: /opt/app, source: files/app-1.tgz}}\n  \
         - {archive: {into: /opt/app, source: more.tar, strip: 1, owner: app}}\n",
    );
    let entries = &cluster.resources.entries;
    let mounts: Vec<&Mount> =
        entries.iter().filter_map(|entry| if let Wish::Mount(mount) = &entry.wish { Some(mount) } else { None }).collect();
    assert_eq!((mounts[0].options.as_str(), mounts[0].pass, mounts[0].state), ("defaults", 0, MountState::Mounted));
    assert_eq!((mounts[1].fstype.as_str(), mounts[1].is_bind(), mounts[1].state), ("none", true, MountState::Present));
    assert_eq!((mounts[2].device.as_str(), mounts[2].state), ("", MountState::Absent));
    let names: Vec<&str> = entries.iter().skip(2).map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["mount:/srv/c", "archive:/opt/app", "archive:/opt/app#2"]);
    let Wish::Archive { payload, strip, rights, contents: None, .. } = &entries[4].wish else { panic!("{:?}", entries[4]) };
    assert_eq!((&payload.source, *strip, rights.owner.as_str()), (&PayloadSource::File("more.tar".to_owned()), 1, "app"));
}

#[test]
fn nothing_prints_what_stands_in_a_file() {
    let cluster = read("  - {file: {path: /c, content: hunter22, secret: true}}\n");
    assert!(!format!("{cluster:?}").contains("hunter22"));
    let Wish::File { content: Content::Text(text), secret: true, .. } = &cluster.resources.entries[0].wish else { panic!("no secret") };
    assert_eq!(text.expose(), "hunter22");
}
