//! The proof that pods of all nodes answer each other.

mod sample;

use std::collections::BTreeMap;

use kok_tasks::observe::Observations;
use kok_tasks::operations::{ApplyManifest, NETWORK_CHECK_NAMESPACE, NetworkCheck, NetworkCheckStage, Operation};
use serde_json::{Value, json};

use crate::convergence::left;
use crate::operations::{diff_text, ready};
use crate::support::cluster;
use crate::support::world::World;

#[test]
fn the_network_is_proven_by_every_answer() {
    let nodes = || vec!["a".to_owned(), "b".to_owned()];
    let of = |proxy| NetworkCheck {
        stage: NetworkCheckStage::Answer,
        network: "sum".into(),
        nodes: nodes(),
        askers: nodes(),
        families: 1,
        proxy,
    };
    let check = Operation::NetworkCheck(of(true));
    let answers = |count: usize, ok: bool| json!(vec![json!({"target": "http://x/", "ok": ok, "error": "timed out"}); count]).to_string();
    let seen = |a: Option<String>, b: Option<String>| {
        let reports = [("a", a), ("b", b)].into_iter().filter_map(|(name, report)| Some((name.to_owned(), report?)));
        Observations { network_check: Some(reports.collect()), ..ready(&[], &[]) }
    };
    let good = || Some(answers(3, true));
    assert_eq!(diff_text(&check, &ready(&[], &[])), "unseen");
    assert_eq!(diff_text(&check, &seen(good(), good())), "same");
    assert_eq!(diff_text(&check, &seen(good(), None)), "the pod of node b has not reported");
    assert!(diff_text(&check, &seen(good(), Some("Error from server".into()))).contains("could not be asked: Error from server"));
    assert_eq!(diff_text(&check, &seen(None, None)), "the pods of the nodes a, b have not reported", "all that have not");
    let refused = || Some("Error from server: refused".to_owned());
    let none_asked = "the pods of the nodes a, b could not be asked; of the first: Error from server: refused";
    assert_eq!(diff_text(&check, &seen(refused(), refused())), none_asked);
    assert!(diff_text(&check, &seen(Some(answers(2, true)), good())).contains("asked at 2 of 3 addresses"));
    let both = Operation::NetworkCheck(NetworkCheck { families: 2, ..of(true) });
    assert!(diff_text(&both, &seen(good(), good())).contains("asked at 3 of 5 addresses"), "each at both of its addresses");
    assert_eq!(diff_text(&both, &seen(Some(answers(5, true)), Some(answers(5, true)))), "same");
    assert_eq!(diff_text(&check, &seen(Some(answers(3, false)), good())), "from node a, http://x/ does not answer: timed out");
    let without = Operation::NetworkCheck(of(false));
    let because = "there is no kube-proxy (kube_proxy_remove), so the network has to carry Services";
    assert!(diff_text(&without, &seen(Some(answers(3, false)), good())).ends_with(because));
    let of_pod = answers(3, false).replace("http://x/", "http://10.233.64.2:8080/");
    assert!(
        diff_text(&without, &seen(Some(of_pod), good())).ends_with("10.233.64.2:8080/ does not answer: timed out"),
        "that is no Service"
    );
    let of_pod = answers(3, false).replace("http://x/", "http://[fd00:64::2]:8080/");
    assert!(diff_text(&without, &seen(Some(of_pod), good())).ends_with("[fd00:64::2]:8080/ does not answer: timed out"), "nor that");
    let record = |text: &str| Observations {
        network_check: Some(BTreeMap::new()),
        ..ready(&[("ConfigMap/kube-system/kokctl", json!({"data": {"network-check": text}}))], &[])
    };
    assert_eq!(diff_text(&check, &record("b=u\na=u\nnetwork=sum")), "same", "a proof that was recorded holds");
    assert_ne!(diff_text(&check, &record("a=u\nb=other\nnetwork=sum")), "same", "another node of the same name");
    assert_ne!(diff_text(&check, &record("a=u\nb=u\nnetwork=other")), "same", "another network");
}

/// Removed a moment ago, and made again at once: as long as no controller manager leads, what is in the namespace stays as it was.
#[test]
fn pods_in_a_namespace_that_goes_are_none() {
    let manifest = ApplyManifest { what: "it", text: String::new(), namespace: NETWORK_CHECK_NAMESPACE, name: "network-check" };
    let daemon = json!({"metadata": {"annotations": {"kokctl.io/source-sha256": manifest.sum()}}});
    let with = |stage: &NetworkCheckStage, namespace: Value| {
        let nodes = vec!["a".to_owned()];
        let check =
            NetworkCheck { stage: stage.clone(), network: "sum".into(), nodes: nodes.clone(), askers: nodes, families: 1, proxy: true };
        let objects = [("DaemonSet/kokctl-network-check/network-check", daemon.clone()), ("Namespace//kokctl-network-check", namespace)];
        diff_text(&Operation::NetworkCheck(check), &ready(&objects, &[]))
    };
    let (there, goes) = (json!({"metadata": {}}), json!({"metadata": {"deletionTimestamp": "x"}}));
    let deploy = NetworkCheckStage::Deploy(manifest);
    assert_eq!(with(&deploy, there), "same");
    assert_eq!(with(&deploy, goes.clone()), "the namespace kokctl-network-check is being removed");
    // What they say, they say of the network that was there before.
    assert_eq!(with(&NetworkCheckStage::Answer, goes), "its pods are being removed");
}

#[test]
fn without_its_image_the_network_is_not_tried_and_all_else_is_done() {
    let mut world = World::bare_of(cluster());
    world.bundle.images.retain(|image| image.name != "echo");
    let steps: Vec<String> = world.plan().steps().map(|step| step.id.to_string()).collect();
    assert!(!steps.iter().any(|id| id.contains("network-check") || id.ends_with("/images/echo")), "{steps:?}");
    let world = world.converge();
    assert_eq!(left(&world), Vec::<String>::new());
}
