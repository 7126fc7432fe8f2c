//! What keepalived goes by on a host: its units, and the scripts beside it, in the shells that hosts have.

use std::fs;

use kok_tasks::change::Verdict;
use kok_tasks::observe::{Look, Observations, PathState, UnitState};
use kok_tasks::operations::{Operation, VIRTUAL_ROUTER_READ, VIRTUAL_ROUTER_STATE, VirtualRouterReady};

use crate::support::cluster_of;
use crate::support::shell::{Folder, SHELLS, run};
use crate::support::world::World;

const ONE: &str = include_str!("../fixtures/cluster.yaml");
const CONFIGURATION: &str = "/etc/kubernetes/keepalived/keepalived.conf";

fn world() -> World {
    World::bare_of(cluster_of(&format!("{ONE}  apiEndpoint: {{vip: 10.20.0.200}}\n"))).converge()
}

/// A script of the host whose files, and whose programs of these names, are in a folder.
fn script(world: &World, path: &str, folder: &Folder) -> String {
    let root = folder.text("");
    let text = world.hosts["cp1"].text(path).replace("/run/kokctl-keepalived/", &root).replace("/usr/bin/curl", &format!("{root}curl"));
    format!("PATH={root}:$PATH\n{text}")
}

/// The address is let go of, and comes again, by what the API server says when it is asked by the name that clients know.
#[test]
fn the_api_server_is_asked_by_the_address_that_moves() {
    let world = world();
    for shell in SHELLS {
        // What curl says in turn (status or `-` and its exit code), and the state after it.
        let said = ["200", "200", "-7", "-7", "401", "403", "-60", "-60", "-60", "500", "200", "-28", "200"];
        let state = ["1", "0", "0", "1", "1", "0", "0", "0", "1", "1", "1", "1", "1"];
        let folder = Folder::new();
        fs::write(folder.path("said"), said.join("\n")).unwrap();
        fs::write(folder.path("api-server"), "1\n").unwrap();
        fs::write(folder.path("keepalived.conf"), world.hosts["cp1"].text(CONFIGURATION)).unwrap();
        let root = folder.text("");
        folder.program(
            "curl",
            &format!(
                "#!/bin/sh\necho \"$*\" >>{root}asked\nsaid=$(head -n 1 {root}said); sed -i 1d {root}said\n\
                 case $said in -*) printf 000; exit \"${{said#-}}\";; *) printf %s \"$said\";; esac\n"
            ),
        );
        // Each round ends with a sleep, which notes what stands there, and ends the script when nothing more is said.
        folder.program("sleep", &format!("#!/bin/sh\ncat {root}api-server >>{root}states\n[ -s {root}said ] || kill \"$PPID\"\n"));
        run(shell, &[], &script(&world, "/etc/kubernetes/keepalived/ready.sh", &folder));
        let states = fs::read_to_string(folder.path("states")).unwrap();
        assert_eq!(states.lines().collect::<Vec<_>>(), state, "{shell:?}");
        let asked = fs::read_to_string(folder.path("asked")).unwrap();
        let first = asked.lines().next().unwrap();
        assert!(first.ends_with("--connect-to ::10.20.0.11:6443 https://10.20.0.200:6443/readyz"), "{first}");
        assert!(first.contains(&format!("--cacert {root}ca.crt")), "by the authority of the cluster: {first}");
    }
}

/// keepalived was killed, and its address is where it was.
#[test]
fn no_address_stays_where_keepalived_has_ended() {
    let world = world();
    for shell in SHELLS {
        let folder = Folder::new();
        let root = folder.text("");
        fs::write(folder.path("keepalived.conf"), world.hosts["cp1"].text(CONFIGURATION)).unwrap();
        folder.program("ip", &format!("#!/bin/sh\necho \"$*\" >>{root}asked\nexit 2\n"));
        let text = script(&world, "/etc/kubernetes/keepalived/release.sh", &folder);
        assert!(run(shell, &[], &text).status.success(), "{shell:?}: one that is gone already is none to complain of");
        assert_eq!(fs::read_to_string(folder.path("asked")).unwrap(), "address delete 10.20.0.200/32 dev eth0\n", "{shell:?}");
    }
}

/// However often they end; and while nobody looks after the API server, the address goes.
#[test]
fn its_units_come_back_for_ever_and_nothing_is_taken_for_ready_without_the_check() {
    let world = world();
    let unit = |name: &str| world.hosts["cp1"].text(&format!("/etc/systemd/system/{name}")).to_owned();
    let (unit, check) = (unit("kokctl-keepalived.service"), unit("kokctl-keepalived-check.service"));
    for text in [&unit, &check] {
        let (head, service) = text.split_once("[Service]").unwrap();
        assert!(head.contains("\nStartLimitIntervalSec=0\n") && service.contains("\nRestart=always\n"), "{text}");
    }
    assert!(unit.contains("\nRuntimeDirectoryPreserve=restart\n"), "the check would go on with a folder that is gone: {unit}");
    assert!(unit.contains("\nTimeoutStopSec=3\n"), "or a killed one keeps the address for a minute and a half: {unit}");
    assert!(unit.contains("\nExecStopPost=-/bin/sh /etc/kubernetes/keepalived/release.sh\n"), "{unit}");
    assert!(unit.contains("\nAfter=network-online.target containerd.service kubelet.service\n"), "{unit}");
    let stopped = check.lines().find_map(|line| line.strip_prefix("ExecStopPost=-/bin/sh -c '")?.strip_suffix('\'')).unwrap();
    for shell in SHELLS {
        let folder = Folder::new();
        let text = stopped.replace("/run/kokctl-keepalived/", &folder.text(""));
        assert!(run(shell, &[], &text).status.success() && !folder.path("api-server").exists(), "keepalived does not run");
        fs::write(folder.path("api-server"), "0\n").unwrap();
        assert!(run(shell, &[], &text).status.success());
        assert_eq!(fs::read_to_string(folder.path("api-server")).unwrap(), "1\n", "{shell:?}");
    }
}

#[test]
fn a_host_is_able_when_its_check_says_so_and_runs() {
    const UNITS: [&str; 2] = ["kokctl-keepalived.service", "kokctl-keepalived-check.service"];
    let operation = Operation::VirtualRouterReady(VirtualRouterReady);
    let there = world().look("cp1", [Look::Path(VIRTUAL_ROUTER_READ.to_owned())].into_iter());
    let with = |state: Option<&str>, active: [&str; 2]| {
        let mut seen = Observations::default();
        let path = VIRTUAL_ROUTER_STATE.to_owned();
        let unit = |active: &str| UnitState { load: "loaded".into(), active: active.to_owned(), ..UnitState::default() };
        seen.units.extend(UNITS.iter().map(|name| (*name).to_owned()).zip(active.map(unit)));
        seen.paths.insert(path.clone(), PathState::Missing);
        if let Some(state) = state {
            seen.paths.insert(path.clone(), there.paths[VIRTUAL_ROUTER_READ].clone());
            seen.contents.insert(path, state.as_bytes().to_vec());
        }
        operation.diff(&seen)
    };
    let waits_for = |verdict: Verdict, what: &str| {
        assert!(matches!(&verdict, Verdict::Differs(change) if change.because.contains(what)), "{verdict:?}")
    };
    let both = ["active", "active"];
    assert_eq!(with(Some("0\n"), both), Verdict::Same);
    waits_for(with(Some("1\n"), both), "certificate with the address");
    waits_for(with(None, both), "has not said yet");
    // What it has said outlives it, where it was killed with all that would have cleaned up.
    waits_for(with(Some("0\n"), ["failed", "active"]), "kokctl-keepalived.service does not run: it is failed");
    waits_for(with(Some("0\n"), ["activating", "active"]), "it is activating");
    waits_for(with(Some("0\n"), ["active", "inactive"]), "kokctl-keepalived-check.service does not run: it is inactive");
    let mut gone = Observations::default();
    gone.units.extend(
        UNITS.map(|name| (name.to_owned(), UnitState { load: "not-found".into(), active: "inactive".into(), ..UnitState::default() })),
    );
    waits_for(operation.diff(&gone), "it is not-found");
    assert_eq!(operation.diff(&Observations::default()), Verdict::Unseen);
    let asked: Vec<Look> = operation.looks().into_iter().filter(|look| matches!(look, Look::Unit(_))).collect();
    assert_eq!(asked, UNITS.map(|unit| Look::Unit(unit.to_owned())));
}
