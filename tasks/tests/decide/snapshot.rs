//! Of which member a snapshot is taken before the cluster goes, and when it may go without one.

use kok_crds::Position;
use kok_crds::model::{AuthorityName, Cluster, OwnAuthority, Pem, PemSource};
use kok_tasks::observe::{EtcdMember, EtcdPeer, EtcdState, Kind, Metadata, Observations, PathState};
use kok_tasks::plan::{Refusal, Seen};
use kok_tasks::snapshot::{Form, Snapshot, decide, looks, script};

use crate::support::shell::run;
use crate::support::{cluster, good_facts, highly_available, own_etcd};

const DATA: &str = "/var/lib/etcd/member/wal";
const FOLDER: &str = "/var/lib/etcd/member";
const FOUNDED: &str = "/var/lib/kokctl/made/founded";
const FINALIZED: &str = "/var/lib/kokctl/made/kubelet-finalized";
const STARTED: &str = "/var/lib/kokctl/made/etcd-started";
const BEGUN: &str = "/var/lib/kokctl/reset-begun";
const KEY: &str = "/etc/kubernetes/apiserver/encryption.yaml";

fn member(change: impl Fn(&mut EtcdMember)) -> EtcdState {
    let (cluster_id, version) = ("7".to_owned(), "3.7.0".to_owned());
    let mut member = EtcdMember { cluster_id, version, has_leader: true, ..EtcdMember::default() };
    change(&mut member);
    EtcdState::Ready(member)
}

fn silent() -> EtcdState {
    EtcdState::NotReady("x\nconnection refused - did you type it".to_owned())
}

/// What hosts of the cluster have, and what their members say.
fn decided(cluster: &Cluster, has: &[(&str, &str)], says: &[(&str, EtcdState)]) -> Result<Snapshot, Refusal> {
    decided_without(&[], cluster, has, says)
}

/// The same where some hosts are bare.
fn decided_without(bare: &[&str], cluster: &Cluster, has: &[(&str, &str)], says: &[(&str, EtcdState)]) -> Result<Snapshot, Refusal> {
    let mut seen = Seen::default();
    for (host, number) in cluster.hosts.iter().zip(11..) {
        let mut facts = good_facts(&host.name, number);
        facts.cluster = (!bare.contains(&host.name.as_str())).then(|| cluster.name.clone());
        seen.add_facts(&host.name, facts);
        let there = |path: &str| has.contains(&(host.name.as_str(), path));
        let path = |path: &str| {
            let file = Metadata { kind: Kind::File, mode: 0o600, user: 0, group: 0, size: 1, changed_nanoseconds: 0, sha256: None };
            (path.to_owned(), if there(path) { PathState::Present(file) } else { PathState::Missing })
        };
        let etcd = says.iter().find(|(name, _)| *name == host.name).map_or(EtcdState::Absent, |(_, state)| state.clone());
        let paths = [DATA, FOLDER, FOUNDED, FINALIZED, STARTED, BEGUN, KEY].map(path).into();
        seen.add_observations(&host.name, Observations { paths, etcd: Some(etcd), ..Observations::default() });
    }
    decide(cluster, &seen)
}

fn snapshot_of(host: &str, form: Form, key: Option<&str>) -> Result<Snapshot, Refusal> {
    Ok(Snapshot::Of { host: host.to_owned(), form, key: key.map(str::to_owned) })
}

#[test]
fn it_is_of_the_first_member_that_is_healthy() {
    let wrong: [fn(&mut EtcdMember); 3] =
        [|member| member.has_leader = false, |member| member.is_learner = true, |member| member.errors.push("alarm:CORRUPT".to_owned())];
    for wrong in wrong {
        let says = [("cp1", member(wrong)), ("cp2", silent()), ("cp3", member(|_| {}))];
        assert_eq!(decided(&highly_available(), &[("cp1", FOUNDED)], &says), snapshot_of("cp3", Form::Gateway, None));
    }
    let full = member(|member| member.errors.push("alarm:NOSPACE".to_owned()));
    assert_eq!(decided(&cluster(), &[("cp1", BEGUN), ("cp1", KEY)], &[("cp1", full)]), snapshot_of("cp1", Form::Gateway, Some("cp1")));
    let says = [("etcd2", member(|_| {}))];
    assert_eq!(decided(&own_etcd(), &[("cp2", KEY)], &says), snapshot_of("etcd2", Form::Raw, Some("cp2")));
}

#[test]
fn it_is_of_a_member_that_knows_the_others_as_the_file_does() {
    let cluster = highly_available();
    let knows = |names: &[&str]| {
        let peer = |name: &&str| {
            let url = format!("https://{}:2380", cluster.host(name).unwrap().address);
            EtcdPeer { name: (*name).to_owned(), peer_url: url, is_started: true, ..EtcdPeer::default() }
        };
        let members: Vec<EtcdPeer> = names.iter().map(peer).collect();
        member(|member| member.members.clone_from(&members))
    };
    let says = [("cp1", knows(&["cp1"])), ("cp2", silent()), ("cp3", knows(&["cp3", "cp1", "cp2"]))];
    assert_eq!(decided(&cluster, &[], &says), snapshot_of("cp3", Form::Gateway, None));
}

/// Also where the one without a leader is that which has the data.
#[test]
fn of_two_clusters_none_goes_silently() {
    let another = member(|member| (member.cluster_id, member.has_leader) = ("8".to_owned(), false));
    let says = [("cp1", member(|_| {})), ("cp2", another.clone()), ("cp3", another)];
    let refusal = decided(&highly_available(), &[("cp2", FOUNDED)], &says).unwrap_err();
    assert_eq!(refusal.because.as_deref(), Some("cp1 of 7; cp2, cp3 of 8"));
    assert!(refusal.hint.unwrap().contains("--no-snapshot"));
}

#[test]
fn a_cluster_that_was_set_up_does_not_go_without_one() {
    for has in [vec![("cp1", FOUNDED), ("cp1", DATA)], vec![("cp1", FOUNDED)]] {
        let refusal = decided(&cluster(), &has, &[("cp1", silent())]).unwrap_err();
        assert_eq!(refusal.because.as_deref(), Some("cp1: connection refused"));
        assert!(refusal.hint.unwrap().contains("--no-snapshot"));
    }
    let says = [("etcd1", member(|member| member.has_leader = false)), ("etcd2", silent())];
    let because = decided(&own_etcd(), &[("cp2", FOUNDED), ("etcd1", DATA)], &says).unwrap_err().because.unwrap();
    assert!(because.starts_with("etcd1: its member knows of no leader; etcd2: connection refused; etcd3: nothing "), "{because}");
}

/// Who has founded the cluster was made anew: what the others have says that it ran.
#[test]
fn a_cluster_whose_founder_has_forgotten_it_does_not_go_without_one() {
    let says = [("cp2", silent()), ("cp3", silent())];
    let data = [("cp2", DATA), ("cp3", DATA)];
    let because = |bare: &[&str], has: &[(&str, &str)]| {
        let refusal = decided_without(bare, &highly_available(), has, &says).unwrap_err();
        assert!(refusal.hint.unwrap().contains("--no-snapshot"));
        refusal.because.unwrap()
    };
    assert!(because(&[], &[&data[..], &[("cp3", FINALIZED)]].concat()).ends_with("cp2: connection refused; cp3: connection refused"));
    assert!(
        because(&["cp1"], &data).starts_with("cp1 is no part of the cluster, or not any more, so nobody knows whether it ever ran; cp2: ")
    );
    // Members that are units outlive every control plane.
    let because = decided(&own_etcd(), &[("etcd1", DATA), ("etcd1", STARTED)], &[("etcd1", silent())]).unwrap_err().because.unwrap();
    assert!(because.starts_with("etcd1: connection refused"), "{because}");
    let nothing = decided_without(&["cp1"], &highly_available(), &[], &says);
    assert_eq!(nothing, Ok(Snapshot::Nothing("no host has data of etcd")), "a host that was not begun with has nothing to say");
}

/// Whose authority's key is elsewhere has no record of a finished kubelet: only the founder knows, and it was made anew and belongs to it again.
#[test]
fn data_do_not_go_without_one_where_only_the_founder_could_say_that_it_ran() {
    let mut cluster = highly_available();
    let source = PemSource::File("ca.crt".to_owned());
    let certificate = Pem { source, origin: Position { file: "cluster.yaml".into(), line: 1, column: 1 } };
    let own = OwnAuthority { name: AuthorityName::Kubernetes, certificate, key: None, pair: None };
    cluster.settings.certificates.authorities = vec![own];
    let because = decided(&cluster, &[("cp2", DATA)], &[("cp2", silent())]).unwrap_err().because.unwrap();
    assert!(because.contains("cp2: connection refused"), "{because}");
    assert_eq!(decided(&cluster, &[], &[("cp2", silent())]), Ok(Snapshot::Nothing("no host has data of etcd")));
}

#[test]
fn where_there_is_nothing_to_keep_none_is_taken() {
    let nothing = |has: &[(&str, &str)]| match decided(&highly_available(), has, &[("cp1", silent())]) {
        Ok(Snapshot::Nothing(because) | Snapshot::Begun(because)) => because,
        other => panic!("{other:?}"),
    };
    assert_eq!(nothing(&[]), "no host has data of etcd");
    assert_eq!(nothing(&[("cp1", FOLDER)]), "no host has data of etcd", "what founds has made the folder, and has not begun");
    assert!(nothing(&[("cp1", DATA)]).starts_with("the cluster was never set up to its end"));
    assert!(nothing(&[("cp1", FOUNDED), ("cp2", DATA), ("cp3", BEGUN)]).starts_with("an earlier reset"));
}

#[test]
fn all_that_decides_is_looked_at() {
    let cluster = own_etcd();
    assert!(looks(cluster.host("worker1").unwrap()).is_empty());
    assert_eq!((looks(cluster.host("cp1").unwrap()).len(), looks(cluster.host("etcd1").unwrap()).len()), (4, 5));
}

/// etcdctl writes into a pipe that another program reads: all that it writes comes, and nothing is left, also where it does not begin.
#[test]
fn a_member_that_is_a_unit_writes_through_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display();
    let with = |program: &str| {
        let text =
            script(Form::Raw).replace("/run/kokctl", &format!("{path}/run")).replace("/usr/local/bin/etcdctl", &format!("{path}/etcdctl"));
        let text = format!("cat >{path}/etcdctl <<'END'\n#!/bin/sh\n{program}\nEND\nchmod 700 {path}/etcdctl\n{text}");
        let output = run(&["sh"], &[], &text);
        assert_eq!(std::fs::read_dir(folder.path().join("run")).unwrap().count(), 0, "{output:?}");
        (output.stdout.len(), String::from_utf8(output.stderr).unwrap())
    };
    let writes = "for last; do :; done; head -c 3000000 /dev/zero >$last.part; echo '{\"level\":\"info\"}' >&2; echo 'Error: could not fsync snapshot' >&2; exit 5";
    assert_eq!(with(writes), (3_000_000, String::new()));
    assert_eq!(with("echo 'Error: refused' >&2; exit 1"), (0, "Error: refused\n".to_owned()));
}
