//! The server in a network of its own, and programs that take it for upstream: nothing of the machine's own network is touched.

use std::error::Error;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::{AUTH_HOST, catalog_of, index_of};

const FILES: &str = "127.0.0.1 localhost dl.k8s.io github.com deb.debian.org cdn.example";
/// Names of registries, which another one may answer for.
const REGISTRIES: &str = "registry.k8s.io ghcr.io index.docker.io";
const UP: &str = "ip link set lo up && exec \"$0\" \"$@\"";
/// Gives the program names of its own: the machine's stay as they are.
const WITH_NAMES: &str = "mount --bind \"$0\" /etc/hosts && exec \"$@\"";
/// What would lead elsewhere, or say what the tester has at home.
const NOT_HERE: [&str; 9] = [
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "KOKCTL_BUNDLE",
    "REGISTRY_AUTH_FILE",
    "CURL_HOME",
];

/// A server that runs, with a folder: `ca.crt` is its CA, `catalog.json` the catalog of what it has, `log` what it was asked for. It ends with this.
pub struct Isolated {
    server: Child,
    folder: TempDir,
}

impl Drop for Isolated {
    fn drop(&mut self) {
        // One that has ended needs no end.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Isolated {
    /// Starts the program `upstream` with a bundle and these options of its own. It takes root.
    ///
    /// # Errors
    /// If the bundle can't be read, or the server does not get ready.
    pub fn start(program: &Path, bundle: &Path, options: &[&str]) -> Result<Self, Box<dyn Error>> {
        let folder = TempDir::new()?;
        let file = |name: &str| folder.path().join(name);
        fs::write(file("hosts"), format!("{FILES} {REGISTRIES} {AUTH_HOST}\n"))?;
        fs::write(file("catalog.json"), serde_json::to_string(&catalog_of(&index_of(bundle)?)?)?)?;
        let mut command = Command::new("unshare");
        command.args(["--net", "sh", "-c", UP]).arg(program).arg("serve").arg("--bundle").arg(bundle);
        command.arg("--ca").arg(file("ca.crt")).arg("--log").arg(file("log")).args(options);
        command.current_dir(folder.path()).process_group(0).stdout(Stdio::piped());
        let mut server = command.spawn()?;
        let output = server.stdout.take();
        let started = Self { server, folder };
        let mut said = String::new();
        BufReader::new(output.ok_or("the server has no output")?).read_line(&mut said)?;
        if said == "ready\n" { Ok(started) } else { Err(format!("the server is not ready, and says {said:?}").into()) }
    }

    /// From now on upstream's registries are at this address, and another name too. The server itself answers for files and tokens.
    pub(super) fn registries_at(&self, address: &str, name: &str) -> io::Result<()> {
        fs::write(self.file("hosts"), format!("{FILES} {AUTH_HOST}\n{address} {REGISTRIES} {name}\n"))
    }

    /// The folder of all files.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A file of that folder.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A program that reaches the server, and nothing else; its home is the folder.
    #[must_use]
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--net", "--target"]).arg(self.server.id().to_string());
        command.args(["unshare", "--mount", "sh", "-c", WITH_NAMES]).arg(self.file("hosts")).arg(program);
        command.current_dir(self.folder()).env("HOME", self.folder()).env("DOCKER_CONFIG", self.folder()).stdin(Stdio::null());
        for name in NOT_HERE {
            command.env_remove(name);
        }
        command
    }
}
