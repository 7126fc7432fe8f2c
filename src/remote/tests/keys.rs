use super::harness::{Agent, LONG, Sshd, keygen, public_key, transport_with};
use crate::remote::identity::Surroundings;
use crate::remote::passphrase::Passphrases;
use crate::remote::{ConnectFault, Connection, Deadlines, IdentityFault, Script, Target};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

/// sshd knows these keys and no others.
fn authorize(sshd: &Sshd, names: &[&str]) {
    let keys: String = names.iter().map(|name| public_key(&sshd.path(name))).collect();
    fs::write(sshd.path("authorized_keys"), keys).unwrap();
}

async fn open(target: &Target, surroundings: &Surroundings) -> Result<Connection, IdentityFault> {
    match Connection::open(target, &Deadlines::default(), &transport_with(surroundings)).await {
        Ok(connection) => {
            assert!(connection.run(Script::new("exit 0"), LONG).await.unwrap().is_success());
            Ok(connection)
        }
        Err(error) => match std::sync::Arc::into_inner(error.fault).unwrap() {
            ConnectFault::Identity(fault) => Err(fault),
            other => panic!("{other:?}"),
        },
    }
}

fn encrypt(sshd: &Sshd, name: &str, options: &[&str]) -> std::path::PathBuf {
    let path = sshd.path(name);
    keygen(&path, options);
    let format = options.iter().skip_while(|option| **option != "-m").take(2);
    let changed = Command::new("ssh-keygen").args(["-q", "-p", "-P", "", "-N", "open sesame"]).args(format).arg("-f").arg(&path).output();
    assert!(changed.unwrap().status.success());
    path
}

#[tokio::test]
async fn an_agent_signs_with_every_kind_of_key() {
    let sshd = Sshd::start();
    for (name, options) in [("rsa", &["-t", "rsa", "-b", "3072"][..]), ("ecdsa", &["-t", "ecdsa"]), ("ed25519", &["-t", "ed25519"])] {
        keygen(&sshd.path(name), options);
        authorize(&sshd, &[name]);
        let agent = Agent::start(&sshd.path(&format!("{name}.sock")));
        agent.add(&sshd.path(name));
        let surroundings = Surroundings { agent_socket: Some(agent.socket.clone()), ..Surroundings::default() };
        open(&Target { private_key_file: None, ..sshd.target() }, &surroundings).await.unwrap();
    }
    assert!(!sshd.log().contains("ssh-rsa SHA1"), "{}", sshd.log());
}

#[tokio::test]
async fn encrypted_keys_open_with_the_passphrase_of_a_file() {
    let sshd = Sshd::start();
    let file = sshd.path("passphrase");
    fs::write(&file, "open sesame\nmore").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let surroundings = Surroundings { passphrases: Passphrases::File(file.clone()), ..Surroundings::default() };
    for (name, options) in
        [("new", &["-t", "ed25519"][..]), ("pem", &["-t", "rsa", "-b", "2048", "-m", "PEM"]), ("pkcs8", &["-t", "ecdsa", "-m", "PKCS8"])]
    {
        let path = encrypt(&sshd, name, options);
        authorize(&sshd, &[name]);
        let target = Target { private_key_file: Some(path), ..sshd.target() };
        let fault = open(&target, &Surroundings::default()).await.err().unwrap();
        assert!(matches!(fault, IdentityFault::Encrypted { .. }), "{name}: {fault:?}");
        open(&target, &surroundings).await.unwrap_or_else(|fault| panic!("{name}: {fault:?}"));
        // What one run has unlocked is nothing that another one knows.
        let fault = open(&target, &Surroundings::default()).await.err().unwrap();
        assert!(matches!(fault, IdentityFault::Encrypted { .. }), "{name}: {fault:?}");
    }
    let other = encrypt(&sshd, "other", &["-t", "ed25519"]);
    let target = Target { private_key_file: Some(other), ..sshd.target() };
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let fault = open(&target, &surroundings).await.err().unwrap();
    assert!(matches!(fault, IdentityFault::NoPassphrase { .. }), "{fault:?}");
    fs::write(&file, "wrong").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let fault = open(&target, &surroundings).await.err().unwrap();
    assert!(matches!(fault, IdentityFault::WrongPassphrase { .. }), "{fault:?}");
}

#[tokio::test]
async fn an_agent_that_holds_an_encrypted_key_saves_the_passphrase() {
    let sshd = Sshd::start();
    keygen(&sshd.path("held"), &["-t", "ed25519"]);
    authorize(&sshd, &["held"]);
    let agent = Agent::start(&sshd.path("agent.sock"));
    // An unrelated one before it: only the key that was named is offered.
    agent.add(&sshd.path("key"));
    agent.add(&sshd.path("held"));
    let changed =
        Command::new("ssh-keygen").args(["-q", "-p", "-P", "", "-N", "unknown to us"]).arg("-f").arg(sshd.path("held")).output().unwrap();
    assert!(changed.status.success());
    let surroundings = Surroundings { agent_socket: Some(agent.socket.clone()), ..Surroundings::default() };
    open(&Target { private_key_file: Some(sshd.path("held")), ..sshd.target() }, &surroundings).await.unwrap();
    assert_eq!(sshd.count("userauth-request for user root service ssh-connection method publickey"), 2, "{}", sshd.log());
}
