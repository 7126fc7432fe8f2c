//! Clusters and operations that come and go, for ten minutes, and two replicas that attend to them.

use std::collections::BTreeSet;
use std::time::Instant;

use super::metrics;
use super::round::{OPERATIONS, Round};
use crate::lab_support::wait_for;
use crate::operator_faults_story::many::is_well;
use crate::operator_faults_story::{HEARD, OperatorStory, ROUND};
use crate::operator_story::{NAMESPACE, Operator};

/// Each has a Cluster of its own in each round.
pub const HOSTS: usize = 3;
/// For how long new rounds begin, in seconds.
const CHURN: u64 = 600;
/// By then a replica has the memory that it goes on with, in seconds.
const WARM: u64 = 180;
/// What it may have at the end, of that.
const GROWN: f64 = 1.1;
/// Names of replicas, and where they have their health and their metrics.
const REPLICAS: [(&str, u16, u16); 2] = [("a", 8081, 8091), ("b", 8082, 8092)];

/// Two of them, which are ready.
pub fn replicas(story: &OperatorStory<'_>) -> Vec<Operator> {
    let start = |(name, health, metrics): (&str, u16, u16)| {
        let more = ["--accept-new-host-keys", &format!("--metrics=127.0.0.1:{metrics}"), &format!("--namespaces={NAMESPACE}")];
        Operator::start_apart(&story.kokctl, &story.server, name, health, &more)
    };
    let all = REPLICAS.map(start).into();
    wait_for("both replicas", HEARD, || REPLICAS.iter().all(|(_, health, _)| is_well(story.lab, *health, "readyz")));
    all
}

/// Everything that the meta-cluster has but Events, which end by themselves.
pub fn everything(story: &OperatorStory<'_>) -> BTreeSet<String> {
    let kinds = story.server.ok(&["api-resources", "--verbs=list", "-o", "name"], "");
    let kinds: Vec<&str> = kinds.lines().filter(|kind| !kind.starts_with("events") && *kind != "componentstatuses").collect();
    let all = story.server.ok(&["get", &kinds.join(","), "-A", "-o", "name", "--ignore-not-found"], "");
    all.lines().map(str::to_owned).collect()
}

/// Ten minutes of it. `before` is what there was before the first replica.
pub fn leaves_nothing(story: &OperatorStory<'_>, replicas: &[Operator], before: &BTreeSet<String>) {
    let (began, mut rounds, mut warm) = (Instant::now(), Vec::new(), vec![0; replicas.len()]);
    while began.elapsed().as_secs() < CHURN {
        rounds.push(Round::new(story, replicas, rounds.len()).comes_and_goes());
        let now = memory(replicas);
        println!("{:4} s, round {}: {now:?} kB", began.elapsed().as_secs(), rounds.len());
        if began.elapsed().as_secs() <= WARM {
            warm = now.iter().zip(&warm).map(|(now, most)| *now.max(most)).collect();
        }
    }
    let mut expected = before.clone();
    // It says when an operator ran here first.
    expected.insert("configmap/kokctl-operator".to_owned());
    let mut left = BTreeSet::new();
    wait_for("an end of everything", ROUND, || {
        left = everything(story);
        left.is_subset(&expected) || began.elapsed().as_secs() > CHURN + ROUND
    });
    assert_eq!(left.difference(&expected).collect::<Vec<_>>(), Vec::<&String>::new(), "it is left");
    nothing_is_known(story, replicas);
    let (cancelled, all) = (rounds.iter().sum::<usize>(), rounds.len() * HOSTS);
    println!("{} rounds: {all} Clusters, {} operations, {cancelled} of them cancelled", rounds.len(), all * OPERATIONS.len());
    assert!(cancelled > 0);
    let last = memory(replicas);
    let runs: Vec<usize> = replicas.iter().map(|replica| replica.runs().len()).collect();
    println!("memory of the replicas: {warm:?} kB when they were warm, {last:?} kB at the end, with {runs:?} runs");
    let has_grown = last.iter().zip(&warm).any(|(last, warm)| *last as f64 > *warm as f64 * GROWN);
    assert!(!has_grown && warm.iter().all(|warm| *warm > 0), "{warm:?} {last:?}");
}

/// What is the replicas' own in memory, in kB, and of the program what they have used of it.
fn memory(replicas: &[Operator]) -> Vec<u64> {
    replicas.iter().map(|replica| replica.kilobytes("VmRSS")).collect()
}

/// What a replica counts has nothing of Clusters that are gone.
fn nothing_is_known(story: &OperatorStory<'_>, replicas: &[Operator]) {
    for (_, _, port) in REPLICAS {
        let text = metrics(story.lab, port);
        assert!(!text.contains("cluster=\"round-"), "{text}");
    }
    for replica in replicas {
        assert!(!replica.log().contains("panicked"), "{}", replica.log());
    }
}
