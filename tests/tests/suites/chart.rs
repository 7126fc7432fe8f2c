//! The chart, rendered by Helm itself: for the values as they stand it is what `kokctl operator manifests` prints, and that is what stands in
//! deploy/manifests.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use kok_tests::release::paths::default_cache;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::cluster_support::kokctl::program;

/// Objects by kind, namespace and name.
type Objects = BTreeMap<(String, String, String), Value>;

/// Everything that values can say, each otherwise than it stands in the chart.
const OTHERWISE: &str = "
image: {repository: registry.example:5000/operator, tag: v1, pullPolicy: Never}
imagePullSecrets: [{name: login}]
replicas: 3
namespaces: [team-a, team-b]
groups: [kubeonkube.clay.io, kubean.io]
bundle: {claim: ''}
state: {size: 1Ti, storageClassName: fast}
runs: 2
runDeadline: 2000000
history: 5
extraEnv: [{name: OTEL_EXPORTER_OTLP_ENDPOINT, value: 'http://collector:4318'}]
extraVolumes: [{name: backups, persistentVolumeClaim: {claimName: backups}}]
extraVolumeMounts: [{name: backups, mountPath: /backups}]
resources: {limits: {memory: 2Gi}}
nodeSelector: {disk: ssd}
tolerations: [{key: dedicated, operator: Exists}]
serviceMonitor: {enabled: true, interval: 1m, labels: {release: prometheus}}
";

/// Built from its sources where that has not been done; Go's compiled packages are kept.
struct Helm {
    program: PathBuf,
    folder: TempDir,
}

impl Helm {
    fn build() -> Self {
        let to = default_cache().unwrap().join("tool-helm");
        let release = program().with_file_name("release");
        let output = Command::new(release).args(["build", "--only", "helm", "--output"]).arg(&to).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let index: Value = serde_json::from_str(&fs::read_to_string(to.join("bundle.json")).unwrap()).unwrap();
        Self { program: to.join(index["files"][0]["path"].as_str().unwrap()), folder: TempDir::new().unwrap() }
    }

    /// Runs it with nothing of the tester's own settings.
    fn run(&self, arguments: &[&str], values: &str) -> Output {
        let file = self.folder.path().join("values.yaml");
        fs::write(&file, values).unwrap();
        let mut command = Command::new(&self.program);
        command.args(arguments).arg("--values").arg(&file);
        command.env_clear().env("HOME", self.folder.path()).output().unwrap()
    }

    fn template(&self, namespace: &str, values: &str) -> Output {
        self.run(&["template", "kokctl-operator", chart().to_str().unwrap(), "--namespace", namespace], values)
    }

    fn objects(&self, values: &str) -> Objects {
        let output = self.template("kokctl", values);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        objects(&String::from_utf8(output.stdout).unwrap())
    }
}

fn chart() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/chart/kokctl-operator")
}

fn objects(text: &str) -> Objects {
    let mut all: Vec<Value> = serde_saphyr::from_multiple(text).unwrap();
    all.retain(|object| !object.is_null());
    let name = |object: &Value, path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    let key = |object: &Value| (name(object, "/kind"), name(object, "/metadata/namespace"), name(object, "/metadata/name"));
    let count = all.len();
    let objects: Objects = all.into_iter().map(|object| (key(&object), object)).collect();
    assert!(!objects.is_empty() && objects.len() == count, "of {count} objects {} have names of their own", objects.len());
    objects
}

fn find<'a>(objects: &'a Objects, kind: &str, name: &str) -> Vec<&'a Value> {
    objects.iter().filter(|((of, _, called), _)| of == kind && called == name).map(|(_, object)| object).collect()
}

#[test]
fn the_chart_is_what_kokctl_prints_but_for_the_namespace() {
    let helm = Helm::build();
    let linted = helm.run(&["lint", "--strict", "--namespace", "kokctl", chart().to_str().unwrap()], "{}");
    assert!(linted.status.success(), "{}", String::from_utf8_lossy(&linted.stdout));
    let mut rendered = helm.objects("{}");
    for ((kind, _, name), object) in &mut rendered {
        if kind == "CustomResourceDefinition" {
            let metadata = object["metadata"].as_object_mut().unwrap();
            // Helm would take all clusters' objects with it.
            assert_eq!(metadata.remove("annotations"), Some(json!({"helm.sh/resource-policy": "keep"})), "{name}");
        }
    }
    let output = Command::new(program()).args(["operator", "manifests"]).output().unwrap();
    let mut printed = objects(&String::from_utf8(output.stdout).unwrap());
    // A release is written down in its namespace, which is there before.
    assert!(printed.remove(&("Namespace".to_owned(), String::new(), "kokctl".to_owned())).is_some());
    assert_eq!(rendered.keys().collect::<Vec<_>>(), printed.keys().collect::<Vec<_>>());
    for (key, object) in &printed {
        assert_eq!(&rendered[key], object, "{key:?}");
    }
}

#[test]
fn every_value_is_followed() {
    let helm = Helm::build();
    let objects = helm.objects(OTHERWISE);
    let set = find(&objects, "StatefulSet", "kokctl-operator")[0];
    let pod = &set["spec"]["template"]["spec"];
    let expected = json!([
        "operator",
        "--own-namespace=kokctl",
        "--namespaces=team-a,team-b",
        "--groups=kubeonkube.clay.io,kubean.io",
        "--state=/state",
        "--health=0.0.0.0:8081",
        "--metrics=0.0.0.0:8080",
        "--web=127.0.0.1:8082",
        "--runs=2",
        "--run-deadline=2000000",
        "--history=5",
    ]);
    let container = &pod["containers"][0];
    assert_eq!(container["env"], json!([{"name": "OTEL_EXPORTER_OTLP_ENDPOINT", "value": "http://collector:4318"}]));
    assert_eq!((&container["args"], &set["spec"]["replicas"]), (&expected, &json!(3)));
    assert_eq!((&container["image"], &container["imagePullPolicy"]), (&json!("registry.example:5000/operator:v1"), &json!("Never")));
    assert_eq!((&container["resources"]["limits"]["memory"], &pod["imagePullSecrets"][0]["name"]), (&json!("2Gi"), &json!("login")));
    assert_eq!((&pod["nodeSelector"]["disk"], &pod["tolerations"][0]["key"]), (&json!("ssd"), &json!("dedicated")));
    assert_eq!(pod["volumes"], json!([{"name": "backups", "persistentVolumeClaim": {"claimName": "backups"}}]));
    assert_eq!(container["volumeMounts"], json!([{"name": "state", "mountPath": "/state"}, {"name": "backups", "mountPath": "/backups"}]));
    let bare = helm.objects("bundle: {claim: ''}");
    assert_eq!(find(&bare, "StatefulSet", "kokctl-operator")[0]["spec"]["template"]["spec"].get("volumes"), None);
    let claim = &set["spec"]["volumeClaimTemplates"][0]["spec"];
    assert_eq!((&claim["storageClassName"], &claim["resources"]["requests"]["storage"]), (&json!("fast"), &json!("1Ti")));
    let roles = find(&objects, "Role", "kokctl-operator-clusters");
    assert_eq!(roles.iter().map(|role| &role["metadata"]["namespace"]).collect::<Vec<_>>(), ["team-a", "team-b"]);
    let bindings = find(&objects, "RoleBinding", "kokctl-operator-clusters");
    assert!(bindings.len() == 2 && bindings.iter().all(|binding| binding["subjects"][0]["namespace"] == "kokctl"));
    assert_eq!(objects.keys().filter(|(kind, _, _)| kind == "CustomResourceDefinition").count(), 4);
    let monitor = find(&objects, "ServiceMonitor", "kokctl-operator")[0];
    let selected = &monitor["spec"]["selector"]["matchLabels"];
    assert_eq!(&find(&objects, "Service", "kokctl-operator")[0]["metadata"]["labels"], selected);
    assert_eq!(
        (&monitor["spec"]["endpoints"][0]["interval"], &monitor["metadata"]["labels"]["release"]),
        (&json!("1m"), &json!("prometheus"))
    );
    assert!(helm.objects("definitions: {install: false}").keys().all(|(kind, _, _)| kind != "CustomResourceDefinition"));
}

#[test]
fn what_no_value_can_be_is_refused() {
    let helm = Helm::build();
    let wrong = [
        ("replica: 2", "replica"),
        ("replicas: 0", "replicas"),
        ("namespaces: [Team]", "namespaces"),
        ("groups: [example.com]", "groups"),
        ("bundle: {claims: x}", "claims"),
        ("image: {tag: 'a: b'}", "tag"),
        ("history: 500", "history"),
        ("state: {size: much}", "size"),
    ];
    for (values, said) in wrong {
        let output = helm.template("kokctl", values);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && text.contains(said), "{values}: {text}");
    }
    for namespace in ["default", "kube-system"] {
        let output = helm.template(namespace, "{}");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && text.contains("a namespace of its own"), "{namespace}: {text}");
    }
}
