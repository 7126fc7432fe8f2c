//! Whether the definitions in the meta-cluster know every field that this version reads or writes, and every word that it writes there: the API server drops
//! other fields without a word, and refuses a status with another word.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kok_crds::schema::{Definition, definitions};
use kube::{Api, Client};
use serde_json::Value;

use super::connect::refused;
use super::group::Group;
use crate::failure::{Failure, Kind};

/// Fields that are named where some are missing.
const MOST_NAMED: usize = 5;

/// Sees that a group is defined as this version defines it, or by a later one that knows the same fields and more.
///
/// # Errors
/// [`Failure`] with the command to run.
pub(super) async fn are_there(client: &Client, group: Group) -> Result<(), Failure> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let of_group = format!(".{}", group.name());
    for definition in definitions().iter().filter(|definition| definition.name.ends_with(&of_group)) {
        let found = api.get_opt(&definition.name).await;
        let found = found.map_err(|error| refused("the definitions of the meta-cluster can't be read", &error))?;
        judge(definition, found.as_ref())?;
    }
    Ok(())
}

fn judge(definition: &Definition, found: Option<&CustomResourceDefinition>) -> Result<(), Failure> {
    let apply = format!("kubectl apply --server-side --force-conflicts -f deploy/crds/{}", definition.path);
    let Some(found) = found else {
        return Err(Failure::new(Kind::Input, format!("the definition {} is not there", definition.name)).hint(apply));
    };
    let (ours, theirs) = (ours(definition), theirs(found));
    let missing = match &theirs {
        Some(theirs) => missing(&ours, theirs),
        None => vec!["v1alpha1".to_owned()],
    };
    if missing.is_empty() {
        return Ok(());
    }
    let named = missing.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join(", ");
    let more = missing.len().saturating_sub(MOST_NAMED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let failure = Failure::new(Kind::Input, format!("the definition {} is of another version", definition.name));
    Err(failure.because(format!("it does not know {named}{more}, which the API server would drop without a word, or refuse")).hint(apply))
}

fn ours(definition: &Definition) -> Value {
    definition.object.pointer("/spec/versions/0/schema/openAPIV3Schema").cloned().unwrap_or_default()
}

/// The schema of the version that is served.
fn theirs(found: &CustomResourceDefinition) -> Option<Value> {
    let version = found.spec.versions.iter().find(|version| version.served && version.name == kok_crds::schema::VERSION)?;
    serde_json::to_value(version.schema.as_ref()?.open_api_v3_schema.as_ref()?).ok()
}

/// The paths of all fields of a schema, and those with words for a field, that another one does not know.
fn missing(ours: &Value, theirs: &Value) -> Vec<String> {
    let mut paths = Vec::new();
    compare(ours, theirs, String::new(), &mut paths);
    paths
}

fn compare(ours: &Value, theirs: &Value, path: String, missing: &mut Vec<String>) {
    if theirs.get("x-kubernetes-preserve-unknown-fields").is_some_and(|keeps| *keeps == true) {
        return;
    }
    for (name, field) in ours.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        // What every object has stands in no schema that the API server keeps.
        if matches!(path.as_str(), "apiVersion" | "kind" | "metadata") {
            continue;
        }
        match theirs.get("properties").and_then(|fields| fields.get(name)) {
            Some(known) => compare(field, known, path, missing),
            None => missing.push(path),
        }
    }
    let words = |schema: &'_ Value| schema.get("enum").and_then(Value::as_array).cloned();
    if let Some((ours, theirs)) = words(ours).zip(words(theirs)) {
        missing
            .extend(ours.iter().filter(|word| !theirs.contains(word)).map(|word| format!("{path}={}", word.as_str().unwrap_or_default())));
    }
    if let Some((ours, theirs)) = ours.get("items").zip(theirs.get("items")) {
        compare(ours, theirs, format!("{path}[]"), missing);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

    use super::*;

    fn definition() -> (Definition, Value) {
        let definition = definitions().into_iter().find(|it| it.name == "clusteroperations.kubeonkube.clay.io").unwrap();
        let object = definition.object.clone();
        (definition, object)
    }

    fn judged(change: impl FnOnce(&mut Value)) -> Result<(), Failure> {
        let (definition, mut object) = definition();
        change(&mut object);
        judge(&definition, Some(&serde_json::from_value(object).unwrap()))
    }

    fn schema(object: &mut Value) -> &mut Value {
        &mut object["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    }

    #[test]
    fn each_definition_of_this_version_is_right() {
        for definition in definitions() {
            let found = serde_json::from_value(definition.object.clone()).unwrap();
            assert_eq!(judge(&definition, Some(&found)), Ok(()), "{}", definition.name);
        }
        let later = |object: &mut Value| schema(object)["spec"]["properties"]["later"] = serde_json::json!({"type": "string"});
        assert_eq!(judged(later), Ok(()));
    }

    /// As an earlier version had it, which knew `spec.operator` already.
    #[test]
    fn one_that_would_drop_a_field_is_named_with_the_command_to_run() {
        let old = judged(|object| {
            let schema = schema(object);
            drop(schema["spec"]["properties"]["operator"]["properties"].as_object_mut().unwrap().remove("dryRun"));
            drop(schema["status"]["properties"]["hosts"]["items"]["properties"].as_object_mut().unwrap().remove("message"));
        });
        let failure = old.unwrap_err();
        assert_eq!(failure.what, "the definition clusteroperations.kubeonkube.clay.io is of another version");
        let because = failure.because.unwrap_or_default();
        assert!(because.starts_with("it does not know spec.operator.dryRun, status.hosts[].message, which"), "{because}");
        let command = "kubectl apply --server-side --force-conflicts -f deploy/crds/clusteroperations.kubeonkube.clay.io.yaml";
        assert_eq!(failure.hint.as_deref(), Some(command));
    }

    /// A status with a phase that the API server does not know would be refused again and again.
    #[test]
    fn one_that_would_refuse_a_word_is_named() {
        let old = judged(|object| {
            let phases = schema(object)["status"]["properties"]["phase"]["enum"].as_array_mut().unwrap();
            phases.retain(|phase| phase != "Queued");
        });
        let because = old.unwrap_err().because.unwrap_or_default();
        assert!(because.starts_with("it does not know status.phase=Queued, which"), "{because}");
    }

    #[test]
    fn one_that_is_not_there_or_is_not_served_is_no_definition() {
        let (definition, _) = definition();
        assert!(judge(&definition, None).unwrap_err().what.ends_with("is not there"));
        assert!(judged(|object| object["spec"]["versions"][0]["served"] = Value::Bool(false)).is_err());
        assert!(judged(|object| schema(object)["status"] = serde_json::json!({"type": "object"})).is_err());
    }
}
