use super::harness::{Sshd, keygen, open, public_key, refused, transport};
use crate::remote::{ConnectFault, Deadlines, HostKeyChecking, HostKeyFault, Scan, Target};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

fn accepting(sshd: &Sshd, file: &str) -> Target {
    Target { host_key_checking: HostKeyChecking::AcceptNew, known_hosts_file: Some(sshd.path(file)), ..sshd.target() }
}

#[tokio::test]
async fn a_new_key_is_added_once_and_for_its_owner_alone() {
    let sshd = Sshd::start();
    let target = accepting(&sshd, "folder/known");
    let mut opening = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let target = target.clone();
        opening.spawn(async move { open(&target).await.unwrap() });
    }
    let accepted: Vec<_> = opening.join_all().await.iter().filter_map(|connection| connection.accepted_host_key().cloned()).collect();
    assert_eq!(accepted.len(), 1);
    assert_eq!(accepted[0].key.fingerprint, sshd.fingerprint("ed25519"));
    assert_eq!(fs::read_to_string(sshd.path("folder/known")).unwrap(), sshd.known_hosts_line("ed25519"));
    let mode = |name: &str| fs::metadata(sshd.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("folder"), mode("folder/known")), (0o700, 0o600));
    assert!(open(&Target { host_key_checking: HostKeyChecking::Strict, ..target }).await.unwrap().accepted_host_key().is_none());
}

#[tokio::test]
async fn other_lines_stay_and_a_missing_end_of_line_does_no_harm() {
    let sshd = Sshd::start();
    fs::write(sshd.path("known"), "# mine\nother.example ssh-ed25519 AAAA").unwrap();
    open(&accepting(&sshd, "known")).await.unwrap();
    let expected = format!("# mine\nother.example ssh-ed25519 AAAA\n{}", sshd.known_hosts_line("ed25519"));
    assert_eq!(fs::read_to_string(sshd.path("known")).unwrap(), expected);
}

#[tokio::test]
async fn a_host_that_is_known_in_any_way_is_not_new() {
    let sshd = Sshd::with_host_keys(&["ed25519", "ecdsa"]);
    keygen(&sshd.path("old"), &["-t", "rsa", "-b", "2048"]);
    let old = public_key(&sshd.path("old"));
    let port = sshd.port;
    for line in [
        format!("[127.0.0.1]:{port} {old}"),
        format!("127.0.0.1 {old}"),
        format!("[127.0.0.1]:{port} ssh-ed25519 broken\n"),
        format!("@cert-authority * {old}"),
        format!("@revoked [127.0.0.1]:{port} {}", sshd.host_public_key("ed25519")),
    ] {
        fs::write(sshd.path("known"), &line).unwrap();
        let error = refused(&accepting(&sshd, "known")).await;
        assert!(error.is_host_key(), "{line}: {error:?}");
        assert_eq!(fs::read_to_string(sshd.path("known")).unwrap(), line);
    }
    assert!(!sshd.saw_a_login());
}

#[tokio::test]
async fn a_key_that_cannot_be_recorded_is_not_accepted() {
    let sshd = Sshd::start();
    fs::write(sshd.path("file"), "").unwrap();
    let error = refused(&accepting(&sshd, "file/known")).await;
    assert!(
        matches!(&*error.fault, ConnectFault::HostKey(HostKeyFault::NotRecorded { .. } | HostKeyFault::Unreadable { .. })),
        "{error:?}"
    );
    assert!(!sshd.saw_a_login());
}

#[tokio::test]
async fn a_scan_shows_keys_of_all_types_and_believes_none() {
    let sshd = Sshd::with_host_keys(&["ed25519", "ecdsa", "rsa"]);
    let scan = async |target: &Target| Scan::ask(target, &Deadlines::default(), &transport()).await.unwrap();
    let target = accepting(&sshd, "known");
    let found = scan(&target).await;
    assert!(found.is_new() && !sshd.path("known").exists());
    let prints: Vec<_> = found.keys.iter().map(|key| key.print.fingerprint.clone()).collect();
    assert_eq!(prints, ["ed25519", "ecdsa", "rsa"].map(|kind| sshd.fingerprint(kind)));
    assert!(!sshd.saw_a_login(), "{}", sshd.log());
    assert!(found.add().unwrap() && !found.add().unwrap());
    let lines = ["ed25519", "ecdsa", "rsa"].map(|kind| sshd.known_hosts_line(kind)).concat();
    assert_eq!(fs::read_to_string(sshd.path("known")).unwrap(), lines);
    assert!(scan(&target).await.keys.iter().all(|key| key.fault.is_none()));
    open(&Target { host_key_checking: HostKeyChecking::Strict, ..target.clone() }).await.unwrap();

    keygen(&sshd.path("old"), &["-t", "ed25519"]);
    let other = format!("[127.0.0.1]:{} {}", sshd.port, public_key(&sshd.path("old")));
    fs::write(sshd.path("known"), &other).unwrap();
    let found = scan(&target).await;
    assert!(!found.is_new() && !found.add().unwrap());
    assert!(matches!(found.keys[0].fault, Some(HostKeyFault::Changed { .. })));
    assert_eq!(fs::read_to_string(sshd.path("known")).unwrap(), other);
}
