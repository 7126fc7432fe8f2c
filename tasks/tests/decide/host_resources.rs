//! What a user declares for hosts: order, templates, secrets, and what is refused before anything is changed.

use kok_crds::model::{Cluster, Content, Text, Wish};
use kok_crds::{File, Role, read_input};
use kok_tasks::change::ChangeKind;
use kok_tasks::facts::HostFacts;
use kok_tasks::observe::{Kind, Looks, Metadata, Observations, PathState, Piece, UnitState};
use kok_tasks::plan::{Making, Plan, Refusal, Seen, Selection, fleet, fleet_looks};
use kok_tasks::script::Part;

use crate::support::good_facts;

const HOSTS: &str = "  hosts:\n  - {name: a, address: 10.20.0.11, groups: [web], vars: {port: 8080}}\n  - {name: b, address: 10.20.0.12}\n";

/// A fleet with these entries, and the texts of files that they name.
pub(crate) fn fleet_with(entries: &str, files: &[(&str, &str)]) -> Cluster {
    let text = format!(
        "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Fleet\nmetadata: {{name: office}}\nspec:\n  vars: {{port: 80, title: Hello}}\n{HOSTS}  \
         hostResources:\n{entries}"
    );
    let input = read_input(&[File { name: "fleet.yaml".to_owned(), text, role: Role::Main { cluster: None } }]);
    let mut cluster = input.cluster.unwrap_or_else(|| panic!("{:?}", input.problems));
    for entry in &mut cluster.resources.entries {
        let content = match &mut entry.wish {
            Wish::File { content, .. } | Wish::CaCertificate { certificate: Some(content), .. } => content,
            _ => continue,
        };
        if let Content::Source(file) | Content::Template(file) = content {
            file.text = files.iter().find(|(path, _)| *path == file.path).map(|(_, text)| Text::new(*text));
        }
    }
    cluster
}

/// Hosts on which nothing of what is looked at is there.
pub(crate) fn bare(cluster: &Cluster, change: impl Fn(&str, &mut HostFacts)) -> Seen {
    let mut seen = Seen::default();
    for (host, number) in cluster.hosts.iter().zip(1..) {
        let mut facts = good_facts(&host.name, number);
        change(&host.name, &mut facts);
        seen.add_facts(&host.name, facts);
        seen.add_observations(&host.name, nothing(&fleet_looks(cluster).unwrap()[&host.name]));
    }
    seen
}

pub(crate) fn nothing(looks: &Looks) -> Observations {
    use kok_tasks::observe::Look;
    let mut seen = Observations::default();
    for look in looks.iter() {
        match look {
            Look::File { path, expected: Some(sum) } if path == "/var/lib/kokctl/managed" => {
                let metadata =
                    Metadata { kind: Kind::File, mode: 0o644, user: 0, group: 0, size: 1, changed_nanoseconds: 1, sha256: Some(sum) };
                seen.paths.insert(path, PathState::Present(metadata));
            }
            Look::Path(path) | Look::File { path, .. } => drop(seen.paths.insert(path, PathState::Missing)),
            Look::Unit(name) => {
                let state = UnitState { load: "not-found".to_owned(), active: "inactive".to_owned(), ..UnitState::default() };
                seen.units.insert(name, state);
            }
            Look::Sysctl(name) => drop(seen.sysctls.insert(name, Some("128".to_owned()))),
            Look::KernelModule(name) => drop(seen.modules.insert(name, kok_tasks::observe::ModuleState::Loadable)),
            Look::Piece(piece @ Piece::Line { .. }) => drop(seen.pieces.insert(piece, "= 0\n".to_owned())),
            Look::Piece(piece) => drop(seen.pieces.insert(piece, String::new())),
            other => panic!("{other:?}"),
        }
    }
    seen
}

pub(crate) fn planned(cluster: &Cluster) -> Plan {
    match fleet(cluster, &bare(cluster, |_, _| {}), &Selection::whole()) {
        Ok(Making::Made(plan)) => *plan,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn refused(cluster: &Cluster, change: impl Fn(&str, &mut HostFacts)) -> Vec<Refusal> {
    fleet(cluster, &bare(cluster, change), &Selection::whole()).err().unwrap_or_else(|| panic!("nothing is refused"))
}

/// The entries of a host in an order in which they can be done.
pub(crate) fn order(plan: &Plan, host: &str) -> Vec<String> {
    let is_entry = |name: &&str| *name != "managed list";
    plan.steps().filter(|step| step.host == host).map(|step| step.id.name()).filter(is_entry).map(str::to_owned).collect()
}

#[test]
fn each_comes_after_what_it_needs_whatever_the_order_of_the_file() {
    let cluster = fleet_with(
        "  - {name: service, unit: {name: app.service, state: running, enabled: true, restartOn: [settings]}}\n  \
         - {name: unit, file: {path: /etc/systemd/system/app.service, content: \"[Service]\\n\"}}\n  \
         - {name: settings, file: {path: /etc/app/app.conf, content: x, owner: app, group: app}}\n  \
         - {name: key, authorizedKey: {user: app, key: \"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl me\"}}\n  \
         - {name: user, user: {name: app, group: app, system: true}}\n  \
         - {name: folder, dir: {path: /etc/app}}\n  \
         - {name: members, group: {name: app}}\n  \
         - {name: packages, package: {names: [nginx]}}\n  \
         - {name: source, file: {path: /etc/apt/sources.list.d/x.list, content: x}}\n",
        &[],
    );
    let order = order(&planned(&cluster), "a");
    let at = |name: &str| order.iter().position(|other| other == name).unwrap_or_else(|| panic!("{name}: {order:?}"));
    for (earlier, later) in [
        ("settings", "service"),
        ("unit", "service"),
        ("folder", "settings"),
        ("user", "settings"),
        ("members", "user"),
        ("user", "key"),
        ("packages", "folder"),
        ("packages", "service"),
        ("source", "packages"),
    ] {
        assert!(at(earlier) < at(later), "{earlier} before {later}: {order:?}");
    }
}

#[test]
fn what_is_said_wins_over_what_is_usual() {
    let cluster = fleet_with(
        "  - {name: packages, package: {names: [nginx]}, after: [answers]}\n  - {name: answers, file: {path: /etc/answers, content: x}}\n",
        &[],
    );
    assert_eq!(order(&planned(&cluster), "b"), ["answers", "packages"]);
}

#[test]
fn a_circle_of_needs_is_named() {
    let cluster =
        fleet_with("  - {name: one, dir: {path: /srv/a}, after: [two]}\n  - {name: two, file: {path: /srv/a/b, content: x}}\n", &[]);
    let refusal = fleet_looks(&cluster).unwrap_err().remove(0);
    assert!(refusal.what.contains("`one`") && refusal.what.contains("`two`"), "{refusal:?}");
    assert!(refusal.at.as_deref().unwrap().starts_with("fleet.yaml:1"), "{refusal:?}");
}

#[test]
fn a_unit_is_started_again_with_what_it_reads() {
    let cluster = fleet_with(
        "  - {name: settings, file: {path: /etc/app.conf, content: x}}\n  \
         - {name: service, unit: {name: app.service, restartOn: [settings, /etc/other]}}\n",
        &[],
    );
    let mut seen = bare(&cluster, |_, _| {});
    for host in ["a", "b"] {
        let state =
            UnitState { load: "loaded".to_owned(), active: "active".to_owned(), file: "disabled".to_owned(), ..UnitState::default() };
        let units = [("app.service".to_owned(), state)].into();
        seen.add_observations(host, Observations { units, ..Observations::default() });
    }
    let Ok(Making::Made(plan)) = fleet(&cluster, &seen, &Selection::whole()) else { panic!("no plan") };
    let changes: Vec<_> = plan.changes().filter(|(step, _)| step.host == "a").collect();
    assert_eq!(changes.len(), 2);
    assert_eq!((changes[1].0.id.name(), &changes[1].1.kind), ("service", &ChangeKind::DoAgain));
    let script = format!("{:?}", changes[1].0.act(changes[1].1));
    assert!(script.contains("try-restart") && !script.contains("enable"), "what is not said stays as it is: {script}");
    assert!(changes[1].0.looks().contains(&kok_tasks::observe::Look::Path("/etc/other".to_owned())));
}

#[test]
fn a_template_has_the_facts_and_variables_of_its_host() {
    let text = "{{ vars.title }} {{ host.name }}:{{ vars.port }} on {{ facts.os.id }} {{ facts.os.version }}\n\
                {% for other in hosts %}{{ other.name }} {% endfor %}{{ host.groups | join(',') }}\n";
    let cluster = fleet_with("  - {name: motd, file: {path: /etc/motd, template: motd.j2}}\n", &[("motd.j2", text)]);
    let plan = planned(&cluster);
    let diffs: Vec<String> = plan.changes().map(|(_, change)| change.diff.clone().unwrap()).collect();
    assert!(diffs[0].contains("+Hello a:8080 on debian 12\n+a b web\n"), "{diffs:?}");
    assert!(diffs[1].contains("+Hello b:80 on debian 12\n+a b \n"), "{diffs:?}");
}

#[test]
fn what_a_template_lacks_is_named_with_its_place() {
    let entry = "  - {name: motd, file: {path: /etc/motd, template: files/motd.j2}}\n";
    let said = |text: &str| {
        let cluster = fleet_with(entry, &[("files/motd.j2", text)]);
        let refusal = fleet_looks(&cluster).err().unwrap_or_else(|| refused(&cluster, |_, _| {})).remove(0);
        (refusal.what, refusal.at.unwrap(), refusal.because.unwrap(), refusal.hint.unwrap())
    };
    let (what, at, because, hint) = said("one\n{{ facts.productUuid }}\n");
    assert_eq!(what, "the template of `motd` can't be filled for the host a");
    assert_eq!(at, "files/motd.j2:2 (named at fleet.yaml:10:52)");
    assert!(because == "the host has no `facts.productUuid`" && hint.contains("is defined"), "{because} {hint}");
    let (_, at, because, _) = said("{{ vars.port }}\n\n{{ vars.prot }}\n");
    assert!(at.starts_with("files/motd.j2:3") && because == "the host has no `vars.prot`", "{at} {because}");
    let (_, at, because, _) = said("{% if %}\n");
    assert!(at.starts_with("files/motd.j2:1") && because.contains("syntax error"), "{at} {because}");
}

#[test]
fn variables_are_missed_before_a_host_is_asked_and_facts_after() {
    let entry = "  - {name: motd, file: {path: /etc/motd, template: t}}\n";
    assert!(fleet_looks(&fleet_with(entry, &[("t", "{{ vars.nothing }}")])).is_err());
    let cluster = fleet_with(entry, &[("t", "{{ facts.productUuid }}")]);
    assert!(fleet_looks(&cluster).is_ok());
    assert_eq!(refused(&cluster, |_, _| {}).len(), 2);
    assert_eq!(refused(&cluster, |host, facts| facts.product_uuid = (host == "a").then(|| "x".to_owned())).len(), 1);
}

#[test]
fn a_secret_is_neither_shown_nor_in_what_is_saved() {
    const WORD: &str = "correct-horse-battery-staple";
    let cluster = fleet_with(&format!("  - {{name: key, file: {{path: /etc/key, content: {WORD}, secret: true}}}}\n"), &[]);
    let plan = planned(&cluster);
    let (step, change) = plan.changes().next().unwrap();
    assert_eq!(change.diff.as_deref(), Some("‹secret: changed›"));
    let act = step.act(change);
    assert!(act.script().unwrap().parts().iter().any(|part| matches!(part, Part::Secret(_))));
    assert!(!format!("{plan:?} {act:?} {cluster:?}").contains(WORD));
    let (name, text) = step.given()[0];
    assert_eq!((name.to_string().as_str(), text.expose()), ("/etc/key of a", WORD));
    assert!(
        !step.looks().iter().any(|look| matches!(look, kok_tasks::observe::Look::File { expected: Some(_), .. })),
        "its content would come"
    );
}

pub(crate) const PEM: &str = "-----BEGIN CERTIFICATE-----\nMIIB\n1234\n-----END CERTIFICATE-----\n";
const BUNDLE: &str = "/etc/ssl/certs/ca-certificates.crt";
const ANCHOR: &str = "/usr/local/share/ca-certificates/corp.crt";

/// Host `a` as these say, with nothing else there.
fn of_host_a(cluster: &Cluster, observations: Observations) -> Seen {
    let mut seen = bare(cluster, |_, _| {});
    seen.add_observations("a", observations);
    seen
}

fn made(cluster: &Cluster, seen: &Seen) -> Vec<(String, String)> {
    let Ok(Making::Made(plan)) = fleet(cluster, seen, &Selection::whole()) else { panic!("no plan") };
    let of_a = plan.changes().filter(|(step, _)| step.host == "a");
    of_a.map(|(step, change)| (step.id.name().to_owned(), change.because.clone())).collect()
}

/// A path that was changed at that time.
fn at(kind: Kind, time: i128, text: &str) -> PathState {
    let sha256 = Some(kok_tasks::digest::sha256(text.as_bytes()));
    PathState::Present(Metadata { kind, mode: 0o644, user: 0, group: 0, size: 1, changed_nanoseconds: time, sha256 })
}

/// That its file is there is not enough: what programs read has to have it.
#[test]
fn a_certificate_is_trusted_when_the_store_has_it() {
    let cluster = fleet_with("  - {name: corp, caCertificate: {name: corp, source: corp.crt}, on: [a]}\n", &[("corp.crt", PEM)]);
    let plan = planned(&cluster);
    let steps: Vec<_> = plan.changes().map(|(step, change)| (step.id.to_string(), step.title(), change.summary())).collect();
    assert_eq!(steps[0], ("a/resources/corp/file".to_owned(), format!("file {ANCHOR}"), "create".to_owned()));
    assert_eq!(steps[1], ("a/resources/corp".to_owned(), format!("trust in {ANCHOR}"), "update".to_owned()));
    let (step, change) = plan.changes().nth(1).unwrap();
    let script = format!("{:?}", step.act(change));
    assert!(script.contains("flock /run/kokctl-trust.lock update-ca-certificates >/dev/null"), "{script}");

    let trusted = Piece::Trusted { bundle: BUNDLE.to_owned(), body: "MIIB1234".to_owned() };
    let with = |made_at: i128, said: &str, text: &str| {
        let paths = [(ANCHOR.to_owned(), at(Kind::File, 5, text)), (BUNDLE.to_owned(), at(Kind::File, made_at, ""))].into();
        let pieces = [(trusted.clone(), said.to_owned())].into();
        made(&cluster, &of_host_a(&cluster, Observations { paths, pieces, ..Observations::default() }))
    };
    assert_eq!(with(5, "yes\n", PEM), []);
    assert_eq!(with(5, "", PEM), [("corp".to_owned(), format!("{BUNDLE} does not have it, so programs don't trust it"))]);
    assert_eq!(with(4, "yes\n", PEM), [("corp".to_owned(), format!("{ANCHOR} is newer than what programs read"))]);
    let names: Vec<String> = with(5, "yes\n", "another").into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["corp/file", "corp"], "what is written anew is taken over anew");
}

#[test]
fn a_certificate_that_is_gone_is_gone_from_the_store_too() {
    let cluster = fleet_with("  - {caCertificate: {name: corp, state: absent}, on: [a]}\n", &[]);
    const FOLDER: &str = "/usr/local/share/ca-certificates";
    let with = |file: PathState, folder: PathState, bundle: PathState| {
        let paths = [(ANCHOR.to_owned(), file), (FOLDER.to_owned(), folder), (BUNDLE.to_owned(), bundle)].into();
        made(&cluster, &of_host_a(&cluster, Observations { paths, ..Observations::default() }))
    };
    let (folder, bundle) = (|time| at(Kind::Directory, time, ""), |time| at(Kind::File, time, ""));
    assert_eq!(with(PathState::Missing, folder(4), bundle(5)), []);
    assert_eq!(with(PathState::Missing, PathState::Missing, PathState::Missing), [], "nothing trusts it where there is no store");
    let names = |made: Vec<(String, String)>| made.into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(names(with(at(Kind::File, 1, PEM), folder(4), bundle(5))), ["caCertificate:corp/file", "caCertificate:corp"]);
    assert_eq!(names(with(PathState::Missing, folder(6), bundle(5))), ["caCertificate:corp"], "a run was cut off between the two");
}

#[test]
fn each_family_has_its_own_store() {
    let cluster = fleet_with("  - {caCertificate: {name: corp, source: corp.crt}}\n", &[("corp.crt", PEM)]);
    let mut seen = Seen::default();
    for (host, number) in cluster.hosts.iter().zip(1..) {
        let mut facts = good_facts(&host.name, number);
        facts.os_id = "rocky".to_owned();
        facts.os_like = vec!["rhel".to_owned()];
        facts.commands.insert("update-ca-trust".to_owned());
        seen.add_facts(&host.name, facts);
    }
    let Ok(Making::LookFirst(looks)) = fleet(&cluster, &seen, &Selection::whole()) else { panic!("nothing to look at") };
    let looks = format!("{looks:?}");
    assert!(
        looks.contains("/etc/pki/ca-trust/source/anchors/corp.crt") && looks.contains("/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem")
    );
    assert!(!looks.contains("/usr/local/share"), "{looks}");
}
