//! What stands in the log, at its most talkative: how hosts are reached, and no secret.
use super::harness::{LONG, PASSWORD, Sshd, open, refused};
use crate::remote::{Script, Target};
use kok_crds::Secret;
use std::io;
use std::sync::{Arc, LazyLock, Mutex};
use tracing::Dispatch;
use tracing::subscriber::NoSubscriber;
use tracing_subscriber::layer::SubscriberExt as _;

/// What nobody may read: in scripts, in data behind them, and in what hosts say.
const CANARY: &str = "canary-7f3a";

/// Keeps what is logged of a future, and of the tasks that it begins.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl io::Write for Kept {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// As long as there is one dispatcher alone, a place that another test comes by first is asked of that test's thread, which has none, and stays silent for
/// all (`tracing-core`, `Rebuilder::JustOne`). With this one there are two.
static ANOTHER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(NoSubscriber::new()));

async fn logged(work: impl Future<Output = ()>) -> String {
    LazyLock::force(&ANOTHER);
    let kept = Kept::default();
    let writer = kept.clone();
    let lines = tracing_subscriber::fmt::layer().with_writer(move || writer.clone()).with_ansi(false);
    // All of it, and of kokctl alone: what others log is cut by the command line.
    let ours = tracing_subscriber::EnvFilter::new("kokctl=trace");
    // For the whole thread, which all tasks of the test have: the SSH library begins some of its own, with no span.
    let while_at_work = tracing::subscriber::set_default(tracing_subscriber::registry().with(ours).with(lines));
    work.await;
    drop(while_at_work);
    let bytes = kept.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

#[tokio::test]
async fn the_log_tells_how_a_host_is_reached_and_no_secret() {
    let sshd = Sshd::with_config("PasswordAuthentication yes");
    let fingerprint = sshd.fingerprint("ed25519");
    let log = logged(async {
        let target = Target { sudo_password: Some(Secret::new(PASSWORD)), ..sshd.target_with_password("asked", PASSWORD) };
        let connection = open(&target).await.unwrap();
        let script = format!("echo {CANARY}-out; echo {CANARY}-err >&2; exit 7");
        assert!(!connection.run(Script::new(script), LONG).await.unwrap().is_success());
        let data = format!("{CANARY}-data");
        connection.stream(Script::new("cat"), data.as_bytes(), LONG).await.unwrap();
        // A shell that dies in the script, whose last words hold it.
        let dies = format!("echo {CANARY}-last >&2; kill -9 $PPID $$");
        let _ = connection.run(Script::new(dies), LONG).await;
    })
    .await;
    for told in ["dials", "host key accepted", &fingerprint, "logged in", "the password", "connected", "sudo asked", "opened", "exit=\"7\""]
    {
        assert!(log.contains(told), "{told} is missing:\n{log}");
    }
    for secret in [CANARY, PASSWORD, "ecret"] {
        assert!(!log.contains(secret), "{secret} is in the log:\n{log}");
    }
}

#[tokio::test]
async fn wrong_passwords_are_in_no_log() {
    let sshd = Sshd::with_config("PasswordAuthentication yes");
    let log = logged(async {
        refused(&sshd.target_with_password("free", CANARY)).await;
        let target = Target { user: "asked".to_owned(), sudo_password: Some(Secret::new(CANARY)), ..sshd.target() };
        assert!(open(&target).await.unwrap().run(Script::new("id"), LONG).await.is_err());
    })
    .await;
    assert!(log.contains("sudo refused the password") && !log.contains(CANARY), "{log}");
}
