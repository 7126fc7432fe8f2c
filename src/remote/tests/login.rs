use super::harness::{Agent, LONG, Relay, Sshd, fingerprint, keygen, open, public_key, refused, transport, transport_with};
use crate::remote::identity::Surroundings;
use crate::remote::{ConnectFault, ConnectPhase, Connection, Deadlines, HostKeyFault, IdentityFault, Script, Target};
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// Refused for its host key, and sshd saw no attempt to log in.
async fn host_key_fault(sshd: &Sshd, target: &Target) -> HostKeyFault {
    let error = refused(target).await;
    assert!(error.is_host_key(), "{error:?}");
    assert!(error.because().is_some() && error.hint().is_some());
    sshd.wait_for_log("Connection closed by");
    assert!(!sshd.saw_a_login(), "a login was tried:\n{}", sshd.log());
    match std::sync::Arc::into_inner(error.fault).unwrap() {
        ConnectFault::HostKey(fault) => fault,
        other => panic!("{other:?}"),
    }
}

async fn assert_login_works(target: &Target) {
    let connection = open(target).await.unwrap_or_else(|error| panic!("{error}: {:?}", error.because()));
    let output = connection.run(Script::new("id -u"), LONG).await.unwrap();
    assert_eq!(output.stdout, b"0\n");
    connection.close().await;
}

#[tokio::test]
async fn an_unknown_host_is_refused_with_its_fingerprint() {
    let sshd = Sshd::start();
    let target = sshd.target_knowing("other.example ssh-ed25519 AAAA\n# nothing\n");
    let HostKeyFault::Unknown { shown, files, .. } = host_key_fault(&sshd, &target).await else { panic!() };
    assert_eq!(shown.fingerprint, sshd.fingerprint("ed25519"));
    assert_eq!(files, [sshd.path("known_hosts")]);
}

#[tokio::test]
async fn a_changed_host_key_names_both_keys_and_the_line() {
    let sshd = Sshd::start();
    keygen(&sshd.path("old"), &["-t", "ed25519"]);
    let line = format!("# first line\n[127.0.0.1]:{} {}", sshd.port, public_key(&sshd.path("old")));
    let target = sshd.target_knowing(&line);
    let HostKeyFault::Changed { shown, recorded, .. } = host_key_fault(&sshd, &target).await else { panic!() };
    assert_eq!(shown.fingerprint, sshd.fingerprint("ed25519"));
    assert_eq!(recorded.len(), 1);
    assert_eq!(recorded[0].0.fingerprint, fingerprint(&sshd.path("old.pub")));
    assert_eq!(recorded[0].1.line, 2);
}

#[tokio::test]
async fn a_host_known_by_another_key_type_is_not_taken_for_new() {
    let sshd = Sshd::start();
    keygen(&sshd.path("old"), &["-t", "ecdsa"]);
    let target = sshd.target_knowing(&format!("[127.0.0.1]:{} {}", sshd.port, public_key(&sshd.path("old"))));
    assert!(matches!(host_key_fault(&sshd, &target).await, HostKeyFault::Changed { .. }));
}

#[tokio::test]
async fn the_recorded_key_type_is_asked_for_first() {
    let sshd = Sshd::with_host_keys(&["ed25519", "ecdsa", "rsa"]);
    for kind in ["rsa", "ecdsa", "ed25519"] {
        assert_login_works(&sshd.target_knowing(&sshd.known_hosts_line(kind))).await;
    }
}

#[tokio::test]
async fn a_revoked_key_is_refused_even_if_pinned() {
    let sshd = Sshd::start();
    let revoked = format!("{}@revoked * {}", sshd.known_hosts_line("ed25519"), sshd.host_public_key("ed25519"));
    let target = Target { host_key: Some(sshd.fingerprint("ed25519")), ..sshd.target_knowing(&revoked) };
    let HostKeyFault::Revoked { place, .. } = host_key_fault(&sshd, &target).await else { panic!() };
    assert_eq!(place.line, 2);
}

#[tokio::test]
async fn a_revocation_that_cannot_be_read_refuses() {
    let sshd = Sshd::start();
    let target = sshd.target_knowing(&format!("{}@revoked * ssh-ed25519 AAAA!\n", sshd.known_hosts_line("ed25519")));
    assert!(matches!(host_key_fault(&sshd, &target).await, HostKeyFault::BrokenRevocation { .. }));
}

#[tokio::test]
async fn a_certificate_authority_alone_is_refused_clearly() {
    let sshd = Sshd::start();
    let authority = format!("@cert-authority * {}", sshd.host_public_key("ed25519"));
    let target = sshd.target_knowing(&authority);
    assert!(matches!(host_key_fault(&sshd, &target).await, HostKeyFault::OnlyAuthority { .. }));
    assert_login_works(&sshd.target_knowing(&format!("{authority}{}", sshd.known_hosts_line("ed25519")))).await;
}

#[tokio::test]
async fn hashed_wildcard_and_portless_entries_are_found() {
    let sshd = Sshd::start();
    let key = sshd.host_public_key("ed25519");
    sshd.target_knowing(&sshd.known_hosts_line("ed25519"));
    let hashed =
        Command::new("ssh-keygen").arg("-Hf").arg(sshd.path("known_hosts")).stderr(Stdio::null()).stdout(Stdio::null()).status().unwrap();
    assert!(hashed.success() && fs::read_to_string(sshd.path("known_hosts")).unwrap().starts_with("|1|"));
    assert_login_works(&sshd.target()).await;
    assert_login_works(&sshd.target_knowing(&format!("web,[127.0.0.*]:* {key}"))).await;
    assert_login_works(&sshd.target_knowing(&format!("127.0.0.1 {key}"))).await;
    let target = sshd.target_knowing(&format!("*,![127.0.0.1]:{} {key}", sshd.port));
    assert_login_works(&target).await; // The negation holds for the entry with the port; the one without it still matches `*`.
    let target = sshd.target_knowing(&format!("*,!*127.0.0.1* {key}"));
    assert!(refused(&target).await.is_host_key());
}

#[tokio::test]
async fn a_pinned_fingerprint_stands_above_known_hosts() {
    let sshd = Sshd::start();
    let unknown = sshd.target_knowing("");
    assert_login_works(&Target { host_key: Some(sshd.fingerprint("ed25519")), ..unknown.clone() }).await;
    keygen(&sshd.path("old"), &["-t", "ed25519"]);
    let pinned = Some(fingerprint(&sshd.path("old.pub")));
    let error = refused(&Target { host_key: pinned, ..sshd.target_knowing(&sshd.known_hosts_line("ed25519")) }).await;
    assert!(matches!(*error.fault, ConnectFault::HostKey(HostKeyFault::NotPinned { .. })), "{error:?}");
    let error = refused(&Target { host_key: Some("MD5:00".to_owned()), ..unknown }).await;
    assert!(matches!(*error.fault, ConnectFault::HostKey(HostKeyFault::BadPin { .. })), "{error:?}");
}

#[tokio::test]
async fn a_key_that_the_host_does_not_know_is_named() {
    let sshd = Sshd::start();
    keygen(&sshd.path("stranger"), &["-t", "ed25519"]);
    let error = refused(&Target { private_key_file: Some(sshd.path("stranger")), ..sshd.target() }).await;
    let ConnectFault::LoginRefused { tried, .. } = &*error.fault else { panic!("{error:?}") };
    assert_eq!(tried.len(), 1);
    assert!(tried[0].contains("stranger") && tried[0].contains(&fingerprint(&sshd.path("stranger.pub"))), "{tried:?}");
}

#[tokio::test]
async fn every_kind_of_key_logs_in() {
    let sshd = Sshd::start();
    let mut authorized = String::new();
    let kinds: [&[&str]; 4] =
        [&["-t", "rsa", "-b", "2048"], &["-t", "rsa", "-b", "2048", "-m", "PEM"], &["-t", "ecdsa"], &["-t", "ecdsa", "-m", "PKCS8"]];
    for (number, options) in kinds.iter().enumerate() {
        let path = sshd.path(&format!("kind{number}"));
        keygen(&path, options);
        authorized.push_str(&public_key(&path));
    }
    fs::write(sshd.path("authorized_keys"), authorized).unwrap();
    for number in 0..kinds.len() {
        assert_login_works(&Target { private_key_file: Some(sshd.path(&format!("kind{number}"))), ..sshd.target() }).await;
    }
}

#[tokio::test]
async fn without_a_key_file_the_agent_and_the_usual_files_are_offered() {
    let sshd = Sshd::start();
    let home = sshd.path("user");
    fs::create_dir_all(home.join(".ssh")).unwrap();
    let target = Target { private_key_file: None, ..sshd.target() };
    let open = async |surroundings: &Surroundings| Connection::open(&target, &Deadlines::default(), &transport_with(surroundings)).await;

    let mut surroundings = Surroundings { home: Some(home.clone()), ..Surroundings::default() };
    let error = open(&surroundings).await.err().unwrap();
    assert!(matches!(*error.fault, ConnectFault::Identity(IdentityFault::None { .. })), "{error:?}");

    let agent = Agent::start(&sshd.path("agent.sock"));
    agent.add(&sshd.path("key"));
    surroundings.agent_socket = Some(agent.socket.clone());
    let by_agent = open(&surroundings).await;
    drop(agent);
    assert!(by_agent.is_ok(), "{:?}", by_agent.err());

    fs::copy(sshd.path("key"), home.join(".ssh/id_ed25519")).unwrap();
    assert!(open(&surroundings).await.is_ok(), "a dead agent must not keep us from the files");
}

#[tokio::test]
async fn a_port_where_nobody_listens_is_refused_at_once() {
    let sshd = Sshd::start();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let error = refused(&Target { port: free, ..sshd.target() }).await;
    assert!(matches!(*error.fault, ConnectFault::Refused), "{error:?}");
}

#[tokio::test]
async fn black_holes_end_at_their_deadline() {
    let sshd = Sshd::start();
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let deadlines = Deadlines { connect: Duration::from_millis(300), handshake: Duration::from_millis(300), ..Deadlines::default() };
    let target = Target { port: silent.local_addr().unwrap().port(), ..sshd.target() };
    let start = Instant::now();
    let error = Connection::open(&target, &deadlines, &transport()).await.err().unwrap();
    assert!(matches!(*error.fault, ConnectFault::TimedOut { phase: ConnectPhase::Handshake, .. }), "{error:?}");
    assert!(start.elapsed() < Duration::from_secs(3));
    // The socket is really closed: nothing is left behind that waits for an answer.
    let (mut accepted, _) = silent.accept().await.unwrap();
    let mut greeting = Vec::new();
    let end = tokio::time::timeout(LONG, accepted.read_to_end(&mut greeting)).await;
    assert!(end.is_ok() && greeting.starts_with(b"SSH-2.0-"));

    // A host that is paused after the key exchange never answers the login.
    let halfway = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = Target { port: halfway.local_addr().unwrap().port(), ..sshd.target() };
    let greeter = tokio::spawn(async move {
        let (mut stream, _) = halfway.accept().await.unwrap();
        stream.write_all(b"SSH-2.0-slow\r\n").await.unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
    });
    let error = Connection::open(&target, &deadlines, &transport()).await.err().unwrap();
    assert!(matches!(*error.fault, ConnectFault::TimedOut { phase: ConnectPhase::Handshake, .. }), "{error:?}");
    tokio::time::timeout(LONG, greeter).await.unwrap().unwrap();
}

#[tokio::test]
async fn connections_that_sshd_drops_are_tried_again() {
    let sshd = Sshd::start();
    let relay = Relay::to(sshd.port, 2).await;
    let pinned = Target { host_key: Some(sshd.fingerprint("ed25519")), port: relay.port, ..sshd.target() };
    assert_login_works(&pinned).await;

    let hopeless = Relay::to(sshd.port, usize::MAX).await;
    let error = refused(&Target { port: hopeless.port, ..pinned }).await;
    assert!(matches!(*error.fault, ConnectFault::Dropped { attempts: 5, .. }), "{error:?}");
}

#[tokio::test]
async fn what_is_no_ssh_server_is_quoted() {
    let sshd = Sshd::start();
    let web = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = Target { port: web.local_addr().unwrap().port(), ..sshd.target() };
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = web.accept().await {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\x1b[31m\r\n").await;
        }
    });
    let error = refused(&target).await;
    let because = error.because().unwrap();
    assert!(because.contains("HTTP/1.1 400") && !because.contains('\u{1b}'), "{because}");
}
