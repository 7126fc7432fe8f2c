//! Reading answers: real ones here, those of a hostile host below.

mod hostile;

use std::collections::BTreeSet;

use kok_tasks::change::Verdict;
use kok_tasks::facts::{self, Extent, SelinuxMode};
use kok_tasks::observe::{
    ApiServerState, EtcdState, Firewall, ImageStore, Kind, KubernetesState, Look, Looks, ModuleState, Nonce, Observations, ParseError,
    PathState, TimeTracking, parse, probe_script, sections,
};
use kok_tasks::operations::{Operation, TimeSynchronised};
use kok_tasks::plan::{Making, make};
use kok_tasks::preconditions;

use crate::support::{bundle, cluster, inputs, nonce, seen_with};

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
        Look::Swap,
        Look::Images,
        Look::Kubernetes,
        Look::NetworkCheck(vec!["cp1".to_owned()]),
        Look::TimeTracking,
    ]
    .into_iter()
    .chain(preconditions::looks(&cluster(), cluster().host("cp1").unwrap()))
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
    assert_eq!(seen.modules["overlay"], ModuleState::Loaded);
    assert_eq!(seen.images, Some(ImageStore::Unavailable));
    assert_eq!(seen.kubernetes, Some(KubernetesState::Absent));
    assert!(matches!(&seen.time, Some(TimeTracking::Tracking { stratum: 0, leap, .. }) if leap == "Not synchronised"));
    assert_eq!(seen.clock_nanoseconds, 1_795_276_954_479_426_950);
    assert_eq!(seen.monotonic_microseconds, 24_619_873_234);
}

/// As chronyc of Debian 12 prints it: one address that nobody answers at, one name that does not resolve, one that has just answered.
#[test]
fn a_clock_that_follows_nobody_names_its_sources() {
    let (nonce, looks) = (Nonce::new([7; 16]), [Look::TimeTracking].into_iter().collect());
    let read = |sources: &str| {
        let tracking =
            "00000000,,0,0.000000000,0.000000000,0.000000000,0.000000000,0.000,0.000,0.000,1.000000000,1.000000000,0.0,Not synchronised";
        let answer = format!("\n{0} clock\n1\n1.00 1\n{0} time\n{tracking}\n{sources}\n{0} end\n", nonce.as_str());
        parse(&nonce, &looks, answer.as_bytes()).unwrap()
    };
    let mark = format!("\n{} time-sources\n", nonce.as_str());
    let lines = "^,?,192.0.2.1,0,6,0,4294967295,0.0,0.0,0.0\n^,?,ntp.example.org,0,6,0,4294967295,0.0,0.0,0.0\n^,x,192.0.2.3,2,6,17,3,0.1,0.1,0.1\nbroken";
    let waits = |seen: &Observations| match Operation::TimeSynchronised(TimeSynchronised { serves: false }).diff(seen) {
        Verdict::Differs(change) => change.because,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        waits(&read(&format!("{mark}{lines}"))),
        "chronyd is not synchronised: 192.0.2.1 does not answer, ntp.example.org has no address or does not answer, \
         192.0.2.3 answers, and its time is wrong"
    );
    // Such as from a chronyc that does not tell them, or a chronyd that is not configured yet.
    for sources in [String::new(), mark] {
        assert_eq!(waits(&read(&sources)), "chronyd is not synchronised");
    }
}

#[test]
fn a_machine_that_slept_has_two_clocks() {
    let (nonce, looks) = (Nonce::new([7; 16]), Looks::default());
    let answer = |clock: &str| format!("\n{0} clock\n{clock}\n{0} end\n", nonce.as_str());
    let read = |clock: &str| parse(&nonce, &looks, answer(clock).as_bytes()).map(|seen| seen.monotonic_microseconds);
    assert_eq!(read("1795257889867801099\n7200.50 1.00\nnow at 3600000000123 nsecs\n").unwrap(), 3_600_000_000);
    assert_eq!(read("1795257889867801099\n7200.50 1.00\n").unwrap(), 7_200_500_000);
    assert!(read(&format!("{}\n7200.50 1.00\n", i128::MAX)).is_err(), "no clock is that far");
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
    // A control plane has no load balancer, and the network is flannel.
    for image in bundle().images.iter().filter(|image| image.name != "haproxy" && !image.name.starts_with("calico-")) {
        let found = &images[&image.reference];
        assert_eq!((&found.digest, found.pinned), (&image.manifest_digest, true), "{}", image.reference);
    }
    assert_eq!(seen.api_server, Some(ApiServerState::Ready));
    let versions = seen.versions.unwrap();
    assert_eq!(versions["kubelet"].running, versions["kube-scheduler"].next);
    assert_eq!(versions["containerd"].running.as_ref().unwrap().to_string(), "2.3.7");
    let Some(EtcdState::Ready(etcd)) = &seen.etcd else { panic!("{:?}", seen.etcd) };
    assert!(etcd.has_leader && !etcd.is_learner && etcd.version == "3.7.0" && etcd.members.len() == 1, "{etcd:?}");
    let state = seen.kubernetes.unwrap();
    let node = state.node("worker1").unwrap();
    assert!(node.ready && node.kubelet_version == "v1.37.1");
    assert_eq!(node.said_at_seconds, Some(1_795_276_990));
    assert_eq!(state.node("cp1").unwrap().taints, ["node-role.kubernetes.io/control-plane=:NoSchedule"]);
    let configuration = state.object("ConfigMap", "kube-system", "kubeadm-config").unwrap();
    assert!(configuration.text("/data/ClusterConfiguration").unwrap().contains("kubernetesVersion: v1.37.1"));
    assert_eq!(state.object("DaemonSet", "kube-system", "kube-proxy").unwrap().number("/status/numberAvailable"), 2);
    assert!(matches!(state, KubernetesState::Ready { bootstrap_tokens, .. } if bootstrap_tokens.is_empty()));
}

#[test]
fn last_words_are_told_of_what_is_waited_for() {
    let told_of = |look: Look| {
        let looks: Looks = [look].into_iter().collect();
        ["kubelet", "etcd", "kube-apiserver"].map(|program| looks.have_last_words_of(program))
    };
    assert_eq!(told_of(Look::Unit("kubelet.service".into())), [true, false, false], "old complaints of others explain no kubelet");
    assert_eq!(told_of(Look::ApiServer), [true, true, true], "without a kubelet there is none");
    assert_eq!(told_of(Look::Unit("containerd.service".into())), [false; 3]);
}

#[test]
fn facts_of_a_control_plane_and_a_worker_are_read() {
    let (bare, ready, worker) = (
        facts::parse(&nonce(), Extent::Node, BARE).unwrap(),
        facts::parse(&nonce(), Extent::Node, READY).unwrap(),
        facts::parse(&nonce(), Extent::Node, READY_WORKER).unwrap(),
    );
    assert_eq!((bare.os_id.as_str(), bare.os_version.as_str(), bare.architecture.as_str()), ("debian", "12", "amd64"));
    assert_eq!((&bare.cluster, &bare.certificate_authority, &bare.listening_ports), (&None, &None, &[22].into()));
    assert_eq!((bare.hostname.as_str(), bare.processors), ("cp1", 2));
    assert!(bare.available_bytes < bare.memory_bytes && bare.name_servers.len() == 1 && bare.ssh_host_keys.len() == 2);
    assert_eq!(bare.routes.iter().map(|route| route.to.to_string()).collect::<Vec<_>>(), ["10.20.0.0/24"]);
    let host0 = bare.interface_of("10.20.0.11".parse().unwrap()).unwrap();
    assert!(host0.mac.as_ref().is_some_and(|mac| mac.len() == 17));
    let storage = &bare.storage["/var/lib/etcd"];
    assert!(storage.mount == "/var/lib/etcd" && storage.free_bytes > 1 << 30 && storage.free_inodes.is_some() && !storage.read_only);
    assert_eq!(bare.storage["/var/lib/kokctl"].mount, "/", "of a folder that is not there yet, that of the folder above");
    assert!(bare.commands.contains("chronyc") && bare.commands.contains("apt-get") && !bare.commands.contains("dnf"));
    assert!(!bare.cgroup_v2 && bare.swaps.is_empty() && bare.systemd && bare.unwritable.is_empty() && !bare.busy);
    assert!(ready.listening_ports.is_superset(&[22, 2379, 2380, 6443, 10250].into()));
    assert_eq!(ready.cluster.as_deref(), Some("rec"));
    assert!(ready.certificate_authority.is_some() && ready.certificate_authority == worker.certificate_authority);
    assert!(worker.addresses().any(|address| address.to_string() == "10.20.0.12"));
}

/// `firewall-cmd --list-all-zones`, in the forms of version 1 and 2.
const ZONES: &str = include_str!("../fixtures/answers/firewalld-zones.txt");

#[test]
fn a_firewalld_that_does_not_answer_lets_in_nobody_knows_what() {
    let looks = [Look::Firewall].into_iter().collect();
    let read = |said: &str| {
        let answer = format!("\n{0} clock\n1\n1.00 1\n{0} firewall\n{said}{0} end\n", nonce().as_str());
        parse(&nonce(), &looks, answer.as_bytes()).map(|seen| seen.firewall)
    };
    assert!(read(&format!("firewalld\npublic\n{ZONES}\n")).is_ok());
    for broken in ["firewalld\n\n", "firewalld\npublic\n\n", "firewalld\nFirewallD is not running\nFirewallD is not running\n\n"] {
        assert_eq!(read(broken).unwrap_err().section, "firewall", "{broken:?}");
    }
    assert_eq!(read("\n").unwrap(), Some(Firewall::None));
}

/// The bare host, as one of the RHEL family with SELinux and firewalld would answer.
fn rocky() -> Vec<u8> {
    let text = String::from_utf8(BARE.to_vec()).unwrap();
    let text = text
        .replace("/etc/os-release:ID=debian", "/etc/os-release:ID=\"rocky\"\n/etc/os-release:ID_LIKE=\"rhel centos fedora\"")
        .replace("/etc/os-release:VERSION_ID=\"12\"", "/etc/os-release:VERSION_ID=\"9.4\"")
        .replace("/proc/sys/kernel/osrelease:", "/sys/fs/selinux/enforce:1\n/proc/sys/kernel/osrelease:")
        .replace("apt-get\n", "dnf\n")
        .replace("chronyc\n", "")
        .replace("\nnft\n", "\n");
    let mark = format!("\n{} firewall\n", nonce().as_str());
    text.replace(&mark, &format!("{mark}firewalld\npublic\n{ZONES}")).into_bytes()
}

#[test]
fn a_host_of_the_rhel_family_is_known_by_its_facts() {
    let facts = facts::parse(&nonce(), Extent::Node, &rocky()).unwrap();
    assert!(facts.distribution().is_some_and(|family| family.name == "RHEL") && facts.selinux == SelinuxMode::Enforcing);
    assert_eq!((facts.os_id.as_str(), facts.os_version.as_str()), ("rocky", "9.4"));
    let seen = read(&rocky());
    let Some(Firewall::Firewalld(firewalld)) = seen.firewall else { panic!("{:?}", seen.firewall) };
    assert_eq!(
        (firewalld.default.as_str(), firewalld.zones.keys().map(String::as_str).collect::<Vec<_>>()),
        ("public", vec!["block", "internal", "public", "trusted"])
    );
    let internal = &firewalld.zones["internal"];
    assert!(
        internal.interfaces.contains("eth0") && internal.ports == BTreeSet::from(["6443/tcp", "2379-2380/tcp"].map(str::to_owned)),
        "{internal:?}"
    );
    assert!(firewalld.trusts("10.233.64.0/18") && !internal.accepts && internal.sources.is_empty());
    assert!(facts::parse(&nonce(), Extent::Node, BARE).unwrap().distribution().is_some_and(|family| family.name == "Debian"));
    // What it lacks is named by the packages of its own family, and chrony has another place there.
    let mut cluster = cluster();
    cluster.settings.host.preinstall_selinux_state = Some(kok_crds::model::SelinuxState::Permissive);
    cluster.settings.host.firewall = kok_crds::model::FirewallPolicy::Open;
    cluster.settings.kubelet_fail_cgroup_v1 = false;
    let bundle = bundle();
    let mut facts = facts;
    facts.memory_bytes = facts.memory_bytes.max(4 << 30);
    facts.processors = facts.processors.max(2);
    let mut all = seen_with(|_, _| {});
    let address = facts.interfaces["host0"].clone();
    assert!(!address.addresses.is_empty());
    all.add_facts("cp1", facts);
    let inputs = inputs(&cluster, &bundle);
    let looks: Vec<String> = match make(&inputs, &all).unwrap() {
        Making::LookFirst(looks) => looks["cp1"].iter().map(|look| format!("{look:?}")).collect(),
        other => panic!("{other:?}"),
    };
    for wanted in ["Unit(\"chronyd.service\")", "/etc/chrony.conf", "Command(\"chronyc\")", "Command(\"nft\")", "/etc/pki/ca-trust"] {
        assert!(looks.iter().any(|look| look.contains(wanted)), "{wanted} is not in {looks:?}");
    }
    assert!(!looks.iter().any(|look| look.contains("dpkg") || look.contains("/etc/chrony/chrony.conf")));
}

#[test]
fn what_a_plan_looks_at_is_what_a_recorded_host_was_asked() {
    let (cluster, bundle) = (cluster(), bundle());
    let looks = &kok_tasks::plan::looks(&inputs(&cluster, &bundle)).unwrap()["cp1"];
    assert_eq!(looks.iter().collect::<Looks>(), *looks, "nothing is lost on the way");
    let script = probe_script(&nonce(), looks, Some(Extent::Node));
    // Paths and large files together; units, and with them the processes whose versions are asked.
    for (command, count) in [("$(stat -c ", 1), ("systemctl show ", 1), ("$(sha256sum -- ", 1), ("head -q -c ", 1)] {
        assert_eq!(script.matches(command).count(), count, "{command} is not batched");
    }
}
