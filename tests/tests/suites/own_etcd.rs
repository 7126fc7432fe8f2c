//! etcd on hosts that are no control planes, as a unit of systemd: an external etcd to kubeadm. Two of the three hosts do nothing else, the third is
//! a worker too. So two control planes are enough to lose any one.

use std::fs;

use crate::cluster_support::arguments::Arguments;
use crate::cluster_support::clock::Clock;
use crate::cluster_support::cluster::{self, kubectl};
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::{authorities, bare, connection_costs, escrow, hosts, kept, node_dns, ok, secrets, snapshot};
use crate::highly_available_story::{any, endpoint, lost, member, rotated, units};
use crate::lab_support::wait_for;
use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Host, Lab, LabSpec};

const MEMBERS: usize = 3;
const PLANES: usize = 2;

/// The worker that is a member.
const BOTH: &str = "worker1";

#[test]
fn three_hosts_of_etcd() {
    let spec = LabSpec::unique(PLANES + MEMBERS).control_planes(PLANES).etcd(MEMBERS - 1);
    let lab = Lab::up(spec).unwrap_or_else(|error| panic!("{error}"));
    let kokctl = Kokctl::new(&lab);
    let manifest = fs::read_to_string(kokctl.manifest()).unwrap();
    let manifest = manifest.replacen("roles: [worker]}", "roles: [worker, etcd]}", 1);
    kokctl.write_manifest(&manifest.replacen("\n  vars:\n", "\n  vars:\n    remove_anonymous_access: true\n", 1));
    let mut clock = Clock::start();
    let started = Arguments::watch();
    connection_costs::log_every_command(&lab);
    let before = snapshot::bare_state(&lab);
    authorities::bring_own(&kokctl);
    escrow::write_field(&kokctl, false);
    escrow::outlives_a_crash(&kokctl);
    clock.lap("an apply that is killed when it has made its keys");
    node_dns::switch_on(&kokctl);
    let said = kokctl.converge("apply");
    assert!(said.starts_with(&format!("cluster {} is ready: {} hosts, ", lab.name(), hosts(&lab).len())), "{said}");
    clock.lap("apply");
    cluster::assert_complete(&lab, DEFAULT_KUBERNETES_VERSION);
    members(&lab).iter().for_each(|host| is_a_member(&lab, host));
    control_planes_cannot_sign_for_etcd(&lab);
    strangers_learn_nothing(&lab);
    endpoint::survives_any_host(&lab);
    authorities::are_used(&lab, &kokctl);
    authorities::others_are_refused(&kokctl);
    rotated::kubelets_renew_their_certificates(&lab);
    escrow::is_of_the_cluster(&lab, &kokctl);
    clock.lap("checks of the cluster");
    node_dns::answers_pods(&lab);
    clock.lap("names by the nodes' caches");
    connection_costs::costs_one_connection_each(&lab, || kokctl.has_nothing_to_do());
    clock.lap("apply again");
    lost::any_control_plane(&lab, &kokctl);
    clock.lap("a control plane without power");
    any_member_may_be_lost(&lab, &kokctl);
    clock.lap("a member without power");
    let keys = secrets::nothing_was_said(&lab, &kokctl, &started);
    kept::store(&lab);
    without_its_data_it_is_not_started(&lab, &kokctl);
    clock.lap("a member without its data");
    kept::resets(&lab, &kokctl);
    secrets::nothing_was_said_of(&keys, &kokctl, &started);
    bare::assert_bare(&lab);
    snapshot::assert_same(&before, &snapshot::bare_state(&lab), "reset has to leave what was there before");
    clock.lap("reset");
}

fn members(lab: &Lab) -> Vec<Host> {
    hosts(lab).into_iter().filter(|host| host.name().starts_with("etcd") || host.name() == BOTH).collect()
}

fn is_a_member(lab: &Lab, host: &Host) {
    units::is_a_member(lab, host, &members(lab));
    let of_nodes = ok(host, "ls -d /etc/containerd /opt/cni /usr/local/bin/kube* /var/lib/kubelet/* 2>/dev/null || :");
    assert_eq!(of_nodes.is_empty(), host.name() != BOTH, "{of_nodes}");
}

/// All hosts have joined by then.
fn strangers_learn_nothing(lab: &Lab) {
    let (path, plane) = ("/api/v1/namespaces/kube-public/configmaps/cluster-info", &cluster::control_planes(lab)[0]);
    let asked = |path: &str| {
        let url = format!("https://{}:6443{path}", plane.address());
        ok(plane, &format!("curl -ks --max-time 10 -o /dev/null -w '%{{http_code}}' {url}"))
    };
    assert_eq!((asked("/readyz").as_str(), asked(path).as_str()), ("200", "403"));
    assert!(kubectl(lab, &format!("get --raw {path}")).contains("certificate-authority-data"));
}

fn control_planes_cannot_sign_for_etcd(lab: &Lab) {
    for plane in cluster::control_planes(lab) {
        assert_eq!(ok(&plane, "ls /etc/kubernetes/pki/etcd"), "ca.crt", "{}", plane.name());
    }
    let uploaded = kubectl(lab, "-n kube-system get configmap kubeadm-config -o jsonpath='{.data.ClusterConfiguration}'");
    assert!(uploaded.contains("external:") && !uploaded.contains("initial-cluster"), "{uploaded}");
    for host in members(lab) {
        assert!(uploaded.contains(&format!("- https://{}:2379\n", host.address())), "{uploaded}");
    }
}

/// Two of three members are etcd.
fn any_member_may_be_lost(lab: &Lab, kokctl: &Kokctl<'_>) {
    let lost = any(members(lab));
    println!("{} loses its power", lost.name());
    lost.power_off().unwrap();
    // The API server may have been asking this very member.
    wait_for("the API takes a write", 60, || {
        kubectl(lab, &format!("annotate --overwrite namespace default without={} 2>&1 || :", lost.name())).contains("annotated")
    });
    let said = kokctl.verb("apply", &["--bundle", kokctl.bundle().to_str().unwrap()]);
    assert_eq!(said.code, 3, "{said:?}");
    assert!(said.stderr.contains(&format!("cannot connect to {}", lost.name())), "{said:?}");
    lost.power_on().unwrap();
    wait_for("all members are ready", 60, || {
        let said = kokctl.verb("status", &[]);
        said.code == 0 && said.stdout.matches(": etcd ready, 3 members").count() == MEMBERS
    });
    // Its clock may still be on its way back; then there is something to wait for and nothing to change.
    kokctl.converge("apply");
    kokctl.has_nothing_to_do();
}

/// Neither by its unit, even while nobody else could tell that it had some, nor by `apply`.
fn without_its_data_it_is_not_started(lab: &Lab, kokctl: &Kokctl<'_>) {
    let host = any(members(lab));
    println!("{} loses its data", host.name());
    ok(&host, "systemctl stop etcd.service && rm -rf /var/lib/etcd/member && systemctl start --no-block etcd.service");
    wait_for("its unit refuses to start", 60, || ok(&host, "journalctl -u etcd.service -o cat").contains("this member had data"));
    assert_eq!(ok(&host, "ls -A /var/lib/etcd"), "", "nothing was founded");
    member::is_refused(kokctl, host.name());
}
