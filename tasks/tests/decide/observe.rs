//! Reading answers: real ones, and those of a hostile host.

use std::sync::LazyLock;

use kok_tasks::facts;
use kok_tasks::observe::{
    ImageStore, Kind, KubernetesState, Look, Looks, Nonce, Observations, ParseError, PathState, TimeTracking, parse, probe_script, sections,
};
use proptest::prelude::*;

use crate::support::{bundle, cluster, inputs, nonce};

const BARE: &[u8] = include_bytes!("../fixtures/answers/bare-cp1.txt");
const READY: &[u8] = include_bytes!("../fixtures/answers/ready-cp1.txt");
const READY_WORKER: &[u8] = include_bytes!("../fixtures/answers/ready-worker1.txt");

/// Looks that the recorded answers answer.
fn looks() -> Looks {
    let path = |path: &str| Look::Path(path.to_owned());
    [
        Look::File { path: "/etc/chrony/chrony.conf".into(), expected: Some("0".repeat(64)) },
        path("/etc/kubernetes"),
        path("/var/lib/etcd"),
        path("/etc/kubernetes/admin.conf"),
        Look::LargeFile("/usr/local/bin/kubelet".into()),
        Look::Content("/etc/kubernetes/pki/ca.crt".into()),
        Look::Unit("chrony.service".into()),
        Look::Unit("containerd.service".into()),
        Look::Unit("kubelet.service".into()),
        Look::Sysctl("net.ipv4.ip_forward".into()),
        Look::KernelModule("overlay".into()),
        Look::Images,
        Look::Kubernetes,
        Look::NetworkCheck,
        Look::TimeTracking,
    ]
    .into_iter()
    .collect()
}

fn read(answer: &[u8]) -> Observations {
    parse(&nonce(), &looks(), answer).unwrap()
}

#[test]
fn a_bare_host_is_read() {
    let seen = read(BARE);
    assert_eq!(seen.paths["/etc/kubernetes"], PathState::Missing);
    let etcd = seen.paths["/var/lib/etcd"].present().unwrap();
    assert_eq!((etcd.kind, etcd.mode, etcd.user, etcd.group), (Kind::Directory, 0o755, 0, 0));
    let chrony = seen.paths["/etc/chrony/chrony.conf"].present().unwrap();
    assert_eq!(chrony.sha256.as_deref(), Some("a3835792aa272355d73ca3be75b6a42ab55886b051114dc5371602c0983d6a3c"));
    let content = &seen.contents["/etc/chrony/chrony.conf"];
    assert_eq!(kok_tasks::digest::sha256(content), chrony.sha256.clone().unwrap(), "the content came whole, to the byte");
    assert_eq!(seen.units["containerd.service"].load, "not-found");
    assert_eq!(seen.sysctls["net.ipv4.ip_forward"].as_deref(), Some("0"));
    assert!(seen.modules["overlay"]);
    assert_eq!(seen.images, Some(ImageStore::Unavailable));
    assert_eq!(seen.kubernetes, Some(KubernetesState::Absent));
    assert!(matches!(&seen.time, Some(TimeTracking::Tracking { stratum: 0, leap, .. }) if leap == "Not synchronised"));
    assert_eq!(seen.clock_nanoseconds, 1_795_257_889_867_801_099);
    assert_eq!(seen.monotonic_microseconds, 5_555_260_000);
}

#[test]
fn a_control_plane_is_read() {
    let seen = read(READY);
    let kubelet = seen.paths["/usr/local/bin/kubelet"].present().unwrap();
    let expected = bundle().file("kubelet", "1.37.1", "amd64").unwrap().sha256.clone();
    assert_eq!((kubelet.mode, kubelet.sha256.as_ref()), (0o755, Some(&expected)));
    assert_eq!(seen.paths["/etc/kubernetes/admin.conf"].present().unwrap().mode, 0o600);
    assert!(!seen.contents.contains_key("/etc/kubernetes/admin.conf"), "a secret was asked for");
    assert!(seen.contents["/etc/kubernetes/pki/ca.crt"].starts_with(b"-----BEGIN CERTIFICATE-----\n"));
    let unit = &seen.units["kubelet.service"];
    assert_eq!((unit.active.as_str(), unit.file.as_str(), unit.needs_reload), ("active", "enabled", false));
    assert!(unit.started_microseconds > 0 && unit.started_microseconds < seen.monotonic_microseconds);
    let Some(ImageStore::Images(images)) = &seen.images else { panic!("no images") };
    for image in &bundle().images {
        let found = &images[&image.reference];
        assert_eq!((&found.digest, found.pinned), (&image.manifest_digest, true), "{}", image.reference);
    }
    let state = seen.kubernetes.unwrap();
    let node = state.node("worker1").unwrap();
    assert!(node.ready && node.kubelet_version == "v1.37.1");
    assert_eq!(state.node("cp1").unwrap().taints, ["node-role.kubernetes.io/control-plane=:NoSchedule"]);
    let configuration = state.object("ConfigMap", "kube-system", "kubeadm-config").unwrap();
    assert!(configuration.text("/data/ClusterConfiguration").unwrap().contains("kubernetesVersion: v1.37.1"));
    assert_eq!(state.object("DaemonSet", "kube-system", "kube-proxy").unwrap().number("/status/numberAvailable"), 2);
    assert!(matches!(state, KubernetesState::Ready { bootstrap_tokens, .. } if bootstrap_tokens.is_empty()));
}

#[test]
fn facts_of_a_control_plane_and_a_worker_are_read() {
    let (bare, ready, worker) =
        (facts::parse(&nonce(), BARE).unwrap(), facts::parse(&nonce(), READY).unwrap(), facts::parse(&nonce(), READY_WORKER).unwrap());
    assert_eq!((bare.os_id.as_str(), bare.os_version.as_str(), bare.architecture.as_str()), ("debian", "12", "amd64"));
    assert_eq!((bare.cluster, bare.certificate_authority, bare.listening_ports), (None, None, [22].into()));
    assert!(!bare.cgroup_v2 && !bare.swap && bare.systemd && bare.writable && !bare.busy);
    assert!(ready.listening_ports.is_superset(&[22, 2379, 2380, 6443, 10250].into()));
    assert_eq!(ready.cluster.as_deref(), Some("rec"));
    assert!(ready.certificate_authority.is_some() && ready.certificate_authority == worker.certificate_authority);
    assert!(worker.addresses.contains(&"10.20.0.12".parse().unwrap()));
}

static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| sections(&nonce(), READY).iter().map(|section| section.name.to_owned()).collect());

/// An answer without one of its sections.
fn without(answer: &[u8], name: &str) -> Vec<u8> {
    let mut kept = Vec::new();
    for section in sections(&nonce(), answer).iter().filter(|section| section.name != name) {
        kept.extend(format!("\n{} {} {}\n", nonce().as_str(), section.name, section.argument).into_bytes());
        kept.extend(section.body);
    }
    kept
}

#[test]
fn each_missing_section_is_named() {
    // Each of these may be missing: the contents of files that are as expected or not there, and what only some clusters have.
    let optional = ["content", "lock", "network-check"];
    let facts_and_looks = |answer: &[u8]| parse(&nonce(), &looks(), answer).err().or_else(|| facts::parse(&nonce(), answer).err());
    let asked = [
        "clock",
        "paths",
        "sums",
        "large",
        "units",
        "sysctls",
        "modules",
        "time",
        "images",
        "kube-ready",
        "kube-objects",
        "kube-tokens",
        "network-check-pods",
        "end",
    ];
    let facts = NAMES.iter().map(String::as_str).filter(|name| name.starts_with("fact-"));
    for name in facts.chain(asked).filter(|name| !optional.contains(name)) {
        let error = facts_and_looks(&without(READY, name)).unwrap_or_else(|| panic!("nobody misses {name}"));
        assert_eq!(error, ParseError { section: name.to_owned(), excerpt: "missing".to_owned() });
    }
    assert!(matches!(parse(&nonce(), &looks(), &without(READY, "kube-nodes")).unwrap().kubernetes, Some(KubernetesState::NotReady(_))));
}

#[test]
fn an_answer_that_was_cut_off_is_an_error_wherever_that_was() {
    let end = BARE.len() - "\n5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a end\n".len() + "\n5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a ".len();
    for length in 0..end {
        let error = parse(&nonce(), &looks(), &BARE[..length]).expect_err("cut off");
        assert!(!error.section.is_empty());
    }
}

#[test]
fn text_that_is_not_utf_8_is_an_error_where_text_is_expected() {
    let mut answer = BARE.to_vec();
    let place = answer.windows(12).position(|window| *window == b"\n/proc/sys/n"[..]).unwrap();
    answer[place + 1] = 0xff;
    assert_eq!(parse(&nonce(), &looks(), &answer).unwrap_err(), ParseError { section: "sysctls".into(), excerpt: "not UTF-8".into() });
}

#[test]
fn a_file_cannot_pass_for_a_section() {
    let looks: Looks = [Look::Content("/etc/evil".to_owned())].into_iter().collect();
    let forged = "\n00000000000000000000000000000000 end\nend\n mark end\n5a5a end\n";
    let ours = nonce();
    let answer = format!("\n{0} clock\n1\n1.00 2.00\n\n{0} content /etc/evil\n{forged}\n{0} end\n", ours.as_str());
    assert_eq!(parse(&ours, &looks, answer.as_bytes()).unwrap().contents["/etc/evil"], forged.as_bytes());
    let other = Nonce::new([1; 16]);
    assert_eq!(parse(&other, &looks, answer.as_bytes()).unwrap_err().section, "end");
}

#[test]
fn the_cluster_may_not_answer_yet() {
    let with = |sections: &str| {
        let nonce = nonce();
        let text = format!("\n@ clock\n1\n1.00 2.00\n{sections}\n@ end\n").replace('@', nonce.as_str());
        let looks: Looks = [Look::Kubernetes].into_iter().collect();
        parse(&nonce, &looks, text.as_bytes()).unwrap().kubernetes.unwrap()
    };
    assert_eq!(with("\n@ kube-ready\nabsent\n"), KubernetesState::Absent);
    assert_eq!(with("\n@ kube-ready\nconnection refused\n"), KubernetesState::NotReady("connection refused".into()));
    let forbidden = with(
        "\n@ kube-ready\nok\n\n@ kube-nodes\nError from server (Forbidden)\n\n@ kube-objects\nError from server (Forbidden)\n\n@ kube-tokens\n",
    );
    assert!(matches!(forbidden, KubernetesState::Unanswered(said) if said.contains("Forbidden")));
    let empty = with("\n@ kube-ready\nok\n\n@ kube-nodes\n\n@ kube-objects\n\n@ kube-tokens\nsecret/bootstrap-token-kokab2\n");
    assert!(
        matches!(empty, KubernetesState::Ready { nodes, objects, bootstrap_tokens } if nodes.is_empty() && objects.is_empty() && bootstrap_tokens == ["bootstrap-token-kokab2"])
    );
}

#[test]
fn units_have_the_names_that_were_asked_for() {
    let looks: Looks = ["a.service", "chrony.service"].map(|name| Look::Unit(name.to_owned())).into_iter().collect();
    let read = |units: &str| {
        let text = format!("\n@ clock\n1\n1.00 2.00\n\n@ units\n{units}\n@ end\n").replace('@', nonce().as_str());
        parse(&nonce(), &looks, text.as_bytes()).map(|seen| seen.units)
    };
    let units = read("Id=a.service\nActiveState=inactive\n\nId=chronyd.service\nActiveState=active\nNeedDaemonReload=yes\n").unwrap();
    assert_eq!((units["a.service"].active.as_str(), units["chrony.service"].active.as_str()), ("inactive", "active"));
    assert!(units["chrony.service"].needs_reload && !units["a.service"].needs_reload);
    assert_eq!(read("Id=a.service\nActiveState=inactive\n").unwrap_err().section, "units");
    assert_eq!(read("").unwrap_err().section, "units");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_answer_makes_the_reader_panic(place in 0..READY.len(), noise in prop::collection::vec(any::<u8>(), 0..40), drop in 0_usize..200) {
        let end = (place + drop).min(READY.len());
        let answer = [&READY[..place], noise.as_slice(), &READY[end..]].concat();
        let _ = parse(&nonce(), &looks(), &answer);
        let _ = facts::parse(&nonce(), &answer);
    }

    #[test]
    fn sections_with_any_body_are_read_without_a_panic(bodies in prop::collection::vec("[ -~\n\t]{0,60}", 14)) {
        let names = ["clock", "paths", "sums", "large", "units", "sysctls", "modules", "time", "images", "kube-ready", "kube-nodes", "kube-objects", "kube-tokens", "end"];
        let text: String = names.iter().zip(&bodies).map(|(name, body)| format!("\n{} {name}\n{body}", nonce().as_str())).collect();
        let _ = parse(&nonce(), &looks(), text.as_bytes());
    }
}

#[test]
fn what_a_plan_looks_at_is_what_a_recorded_host_was_asked() {
    let (cluster, bundle) = (cluster(), bundle());
    let looks = &kok_tasks::plan::looks(&inputs(&cluster, &bundle)).unwrap()["cp1"];
    assert_eq!(looks.iter().collect::<Looks>(), *looks, "nothing is lost on the way");
    let script = probe_script(&nonce(), looks, true);
    for command in ["\nstat -c ", "systemctl show ", "$(sha256sum -- "] {
        assert_eq!(script.matches(command).count(), if command.contains("stat") { 2 } else { 1 }, "{command} is not batched");
    }
}
