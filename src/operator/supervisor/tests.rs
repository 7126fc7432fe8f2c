#![allow(clippy::unwrap_used, reason = "these are tests")]

use serde_json::json;

use super::super::fake::{Fake, attendant};
use super::super::stores::{Stores, What};
use super::*;

/// What is known of the cluster when its operation is in this phase.
fn view(key: &ClusterKey, phase: &str) -> View {
    let object = json!({
        "apiVersion": "kubeonkube.clay.io/v1alpha1", "kind": "ClusterOperation", "metadata": {"name": "o"},
        "spec": {"cluster": key.name}, "status": {"phase": phase, "status": "Running"},
    });
    let mut stores = Stores::default();
    let event = kube::runtime::watcher::Event::Apply(serde_json::from_value(object).unwrap());
    stores.take((key.group, What::Operations), event);
    View::from_known(&stores.known_of(key), key, None)
}

#[tokio::test]
async fn a_look_makes_way_for_an_operation() {
    let (fake, client) = Fake::start().await;
    let attendant = attendant(&fake, client, 1);
    let (sender, mut reports) = mpsc::unbounded_channel();
    let (key, mut supervisor) = (attendant.key.clone(), Supervisor::new(Arc::clone(&attendant.shared), sender));
    let of = (attendant.operation.as_str(), attendant.uid.as_str());
    let state = |supervisor: &Supervisor| {
        let mut view = View::default();
        supervisor.add_to(&key, &mut view);
        (view.is_checking, view.active.is_some())
    };
    supervisor.check(&key);
    supervisor.start(&key, of);
    assert_eq!(state(&supervisor), (true, false), "one after the other");
    supervisor.take(reports.recv().await.unwrap());
    supervisor.start(&key, of);
    assert_eq!(state(&supervisor), (false, true));
    supervisor.check(&key);
    assert_eq!(state(&supervisor), (false, true), "nobody looks meanwhile");
}

/// Otherwise a pod that was started anew is quicker than the one that runs.
#[tokio::test]
async fn whoever_leaves_is_followed_as_soon_as_it_says_so() {
    let (fake, client) = Fake::start().await;
    let attendant = attendant(&fake, client, 1);
    let (sender, _reports) = mpsc::unbounded_channel();
    let (key, mut supervisor) = (attendant.key.clone(), Supervisor::new(Arc::clone(&attendant.shared), sender));
    supervisor.take(Report { key: key.clone(), became: Became::Attended(Attended::Elsewhere(Observation::nothing())) });
    let now = Clock::seconds();
    let after = |phase: &str| {
        let mut view = view(&key, phase);
        supervisor.add_to(&key, &mut view);
        match view.claim {
            Claim::Untried => None,
            Claim::RetryAt(at) => Some(at - now),
        }
    };
    assert!(after("Running").is_some_and(|seconds| seconds >= 9), "{:?}", after("Running"));
    assert!(after("Resuming").is_some_and(|seconds| seconds <= 1), "{:?}", after("Resuming"));
}

/// Otherwise a replica that lives for months remembers every name that there ever was.
#[tokio::test]
async fn nothing_is_remembered_of_a_cluster_that_is_gone() {
    let (fake, client) = Fake::start().await;
    let attendant = attendant(&fake, client, 1);
    let (sender, _reports) = mpsc::unbounded_channel();
    let (key, mut supervisor) = (attendant.key.clone(), Supervisor::new(Arc::clone(&attendant.shared), sender));
    let all = [
        Became::Attended(Attended::Ended(Some("1".to_owned()))),
        Became::Attended(Attended::Elsewhere(Observation::nothing())),
        Became::Checked(Checked::Elsewhere(Observation::nothing())),
    ];
    all.into_iter().for_each(|became| supervisor.take(Report { key: key.clone(), became }));
    let known =
        |supervisor: &Supervisor| [supervisor.retry.len(), supervisor.seen.len(), supervisor.over.len(), supervisor.check_after.len()];
    assert_eq!(known(&supervisor), [1; 4]);
    supervisor.forget(&key);
    assert_eq!(known(&supervisor), [0; 4]);
}
