//! The network check of clusters that are too large for everybody to ask everybody.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kok_tasks::observe::{
    KubernetesObject, KubernetesState, NOT_ASKED, NodeState, Observations, network_check_script, section_marker, sections,
};
use kok_tasks::operations::{NetworkCheck, NetworkCheckStage, Operation, askers};
use serde_json::json;

use crate::operations::{diff_text, ready};
use crate::support::nonce;
use crate::support::shell::{SHELLS, run};

fn names(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("n{number:04}")).collect()
}

fn control_planes() -> BTreeSet<&'static str> {
    ["n0001", "n0500", "n0999"].into()
}

/// A cluster whose record names all nodes but these; a node made anew has its name, but not its uid.
fn recorded(nodes: &[String], but: &[&str]) -> KubernetesState {
    let of = |name: &String| NodeState { uid: format!("uid-{name}"), ..NodeState::default() };
    let uid = |name: &String| if but.contains(&name.as_str()) { "earlier".to_owned() } else { format!("uid-{name}") };
    let text: String = nodes.iter().map(|name| format!("{name}={}\n", uid(name))).collect();
    let record = KubernetesObject(json!({"data": {"network-check": text + "network=sum"}}));
    KubernetesState::Ready {
        nodes: nodes.iter().map(|name| (name.clone(), of(name))).collect(),
        objects: [("ConfigMap/kube-system/kokctl".to_owned(), record)].into(),
        bootstrap_tokens: Vec::new(),
    }
}

#[test]
fn up_to_a_hundred_nodes_all_ask() {
    for count in [0, 1, 2, 99, 100] {
        assert_eq!(askers(&names(count), &control_planes(), None), names(count));
    }
    assert_eq!(askers(&names(101), &control_planes(), None).len(), 100);
}

#[test]
fn of_more_nodes_control_planes_and_new_nodes_ask_and_others_at_equal_distances() {
    let nodes = names(1000);
    let new = ["n0017", "n0018"];
    let state = recorded(&nodes, &new);
    let chosen = askers(&nodes, &control_planes(), Some(&state));
    assert_eq!(chosen.len(), 100);
    assert!(control_planes().iter().chain(&new).all(|name| chosen.iter().any(|one| one == name)), "{chosen:?}");
    let tenths: BTreeSet<&str> = chosen.iter().filter_map(|name| name.get(..3)).collect();
    assert_eq!(tenths.len(), 10, "of every hundred: {chosen:?}");
    let backwards: Vec<String> = nodes.iter().rev().cloned().collect();
    assert_eq!(askers(&backwards, &control_planes(), Some(&state)), chosen, "the order of the file says nothing");
    // Of a cluster that was made a moment ago all are new.
    let chosen = askers(&nodes, &control_planes(), None);
    assert!(chosen.len() == 100 && control_planes().iter().all(|name| chosen.iter().any(|one| one == name)));
}

/// The script with a kubectl of this text, in which `$*` are its arguments; what each pod reported. Every node has a pod, `p` and its name,
/// with an address of each family.
fn reports(shell: &[&str], nodes: &[String], askers: &[String], kubectl: &str, seconds: u64) -> BTreeMap<String, String> {
    let pod = |(number, name): (usize, &String)| format!("{name} p{name} 10.1.{}.{} fd00::{number}\n", number / 256, number % 256);
    // Pods come in the order of their own names, which are drawn by lot.
    let pods: String = nodes.iter().enumerate().map(pod).rev().collect();
    let script = format!(
        "{}api_server=ready quick=\nkube() {{ case $* in *' get pods '*) cat <<'PODS'\n{pods}PODS\n;; *) {kubectl};; esac; }}\n{}mark end\n",
        section_marker(&nonce()),
        network_check_script(askers, Duration::from_secs(seconds)),
    );
    let output = run(shell, &["-u"], &script);
    assert!(output.status.success() && output.stderr.is_empty(), "{shell:?}: {}", String::from_utf8_lossy(&output.stderr));
    let all = sections(&nonce(), &output.stdout);
    assert!(all.iter().any(|section| section.name == "end"));
    let of_pods = all.iter().filter(|section| section.name == "network-check");
    of_pods.map(|section| (section.argument.to_owned(), String::from_utf8_lossy(section.body).trim().to_owned())).collect()
}

/// What a pod that was asked this answers, when all that it asks answer.
fn answers(asked: &str, nodes: &[String]) -> Vec<serde_json::Value> {
    let node = |target: &str| {
        let address = target.strip_prefix("http://")?.strip_suffix(":8080/")?;
        let number = match address.strip_prefix("%5Bfd00::") {
            Some(number) => number.strip_suffix("%5D")?.parse().ok()?,
            None => {
                let (high, low) = address.strip_prefix("10.1.")?.split_once('.')?;
                high.parse::<usize>().ok()? * 256 + low.parse::<usize>().ok()?
            }
        };
        nodes.get(number).cloned()
    };
    let targets = asked.split('&').filter_map(|part| part.strip_prefix("target="));
    let decoded = |target: &str| target.replace("%5B", "[").replace("%5D", "]");
    targets.map(|target| json!({"target": decoded(target), "ok": true, "node": node(target).unwrap_or_default()})).collect()
}

fn check(nodes: &[String], askers: &[String]) -> Operation {
    let (nodes, askers) = (nodes.to_vec(), askers.to_vec());
    Operation::NetworkCheck(NetworkCheck {
        stage: NetworkCheckStage::Answer,
        network: "sum".into(),
        nodes,
        askers,
        families: 2,
        proxy: true,
    })
}

fn seen(reports: BTreeMap<String, String>) -> Observations {
    Observations { network_check: Some(reports), ..ready(&[], &[]) }
}

#[test]
fn every_pod_of_a_thousand_is_asked_by_three_others_and_those_that_ask_by_each_other() {
    let nodes = names(1000);
    let askers = askers(&nodes, &control_planes(), None);
    for shell in SHELLS {
        let asked = reports(shell, &nodes, &askers, "echo \"$*\"", 600);
        assert_eq!(asked.keys().collect::<Vec<_>>(), askers.iter().collect::<Vec<_>>());
        for (node, words) in &asked {
            assert!(words.contains(&format!("/pods/p{node}:8080/proxy/check?timeout=3s&target=http://network-check.")), "{words}");
        }
        let answered: BTreeMap<String, Vec<_>> = asked.iter().map(|(node, words)| (node.clone(), answers(words, &nodes))).collect();
        let mut by: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        for (asker, answers) in &answered {
            for answer in answers {
                by.entry(answer["node"].as_str().unwrap().to_owned()).or_default().insert(asker);
            }
            assert!(answers.len() <= 1 + 2 * (100 + 27), "{asker} asks at {} addresses", answers.len());
        }
        for node in &nodes {
            let expected = if askers.contains(node) { 100 } else { 3 };
            assert_eq!(by[node].len(), expected, "{shell:?}: {node}");
        }
        let text = |answers: &Vec<_>| serde_json::Value::from(answers.clone()).to_string();
        let said_of = |answered: &BTreeMap<String, Vec<_>>| {
            diff_text(&check(&nodes, &askers), &seen(answered.iter().map(|(node, answers)| (node.clone(), text(answers))).collect()))
        };
        assert_eq!(said_of(&answered), "same");
        let mut less = answered.clone();
        less.values_mut().for_each(|answers| answers.retain(|answer| answer["node"] != "n0123"));
        assert_eq!(said_of(&less), "not every pod was asked by 3 others; fewer have asked those of the nodes n0123");
    }
}

/// Whoever reads what is waited for is not told that everybody answers everybody.
#[test]
fn a_sample_is_called_one() {
    let title = |count: usize| {
        let nodes = names(count);
        check(&nodes, &askers(&nodes, &control_planes(), None)).title()
    };
    assert_eq!(title(100), "every pod answers every other");
    assert_eq!(title(1000), "a sample: pods of 100 of 1000 nodes ask each other, and of every other node, 3 of them each");
}

/// Each takes as long as it may, and longer than others are begun, so that only those are asked that begin together. A busy machine needs a moment
/// to start twelve.
#[test]
fn when_nobody_answers_the_rest_is_not_asked_and_is_not_blamed() {
    let nodes = names(1000);
    let askers = askers(&nodes, &control_planes(), None);
    for shell in SHELLS {
        let reports = reports(shell, &nodes, &askers, "echo 'context deadline exceeded'; timeout 4 tail -f /dev/null || :", 3);
        let (late, silent): (Vec<_>, Vec<_>) = reports.iter().partition(|(_, report)| report.starts_with(NOT_ASKED));
        assert_eq!(reports.len(), 100, "there is a word for each");
        assert!((12..=24).contains(&silent.len()) && late.len() == 100 - silent.len(), "{shell:?}: {} were asked", silent.len());
        let names = silent.iter().map(|(node, _)| node.as_str()).collect::<Vec<_>>().join(", ");
        let expected = format!(
            "the pods of the nodes {names} could not be asked; of the first: context deadline exceeded; there was no time left to ask {} more",
            late.len()
        );
        assert_eq!(diff_text(&check(&nodes, &askers), &seen(reports)), expected);
    }
}

/// What a pod says comes as it is; of what the API server says of it, what is for people.
#[test]
fn where_there_is_curl_each_pod_is_asked_once() {
    let nodes = names(3);
    let curl = "quick=yes own_api_server=https://here; curl_api() { case $* in
        *' https://here/'*/pn0000:*) echo '[]';;
        */pn0001:*) echo '{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":\"no route to host\",\"code\":503}';;
        *) return 28;; esac; }; kube() { case $* in *' get pods '*) printf 'n0000 pn0000 10.1.0.0\\nn0001 pn0001 10.1.0.1\\nn0002 pn0002 10.1.0.2\\n';; *) echo again;; esac; }";
    for shell in SHELLS {
        let script = format!(
            "set -e\n{}api_server=ready\n{curl}\n{}mark end\n",
            section_marker(&nonce()),
            network_check_script(&nodes, Duration::from_secs(600))
        );
        let output = run(shell, &["-u"], &script);
        let all = sections(&nonce(), &output.stdout);
        let said: Vec<_> =
            all.iter().filter(|it| it.name == "network-check").map(|it| String::from_utf8_lossy(it.body).trim().to_owned()).collect();
        assert_eq!(said, ["[]", "no route to host", "it did not answer within 5 s"], "{shell:?}: {output:?}");
    }
}

#[test]
fn a_control_plane_that_is_too_slow_to_ask_is_called_that() {
    let nodes = names(3);
    let reports = nodes.iter().map(|node| (node.clone(), format!("{NOT_ASKED}\n"))).collect();
    assert_eq!(diff_text(&check(&nodes, &nodes), &seen(reports)), "there was no time to ask 3 of 3 pods: this control plane is slow");
    // A pod on a host that is no node of the file is asked, and asks nobody.
    for shell in SHELLS {
        let asked = self::reports(shell, &names(4), &nodes, "echo \"$*\"", 600);
        assert_eq!(asked.len(), 3);
        assert!(asked.values().all(|words| words.contains("target=http://10.1.0.3:8080/")), "{asked:?}");
    }
}
