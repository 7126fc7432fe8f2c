//! A cluster of three control planes that runs begins to encrypt, encrypts otherwise, and encrypts no more, by runs that are killed; nobody who reads or writes
//! meanwhile is refused, and etcd itself says what became of all that was there.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Host, Lab, LabSpec};
use serde_json::Value;

use crate::cluster_support::clock::Clock;
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::{meanwhile, ok};
use crate::highly_available_story::any;
use crate::members_story::killed;

pub const EACH: usize = 60;
pub const CANARY: &str = "c4n4ry-of-sixty-81b2";
/// Three API servers and members of etcd are started anew, and three times all of them look into their files, which they do once a minute.
const CHANGED_WITHIN: u64 = 1200;
const FILES: &str = "ls /etc/kubernetes/apiserver 2>/dev/null | grep -c encryption || :";

#[test]
fn it_is_begun_changed_and_ended_under_writes() {
    let lab = Lab::up(LabSpec::unique(3).control_planes(3)).unwrap_or_else(|error| panic!("{error}"));
    let kokctl = Kokctl::new(&lab);
    let manifest = lab.inventory(DEFAULT_KUBERNETES_VERSION).unwrap();
    let ask = |vars: &str| kokctl.write_manifest(&format!("{}\n{vars}", manifest.trim_end()));
    let bundle = kokctl.bundle().to_str().unwrap();
    let mut clock = Clock::start();
    ask("");
    kokctl.converge("apply");
    let cp1 = lab.host("cp1").unwrap();
    stored(&cp1);
    clock.lap("a cluster without it");
    assert!(marks(&cp1, "secrets").keys().eq(["plain"]) && marks(&cp1, "configmaps").keys().eq(["plain"]));

    let begins = "    kube_encrypt_secret_data: true\n";
    ask(begins);
    let refused = kokctl.verb("apply", &["--bundle", bundle]);
    assert!(refused.code != 0 && refused.stderr.contains("change-encryption"), "{refused:?}");
    under_load(&lab, || changed(&kokctl, 1..=12));
    clock.lap("begun");
    let first = only(&cp1, "secrets", "secretbox");
    assert!(marks(&cp1, "configmaps").keys().eq(["plain"]));
    kokctl.has_nothing_to_do();

    ask(&format!("{begins}    kube_encryption_algorithm: aescbc\n    kube_encryption_resources: [secrets, configmaps]\n"));
    under_load(&lab, || changed(&kokctl, 1..=12));
    clock.lap("by another algorithm, and more");
    let second = only(&cp1, "secrets", "aescbc");
    assert_eq!(only(&cp1, "configmaps", "aescbc"), second);
    assert_ne!(first, second);
    kokctl.has_nothing_to_do();
    let keys = ok(&cp1, "sed -n 's/^ *secret: *//p' /etc/kubernetes/apiserver/encryption.yaml | tr -d '\"'");

    ask("");
    let refused = kokctl.verb("apply", &["--bundle", bundle]);
    assert!(refused.code != 0 && refused.stderr.contains("the file does not ask for it"), "{refused:?}");
    under_load(&lab, || changed(&kokctl, 1..=12));
    clock.lap("ended");
    for kind in ["secrets", "configmaps"] {
        assert!(marks(&cp1, kind).keys().eq(["plain"]), "{kind}");
    }
    for host in lab.hosts() {
        assert_eq!(ok(&host, FILES).trim(), "0", "{}", host.name());
    }
    kokctl.has_nothing_to_do();
    let words =
        ok(&cp1, "kubectl --kubeconfig=/etc/kubernetes/admin.conf get secrets -o 'jsonpath={range .items[*]}{.data.word}{\"\\n\"}{end}'");
    assert_eq!(words.lines().filter(|word| STANDARD.decode(word).unwrap().starts_with(CANARY.as_bytes())).count(), EACH);
    for secret in [CANARY, keys.trim()] {
        assert!(!secret.is_empty() && !kokctl.transcript().contains(secret) && !kokctl.journals().contains(secret));
    }
}

/// It is killed at a step that is drawn, and gone on with.
pub fn changed(kokctl: &Kokctl<'_>, steps: std::ops::RangeInclusive<usize>) {
    let after = any(steps.collect());
    println!("secrets change-encryption is killed after {after} steps");
    let verb = ["secrets", "change-encryption", "--yes", "--bundle", kokctl.bundle().to_str().unwrap()];
    killed::after(kokctl, &verb, after);
    let said = kokctl.run_within(CHANGED_WITHIN, &[&verb[..], &["-f", kokctl.manifest().to_str().unwrap()]].concat());
    println!("$ kokctl secrets change-encryption --yes\n{}{}", said.stdout, said.stderr);
    assert_eq!(said.code, 0, "{said:?}");
}

pub fn stored(cp1: &Host) {
    let one = format!(
        "apiVersion: v1\\nkind: Secret\\nmetadata: {{name: s-%s}}\\nstringData: {{word: {CANARY}-%s}}\\n---\\n\
         apiVersion: v1\\nkind: ConfigMap\\nmetadata: {{name: c-%s}}\\ndata: {{word: n%s}}\\n---\\n"
    );
    let create = "kubectl --kubeconfig=/etc/kubernetes/admin.conf create -f - >/dev/null";
    ok(cp1, &format!("for n in $(seq {EACH}); do printf '{one}' $n $n $n $n; done | {create}"));
}

/// The objects of a kind by their names in etcd, as it has them itself: it is asked past the API server, and by nothing of kokctl's.
pub fn values(cp1: &Host, kind: &str) -> BTreeMap<String, Vec<u8>> {
    let (from, to) = (STANDARD.encode(format!("/registry/{kind}/")), STANDARD.encode(format!("/registry/{kind}0")));
    let line = format!(
        "echo '{{\"key\":\"{from}\",\"range_end\":\"{to}\"}}' | KUBECONFIG=/dev/null kubectl --server=https://127.0.0.1:2379 \
         --certificate-authority=/etc/kubernetes/pki/etcd/ca.crt --client-certificate=/etc/kubernetes/pki/etcd/healthcheck-client.crt \
         --client-key=/etc/kubernetes/pki/etcd/healthcheck-client.key create --raw /v3/kv/range -f -"
    );
    let said: Value = serde_json::from_str(&ok(cp1, &line)).unwrap();
    let bytes = |text: &Value| STANDARD.decode(text.as_str().unwrap()).unwrap();
    said["kvs"].as_array().unwrap().iter().map(|it| (String::from_utf8(bytes(&it["key"])).unwrap(), bytes(&it["value"]))).collect()
}

/// How many objects of a kind are encrypted with which key.
fn marks(cp1: &Host, kind: &str) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for value in values(cp1, kind).into_values() {
        let text = String::from_utf8_lossy(&value).into_owned();
        let parts: Vec<&str> = text.splitn(6, ':').collect();
        let mark = match parts.as_slice() {
            ["k8s", "enc", algorithm, "v1", key, _] => format!("{algorithm} {key}"),
            _ => "plain".to_owned(),
        };
        *found.entry(mark).or_default() += 1;
    }
    found
}

/// All of a kind is encrypted so, with one key. Returns its name.
fn only(cp1: &Host, kind: &str, algorithm: &str) -> String {
    let found = marks(cp1, kind);
    let (mark, count) = found.iter().next().unwrap();
    assert!(found.len() == 1 && *count >= EACH, "{kind}: {found:?}");
    mark.strip_prefix(&format!("{algorithm} ")).unwrap_or_else(|| panic!("{kind}: {found:?}")).to_owned()
}

/// Each control plane's own API server in turn is given something to keep, which all of them read; one that is started anew is asked once more.
pub fn under_load<T>(lab: &Lab, work: impl FnOnce() -> T) -> T {
    let planes = ["cp1", "cp2", "cp3"].map(|name| lab.host(name).unwrap());
    let number = AtomicUsize::new(0);
    let round = || {
        let number = number.fetch_add(1, Ordering::SeqCst);
        let kubectl = |host: &Host| format!("kubectl --kubeconfig=/etc/kubernetes/admin.conf --server=https://{}:6443", host.address());
        let again = "again() { for n in 1 2 3 4 5 6 7 8 9 10 11 12; do \"$@\" && return; sleep 5; done; return 1; }";
        let writer = kubectl(&planes[number % 3]);
        let write = format!(
            "set -e; {again}; again {writer} label secret s-{0} --overwrite n={number} >/dev/null; again {writer} label configmap c-{0} --overwrite n={number} >/dev/null",
            number % EACH + 1
        );
        ok(&planes[0], &write);
        for reader in &planes {
            let kubectl = kubectl(reader);
            let read = |what: &str| format!("again {kubectl} get {what}-{} -o 'jsonpath={{.metadata.labels.n}}'", number % EACH + 1);
            let said = ok(&planes[0], &format!("set -e; {again}; {}; echo; {}", read("secret s"), read("configmap c")));
            assert!(said.lines().eq([number.to_string(), number.to_string()]), "{}: {said}", reader.name());
        }
    };
    meanwhile::asked(round, work)
}
