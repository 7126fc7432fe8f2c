//! A user's own addons: applied, repaired, and removed with what only they have.

use std::fs;

use kok_tasks::digest::sha256;
use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Lab};

use crate::cluster_support::cluster::kubectl;
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::ok;
use crate::lab_support::wait_for;

/// In the order in which people write them: what stands in the namespace comes before it, and what is of a kind before its definition.
const HELLO: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata: {name: echo, namespace: hello}
spec:
  replicas: 1
  selector: {matchLabels: {app: echo}}
  template:
    metadata: {labels: {app: echo}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - {name: echo, image: "ghcr.io/kokctl/echo:0.1.0", args: [serve, --listen, ":8080"]}
---
apiVersion: example.org/v1
kind: Widget
metadata: {name: one}
spec: {size: 3}
---
apiVersion: v1
kind: Secret
metadata: {name: key, namespace: hello}
stringData: {key: "a secret of an addon"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: left-alone, namespace: default}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.org}
spec:
  group: example.org
  names: {plural: widgets, singular: widget, kind: Widget}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
---
apiVersion: v1
kind: Namespace
metadata: {name: hello}
"#;

/// What only the API server can know to be wrong.
const REFUSED: &str = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: refused}, spec: {replicas: many}}\n";

pub fn come_and_go(lab: &Lab, kokctl: &Kokctl<'_>) {
    let plain = lab.inventory(DEFAULT_KUBERNETES_VERSION).unwrap();
    let with = |addons: &str| kokctl.write_manifest(&format!("{plain}  addons:\n{addons}"));
    fs::write(kokctl.folder().join("hello.yaml"), HELLO).unwrap();
    is_fetched(lab, kokctl, &with);
    kubectl(lab, "-n hello rollout status deployment/echo --timeout=90s");
    assert_eq!(kubectl(lab, "-n kube-public get widgets -l kokctl.io/addon=hello -o name"), "widget.example.org/one");
    assert_eq!(kubectl(lab, "-n kube-public get configmap fetched -o jsonpath='{.data.from}'"), "an address");
    kokctl.has_nothing_to_do();
    assert!(!kokctl.journals().contains("a secret of an addon"));

    is_repaired(lab, kokctl);
    with("    - {name: hello, manifest: hello.yaml, namespace: kube-public}\n    - {name: refused, manifest: refused.yaml}\n");
    fs::write(kokctl.folder().join("refused.yaml"), REFUSED).unwrap();
    let said = kokctl.verb("apply", &["--bundle", kokctl.bundle().to_str().unwrap()]);
    assert!(said.code != 0 && said.stderr.contains("addon refused failed") && said.stderr.contains("spec.replicas"), "{said:?}");

    kubectl(lab, "label configmap left-alone kokctl.io/addon-");
    kokctl.write_manifest(&plain);
    let plan = kokctl.converge("plan");
    assert!(plan.contains("    because the list has no longer fetched, hello, refused, with "), "{plan}");
    for told in ["Secret hello/key", "and 1 more stay, with what they hold of others"] {
        assert!(plan.contains(told), "{told}: {plan}");
    }
    others_keep_theirs(lab, kokctl);
    assert_eq!(kubectl(lab, "get namespace hello --ignore-not-found"), "");
    assert_eq!(kubectl(lab, "get crd widgets.example.org --ignore-not-found"), "");
    kubectl(lab, "delete configmap left-alone");
    kokctl.has_nothing_to_do();
}

/// What somebody else has of the addon's kinds, or in its namespace, goes only when that is asked for.
fn others_keep_theirs(lab: &Lab, kokctl: &Kokctl<'_>) {
    kubectl(lab, "-n hello create configmap theirs");
    let mine = "{\"apiVersion\":\"example.org/v1\",\"kind\":\"Widget\",\"metadata\":{\"name\":\"theirs\",\"namespace\":\"default\"}}";
    ok(&lab.host("cp1").unwrap(), &format!("echo '{mine}' | kubectl --kubeconfig=/etc/kubernetes/admin.conf apply -f -"));
    kokctl.converge("apply");
    assert_eq!(kubectl(lab, "get widgets -A -o name"), "widget.example.org/theirs");
    kubectl(lab, "-n hello get configmap theirs");
    assert_eq!(kubectl(lab, "-n hello get deployments,secrets -o name"), "");
    kokctl.has_nothing_to_do();
    let plan = kokctl.converge_with("plan", &["--prune"]);
    for told in ["with a Namespace goes everything that is in it", "with a CustomResourceDefinition go all objects of its kind"] {
        assert!(plan.contains(told), "{told}: {plan}");
    }
    kokctl.converge_with("apply", &["--prune"]);
}

const FETCHED: &str = "{apiVersion: v1, kind: ConfigMap, metadata: {name: fetched, namespace: kube-public}, data: {from: an address}}\n";

/// An answer to anybody who asks, in a shell.
const SERVER: &str = "#!/bin/sh
while read -r line && [ -n \"${line%?}\" ]; do :; done
printf 'HTTP/1.0 200 OK\\r\\nContent-Length: %s\\r\\n\\r\\n' \"$(wc -c </run/served)\"
cat /run/served
";

/// One of a file and one of an address: fetched once, by its sum, and refused if it is something else than was meant.
fn is_fetched(lab: &Lab, kokctl: &Kokctl<'_>, with: &impl Fn(&str)) {
    let server = lab.host("worker2").unwrap();
    ok(&server, &format!("cat >/run/serve <<'END'\n{SERVER}END\nchmod 700 /run/serve\ncat >/run/served <<'END'\n{FETCHED}END"));
    ok(&server, "systemd-run --quiet --unit=served systemd-socket-activate --listen=8099 --accept --inetd /run/serve");
    wait_for("somebody listens", 10, || !ok(&server, "ss -Hltn 'sport = :8099'").is_empty());
    let addons = |sum: &str| {
        let url = format!("http://{}:8099/fetched.yaml", server.address());
        with(&format!(
            "    - {{name: hello, manifest: hello.yaml, namespace: kube-public}}\n    - {{name: fetched, url: \"{url}\", sha256: {sum}}}\n"
        ));
    };
    addons(&sha256(b"something else"));
    let said = kokctl.verb("apply", &["--bundle", kokctl.bundle().to_str().unwrap()]);
    assert!(said.code == 2 && said.stderr.contains(&sha256(FETCHED.as_bytes())), "{said:?}");
    addons(&sha256(FETCHED.as_bytes()));
    kokctl.converge("apply");
    ok(&server, "systemctl stop served.service && rm /run/serve /run/served");
}

/// What somebody removed or changed is as it was; what somebody added stays.
fn is_repaired(lab: &Lab, kokctl: &Kokctl<'_>) {
    kubectl(lab, "-n hello delete secret key");
    kubectl(lab, "-n hello scale deployment echo --replicas=0");
    kubectl(lab, "-n hello annotate deployment echo mine=true");
    let plan = kokctl.converge("plan");
    let because = "    because Deployment hello/echo was changed by somebody else, and 1 more of it are not as applied";
    assert!(plan.lines().any(|line| line == because), "{plan}");
    kokctl.converge("apply");
    let echo = kubectl(lab, "-n hello get deployment echo -o jsonpath='{.spec.replicas} {.metadata.annotations.mine}'");
    assert_eq!(echo, "1 true");
    kubectl(lab, "-n hello get secret key");
    kokctl.has_nothing_to_do();
}
