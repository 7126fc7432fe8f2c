use super::harness::{LONG, Relay, SHELLS, Sshd};
use crate::remote::{ExitStatus, RunError, Script, Target};
use std::time::{Duration, Instant};

#[tokio::test]
async fn a_script_finds_its_environment_and_leaves_its_output() {
    let sshd = Sshd::start();
    let connection = sshd.connect().await;
    let body = "echo \"$PATH|$LC_ALL|$TZ|$(umask)|$PWD\"\nprintf 'no newline'; echo oops >&2; cat; exit 3";
    let output = connection.run(Script::new(body), LONG).await.unwrap();
    assert_eq!(output.status, ExitStatus::Exited(3));
    assert!(!output.is_success());
    let expected = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin|C|UTC|0077|/\nno newline";
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
    assert_eq!(output.stderr, b"oops\n");
    let silent = connection.run(Script::new(""), LONG).await.unwrap();
    assert!(silent.is_success() && silent.stdout.is_empty() && silent.stderr.is_empty());
}

#[tokio::test]
async fn what_is_gathered_on_the_host_arrives_as_it_was_written() {
    let sshd = Sshd::start();
    let connection = sshd.connect().await;
    let body = "i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done; printf 'nul\\0 no newline'; echo oops >&2; cat; exit 3";
    let plain = connection.run(Script::new(body), LONG).await.unwrap();
    let gathered = connection.run(Script::new(body).gathered(), LONG).await.unwrap();
    assert_eq!(plain.status, ExitStatus::Exited(3));
    assert_eq!(gathered, plain);
    let broken = connection.run(Script::new("echo said; ${nothing:?}; echo not reached").gathered(), LONG).await.unwrap();
    assert_eq!((broken.is_success(), broken.stdout.as_slice()), (false, &b"said\n"[..]));
    let killed = connection.run(Script::new("echo said; kill -9 $$; sleep 5").gathered(), LONG).await.unwrap();
    assert_eq!(killed.status, ExitStatus::Signaled("KILL".to_owned()));
}

#[tokio::test]
async fn errors_inside_a_script_are_never_success() {
    let sshd = Sshd::start();
    let connection = sshd.connect().await;
    let output = connection.run(Script::new("set -eu\nfalse\necho not reached"), LONG).await.unwrap();
    assert_eq!((output.status, output.stdout.len()), (ExitStatus::Exited(1), 0));
    let broken = connection.run(Script::new("if true; then\necho open"), LONG).await.unwrap_err();
    assert!(matches!(broken, RunError::Unknown { .. }), "{broken:?}");
    // `$$` is the shell itself, also inside the script's subshell.
    let killed = connection.run(Script::new("kill -9 $$; sleep 5"), LONG).await.unwrap();
    assert_eq!(killed.status, ExitStatus::Signaled("KILL".to_owned()));
}

#[tokio::test]
async fn output_is_bounded_and_always_read() {
    let sshd = Sshd::start();
    let connection = sshd.connect().await;
    let flood = "yes out | head -c 20000000; yes err | head -c 20000000 >&2; echo last >&2; exit 5";
    let output = connection.run(Script::new(flood).stdout_limit(1000), LONG).await.unwrap();
    assert_eq!(output.status, ExitStatus::Exited(5));
    assert_eq!((output.stdout.len(), output.stdout_truncated), (1000, true));
    assert_eq!((output.stderr.len(), output.stderr_truncated), (64 << 10, true));
    assert_eq!(output.reason().as_deref(), Some("last"));
    let usual = connection.run(Script::new("head -c 3000000 /dev/zero"), LONG).await.unwrap();
    assert_eq!((usual.stdout.len(), usual.stdout_truncated), (1 << 20, true));
}

#[tokio::test]
async fn any_login_shell_will_do_and_its_noise_is_harmless() {
    let sshd = Sshd::start();
    for (user, _) in SHELLS.into_iter().filter(|(user, _)| *user != "nologin") {
        let connection = sshd.connect_as(user).await;
        let script = "id -un; echo \"it's \\$HOME !! `echo here`\"; echo reason >&2";
        let output = connection.run(Script::new(script), LONG).await.unwrap_or_else(|error| panic!("{user}: {error:?}"));
        assert_eq!(output.stdout, b"root\nit's $HOME !! here\n", "{user}");
        assert_eq!(output.stderr, b"reason\n", "{user}");
        if user != "dash" {
            assert_eq!(output.noise, b"welcome\ntail", "{user}");
        }
        let streamed = connection.stream(Script::new("cat"), &b"data\n\0'"[..], LONG).await.unwrap();
        assert_eq!(streamed.output.stdout, b"data\n\0'", "{user}");
    }
}

#[tokio::test]
async fn sudo_that_refuses_and_logins_without_a_shell_are_told_apart() {
    let sshd = Sshd::start();
    let refused = sshd.connect_as("plain").await.run(Script::new("id"), LONG).await.unwrap_err();
    let RunError::SudoRefused { user, output: said, .. } = &refused else { panic!("{refused:?}") };
    assert_eq!(user, "plain");
    assert!(said.as_ref().is_some_and(|said| said.starts_with("sudo: ")), "{said:?}");
    assert!(refused.hint().unwrap().contains("plain ALL=(ALL) NOPASSWD: ALL"));
    assert!(!refused.may_have_run());
    let streamed = sshd.connect_as("plain").await.stream(Script::new("cat"), &b"secret"[..], LONG).await.unwrap_err();
    assert!(matches!(streamed, RunError::SudoRefused { .. }), "{streamed:?}");

    let passwd = std::fs::read_to_string(sshd.path("passwd")).unwrap();
    std::fs::write(sshd.path("passwd"), passwd.replace("root:/bin/sh", "root:/usr/sbin/nologin")).unwrap();
    let none = sshd.connect().await.run(Script::new("id"), LONG).await.unwrap_err();
    assert!(matches!(none, RunError::NoShell { .. }), "{none:?}");
}

#[tokio::test]
async fn many_scripts_share_a_connection() {
    let sshd = Sshd::start();
    let connection = sshd.connect().await;
    let mut running = tokio::task::JoinSet::new();
    for number in 0..30_u32 {
        let connection = connection.clone();
        running.spawn(async move {
            // One of them floods; the others must not wait for anybody to read it.
            let flood = if number == 0 { "head -c 30000000 /dev/zero; " } else { "" };
            let script = Script::new(format!("{flood}sleep 0.05; exit {number}"));
            (number, connection.run(script, LONG).await.unwrap().status)
        });
    }
    while let Some(done) = running.join_next().await {
        let (number, status) = done.unwrap();
        assert_eq!(status, ExitStatus::Exited(number));
    }
    assert_eq!(sshd.log().matches("Accepted publickey").count(), 1);
}

#[tokio::test]
async fn a_lost_connection_is_an_unknown_outcome() {
    let sshd = Sshd::start();
    let relay = Relay::to(sshd.port, 0).await;
    let target = Target { port: relay.port, host_key: Some(sshd.fingerprint("ed25519")), ..sshd.target() };
    let connection = super::harness::open(&target).await.unwrap();
    let marker = sshd.path("started");
    let script = Script::new(format!("touch {}; sleep 60", marker.display()));
    let running = tokio::spawn({
        let connection = connection.clone();
        async move { connection.run(script, LONG).await }
    });
    let start = Instant::now();
    super::harness::until("the script has begun", || marker.exists()).await;
    relay.cut();
    let error = running.await.unwrap().unwrap_err();
    assert!(matches!(error, RunError::Unknown { .. }) && error.may_have_run(), "{error:?}");
    assert!(start.elapsed() < Duration::from_secs(10));
    assert!(connection.is_lost());
    let after = connection.run(Script::new("id"), LONG).await.unwrap_err();
    assert!(matches!(after, RunError::NotStarted { .. }) && !after.may_have_run(), "{after:?}");
}

#[tokio::test]
async fn scripts_past_their_deadline_give_their_channel_back_when_they_end() {
    let sshd = Sshd::start();
    let connection = sshd.connect().await;
    let gate = sshd.path("gate");
    let waits = format!("until [ -e {} ]; do sleep 0.02; done", gate.display());
    for _ in 0..8 {
        let late = connection.run(Script::new(waits.as_str()), Duration::from_millis(100)).await.unwrap_err();
        assert!(matches!(late, RunError::Deadline { .. }) && late.may_have_run(), "{late:?}");
    }
    let full = connection.run(Script::new("exit 0"), Duration::from_millis(100)).await.unwrap_err();
    assert!(matches!(full, RunError::NotStarted { .. }) && !full.may_have_run(), "{full:?}");
    std::fs::write(&gate, "").unwrap();
    assert!(connection.run(Script::new("exit 0"), LONG).await.unwrap().is_success());
}

#[tokio::test]
async fn a_daemon_that_keeps_the_output_open_does_not_hold_the_script() {
    let sshd = Sshd::start();
    let connection = sshd.connect().await;
    let start = Instant::now();
    let output = connection.run(Script::new("sleep 60 & echo done"), LONG).await.unwrap();
    assert_eq!((output.is_success(), output.stdout.as_slice()), (true, &b"done\n"[..]));
    assert!(start.elapsed() < Duration::from_secs(10));
}
