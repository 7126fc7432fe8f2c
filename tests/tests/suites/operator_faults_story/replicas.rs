//! Two replicas, of which the one at work stands still, loses its Lease, its API server, or its life.

use std::fs;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

use super::{HEARD, OperatorStory, STEPS, TAKEN_OVER};
use crate::cluster_support::ok;
use crate::lab_support::wait_for;
use crate::operator_story::{NAMESPACE, Operator, operate, status};

/// For how long a replica stands still, and an API server is away.
const AWAY: u64 = 60;
/// What a replica may take to go on that was told so by the one before it.
const HANDED_OVER: f64 = 15.0;
/// What the status may lie behind, once the API server answers again.
const TRUE_AGAIN: f64 = 5.0;
/// Until what is asked for then is heard of.
const HEARD_AGAIN: f64 = 12.0;

/// It wakes up when the other one has taken the host, and does nothing more there.
pub fn stands_still(story: &OperatorStory<'_>, replicas: &[Operator]) {
    story.begins("paused", 2);
    let (old, new) = story.at_work("paused", replicas);
    let run = old.runs().pop().unwrap();
    old.pause();
    let since = Instant::now();
    let taken = story.goes_on("paused", new, since);
    // What it had begun ends, and the next hook is the other one's.
    story.lets(3);
    story.waits_after("paused", 3);
    let holder = ok(&story.host(), "cat /var/lib/kokctl/holder");
    assert!(holder.contains(&format!("by={}", new.name())), "{holder}");
    wait_for("a minute", AWAY, || since.elapsed().as_secs() >= AWAY);
    old.resume();
    let woken = Instant::now();
    story.lets(5);
    wait_for("the end of the old run", HEARD, || is_left(&run));
    let left = woken.elapsed().as_secs_f64();
    story.ends_well("paused", &[old, new]);
    let done = steps(&run, "step-done");
    assert_eq!(done, ["cp1/host/claim", "cp1/hooks/step-1", "cp1/hooks/step-2", "cp1/hooks/step-3"]);
    println!("paused for {AWAY} s: gone on with after {taken:.1} s; woken up, it left after {left:.1} s and changed 0 things");
}

/// Somebody else stands in it, who never renews it.
pub fn lease_is_stolen(story: &OperatorStory<'_>, replicas: &[Operator]) {
    story.begins("stolen", 1);
    let (old, new) = story.at_work("stolen", replicas);
    let run = old.runs().pop().unwrap();
    let lease = story.lease()["metadata"]["name"].as_str().unwrap().to_owned();
    let patch = json!({"spec": {"holderIdentity": "somebody"}}).to_string();
    story.server.ok(&["patch", "lease", &lease, "-n", NAMESPACE, "--type=merge", "-p", &patch], "");
    let since = Instant::now();
    wait_for("the end of the run", HEARD, || is_left(&run));
    let left = since.elapsed().as_secs_f64();
    wait_for("the second attempt", TAKEN_OVER, || status(&story.server, "stolen")["attempt"] == 2);
    let resumed = since.elapsed().as_secs_f64();
    let made = story.ends_well("stolen", &[old, new]);
    assert_eq!(made["attempt"], 2, "{made:#}");
    let done = steps(&run, "step-done");
    assert!(done.iter().all(|step| step.contains("step-1")), "{done:?}");
    println!("Lease stolen by hand: the run ended after {left:.1} s, and was gone on with after {resumed:.1} s");
}

/// The run goes on meanwhile, and says so afterwards.
pub fn api_server_is_away(story: &OperatorStory<'_>, replicas: &[Operator]) {
    story.begins("away", 2);
    let (old, new) = story.at_work("away", replicas);
    let transitions = |lease: &Value| lease["spec"]["leaseTransitions"].clone();
    let before = transitions(&story.lease());
    story.server.goes_away();
    let since = Instant::now();
    story.lets(STEPS - 2);
    story.waits_after("away", STEPS - 2);
    let went_on = since.elapsed().as_secs_f64();
    wait_for("a minute", AWAY, || since.elapsed().as_secs() >= AWAY);
    story.server.comes_back();
    let back = Instant::now();
    wait_for("a status that is true", HEARD, || status(&story.server, "away")["progress"]["done"] == STEPS - 2);
    let told = back.elapsed().as_secs_f64();
    operate(&story.server, story.lab, "heard", "ping.yml");
    let asked = Instant::now();
    wait_for("an operation that is heard of", TAKEN_OVER, || status(&story.server, "heard")["phase"] == "Queued");
    let heard = asked.elapsed().as_secs_f64();
    // Once it has ended, the operation that waits has the Lease, and maybe by the other replica.
    let after = transitions(&story.lease());
    let made = story.ends_well("away", &[old, new]);
    assert_eq!((&made["attempt"], after), (&json!(1), before), "{made:#}");
    let hooks = STEPS - 2;
    println!("API server away for {AWAY} s: {hooks} hooks done after {went_on:.1} s of it, status true after {told:.1} s, 0 transitions");
    println!("an operation that was made then was heard of after {heard:.1} s");
    assert!(told <= TRUE_AGAIN && heard <= HEARD_AGAIN, "{told} {heard}");
}

/// As a rolling update ends it: it lets go of what it is at, and the other one goes on. Returns the one that is left.
pub fn is_asked_to_end(story: &OperatorStory<'_>, replicas: Vec<Operator>) -> Operator {
    story.begins("rolled", 2);
    let name = story.at_work("rolled", &replicas).0.name().to_owned();
    let (mut old, mut new): (Vec<Operator>, Vec<Operator>) = replicas.into_iter().partition(|operator| operator.name() == name);
    let (old, new) = (old.remove(0), new.remove(0));
    old.is_to_end();
    let since = Instant::now();
    // What is at work ends as it would have.
    story.lets(3);
    let taken = story.goes_on("rolled", &new, since);
    story.waits_after("rolled", 3);
    let at_work = since.elapsed().as_secs_f64();
    old.ends();
    story.ends_well("rolled", &[&new]);
    println!("asked to end: the other one had it after {taken:.1} s, and its first step at work after {at_work:.1} s");
    assert!(at_work <= HANDED_OVER, "{at_work}");
    new
}

/// The steps of a run of which its journal says this.
fn steps(run: &Path, event: &str) -> Vec<String> {
    let journal = fs::read_to_string(run.join("events.jsonl")).unwrap();
    let events = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    events.filter(|it| it["event"] == event).map(|it| it["step"].as_str().unwrap().to_owned()).collect()
}

/// Whether a run is over, or has left what it had at work to itself.
fn is_left(run: &Path) -> bool {
    let journal = fs::read_to_string(run.join("events.jsonl")).unwrap();
    ["run-left", "run-finished", "run-refused"].iter().any(|event| journal.contains(&format!("\"event\":\"{event}\"")))
}
