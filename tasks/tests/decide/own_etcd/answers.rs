//! What members of etcd that are units answer, as etcdctl 3.7.0 writes it.

use kok_tasks::observe::{EtcdAlarm, EtcdMember, EtcdPeer, EtcdState, Look, Looks, Observations, Piece, parse, probe_script};

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

/// The same member, as etcd's gateway writes it: numbers are texts there, and 3.6 and before say nothing of their quota.
const GATEWAY: &str = r#"{"header":{"cluster_id":"13979536436129550742","member_id":"3319814642761637952","revision":"1","raft_term":"2"},"version":"3.7.0","dbSize":"20480","leader":"3319814642761637952","raftIndex":"4","raftTerm":"2","raftAppliedIndex":"4","dbSizeInUse":"16384","storageVersion":"3.7.0"}"#;
const LIST_OF_GATEWAY: &str = r#"{"header":{"cluster_id":"13979536436129550742","member_id":"3319814642761637952","raft_term":"2"},"members":[{"ID":"3319814642761637952","name":"etcd1","peerURLs":["https://10.20.0.14:2380"],"clientURLs":["https://10.20.0.14:2379"]},{"ID":"7956314642761637952","peerURLs":["https://10.20.0.15:2380"],"isLearner":true}]}"#;

#[test]
fn all_that_a_member_says_is_kept_whichever_way_it_is_asked() {
    let peer = |id: u64, name: &str, host: u8, is_learner: bool| EtcdPeer {
        id,
        is_learner,
        name: name.to_owned(),
        peer_url: format!("https://10.20.0.{host}:2380"),
        is_started: !is_learner,
    };
    let expected = EtcdMember {
        cluster_id: "13979536436129550742".to_owned(),
        id: 3_319_814_642_761_637_952,
        leader: 3_319_814_642_761_637_952,
        term: 2,
        applied_index: 4,
        revision: 1,
        size: 20_480,
        in_use: 16_384,
        quota: Some(2_147_483_648),
        version: "3.7.0".to_owned(),
        has_leader: true,
        is_learner: false,
        errors: Vec::new(),
        members: vec![peer(7_956_314_642_761_637_952, "", 15, true), peer(3_319_814_642_761_637_952, "etcd1", 14, false)],
    };
    assert_eq!(etcd(&[("etcd-status", STATUS), ("etcd-members", MEMBERS)]), EtcdState::Ready(expected.clone()));
    let without_quota = EtcdMember { quota: None, ..expected };
    assert_eq!(etcd(&[("etcd-status", GATEWAY), ("etcd-members", LIST_OF_GATEWAY)]), EtcdState::Ready(without_quota));
}

#[test]
fn alarms_of_all_members_are_told_by_each() {
    let errors =
        r#""errors":["memberID:7956314642761637952 alarm:NOSPACE ","memberID:3319814642761637952 alarm:CORRUPT ","etcdserver: no leader"]"#;
    let status = GATEWAY.replace(r#""storageVersion""#, &format!(r#"{errors},"storageVersion""#));
    let EtcdState::Ready(member) = etcd(&[("etcd-status", &status), ("etcd-members", MEMBERS)]) else { panic!("it answers") };
    let alarms = [(7_956_314_642_761_637_952, EtcdAlarm::NoSpace), (3_319_814_642_761_637_952, EtcdAlarm::Corrupt)];
    assert_eq!(member.alarms().collect::<Vec<_>>(), alarms);
}

#[test]
fn numbers_that_are_none_and_lists_without_end_are_no_answers_of_a_member() {
    let wild = GATEWAY.replace("\"20480\"", "-1").replace("\"16384\"", "\"1e99\"").replace(r#""raftTerm":"2""#, r#""raftTerm":[2]"#);
    let EtcdState::Ready(member) = etcd(&[("etcd-status", &wild), ("etcd-members", MEMBERS)]) else { panic!("it answers") };
    assert_eq!((member.size, member.in_use, member.term, member.revision), (0, 0, 0, 1));
    let many = format!(r#"{{"members":[{}]}}"#, vec![r#"{"ID":"1"}"#; 101].join(","));
    assert_eq!(etcd(&[("etcd-status", GATEWAY), ("etcd-members", &many)]), EtcdState::NotReady("its list has 101 members".to_owned()));
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
        urls.iter().cloned().map(Look::EtcdEndpoint).chain(["etcd", "nobody"].map(|name| Look::Piece(Piece::User(name.into())))).collect();
    let peers: Looks = urls.iter().cloned().map(Look::EtcdPeerHealth).collect();
    let script = probe_script(&nonce(), &peers, None);
    assert!(
        urls.iter().all(|url| script.contains(&format!("ask_peer '{url}'")) || script.contains(&format!("ask_peer {url}"))),
        "{script}"
    );
    let about = |number: usize| format!("etcd-peer {}", urls[number]);
    let seen = read(&peers, &[(&about(0), "healthy"), (&about(1), "connection refused")]);
    assert_eq!(seen.etcd_peers.values().collect::<Vec<_>>(), ["healthy", "connection refused"]);
    let script = probe_script(&nonce(), &endpoints, None);
    assert!(urls.iter().all(|url| script.contains(url)) && script.contains("accounts passwd "), "{script}");
    let first = format!("etcd-endpoint {}", urls[0]);
    let second = format!("etcd-endpoint {}", urls[1]);
    let seen =
        read(&endpoints, &[(&first, "healthy"), (&second, "connection refused"), ("users-named", "nobody:x:65534:65534::/:/bin/false")]);
    assert_eq!(seen.etcd_endpoints.values().collect::<Vec<_>>(), ["healthy", "connection refused"]);
    assert_eq!(seen.pieces.values().map(|line| !line.is_empty()).collect::<Vec<_>>(), [false, true]);
}
