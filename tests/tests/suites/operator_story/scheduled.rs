//! Backups that a Cluster's schedule asks for: without an operation that somebody has written, one for each moment.

use std::fs;
use std::path::Path;

use kok_tests::lab::Lab;
use serde_json::json;

use super::declared::made;
use super::{NAMESPACE, Operator, object, operate, succeeds};
use crate::api_server_support::ApiServer;
use crate::lab_support::wait_for;

/// Two full minutes, and the one that has begun.
const TWO: u64 = 200;
/// A snapshot of a small etcd takes seconds.
const RUN: u64 = 60;

/// Two are made, of which one is kept; and none any more once the schedule is gone. It stands among the variables, and is known by the first
/// operation that reads them.
pub fn backups_are_made_by_the_schedule(server: &ApiServer, lab: &Lab, operator: &Operator, folder: &Path) {
    fs::create_dir(folder).unwrap();
    let before = object(server, "configmap", "vars-conf");
    let place = format!("etcd_backup_prefix: {}\nbackup_encrypt: false\netcd_backup_retention_count: 1\n", folder.display());
    let says = |more: &str| {
        let mut map = object(server, "configmap", "vars-conf");
        let text = before["data"]["group_vars.yml"].as_str().unwrap();
        map["data"]["group_vars.yml"] = json!(format!("{}\n{more}", text.trim_end()));
        server.ok(&["replace", "-n", NAMESPACE, "-f", "-"], &map.to_string());
    };
    says(&format!("{place}backup_schedule: \"* * * * *\"\n"));
    operate(server, lab, "by-hand", "backup-create");
    succeeds(server, operator, "by-hand", RUN);
    wait_for("two backups", TWO, || made(server, "backup").len() >= 2);
    says(&place);
    operate(server, lab, "no-more", "ping.yml");
    succeeds(server, operator, "no-more", TWO);
    let all = made(server, "backup");
    for name in &all {
        let status = succeeds(server, operator, name, RUN);
        assert_eq!(status["action"], "backup-create", "{status:#}");
        assert_eq!(object(server, "kokop", name)["spec"]["operator"]["approval"], "Auto");
    }
    let there: Vec<String> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(matches!(there.as_slice(), [one] if one.starts_with(lab.name()) && one.ends_with(".kokctl-backup")), "{there:?}");
    let status = object(server, "kok", lab.name())["status"].clone();
    assert_eq!(
        (&status["phase"], status.get("backupSchedule")),
        (&json!("Ready"), None),
        "what has only looked says nothing of the cluster"
    );
    says("");
}
