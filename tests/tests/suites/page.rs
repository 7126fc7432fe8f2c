//! The page of the operator in a real browser: it follows runs while they go on, outlives the operator, and shows what hosts say as text.

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Lab};
use serde_json::{Value, json};
use std::fs;

use crate::api_server_support::ApiServer;
use crate::cluster_support::clock::Clock;
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::up;
use crate::lab_support::wait_for;
use crate::operator_story::{NAMESPACE, Operator, meta_cluster, operate, status, succeeds};
use crate::page_story::Browser;

/// In the network of the lab, where the operator is.
const PAGE: &str = "http://localhost:8082/";
const OPTIONS: [&str; 3] = ["--web", "127.0.0.1:8082", "--accept-new-host-keys"];
/// The page has heard of something that the operator knows.
const HEARD: u64 = 30;
/// A Lease that nobody renews is free after forty seconds.
const TAKEN_OVER: u64 = 75;
/// More than a cluster of one host takes on a busy machine.
const MADE: u64 = 420;
/// What a browser would run if it were read as HTML.
const HOSTILE: &str = "<img src=x onerror=\"window.pwned=1\"><script>window.pwned=1</script>";

#[test]
fn a_person_follows_runs_in_a_browser() {
    let lab = up(1);
    let kokctl = Kokctl::new(&lab);
    let server = meta_cluster(&lab);
    let first = Operator::start_with(&kokctl, &server, "first", &OPTIONS);
    let mut clock = Clock::start();
    let browser = Browser::start(&lab);
    clock.lap("a browser");
    wait_for("the page", HEARD, || {
        browser.open(PAGE);
        browser.text("#detail").contains("There is no Cluster yet")
    });
    // It is never loaded again.
    browser.script("window.marker = 1");
    server.ok(&["apply", "-f", "-"], &objects(&lab).to_string());
    what_hosts_say_is_text(&server, &lab, &browser);
    clock.lap("a run that fails");
    assert_eq!(browser.errors(), [""; 0]);
    let hooks = json!({"spec": {"hooks": null}}).to_string();
    server.ok(&["patch", "kok", lab.name(), "--type=merge", "-p", &hooks], "");
    operate(&server, &lab, "again", "cluster.yml");
    browser.script("document.querySelector('#clusters a').focus()");
    a_run_is_followed(&browser);
    assert_eq!(
        browser.script("return document.activeElement.className.includes('cluster')"),
        true,
        "whoever walks by keyboard stays there"
    );
    wait_for("a journal that is kept", HEARD, || status(&server, "again")["journal"]["configMap"].is_string());
    browser.click("a[href$='/again']");
    wait_for("the timeline of a run at work", HEARD, || browser.text("#run-body").contains("at work"));
    assert_eq!(browser.errors(), [""; 0]);
    first.kill();
    wait_for("a page that says that nobody answers", HEARD, || browser.text("#link").contains("not connected since"));
    let second = Operator::start_with(&kokctl, &server, "second", &OPTIONS);
    wait_for("a page that is connected again", HEARD, || browser.text("#link") == "live" && browser.text("#replica").contains("second"));
    wait_for("the second attempt", TAKEN_OVER, || browser.text("#now").contains("attempt 2"));
    clock.lap("another operator");
    succeeds(&server, &second, "again", MADE);
    wait_for("the end on the page of the run", HEARD, || browser.text("#run-body").starts_with("done"));
    browser.click("#run-head a");
    wait_for("the end on the page of the cluster", HEARD, || browser.text("#detail h2").contains("Ready"));
    clock.lap("made");
    what_was_done_is_shown(&browser);
    what_was_done_is_told(&kokctl, &server);
    assert_eq!(browser.script("return window.marker"), 1);
    // Nobody listened for a while: that is all that there was to complain of.
    let others: Vec<String> = browser.errors().into_iter().filter(|error| !error.contains("net::ERR_")).collect();
    assert_eq!(others, [""; 0]);
    second.terminate();
}

/// A cluster of which something goes wrong before anything is changed, as its host tells; and an operation for it.
fn objects(lab: &Lab) -> Value {
    let mut cluster: Value = serde_saphyr::from_str(&lab.inventory(DEFAULT_KUBERNETES_VERSION).unwrap()).unwrap();
    let spec = cluster["spec"].as_object_mut().unwrap();
    // An operator reads no files.
    spec.insert("ssh".to_owned(), json!({"user": "root"}));
    spec.insert("sshAuthRef".to_owned(), json!({"namespace": NAMESPACE, "name": "ssh-auth"}));
    let script = format!("printf '%s\\n' '{HOSTILE}' >&2; exit 7");
    spec.insert("hooks".to_owned(), json!([{"name": "hostile", "at": "beforePreparation", "script": script}]));
    let key = fs::read_to_string(lab.private_key_path()).unwrap();
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "ssh-auth", "namespace": NAMESPACE},
        "type": "kubernetes.io/ssh-auth", "stringData": {"ssh-privatekey": key}});
    let operation = json!({"apiVersion": "kubeonkube.clay.io/v1alpha1", "kind": "ClusterOperation", "metadata": {"name": "hostile"},
        "spec": {"cluster": lab.name(), "actionType": "playbook", "action": "cluster.yml", "operator": {"retries": 0}}});
    json!({"apiVersion": "v1", "kind": "List", "items": [secret, cluster, operation]})
}

fn what_hosts_say_is_text(server: &ApiServer, lab: &Lab, browser: &Browser<'_>) {
    browser.click(&format!("[data-cluster='kubeonkube.clay.io/{}']", lab.name()));
    wait_for("an operation that has failed", TAKEN_OVER, || status(server, "hostile")["status"] == "Failed");
    browser.click("a[href$='/hostile']");
    wait_for("what the host said", HEARD, || browser.text("[data-failed] pre").contains("onerror"));
    let said = browser.text("#run-body");
    assert!(said.contains(HOSTILE) && said.contains("hostile"), "{said}");
    let harm = browser.script("return [document.images.length, document.querySelectorAll('body script').length, typeof window.pwned]");
    assert_eq!(harm, json!([0, 0, "undefined"]));
    browser.click("#run-head a");
}

fn a_run_is_followed(browser: &Browser<'_>) {
    let done =
        || browser.script("return Number((document.getElementById('progress') || {dataset: {}}).dataset.done || 0)").as_u64().unwrap();
    wait_for("a run on the page", MADE, || done() > 5);
    let before = done();
    wait_for("a run that goes on", MADE, || done() > before + 10);
    let host = browser.text(".host");
    assert!(host.contains("cp1") && host.contains("Running"), "{host}");
}

fn what_was_done_is_shown(browser: &Browser<'_>) {
    browser.click("a[href$='/again']");
    wait_for("the timeline", HEARD, || browser.script("return document.querySelectorAll('#timeline .lane i').length").as_u64() > Some(1));
    let said = browser.text("#run-body");
    assert!(said.contains("Where the time went") && said.contains("done"), "{said}");
    let steps = browser.script("return document.querySelectorAll('#steps tr').length").as_u64();
    assert!(steps > Some(5), "{steps:?}");
    browser.click("#run-body button");
    wait_for("the run before", HEARD, || browser.text("#run-body").contains("its process died"));
}

/// The same on a terminal, from what the meta-cluster keeps.
fn what_was_done_is_told(kokctl: &Kokctl<'_>, server: &ApiServer) {
    let kubeconfig = server.kubeconfig("test", NAMESPACE);
    let show = |name: &str, more: &[&str]| {
        let arguments = ["run", "show", "--operation", name, "--kubeconfig", kubeconfig.to_str().unwrap()];
        kokctl.run(&[&arguments[..], more].concat())
    };
    let again = show("again", &["--timeline"]);
    assert!(again.code == 0 && again.stdout.contains("where the time went"), "{again:?}");
    assert!(again.stderr.contains("other runs of the operation: "), "{again:?}");
    let hostile = show("hostile", &[]);
    assert!(hostile.stdout.contains(HOSTILE) && hostile.stdout.contains("FAILED"), "{hostile:?}");
    assert!(hostile.stdout.contains("make another operation"), "{hostile:?}");
    let nothing = show("nothing", &[]);
    assert!(nothing.code != 0 && nothing.stderr.contains("there is no operation `nothing`"), "{nothing:?}");
}
