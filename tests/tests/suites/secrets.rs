//! The key that Secrets are encrypted with is replaced while they are written, by a run that is killed and gone on with.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Host, Lab};
use serde_json::Value;

use crate::cluster_support::clock::Clock;
use crate::cluster_support::cluster::kubectl;
use crate::cluster_support::kokctl::{Kokctl, KokctlOutput};
use crate::cluster_support::{ok, up};
use crate::highly_available_story::any;
use crate::members_story::killed;

/// As many as a run of a few minutes bears; `KOK_TEST_SECRETS=N` takes N.
const FEW: usize = 300;
/// Seconds: three times an API server has up to a minute to read its keys anew, and of many Secrets twenty are written in a second of a busy machine.
const LONGEST: u64 = 900;
const CANARY: &str = "c4n4ry-of-three-hundred-5d1a";

#[test]
fn the_key_is_replaced_under_writes() {
    let lab = up(2);
    let kokctl = Kokctl::new(&lab);
    let manifest = lab.inventory(DEFAULT_KUBERNETES_VERSION).unwrap();
    kokctl.write_manifest(&format!("{}\n    kube_encrypt_secret_data: true\n", manifest.trim_end()));
    let cp1 = lab.host("cp1").unwrap();
    let mut clock = Clock::start();
    kokctl.converge("apply");
    let count = count();
    stored(&cp1, count);
    clock.lap(&format!("a cluster with {count} secrets"));
    let first = keys_of_values(&cp1);
    assert!(first.keys().eq(["kokctl"]) && first["kokctl"] >= count, "{first:?}");
    let key = under_writes(&cp1, || {
        is_killed(&lab, &kokctl, &cp1);
        clock.lap("killed");
        let key = is_done(&rotate(&kokctl));
        clock.lap("gone on with");
        key
    });
    only(&lab, &cp1, &key);
    kokctl.has_nothing_to_do();
    let second = under_writes(&cp1, || is_done(&rotate(&kokctl)));
    clock.lap("a second one");
    assert_ne!(second, key);
    only(&lab, &cp1, &second);
    kokctl.has_nothing_to_do();
    let keys = ok(&cp1, "sed -n 's/^ *secret: *//p' /etc/kubernetes/apiserver/encryption.yaml | tr -d '\"'");
    for secret in [CANARY, keys.trim()] {
        assert!(!kokctl.transcript().contains(secret) && !kokctl.journals().contains(secret));
    }
}

fn count() -> usize {
    std::env::var("KOK_TEST_SECRETS").map_or(FEW, |text| text.parse().unwrap())
}

fn stored(cp1: &Host, count: usize) {
    let one = format!("apiVersion: v1\\nkind: Secret\\nmetadata: {{name: s-%s}}\\nstringData: {{word: {CANARY}-%s}}\\n---\\n");
    let line = format!(
        "for n in $(seq {count}); do printf '{one}' $n $n; done | kubectl --kubeconfig=/etc/kubernetes/admin.conf create -f - >/dev/null"
    );
    ok(cp1, &line);
}

/// How many Secrets are encrypted with which key, as etcd itself has them: it is asked past the API server, and by nothing of kokctl's.
fn keys_of_values(cp1: &Host) -> BTreeMap<String, usize> {
    let body =
        format!("{{\"key\":\"{}\",\"range_end\":\"{}\"}}", STANDARD.encode("/registry/secrets/"), STANDARD.encode("/registry/secrets0"));
    let line = format!(
        "echo '{body}' | KUBECONFIG=/dev/null kubectl --server=https://127.0.0.1:2379 --certificate-authority=/etc/kubernetes/pki/etcd/ca.crt \
         --client-certificate=/etc/kubernetes/pki/etcd/healthcheck-client.crt --client-key=/etc/kubernetes/pki/etcd/healthcheck-client.key \
         create --raw /v3/kv/range -f -"
    );
    let said: Value = serde_json::from_str(&ok(cp1, &line)).unwrap();
    let mut found = BTreeMap::new();
    for value in said["kvs"].as_array().unwrap().iter().map(|it| STANDARD.decode(it["value"].as_str().unwrap()).unwrap()) {
        let text = String::from_utf8_lossy(&value).into_owned();
        let mut parts = text.split(':');
        assert!(parts.by_ref().take(4).eq(["k8s", "enc", "secretbox", "v1"]), "a Secret is not encrypted");
        *found.entry(parts.next().unwrap().to_owned()).or_default() += 1;
    }
    found
}

/// Says when it goes that nothing is to be written any more.
struct Last<'a>(&'a AtomicBool);

impl Drop for Last<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Somebody makes, changes and reads Secrets meanwhile; none of it fails.
fn under_writes<T>(cp1: &Host, work: impl FnOnce() -> T) -> T {
    let (ends, written) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !ends.load(Ordering::SeqCst) {
                let number = written.fetch_add(1, Ordering::SeqCst);
                let kubectl = "kubectl --kubeconfig=/etc/kubernetes/admin.conf";
                let line = format!(
                    "{kubectl} delete secret w --ignore-not-found >/dev/null && {kubectl} create secret generic w --from-literal=n={number} >/dev/null && \
                     {kubectl} label secret s-{} --overwrite n={number} >/dev/null && {kubectl} get secret w -o 'jsonpath={{.data.n}}' | base64 -d",
                    number % count() + 1
                );
                assert_eq!(ok(cp1, &line), number.to_string());
            }
        });
        // Also where the work fails: the writer would be waited for without an end.
        let last = Last(&ends);
        let result = work();
        drop(last);
        println!("{} rounds of writes meanwhile", written.load(Ordering::SeqCst));
        result
    })
}

fn rotate(kokctl: &Kokctl<'_>) -> KokctlOutput {
    let said = kokctl.run_within(LONGEST, &["secrets", "rotate-key", "-f", kokctl.manifest().to_str().unwrap()]);
    println!("$ kokctl secrets rotate-key -f cluster.yaml\n{}{}", said.stdout, said.stderr);
    said
}

fn is_done(said: &KokctlOutput) -> String {
    assert_eq!(said.code, 0, "{said:?}");
    let (_, rest) = said.stdout.split_once("is encrypted with ").unwrap_or_else(|| panic!("{said:?}"));
    rest.split(',').next().unwrap().to_owned()
}

/// Of seven steps some are done. Neither is it gone on with by `apply`, nor taken back; and everybody sees what is under way.
fn is_killed(lab: &Lab, kokctl: &Kokctl<'_>, cp1: &Host) {
    let after = any((1..=5).collect());
    println!("secrets rotate-key is killed after {after} steps");
    killed::after(kokctl, &["secrets", "rotate-key"], after);
    let names = || ok(cp1, "sed -n 's/^ *- name: //p' /etc/kubernetes/apiserver/encryption.yaml");
    let before = names();
    assert_eq!(before.lines().count(), 2, "{before}");
    let said = kokctl.verb("status", &[]);
    assert!(said.stderr.contains("is being replaced") && said.stderr.contains("rotate-key"), "{said:?}");
    let said = kokctl.converge("apply");
    assert!(said.ends_with("nothing to do\n"), "{said}");
    assert_eq!(names(), before);
    assert!(kubectl(lab, "get secrets -o name").lines().count() >= count());
}

/// Nothing else is left, in etcd and on the host, and what was written can be read.
fn only(lab: &Lab, cp1: &Host, key: &str) {
    let found = keys_of_values(cp1);
    assert!(found.keys().eq([key]) && found[key] > count(), "{found:?}");
    assert_eq!(ok(cp1, "sed -n 's/^ *- name: //p' /etc/kubernetes/apiserver/encryption.yaml | tr -d '\"'").trim(), key);
    let secrets: Value = serde_json::from_str(&kubectl(lab, "get secrets -o json")).unwrap();
    let all = secrets["items"].as_array().unwrap().iter();
    let words: BTreeMap<&str, &Value> = all.map(|secret| (secret["metadata"]["name"].as_str().unwrap(), &secret["data"]["word"])).collect();
    let is_whole = |number: usize| {
        let word = words[format!("s-{number}").as_str()].as_str().unwrap();
        STANDARD.decode(word).unwrap() == format!("{CANARY}-{number}").into_bytes()
    };
    assert!((1..=count()).all(is_whole));
}
