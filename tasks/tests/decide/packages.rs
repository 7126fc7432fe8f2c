//! Packages that hosts lack: out of the bundle where it has them, else from the hosts' own sources.

use kok_tasks::bundle::{Bundle, BundlePackages, PackageSuite};
use kok_tasks::facts::HostFacts;
use kok_tasks::plan::{Plan, Seen};
use kok_tasks::preconditions::{check, check_with, warnings_with};
use kok_tasks::resources::Act;

use crate::resources::decoded;
use crate::support::shell::{SHELLS, run, script_of};
use crate::support::world::World;
use crate::support::{bundle, cluster, seen_with, step_id};

const ALL: [&str; 3] = ["iproute2", "iptables", "nftables"];

fn with_packages(names: &[&str]) -> Bundle {
    let suite = |archive: &str, suite: &str| PackageSuite {
        archive: format!("deb.debian.org/{archive}"),
        suite: suite.to_owned(),
        components: vec!["main".to_owned()],
        sha256: "a".repeat(64),
    };
    let packages = BundlePackages {
        distribution: "debian-12".to_owned(),
        architecture: "amd64".to_owned(),
        path: BundlePackages::path_of("debian-12", "amd64"),
        size: 30_000_000,
        sha256: "0123456789abcdef".repeat(4),
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        suites: vec![suite("debian", "bookworm"), suite("debian-security", "bookworm-security")],
        packages: Vec::new(),
    };
    Bundle { packages: vec![packages], ..bundle() }
}

fn lacking(commands: &'static [&str], change: impl Fn(&mut HostFacts)) -> Seen {
    seen_with(|name, facts| {
        if name == "worker1" {
            facts.commands.retain(|command| !commands.contains(&command.as_str()));
            change(facts);
        }
    })
}

fn plan_of(bundle: &Bundle, lacks: &[&str]) -> Plan {
    let mut world = World::bare();
    world.bundle = bundle.clone();
    world.host("worker1").lacks = lacks.iter().map(|command| (*command).to_owned()).collect();
    world.plan()
}

#[test]
fn a_host_gets_its_packages_out_of_the_bundle_and_keeps_its_own_sources() {
    let (brought, installed) = (step_id("worker1", "packages", "archive"), step_id("worker1", "packages", "installed"));
    let plan = plan_of(&with_packages(&ALL), &["nft", "iptables"]);
    assert!(plan.needs(&installed).iter().any(|(need, _)| need.id == brought));
    let step = |id| plan.step(id).unwrap();
    let Act::Stream { script, artifact } = step(&brought).act(plan.change(&brought).unwrap()) else { panic!("nothing is sent") };
    assert_eq!(artifact.path, "packages/debian-12-amd64.tar");
    let script = script_of(&Act::Script(script));
    assert!(script.contains("folder='/var/lib/kokctl/packages-0123456789abcdef'"), "{script}");
    let Act::Script(fragment) = step(&installed).act(plan.change(&installed).unwrap()) else { panic!("there is no script") };
    let install = decoded(&fragment);
    for words in [
        "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg by-hash=no check-date=no] \
         file:/var/lib/kokctl/packages-0123456789abcdef/deb.debian.org/debian bookworm main\n",
        "/deb.debian.org/debian-security bookworm-security main\n",
        "-o Dir::Etc::sourcelist=\"$folder/sources.list\" -o Dir::Etc::sourceparts=/dev/null",
        "-o Dir::State::lists=\"$folder/state\"",
        "AllowInsecureRepositories=false",
        "-o APT::Get::Upgrade-By-Source-Package=false ",
        "own update\nown install --no-install-recommends -- 'iptables' 'nftables'\n",
        "noninteractive",
        "trap 'rm -rf \"$folder\"' EXIT",
    ] {
        assert!(install.contains(words), "{words} is not in {install}");
    }
    for text in [&script, &install] {
        assert!(SHELLS.iter().all(|shell| run(shell, &["-n"], text).status.success()), "{text}");
    }
    let mut world = World::bare();
    world.bundle = with_packages(&ALL);
    world.host("worker1").lacks = ["nft".to_owned()].into();
    assert!(world.converge().plan().is_empty(), "nothing is brought twice");
}

#[test]
fn a_bundle_without_all_of_them_leaves_it_to_the_host() {
    let of = |bundle: &Bundle| {
        let plan = plan_of(bundle, &["nft", "iptables"]);
        let steps = plan.steps().filter(|step| step.task == "packages").map(|step| step.id.to_string()).collect::<Vec<_>>();
        steps.into_iter().filter(|step| step.ends_with("/archive")).count()
    };
    assert_eq!([of(&with_packages(&ALL)), of(&with_packages(&["nftables"])), of(&bundle())], [1, 0, 0]);
}

#[test]
fn who_has_no_source_is_told_of_bundles_and_refused_where_they_have_nothing_for_it() {
    let told = |seen: &Seen, bundle: &Bundle| {
        let refusals = check_with(&cluster(), seen, bundle);
        refusals
            .iter()
            .map(|it| format!("{} | {} | {}", it.what, it.because.as_deref().unwrap_or_default(), it.hint.as_deref().unwrap_or_default()))
            .collect::<String>()
    };
    let seen = lacking(&["nft"], |_| {});
    assert_eq!(told(&seen, &with_packages(&ALL)), "");
    let warned = warnings_with(&cluster(), &seen, &with_packages(&ALL));
    assert!(
        warned.iter().any(|it| it.because.as_ref().is_some_and(|because| because.contains("installs them from the bundle"))),
        "{warned:?}"
    );
    let without = told(&seen, &bundle());
    assert!(
        without.contains("install the packages nftables; or give a bundle with them") && without.contains("create --packages debian-12`"),
        "{without}"
    );
    assert_eq!(check(&cluster(), &seen).len(), 1, "`kokctl check` knows no bundle");
    // Of another release, another architecture, another distribution.
    let other = told(&lacking(&["nft"], |facts| facts.os_version = "13".to_owned()), &with_packages(&ALL));
    assert!(
        other.contains("the bundle has packages of debian-12, and the host runs debian-13") && other.contains("--packages debian-13`"),
        "{other}"
    );
    let arm = told(&lacking(&["nft"], |facts| facts.architecture = "arm64".to_owned()), &with_packages(&ALL));
    assert!(arm.contains("--packages debian-12 --architecture arm64`"), "{arm}");
    let mint = |facts: &mut HostFacts| (facts.os_id, facts.os_like) = ("linuxmint".to_owned(), vec!["ubuntu".to_owned()]);
    let mint = told(&lacking(&["nft"], mint), &with_packages(&ALL));
    assert!(mint.ends_with("install the packages nftables"), "nobody publishes them for it under its name: {mint}");
    // Without tar nothing could be unpacked; every Debian has it.
    let tar = told(&lacking(&["nft", "tar"], |_| {}), &with_packages(&ALL));
    assert!(tar.contains("nft, tar") && tar.ends_with("install the packages nftables, tar"), "{tar}");
}

#[test]
fn packages_need_room() {
    let small = |free: u64| lacking(&["nft"], move |facts| facts.storage.values_mut().for_each(|storage| storage.free_bytes = free));
    // What every worker needs, and three times the archive.
    let enough = 3_960_000_000 + 90_000_000;
    assert_eq!(check_with(&cluster(), &small(enough), &with_packages(&ALL)).len(), 0);
    let room = check_with(&cluster(), &small(enough - 1), &with_packages(&ALL));
    assert!(room.iter().any(|refusal| refusal.what.contains("MB free")), "{room:?}");
}
