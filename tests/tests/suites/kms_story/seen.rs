//! What is seen of encryption: in etcd, on control planes, and by those who read.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kok_tests::lab::{Host, Lab};

use super::plugin::{KEYS, NAME, SOCKET};
use crate::cluster_support::cluster::control_planes;
use crate::cluster_support::ok;
use crate::encryption::{CANARY, EACH, values};

/// How many Secrets are encrypted by what: a key of the cluster's own, or the plugin by one of its keys.
pub fn marks(cp1: &Host) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for value in values(cp1, "secrets").into_values() {
        *found.entry(mark(&value)).or_default() += 1;
    }
    found
}

/// By what one Secret is encrypted.
pub fn mark_of(cp1: &Host, secret: &str) -> String {
    mark(&values(cp1, "secrets")[&format!("/registry/secrets/default/{secret}")])
}

fn mark(value: &[u8]) -> String {
    let of_plugin = format!("k8s:enc:kms:v2:{NAME}:");
    if let Some(object) = value.strip_prefix(of_plugin.as_bytes()) {
        let key = KEYS.into_iter().find(|key| names(object, key)).unwrap_or_else(|| panic!("a Secret names no key of the plugin's"));
        return format!("{NAME} {key}");
    }
    let text = String::from_utf8_lossy(value);
    match text.splitn(6, ':').collect::<Vec<_>>().as_slice() {
        ["k8s", "enc", "secretbox", "v1", key, _] => format!("secretbox {key}"),
        _ => "something else".to_owned(),
    }
}

/// Whether an EncryptedObject (Kubernetes, `kmsv2/v2/api.proto`) has this `keyID`, which is its second field, a text.
fn names(object: &[u8], key: &str) -> bool {
    let field = [&[0x12, u8::try_from(key.len()).unwrap()][..], key.as_bytes()].concat();
    object.windows(field.len()).any(|part| part == field)
}

/// All Secrets are encrypted so, and no control plane has another way, nor keys of its own beside the plugin.
pub fn is_by_plugin(lab: &Lab, key: &str) {
    let cp1 = lab.host("cp1").unwrap();
    let found = marks(&cp1);
    let mark = format!("{NAME} {key}");
    assert!(found.keys().eq([&mark]) && found[&mark] >= EACH, "{found:?}");
    has_no_canary(&cp1);
    for host in control_planes(lab) {
        let counts = ok(&host, &format!("grep -c secret: {FILE}; grep -c unix://{SOCKET} {FILE}; grep -c 'name: kokctl-kms' {MANIFEST}"));
        // The volume, and where it is mounted.
        assert!(counts.lines().eq(["0", "1", "2"]), "{}: {counts}", host.name());
    }
}

/// All Secrets are encrypted with one key of the cluster's own, and control planes have nothing of the plugin. Returns what is secret of the key.
pub fn is_by_key(lab: &Lab) -> String {
    let cp1 = lab.host("cp1").unwrap();
    let found = marks(&cp1);
    let (mark, count) = found.iter().next().unwrap();
    assert!(found.len() == 1 && mark.starts_with("secretbox ") && *count >= EACH, "{found:?}");
    has_no_canary(&cp1);
    for host in control_planes(lab) {
        let counts = ok(&host, &format!("grep -c kms: {FILE}; grep -c kokctl-kms {MANIFEST}; grep -c secret: {FILE}"));
        assert!(counts.lines().eq(["0", "0", "1"]), "{}: {counts}", host.name());
    }
    ok(&cp1, &format!("sed -n 's/^ *secret: *//p' {FILE} | tr -d '\"'"))
}

const FILE: &str = "/etc/kubernetes/apiserver/encryption.yaml";
const MANIFEST: &str = "/etc/kubernetes/manifests/kube-apiserver.yaml";

/// Neither in what etcd answers, nor in the files of a member: there, what was written first lies too.
fn has_no_canary(cp1: &Host) {
    let holds = |value: &Vec<u8>| value.windows(CANARY.len()).any(|part| part == CANARY.as_bytes());
    assert!(!values(cp1, "secrets").values().any(holds));
    let files = |what: &str| ok(cp1, &format!("grep -rlaF -e '{what}' /var/lib/etcd/member || :"));
    assert_eq!(files(CANARY), "");
    assert_ne!(files("/registry/secrets/default/s-1"), "", "what is there can be found so");
}

/// Each API server reads all of them.
pub fn are_read_by_all(lab: &Lab) {
    let expected: BTreeSet<String> = (1..=EACH).map(|number| format!("{CANARY}-{number}")).collect();
    for host in control_planes(lab) {
        let words = kubectl_at(&host, "get secrets -o 'jsonpath={range .items[*]}{.data.word}{\"\\n\"}{end}'");
        let words = words.lines().filter(|line| !line.is_empty());
        let words: BTreeSet<String> = words.map(|word| String::from_utf8(STANDARD.decode(word).unwrap()).unwrap()).collect();
        assert_eq!(words, expected, "{}", host.name());
    }
}

/// Output of kubectl that asks the host's own API server.
pub fn kubectl_at(host: &Host, arguments: &str) -> String {
    ok(host, &format!("kubectl --kubeconfig=/etc/kubernetes/admin.conf --server=https://{}:6443 {arguments}", host.address()))
}

/// What the host's own API server says of its readiness: `ok`, or what there is to it.
pub fn ready(host: &Host) -> String {
    let address = host.address();
    ok(host, &format!("curl -s --max-time 10 --cacert /etc/kubernetes/pki/ca.crt https://{address}:6443/readyz || :"))
}
