//! What members of etcd that are units answer, as etcdctl 3.7.0 writes it.

use kok_tasks::observe::{EtcdState, Look, Looks, Observations, parse, probe_script};

use crate::support::nonce;

const STATUS: &str = r#"[{"Endpoint":"https://127.0.0.1:2379","Status":{"header":{"cluster_id":13979536436129550742,"member_id":3319814642761637952,"revision":1,"raft_term":2},"version":"3.7.0","dbSize":20480,"leader":3319814642761637952,"raftIndex":4,"raftTerm":2,"raftAppliedIndex":4,"dbSizeInUse":16384,"storageVersion":"3.7.0","dbSizeQuota":2147483648,"downgradeInfo":{}}}]"#;
const MEMBERS: &str = r#"{"header":{"cluster_id":13979536436129550742,"member_id":3319814642761637952,"raft_term":2},"members":[{"ID":3319814642761637952,"name":"etcd1","peerURLs":["https://10.20.0.14:2380"],"clientURLs":["https://10.20.0.14:2379"]},{"ID":7956314642761637952,"peerURLs":["https://10.20.0.15:2380"],"isLearner":true}]}"#;
const SILENT: &str = "{\"level\":\"warn\",\"msg\":\"retrying of unary invoker failed\"}\nFailed to get the status of endpoint https://127.0.0.1:2379 (context deadline exceeded)\nnull";

fn read(looks: &Looks, sections: &[(&str, &str)]) -> Observations {
    let clock = [("clock", "1780000000000000000\n5.10 9.99\n")];
    let all = clock.iter().chain(sections).chain(&[("end", "")]);
    let answer: String = all.map(|(name, body)| format!("\n{} {name}\n{body}\n", nonce().as_str())).collect();
    parse(&nonce(), looks, answer.as_bytes()).unwrap()
}

fn etcd(sections: &[(&str, &str)]) -> EtcdState {
    read(&[Look::Etcd].into_iter().collect(), sections).etcd.unwrap()
}

#[test]
fn numbers_and_texts_are_the_same_ids() {
    let EtcdState::Ready(member) = etcd(&[("etcd-status", STATUS), ("etcd-members", MEMBERS)]) else { panic!("it answers") };
    assert_eq!((member.cluster_id.as_str(), member.version.as_str()), ("13979536436129550742", "3.7.0"));
    assert!(member.has_leader && !member.is_learner && member.errors.is_empty());
    let started: Vec<bool> = member.members.iter().map(|peer| peer.is_started).collect();
    assert_eq!(started, [false, true], "one was announced, and has no name yet");
    let gateway = r#"{"header":{"cluster_id":"13979536436129550742"},"version":"3.7.0","leader":"1"}"#;
    let EtcdState::Ready(beside) = etcd(&[("etcd-status", gateway), ("etcd-members", MEMBERS)]) else { panic!("it answers") };
    assert_eq!(beside.cluster_id, member.cluster_id);
    let without = STATUS.replace("\"leader\":3319814642761637952,", "");
    let EtcdState::Ready(member) = etcd(&[("etcd-status", &without), ("etcd-members", MEMBERS)]) else { panic!("it answers") };
    assert!(!member.has_leader);
}

#[test]
fn a_member_that_is_silent_is_told_by_its_last_sentence() {
    let EtcdState::NotReady(said) = etcd(&[("etcd-status", SILENT)]) else { panic!("it does not answer") };
    assert_eq!(said.lines().next_back(), Some("Failed to get the status of endpoint https://127.0.0.1:2379 (context deadline exceeded)"));
    assert_eq!(etcd(&[("etcd-status", "absent")]), EtcdState::Absent);
}

#[test]
fn each_endpoint_and_user_is_asked_for_and_told() {
    let urls = ["https://10.20.0.14:2379", "https://10.20.0.15:2379"].map(str::to_owned);
    let endpoints: Looks =
        urls.iter().cloned().map(Look::EtcdEndpoint).chain([Look::User("etcd".into()), Look::User("nobody".into())]).collect();
    let script = probe_script(&nonce(), &endpoints, false);
    assert!(urls.iter().all(|url| script.contains(url)) && script.contains("id -u --"), "{script}");
    let first = format!("etcd-endpoint {}", urls[0]);
    let second = format!("etcd-endpoint {}", urls[1]);
    let seen = read(&endpoints, &[(&first, "healthy"), (&second, "connection refused"), ("users", "nobody")]);
    assert_eq!(seen.etcd_endpoints.values().collect::<Vec<_>>(), ["healthy", "connection refused"]);
    assert_eq!(seen.users.values().copied().collect::<Vec<_>>(), [false, true]);
}
