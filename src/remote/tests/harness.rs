//! An sshd of the test's own, and a relay that can be cut.
use crate::remote::identity::Surroundings;
use crate::remote::{Configured, ConnectError, Connection, Deadlines, HostKeyChecking, Target};
use kok_crds::Secret;
use std::fmt::Write as _;
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

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

/// Login shells that a host may have.
pub(crate) const SHELLS: [(&str, &str); 6] = [
    ("dash", "/bin/dash"),
    ("bash", "/bin/bash"),
    ("zsh", "/usr/bin/zsh"),
    ("fish", "/usr/bin/fish"),
    ("tcsh", "/usr/bin/tcsh"),
    ("nologin", "/usr/sbin/nologin"),
];

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
        write_users(dir.path());
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

/// Without an agent and without the usual files: what a test sees must not depend on who runs it.
pub(crate) async fn open(target: &Target) -> Result<Connection, ConnectError> {
    Connection::open_from(target, &Deadlines::default(), &Surroundings::default()).await
}

pub(crate) async fn refused(target: &Target) -> ConnectError {
    match open(target).await {
        Ok(_) => panic!("the connection was accepted"),
        Err(error) => error,
    }
}

fn write_users(dir: &Path) {
    let mut passwd = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n".to_owned();
    passwd.push_str("sshd:x:150:65534::/run/sshd:/usr/sbin/nologin\n");
    let mut shadow = "root:*:20000:0:99999:7:::\nnobody:*:20000:0:99999:7:::\n".to_owned();
    let mut sudoers = String::new();
    let others = [("ops", "/bin/sh"), ("plain", "/bin/sh"), ("free", "/bin/sh")];
    let others = others.into_iter().chain(ASKED);
    let hash = Command::new("openssl").args(["passwd", "-6", PASSWORD]).output().unwrap();
    let hash = String::from_utf8(hash.stdout).unwrap();
    let users = SHELLS.into_iter().chain(others);
    for (uid, (name, shell)) in (2000_u32..).zip(users) {
        let home = dir.join("home").join(name);
        fs::create_dir_all(home.join(".config/fish")).unwrap();
        // No newline at the end: the next thing written follows on the same line.
        for file in [".bashrc", ".zshenv", ".cshrc", ".config/fish/config.fish"] {
            fs::write(home.join(file), "echo welcome; echo careful 1>&2; printf tail").unwrap();
        }
        if name.ends_with("tcsh") {
            fs::write(home.join(".cshrc"), "echo welcome; printf tail\n").unwrap();
        }
        let _ = writeln!(passwd, "{name}:x:{uid}:{uid}::{}:{shell}", home.display());
        let hash = if name.starts_with("asked") || name == "free" { hash.trim() } else { "*" };
        let _ = writeln!(shadow, "{name}:{hash}:20000:0:99999:7:::");
        let rule = if name.starts_with("asked") || name == "plain" { "ALL" } else { "NOPASSWD: ALL" };
        let _ = writeln!(sudoers, "{name} ALL=(ALL) {rule}");
        let owned = Command::new("chown").arg("-R").arg(format!("{uid}:{uid}")).arg(&home).status();
        assert!(owned.unwrap().success());
    }
    for (name, text, mode) in [("passwd", passwd, 0o644), ("shadow", shadow, 0o600), ("sudoers", sudoers, 0o440)] {
        fs::write(dir.join(name), text).unwrap();
        fs::set_permissions(dir.join(name), fs::Permissions::from_mode(mode)).unwrap();
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

/// Users whom sudo asks for their password, each with a login shell.
pub(crate) const ASKED: [(&str, &str); 5] = [
    ("asked", "/bin/sh"),
    ("askedbash", "/bin/bash"),
    ("askedzsh", "/usr/bin/zsh"),
    ("askedfish", "/usr/bin/fish"),
    ("askedtcsh", "/usr/bin/tcsh"),
];

/// The password of the users that have one.
pub(crate) const PASSWORD: &str = "it's a $ecret \"word\" !x";

/// An SSH agent, ended on drop.
pub(crate) struct Agent {
    process: Child,
    pub(crate) socket: PathBuf,
}

impl Agent {
    pub(crate) fn start(socket: &Path) -> Self {
        let process = Command::new("ssh-agent").arg("-D").arg("-a").arg(socket).stdout(Stdio::null()).spawn().unwrap();
        let start = Instant::now();
        while !socket.exists() {
            assert!(start.elapsed() < LONG, "the agent never listened");
            std::thread::sleep(Duration::from_millis(5));
        }
        Self { process, socket: socket.to_owned() }
    }

    pub(crate) fn add(&self, key: &Path) {
        let added = Command::new("ssh-add").arg("-q").arg(key).env("SSH_AUTH_SOCK", &self.socket).stdin(Stdio::null()).status();
        assert!(added.unwrap().success(), "ssh-add failed");
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// An address of this machine that swallows all attempts to connect, as that of a host does that is switched off.
pub(crate) struct BlackHole {
    listener: std::net::TcpListener,
    _queue: Vec<TcpStream>,
}

impl BlackHole {
    /// At every address of the loopback network, for many hosts.
    pub(crate) async fn new() -> Self {
        let listener = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
        // Who comes when the queue is full gets no answer.
        rustix::net::listen(&listener, 0).unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut queue = Vec::new();
        while let Ok(Ok(stream)) = tokio::time::timeout(Duration::from_millis(200), TcpStream::connect((LOCALHOST, port))).await {
            queue.push(stream);
        }
        Self { listener, _queue: queue }
    }

    pub(crate) fn address(&self) -> std::net::SocketAddr {
        (LOCALHOST, self.port()).into()
    }

    pub(crate) fn port(&self) -> u16 {
        self.listener.local_addr().unwrap().port()
    }
}

/// Passes TCP connections on to a port until it is cut, or goes silent.
pub(crate) struct Relay {
    pub(crate) port: u16,
    task: JoinHandle<()>,
    silent: Arc<AtomicBool>,
}

impl Relay {
    /// The first `dropped` connections are closed as soon as they are accepted.
    pub(crate) async fn to(port: u16, dropped: usize) -> Self {
        Self::at(0, port, dropped).await
    }

    /// At a port of its own, such as one that another relay had.
    pub(crate) async fn at(own: u16, port: u16, dropped: usize) -> Self {
        let listener = TcpListener::bind((LOCALHOST, own)).await.unwrap();
        let own = listener.local_addr().unwrap().port();
        let silent = Arc::new(AtomicBool::new(false));
        let task = tokio::spawn({
            let silent = Arc::clone(&silent);
            async move {
                let mut links = tokio::task::JoinSet::new();
                for count in 0.. {
                    let (client, _) = listener.accept().await.unwrap();
                    if count < dropped {
                        continue;
                    }
                    let server = TcpStream::connect((LOCALHOST, port)).await.unwrap();
                    let (client, server) = (client.into_split(), server.into_split());
                    links.spawn(pass(client.0, server.1, Arc::clone(&silent)));
                    links.spawn(pass(server.0, client.1, Arc::clone(&silent)));
                }
            }
        });
        Self { port: own, task, silent }
    }

    /// From now on nothing gets through, and nobody is told.
    pub(crate) fn go_silent(&self) {
        self.silent.store(true, Ordering::SeqCst);
    }

    /// Closes all connections.
    pub(crate) fn cut(&self) {
        self.task.abort();
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.cut();
    }
}

/// Passes bytes on. When silent it reads no more and keeps both ends open, so that whoever writes gets stuck.
async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, silent: Arc<AtomicBool>) {
    let mut piece = vec![0; 64 << 10];
    loop {
        let read = from.read(&mut piece).await.unwrap_or(0);
        if silent.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        if read == 0 || to.write_all(&piece[..read]).await.is_err() {
            return;
        }
    }
}
