//! Backups that a Cluster's schedule asks for: without an operation that somebody has written, one for each moment.

use std::fs;
use std::path::Path;

use kok_tests::lab::Lab;
use serde_json::{Value, json};

use super::declared::made;
use super::{Operator, object, succeeds};
use crate::api_server_support::ApiServer;
use crate::lab_support::wait_for;

/// Two full minutes, and the one that has begun.
const TWO: u64 = 200;
/// A snapshot of a small etcd takes seconds.
const RUN: u64 = 60;

/// Two are made, of which one is kept; and none any more once the schedule is gone.
pub fn backups_are_made_by_the_schedule(server: &ApiServer, lab: &Lab, operator: &Operator, folder: &Path) {
    fs::create_dir(folder).unwrap();
    let place = folder.to_str().unwrap();
    set(server, lab, &json!({"to": {"folder": place}, "encrypt": false, "schedule": "* * * * *", "keep": {"last": 1}}));
    wait_for("two backups", TWO, || made(server, "backup").len() >= 2);
    set(server, lab, &json!({"schedule": null}));
    let all = made(server, "backup");
    for name in &all {
        let status = succeeds(server, operator, name, RUN);
        assert_eq!(status["action"], "backup-create", "{status:#}");
        assert_eq!(object(server, "kokop", name)["spec"]["operator"]["approval"], "Auto");
    }
    let there: Vec<String> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(matches!(there.as_slice(), [one] if one.starts_with(lab.name()) && one.ends_with(".kokctl-backup")), "{there:?}");
    assert_eq!(object(server, "kok", lab.name())["status"]["phase"], "Ready", "what has only looked says nothing of the cluster");
    set(server, lab, &Value::Null);
}

fn set(server: &ApiServer, lab: &Lab, backup: &Value) {
    server.ok(&["patch", "kok", lab.name(), "--type=merge", "-p", &json!({"spec": {"backup": backup}}).to_string()], "");
}
