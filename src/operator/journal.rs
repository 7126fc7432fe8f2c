//! The journals of an operation's runs in the meta-cluster: a ConfigMap that goes with the operation, with a key for each run. Nothing is ever decided by
//! them: they are for people, by the page and by `kokctl run show --operation`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kok_tasks::support::redacted;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::object::{self, MANAGER};
use super::owned::{Put, goes_with, put};
use crate::event::{Event, EventKind};

/// Bytes of all journals of an operation: a ConfigMap has 1 MiB at the most, and its other fields count too.
const MOST_BYTES: usize = 768 << 10;
/// What is unpacked of one at the most.
const MOST_UNPACKED: u64 = 16 << 20;
/// Bytes of one event at the most: what fails may say much.
const MOST_LINE: usize = 1 << 20;
/// What stands behind the name of a run in its key.
const SUFFIX: &str = ".jsonl.gz";

/// The journals of runs by their names, in their order, packed.
pub(super) type Journals = BTreeMap<String, Vec<u8>>;

/// A journal as it is kept, without what looks like a secret: more people may read ConfigMaps than what is on hosts. Of one that is too long the steps are
/// left out that were done, and then those that were not begun too. Nothing for one that is too long even so.
pub(super) fn packed(text: &str) -> Option<Vec<u8>> {
    let text = public(text);
    let fits = |text: &str| gzip(text.as_bytes()).filter(|bytes| bytes.len() <= MOST_BYTES);
    fits(&text).or_else(|| fits(&shortened(&text, false))).or_else(|| fits(&shortened(&text, true)))
}

/// A journal without what looks like a secret. Hooks say what they like.
pub(super) fn public(text: &str) -> String {
    text.split_inclusive('\n').map(redacted).collect()
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
    let read = GzDecoder::new(bytes).take(MOST_UNPACKED).read_to_end(&mut text).map_err(|error| error.to_string())?;
    if read as u64 == MOST_UNPACKED || text.split(|byte| *byte == b'\n').any(|line| line.len() > MOST_LINE) {
        return Err("it is longer than any that is kept here".to_owned());
    }
    Ok(text)
}

/// What is read of an event.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    event: Cow<'a, str>,
    #[serde(borrow)]
    step: Option<Cow<'a, str>>,
    #[serde(default)]
    sequence: u64,
    #[serde(default)]
    milliseconds: u64,
}

/// How far a step is, by the last that is said of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stand {
    NotBegun,
    AtWork,
    Done,
}

/// A journal without the steps that were done, and perhaps without those that were not begun: of thousands of hosts the others are what people look for.
fn shortened(text: &str, also_not_begun: bool) -> String {
    let lines: Vec<(&str, Line<'_>)> =
        text.split_inclusive('\n').filter_map(|line| Some((line, serde_json::from_str(line).ok()?))).collect();
    let mut stands: BTreeMap<&str, Stand> = BTreeMap::new();
    for (_, line) in &lines {
        let Some(step) = line.step.as_deref() else { continue };
        let stand = match line.event.as_ref() {
            "step-done" => Stand::Done,
            "step-planned" | "step-blocked" | "step-renewed" => Stand::NotBegun,
            _ => Stand::AtWork,
        };
        stands.insert(step, stand);
    }
    let goes = |stand: Stand| stand == Stand::Done || (also_not_begun && stand == Stand::NotBegun);
    let is_left = |line: &Line<'_>| line.step.as_deref().and_then(|step| stands.get(step)).is_none_or(|stand| !goes(*stand));
    let mut left: String = lines.iter().filter(|(_, line)| is_left(line)).map(|(text, _)| *text).collect();
    let number_of = |wanted: Stand| if goes(wanted) { stands.values().filter(|stand| **stand == wanted).count() } else { 0 };
    let (sequence, milliseconds) = lines.last().map(|(_, line)| (line.sequence, line.milliseconds)).unwrap_or_default();
    let kind = EventKind::StepsLeftOut { done: number_of(Stand::Done), not_begun: number_of(Stand::NotBegun) };
    // It is no event of the run, so that it has the number of the last one.
    left += &serde_json::to_string(&Event { sequence, milliseconds, kind }).unwrap_or_default();
    left.push('\n');
    left
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
        let kept = found.binary_data.clone().unwrap_or_default();
        // Those of an operation that had this name before go with it.
        let is_its = found.owner_references().iter().any(|owner| map.owner_references().iter().any(|ours| ours.uid == owner.uid));
        let surplus = if is_its { surplus(&kept, (&key, bytes.len())) } else { kept.into_keys().collect() };
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

/// Namespace and name of the ConfigMap with the journals of an operation's runs, as its status says.
pub(super) fn place(operation: &Value) -> Option<(&str, &str)> {
    object::text(operation, "/status/journal/configMap")?.split_once('/')
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
        // One that is made anew under the name of another has done nothing of what that did.
        let anew = OwnerReference { uid: "2".to_owned(), ..owner() };
        assert_eq!(keep(&client, place, anew, ("20260104T000000Z-d", vec![b'x'; 9])).await.unwrap(), Put::Done);
        assert_eq!(kept(&client, place).await.unwrap().keys().collect::<Vec<_>>(), ["20260104T000000Z-d"]);
        assert_eq!(fake.get(PATH).unwrap()["metadata"]["ownerReferences"][0]["uid"], "2");
    }

    #[tokio::test]
    async fn a_map_of_somebody_else_stays_as_it_is() {
        let theirs = json!({"metadata": {"name": "up-journal", "resourceVersion": "1"}, "data": {"key": "theirs"}});
        let (fake, client) = Fake::with(&[(PATH, theirs.clone())]).await;
        assert_eq!(keep(&client, ("n", "up-journal"), owner(), ("r", vec![1])).await.unwrap(), Put::Taken);
        assert_eq!((fake.get(PATH), kept(&client, ("n", "up-journal")).await.unwrap().len()), (Some(theirs), 0));
    }

    #[test]
    fn what_is_packed_is_unpacked_again_without_what_looks_like_a_secret() {
        let text = event("step-done", "a/b") + "{\"event\":\"hook-said\",\"said\":\"password=hunter2hunter2\"}\n";
        let kept = String::from_utf8(unpacked(&packed(&text).unwrap()).unwrap()).unwrap();
        assert!(kept.starts_with(&event("step-done", "a/b")) && !kept.contains("hunter2"), "{kept}");
        assert!(kept.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()));
        assert!(unpacked(b"nothing").is_err());
    }

    /// Who may write the ConfigMap must not be able to fill the operator's memory.
    #[test]
    fn what_is_too_long_is_not_unpacked() {
        assert!(unpacked(&gzip(&vec![b'['; MOST_LINE + 1]).unwrap()).is_err());
        assert!(unpacked(&gzip("[]\n".repeat(6 << 20).as_bytes()).unwrap()).is_err());
        assert!(unpacked(&gzip("[]\n".repeat(9).as_bytes()).unwrap()).is_ok());
    }

    /// What gzip makes nothing of.
    fn many(kind: &str) -> String {
        let (mut noise, mut long) = (1_u64, String::new());
        while long.len() < 4 << 20 {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            long += &event(kind, &format!("{noise:x}{:x}", noise.rotate_left(17)));
        }
        long
    }

    #[test]
    fn of_a_journal_that_is_too_long_what_was_done_is_left_out_and_then_what_was_not_begun() {
        let done = event("step-planned", "a/b") + &event("step-done", "a/b");
        let begun_anew = event("step-done", "a/x") + &event("step-started", "a/x");
        let failed = event("step-planned", "a/c") + &event("step-failed", "a/c");
        let blocked = event("step-planned", "a/d") + &event("step-blocked", "a/d");
        let start = "{\"event\":\"run-started\"}\n";
        let text = format!("{start}{done}{begun_anew}{failed}{blocked}{{\"torn");
        let last = |done: usize, not_begun: usize| {
            format!("{{\"sequence\":0,\"milliseconds\":0,\"event\":\"steps-left-out\",\"done\":{done},\"notBegun\":{not_begun}}}\n")
        };
        assert_eq!(shortened(&text, false), format!("{start}{begun_anew}{failed}{blocked}{}", last(1, 0)));
        assert_eq!(shortened(&text, true), format!("{start}{begun_anew}{failed}{}", last(1, 1)));
        for kind in ["step-done", "step-planned"] {
            let kept = unpacked(&packed(&format!("{}{failed}", many(kind))).unwrap()).unwrap();
            let kept = String::from_utf8(kept).unwrap();
            assert!(kept.starts_with(&failed) && kept.lines().count() == 3, "{kind}: {kept}");
        }
        assert_eq!(packed(&many("step-failed")), None);
    }
}
