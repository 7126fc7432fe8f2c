//! Three control planes and two workers are gone, and their cluster goes on, on five others with other addresses.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Host, Lab, LabSpec};

use crate::backup::{OWN, backup_verb, backups, own_key, restore, verify};
use crate::cluster_support::clock::Clock;
use crate::cluster_support::cluster::kubectl;
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::ok;
use crate::lab_support::wait_for;

/// Numbered keys that are written before the backup, and after it.
const BEFORE: usize = 50;
const AFTER: usize = 5;

/// A Service, and pods that answer on any node.
const WEB: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - name: echo
          image: ghcr.io/kokctl/echo:0.1.0
          args: [serve, --listen, ":8080"]
          readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}
          env:
            - {name: NODE_NAME, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
            - {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  type: NodePort
  selector: {app: web}
  ports: [{port: 80, targetPort: 8080, nodePort: 30080}]
"#;

#[test]
fn hosts_that_are_gone_are_replaced_by_others() {
    let away = tempfile::tempdir().unwrap();
    let mut clock = Clock::start();
    let (backup, name) = gone(away.path().join("the.kokctl-backup.age"));
    clock.lap("a cluster, its backup, and no host");
    let new = Lab::up(LabSpec::unique(10).control_planes(3)).unwrap_or_else(|error| panic!("{error}"));
    let kokctl = Kokctl::new(&new);
    kokctl.write_manifest(&on_others(&new, &name));
    own_key(&kokctl);
    is_age(&kokctl, &backup);
    let began = Instant::now();
    let said = restore(&kokctl, &backup, Some("own.key"), &["--yes", "--new-hosts"]);
    assert!(said.code == 0 && said.stdout.contains("works again"), "{said:?}");
    println!("{:.1} s until kokctl has ended", began.elapsed().as_secs_f64());
    is_there(&new);
    println!("{:.1} s from the file to pods that answer on each node", began.elapsed().as_secs_f64());
    clock.lap("on five others");
    kokctl.has_nothing_to_do();
}

/// age's own program opens it, and what that has closed is opened by kokctl.
fn is_age(kokctl: &Kokctl<'_>, backup: &Path) {
    let [key, plain, closed] = ["own.key", "plain.tar", "closed.kokctl-backup.age"].map(|name| kokctl.folder().join(name));
    assert!(Command::new("age").arg("-d").arg("-i").arg(&key).arg("-o").arg(&plain).arg(backup).status().unwrap().success());
    let listed = Command::new("tar").arg("tf").arg(&plain).output().unwrap();
    let names = String::from_utf8(listed.stdout).unwrap();
    assert!(["etcd.db", "manifest.json"].iter().all(|name| names.lines().any(|line| line == *name)), "{names}");
    assert!(Command::new("age").args(["-r", OWN.1]).arg("-o").arg(&closed).arg(&plain).status().unwrap().success());
    let said = verify(kokctl, &closed, Some("own.key"));
    assert!(said.code == 0 && said.stdout.contains("is whole"), "{said:?}");
    fs::remove_file(plain).unwrap();
}

/// A cluster of five, of which a backup is left alone.
fn gone(backup: PathBuf) -> (PathBuf, String) {
    let old = Lab::up(LabSpec::unique(5).control_planes(3)).unwrap_or_else(|error| panic!("{error}"));
    let kokctl = Kokctl::new(&old);
    kokctl.write_manifest(&with_backups(&old.inventory(DEFAULT_KUBERNETES_VERSION).unwrap()));
    own_key(&kokctl);
    fs::create_dir(kokctl.folder().join("backups")).unwrap();
    kokctl.converge("apply");
    kubectl(&old, &format!("apply -f - <<'END'\n{WEB}END"));
    kubectl(&old, "rollout status deployment/web --timeout=120s");
    let store = |numbers: std::ops::RangeInclusive<usize>| {
        let (first, last) = numbers.into_inner();
        let create = "kubectl --kubeconfig=/etc/kubernetes/admin.conf create configmap key-$n --from-literal=n=$n";
        ok(&old.host("cp1").unwrap(), &format!("for n in $(seq {first} {last}); do {create} || exit 1; done"));
    };
    store(1..=BEFORE);
    let said = backup_verb(&kokctl, "create", &[]);
    assert_eq!(said.code, 0, "{said:?}");
    store(BEFORE + 1..=BEFORE + AFTER);
    fs::copy(backups(&kokctl.folder().join("backups")).pop().unwrap(), &backup).unwrap();
    (backup, old.name().to_owned())
}

fn with_backups(inventory: &str) -> String {
    let recipient = OWN.1;
    let more = format!(
        "    kube_encrypt_secret_data: true\n  backup: {{to: {{folder: backups}}, recipients: [{recipient}], keep: {{last: 1}}}}\n"
    );
    format!("{}\n{more}", inventory.trim_end())
}

/// The last five of ten hosts, of which three are control planes now: the cluster's name is that of before, and no address is.
fn on_others(lab: &Lab, name: &str) -> String {
    let inventory = lab.inventory(DEFAULT_KUBERNETES_VERSION).unwrap();
    let is_of_other = |line: &&str| ["cp1", "cp2", "cp3", "worker1", "worker2"].iter().any(|host| line.contains(&format!("name: {host},")));
    let planes = ["worker3", "worker4", "worker5"];
    let is_plane = |line: &str| planes.iter().any(|host| line.contains(&format!("name: {host},")));
    let role = |line: &str| if is_plane(line) { line.replace("[worker]", "[control-plane]") } else { line.to_owned() };
    let lines: Vec<String> = inventory.lines().filter(|line| !is_of_other(line)).map(role).collect();
    // Who has the time, too.
    let text = lines.join("\n").replace(&format!("name: {}", lab.name()), &format!("name: {name}")).replace("[cp1]", "[worker3]");
    with_backups(&text)
}

/// Every key that was there at the time of the backup and none of later, five nodes that are Ready, and a Service that answers on each of them.
fn is_there(lab: &Lab) {
    let plane = lab.host("worker3").unwrap();
    let ask = |line: &str| ok(&plane, &format!("kubectl --kubeconfig=/etc/kubernetes/admin.conf {line}"));
    let ready = || ask("get nodes --no-headers").lines().filter(|line| line.contains(" Ready ")).count();
    wait_for("five nodes are Ready", 120, || ready() == 5);
    wait_for("the pods run", 120, || ask("get deployment web -o jsonpath={.status.readyReplicas}") == "4");
    let answers = |host: &Host| {
        let line = format!("http://{}:30080/", host.address());
        plane.ssh(&["curl", "-sf", "--max-time", "2", &line]).is_ok_and(|output| output.success())
    };
    for host in ["worker3", "worker4", "worker5", "worker6", "worker7"].map(|name| lab.host(name).unwrap()) {
        wait_for(&format!("the Service answers on {}", host.name()), 60, || answers(&host));
    }
    let nodes = ask("get nodes -o name");
    assert_eq!(nodes, "node/worker3\nnode/worker4\nnode/worker5\nnode/worker6\nnode/worker7");
    let keys = ask("get configmaps -o name");
    let mut keys: Vec<usize> = keys.lines().filter_map(|line| line.strip_prefix("configmap/key-")?.parse().ok()).collect();
    keys.sort_unstable();
    assert_eq!(keys, (1..=BEFORE).collect::<Vec<_>>());
}
