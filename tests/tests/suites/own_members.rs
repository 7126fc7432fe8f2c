//! Members of etcd that are units come and go under load: three become five, the first is removed, a dead one and one without its data are replaced, and
//! three are left. Two of them stand beside API servers, the others on hosts of their own.

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Host, Lab, LabSpec};

use crate::cluster_support::clock::Clock;
use crate::cluster_support::cluster::control_planes;
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::{bare, ok};
use crate::highly_available_story::{any, member, units};
use crate::lab_support::wait_for;
use crate::members_story::killed;
use crate::members_story::load::{Load, POWER_CUT};

const ALL: [&str; 5] = ["etcd1", "cp1", "cp2", "etcd2", "etcd3"];

#[test]
fn members_that_are_units_come_and_go() {
    let lab = Lab::up(LabSpec::unique(6).control_planes(2).etcd(3)).unwrap_or_else(|error| panic!("{error}"));
    let kokctl = Kokctl::new(&lab);
    let mut clock = Clock::start();
    let inventory = lab.inventory(DEFAULT_KUBERNETES_VERSION).unwrap();
    kokctl.write_manifest(&with(&inventory, &ALL[..3]));
    kokctl.converge("apply");
    assert_members_work(&lab, &kokctl, &ALL[..3]);
    let load = Load::begin(&lab);
    clock.lap("three members");
    become_five(&lab, &kokctl, &inventory);
    load.goes_on("3 → 5");
    clock.lap("five");
    the_first_is_removed(&lab, &kokctl);
    load.goes_on("the first removed and joined anew");
    clock.lap("the first is removed, and joins anew");
    a_dead_one_is_replaced(&lab, &kokctl, &load);
    load.goes_on("a dead one replaced");
    clock.lap("a dead one is replaced");
    one_without_its_data_is_replaced(&lab, &kokctl);
    load.goes_on("one without its data replaced");
    clock.lap("one without its data is replaced");
    three_are_left(&lab, &kokctl, &inventory);
    load.goes_on("5 → 3");
    load.end();
    clock.lap("three are left");
}

/// The file with these members, and without the other hosts of etcd. The first of them is the first of the file.
fn with(inventory: &str, members: &[&str]) -> String {
    let is_of = |line: &str, name: &str| line.contains(&format!("name: {name},"));
    let is_kept = |line: &&str| members.iter().any(|name| is_of(line, name)) || !line.contains("roles: [etcd]");
    let lines = || inventory.lines().filter(is_kept);
    let first = lines().find(|line| is_of(line, members[0])).unwrap();
    let mut text = String::new();
    for line in lines().filter(|line| *line != first) {
        let beside = members.iter().any(|name| is_of(line, name));
        let line = if beside { line.replace("roles: [control-plane]", "roles: [control-plane, etcd]") } else { line.to_owned() };
        text.push_str(&format!("{line}\n"));
        if line.trim() == "hosts:" {
            text.push_str(&format!("{first}\n"));
        }
    }
    text
}

fn hosts(lab: &Lab, names: &[&str]) -> Vec<Host> {
    names.iter().map(|name| lab.host(name).unwrap()).collect()
}

/// Each of them says that these are the members, API servers know them and no others, and nothing is left to do.
fn assert_members_work(lab: &Lab, kokctl: &Kokctl<'_>, names: &[&str]) {
    let members = hosts(lab, names);
    members.iter().for_each(|host| drop(units::works_with(lab, host, &members)));
    let mut expected: Vec<String> = members.iter().map(|host| format!("https://{}:2379", host.address())).collect();
    expected.sort();
    for plane in control_planes(lab) {
        let servers = ok(&plane, "sed -n 's/^ *- --etcd-servers=//p' /etc/kubernetes/manifests/kube-apiserver.yaml");
        let mut servers: Vec<&str> = servers.trim().split(',').collect();
        servers.sort_unstable();
        assert_eq!(servers, expected, "{}", plane.name());
    }
    kokctl.has_nothing_to_do();
}

/// Killed somewhere on the way; the next one goes on.
fn become_five(lab: &Lab, kokctl: &Kokctl<'_>, inventory: &str) {
    let started = || hosts(lab, &ALL[..3]).iter().map(|host| ok(host, "pgrep -x etcd")).collect::<Vec<_>>();
    let before = started();
    kokctl.write_manifest(&with(inventory, &ALL));
    let after = any((1..=40).collect());
    println!("apply is killed after {after} steps");
    killed::after(kokctl, &["apply", "--bundle", kokctl.bundle().to_str().unwrap()], after);
    kokctl.converge("apply");
    assert_eq!(started(), before, "no member that was there was started anew");
    assert_members_work(lab, kokctl, &ALL);
}

fn the_first_is_removed(lab: &Lab, kokctl: &Kokctl<'_>) {
    let said = kokctl.verb("remove", &["etcd1", "--yes"]);
    assert!(said.code == 3 && said.stderr.contains("etcd would be left with 4 members"), "{said:?}");
    killed::after(kokctl, &["remove", "etcd1", "--yes", "--yes-even"], any((0..=3).collect()));
    let said = kokctl.verb("remove", &["etcd1", "--yes", "--yes-even"]);
    assert_eq!(said.code, 0, "{said:?}");
    bare::is_bare(&lab.host("etcd1").unwrap());
    kokctl.converge("apply");
    assert_members_work(lab, kokctl, &ALL);
}

/// It comes back with what it had, and is not let in; then it is made afresh.
fn a_dead_one_is_replaced(lab: &Lab, kokctl: &Kokctl<'_>, load: &Load) {
    let etcd2 = lab.host("etcd2").unwrap();
    etcd2.power_off().unwrap();
    let said = kokctl.verb("remove", &["etcd2", "--dead", "--yes"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.stdout.contains("nothing was cleaned on etcd2"), "{said:?}");
    load.goes_on_but_for("etcd2 without power", POWER_CUT);
    etcd2.power_on().unwrap();
    let bundle = kokctl.bundle().to_str().unwrap();
    let said = kokctl.verb("apply", &["--bundle", bundle]);
    assert!(said.code == 3 && said.stderr.contains("its member of etcd was taken out of the cluster"), "{said:?}");
    assert!(said.stderr.contains("kokctl replace -f FILE etcd2"), "{said:?}");
    let said = kokctl.verb("replace", &["etcd2", "--yes", "--bundle", bundle]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_members_work(lab, kokctl, &ALL);
}

/// On a host of its own, or beside an API server: not beside the one that has the time. What was killed on its way is typed again.
fn one_without_its_data_is_replaced(lab: &Lab, kokctl: &Kokctl<'_>) {
    let host = lab.host(any(vec!["cp2", "etcd3"])).unwrap();
    println!("{} loses its data", host.name());
    ok(&host, "systemctl stop etcd.service && rm -rf /var/lib/etcd/member && systemctl start --no-block etcd.service");
    wait_for("its unit refuses to start", 60, || ok(&host, "journalctl -u etcd.service -o cat").contains("this member had data"));
    member::is_refused(kokctl, host.name());
    let replace = ["replace", host.name(), "--yes", "--bundle", kokctl.bundle().to_str().unwrap()];
    let after = any((0..=30).collect());
    println!("its replacement is killed after {after} steps");
    killed::after(kokctl, &replace, after);
    let said = kokctl.verb(replace[0], &replace[1..]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_members_work(lab, kokctl, &ALL);
}

/// What ran on the hosts that stay goes on, and API servers are told once these have left.
fn three_are_left(lab: &Lab, kokctl: &Kokctl<'_>, inventory: &str) {
    let said = kokctl.verb("remove", &["etcd1", "etcd3", "--yes"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.stdout.contains("so that API servers and /etc/hosts name them no more"), "{said:?}");
    hosts(lab, &["etcd1", "etcd3"]).iter().for_each(bare::is_bare);
    let left = ["etcd2", "cp1", "cp2"];
    kokctl.write_manifest(&with(inventory, &left));
    kokctl.converge("apply");
    assert_members_work(lab, kokctl, &left);
}
