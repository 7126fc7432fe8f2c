//! Hosts of the lab are what users have, stay apart, bear faults, and leave nothing behind.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::lab_support::{Traces, read, wait_for};
use kok_tests::lab::{Host, Image, Lab, LabSpec, OPSPW_PASSWORD, Power, names};

const INSTANCES: &str = "/proc/sys/fs/inotify/max_user_instances";

/// One lab for all of it, for booting costs more than every check. A second one lives beside it.
#[test]
fn hosts_are_machines_and_leave_nothing() {
    let instances = original_instances();
    let lab = up(2);
    let other = up(1);
    let (cp1, worker1) = (lab.host("cp1").unwrap(), lab.host("worker1").unwrap());

    is_a_bare_machine(&cp1);
    belongs_to_nobody_else(&cp1, &worker1);
    lets_ops_become_root(&worker1);
    has_no_way_out(&cp1);
    keeps_the_machine_as_it_is(&cp1);
    can_be_cut_and_healed(&cp1, &worker1);
    survives_a_power_cut(&lab, &worker1);
    stays_apart(&lab, &other);
    describes_itself(&lab);

    other.down().unwrap();
    assert_eq!(ok(&cp1, "hostname"), "cp1", "taking one lab down must not touch the other");
    leaves_nothing(lab, &cp1);
    wait_for("limits follow the labs", 10, || {
        let now = read(INSTANCES);
        if names().unwrap().is_empty() { now == instances } else { now.trim().parse::<u32>().unwrap() >= 8192 }
    });
}

#[test]
fn faults_come_and_go() {
    let lab = up(1);
    let host = lab.host("cp1").unwrap();
    asks_opspw_for_a_password(&host);
    has_shells_of_all_kinds(&host);
    can_be_paused(&lab, &host);
    can_have_less_of_a_processor(&host);
    can_lag(&host);
    can_be_filled(&host);
    reboots_itself(&host);

    // Also with faults that are not undone.
    host.lag(Duration::from_millis(10)).unwrap();
    host.fill("/opt").unwrap();
    host.pause().unwrap();
    let namespace = fs::read_link(lab.facts().unwrap().network_namespace).unwrap();
    let traces = Traces::of_lab(lab.name(), Some(namespace));
    assert!(traces.find().iter().any(|trace| trace.contains("@lag-cp1") || trace.contains("--milliseconds")), "{:?}", traces.find());
    lab.down().unwrap();
    assert_eq!(traces.find(), Vec::<String>::new());
}

/// One lab of all kinds: what is behind a bastion, another distribution, a light host.
#[test]
fn hosts_differ_as_they_were_asked_to() {
    let mut spec = LabSpec::unique(2).behind_bastions(2);
    spec.hosts[2].image = Image::Debian13;
    spec.hosts[3].light = true;
    let lab = Lab::up(spec).unwrap_or_else(|error| panic!("{error}"));
    let (near, far) = (lab.host("bastion1").unwrap(), lab.host("bastion2").unwrap());
    let (cp1, worker1) = (lab.host("cp1").unwrap(), lab.host("worker1").unwrap());

    let reaches = |host: &Host, address: &str| host.ssh(&["ping", "-c", "1", "-W", "1", address]).unwrap().success();
    for (host, address) in [(&far, "10.20.1.12"), (&cp1, "10.20.2.13"), (&worker1, "10.20.2.14")] {
        assert_eq!(host.address(), address);
        assert_eq!(ok(host, "hostname"), host.name(), "through its bastions");
        let knock = format!("exec 3<>/dev/tcp/{address}/22");
        let direct = lab.command("timeout").unwrap().args(["5", "bash", "-c", &knock]).stderr(Stdio::null()).status().unwrap();
        assert!(!direct.success(), "the controller must not reach {address} past a bastion");
    }
    assert!(reaches(&near, "10.20.1.12") && !reaches(&near, "10.20.2.13"), "each bastion leads one network further");
    assert!(reaches(&cp1, "10.20.2.14") && reaches(&far, "10.20.2.13"));
    let manifest = lab.inventory("1.37.1").unwrap();
    assert!(!manifest.contains("name: bastion") && manifest.contains("{address: 10.20.1.12, user: root, "), "{manifest}");

    assert!(ok(&cp1, "cat /etc/os-release").contains("VERSION_ID=\"13\""));
    is_a_bare_machine(&cp1);
    assert!(ok(&worker1, "cat /etc/os-release").contains("VERSION_ID=\"12\""));
    assert_eq!(ok(&worker1, "systemctl is-system-running"), "running");
    assert_eq!(ok(&worker1, "systemctl list-units --plain --no-legend 'chrony*' 'systemd-networkd*' 'systemd-logind*'"), "");
    near.reboot().unwrap();
    assert_eq!(ok(&cp1, "hostname"), "cp1", "a bastion that was restarted leads on");
    far.cut().unwrap();
    assert_eq!(cp1.ssh(&["true"]).unwrap().status, 255);
    far.heal().unwrap();
    assert_eq!(ok(&cp1, "hostname"), "cp1");
}

fn asks_opspw_for_a_password(host: &Host) {
    assert_eq!(host.ssh_as("opspw", &["id", "-un"]).unwrap().stdout, "opspw\n");
    assert!(!host.ssh_as("opspw", &["sudo", "-n", "true"]).unwrap().success());
    let becomes = |password: &str| {
        let mut command = host.ssh_command("opspw", "sudo -S -p '' id -un").unwrap();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(format!("{password}\n").as_bytes()).unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    };
    assert_eq!(becomes("wrong"), "");
    assert_eq!(becomes(OPSPW_PASSWORD), "root\n");
}

fn has_shells_of_all_kinds(host: &Host) {
    for shell in ["bash", "dash", "fish", "tcsh"] {
        assert_eq!(ok(host, &format!("{shell} -c 'echo right'")), "right", "{shell}");
    }
}

fn can_be_paused(lab: &Lab, host: &Host) {
    ok(host, "systemd-run --quiet --unit=counter sh -c 'while :; do echo >>/root/count; sleep 0.1; done'");
    // Read from outside, for a host that is paused can't be asked.
    let file = lab.facts().unwrap().folder.join("hosts/cp1/upper/root/count");
    let count = || fs::read(&file).map_or(0, |text| text.len());
    wait_for("the counter counts", 10, || count() > 1);
    host.pause().unwrap();
    assert_eq!(host.power().unwrap(), Power::Paused);
    let before = count();
    assert_eq!(host.ssh(&["true"]).unwrap().status, 255, "a paused host does not answer");
    assert_eq!(count(), before, "a paused host does nothing");
    host.resume().unwrap();
    assert_eq!(host.power().unwrap(), Power::On);
    wait_for("the counter counts on", 10, || count() > before);
    ok(host, "systemctl stop counter");
}

/// However idle the machine is, and however busy: a share is never more than was said.
fn can_have_less_of_a_processor(host: &Host) {
    let spins =
        "bash -c 'read -r began _ </proc/uptime; while read -r now _ </proc/uptime; ((${now/./} - ${began/./} < 200)); do :; done; times'";
    host.limit_processor(Some(200)).unwrap();
    let used = ok(host, spins);
    host.limit_processor(None).unwrap();
    let seconds = |time: &str| time.trim_start_matches("0m").trim_end_matches('s').parse::<f64>().unwrap();
    let used: f64 = used.lines().next().unwrap().split(' ').map(seconds).sum();
    assert!(used < 0.6, "a fifth of two seconds, and what a period may begin with: {used}");
}

fn can_lag(host: &Host) {
    let login = || {
        let began = Instant::now();
        ok(host, "true");
        began.elapsed()
    };
    host.lag(Duration::from_secs(1)).unwrap();
    assert_eq!(host.lagging(), Some(Duration::from_secs(1)));
    let slow = login();
    assert!(slow >= Duration::from_secs(5), "connecting, keys and login are five round trips at least: {slow:?}");
    host.lag(Duration::ZERO).unwrap();
    assert_eq!(host.lagging(), None);
    let quick = login();
    assert!(quick < slow / 2, "{quick:?}");
}

fn can_be_filled(host: &Host) {
    ok(host, "mkdir -p /opt/full && echo before >/opt/full/file");
    let write = |path: &str| host.ssh(&["sh", "-c", &format!("cat /etc/os-release >>{path}")]).unwrap();
    host.fill("/opt/full").unwrap();
    for path in ["/opt/full/new", "/opt/full/file"] {
        assert!(write(path).stderr.contains("No space left on device"), "{path}: {:?}", write(path));
    }
    assert_eq!(ok(host, "cat /opt/full/file"), "before");
    assert!(host.fill("/opt/full").is_err() && host.fill("/opt").is_err() && host.fill("/nowhere").is_err());
    assert!(write("/opt/beside").success());
    host.free("/opt/full").unwrap();
    assert!(host.free("/opt/full").is_err());
    assert_eq!(ok(host, "cat /opt/full/file; findmnt --noheadings /opt/full; true"), "before");
    assert!(write("/opt/full/file").success());
}

fn reboots_itself(host: &Host) {
    let boot = ok(host, "echo kept >/root/probe; cat /proc/sys/kernel/random/boot_id");
    host.reboot().unwrap();
    assert_eq!(host.power().unwrap(), Power::On);
    assert_ne!(ok(host, "cat /proc/sys/kernel/random/boot_id"), boot);
    assert_eq!(ok(host, "cat /root/probe"), "kept");
}

fn up(hosts: usize) -> Lab {
    Lab::up(LabSpec::unique(hosts)).unwrap_or_else(|error| panic!("{error}"))
}

/// The limit as it was before the first lab of the machine.
fn original_instances() -> String {
    let record = fs::read_to_string("/run/kok-lab/sysctls.json").ok();
    let value = record.and_then(|text| serde_json::from_str::<serde_json::Value>(&text).ok()?["fs/inotify/max_user_instances"].as_u64());
    value.map_or_else(|| read(INSTANCES), |value| format!("{value}\n"))
}

/// Standard output of a shell line that has to succeed.
fn ok(host: &Host, line: &str) -> String {
    let output = host.ssh(&["sh", "-c", line]).unwrap();
    assert!(output.success(), "{}: {line}: {output:?}", host.name());
    output.stdout.trim().to_owned()
}

fn is_a_bare_machine(host: &Host) {
    assert_eq!(ok(host, "systemctl is-system-running"), "running");
    assert_eq!(ok(host, "cat /proc/1/comm"), "systemd");
    assert_eq!(ok(host, "hostname"), host.name());
    assert_eq!(ok(host, "systemctl is-active chrony ssh systemd-networkd"), "active\nactive\nactive");
    assert_eq!(ok(host, "for p in python3 python containerd runc kubelet kubeadm docker; do command -v $p; done; true"), "");
    ok(host, "for p in nft iptables ip conntrack socat ethtool sudo curl tar gzip sha256sum; do command -v $p || exit 1; done");
    assert_eq!(ok(host, "stat -f -c %T /var/lib/containerd /var/lib/kubelet /var/lib/etcd | sort -u | grep overlay; true"), "");
    // Every controller that the host sees is its own and can be written to.
    ok(host, "for c in /sys/fs/cgroup/*/; do [ -L ${c%/} ] || { mkdir $c/probe && rmdir $c/probe; } || exit 1; done");
    assert_eq!(ok(host, "findmnt -n -o PROPAGATION /"), "shared");
    // Arguments arrive as they are.
    assert_eq!(host.ssh(&["printf", "%s|", "a b", "$HOME", "it's"]).unwrap().stdout, "a b|$HOME|it's|");
    assert_eq!(host.ssh(&["sh", "-c", "exit 7"]).unwrap().status, 7);
}

fn belongs_to_nobody_else(one: &Host, other: &Host) {
    for file in ["/etc/machine-id", "/etc/ssh/ssh_host_ed25519_key.pub", "/proc/sys/kernel/random/boot_id", "/etc/hostname"] {
        assert_ne!(ok(one, &format!("cat {file}")), ok(other, &format!("cat {file}")), "{file}");
    }
    assert_eq!(ok(one, "cat /etc/machine-id"), one.machine_id().unwrap());
}

fn lets_ops_become_root(host: &Host) {
    assert_eq!(host.ssh_as("ops", &["id", "-un"]).unwrap().stdout, "ops\n");
    assert_eq!(host.ssh_as("ops", &["sudo", "-n", "id", "-un"]).unwrap().stdout, "root\n");
    assert_eq!(host.ssh_as("nobody", &["true"]).unwrap().status, 255);
    assert!(ok(host, "passwd --status root").starts_with("root L "), "the root's password must be locked");
}

fn has_no_way_out(host: &Host) {
    // Not "in time": it has to fail at once, so that nothing of ours waits for a network that is not there.
    let output = host.ssh(&["curl", "--silent", "--max-time", "20", "http://192.0.2.1/"]).unwrap();
    assert_eq!(output.status, 7, "7 is refused or unreachable, 28 would be a timeout: {output:?}");
    assert_eq!(host.ssh(&["curl", "--silent", "--max-time", "20", "http://example.org/"]).unwrap().status, 6);
}

fn keeps_the_machine_as_it_is(host: &Host) {
    for line in ["date --set @0", "echo 1 > /proc/sys/kernel/panic", "echo 1 > /proc/sys/fs/inotify/max_user_instances"] {
        assert!(!host.ssh(&["sh", "-c", line]).unwrap().success(), "a host must not be able to: {line}");
    }
    ok(host, "echo 1 > /proc/sys/net/ipv4/ip_forward");
    ok(host, "nft add table inet probe && nft delete table inet probe");
}

fn can_be_cut_and_healed(host: &Host, other: &Host) {
    let ping = |host: &Host| other.ssh(&["ping", "-c", "1", "-W", "1", &host.address()]).unwrap().success();
    let lost_carrier = || ok(host, "cat /sys/class/net/host0/carrier_down_count");
    let before = lost_carrier();
    assert!(ping(host));
    host.cut().unwrap();
    assert_eq!(host.power().unwrap(), Power::Cut);
    assert!(!ping(host));
    host.heal().unwrap();
    assert_eq!(host.power().unwrap(), Power::On);
    assert!(ping(host));
    assert_eq!(lost_carrier(), before, "a cut is not an unplugged cable");
}

fn survives_a_power_cut(lab: &Lab, host: &Host) {
    let boot = ok(host, "echo kept > /root/probe; sync; cat /proc/sys/kernel/random/boot_id");
    let id = host.machine_id().unwrap();
    host.power_off().unwrap();
    assert_eq!(host.power().unwrap(), Power::Off);
    assert!(host.cut().is_err());
    assert!(host.journal().unwrap().contains("systemd"), "the journal of a host that is off can be read");
    host.power_on().unwrap();
    assert!(host.power_on().is_err());
    assert_eq!(ok(host, "cat /root/probe"), "kept");
    assert_ne!(ok(host, "cat /proc/sys/kernel/random/boot_id"), boot);
    assert_eq!(ok(host, "cat /etc/machine-id"), id);
    assert_eq!(lab.hosts().count(), 2);
}

fn stays_apart(lab: &Lab, other: &Lab) {
    let (host, twin) = (lab.host("cp1").unwrap(), other.host("cp1").unwrap());
    assert_eq!(host.address(), twin.address());
    assert_ne!(ok(&host, "cat /etc/machine-id"), ok(&twin, "cat /etc/machine-id"));
    // The keys of one lab are not those of the other.
    assert_ne!(fs::read(lab.private_key_path()).unwrap(), fs::read(other.private_key_path()).unwrap());
}

fn describes_itself(lab: &Lab) {
    let facts = lab.facts().unwrap();
    assert_eq!(facts.hosts.len(), 2);
    let manifest = lab.inventory("1.37.1").unwrap();
    assert!(manifest.contains("    - {name: cp1, address: 10.20.0.11, roles: [control-plane]}\n"), "{manifest}");
    assert!(manifest.contains("    - {name: worker1, address: 10.20.0.12, roles: [worker]}\n"), "{manifest}");
    let known = fs::read_to_string(lab.known_hosts_path()).unwrap();
    assert_eq!(known.lines().filter(|line| line.starts_with("10.20.0.12,worker1 ssh-ed25519 ")).count(), 1, "{known}");
}

/// With mounts, cgroups, processes of other namespaces and a program in the lab's network, as with a cluster on it.
fn leaves_nothing(lab: Lab, host: &Host) {
    ok(
        host,
        "cd /var/lib/containerd && mkdir lower upper work merged && mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work o merged
         mkdir -p /var/lib/kubelet/pod && mount -t tmpfs t /var/lib/kubelet/pod
         systemd-run --quiet --unit=deep unshare --mount --pid --net --fork sleep infinity",
    );
    let mut guest = lab.command("sleep").unwrap().arg("infinity").stdin(Stdio::null()).spawn().unwrap();
    let namespace = fs::read_link(lab.facts().unwrap().network_namespace).unwrap();
    let traces = Traces::of_lab(lab.name(), Some(namespace));
    assert!(traces.find().len() > 10, "the search must find a lab that is up: {:?}", traces.find());
    lab.down().unwrap();
    guest.wait().unwrap();
    assert_eq!(traces.find(), Vec::<String>::new());
    assert!(host.ssh(&["true"]).is_err());
}
