//! What is said of backups where the cluster's file has a schedule of them.

use kok_crds::model::{Cluster, Schedule};
use kok_tasks::backup::{Due, due};
use serde::Serialize;

use crate::backup::BackupPlace;
use crate::cli::process;
use crate::clock::{Clock, moment};
use crate::engine;
use crate::failure::{Failure, Kind};
use crate::state::beside;

/// What a schedule of backups has come to in one place: what is told is what is there, not what somebody has noted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Backups {
    /// The folder, or the bucket.
    place: String,
    /// When the newest one was made that looks whole, in seconds since 1970.
    newest: Option<i64>,
    /// When the next one is due, or was due, in seconds since 1970.
    due: Option<i64>,
    /// Whether one is missing that should be there. Null where the place can't be seen from here.
    overdue: Option<bool>,
    /// Why it can't be seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<String>,
}

impl Backups {
    /// Of each place that the file names; none where it has no schedule.
    pub(super) async fn find_all(cluster: &Cluster) -> Vec<Self> {
        let backup = &cluster.settings.backup;
        let Some(schedule) = &backup.schedule else { return Vec::new() };
        let (home, mut all) = (process::home(), Vec::new());
        if let Some(folder) = &backup.folder {
            let path = beside(&folder.origin, &folder.path, home.as_deref());
            let found = BackupPlace::at(&path).and_then(|place| place.list(Some(&cluster.name)));
            let newest = |found: Vec<crate::backup::FoundBackup>| {
                found.iter().filter(|found| found.looks_whole).map(|found| found.name.seconds).max()
            };
            all.push(Self::judged(path.display().to_string(), schedule, found.map(newest)));
        }
        match engine::bucket_of(cluster, home.as_deref()) {
            Ok(None) => {}
            Ok(Some(bucket)) => {
                let found = bucket.list(Some(&cluster.name)).await;
                let newest = found.map(|found| found.iter().filter(|found| found.bytes > 0).map(|found| found.name.seconds).max());
                all.push(Self::judged(bucket.address(), schedule, newest));
            }
            Err(failure) => all.push(Self::judged(backup.s3.bucket.clone().unwrap_or_default(), schedule, Err(failure))),
        }
        all
    }

    fn judged(place: String, schedule: &Schedule, newest: Result<Option<i64>, Failure>) -> Self {
        let now = Clock::seconds();
        match newest {
            Err(failure) => Self { place, newest: None, due: None, overdue: None, because: Some(failure.one_line()) },
            Ok(newest) => {
                let (due, overdue) = match due(schedule, newest, now) {
                    Due::At(next) => (next, false),
                    Due::Overdue(moment) => (Some(moment), true),
                    Due::Never => (schedule.next(now), true),
                };
                Self { place, newest, due, overdue: Some(overdue), because: None }
            }
        }
    }

    /// In one line.
    pub(super) fn line(&self, now: i64) -> String {
        let newest = match self.newest {
            Some(seconds) => format!("the newest in {} is {} old ({})", self.place, crate::cli::backup::age(now - seconds), at(seconds)),
            None if self.because.is_some() => format!("{} can't be seen from here", self.place),
            None => format!("there is none in {}", self.place),
        };
        match (self.overdue, self.due) {
            (Some(true), Some(due)) if self.newest.is_some() => format!("backups: {newest}, and one was due at {}", at(due)),
            (_, Some(due)) => format!("backups: {newest}; the next is due at {}", at(due)),
            _ => format!("backups: {newest}"),
        }
    }

    /// Why somebody should look.
    pub(super) fn warning(&self) -> Option<Failure> {
        let failure = match (self.overdue?, self.newest, self.due) {
            (false, ..) => return None,
            (true, Some(newest), due) => {
                let due = due.map(|due| format!("one was due at {}, and ", at(due))).unwrap_or_default();
                let failure = Failure::new(Kind::Incomplete, "a backup is overdue");
                failure.because(format!("{due}the newest is of {}", at(newest)))
            }
            (true, None, _) => {
                Failure::new(Kind::Incomplete, "no backup was ever made").because("the file has a schedule, and there is none")
            }
        };
        Some(failure.at(self.place.clone()).hint(
            "`kokctl backup create -f FILE` makes one now; `kokctl backup timer -f FILE` prints the units of systemd that make them, whose journal says \
             what went wrong",
        ))
    }
}

fn at(seconds: i64) -> String {
    moment(seconds, "%Y-%m-%d %H:%M UTC")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use super::*;

    fn backups_in(folder: &std::path::Path, schedule: &str) -> Option<Backups> {
        let text = format!(
            "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {{name: demo}}\nspec:\n  kubernetesVersion: 1.37.1\n  \
             backup: {{to: {{folder: {}}}, encrypt: false{schedule}}}\n  hosts: [{{name: cp1, address: 10.0.0.11, roles: [control-plane]}}]\n",
            folder.display()
        );
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(Backups::find_all(&kok_crds::read_cluster("f", &text).unwrap())).pop()
    }

    #[test]
    fn what_is_there_is_told() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(backups_in(folder.path(), ""), None, "without a schedule nothing is due");
        let daily = ", schedule: '@daily'";
        let none = backups_in(folder.path(), daily).unwrap();
        assert!(none.line(0).contains("there is none in") && none.warning().unwrap().one_line().contains("ever made"));
        let cut = folder.path().join("demo-20261126T232149Z.kokctl-backup");
        std::fs::write(&cut, "what is no backup").unwrap();
        assert_eq!(backups_in(folder.path(), daily).unwrap(), none, "what is damaged is none");
        let away = backups_in(&folder.path().join("away"), daily).unwrap();
        assert!(away.warning().is_none() && away.line(0).contains("can't be seen from here"));
    }

    #[test]
    fn an_overdue_one_is_a_warning() {
        let backups =
            Backups { place: "/b".to_owned(), newest: Some(1_795_737_600), due: Some(1_795_824_000), overdue: Some(true), because: None };
        assert_eq!(
            backups.line(1_795_737_600 + 172_800),
            "backups: the newest in /b is 2 d old (2026-11-27 00:00 UTC), and one was due at 2026-11-28 00:00 UTC"
        );
        assert!(backups.warning().unwrap().one_line().contains("one was due at 2026-11-28 00:00 UTC"));
        assert!(Backups { overdue: Some(false), ..backups }.warning().is_none());
    }
}
