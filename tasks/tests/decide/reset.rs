//! Taking hosts out of a cluster: what is refused, what is removed, and what an interrupted reset leaves to do.

use kok_tasks::change::Verdict;
use kok_tasks::facts::HostFacts;
use kok_tasks::observe::{Kind, Look, Metadata, Observations, PathState, UnitState};
use kok_tasks::operations::{Claim, Operation, RESET_BEGUN};
use kok_tasks::plan::{Making, Plan, Seen, reset};
use kok_tasks::preconditions::{check, check_reset};

use crate::support::shell::{run, script_of};
use crate::support::{cluster, seen_with};

const OURS: &str = "demo";

/// Facts as a cluster of ours leaves them, changed for one host.
fn seen(host: &str, change: impl Fn(&mut HostFacts)) -> Seen {
    seen_with(|name, facts| {
        facts.cluster = Some(OURS.to_owned());
        facts.certificate_authority = Some("ours".to_owned());
        if name == host {
            change(facts);
        }
    })
}

fn made(seen: &Seen) -> Plan {
    let cluster = cluster();
    let mut seen = seen.clone();
    loop {
        match reset(&cluster, &seen).unwrap() {
            Making::Made(plan) => return *plan,
            Making::AskFirst(_) | Making::Incomplete(_) => panic!("a reset chooses nothing"),
            Making::LookFirst(looks) => {
                for (host, looks) in looks {
                    let mut there = Observations::default();
                    for look in looks.iter() {
                        match look {
                            Look::Path(path) => drop(there.paths.insert(path, PathState::Present(file()))),
                            Look::Unit(name) => {
                                drop(there.units.insert(name, UnitState { active: "active".into(), ..UnitState::default() }))
                            }
                            other => panic!("{other:?}"),
                        }
                    }
                    seen.add_observations(&host, there);
                }
            }
        }
    }
}

fn file() -> Metadata {
    Metadata { kind: Kind::File, mode: 0o600, user: 0, group: 0, size: 1, changed_nanoseconds: 0, sha256: None }
}

/// What the job of a script does: it stands there as base64.
fn job_of(script: &str) -> String {
    use base64::Engine as _;
    let (_, job) = script.split_once(" job reset\n").unwrap();
    let (encoded, _) = job.split_once("--END--").unwrap();
    String::from_utf8(base64::engine::general_purpose::STANDARD.decode(encoded.replace('\n', "")).unwrap()).unwrap()
}

fn scripts(plan: &Plan) -> Vec<(String, String)> {
    plan.changes().map(|(step, change)| (step.host.clone(), job_of(&script_of(&step.act(change))))).collect()
}

#[test]
fn a_reset_that_did_not_reach_every_host_is_finished() {
    let half_way = seen("cp1", |facts| (facts.cluster, facts.certificate_authority) = (None, None));
    assert_eq!(check_reset(&cluster(), &half_way), Vec::new());
    let hosts: Vec<String> = scripts(&made(&half_way)).into_iter().map(|(host, _)| host).collect();
    assert!(!hosts.is_empty() && !hosts.contains(&"cp1".to_owned()), "{hosts:?}");
    let refusals = check(&cluster(), &half_way);
    assert!(refusals.iter().any(|refusal| refusal.hint.as_deref() == Some("finish it with `kokctl reset`, then apply")), "{refusals:?}");
}

/// While it is there, nobody asks again for what was to be kept; and a host that is made part of the cluster again has it no more.
#[test]
fn that_it_has_begun_is_written_down_first() {
    for (host, script) in scripts(&made(&seen("", |_| {}))) {
        let begun = script.find("/var/lib/kokctl/reset-begun").unwrap();
        assert!(begun < script.find("systemctl disable").unwrap(), "{host}: something goes before");
    }
    let claim = Operation::Claim(Claim { cluster: OURS.to_owned(), id: None });
    let mut there = Observations::default();
    there.paths.insert("/var/lib/kokctl/cluster".to_owned(), PathState::Present(file()));
    there.contents.insert("/var/lib/kokctl/cluster".to_owned(), format!("{OURS}\n").into_bytes());
    there.paths.insert(RESET_BEGUN.to_owned(), PathState::Missing);
    assert_eq!(claim.diff(&there), Verdict::Same);
    there.paths.insert(RESET_BEGUN.to_owned(), PathState::Present(file()));
    let Verdict::Differs(change) = claim.diff(&there) else { panic!("it stays") };
    assert!(script_of(&claim.act(&change)).contains(&format!("rm -f {RESET_BEGUN}")));
}

#[test]
fn hosts_of_others_are_not_reset() {
    let other_name = check_reset(&cluster(), &seen("worker1", |facts| facts.cluster = Some("production".to_owned())));
    assert_eq!(other_name[0].what, "it belongs to the cluster production");
    let other_authority = check_reset(&cluster(), &seen("worker1", |facts| facts.certificate_authority = Some("theirs".to_owned())));
    assert_eq!(other_authority[0].what, "it is part of another Kubernetes cluster");
    let foreign = check_reset(&cluster(), &seen("worker1", |facts| facts.cluster = None));
    assert_eq!(foreign[0].what, "it is a node of a Kubernetes cluster, and kokctl has not set it up");
}

#[test]
fn only_a_host_of_etcd_loses_data_of_etcd() {
    for (host, script) in scripts(&made(&seen("", |_| {}))) {
        assert_eq!(script.contains("etcd=/var/lib/etcd\n"), host == "cp1", "{host}");
        assert!(!script.contains("rm -rf /opt/cni/bin "), "plugins of others would go");
        let (check, records) = (script.find("could not be removed").unwrap(), script.find("rm -rf /var/lib/kokctl\n").unwrap());
        assert!(check < records, "{host}: the records go although something may be left");
    }
}

/// Of the routes through other hosts, those into the pods' range go, and no other. In namespaces, so that none of this machine's does.
#[test]
fn routes_to_pods_of_other_hosts_are_removed() {
    const SETUP: &str = "set -e; mount -t tmpfs tmpfs /run; mkdir /run/flannel; printf 'FLANNEL_NETWORK=10.233.64.0/18\nFLANNEL_IPV6_NETWORK=fd00:64::/112\n' >/run/flannel/subnet.env; \
                         ip link set lo up; ip link add host0 type veth peer name host1; ip link set host1 up; \
                         ip address add 10.20.0.11/24 dev host0; ip address add fd00:20::11/64 dev host0 nodad; ip link set host0 up; \
                         ip route add 10.233.65.0/24 via 10.20.0.12; ip route add 10.234.0.0/24 via 10.20.0.12; \
                         ip route add 10.233.66.0/24 dev host0; ip route add fd00:64::100/120 via fd00:20::12; \
                         ip route add fd00:65::/64 via fd00:20::12; sh; ip route show; ip -6 route show | grep -v ^fe80";
    let (_, script) = scripts(&made(&seen("", |_| {}))).remove(0);
    let (start, end) = (script.find("for pods in $(").unwrap(), script.find("for table in").unwrap());
    let output = run(&["unshare", "--map-root-user", "--mount", "--net", "sh", "-c", SETUP], &[], &script[start..end]);
    let left = String::from_utf8(output.stdout).unwrap();
    let routes: Vec<&str> = left.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(routes, ["10.20.0.0/24", "10.233.66.0/24", "10.234.0.0/24", "fd00:20::/64", "fd00:65::/64"], "{:?}", output.stderr);
}
