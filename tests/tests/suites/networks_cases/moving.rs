//! An address that moves between the control planes.

use std::fs;

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Host, Lab};

use crate::cluster_support::cluster::control_planes;
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::{hosts, ok, site};
use crate::lab_support::wait_for;

/// Addresses that no host of a lab has.
pub const ADDRESS: &str = "10.20.0.200";
pub const OTHER: &str = "10.20.0.201";

/// So many milliseconds may pass between two answers when the host that has the address dies.
const POWER_CUT: u64 = 3000;
/// The same where its API server ends: it is asked each second, and has to refuse twice.
const WITHOUT_API_SERVER: u64 = 6000;

/// What a client outside asks, some times in a second: whoever has the address, and when he answered.
const CLIENT: &str = "cd /root && : >answers\nwhile :; do\n  curl -sk -o /dev/null --connect-timeout 0.2 --max-time 2 -f https://ADDRESS:6443/readyz && \
                      date +%s%3N >>answers\n  sleep 0.05\ndone\n";

/// The lab's manifest with that address, and a bundle with the packages that hosts lack.
pub fn kokctl(lab: &Lab) -> Kokctl<'_> {
    let kokctl = Kokctl::new(lab);
    let folder = kokctl.folder().join("site");
    let said = site::of_packages(&folder, &[]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    site::complete(&folder);
    let kokctl = kokctl.with_inventory("cluster.yaml", Vec::new(), folder);
    write(lab, &kokctl, Some(ADDRESS));
    kokctl
}

pub fn write(lab: &Lab, kokctl: &Kokctl<'_>, address: Option<&str>) {
    let plain = lab.inventory(DEFAULT_KUBERNETES_VERSION).unwrap();
    let field = address.map(|address| format!("  apiEndpoint: {{vip: {address}}}\n")).unwrap_or_default();
    let text = plain.replacen("  network:\n", &format!("{field}  network:\n"), 1);
    kokctl.write_manifest(&text);
}

/// The controller's own address, which is of no host; one of a worker; and one of another network. Nothing is changed.
pub fn what_is_not_free_is_refused(lab: &Lab, kokctl: &Kokctl<'_>) {
    let worker = lab.host("worker1").unwrap();
    ok(&worker, &format!("ip address add {OTHER}/24 dev host0"));
    for (address, told) in [
        ("10.20.0.1", "which is of none of the hosts"),
        (OTHER, "an interface of the host worker1 has it"),
        ("10.21.0.200", "is not of its network"),
    ] {
        write(lab, kokctl, Some(address));
        let said = kokctl.verb("apply", &["--bundle", kokctl.bundle().to_str().unwrap()]);
        assert!(said.code != 0 && said.stderr.contains(told), "{address}: {}\n{}", said.stdout, said.stderr);
    }
    ok(&worker, &format!("ip address delete {OTHER}/24 dev host0"));
    for host in hosts(lab) {
        assert_eq!(ok(&host, "ls -A /var/lib/kokctl 2>/dev/null || :"), "", "{}: nothing was changed", host.name());
    }
    write(lab, kokctl, Some(ADDRESS));
}

/// The control planes that have the address.
fn holders(lab: &Lab, address: &str, but: &[&str]) -> Vec<Host> {
    let asked = control_planes(lab).into_iter().filter(|host| !but.contains(&host.name()));
    asked.filter(|host| !ok(host, &format!("ip -o address show to {address}")).is_empty()).collect()
}

fn holder(lab: &Lab, address: &str) -> Host {
    wait_for("one control plane has the address", 20, || holders(lab, address, &[]).len() == 1);
    holders(lab, address, &[]).remove(0)
}

/// For whoever is no host of the cluster, by a certificate that has the address; and the user's kubeconfig leads there.
pub fn answers_outside(lab: &Lab, kokctl: &Kokctl<'_>, address: &str) {
    let said = kokctl.verb("kubeconfig", &[]);
    assert!(said.code == 0 && said.stdout.contains(&format!("server: \"https://{address}:6443\"")), "{said:?}");
    let file = kokctl.folder().join("outside.conf");
    fs::write(&file, said.stdout).unwrap();
    let authority = ok(&lab.host("cp1").unwrap(), "cat /etc/kubernetes/pki/ca.crt");
    let path = kokctl.folder().join("ca.crt");
    fs::write(&path, authority).unwrap();
    let mut command = lab.command("curl").unwrap();
    command.args(["-sf", "--max-time", "5", "--cacert"]).arg(&path).arg(format!("https://{address}:6443/readyz"));
    let output = command.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "ok", "{output:?}");
    let status = kokctl.verb("status", &[]);
    let line = format!("virtual address https://{address}:6443: {} has it", holder(lab, address).name());
    assert!(status.stdout.contains(&line), "{status:?}");
}

/// A client on the worker, which is no control plane.
pub struct Client {
    worker: Host,
}

impl Client {
    pub fn begin(lab: &Lab, address: &str) -> Self {
        let worker = lab.host("worker1").unwrap();
        let script = CLIENT.replace("ADDRESS", address);
        ok(&worker, &format!("cat >/root/client.sh <<'END'\n{script}END\nsystemd-run --quiet --unit=client sh /root/client.sh"));
        let client = Self { worker };
        wait_for("the client is answered", 20, || client.answers().len() > 5);
        client
    }

    fn answers(&self) -> Vec<u64> {
        ok(&self.worker, "cat /root/answers").lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// The longest time without an answer since the last of these, in milliseconds.
    fn away_since(&self, before: u64) -> u64 {
        let answers: Vec<u64> = self.answers().into_iter().filter(|at| *at >= before).collect();
        answers.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or_default()
    }

    fn last(&self) -> u64 {
        self.answers().last().copied().unwrap()
    }

    /// Until it has been answered for two seconds again.
    fn is_answered_again(&self) {
        let wanted = self.last() + 2000;
        wait_for("the client is answered again", 30, || self.last() > wanted);
    }

    pub fn end(self) {
        ok(&self.worker, "systemctl stop client.service");
    }
}

/// Another one has it within three seconds, and keeps it when the first is back.
pub fn moves_when_its_host_dies(lab: &Lab, client: &Client) {
    let lost = holder(lab, ADDRESS);
    let before = client.last();
    lost.power_off().unwrap();
    wait_for("another one has the address", 20, || holders(lab, ADDRESS, &[lost.name()]).len() == 1);
    client.is_answered_again();
    let away = client.away_since(before);
    println!("the address was away for {away} ms when {} lost its power", lost.name());
    assert!(away <= POWER_CUT, "{away} ms");
    let now = holders(lab, ADDRESS, &[lost.name()]).remove(0);
    lost.power_on().unwrap();
    wait_for("its API server is back", 120, || ok(&lost, "curl -sk --max-time 5 https://127.0.0.1:6443/readyz || :") == "ok");
    wait_for("keepalived knows that", 20, || ok(&lost, "cat /run/kokctl-keepalived/api-server || :") == "0");
    assert_eq!(holder(lab, ADDRESS).name(), now.name(), "it stays where it is");
}

/// The host lives, but its API server does not.
pub fn moves_when_its_api_server_ends(lab: &Lab, client: &Client) {
    let host = holder(lab, ADDRESS);
    let before = client.last();
    ok(&host, "mv /etc/kubernetes/manifests/kube-apiserver.yaml /root/");
    wait_for("another one has the address", 60, || holders(lab, ADDRESS, &[]).iter().any(|other| other.name() != host.name()));
    client.is_answered_again();
    let away = client.away_since(before);
    println!("the address was away for {away} ms when the API server of {} ended", host.name());
    assert!(away <= WITHOUT_API_SERVER, "{away} ms");
    ok(&host, "mv /root/kube-apiserver.yaml /etc/kubernetes/manifests/");
    wait_for("its API server is back", 120, || ok(&host, "curl -sk --max-time 5 https://127.0.0.1:6443/readyz || :") == "ok");
}

/// What asks the API server has ended, or keepalived itself: nobody knows any more whether the host may have the address, and it stays with nobody.
pub fn moves_when_what_watches_ends(lab: &Lab) {
    let host = holder(lab, ADDRESS);
    ok(&host, "systemctl stop kokctl-keepalived-check.service");
    wait_for("another one has the address", 20, || holder(lab, ADDRESS).name() != host.name());
    ok(&host, "systemctl start kokctl-keepalived-check.service");
    let may_have_it = |host: &Host| wait_for("it may have it again", 20, || ok(host, "cat /run/kokctl-keepalived/api-server || :") == "0");
    may_have_it(&host);
    let host = holder(lab, ADDRESS);
    // More often than systemd starts by itself what ends in ten seconds.
    for _ in 0..7 {
        ok(&host, "systemctl kill --signal=KILL kokctl-keepalived.service");
        wait_for("it is away or has begun anew", 15, || ok(&host, "ip -o address show to 10.20.0.200").is_empty());
        wait_for("it runs again", 20, || ok(&host, "systemctl is-active kokctl-keepalived.service || :") == "active");
    }
    may_have_it(&host);
    holder(lab, ADDRESS);
}

fn daemons(lab: &Lab) -> Vec<String> {
    control_planes(lab).iter().map(|host| ok(host, "systemctl show -P MainPID kokctl-keepalived.service")).collect()
}

/// Another address, by daemons that go on; and none.
pub fn changes_and_goes(lab: &Lab, kokctl: &Kokctl<'_>) {
    let before = daemons(lab);
    write(lab, kokctl, Some(OTHER));
    kokctl.converge("apply");
    assert_eq!(daemons(lab), before, "they read it again, and were not started anew");
    answers_outside(lab, kokctl, OTHER);
    assert!(holders(lab, ADDRESS, &[]).is_empty());
    kokctl.has_nothing_to_do();
    write(lab, kokctl, None);
    kokctl.converge("apply");
    for host in control_planes(lab) {
        let left = ok(
            &host,
            "ls -d /etc/kubernetes/keepalived /etc/systemd/system/kokctl-keepalived*.service /run/kokctl-keepalived 2>/dev/null || :",
        );
        assert_eq!((left.as_str(), ok(&host, "pgrep -x keepalived || :").as_str()), ("", ""), "{}", host.name());
    }
    assert!(holders(lab, OTHER, &[]).is_empty());
    kokctl.has_nothing_to_do();
}
