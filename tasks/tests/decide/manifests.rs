//! When the manifests of static pods, which kubeadm writes, are what they should be.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kok_tasks::change::{Change, ChangeKind, Verdict};
use kok_tasks::digest::sha256;
use kok_tasks::observe::{API_SERVER, Observations, PathState};
use kok_tasks::operations::{API_SERVER_MANIFEST, Component, EndApiServer, Operation, StaticPods};
use kok_tasks::resources::Act;
use kok_tasks::script::{Fragment, Part};

use crate::operations::{keep, put, said};

const ETCD: &str = "/etc/kubernetes/manifests/etcd.yaml";
const RECORD: &str = "/var/lib/kokctl/made/etcd";

fn etcd() -> StaticPods {
    StaticPods { component: Component::Etcd, configuration: "/c".into(), of_member: None, source: "s1".into(), source_alone: None }
}

fn script(fragment: &Fragment) -> String {
    let Part::Text(encoded) = &fragment.parts()[1] else { panic!("no text") };
    String::from_utf8(STANDARD.decode(encoded.replace('\n', "")).unwrap()).unwrap()
}

#[test]
fn what_kubeadm_wrote_is_known_by_its_record() {
    let operation = Operation::StaticPods(etcd());
    let seen = |manifest: Option<&str>, record: Option<String>| {
        let mut seen = Observations::default();
        put(&mut seen, ETCD, manifest);
        put(&mut seen, RECORD, None);
        if let Some(record) = record {
            keep(&mut seen, RECORD, &record);
        }
        seen
    };
    let record = |source: &str| Some(format!("{source}  configuration\n{}  {ETCD}\n", sha256(b"m")));
    assert_eq!(said(&operation, &Observations::default()), "unseen");
    assert_eq!(said(&operation, &seen(Some("m"), record("s1"))), "same");
    assert_eq!(said(&operation, &seen(None, record("s1"))), format!("{ETCD} does not exist"));
    assert_eq!(said(&operation, &seen(Some("m"), None)), "it is not known who wrote it");
    assert_eq!(said(&operation, &seen(Some("m"), record("s2"))), "it was made from another configuration");
    assert_eq!(said(&operation, &seen(Some("changed"), record("s1"))), format!("{ETCD} was changed by hand"));
    assert_eq!(said(&operation, &seen(Some("m"), Some("garbage".into()))), "it was made from another configuration");
}

#[test]
fn what_others_may_write_is_written_anew() {
    let operation = Operation::StaticPods(etcd());
    let seen = |mode: u32, user: u32| {
        let mut seen = Observations::default();
        put(&mut seen, ETCD, Some("m"));
        keep(&mut seen, RECORD, &format!("s1  configuration\n{}  {ETCD}\n", sha256(b"m")));
        let Some(PathState::Present(is)) = seen.paths.get_mut(ETCD) else { panic!("{seen:?}") };
        (is.mode, is.user) = (mode, user);
        seen
    };
    for mode in [0o600, 0o644, 0o444] {
        assert_eq!(said(&operation, &seen(mode, 0)), "same", "{mode:o}");
    }
    for (mode, user, told) in [(0o666, 0, "0666 and owner 0"), (0o620, 0, "0620 and owner 0"), (0o600, 65534, "0600 and owner 65534")] {
        assert_eq!(said(&operation, &seen(mode, user)), format!("{ETCD} may be written by others than root: it has mode {told}"));
    }
    let Act::Script(fragment) = operation.act(&Change::new(ChangeKind::Write, "")) else { panic!("no script") };
    let script = script(&fragment);
    assert!(
        script.contains("chown 0:0 -- \"$file\"; chmod go-w -- \"$file\"") && script.contains(&format!("for file in '{ETCD}'; do")),
        "{script}"
    );
}

/// A manifest that is made again must not found anything should the member lose its data.
#[test]
fn only_a_member_without_data_is_made_by_the_configuration_that_founds() {
    let operation = StaticPods { configuration: "/new".into(), of_member: Some("/existing".into()), ..etcd() };
    let Act::Script(fragment) = Operation::StaticPods(operation).act(&Change::new(ChangeKind::Create, "")) else { panic!("no script") };
    let script = script(&fragment);
    let choice = "configuration='/new'\nfounds=yes\nif [ -d /var/lib/etcd/member/wal ]; then configuration='/existing' founds=; fi\n";
    assert!(script.contains(choice) && script.contains("kubeadm init phase etcd local --config=\"$configuration\""), "{script}");
}

#[test]
fn what_somebody_changed_in_a_file_of_kubeadm_is_shown() {
    let operation = Operation::StaticPods(etcd());
    let mut seen = Observations::default();
    keep(&mut seen, ETCD, "a\nedited\n");
    keep(&mut seen, &format!("{RECORD}.files/etcd.yaml"), "a\nb\n");
    keep(&mut seen, RECORD, &format!("s1  configuration\n{}  {ETCD}\n", sha256(b"a\nb\n")));
    let Verdict::Differs(change) = operation.diff(&seen) else { panic!("it differs") };
    let diff = change.diff.unwrap();
    assert!(diff.starts_with(&format!("--- {ETCD} (host)\n+++ {ETCD} (desired)\n")), "{diff}");
    assert!(diff.ends_with(" a\n-edited\n+b\n"), "{diff}");
}

/// One that still runs has not ended, whatever became of its manifest; and one with a manifest comes back.
#[test]
fn an_api_server_has_ended_when_nothing_of_it_runs() {
    let seen = |manifest: Option<&str>, programs: &[&str]| {
        let mut seen =
            Observations { programs: Some(programs.iter().map(|name| ((*name).to_owned(), 1)).collect()), ..Observations::default() };
        put(&mut seen, API_SERVER_MANIFEST, manifest);
        seen
    };
    let end = Operation::EndApiServer(EndApiServer);
    assert_eq!(said(&end, &Observations::default()), "unseen");
    let others = ["kube-scheduler", "kube-controller-manager"];
    assert_eq!(said(&end, &seen(None, &others)), "same");
    assert_eq!(said(&end, &seen(None, &[API_SERVER])), "it ends what it was asked");
    assert_eq!(said(&end, &seen(Some("m"), &others)), "whoever asks it would wait in vain once its member has left etcd");
    assert!(matches!(end.act(&Change::new(ChangeKind::Remove, "")), Act::Until { give_up: None, .. }));
}
