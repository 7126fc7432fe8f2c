//! An SSH agent of the test's own.
use super::LONG;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// An SSH agent, ended on drop.
pub(crate) struct Agent {
    process: Child,
    pub(crate) socket: PathBuf,
}

impl Agent {
    pub(crate) fn start(socket: &Path) -> Self {
        let process = Command::new("ssh-agent").arg("-D").arg("-a").arg(socket).stdout(Stdio::null()).spawn().unwrap();
        let start = Instant::now();
        // The socket is there a moment before anybody listens.
        while UnixStream::connect(socket).is_err() {
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
