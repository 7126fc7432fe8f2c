use super::harness::{BlackHole, LONG, Relay, Sshd, open, refused, transport, until};
use crate::remote::{ConnectFault, ConnectPhase, Connection, Deadlines, Prospect, RunError, Script, Target};
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};

/// What we promise, and what a busy machine may add.
const PROMISED: Duration = Duration::from_secs(20);
const SLACK: Duration = Duration::from_secs(8);

async fn until_lost(connection: &Connection) -> Duration {
    let start = Instant::now();
    until("the loss is noticed", || connection.is_lost()).await;
    start.elapsed()
}

/// Ends the first connections when the server has greeted, and passes the others on.
async fn breaks(sshd: &Sshd, number: usize) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (port, sshd) = (listener.local_addr().unwrap().port(), sshd.port);
    tokio::spawn(async move {
        for count in 0.. {
            let (mut client, _) = listener.accept().await.unwrap();
            if count < number {
                client.write_all(b"SSH-2.0-gone\r\n").await.unwrap();
                continue;
            }
            let mut server = TcpStream::connect(("127.0.0.1", sshd)).await.unwrap();
            tokio::spawn(async move { tokio::io::copy_bidirectional(&mut client, &mut server).await });
        }
    });
    port
}

/// It is no reason to believe that the host speaks no SSH, nor to give it up.
#[tokio::test]
async fn a_link_that_breaks_in_the_key_exchange_is_tried_again() {
    let sshd = Sshd::start();
    let by = |port: u16| Target { port, host_key: Some(sshd.fingerprint("ed25519")), ..sshd.target() };
    open(&by(breaks(&sshd, 2).await)).await.unwrap();
    let error = refused(&by(breaks(&sshd, usize::MAX).await)).await;
    assert!(matches!(*error.fault, ConnectFault::Broken { attempts: 5, .. }), "{error:?}");
    assert_eq!(error.prospect(), Prospect::Away);
}

/// Gives data for ever.
struct Endless;

impl tokio::io::AsyncRead for Endless {
    fn poll_read(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
        buffer: &mut tokio::io::ReadBuf<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        let room = buffer.remaining();
        buffer.put_slice(&vec![0; room]);
        std::task::Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn a_link_that_goes_silent_is_found_in_time() {
    let (bastion, sshd) = (Sshd::start(), Sshd::start());
    let idle = Relay::to(sshd.port, 0).await;
    let busy = Relay::to(sshd.port, 0).await;
    let hidden = Relay::to(sshd.port, 0).await;
    let by = |relay: &Relay| Target { port: relay.port, host_key: Some(sshd.fingerprint("ed25519")), ..sshd.target() };
    let through = Target { bastion: Some(Box::new(bastion.bastion("b"))), ..by(&hidden) };
    let mut connections = Vec::new();
    for target in [by(&idle), by(&busy), through] {
        connections.push(open(&target).await.unwrap());
    }
    let [waits, sends, tunnels] = <[Connection; 3]>::try_from(connections).ok().unwrap();
    let spawn_sending = |connection: &Connection, begun: &Path| {
        let connection = connection.clone();
        let script = Script::new(format!("head -c 1000000 >{}; cat >/dev/null", begun.display()));
        tokio::spawn(async move { connection.stream(script, Endless, 4 * LONG).await })
    };
    let begun = ["waits", "sends", "tunnels"].map(|name| sshd.path(name));
    let waiting = tokio::spawn({
        let (connection, script) = (waits.clone(), Script::new(format!("echo >{}; sleep 100", begun[0].display())));
        async move { connection.run(script, 4 * LONG).await }
    });
    let sending = [spawn_sending(&sends, &begun[1]), spawn_sending(&tunnels, &begun[2])];
    for (file, length) in begun.iter().zip([1, 1_000_000, 1_000_000]) {
        until("data comes through the link", || std::fs::metadata(file).is_ok_and(|file| file.len() >= length)).await;
    }
    [&idle, &busy, &hidden].into_iter().for_each(Relay::go_silent);
    let (first, second, third) = tokio::join!(until_lost(&waits), until_lost(&sends), until_lost(&tunnels));
    for took in [first, second, third] {
        assert!(took < PROMISED + SLACK, "{took:?}");
    }
    let error = waiting.await.unwrap().unwrap_err();
    assert!(matches!(&error, RunError::Unknown { .. }), "{error:?}");
    for task in sending {
        let error = task.await.unwrap().unwrap_err();
        assert!(error.may_have_run(), "{error:?}");
    }
    drop(bastion);
}

/// A hundred hosts that are switched off and a hundred that hang after the TCP connection take no longer than one of them, and hold up nobody.
#[tokio::test]
async fn many_dead_hosts_are_found_in_the_time_of_one() {
    let (hole, sshd) = (BlackHole::new().await, Sshd::start());
    let silent = tokio::net::TcpListener::bind("0.0.0.0:0").await.unwrap();
    let ports = [(hole.port(), ConnectPhase::Connecting), (silent.local_addr().unwrap().port(), ConnectPhase::Handshake)];
    let deadlines = Deadlines { connect: Duration::from_secs(2), handshake: Duration::from_secs(2), ..Deadlines::default() };
    let began = Instant::now();
    let mut opening = tokio::task::JoinSet::new();
    for number in 1..=100_u8 {
        for (port, phase) in ports {
            let target = Target { address: format!("127.0.1.{number}"), port, ..sshd.target() };
            opening.spawn(async move {
                let error = Connection::open(&target, &deadlines, &transport()).await.err().unwrap();
                assert!(matches!(*error.fault, ConnectFault::TimedOut { phase: found, .. } if found == phase), "{error:?}");
            });
        }
    }
    // The dead ones are being asked by now; this one is never answered.
    let _asked = silent.accept().await.unwrap();
    sshd.connect().await;
    let alive = began.elapsed();
    opening.join_all().await;
    // 1 s for a greeting that does not come, and the deadline.
    assert!(began.elapsed() < Duration::from_millis(4500), "{:?}", began.elapsed());
    assert!(alive < Duration::from_millis(1500), "a living host waited {alive:?} for dead ones");
}
