//! A restore that is rehearsed: etcd and an API server of their own are made from a backup on a host, beside the cluster and without a way to it, and whatever the
//! backup has is read through them. What that leaves is a time, and what could not be read.

mod script;

use std::collections::BTreeMap;

use serde::Serialize;

use super::manifest::Manifest;

pub use script::Rehearsing;

/// Objects of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RehearsedKind {
    /// Its name as `kubectl api-resources -o name` has it: `deployments.apps`.
    pub name: String,
    /// How many were read; nothing if they can't be.
    pub objects: Option<u64>,
    /// Why they can't be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// How many the cluster has by now, as an API server has counted them within the last minute or two; nothing if it does not say.
    pub now: Option<u64>,
}

/// What came of a rehearsal.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rehearsed {
    /// The revision of the data.
    pub revision: u64,
    /// The keys that etcd has.
    pub keys: u64,
    /// What an API server has read, by name.
    pub kinds: Vec<RehearsedKind>,
    /// What took its time on the host, in order, in seconds.
    pub phases: Vec<(&'static str, f64)>,
}

/// An API server counts what it has once a minute (`storage.objectCountPollPeriod`), and says 0 of what it has not counted since its start. So many seconds after
/// that it has.
const COUNTS_AFTER: f64 = 180.0;

/// What is between two moments that the script names.
const PHASES: [(&str, &str); 5] = [
    ("sent", "the snapshot sent"),
    ("restored", "data of etcd made of it"),
    ("etcd", "etcd ready"),
    ("served", "API server ready"),
    ("read", "all objects read"),
];

impl Rehearsed {
    /// Reads what the script says. Nothing where it did not come to its end.
    #[must_use]
    pub fn read(output: &str) -> Option<Self> {
        let mut moments: BTreeMap<&str, f64> = BTreeMap::new();
        let (mut revision, mut keys, mut is_whole) = (None, None, false);
        let (mut kinds, mut now) = (Vec::new(), BTreeMap::new());
        let (mut clock, mut started) = (None, None);
        for line in output.lines() {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            match word {
                "at" => moments.extend(rest.split_once(' ').and_then(|(name, up)| Some((name, up.parse().ok()?)))),
                "revision" => revision = rest.parse().ok(),
                "keys" => keys = rest.parse().ok(),
                "objects" => kinds.extend(rest.split_once(' ').and_then(|(name, count)| Some(kind(name, Ok(count.parse().ok()?))))),
                "unreadable" => {
                    kinds.push(rest.split_once(' ').map_or_else(|| kind(rest, Err("")), |(name, because)| kind(name, Err(because))))
                }
                "clock" => clock = rest.parse::<f64>().ok(),
                "process_start_time_seconds" => started = rest.parse::<f64>().ok(),
                "whole" => is_whole = true,
                _ => now.extend(counted(line)),
            }
        }
        if clock.zip(started).is_some_and(|(clock, started)| clock - started >= COUNTS_AFTER) {
            kinds.iter_mut().for_each(|kind| kind.now = now.get(&kind.name).copied());
        }
        kinds.sort_by(|a, b| a.name.cmp(&b.name));
        let mut phases = Vec::new();
        let mut last = *moments.get("begun")?;
        for (name, title) in PHASES {
            let moment = *moments.get(name)?;
            phases.push((title, moment - last));
            last = moment;
        }
        is_whole.then_some(Self { revision: revision?, keys: keys?, kinds, phases })
    }

    /// How many objects were read.
    #[must_use]
    pub fn objects(&self) -> u64 {
        self.kinds.iter().filter_map(|kind| kind.objects).fold(0, u64::saturating_add)
    }

    /// What keeps the backup from being what it says.
    #[must_use]
    pub fn faults(&self, manifest: &Manifest) -> Vec<String> {
        let older = manifest.revision.filter(|least| self.revision < *least);
        let older = older
            .map(|least| format!("its data end with revision {}, and the member had {least} before the snapshot was taken", self.revision));
        let unreadable = self.kinds.iter().filter_map(|kind| Some(format!("{} can't be read: {}", kind.name, kind.because.as_ref()?)));
        let none = (self.keys == 0).then(|| "etcd has nothing in it".to_owned());
        older.into_iter().chain(none).chain(unreadable).collect()
    }
}

fn kind(name: &str, read: Result<u64, &str>) -> RehearsedKind {
    RehearsedKind { name: name.to_owned(), objects: read.ok(), because: read.err().map(str::to_owned), now: None }
}

/// How many objects of a kind an API server counts: `apiserver_resource_objects{group="apps",resource="deployments"} 5` since 1.34, before that
/// `apiserver_storage_objects{resource="deployments.apps"} 5` (Kubernetes, "Metrics Reference"). It says -1 where it does not know.
fn counted(line: &str) -> Option<(String, u64)> {
    let (labels, count) =
        line.strip_prefix("apiserver_resource_objects{").or_else(|| line.strip_prefix("apiserver_storage_objects{"))?.split_once("} ")?;
    let label = |name: &str| labels.split(',').find_map(|label| label.strip_prefix(name)?.strip_prefix("=\"")?.strip_suffix('"'));
    let name = match (label("resource")?, label("group")) {
        (resource, Some(group)) if !group.is_empty() => format!("{resource}.{group}"),
        (resource, _) => resource.to_owned(),
    };
    let count: f64 = count.parse().ok().filter(|count: &f64| *count >= 0.0)?;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of objects, which is no negative one")]
    Some((name, count as u64))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::float_cmp, reason = "these are tests")]

    use super::super::BackupVersions;
    use super::*;

    const SAID: &str = "at begun 10.5\nat sent 11.0\nat restored 12.25\nrevision 480\nkeys 301\nat etcd 13.0\nat served 20.0\n\
        objects pods 4\nobjects deployments.apps 1\nunreadable secrets Internal error: no matching key was found\nat read 22.0\n\
        clock 1795820400\nprocess_start_time_seconds 1.79582022e+09\napiserver_resource_objects{group=\"apps\",resource=\"deployments\"} 2\napiserver_resource_objects{group=\"\",resource=\"pods\"} 1.2e+01\n\
        apiserver_storage_objects{resource=\"secrets\"} -1\nwhole\n";

    fn manifest(revision: Option<u64>) -> Manifest {
        let versions = BackupVersions { kokctl: "0.1.0".to_owned(), kubernetes: "1.37.1".to_owned(), etcd: "3.7.0".to_owned() };
        Manifest::new("demo", 0, versions, ("cp1", revision), Vec::new())
    }

    #[test]
    fn what_was_read_is_told_beside_what_there_is() {
        let is = Rehearsed::read(SAID).unwrap();
        assert_eq!((is.revision, is.keys, is.objects()), (480, 301, 5));
        assert_eq!(is.phases.iter().map(|(_, seconds)| *seconds).collect::<Vec<_>>(), [0.5, 1.25, 0.75, 7.0, 2.0]);
        let kinds: Vec<_> = is.kinds.iter().map(|kind| (kind.name.as_str(), kind.objects, kind.now)).collect();
        assert_eq!(kinds, [("deployments.apps", Some(1), Some(2)), ("pods", Some(4), Some(12)), ("secrets", None, None)]);
        assert_eq!(is.faults(&manifest(Some(480))), ["secrets can't be read: Internal error: no matching key was found"]);
        assert!(is.faults(&manifest(Some(481))).first().unwrap().contains("end with revision 480, and the member had 481"));
        assert_eq!(is.faults(&manifest(None)).len(), 1);
        assert_eq!(Rehearsed { keys: 0, kinds: Vec::new(), ..is }.faults(&manifest(None)), ["etcd has nothing in it"]);
    }

    /// It says 0 of what it has not counted yet.
    #[test]
    fn an_api_server_that_has_just_begun_says_nothing_of_what_there_is() {
        let young = Rehearsed::read(&SAID.replace("clock 1795820400", "clock 1795820399")).unwrap();
        assert!(young.kinds.iter().all(|kind| kind.now.is_none()) && young.objects() == 5);
    }

    #[test]
    fn half_of_it_says_nothing() {
        for (length, _) in SAID.char_indices() {
            assert_eq!(Rehearsed::read(&SAID[..length]).filter(|_| length < SAID.len() - 1), None, "{length}");
        }
    }

    #[test]
    fn earlier_versions_name_kinds_otherwise() {
        let of = |line: &str| counted(line).map(|(name, count)| format!("{name} {count}"));
        assert_eq!(of("apiserver_storage_objects{resource=\"deployments.apps\"} 5").as_deref(), Some("deployments.apps 5"));
        assert_eq!(of("apiserver_storage_objects{resource=\"pods\"} 7").as_deref(), Some("pods 7"));
        assert_eq!(of("etcd_object_counts{resource=\"pods\"} 7"), None);
    }
}
