//! The CustomResourceDefinitions: current, and complete.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::path::Path;

use kok_crds::schema::definitions;
use serde_json::Value;

#[test]
fn the_files_are_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/crds");
    let definitions = definitions();
    for definition in &definitions {
        let file = folder.join(&definition.path);
        let written = fs::read_to_string(&file).unwrap_or_default();
        assert!(written == definition.yaml, "{} is not current: run `make crds`", file.display());
    }
    let files = |folder: &Path| fs::read_dir(folder).unwrap().filter(|entry| entry.as_ref().unwrap().path().is_file()).count();
    assert_eq!(files(&folder) + files(&folder.join("kubean")), definitions.len());
    assert_eq!(definitions.len(), 4);
}

#[test]
fn every_field_is_described() {
    for definition in definitions() {
        let object: Value = serde_saphyr::from_str(&definition.yaml).unwrap();
        let schema = &object["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        let mut fields = 0;
        for part in ["spec", "status"] {
            described(&schema["properties"][part], part, &mut fields);
        }
        assert!(fields > 20, "{}: {fields}", definition.name);
    }
}

/// What the operator takes for the namespace of a cluster, the API server keeps as it is. That it does shows a real one (tests/tests/suites/api_server.rs).
#[test]
fn the_namespace_of_a_cluster_stays() {
    let clusters = definitions().into_iter().filter(|definition| definition.name.starts_with("clusters."));
    let mut found = 0;
    for definition in clusters {
        let object: Value = serde_saphyr::from_str(&definition.yaml).unwrap();
        let spec = &object["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
        let rules = spec["x-kubernetes-validations"].as_array().unwrap().iter().map(|rule| rule["rule"].as_str().unwrap());
        found += rules
            .filter(|rule| rule.contains("oldSelf.hostsConfRef.__namespace__") && rule.contains("oldSelf.sshAuthRef.__namespace__"))
            .count();
    }
    assert_eq!(found, 2);
}

fn described(schema: &Value, path: &str, fields: &mut usize) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let about = property["description"].as_str().unwrap_or_default();
        assert!(about.ends_with('.'), "{path}.{name} has no description");
        *fields += 1;
        described(property, &format!("{path}.{name}"), fields);
    }
    if let Some(items) = schema.get("items") {
        described(items, &format!("{path}[]"), fields);
    }
}
