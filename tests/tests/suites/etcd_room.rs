//! An etcd that runs out of room and gets it back, and users with certificates of their own.

use std::fs;

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Host, Lab};
use serde_json::Value;

use crate::cluster_support::clock::Clock;
use crate::cluster_support::cluster::kubectl;
use crate::cluster_support::kokctl::{Kokctl, KokctlOutput, program_of};
use crate::cluster_support::up;

/// Bytes that etcd's file may have: a new cluster has some, and the rest is full soon.
const QUOTA: &str = "\n    etcd_quota_backend_bytes: 40000000\n";

#[test]
fn etcd_gets_its_room_back() {
    let lab = up(2);
    let kokctl = Kokctl::new(&lab);
    kokctl.write_manifest(&format!("{}{QUOTA}", lab.inventory(DEFAULT_KUBERNETES_VERSION).unwrap().trim_end()));
    let cp1 = lab.host("cp1").unwrap();
    let mut clock = Clock::start();
    kokctl.converge("apply");
    clock.lap("a cluster");
    a_user_logs_in_and_no_more(&lab, &kokctl);
    clock.lap("a user");
    a_fragmented_file_is_made_smaller(&kokctl, &cp1);
    clock.lap("defrag");
    a_full_etcd_takes_writes_again(&lab, &kokctl, &cp1);
    clock.lap("alarm");
    kokctl.has_nothing_to_do();
}

fn etcd(kokctl: &Kokctl<'_>, verb: &str, more: &[&str]) -> KokctlOutput {
    let manifest = kokctl.manifest();
    let said = kokctl.run(&[&["etcd", verb, "-f", manifest.to_str().unwrap()], more].concat());
    println!("$ kokctl etcd {verb} {}\n{}{}", more.join(" "), said.stdout, said.stderr);
    said
}

/// What the only member says.
fn member(kokctl: &Kokctl<'_>) -> Value {
    let said = etcd(kokctl, "status", &["--json"]);
    let document: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    document["members"][0].clone()
}

/// Asks etcd itself, past the API server. `body` is what the shell makes of it.
fn ask(host: &Host, path: &str, body: &str) -> bool {
    let line = format!(
        "{body} | KUBECONFIG=/dev/null kubectl --server=https://127.0.0.1:2379 --certificate-authority=/etc/kubernetes/pki/etcd/ca.crt \
         --client-certificate=/etc/kubernetes/pki/etcd/healthcheck-client.crt --client-key=/etc/kubernetes/pki/etcd/healthcheck-client.key \
         create --raw {path} -f - >/dev/null"
    );
    host.ssh(&["sh", "-c", &line]).unwrap().success()
}

/// Writes one key anew, with some 900 kB: the values before it are kept until they are compacted.
fn write(host: &Host) -> bool {
    let body = "{ printf '{\"key\":\"a29rY3RsLXRlc3Q=\",\"value\":\"'; head -c 675000 /dev/urandom | base64 -w0; printf '\"}'; }";
    ask(host, "/v3/kv/put", body)
}

fn a_fragmented_file_is_made_smaller(kokctl: &Kokctl<'_>, cp1: &Host) {
    let said = etcd(kokctl, "status", &[]);
    assert!(said.code == 0 && said.stdout.lines().count() == 2 && said.stdout.contains("leader"), "{said:?}");
    let said = etcd(kokctl, "defrag", &[]);
    assert!(said.code == 0 && said.stdout.contains("nothing to do"), "{said:?}");
    assert!((0..12).all(|_| write(cp1)));
    let revision = member(kokctl)["revision"].to_string();
    assert!(ask(cp1, "/v3/kv/compaction", &format!("echo '{{\"revision\":\"{revision}\",\"physical\":true}}'")));
    let before = member(kokctl)["sizeBytes"].as_u64().unwrap();
    let said = etcd(kokctl, "defrag", &[]);
    assert!(said.code == 0 && said.stdout.contains("1 member of etcd defragmented"), "{said:?}");
    let after = member(kokctl);
    assert!(after["sizeBytes"].as_u64().unwrap() + (8 << 20) < before, "{before}: {after}");
    let said = etcd(kokctl, "defrag", &["--limit", "worker1"]);
    assert!(said.code == 3 && said.stderr.contains("worker1 has no member of etcd"), "{said:?}");
    let said = etcd(kokctl, "defrag", &[]);
    assert!(said.code == 0 && said.stdout.contains("nothing to do"), "{said:?}");
}

fn a_full_etcd_takes_writes_again(lab: &Lab, kokctl: &Kokctl<'_>, cp1: &Host) {
    let said = etcd(kokctl, "alarm", &["--disarm"]);
    assert!(said.code == 0 && said.stdout.contains("nothing to do"), "{said:?}");
    assert!((0..60).any(|_| !write(cp1)), "it has to be full some time");
    let refused = cp1.ssh(&["kubectl", "--kubeconfig=/etc/kubernetes/admin.conf", "create", "configmap", "written"]).unwrap();
    assert!(!refused.success(), "{refused:?}");
    let said = etcd(kokctl, "status", &[]);
    assert!(said.code == 3 && said.stdout.contains("NOSPACE") && said.stderr.contains("kokctl etcd alarm --disarm"), "{said:?}");
    let said = etcd(kokctl, "alarm", &[]);
    assert!(said.code == 3 && said.stdout.contains("cp1: NOSPACE"), "{said:?}");
    let said = etcd(kokctl, "alarm", &["--disarm"]);
    assert!(said.code == 0 && said.stdout.contains("etcd takes writes again"), "{said:?}");
    kubectl(lab, "create configmap written");
    assert_eq!(etcd(kokctl, "alarm", &[]).code, 0);
    assert!(member(kokctl)["sizeBytes"].as_u64().unwrap() < 30_000_000);
}

/// With the rights that rules give to the group, and no others.
fn a_user_logs_in_and_no_more(lab: &Lab, kokctl: &Kokctl<'_>) {
    kubectl(lab, "create clusterrolebinding dev --clusterrole=view --group=dev");
    let said = kokctl.verb("kubeconfig", &["--user", "jane", "--group", "dev", "--ttl", "10m"]);
    assert!(said.code == 0 && said.stderr.contains("jane may log in until "), "{said:?}");
    let file = kokctl.folder().join("jane.conf");
    fs::write(&file, &said.stdout).unwrap();
    let ask = |file: &str, arguments: &[&str]| {
        let mut command = lab.command(program_of(kokctl.bundle(), "kubectl")).unwrap();
        let output = command.arg("--kubeconfig").arg(kokctl.folder().join(file)).args(arguments).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let who = ["auth", "whoami", "-o", "jsonpath={.status.userInfo.username} {.status.userInfo.groups}"];
    assert_eq!(ask("jane.conf", &who), (true, r#"jane ["dev","system:authenticated"]"#.to_owned()));
    assert!(ask("jane.conf", &["get", "pods", "-A"]).0);
    assert!(!ask("jane.conf", &["get", "secrets", "-A"]).0);
    assert_eq!(kubectl(lab, "get certificatesigningrequests -o name").matches("kokctl-user").count(), 0, "it is taken away");
    let own = kokctl.folder().join("own.conf");
    let said = kokctl.verb("kubeconfig", &["--merge", "--into", own.to_str().unwrap()]);
    assert_eq!(said.code, 0, "{said:?}");
    let said = kokctl.verb("kubeconfig", &["--user", "jane", "--merge", "--into", own.to_str().unwrap()]);
    assert!(said.code == 0 && said.stdout.contains(&format!("context jane@{} was added", lab.name())), "{said:?}");
    assert_eq!(ask("own.conf", &who), (true, r#"jane ["system:authenticated"]"#.to_owned()));
    assert!(ask("own.conf", &["--context", lab.name(), "get", "secrets", "-A"]).0, "the administrator's context stays");
    let said = kokctl.verb("kubeconfig", &["--user", "jane", "--group", "system:masters"]);
    assert!(said.code == 2 && said.stdout.is_empty() && said.stderr.contains("no certificate is asked for"), "{said:?}");
}
