#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::unreachable)]

use super::{FIRST_PAUSE, LONGEST_PAUSE, Link, PATIENCE, opened, wait_before_next};
use crate::event::Events;
use crate::remote::tests::harness::{LONG, Relay, Sshd, transport, until};
use crate::remote::{Prospect, Script, Target};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

#[tokio::test]
async fn a_connection_that_ends_without_a_word_is_its_hosts_failure() {
    let mut connecting = tokio::task::JoinSet::new();
    let task = connecting.spawn(async { unreachable!("as a defect would end it") });
    let hosts = [(task.id(), "w7".to_owned())].into();
    let (links, failures) = opened(connecting, &hosts, &Events::new(Vec::new())).await;
    assert!(links.is_empty());
    assert_eq!(failures.keys().collect::<Vec<_>>(), ["w7"]);
    assert_eq!(failures["w7"].at.as_deref(), Some("host w7"));
}

async fn assert_link_works(link: &Link) {
    let connection = link.scripts().await.unwrap();
    assert!(connection.run(Script::new("exit 0"), LONG).await.unwrap().is_success());
}

#[tokio::test]
async fn a_lost_link_is_opened_again_and_verified_again() {
    let (sshd, other) = (Sshd::start(), Sshd::start());
    let relay = Relay::to(sshd.port, 0).await;
    let port = relay.port;
    let link = Link::open(Target { port, host_key: Some(sshd.fingerprint("ed25519")), ..sshd.target() }, &transport()).await.unwrap();
    assert_link_works(&link).await;
    drop(relay);
    until("the link is lost", || link.is_lost()).await;
    // Nobody listens for a while, as when a host reboots; whoever asks meanwhile waits for the one that opens it. Who is refused by a
    // kernel leaves no trace, so this is a time.
    let back = async {
        tokio::time::sleep(Duration::from_millis(700)).await;
        Relay::at(port, sshd.port, 0).await
    };
    let (relay, (), ()) = tokio::join!(back, assert_link_works(&link), assert_link_works(&link));
    assert_eq!(sshd.count("Accepted publickey"), 2);

    drop(relay);
    until("the link is lost", || link.is_lost()).await;
    let _relay = Relay::at(port, other.port, 0).await;
    let error = link.scripts().await.err().unwrap();
    assert!(error.is_host_key() && !other.saw_a_login(), "{error:?}");
}

/// A stream, a script and a look may all need it.
#[tokio::test]
async fn those_who_ask_at_once_for_a_host_that_is_away_wait_for_it_together() {
    let sshd = Sshd::start();
    let relay = Relay::to(sshd.port, 0).await;
    let target = Target { port: relay.port, host_key: Some(sshd.fingerprint("ed25519")), ..sshd.target() };
    let link = Link::open(target, &transport()).await.unwrap();
    link.patience_seconds.store(2, Ordering::Relaxed);
    drop(relay);
    until("the link is lost", || link.is_lost()).await;
    let began = Instant::now();
    let is_away = || async { link.scripts().await.is_err() };
    let all = tokio::join!(is_away(), is_away(), is_away(), is_away(), is_away());
    assert_eq!(all, (true, true, true, true, true));
    // One after the other, each by itself, it would be more than seven.
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

/// How often a host is tried again that answers the same each time, and when for the last time.
fn tries(prospect: Prospect, patience: Duration) -> (usize, Duration) {
    let (mut count, mut waited, mut pause) = (0, Duration::ZERO, FIRST_PAUSE);
    while let Some(wait) = wait_before_next(prospect, waited, pause, patience) {
        (count, waited, pause) = (count + 1, waited + wait, (pause * 2).min(LONGEST_PAUSE));
    }
    (count, waited)
}

#[test]
fn a_host_that_refuses_after_it_had_let_us_in_is_waited_for_and_a_password_tried_once_more() {
    let (count, last) = tries(Prospect::Away, PATIENCE);
    assert!(count > 8 && last > PATIENCE / 2, "{count} {last:?}");
    assert_eq!(tries(Prospect::Away, Duration::ZERO).0, 0);
    for patience in [PATIENCE, Duration::ZERO] {
        let (count, last) = tries(Prospect::Closed { tried_password: false }, patience);
        assert!((5..=15).contains(&count) && last > PATIENCE / 2, "{count} {last:?}");
        assert_eq!(tries(Prospect::Closed { tried_password: true }, patience), (1, PATIENCE));
        assert_eq!(tries(Prospect::Final, patience).0, 0);
    }
}

/// As while systemd takes a host down or brings it up: sshd answers, and lets in nobody but root.
#[tokio::test]
async fn a_login_that_is_refused_for_a_while_is_accepted_again() {
    let sshd = Sshd::start();
    let relay = Relay::to(sshd.port, 0).await;
    let port = relay.port;
    let target = Target { user: "free".to_owned(), port, host_key: Some(sshd.fingerprint("ed25519")), ..sshd.target() };
    let link = Link::open(target, &transport()).await.unwrap();
    assert_link_works(&link).await;
    let keys = std::fs::read(sshd.path("authorized_keys")).unwrap();
    std::fs::write(sshd.path("authorized_keys"), "").unwrap();
    drop(relay);
    until("the link is lost", || link.is_lost()).await;
    let _relay = Relay::at(port, sshd.port, 0).await;
    let open_up = async {
        until("two logins were refused", || sshd.count("Failed publickey for free") >= 2).await;
        std::fs::write(sshd.path("authorized_keys"), keys).unwrap();
    };
    tokio::join!(assert_link_works(&link), open_up);
    assert_eq!(sshd.count("Accepted publickey"), 2);
}
