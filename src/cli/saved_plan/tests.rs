#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "these are tests")]

use std::os::unix::fs::{PermissionsExt as _, symlink};

use kok_tasks::plan::Choice;
use serde_json::{Value, json};

use super::*;

const TOKEN: &str = "kokab2";
const ID: &str = "0123456789abcdef0123456789abcdef";

fn step(name: &str, change: Option<&str>) -> Value {
    let change = change.map(
        |kind| json!({"kind": kind, "summary": kind, "because": "it is so", "assumed": false, "act": {"kind": "script", "script": "ab12"}}),
    );
    json!({"step": format!("w1/host/{name}"), "host": "w1", "task": "host", "title": name, "change": change, "needs": [], "triggers": [],
        "deadlineSeconds": 120})
}

/// A document with the digest that it has to have.
fn document(edit: impl Fn(&mut Value)) -> PlanDocument {
    let mut value = json!({"format": "kokctl-plan", "version": 1, "digest": "", "steps": [step("one", Some("create")), step("two", None)],
        "inputs": {"cluster": "berlin", "program": program(), "tokenId": TOKEN, "newClusterId": ID, "tasks": null, "hosts": null,
            "prune": false}});
    edit(&mut value);
    let Err(DocumentError::Changed { has, .. }) = PlanDocument::parse(&value.to_string()) else { panic!("{value} has a digest") };
    value["digest"] = json!(has);
    PlanDocument::parse(&value.to_string()).unwrap()
}

fn saved(edit: impl Fn(&mut Value)) -> SavedPlan {
    SavedPlan { path: PathBuf::from("berlin.plan"), document: document(edit) }
}

fn only<T>(result: Result<T, Vec<Failure>>) -> Failure {
    let failure = result.err().unwrap().remove(0);
    assert!(failure.kind == Kind::Input && failure.at.is_some() && failure.hint.is_some(), "{failure}");
    failure
}

fn changed(result: Result<(), Box<PlanChanged>>) -> Failure {
    let changed = result.err().unwrap();
    assert!(!changed.differences.is_empty());
    only::<()>(Err(vec![changed.failure]))
}

fn cluster(name: &str) -> Cluster {
    let text = format!(
        "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {{name: {name}}}\nspec:\n  kubernetesVersion: 1.37.1\n  hosts:\n    \
         - {{name: cp1, address: 10.20.0.11, roles: [control-plane]}}\n    - {{name: w1, address: 10.20.0.12, roles: [worker]}}\n"
    );
    kok_crds::read_cluster("cluster.yaml", &text).unwrap_or_else(|problems| panic!("{problems:?}"))
}

#[test]
fn a_plan_is_written_for_its_owner_and_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("berlin.plan");
    let link = folder.path().join("link");
    symlink(&path, &link).unwrap();
    fs::write(&path, "").unwrap();
    for (at, cluster) in [(&path, "berlin"), (&path, "paris"), (&link, "rome")] {
        let document = document(|it| it["inputs"]["cluster"] = json!(cluster));
        PlanPlace::new(at).unwrap_or_else(|failures| panic!("{failures:?}")).write(&document).unwrap();
        assert_eq!(SavedPlan::read(&path).unwrap_or_else(|failures| panic!("{failures:?}")).document, document);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
    }
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing else is left");
    let new = folder.path().join("new.plan");
    assert_eq!(PlanPlace::new(&new).map(|place| place.path().to_owned()).ok(), Some(new));
}

#[test]
fn what_is_no_place_for_a_plan_is_refused_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    fs::write(at("cluster.yaml"), "kind: Cluster\n").unwrap();
    for (path, because) in [
        (folder.path().to_owned(), "it is a folder"),
        (at("pipe"), "it is a device or a pipe"),
        (PathBuf::from("/dev/null"), "it is a device or a pipe"),
        (at("cluster.yaml"), "no saved plan"),
        (at("none/a.plan"), "there is no folder"),
        (at("cluster.yaml/a.plan"), "Not a directory"),
    ] {
        let failure = only(PlanPlace::new(&path));
        assert!(failure.because.as_deref().unwrap().contains(because), "{failure}");
    }
    assert_eq!(fs::read_to_string(at("cluster.yaml")).unwrap(), "kind: Cluster\n");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn a_plan_that_can_not_be_written_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let place = PlanPlace(folder.path().join("none/a.plan"));
    assert!(only(place.write(&document(|_| {}))).what.contains("can't be saved"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn what_is_no_saved_plan_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.plan");
    let text = serde_json::to_string(&document(|_| {})).unwrap();
    for (written, what) in [
        (text.replace("create", "remove"), "was changed after it was made"),
        (text.replace(ID, "0"), "was changed after it was made"),
        (text.replace("\"version\":1", "\"version\":2"), "of version 2 of the format"),
        (text.get(..100).unwrap().to_owned(), "it is no saved plan"),
        ("kind: Cluster\n".to_owned(), "it is no saved plan"),
        ("[]".to_owned(), "it is no saved plan"),
        (String::new(), "it is no saved plan"),
    ] {
        fs::write(&path, &written).unwrap();
        let failure = only(SavedPlan::read(&path));
        assert!(failure.what.contains(what), "{failure}");
    }
    fs::write(&path, [0xff, 0xfe]).unwrap();
    assert!(only(SavedPlan::read(&path)).because.unwrap().contains("no text"));
    assert!(only(SavedPlan::read(folder.path())).because.unwrap().contains("a folder"));
    assert!(only(SavedPlan::read(&folder.path().join("none"))).because.unwrap().contains("No such file"));
    let pipe = folder.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    assert!(only(SavedPlan::read(&pipe)).because.unwrap().contains("a device or a pipe"), "nobody waits for it");
    fs::write(&path, serde_json::to_string(&document(|it| it["inputs"]["program"] = json!("0.0.1"))).unwrap()).unwrap();
    let other = only(SavedPlan::read(&path));
    assert!(other.what.contains("another version of kokctl") && other.because.unwrap().starts_with("kokctl 0.0.1 made it"));
}

#[test]
fn what_is_random_comes_from_the_file_and_a_secret_does_not() {
    let text = |given: &Given| (given.token.id.clone(), given.new_cluster_id.clone());
    let given = saved(|_| {}).given().unwrap_or_else(|failures| panic!("{failures:?}"));
    assert_eq!(text(&given), (TOKEN.to_owned(), ID.to_owned()));
    let new = Given::new(true).unwrap_or_else(|failures| panic!("{failures:?}"));
    assert!(new.prune && new.token.id != TOKEN && new.new_cluster_id.len() == 32);
    for (field, value) in
        [("tokenId", "abcdef"), ("tokenId", "kokab2x"), ("tokenId", "kok$(x"), ("newClusterId", "c1"), ("newClusterId", "")]
    {
        only(saved(|it| it["inputs"][field] = json!(value)).given());
    }
}

#[test]
fn a_plan_is_for_its_own_cluster_and_part() {
    let berlin = cluster("berlin");
    let of = |limit: &[&str]| {
        let limit: Vec<String> = limit.iter().map(|word| (*word).to_owned()).collect();
        Selection::new(Choice { only: &[], skip: &[], limit: &limit }, &berlin).unwrap()
    };
    let whole = saved(|_| {});
    let part = saved(|it| it["inputs"]["hosts"] = json!(["w1"]));
    assert!(whole.selection(&berlin, of(&[]), false).unwrap().is_whole());
    // What is not said is what the file says, and the same may be said again.
    for asked in [of(&[]), of(&["w*"])] {
        assert_eq!(part.selection(&berlin, asked, false).unwrap(), of(&["w1"]));
    }
    let other = only(part.selection(&berlin, of(&["cp1"]), false));
    assert_eq!(other.because.as_deref(), Some("it was made for --limit w1, and asked for is --limit cp1"));
    assert!(only(whole.selection(&berlin, of(&["w1"]), false)).because.unwrap().contains("made for the whole cluster"));
    let elsewhere = only(whole.selection(&cluster("paris"), Selection::whole(), false));
    assert_eq!(elsewhere.because.as_deref(), Some("it is of berlin, and the files are of paris"));
    assert!(only(whole.selection(&berlin, of(&[]), true)).what.contains("without --prune"));
    let pruning = saved(|it| it["inputs"]["prune"] = json!(true));
    assert!([true, false].into_iter().all(|prune| pruning.selection(&berlin, of(&[]), prune).is_ok()));
    assert!(pruning.given().is_ok_and(|given| given.prune));
    let gone = saved(|it| it["inputs"]["hosts"] = json!(["w9"]));
    assert!(only(gone.selection(&berlin, of(&[]), false)).what.contains("no host `w9`"));
}

#[test]
fn another_plan_is_refused_with_the_steps_that_differ() {
    assert!(saved(|_| {}).is_still(&document(|_| {})).is_ok());
    // In another order it is the same.
    assert!(saved(|_| {}).is_still(&document(|it| it["steps"].as_array_mut().unwrap().reverse())).is_ok());
    let failure = changed(saved(|_| {}).is_still(&document(|it| it["steps"][1] = step("two", Some("remove")))));
    assert_eq!(failure.because.as_deref(), Some("w1/host/two: nothing was to do, and now: remove"));
    assert!(failure.what.contains("nothing was changed") && failure.hint.unwrap().contains("kokctl plan --save"));
    let many = document(|it| it["steps"] = (10..40).map(|number| step(&number.to_string(), Some("create"))).collect());
    let because = changed(saved(|_| {}).is_still(&many)).because.unwrap();
    assert_eq!(because.lines().count(), MOST_DIFFERENCES + 1);
    assert!(because.ends_with("and 20 more"), "{because}");
}
