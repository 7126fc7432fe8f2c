use super::harness::{ASKED, LONG, PASSWORD, Sshd, keygen, open, refused};
use crate::remote::{ConnectFault, Connection, HostKeyFault, RunError, Script, Target, quote};
use kok_crds::Secret;

async fn working_connection(target: &Target) -> Connection {
    let connection = open(target).await.unwrap_or_else(|error| panic!("{error}: {:?}", error.because()));
    let output = connection.run(Script::new("id -u"), LONG).await.unwrap_or_else(|error| panic!("{error}: {:?}", error.because()));
    assert_eq!(output.stdout, b"0\n");
    connection
}

#[tokio::test]
async fn a_password_logs_in_by_either_method() {
    for config in ["PasswordAuthentication yes", "UsePAM yes\nKbdInteractiveAuthentication yes"] {
        let sshd = Sshd::with_config(config);
        working_connection(&sshd.target_with_password("free", PASSWORD)).await;
        let error = refused(&sshd.target_with_password("free", "wrong")).await;
        let ConnectFault::LoginRefused { tried_password: true, tried, .. } = &*error.fault else { panic!("{error:?}") };
        assert_eq!(tried, &["the password"]);
        assert!(!format!("{error:?} {:?} {:?}", error.because(), error.hint()).contains("wrong\""));
        // sshd writes its log when it gets to it; at this line it has written all about the login.
        sshd.wait_for_log("by authenticating user free");
        // Once: a second failure might lock the account.
        assert_eq!(sshd.count("Failed password for free") + sshd.count("Failed keyboard-interactive/pam for free"), 1, "{}", sshd.log());
    }
}

#[tokio::test]
async fn a_key_that_is_refused_leaves_the_password() {
    let sshd = Sshd::with_config("PasswordAuthentication yes");
    keygen(&sshd.path("stranger"), &["-t", "ed25519"]);
    let target = Target { private_key_file: Some(sshd.path("stranger")), ..sshd.target_with_password("free", PASSWORD) };
    working_connection(&target).await;
    // Both, one after the other, where the server wants both.
    let both = Sshd::with_config("PasswordAuthentication yes\nAuthenticationMethods publickey,password");
    working_connection(&Target { private_key_file: Some(both.path("key")), ..both.target_with_password("free", PASSWORD) }).await;
    let error = refused(&both.target()).await;
    assert!(error.because().unwrap().contains("second factor"), "{:?}", error.because());
}

#[tokio::test]
async fn a_server_that_takes_no_password_is_not_sent_one() {
    let sshd = Sshd::start();
    let error = refused(&sshd.target_with_password("free", PASSWORD)).await;
    let ConnectFault::LoginRefused { tried_password: false, .. } = &*error.fault else { panic!("{error:?}") };
    assert!(error.because().unwrap().contains("publickey"), "{:?}", error.because());
    assert!(!sshd.log().contains("method password"), "{}", sshd.log());
}

#[tokio::test]
async fn no_password_leaves_before_the_host_key_matched() {
    let sshd = Sshd::with_config("PasswordAuthentication yes");
    let unknown = Target { known_hosts_file: Some(sshd.path("empty")), ..sshd.target_with_password("free", PASSWORD) };
    std::fs::write(sshd.path("empty"), "").unwrap();
    let error = refused(&unknown).await;
    assert!(matches!(&*error.fault, ConnectFault::HostKey(HostKeyFault::Unknown { .. })), "{error:?}");
    sshd.wait_for_log("Connection closed by");
    assert!(!sshd.saw_a_login(), "{}", sshd.log());
}

#[tokio::test]
async fn sudo_gets_its_password_only_if_it_asks() {
    let sshd = Sshd::start();
    for user in ASKED.into_iter().map(|(user, _)| user).chain(["free"]) {
        let connection =
            working_connection(&Target { user: user.to_owned(), sudo_password: Some(Secret::new(PASSWORD)), ..sshd.target() }).await;
        let script = "cat; echo \"$PATH|$PWD|$(umask)\"; echo \"$*\" \"$0\"; env | grep -c ecret; tr '\\0' ' ' </proc/$PPID/cmdline";
        let output = connection.run(Script::new(script), LONG).await.unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.starts_with("/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin|/|0077\n"), "{user}: {text}");
        assert!(!text.contains("ecret") && text.contains("\n0\n"), "{user}: {text}");
        let data = vec![b'x'; 3_000_000];
        let streamed = connection.stream(Script::new("wc -c; id -u"), data.as_slice(), LONG).await.unwrap();
        assert_eq!(streamed.output.stdout, b"3000000\n0\n", "{user}");
    }
    // One question, then one channel a script.
    assert_eq!(sshd.count("Starting session: command for askedbash"), 4, "{}", sshd.log());
}

#[tokio::test]
async fn a_wrong_sudo_password_is_tried_once() {
    let sshd = Sshd::start();
    let target = Target { user: "asked".to_owned(), sudo_password: Some(Secret::new("wrong")), ..sshd.target() };
    let connection = open(&target).await.unwrap();
    for _ in 0..3 {
        let error = connection.run(Script::new("id -u"), LONG).await.unwrap_err();
        assert!(matches!(error, RunError::SudoRefused { with_password: true, .. }) && !error.may_have_run(), "{error:?}");
        assert!(error.hint().unwrap().contains("sudoPassword"));
    }
    let streamed = connection.stream(Script::new("cat"), &b"data"[..], LONG).await.unwrap_err();
    assert!(matches!(streamed, RunError::SudoRefused { with_password: true, .. }), "{streamed:?}");
    assert_eq!(sshd.count("Starting session: command for asked"), 1, "{}", sshd.log());
}

/// Somebody typed the password on the host a moment ago, and sudo remembers that for all of the user's sessions.
#[tokio::test]
async fn a_password_that_sudo_remembers_is_not_taken_for_a_right() {
    let sshd = Sshd::start();
    let sudoers = std::fs::read_to_string(sshd.path("sudoers")).unwrap();
    std::fs::write(sshd.path("sudoers"), format!("Defaults timestamp_type=global\n{sudoers}")).unwrap();
    let root = sshd.connect().await;
    let typed = format!("printf '%s\\n' {} | setpriv --reuid=asked --clear-groups sudo -S -p '' -v", quote(PASSWORD));
    let as_asked = "setpriv --reuid=asked --clear-groups sudo -n id -u";
    let remembered = root.run(Script::new(format!("{typed} && {as_asked}")), LONG).await.unwrap();
    assert_eq!(remembered.stdout, b"0\n", "{:?}", remembered.reason());

    let error = sshd.connect_as("asked").await.run(Script::new("id -u"), LONG).await.unwrap_err();
    assert!(matches!(error, RunError::SudoRefused { with_password: false, .. }), "{error:?}");
    let connection =
        working_connection(&Target { user: "asked".to_owned(), sudo_password: Some(Secret::new(PASSWORD)), ..sshd.target() }).await;
    // sudo forgets, as it does after some minutes, and the connection works on.
    let forgotten = root.run(Script::new(format!("setpriv --reuid=asked --clear-groups sudo -K; {as_asked}")), LONG).await.unwrap();
    assert!(!forgotten.is_success());
    assert_eq!(connection.run(Script::new("id -u"), LONG).await.unwrap().stdout, b"0\n");
}

#[tokio::test]
async fn a_missing_sudo_password_says_where_it_goes() {
    let sshd = Sshd::start();
    let error = sshd.connect_as("asked").await.run(Script::new("id -u"), LONG).await.unwrap_err();
    let RunError::SudoRefused { with_password: false, .. } = &error else { panic!("{error:?}") };
    assert!(error.hint().unwrap().contains("sudoPassword"), "{:?}", error.hint());
}

#[tokio::test]
async fn a_sudo_that_stops_asking_runs_no_password() {
    let sshd = Sshd::start();
    let target = Target { user: "asked".to_owned(), sudo_password: Some(Secret::new("touch /run/was-run")), ..sshd.target() };
    let shadow = std::fs::read_to_string(sshd.path("shadow")).unwrap();
    let hash = std::process::Command::new("openssl").args(["passwd", "-6", "touch /run/was-run"]).output().unwrap();
    let hash = format!("asked:{}:20000", String::from_utf8(hash.stdout).unwrap().trim());
    let lines = shadow.lines().map(|line| if line.starts_with("asked:") { format!("{hash}:0:99999:7:::") } else { line.to_owned() });
    std::fs::write(sshd.path("shadow"), lines.collect::<Vec<_>>().join("\n") + "\n").unwrap();
    let connection = working_connection(&target).await;
    let sudoers = std::fs::read_to_string(sshd.path("sudoers")).unwrap();
    std::fs::write(sshd.path("sudoers"), sudoers.replace("asked ALL=(ALL) ALL", "asked ALL=(ALL) NOPASSWD: ALL")).unwrap();
    let output = connection.run(Script::new("ls /run/was-run; echo through"), LONG).await.unwrap();
    assert_eq!(output.stdout, b"through\n");
    assert!(String::from_utf8(output.stderr).unwrap().contains("No such file"));
}
