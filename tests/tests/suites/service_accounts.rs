//! The key that signs the tokens of service accounts is replaced while they are used, by a run that is killed and gone on with; nobody is refused before the end.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kok_tasks::pem_set::PemSet;
use kok_tasks::token_keys::key_id;
use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Host, Lab, LabSpec};
use serde_json::Value;

use crate::cluster_support::clock::Clock;
use crate::cluster_support::cluster::{self, kubectl};
use crate::cluster_support::kokctl::{Kokctl, KokctlOutput};
use crate::cluster_support::{meanwhile, ok};
use crate::highly_available_story::any;
use crate::lab_support::wait_for;
use crate::members_story::killed;

/// A Secret with a token that nobody signs anew by himself.
const HELD: &str = r#"{"apiVersion":"v1","kind":"Secret","type":"kubernetes.io/service-account-token","metadata":{"name":"held","annotations":{"kubernetes.io/service-account.name":"default"}}}"#;

/// A controller manager that is started anew leads after its lease has ended.
const SIGNED_ANEW: u64 = 120;

#[test]
fn the_key_is_replaced_under_load() {
    let lab = Lab::up(LabSpec::unique(4).control_planes(3)).unwrap_or_else(|error| panic!("{error}"));
    let kokctl = Kokctl::new(&lab);
    let planes = Planes::from_lab(&lab);
    let mut clock = Clock::start();
    kokctl.converge("apply");
    clock.lap("a cluster");
    ok(&planes.first, &format!("echo '{HELD}' | kubectl --kubeconfig=/etc/kubernetes/admin.conf create -f - >/dev/null"));
    let (old, before) = (planes.token(), planes.known());
    assert!(before.iter().all(|known| *known == [kid(&old)]), "{before:?}");
    let private = ok(&planes.first, "cat /etc/kubernetes/pki/sa.key");
    let (begun, key) = planes.under_load(&old, || {
        let begun = is_killed(&kokctl, &planes);
        clock.lap("killed");
        let key = done(&rotate(&kokctl, &[]), "are signed with ");
        clock.lap("gone on with");
        (begun, key)
    });
    let new = planes.token();
    assert_eq!(kid(&new), key);
    assert_ne!(kid(&old), key);
    // A key that was lost with the run that had made it is known until the end, for it may have signed.
    for ((known, mut begun), address) in planes.known().into_iter().zip(begun).zip(&planes.addresses) {
        assert!(begun.contains(&kid(&old)), "{address}: {begun:?}");
        begun.insert(key.clone());
        assert_eq!(known.into_iter().collect::<BTreeSet<_>>(), begun, "{address}");
    }
    assert!(planes.all(&old, Answer::Taken) && planes.all(&new, Answer::Taken));
    kokctl.has_nothing_to_do();
    it_does_not_end_too_soon(&kokctl, &planes, &old);
    the_secret_is_signed_anew(&lab, &planes, &key);
    let said = rotate(&kokctl, &["--finish"]);
    assert!(said.code != 0 && said.stderr.contains("pods may still have tokens") && !said.stderr.contains("default/held"), "{said:?}");
    assert_eq!(done(&rotate(&kokctl, &["--finish", "--anyway"]), "only tokens of service accounts that "), key);
    clock.lap("ended");
    assert!(planes.all(&old, Answer::Refused) && planes.all(&new, Answer::Taken) && planes.all(&planes.held(), Answer::Taken));
    assert!(planes.known().iter().all(|known| *known == [key.clone()]));
    ok(&planes.first, "kubectl --kubeconfig=/etc/kubernetes/admin.conf rollout restart -n kube-system daemonset,deployment");
    cluster::assert_serves(&lab, DEFAULT_KUBERNETES_VERSION);
    kokctl.has_nothing_to_do();
    clock.lap("pods with other tokens");
    let said = rotate(&kokctl, &["--finish"]);
    assert!(said.code != 0 && said.stderr.contains("no key of service accounts from before is there"), "{said:?}");
    let secrets = [private, ok(&planes.first, "cat /etc/kubernetes/pki/sa.key"), old, new];
    for line in secrets.iter().flat_map(|secret| secret.lines()).filter(|line| line.len() > 40) {
        assert!(!kokctl.transcript().contains(line) && !kokctl.journals().contains(line));
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Taken,
    Refused,
    /// It does not answer.
    Away,
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

    fn token(&self) -> String {
        ok(&self.first, "kubectl --kubeconfig=/etc/kubernetes/admin.conf create token default --duration=24h")
    }

    /// What stands in the Secret.
    fn held(&self) -> String {
        ok(&self.first, "kubectl --kubeconfig=/etc/kubernetes/admin.conf get secret held -o 'jsonpath={.data.token}' | base64 -d")
    }

    fn ask(&self, address: &str, token: &str) -> Answer {
        let line = format!(
            "KUBECONFIG=/dev/null kubectl --server=https://{address}:6443 --certificate-authority=/etc/kubernetes/pki/ca.crt --token={token} \
             --request-timeout=10s auth whoami -o 'jsonpath={{.status.userInfo.username}}' 2>&1 || :"
        );
        match ok(&self.first, &line) {
            said if said == "system:serviceaccount:default:default" => Answer::Taken,
            said if said.contains("Unauthorized") || said.contains("provide credentials") => Answer::Refused,
            _ => Answer::Away,
        }
    }

    fn all(&self, token: &str, wanted: Answer) -> bool {
        let answers: Vec<Answer> = self.addresses.iter().map(|address| self.ask(address, token)).collect();
        println!("{answers:?}");
        answers.iter().all(|answer| *answer == wanted)
    }

    /// The names of the keys of which each API server that runs knows tokens, by itself.
    fn known(&self) -> Vec<Vec<String>> {
        let of = |host: &Host| {
            let line = "kubectl --kubeconfig=/etc/kubernetes/admin.conf --server=https://$(hostname -I | cut -d ' ' -f 1):6443 get --raw /openid/v1/jwks";
            let keys: Value = serde_json::from_str(&ok(host, line)).unwrap();
            keys["keys"].as_array().unwrap().iter().map(|key| key["kid"].as_str().unwrap().to_owned()).collect()
        };
        self.hosts.iter().map(of).collect()
    }

    /// A client with a token from before asks all of them, over and over: none refuses it, and at each moment some answer.
    fn under_load<T>(&self, token: &str, work: impl FnOnce() -> T) -> T {
        let round = || {
            let answers: Vec<Answer> = self.addresses.iter().map(|address| self.ask(address, token)).collect();
            assert!(!answers.contains(&Answer::Refused) && answers.contains(&Answer::Taken), "{answers:?}");
        };
        meanwhile::asked(round, work)
    }
}

/// The name of the key that has signed a token, as the token says it.
fn kid(token: &str) -> String {
    let head = URL_SAFE_NO_PAD.decode(token.split('.').next().unwrap()).unwrap();
    let head: Value = serde_json::from_slice(&head).unwrap();
    head["kid"].as_str().unwrap().to_owned()
}

fn rotate(kokctl: &Kokctl<'_>, more: &[&str]) -> KokctlOutput {
    let said = kokctl.run(&[&["certs", "rotate", "service-account", "-f", kokctl.manifest().to_str().unwrap()], more].concat());
    println!("$ kokctl certs rotate service-account {}\n{}{}", more.join(" "), said.stdout, said.stderr);
    said
}

/// The key that it speaks of.
fn done(said: &KokctlOutput, before: &str) -> String {
    assert_eq!(said.code, 0, "{said:?}");
    let (_, rest) = said.stdout.split_once(before).unwrap_or_else(|| panic!("{said:?}"));
    rest.split([':', ' ']).next().unwrap().to_owned()
}

/// Some steps are done. Neither is it gone on with by `apply`, nor taken back; and everybody sees what is under way. Returns the names of the keys that each
/// control plane has by then.
fn is_killed(kokctl: &Kokctl<'_>, planes: &Planes) -> Vec<BTreeSet<String>> {
    let after = any((1..=20).collect());
    println!("certs rotate service-account is killed after {after} steps");
    killed::after(kokctl, &["certs", "rotate", "service-account"], after);
    let there =
        || planes.hosts.iter().map(|host| ok(host, "sha256sum /etc/kubernetes/pki/sa.key /etc/kubernetes/pki/sa.pub")).collect::<Vec<_>>();
    let before = there();
    let said = kokctl.verb("status", &[]);
    assert!(said.stderr.contains("certs rotate service-account"), "{said:?}");
    let said = kokctl.converge("apply");
    assert!(said.ends_with("nothing to do\n"), "{said}");
    assert_eq!(there(), before);
    let keys = |host: &Host| PemSet::parse(&ok(host, "cat /etc/kubernetes/pki/sa.pub")).all().filter_map(key_id).collect();
    planes.hosts.iter().map(keys).collect()
}

fn it_does_not_end_too_soon(kokctl: &Kokctl<'_>, planes: &Planes, old: &str) {
    let said = rotate(kokctl, &["--finish"]);
    assert_ne!(said.code, 0);
    for words in ["pods may still have tokens", "default/held", "kubectl patch secret held -n default"] {
        assert!(said.stderr.contains(words), "{said:?}");
    }
    assert!(planes.all(old, Answer::Taken));
}

/// By what the hint says.
fn the_secret_is_signed_anew(lab: &Lab, planes: &Planes, key: &str) {
    assert_ne!(kid(&planes.held()), key);
    kubectl(lab, "patch secret held -n default --type=json -p '[{\"op\":\"remove\",\"path\":\"/data/token\"}]'");
    wait_for("another token in the Secret", SIGNED_ANEW, || {
        let held = planes.held();
        held.contains('.') && kid(&held) == key
    });
}
