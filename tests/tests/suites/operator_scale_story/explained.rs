//! What `kubectl explain` says of both kinds.

use serde_json::Value;

use crate::api_server_support::ApiServer;

/// Where the API server publishes what `kubectl explain` prints.
const PUBLISHED: &str = "/openapi/v3/apis/kubeonkube.clay.io/v1alpha1";
/// What kubectl prints for what nobody has described.
const NOTHING: &str = "<no description>";
/// Some of all fields, which kubectl itself is asked for.
const ASKED: [&str; 12] = [
    "kok",
    "kok.spec",
    "kok.spec.hosts.ssh",
    "kok.spec.operator",
    "kok.spec.operator.mode",
    "kok.status",
    "kok.status.drift",
    "kokop",
    "kokop.spec.operator",
    "kokop.status",
    "kokop.status.plan",
    "kokop.status.progress",
];

/// Every field has a sentence, and kubectl shows it.
pub fn is_complete(server: &ApiServer) {
    let published: Value = serde_json::from_str(&server.ok(&["get", "--raw", PUBLISHED], "")).unwrap();
    let mut fields = 0;
    for (kind, short) in [("Cluster", "kok"), ("ClusterOperation", "kokop")] {
        let (mut all, mut missing) = (Vec::new(), Vec::new());
        let schema = &published["components"]["schemas"][format!("io.clay.kubeonkube.v1alpha1.{kind}")];
        walk(schema, short, &mut |path, schema| {
            all.push(path.to_owned());
            if schema["description"].as_str().is_none_or(|text| text.trim().is_empty()) {
                missing.push(path.to_owned());
            }
        });
        assert!(missing.is_empty(), "without a description: {missing:?}");
        let listed = server.ok(&["explain", short, "--recursive"], "");
        let named = |path: &&String| listed.lines().any(|line| line.split_whitespace().next() == path.rsplit('.').next());
        assert_eq!(all.iter().find(|path| !named(path)), None, "{listed}");
        fields += all.len();
    }
    for path in ASKED {
        let said = server.ok(&["explain", path], "");
        assert!(said.contains("DESCRIPTION:") && !said.contains(NOTHING), "{path}: {said}");
    }
    println!("kubectl explain: {fields} fields, all of them described");
}

/// Every field below a schema. What is Kubernetes' own is described by itself.
fn walk(schema: &Value, path: &str, take: &mut impl FnMut(&str, &Value)) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        take(&path, property);
        walk(property, &path, take);
    }
    for below in ["items", "additionalProperties"].iter().filter_map(|below| schema.get(below)) {
        walk(below, path, take);
    }
}
