//! The journals of an operation's runs in the meta-cluster: a ConfigMap that goes with the operation, with a key for each run. Nothing is ever decided by
//! them: they are for people, by the page and by `kokctl run show --operation`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Map, Value, json};

use super::object::MANAGER;
use super::owned::{Put, goes_with, put};

/// Bytes of all journals of an operation: a ConfigMap has 1 MiB at the most, and its other fields count too.
const MOST_BYTES: usize = 768 << 10;
/// What is unpacked of one at the most.
const MOST_UNPACKED: u64 = 64 << 20;
/// What stands behind the name of a run in its key.
const SUFFIX: &str = ".jsonl.gz";

/// The journals of runs by their names, in their order, packed.
pub(super) type Journals = BTreeMap<String, Vec<u8>>;

/// A journal as it is kept; nothing for one that is too long even without the steps that were done.
pub(super) fn packed(text: &[u8]) -> Option<Vec<u8>> {
    let fits = |text: &[u8]| gzip(text).filter(|bytes| bytes.len() <= MOST_BYTES);
    fits(text).or_else(|| fits(&without_what_was_done(text)))
}

fn gzip(text: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).and_then(|()| encoder.finish()).ok()
}

/// What was kept.
///
/// # Errors
/// Why it can't be read.
pub(super) fn unpacked(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut text = Vec::new();
    GzDecoder::new(bytes).take(MOST_UNPACKED).read_to_end(&mut text).map_err(|error| error.to_string())?;
    Ok(text)
}

/// A journal without the steps that were done: of thousands of hosts those that were not are what people look for.
fn without_what_was_done(text: &[u8]) -> Vec<u8> {
    let lines: Vec<(&[u8], Value)> =
        text.split_inclusive(|byte| *byte == b'\n').filter_map(|line| Some((line, serde_json::from_slice(line).ok()?))).collect();
    let word = |event: &Value, field: &str| event.get(field).and_then(Value::as_str).map(str::to_owned);
    let mut done = BTreeSet::new();
    for (_, event) in &lines {
        let Some(step) = word(event, "step") else { continue };
        if word(event, "event").as_deref() == Some("step-done") {
            done.insert(step)
        } else {
            done.remove(&step)
        };
    }
    let is_left = |event: &Value| word(event, "step").is_none_or(|step| !done.contains(&step));
    lines.into_iter().filter(|(_, event)| is_left(event)).flat_map(|(line, _)| line.to_vec()).collect()
}

/// Keeps the journal of a run in the ConfigMap of this name and namespace. What was kept longest goes where there is no room.
///
/// # Errors
/// Those of the API.
pub(super) async fn keep(
    client: &Client,
    (home, name): (&str, &str),
    owner: OwnerReference,
    (run, bytes): (&str, Vec<u8>),
) -> kube::Result<Put> {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), home);
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.to_owned());
    map.metadata.namespace = Some(home.to_owned());
    map.metadata.labels = Some([("app.kubernetes.io/managed-by".to_owned(), MANAGER.to_owned())].into());
    map.metadata.owner_references = Some(vec![owner]);
    let key = format!("{run}{SUFFIX}");
    if let Some(found) = api.get_opt(name).await?.filter(|found| goes_with(found.owner_references(), map.owner_references())) {
        let surplus = surplus(found.binary_data.as_ref().unwrap_or(&BTreeMap::new()), (&key, bytes.len()));
        if !surplus.is_empty() {
            let gone: Map<String, Value> = surplus.into_iter().map(|key| (key, Value::Null)).collect();
            let patch = json!({"metadata": {"resourceVersion": found.resource_version()}, "binaryData": gone});
            api.patch(name, &PatchParams::apply(MANAGER), &Patch::Merge(&patch)).await?;
        }
    }
    map.binary_data = Some([(key, ByteString(bytes))].into());
    put(&api, &map).await
}

/// The keys that go, the oldest first, so that another one has room. Names of runs begin with their time.
fn surplus(kept: &BTreeMap<String, ByteString>, (key, length): (&str, usize)) -> Vec<String> {
    let others: Vec<(&String, usize)> =
        kept.iter().filter(|(other, _)| *other != key).map(|(other, bytes)| (other, bytes.0.len())).collect();
    let mut sum = length + others.iter().map(|(_, length)| length).sum::<usize>();
    let goes = others.into_iter().take_while(|(_, length)| {
        let is_too_much = sum > MOST_BYTES;
        sum = sum.saturating_sub(*length);
        is_too_much
    });
    goes.map(|(other, _)| other.clone()).collect()
}

/// The journals in the ConfigMap of this name; none if there is none.
///
/// # Errors
/// Those of the API.
pub(super) async fn kept(client: &Client, (home, name): (&str, &str)) -> kube::Result<Journals> {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), home);
    let found = api.get_opt(name).await?.and_then(|map| map.binary_data).unwrap_or_default();
    Ok(found.into_iter().filter_map(|(key, bytes)| Some((key.strip_suffix(SUFFIX)?.to_owned(), bytes.0))).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

    use super::super::fake::Fake;
    use super::*;

    const PATH: &str = "/api/v1/namespaces/n/configmaps/up-journal";

    fn owner() -> OwnerReference {
        let (api_version, kind) = ("kubeonkube.clay.io/v1alpha1".to_owned(), "ClusterOperation".to_owned());
        OwnerReference { api_version, kind, name: "up".to_owned(), uid: "1".to_owned(), controller: None, block_owner_deletion: None }
    }

    fn event(kind: &str, step: &str) -> String {
        format!("{{\"event\":\"{kind}\",\"step\":\"{step}\"}}\n")
    }

    #[tokio::test]
    async fn each_run_has_its_journal_and_the_oldest_go_first() {
        let (fake, client) = Fake::start().await;
        let place = ("n", "up-journal");
        for (run, length) in [("20260101T000000Z-a", 9), ("20260102T000000Z-b", MOST_BYTES / 2), ("20260102T000000Z-b", MOST_BYTES - 9)] {
            assert_eq!(keep(&client, place, owner(), (run, vec![b'x'; length])).await.unwrap(), Put::Done);
        }
        let all = kept(&client, place).await.unwrap();
        let lengths: Vec<(&str, usize)> = all.iter().map(|(run, bytes)| (run.as_str(), bytes.len())).collect();
        assert_eq!(lengths, [("20260101T000000Z-a", 9), ("20260102T000000Z-b", MOST_BYTES - 9)]);
        assert_eq!(keep(&client, place, owner(), ("20260103T000000Z-c", vec![b'x'; 99])).await.unwrap(), Put::Done);
        assert_eq!(kept(&client, place).await.unwrap().keys().collect::<Vec<_>>(), ["20260103T000000Z-c"]);
        assert_eq!(fake.get(PATH).unwrap()["metadata"]["ownerReferences"][0]["name"], "up");
    }

    #[tokio::test]
    async fn a_map_of_somebody_else_stays_as_it_is() {
        let theirs = json!({"metadata": {"name": "up-journal", "resourceVersion": "1"}, "data": {"key": "theirs"}});
        let (fake, client) = Fake::with(&[(PATH, theirs.clone())]).await;
        assert_eq!(keep(&client, ("n", "up-journal"), owner(), ("r", vec![1])).await.unwrap(), Put::Taken);
        assert_eq!((fake.get(PATH), kept(&client, ("n", "up-journal")).await.unwrap().len()), (Some(theirs), 0));
    }

    #[test]
    fn what_is_packed_is_unpacked_again() {
        let text = event("step-done", "a/b");
        assert_eq!(unpacked(&packed(text.as_bytes()).unwrap()).unwrap(), text.as_bytes());
        assert!(unpacked(b"nothing").is_err());
    }

    #[test]
    fn of_a_journal_that_is_too_long_what_was_done_is_left_out() {
        let done = event("step-planned", "a/b") + &event("step-done", "a/b");
        let begun_anew = event("step-done", "a/x") + &event("step-started", "a/x");
        let failed = event("step-planned", "a/c") + &event("step-failed", "a/c");
        let left = without_what_was_done(format!("{{\"event\":\"run-started\"}}\n{done}{begun_anew}{failed}{{\"torn").as_bytes());
        assert_eq!(String::from_utf8(left).unwrap(), format!("{{\"event\":\"run-started\"}}\n{begun_anew}{failed}"));
        // What gzip makes nothing of.
        let mut noise = 1_u64;
        let mut long = String::new();
        while long.len() < 4 << 20 {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            long += &event("step-done", &format!("{noise:x}{:x}", noise.rotate_left(17)));
        }
        let bytes = packed(format!("{long}{failed}").as_bytes()).unwrap();
        assert_eq!(unpacked(&bytes).unwrap(), failed.as_bytes());
    }
}
