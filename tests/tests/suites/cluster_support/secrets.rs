//! Finding secrets where they must not be.

use std::io::Write as _;
use std::process::Stdio;

use kok_tests::lab::{Host, Lab};

use super::arguments::Arguments;
use super::cluster::kubectl;
use super::kokctl::Kokctl;
use super::{each, hosts};

/// Lines of private keys, the kubelet's among them, key material of kubeconfigs and keys of encryption at rest, as they stand on a host.
fn key_material_of(host: &Host) -> Vec<String> {
    let [keys, kubeconfigs, kubelet, encryption] = each(
        host,
        [
            "find /etc/kubernetes -name '*.key' -exec cat {} + | grep -v -e '-----'",
            "cat /etc/kubernetes/*.conf | sed -n 's/^ *client-key-data: *//p'",
            // Not as keys have it: what looks for them is a program that was started, too.
            "sed -n '/BEGIN.*PRIVATE.KEY/,/END/p' /var/lib/kubelet/pki/* | grep -v -e '-----'",
            "sed -n 's/^ *secret: *//p' /etc/kubernetes/apiserver/encryption.yaml",
        ],
    );
    // The last line of a key may be short enough to stand in any text.
    [keys, kubeconfigs, kubelet, encryption]
        .iter()
        .flat_map(|text| text.lines())
        .filter(|line| line.len() >= 32)
        .map(str::to_owned)
        .collect()
}

/// That of the whole cluster.
pub fn key_material(lab: &Lab) -> Vec<String> {
    let material: Vec<String> = hosts(lab).iter().flat_map(key_material_of).collect();
    assert!(material.len() > 20, "a cluster has keys: {}", material.len());
    material
}

/// Neither in kokctl's journal nor on its screen nor in its log, if there is one, nor by the hosts and what runs on them, nor in the cluster's
/// events, nor in what programs were started with meanwhile. The cluster's keys come back, for what is said after they are gone.
pub fn nothing_was_said(lab: &Lab, kokctl: &Kokctl<'_>, started: &Arguments) -> Vec<String> {
    let material = key_material(lab);
    nothing_was_said_of(&material, kokctl, started);
    is_clean("the cluster's events", &kubectl(lab, "get events --all-namespaces -o yaml"), &material);
    for host in hosts(lab) {
        is_clean(&format!("the journal of {}", host.name()), &host.journal().unwrap(), &material);
        is_clean(&format!("logs of {}", host.name()), &logs_with_secrets(&host, &material), &material);
    }
    material
}

/// Not by kokctl, and not in what programs were started with.
pub fn nothing_was_said_of(material: &[String], kokctl: &Kokctl<'_>, started: &Arguments) {
    let journals = kokctl.journals();
    assert!(journals.lines().filter(|line| line.contains("\"step-done\"")).count() > 50, "{journals}");
    kokctl_did_not_say(material, kokctl);
    is_clean("what programs were started with", &started.so_far(), material);
}

/// How a key begins that is none of those: as it stands in a file, and in base64, as kubeconfigs and Secrets have it.
const BEGINNINGS: [&str; 5] = [
    "PRIVATE KEY",
    "LS0tLS1CRUdJTiBPUEVOU1NI",
    "LS0tLS1CRUdJTiBQUklWQVRF",
    "LS0tLS1CRUdJTiBFQyBQUklWQVRF",
    "LS0tLS1CRUdJTiBSU0EgUFJJVkFURS",
];

/// That of a cluster that is only half there; perhaps nothing.
pub fn what_is_there(lab: &Lab) -> Vec<String> {
    hosts(lab).iter().flat_map(key_material_of).collect()
}

/// Not by a kokctl of which only some runs are known, however short they were.
pub fn kokctl_did_not_say(material: &[String], kokctl: &Kokctl<'_>) {
    assert_eq!(secrets_in(&kokctl.journals(), material), Vec::<String>::new(), "kokctl's journal");
    assert_eq!(secrets_in(&kokctl.transcript(), material), Vec::<String>::new(), "kokctl's output");
}

/// Where containers and the audit of the API server write.
const LOGS: &str = "/var/log/pods /var/log/kubernetes";

/// The lines of those logs that may hold a secret. What is looked for comes by standard input, for arguments are for all to read.
fn logs_with_secrets(host: &Host, material: &[String]) -> String {
    let script = format!(
        "umask 077; patterns=$(mktemp) && cat >$patterns && head -n 1 $patterns | grep -qFf $patterns || exit 9
         for folder in {LOGS}; do [ ! -d $folder ] || grep -rhaFf $patterns $folder; done
         grep -rhaE 'kok[a-z0-9]{{3}}[.][a-z0-9]{{16}}' $(ls -d {LOGS} 2>/dev/null) /dev/null; rm $patterns"
    );
    let mut grep = host.ssh_command("root", script).unwrap().stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let patterns: String = material.iter().map(String::as_str).chain(BEGINNINGS).map(|pattern| format!("{pattern}\n")).collect();
    grep.stdin.take().unwrap().write_all(patterns.as_bytes()).unwrap();
    let output = grep.wait_with_output().unwrap();
    assert!(output.status.success(), "{}: {output:?}", host.name());
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn is_clean(what: &str, text: &str, material: &[String]) {
    assert!(BEGINNINGS.iter().all(|key| !text.contains(key)), "{what}");
    // Names of Kubernetes' own events and files may look like tokens; those of kokctl have a prefix.
    let ours: Vec<&str> = bootstrap_tokens(text).into_iter().filter(|token| token.starts_with("kok")).collect();
    assert!(ours.is_empty(), "{what}: {ours:?}");
    let found: Vec<&str> = text.lines().filter(|line| material.iter().any(|secret| line.contains(secret.as_str()))).collect();
    assert!(found.is_empty(), "{what}: {found:?}");
}

/// What of the cluster's secrets stands in a text, with where it was found.
pub fn secrets_in(text: &str, material: &[String]) -> Vec<String> {
    let mut found: Vec<String> = text.lines().filter(|line| BEGINNINGS.iter().any(|key| line.contains(key))).map(str::to_owned).collect();
    found.extend(material.iter().filter(|secret| text.contains(secret.as_str())).cloned());
    found.extend(bootstrap_tokens(text).into_iter().map(str::to_owned));
    found
}

/// Everything that has the form of a bootstrap token: `[a-z0-9]{6}\.[a-z0-9]{16}` between other characters.
pub fn bootstrap_tokens(text: &str) -> Vec<&str> {
    let is_part = |character: char| character.is_ascii_lowercase() || character.is_ascii_digit();
    text.split(|character: char| !is_part(character) && character != '.')
        .filter(|word| matches!(word.split('.').collect::<Vec<_>>()[..], [id, secret] if id.len() == 6 && secret.len() == 16))
        .collect()
}

#[test]
fn tokens_are_found() {
    assert_eq!(bootstrap_tokens("token: \"kokab1.0123456789abcdef\", v1.37.1 worker.0123456789abcdef0"), ["kokab1.0123456789abcdef"]);
}
