//! A plan of bare hosts, an `apply` that is killed at a random moment, and the `apply` that follows it.

use std::collections::hash_map::RandomState;
use std::env;
use std::hash::{BuildHasher as _, Hasher as _};
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use kok_tests::lab::Lab;

use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::secrets::{bootstrap_tokens, key_material, secrets_in};
use crate::cluster_support::snapshot::{assert_same, fingerprint};
use crate::cluster_support::{bare, hosts};

/// Repeats the moment of an earlier failure: milliseconds after the plan was made.
const MOMENT: &str = "KOK_TEST_KILL_AFTER_MS";
/// By then a run on an idle machine has begun with everything: images are sent, the control plane starts, workers join.
const LATEST_MILLISECONDS: u64 = 25_000;

pub fn plan_changes_nothing(lab: &Lab, kokctl: &Kokctl<'_>) {
    bare::assert_bare(lab);
    let before = fingerprint(lab);
    let plan = kokctl.converge("plan");
    for host in ["cp1:", "worker1:", "worker2:"] {
        assert!(plan.lines().any(|line| line == host), "{host} in {plan}");
    }
    for wanted in [
        "  file /etc/containerd/config.toml: create",
        "    because it does not exist",
        "      +++ /etc/containerd/config.toml (desired)",
        "  node: join",
        "  static pods of control-plane: write",
    ] {
        assert!(plan.lines().any(|line| line == wanted), "{wanted:?} in {plan}");
    }
    let last = plan.lines().last().unwrap();
    assert!(last.ends_with(" steps would change something"), "{last}");
    assert_same(&before, &fingerprint(lab), "plan must not change anything");
}

pub fn apply_survives_sigkill(lab: &Lab, kokctl: &Kokctl<'_>) {
    let moment = env::var(MOMENT).ok().map_or_else(|| random() % LATEST_MILLISECONDS, |text| text.parse().unwrap());
    println!("apply is killed {moment} ms after its plan was made ({MOMENT}={moment} repeats that)");
    kill_apply(kokctl, Duration::from_millis(moment));
    let said = kokctl.converge("apply");
    let expected = format!("cluster {} is ready: {} hosts, ", lab.name(), hosts(lab).len());
    assert!(said.starts_with(&expected), "{said}");
}

fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

fn kill_apply(kokctl: &Kokctl<'_>, after: Duration) {
    let (manifest, bundle) = (kokctl.manifest(), kokctl.bundle());
    let arguments = ["apply", "--json", "-f", manifest.to_str().unwrap(), "--bundle", bundle.to_str().unwrap()];
    let mut apply = kokctl.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut events = BufReader::new(apply.stdout.take().unwrap());
    let mut said = String::new();
    while !said.contains("\"plan-made\"") {
        assert_ne!(events.read_line(&mut said).unwrap(), 0, "apply ended before it had a plan: {said}");
    }
    let rest = thread::spawn(move || {
        let mut text = Vec::new();
        events.read_to_end(&mut text).map(|_| String::from_utf8_lossy(&text).into_owned())
    });
    let moment = Instant::now() + after;
    is_refused_meanwhile(kokctl);
    thread::sleep(moment.saturating_duration_since(Instant::now()));
    apply.kill().unwrap();
    let status = apply.wait().unwrap();
    said.push_str(&rest.join().unwrap().unwrap());
    assert_eq!(status.code(), None, "apply was to be killed in the middle, but it had ended: {said}");
    kokctl.note(&said);
}

/// Two runs at once would undo each other's work.
fn is_refused_meanwhile(kokctl: &Kokctl<'_>) {
    let said = kokctl.verb("apply", &["--bundle", kokctl.bundle().to_str().unwrap()]);
    assert_eq!(said.code, 3, "{said:?}");
    assert!(said.stderr.starts_with("error: another kokctl is at work on the cluster "), "{said:?}");
    assert!(said.stderr.contains("because: process "), "{said:?}");
}

pub fn nothing_secret_was_said(lab: &Lab, kokctl: &Kokctl<'_>) {
    let material = key_material(&lab.host("cp1").unwrap());
    let journals = kokctl.journals();
    assert!(journals.lines().filter(|line| line.contains("\"step-done\"")).count() > 50, "{journals}");
    assert_eq!(secrets_in(&journals, &material), Vec::<String>::new(), "kokctl's journal");
    assert_eq!(secrets_in(&kokctl.transcript(), &material), Vec::<String>::new(), "kokctl's output");
    for host in hosts(lab) {
        let journal = host.journal().unwrap();
        assert!(!journal.contains("PRIVATE KEY"), "the journal of {}", host.name());
        // Names of Kubernetes' own events may look like tokens; those of kokctl have a prefix.
        let ours: Vec<&str> = bootstrap_tokens(&journal).into_iter().filter(|token| token.starts_with("kok")).collect();
        assert!(ours.is_empty(), "the journal of {}: {ours:?}", host.name());
        assert!(!material.iter().any(|secret| journal.contains(secret.as_str())), "the journal of {}", host.name());
    }
}
