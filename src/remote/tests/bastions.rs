use super::harness::{LONG, PASSWORD, Relay, Sshd, open, refused};
use crate::remote::{ConnectFault, HostKeyFault, Script, Target};

/// Behind the bastions, the nearest last.
fn behind(target: Target, bastions: &[Target]) -> Target {
    let mut way = None;
    for bastion in bastions {
        way = Some(Box::new(Target { bastion: way, ..bastion.clone() }));
    }
    Target { bastion: way, ..target }
}

#[tokio::test]
async fn a_chain_of_bastions_leads_to_the_host() {
    let (first, second, host) = (Sshd::start(), Sshd::start(), Sshd::start());
    let target = behind(host.target(), &[first.bastion("one"), second.bastion("two")]);
    let connection = open(&target).await.unwrap_or_else(|error| panic!("{error}: {:?}", error.because()));
    let output = connection.run(Script::new("id -u"), LONG).await.unwrap();
    assert_eq!(output.stdout, b"0\n");
    for server in [&first, &second, &host] {
        assert_eq!(server.count("Accepted publickey"), 1);
    }
    connection.close().await;
    drop(target);
    first.wait_for_log("Closing connection to");
}

#[tokio::test]
async fn hosts_behind_a_bastion_share_its_connection() {
    // The host's sshd drops everything above what OpenSSH begins to drop at: 8 at a time do not get there.
    let (bastion, host) = (Sshd::start(), Sshd::with_config("MaxStartups 10:100:10"));
    let mut opening = tokio::task::JoinSet::new();
    for number in 0..20 {
        let target = Target { name: format!("w{number}"), ..behind(host.target(), &[bastion.bastion("b")]) };
        opening.spawn(async move { open(&target).await.unwrap_or_else(|error| panic!("{error}: {:?}", error.because())) });
    }
    let connections = opening.join_all().await;
    assert_eq!((bastion.count("Accepted publickey"), host.count("Accepted publickey")), (1, 20));
    // Data in both directions at once, more than any window or queue holds.
    let data = vec![b'x'; 20_000_000];
    let mut running = tokio::task::JoinSet::new();
    for connection in connections.into_iter().take(4) {
        let data = data.clone();
        running.spawn(async move {
            let down = connection.run(Script::new("head -c 12000000 /dev/zero").stdout_limit(12_000_000), LONG);
            let up = connection.stream(Script::new("tee /dev/stderr | wc -c"), data.as_slice(), LONG);
            let (down, up) = tokio::join!(down, up);
            assert_eq!(down.unwrap().stdout.len(), 12_000_000);
            assert_eq!(up.unwrap().output.stdout, b"20000000\n");
        });
    }
    running.join_all().await;
}

#[tokio::test]
async fn every_hop_is_verified_and_errors_name_it() {
    let (bastion, host) = (Sshd::start(), Sshd::with_config("PasswordAuthentication yes"));
    let unknown = Target { known_hosts_file: Some(host.path("none")), ..bastion.bastion("gate") };
    std::fs::write(host.path("none"), "").unwrap();
    let error = refused(&behind(host.target(), &[unknown])).await;
    assert!(matches!(&*error.fault, ConnectFault::HostKey(HostKeyFault::Unknown { .. })), "{error:?}");
    assert_eq!((error.host.as_str(), error.bastion.as_deref()), ("cp1", Some("gate")));
    assert!(error.to_string().contains("gate") && error.is_behind_unknown() && !bastion.saw_a_login());

    // The bastion is right, the host behind it is not: its password must not leave.
    let stranger = Target { known_hosts_file: Some(host.path("none")), ..host.target_with_password("free", PASSWORD) };
    let error = refused(&behind(stranger, &[bastion.bastion("gate")])).await;
    assert!(error.is_host_key() && error.bastion.is_none() && !error.is_behind_unknown(), "{error:?}");
    host.wait_for_log("Connection closed by");
    assert!(!host.saw_a_login());
}

#[tokio::test]
async fn a_bastion_that_leads_nowhere_says_why() {
    let closed = Sshd::with_config("AllowTcpForwarding no");
    let open_bastion = Sshd::start();
    let error = refused(&behind(open_bastion.target(), &[closed.bastion("closed")])).await;
    assert!(matches!(&*error.fault, ConnectFault::NoTunnel { reason } if reason.contains("AllowTcpForwarding")), "{error:?}");
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let error = refused(&behind(Target { port: free, ..closed.target() }, &[open_bastion.bastion("open")])).await;
    assert!(matches!(&*error.fault, ConnectFault::NoTunnel { reason } if reason.contains("can't reach")), "{error:?}");
}

#[tokio::test]
async fn a_wrong_password_at_a_bastion_is_tried_once_for_all_hosts() {
    let (bastion, host) = (Sshd::with_config("PasswordAuthentication yes"), Sshd::start());
    let gate = Target { name: "gate".to_owned(), ..bastion.target_with_password("free", "wrong") };
    let mut opening = tokio::task::JoinSet::new();
    for _ in 0..10 {
        let target = behind(host.target(), std::slice::from_ref(&gate));
        opening.spawn(async move { refused(&target).await });
    }
    for error in opening.join_all().await {
        assert!(matches!(&*error.fault, ConnectFault::LoginRefused { tried_password: true, .. }), "{error:?}");
        assert_eq!(error.bastion.as_deref(), Some("gate"));
    }
    bastion.wait_for_log("by authenticating user free");
    assert_eq!(bastion.count("Failed password for free"), 1, "{}", bastion.log());
}

#[tokio::test]
async fn a_bastion_that_was_lost_is_connected_again() {
    let (bastion, host) = (Sshd::start(), Sshd::start());
    let relay = Relay::to(bastion.port, 0).await;
    let way = Target { port: relay.port, host_key: Some(bastion.fingerprint("ed25519")), ..bastion.bastion("b") };
    let target = behind(host.target(), std::slice::from_ref(&way));
    let connection = open(&target).await.unwrap();
    relay.cut();
    let error = connection.run(Script::new("id"), LONG).await.unwrap_err();
    assert!(connection.is_lost() || error.may_have_run(), "{error:?}");
    // Nothing of the old connection is used for the new one.
    let way = Target { port: bastion.port, ..way };
    let again = open(&behind(host.target(), &[way])).await.unwrap();
    assert!(again.run(Script::new("exit 0"), LONG).await.unwrap().is_success());
}
