//! What a user declares for hosts: what is refused before anything is changed, what left the file, and what many hosts cost.

use kok_crds::model::{Cluster, Compression, Content, Contents, Held, Member, MemberKind, Text, Wish};
use kok_crds::{File, Role, read_input};
use kok_tasks::facts::HostFacts;
use kok_tasks::observe::PathState;
use kok_tasks::plan::{Making, Seen, Selection, fleet, fleet_looks, make};

use crate::host_resources::{PEM, bare, fleet_with, nothing, order, planned, refused};
use crate::support::{bundle, cluster_of, good_facts, inputs, seen_with};

#[test]
fn a_host_without_a_store_is_refused_unless_it_gets_one() {
    let lacks = |_: &str, facts: &mut HostFacts| {
        facts.commands.remove("update-ca-certificates");
    };
    let entry = "  - {caCertificate: {name: corp, source: corp.crt}, on: [a]}\n";
    let refusal = refused(&fleet_with(entry, &[("corp.crt", PEM)]), lacks).remove(0);
    assert_eq!(refusal.what, "a has no store of trusted certificates for `caCertificate:corp`");
    assert_eq!(refusal.at.as_deref(), Some("fleet.yaml:10:5"));
    assert!(refusal.hint.as_deref().unwrap().contains("`package: {names: [ca-certificates]}`"), "{refusal:?}");
    let cluster = fleet_with(&format!("{entry}  - {{package: {{names: [ca-certificates]}}}}\n"), &[("corp.crt", PEM)]);
    let Ok(Making::Made(plan)) = fleet(&cluster, &bare(&cluster, lacks), &Selection::whole()) else { panic!("no plan") };
    assert_eq!(order(&plan, "a"), ["package:ca-certificates", "caCertificate:corp/file", "caCertificate:corp"]);
}

#[test]
fn hosts_that_cannot_be_changed_are_refused() {
    let cluster = fleet_with("  - {dir: {path: /srv/x}}\n  - {unit: {name: x.service, state: running}, on: [b]}\n", &[]);
    let found = refused(&cluster, |host, facts| match host {
        "a" => facts.cluster = Some("demo".to_owned()),
        _ => facts.systemd = false,
    });
    let said: Vec<&str> = found.iter().map(|refusal| refusal.what.as_str()).collect();
    assert_eq!(said, ["a is a host of the cluster demo", "b does not run systemd"]);
    assert!(found.iter().all(|refusal| refusal.hint.is_some()));
    // What is no matter of systemd is done without it.
    let cluster = fleet_with("  - {dir: {path: /srv/x}}\n", &[]);
    let without = bare(&cluster, |_, facts| {
        facts.systemd = false;
        ["systemctl", "systemd-run"].iter().for_each(|command| {
            facts.commands.remove(*command);
        });
    });
    assert!(matches!(fleet(&cluster, &without, &Selection::whole()), Ok(Making::Made(_))));
}

/// What is declared no more is named once, and stays.
#[test]
fn what_left_the_file_is_named() {
    let cluster = fleet_with("  - {dir: {path: /srv/x}}\n", &[]);
    let mut seen = bare(&cluster, |_, _| {});
    let path = "/var/lib/kokctl/managed";
    let mut had = nothing(&fleet_looks(&cluster).unwrap()["a"]);
    let Some(PathState::Present(metadata)) = had.paths.get_mut(path) else { panic!("nobody looks") };
    metadata.sha256 = Some("0".repeat(64));
    had.contents.insert(path.to_owned(), b"dir /srv/x\nfile /etc/motd\nuser app\n".to_vec());
    seen.add_observations("a", had);
    let Ok(Making::Made(plan)) = fleet(&cluster, &seen, &Selection::whole()) else { panic!("no plan") };
    let because: Vec<&str> =
        plan.changes().filter(|(step, _)| step.id.name() == "managed list").map(|(_, is)| is.because.as_str()).collect();
    assert_eq!(because, ["no longer managed, and left as it is: file /etc/motd, user app"]);
}

/// What kokctl does itself in a cluster, by what a user declares.
#[test]
fn what_kokctl_writes_itself_is_refused_with_both_places() {
    for (entry, step, what) in [
        ("{file: {path: /etc/sysctl.d/99-zz-kokctl.conf, content: x}}", "cp1/host/sysctls-file", "/etc/sysctl.d/99-zz-kokctl.conf"),
        ("{line: {path: /etc/containerd/config.toml, line: x}}", "cp1/container-runtime/configuration", "/etc/containerd/config.toml"),
        ("{absent: {path: /etc/containerd, recursive: true}}", "cp1/container-runtime/", "/etc/containerd"),
        ("{sysctl: {name: net.ipv4.ip_forward, value: 0}}", "cp1/host/sysctl-net.ipv4.ip_forward", "sysctl net.ipv4.ip_forward"),
        ("{unit: {name: kubelet.service, state: stopped}}", "cp1/kubelet", "unit kubelet.service"),
    ] {
        let text = include_str!("../fixtures/cluster.yaml");
        let cluster = cluster_of(&format!("{}  hostResources: [{entry}]\n", text.trim_end().to_owned() + "\n"));
        let found = make(&inputs(&cluster, &bundle()), &seen_with(|_, _| {})).err().unwrap_or_else(|| panic!("{entry} is taken"));
        let refusal = found.first().unwrap();
        assert!(refusal.what.contains(what), "{refusal:?}");
        assert!(refusal.because.as_deref().unwrap().contains(step), "{refusal:?}");
        assert!(refusal.at.as_deref().unwrap().starts_with("cluster.yaml:"), "{refusal:?}");
        assert_eq!(found.len(), 1, "of all hosts it is said once");
    }
}

#[test]
fn lines_and_blocks_stand_beside_those_of_kokctl() {
    let entries = "[{line: {path: /etc/hosts, line: 192.0.2.1 a}}, {block: {path: /etc/hosts, text: 192.0.2.2 b}}]";
    let cluster = cluster_of(&format!("{}\n  hostResources: {entries}\n", include_str!("../fixtures/cluster.yaml").trim_end()));
    let made = make(&inputs(&cluster, &bundle()), &seen_with(|_, _| {}));
    assert!(matches!(made, Ok(Making::LookFirst(_))), "{made:?}");
}

/// What is in an archive stands in no file: two that have one path would undo each other in every run.
#[test]
fn two_archives_have_no_path_in_common() {
    let member = |path: &str| Member { path: path.to_owned(), kind: MemberKind::File { mode: 0o644, sha256: "0a".repeat(32) } };
    let cluster = |paths: [&[&str]; 2]| {
        let entries = "  - {name: one, archive: {into: /opt/app, source: one.tar}}\n  - {name: two, archive: {into: /opt/app/sub, source: two.tar}}\n";
        let mut cluster = fleet_with(entries, &[]);
        for (entry, paths) in cluster.resources.entries.iter_mut().zip(paths) {
            let Wish::Archive { payload, contents, .. } = &mut entry.wish else { panic!("{entry:?}") };
            payload.held = Some(Held { path: "/files/it.tar".to_owned(), size: 1, sha256: "0b".repeat(32) });
            let members: Vec<Member> = paths.iter().map(|path| member(path)).collect();
            *contents = Some(Contents { compression: Compression::None, roots: vec![String::new()], members: members.into() });
        }
        cluster
    };
    planned(&cluster([&["sub/a", "b"], &["b"]]));
    let refusals = refused(&cluster([&["sub/a", "b"], &["a"]]), |_, _| {});
    assert_eq!(refusals.len(), 1, "of all hosts it is told once: {refusals:?}");
    assert_eq!(refusals[0].what, "two entries write /opt/app/sub/a");
    assert!(
        refusals[0].at.as_deref() == Some("fleet.yaml:11:5") && refusals[0].because.as_ref().unwrap().contains("fleet.yaml:10:5"),
        "{refusals:?}"
    );
}

/// A fleet of so many hosts, with templates, lines, a unit and hooks; what nobody has changed since.
fn large(count: usize) -> (Cluster, Seen) {
    let hosts: String =
        (1..=count).map(|i| format!("  - {{name: n{i}, address: 10.1.{}.{}, vars: {{number: {i}}}}}\n", i >> 8, i & 255)).collect();
    let files: String = (1..=6).map(|i| format!("  - {{file: {{path: /etc/app/{i}.conf, template: a.j2}}}}\n")).collect();
    let lines: String = (1..=6).map(|i| format!("  - {{line: {{path: /etc/lines, line: line {i}}}, on: [all]}}\n")).collect();
    let hooks: String = (1..=4).map(|i| format!("  - {{name: h{i}, at: afterPreparation, script: 'true', creates: /srv/{i}}}\n")).collect();
    let text = format!(
        "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Fleet\nmetadata: {{name: large}}\nspec:\n  hosts:\n{hosts}  hostResources:\n  \
         - {{dir: {{path: /etc/app}}}}\n{files}{lines}  - {{unit: {{name: app.service, state: running}}}}\n  hooks:\n{hooks}"
    );
    let input = read_input(&[File { name: "fleet.yaml".to_owned(), text, role: Role::Main { cluster: None } }]);
    let mut cluster = input.cluster.unwrap_or_else(|| panic!("{:?}", input.problems));
    for entry in &mut cluster.resources.entries {
        if let Wish::File { content: Content::Template(file), .. } = &mut entry.wish {
            file.text = Some(Text::new("number {{ vars.number }} of {{ host.name }}\n"));
        }
    }
    let looks = fleet_looks(&cluster).unwrap();
    let mut seen = Seen::default();
    for host in &cluster.hosts {
        seen.add_facts(&host.name, good_facts(&host.name, 11));
        seen.add_observations(&host.name, nothing(&looks[&host.name]));
    }
    (cluster, seen)
}

/// What a plan costs for each host does not hang on how many there are: four times as many may take twelve times as long where other tests have the
/// processors and their caches, and not sixteen. Both are taken in turn, and the fastest counts.
#[test]
fn a_plan_for_many_hosts_costs_as_much_for_each() {
    let once = |(cluster, seen): &(Cluster, Seen)| {
        let began = std::time::Instant::now();
        let Ok(Making::Made(plan)) = fleet(cluster, seen, &Selection::whole()) else { panic!("no plan") };
        assert_eq!(plan.changes().count(), cluster.hosts.len() * (1 + 6 + 6 + 1 + 4));
        began.elapsed()
    };
    let (small, large) = (large(150), large(600));
    let rounds: Vec<_> = (0..5).map(|_| (once(&small), once(&large))).collect();
    let (few, many) = (rounds.iter().map(|it| it.0).min().unwrap(), rounds.iter().map(|it| it.1).min().unwrap());
    assert!(many < few * 12, "150 hosts take {few:?}, 600 take {many:?}");
}
