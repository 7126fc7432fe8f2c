//! An sshd of the test's own, and what else there is between a test and a host.
mod agent;
mod network;
mod users;

pub(crate) use agent::Agent;
pub(crate) use network::{BlackHole, Relay};
pub(crate) use users::{ASKED, PASSWORD, SHELLS};

use crate::remote::identity::Surroundings;
use crate::remote::{Configured, ConnectError, Connection, Deadlines, HostKeyChecking, Limits, Target, Transport};
use kok_crds::Secret;
use std::fmt::Write as _;
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

const LOCALHOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// More than anything here takes on a busy machine.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// Runs before sshd in its namespaces: users, sudo rules and `/run` are replaced there and nowhere else.
const SETUP: &str = r#"set -e
mount -t tmpfs tmpfs /run
mkdir -p /run/sshd
for file in passwd shadow sudoers; do mount --bind "$1/$file" "/etc/$file"; done
exec /usr/sbin/sshd -D -f "$1/sshd_config" -E "$1/log"
"#;

/// A running sshd and the folder with its keys, ended on drop.
pub(crate) struct Sshd {
    process: Child,
    pub(crate) dir: tempfile::TempDir,
    pub(crate) port: u16,
}

impl Sshd {
    pub(crate) fn start() -> Self {
        Self::with_host_keys(&["ed25519"])
    }

    pub(crate) fn with_host_keys(types: &[&str]) -> Self {
        Self::with(types, "")
    }

    /// With lines for sshd_config that come before all others, so that they win.
    pub(crate) fn with_config(lines: &str) -> Self {
        Self::with(&["ed25519"], lines)
    }

    fn with(types: &[&str], lines: &str) -> Self {
        assert!(rustix::process::geteuid().is_root(), "these tests start sshd in namespaces of its own: run them as root");
        let programs = ["/usr/sbin/sshd", "/usr/bin/sudo"].into_iter().chain(SHELLS.into_iter().map(|(_, path)| path));
        for program in programs {
            assert!(Path::new(program).exists(), "these tests need {program}: apt-get install openssh-server sudo openssl fish tcsh zsh");
        }
        let dir = tempfile::tempdir().unwrap();
        // Logins that are not root read their keys as themselves.
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for kind in types {
            keygen(&dir.path().join(format!("host_{kind}")), &["-t", kind]);
        }
        keygen(&dir.path().join("key"), &["-t", "ed25519"]);
        fs::copy(dir.path().join("key.pub"), dir.path().join("authorized_keys")).unwrap();
        users::write_users(dir.path());
        let port = std::net::TcpListener::bind((LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        write_config(dir.path(), port, types, lines);
        let process = Command::new("unshare")
            .args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private"])
            .args(["/bin/sh", "-c", SETUP, "sh"])
            .arg(dir.path())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let sshd = Self { process, dir, port };
        sshd.wait_for_log("Server listening on");
        sshd
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// root with the right key and a known_hosts that knows the host.
    pub(crate) fn target(&self) -> Target {
        let known_hosts = self.path("known_hosts");
        if !known_hosts.exists() {
            fs::write(&known_hosts, self.known_hosts_line("ed25519")).unwrap();
        }
        Target { port: self.port, private_key_file: Some(self.path("key")), known_hosts_file: Some(known_hosts), ..a_target() }
    }

    /// A login with its password and no key.
    pub(crate) fn target_with_password(&self, user: &str, password: &str) -> Target {
        let password = Some(Secret::new(password));
        Target { user: user.to_owned(), password, private_key_file: None, ..self.target() }
    }

    /// The server as a bastion.
    pub(crate) fn bastion(&self, name: &str) -> Target {
        Target { name: name.to_owned(), ..self.target() }
    }

    /// How often sshd wrote this.
    pub(crate) fn count(&self, text: &str) -> usize {
        self.log().matches(text).count()
    }

    pub(crate) fn known_hosts_line(&self, kind: &str) -> String {
        format!("[127.0.0.1]:{} {}", self.port, self.host_public_key(kind))
    }

    /// `type base64` and a newline.
    pub(crate) fn host_public_key(&self, kind: &str) -> String {
        public_key(&self.path(&format!("host_{kind}")))
    }

    pub(crate) fn fingerprint(&self, kind: &str) -> String {
        fingerprint(&self.path(&format!("host_{kind}.pub")))
    }

    /// The target with a known_hosts of this text.
    pub(crate) fn target_knowing(&self, known_hosts: &str) -> Target {
        fs::write(self.path("known_hosts"), known_hosts).unwrap();
        self.target()
    }

    pub(crate) async fn connect(&self) -> Connection {
        open(&self.target()).await.unwrap_or_else(|error| panic!("{error}: {:?}\n{}", error.because(), self.log()))
    }

    pub(crate) async fn connect_as(&self, user: &str) -> Connection {
        let target = Target { user: user.to_owned(), ..self.target() };
        open(&target).await.unwrap_or_else(|error| panic!("{error}: {:?}\n{}", error.because(), self.log()))
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    /// Whether anybody tried to log in. sshd says so at its debug level before it looks at the key.
    pub(crate) fn saw_a_login(&self) -> bool {
        self.log().contains("userauth-request")
    }

    pub(crate) fn wait_for_log(&self, text: &str) {
        let start = Instant::now();
        while !self.log().contains(text) {
            assert!(start.elapsed() < LONG, "sshd never said {text:?}:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        // The kernel ends the whole PID namespace with it.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Waits for a condition; a test must fail rather than hang.
pub(crate) async fn until(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < 2 * LONG, "it never came to this: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// root at this machine.
pub(crate) fn a_target() -> Target {
    Target {
        name: "cp1".to_owned(),
        address: LOCALHOST.to_string(),
        port: 22,
        user: "root".to_owned(),
        private_key_file: None,
        private_key: None,
        known_hosts_file: None,
        host_key: None,
        host_key_checking: HostKeyChecking::Strict,
        password: None,
        sudo_password: None,
        bastion: None,
        configured: Configured::default(),
    }
}

/// The limits of the tests' process.
static LIMITS: LazyLock<Arc<Limits>> = LazyLock::new(Arc::default);

/// Without an agent and without the usual files; bastions are shared by all that a test opens.
pub(crate) fn transport() -> Transport {
    static BARE: LazyLock<Transport> = LazyLock::new(|| transport_with(&Surroundings::default()));
    BARE.clone()
}

/// One that knows nothing yet.
pub(crate) fn transport_with(surroundings: &Surroundings) -> Transport {
    Transport::new(surroundings.clone(), Arc::clone(&LIMITS))
}

/// Without an agent and without the usual files: what a test sees must not depend on who runs it.
pub(crate) async fn open(target: &Target) -> Result<Connection, ConnectError> {
    Connection::open(target, &Deadlines::default(), &transport()).await
}

pub(crate) async fn refused(target: &Target) -> ConnectError {
    match open(target).await {
        Ok(_) => panic!("the connection was accepted"),
        Err(error) => error,
    }
}

fn write_config(dir: &Path, port: u16, types: &[&str], lines: &str) {
    let mut config = format!(
        "{lines}\nListenAddress 127.0.0.1:{port}\nPidFile none\nUsePAM no\nStrictModes no\nLogLevel DEBUG1\n\
         AuthorizedKeysFile {}/authorized_keys\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n",
        dir.display()
    );
    for kind in types {
        let _ = writeln!(config, "HostKey {}/host_{kind}", dir.display());
    }
    fs::write(dir.join("sshd_config"), config).unwrap();
}

pub(crate) fn keygen(path: &Path, options: &[&str]) {
    let made = Command::new("ssh-keygen").args(["-q", "-N", "", "-C", "test"]).args(options).arg("-f").arg(path).status();
    assert!(made.unwrap().success(), "ssh-keygen failed");
}

/// `type base64` and a newline, without the comment.
pub(crate) fn public_key(private: &Path) -> String {
    let text = fs::read_to_string(private.with_extension("pub")).unwrap();
    let mut fields = text.split(' ');
    format!("{} {}\n", fields.next().unwrap(), fields.next().unwrap())
}

pub(crate) fn fingerprint(public: &Path) -> String {
    let output = Command::new("ssh-keygen").arg("-lf").arg(public).output().unwrap();
    String::from_utf8(output.stdout).unwrap().split(' ').nth(1).unwrap().to_owned()
}
