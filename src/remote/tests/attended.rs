use super::harness::{LONG, Sshd};
use crate::remote::{ExitStatus, RunAs, RunError, Script, quote};
use std::time::Duration;

#[tokio::test]
async fn a_script_ends_when_whoever_asked_for_it_wants_it_to() {
    let sshd = Sshd::start();
    let connection = sshd.connect().await;
    let never = std::future::pending::<()>();
    let output = connection.attend(Script::new("echo said; exit 3"), RunAs::Login, never, LONG).await.unwrap();
    assert_eq!((output.status, output.stdout.as_slice()), (ExitStatus::Exited(3), &b"said\n"[..]), "its input need not end first");
    let path = sshd.path("begun");
    let begun = async {
        while !path.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let waits = Script::new(format!(": >{}; read -r line; echo over", quote(path.to_str().unwrap())));
    let output = connection.attend(waits, RunAs::Root, begun, LONG).await.unwrap();
    assert_eq!((output.status, output.stdout.as_slice()), (ExitStatus::Exited(0), &b"over\n"[..]));
}

#[tokio::test]
async fn one_that_does_not_listen_is_waited_for_no_longer_than_that() {
    let sshd = Sshd::start();
    let connection = sshd.connect().await;
    let wished = std::future::ready(());
    let error = connection.attend(Script::new("sleep 5"), RunAs::Login, wished, Duration::from_millis(200)).await.unwrap_err();
    assert!(matches!(error, RunError::Deadline { .. }), "{error:?}");
    assert!(connection.run(Script::new("exit 0"), LONG).await.unwrap().is_success());
}
