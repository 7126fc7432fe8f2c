//! What is told of the runs: one that died, and one that made the cluster.

use kok_tests::lab::Lab;
use serde_json::Value;

use crate::cluster_support::kokctl::Kokctl;

pub fn tells_what_was_run(lab: &Lab, kokctl: &Kokctl<'_>) {
    list_for_people(lab, kokctl);
    let made = list_for_programs(lab, kokctl);
    timeline(kokctl, &made);
    of_the_dead(kokctl);
}

/// The last run first. Between the two there is one that was refused before it had a name.
fn list_for_people(lab: &Lab, kokctl: &Kokctl<'_>) {
    let said = stdout_of_success(kokctl, &["runs"]);
    let rows: Vec<&str> = said.lines().skip(1).collect();
    assert_eq!(rows.len(), 2, "{said}");
    assert!(rows.iter().all(|row| row.contains(" apply ") && row.contains(lab.name())), "{said}");
    assert!(rows[0].contains("  done: ") && rows[1].contains("  died: "), "{said}");
}

/// The run that made the cluster; whatever the one before it did, this step was left to it.
fn list_for_programs(lab: &Lab, kokctl: &Kokctl<'_>) -> Value {
    let said = stdout_of_success(kokctl, &["runs", "--json", "--last", "1", "--cluster", lab.name()]);
    let run: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((&run["verb"], &run["ending"]), (&Value::from("apply"), &Value::from("done")), "{run}");
    let steps = run["steps"].as_array().unwrap();
    assert!(steps.iter().any(|step| step["step"] == "cp1/network-check/record"), "{run}");
    run
}

/// The chain of steps begins when the first one does and ends with the run: none of the time in between is unaccounted for.
fn timeline(kokctl: &Kokctl<'_>, run: &Value) {
    let name = run["run"].as_str().unwrap();
    let said_by_name = stdout_of_success(kokctl, &["run", "show", name, "--timeline"]);
    assert_eq!(said_by_name, stdout_of_success(kokctl, &["run", "show", "latest", "--timeline"]));
    for part in ["where the time went:", "\nHOST", "cp1 ", "worker2 ", "the chain of steps"] {
        assert!(said_by_name.contains(part), "{part:?} in {said_by_name}");
    }
    let shown: Value = serde_json::from_str(&stdout_of_success(kokctl, &["run", "show", name, "--json"])).unwrap();
    let chain = shown["timeline"]["criticalPath"].as_array().unwrap();
    let number = |link: &Value, field: &str| link[field].as_u64().unwrap();
    for pair in chain.windows(2) {
        let ended = number(&pair[0], "began") + number(&pair[0], "tookMilliseconds");
        assert_eq!(ended + number(&pair[1], "waitedMilliseconds"), number(&pair[1], "began"), "{pair:?}");
    }
    let last = chain.last().unwrap();
    let end = number(last, "began") + number(last, "tookMilliseconds");
    assert!(number(run, "tookMilliseconds") - end < 5_000, "{chain:?} of {}", run["tookMilliseconds"]);
}

/// It can't say itself how it ended; what was at work is in doubt.
fn of_the_dead(kokctl: &Kokctl<'_>) {
    let said = stdout_of_success(kokctl, &["runs", "--json"]);
    let dead: Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    assert_eq!(dead["ending"], "died", "{dead}");
    let shown = kokctl.run(&["run", "show", dead["run"].as_str().unwrap()]);
    assert!(shown.code == 0 && shown.stdout.contains("\ndied: "), "{shown:?}");
}

fn stdout_of_success(kokctl: &Kokctl<'_>, arguments: &[&str]) -> String {
    let said = kokctl.run(arguments);
    assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{arguments:?}: {said:?}");
    said.stdout
}
