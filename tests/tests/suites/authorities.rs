//! Certificate authorities are replaced while they are used, by runs that are killed and gone on with; nobody is refused before the end, and the one from before
//! is worth nothing after it.

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Host, Lab, LabSpec};

use crate::cluster_support::clock::Clock;
use crate::cluster_support::cluster::{self, kubectl};
use crate::cluster_support::kokctl::{Kokctl, KokctlOutput};
use crate::cluster_support::{meanwhile, ok};
use crate::highly_available_story::any;
use crate::lab_support::wait_for;
use crate::members_story::killed;

fn without(manifest: &str, host: &str) -> String {
    manifest.lines().filter(|line| !line.contains(&format!("name: {host},"))).map(|line| format!("{line}\n")).collect()
}

/// What was there before, and what knows no other.
const OLD: &str = "/root/old";
/// As long as an API server takes to read what aggregated API servers are told.
const TOLD_WITHIN: u64 = 90;

#[test]
fn that_of_kubernetes_is_replaced_under_load() {
    let lab = Lab::up(LabSpec::unique(5).control_planes(3)).unwrap_or_else(|error| panic!("{error}"));
    let kokctl = Kokctl::new(&lab);
    let planes = Planes::from_lab(&lab);
    let mut clock = Clock::start();
    let whole = lab.inventory(DEFAULT_KUBERNETES_VERSION).unwrap();
    kokctl.write_manifest(&without(&whole, "worker2"));
    kokctl.converge("apply");
    clock.lap("a cluster");
    planes.keep_what_is_there();
    let keys = private(&lab, "cp1", &["pki/ca.key"]);
    planes.under_load(|| {
        is_killed(&kokctl, &planes, "kubernetes");
        clock.lap("killed");
        done(&rotate(&kokctl, &["kubernetes"]), "signs: ");
        clock.lap("gone on with");
    });
    kokctl.has_nothing_to_do();
    // One that joins meanwhile asks for its certificate itself.
    kokctl.write_manifest(&whole);
    planes.under_load(|| drop(kokctl.converge("apply")));
    clock.lap("a worker that joins");
    is_signed_by_the_new_one_but_what_api_servers_show(&lab);
    signs_requests(&lab);
    let said = rotate(&kokctl, &["kubernetes", "--finish"]);
    assert!(said.code != 0 && said.stderr.contains("kube-system/kube-proxy-") && said.stderr.contains("rollout restart"), "{said:?}");
    planes.under_load(|| {
        let restarted = "rollout restart -n kube-system daemonset,deployment && kubectl --kubeconfig=/etc/kubernetes/admin.conf \
                         rollout status -n kube-system daemonset,deployment --timeout=240s";
        kubectl(&lab, restarted);
        kubectl(&lab, "rollout restart -n kube-flannel daemonset || :");
        kubectl(&lab, "rollout status -n kube-flannel daemonset --timeout=240s || :");
    });
    clock.lap("pods that know it");
    killed::after(&kokctl, &["certs", "rotate", "ca", "kubernetes", "--finish"], any((1..=20).collect()));
    done(&rotate(&kokctl, &["kubernetes", "--finish"]), "is trusted: ");
    clock.lap("ended");
    wait_for("nobody knows the old one", TOLD_WITHIN, || planes.all_refuse_the_old());
    is_signed_by_the_new_one(&lab);
    assert!(kubectl(&lab, "logs -n kube-system daemonset/kube-proxy --tail=1 2>&1 || echo failed").lines().all(|line| line != "failed"));
    signs_requests(&lab);
    cluster::assert_serves(&lab, DEFAULT_KUBERNETES_VERSION);
    kokctl.has_nothing_to_do();
    let said = rotate(&kokctl, &["kubernetes", "--finish"]);
    assert!(said.code == 0 && said.stdout.contains("nothing was left to do"), "{said:?}");
    clock.lap("checks of the cluster");
    was_not_said(&kokctl, &[keys, private(&lab, "cp1", &["pki/ca.key", "controller-manager.conf"])].concat());
}

#[test]
fn those_of_etcd_and_of_the_front_proxy_are_replaced_under_load() {
    let lab = Lab::up(LabSpec::unique(4).control_planes(3)).unwrap_or_else(|error| panic!("{error}"));
    let kokctl = Kokctl::new(&lab);
    let planes = Planes::from_lab(&lab);
    let mut clock = Clock::start();
    kokctl.converge("apply");
    clock.lap("a cluster");
    planes.keep_what_is_there();
    let keys = private(&lab, "cp1", &["pki/etcd/ca.key", "pki/front-proxy-ca.key"]);
    for name in ["etcd", "front-proxy"] {
        planes.under_load(|| {
            is_killed(&kokctl, &planes, name);
            done(&rotate(&kokctl, &[name]), "signs: ");
            kokctl.has_nothing_to_do();
            clock.lap("signs");
            killed::after(&kokctl, &["certs", "rotate", "ca", name, "--finish"], any((1..=8).collect()));
            done(&rotate(&kokctl, &[name, "--finish"]), "is trusted: ");
        });
        clock.lap("ended");
    }
    is_signed_by_the_new_one(&lab);
    // Nobody comes in with what etcd's authority from before has signed.
    let asked = format!(
        "etcdctl --endpoints=https://127.0.0.1:2379 --cacert=/etc/kubernetes/pki/etcd/ca.crt --cert={OLD}/pki/etcd/server.crt \
         --key={OLD}/pki/etcd/server.key --command-timeout=5s get kokctl 2>&1 && echo let in || :"
    );
    for host in &planes.hosts {
        let said = ok(host, &format!("PATH=$PATH:/var/lib/kokctl/etcd/bin; {asked}"));
        assert!(!said.contains("let in"), "{said}");
    }
    cluster::assert_serves(&lab, DEFAULT_KUBERNETES_VERSION);
    kokctl.has_nothing_to_do();
    was_not_said(&kokctl, &[keys, private(&lab, "cp1", &["pki/etcd/ca.key", "pki/front-proxy-ca.key"])].concat());
}

/// The control planes, all of which are asked from the first one.
struct Planes {
    first: Host,
    addresses: Vec<String>,
    hosts: Vec<Host>,
}

impl Planes {
    fn from_lab(lab: &Lab) -> Self {
        let hosts: Vec<Host> = ["cp1", "cp2", "cp3"].map(|name| lab.host(name).unwrap()).into();
        Self { first: lab.host("cp1").unwrap(), addresses: hosts.iter().map(|host| host.address().to_string()).collect(), hosts }
    }

    /// What a pod of before has read, and what somebody has taken home.
    fn keep_what_is_there(&self) {
        for host in &self.hosts {
            ok(host, &format!("mkdir -m 700 {OLD} && cp -a /etc/kubernetes/pki /etc/kubernetes/admin.conf {OLD}/"));
        }
        let token = "kubectl --kubeconfig=/etc/kubernetes/admin.conf create token default --duration=24h";
        ok(&self.first, &format!("{token} >{OLD}/token"));
    }

    fn ask(&self, address: &str, by: &str) -> String {
        let line = format!("KUBECONFIG=/dev/null kubectl --server=https://{address}:6443 {by} --request-timeout=10s auth whoami 2>&1 || :");
        ok(&self.first, &line)
    }

    fn of_pod(&self, address: &str) -> String {
        self.ask(address, &format!("--certificate-authority={OLD}/pki/ca.crt --token=$(cat {OLD}/token)"))
    }

    fn of_administrator(&self, address: &str, authority: &str) -> String {
        self.ask(address, &format!("--kubeconfig={OLD}/admin.conf --certificate-authority={authority}"))
    }

    /// A client that knows the old authority alone asks all of them, and an administrator who is known by it: none refuses them, and at each moment some answer.
    fn under_load(&self, work: impl FnOnce()) {
        let round = || {
            let ca = format!("{OLD}/pki/ca.crt");
            let pods: Vec<String> = self.addresses.iter().map(|address| self.of_pod(address)).collect();
            let people: Vec<String> = self.addresses.iter().map(|address| self.of_administrator(address, &ca)).collect();
            for said in pods.iter().chain(&people) {
                assert!(!["x509", "Unauthorized", "certificate"].iter().any(|word| said.contains(word)), "{said}");
            }
            assert!(pods.iter().any(|said| said.contains("system:serviceaccount:default:default")), "{pods:?}");
            assert!(people.iter().any(|said| said.contains("kubernetes-admin")), "{people:?}");
        };
        meanwhile::asked(round, work);
    }

    fn all_refuse_the_old(&self) -> bool {
        self.addresses.iter().all(|address| {
            let (pod, person) = (self.of_pod(address), self.of_administrator(address, "/etc/kubernetes/pki/ca.crt"));
            pod.contains("x509") && (person.contains("Unauthorized") || person.contains("provide credentials"))
        })
    }
}

fn rotate(kokctl: &Kokctl<'_>, more: &[&str]) -> KokctlOutput {
    let said = kokctl.run(&[&["certs", "rotate", "ca"], more, &["-f", kokctl.manifest().to_str().unwrap()]].concat());
    println!("$ kokctl certs rotate ca {}\n{}{}", more.join(" "), said.stdout, said.stderr);
    said
}

fn done(said: &KokctlOutput, words: &str) {
    assert!(said.code == 0 && said.stdout.contains(words), "{said:?}");
}

/// Some steps are done. Neither is it gone on with by `apply`, nor taken back; and everybody sees what is under way.
fn is_killed(kokctl: &Kokctl<'_>, planes: &Planes, name: &str) {
    let after = any((1..=30).collect());
    println!("certs rotate ca {name} is killed after {after} steps");
    killed::after(kokctl, &["certs", "rotate", "ca", name], after);
    let there = || {
        let sums = "cd /etc/kubernetes && sha256sum pki/*.crt pki/*.key pki/etcd/*.crt *.conf manifests/*";
        planes.hosts.iter().map(|host| ok(host, sums)).collect::<Vec<_>>()
    };
    let said = kokctl.verb("status", &[]);
    assert!(said.stderr.contains(&format!("certs rotate ca {name}")), "{said:?}");
    // A leaf whose key was written a moment ago is made by whoever comes first.
    kokctl.converge("apply");
    let before = there();
    kokctl.has_nothing_to_do();
    assert_eq!(there(), before);
}

/// Leaves by the certificate of the authority that has to have signed each; kubeadm and OpenSSL see the same.
const LEAVES: &str = r#"cd /etc/kubernetes/pki || exit 1
check() { for leaf in $2; do [ ! -f "$leaf" ] || openssl verify -CAfile "$1" "$leaf" || exit 1; done; }
one() { openssl x509 -in "$1" -out "/run/one.crt" && echo /run/one.crt; }
"#;

fn is_signed_by_the_new_one_but_what_api_servers_show(lab: &Lab) {
    for host in lab.hosts() {
        ok(
            &host,
            &format!(
                "{LEAVES}check \"$(one ca.crt)\" 'apiserver-kubelet-client.crt /var/lib/kubelet/pki/kubelet.crt /var/lib/kubelet/pki/kubelet-client-current.pem'"
            ),
        );
        ok(&host, &format!("{LEAVES}[ ! -f apiserver.crt ] || openssl verify -CAfile {OLD}/pki/ca.crt apiserver.crt"));
    }
}

fn is_signed_by_the_new_one(lab: &Lab) {
    for host in lab.hosts() {
        ok(
            &host,
            &format!(
                "{LEAVES}check ca.crt 'apiserver.crt apiserver-kubelet-client.crt /var/lib/kubelet/pki/kubelet.crt /var/lib/kubelet/pki/kubelet-client-current.pem'"
            ),
        );
        ok(
            &host,
            &format!(
                "{LEAVES}check front-proxy-ca.crt front-proxy-client.crt; check etcd/ca.crt 'etcd/server.crt etcd/peer.crt etcd/healthcheck-client.crt apiserver-etcd-client.crt'"
            ),
        );
        assert_eq!(
            ok(&host, "cat /etc/kubernetes/pki/*.crt /etc/kubernetes/pki/etcd/ca.crt 2>/dev/null | grep -c kokctl || :").trim(),
            "0"
        );
        if ok(&host, "ls /etc/kubernetes/pki/apiserver.crt 2>/dev/null || :").contains("apiserver") {
            ok(&host, "kubeadm certs check-expiration >/dev/null");
        }
    }
}

/// The controller manager that leads signs what is asked, by the new one.
fn signs_requests(lab: &Lab) {
    let host = lab.host("cp1").unwrap();
    let script = r#"cd /run && export KUBECONFIG=/etc/kubernetes/admin.conf
kubectl delete csr asked --ignore-not-found >/dev/null
openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout asked.key -out asked.csr -subj /CN=jane 2>/dev/null
printf '{"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest","metadata":{"name":"asked"},"spec":{"signerName":"kubernetes.io/kube-apiserver-client","usages":["client auth"],"request":"%s"}}' "$(base64 -w 0 <asked.csr)" | kubectl create -f - >/dev/null
kubectl certificate approve asked >/dev/null"#;
    ok(&host, script);
    wait_for("a request is signed by the new one", 120, || {
        let signed = "kubectl --kubeconfig=/etc/kubernetes/admin.conf get csr asked -o 'jsonpath={.status.certificate}' | base64 -d >/run/asked.crt; \
                      cd /run && openssl x509 -in /etc/kubernetes/pki/ca.crt -out one.crt && openssl verify -CAfile one.crt asked.crt 2>&1 || :";
        ok(&host, signed).contains("asked.crt: OK")
    });
}

fn private(lab: &Lab, host: &str, paths: &[&str]) -> Vec<String> {
    let host = lab.host(host).unwrap();
    paths.iter().map(|path| ok(&host, &format!("cat /etc/kubernetes/{path}"))).collect()
}

fn was_not_said(kokctl: &Kokctl<'_>, secrets: &[String]) {
    let lines = secrets.iter().filter(|text| text.contains("PRIVATE KEY")).flat_map(|secret| secret.lines());
    for line in lines.filter(|line| line.len() > 40) {
        assert!(!kokctl.transcript().contains(line) && !kokctl.journals().contains(line));
    }
}
