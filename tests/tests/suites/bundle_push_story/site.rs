//! A registry in a network of its own, beside the server that stands for upstream.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use kok_tasks::bundle::Bundle;
use kok_tests::lab::DEFAULT_KUBERNETES_VERSION;
use kok_tests::upstream::{Access, Isolated, REGISTRY, Registry, index_of, registry_program};
use serde_json::Value;
use tempfile::TempDir;

use crate::cluster_support::kokctl::{KokctlOutput, bundle, program};

/// `user:password`
pub const LOGIN: &str = "dXNlcjpwYXNzd29yZA==";
/// `user:wrong-one`
pub const WRONG_LOGIN: &str = "dXNlcjp3cm9uZy1vbmU=";

const CLUSTER: &str = "apiVersion: kubeonkube.clay.io/v1alpha1
kind: Cluster
metadata: {name: pushed}
spec:
  kubernetesVersion: ${version}
  hosts: [{name: cp1, address: 10.0.0.11, roles: [control-plane]}]
  network: {plugin: flannel}
";

/// Images of the release are pushed within seconds; the machine may be busy.
const DEADLINE: Duration = Duration::from_secs(120);

pub struct Site {
    /// It ends before the network does.
    registry: Option<Registry>,
    server: Isolated,
    program: PathBuf,
    access: Access,
}

impl Site {
    pub fn start(access: Access) -> Self {
        let login = TempDir::new().unwrap();
        let file = login.path().join("login");
        fs::write(&file, LOGIN).unwrap();
        let options = ["--login", file.to_str().unwrap(), "--jwks", "jwks.json"];
        let server = Isolated::start(&program().with_file_name("upstream"), &bundle(), &options).unwrap();
        fs::write(server.file("cluster.yaml"), CLUSTER.replace("${version}", DEFAULT_KUBERNETES_VERSION)).unwrap();
        let registry = registry_program(&program().with_file_name("release")).unwrap();
        let mut site = Self { registry: None, server, program: registry, access };
        site.restart(false);
        site
    }

    /// With what it holds, and an empty log.
    pub fn restart(&mut self, is_read_only: bool) {
        self.stop();
        self.registry = Some(Registry::start(&self.program, &self.server, self.access, is_read_only).unwrap());
    }

    pub fn stop(&mut self) {
        self.registry = None;
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.server.file(name)
    }

    pub fn index(&self, folder: &str) -> Bundle {
        index_of(&self.file(folder)).unwrap()
    }

    pub fn log_in(&self, auth: &str) {
        let names = [REGISTRY, "registry.k8s.io", "ghcr.io"];
        let logins: Vec<String> = names.iter().map(|host| format!(r#""{host}":{{"auth":"{auth}"}}"#)).collect();
        fs::write(self.file("config.json"), format!(r#"{{"auths":{{{}}}}}"#, logins.join(","))).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.server.command(program());
        command.args(arguments);
        if !arguments.contains(&"verify") {
            command.args(["--ca", "registry.crt"]);
            // Tokens are had from the server.
            if !arguments.contains(&"ca.crt") {
                command.args(["--ca", "ca.crt"]);
            }
        }
        command
    }

    pub fn kokctl(&self, arguments: &[&str]) -> KokctlOutput {
        let output = self.command(arguments).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        KokctlOutput { code: output.status.code().unwrap_or(-1), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// It is killed once the first images are there.
    pub fn kill_push_midway(&self, arguments: &[&str]) {
        let mut child = self.command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).spawn().unwrap();
        let began = Instant::now();
        while self.requests("PUT", "/manifests/sha256:", 201) < 3 && child.try_wait().unwrap().is_none() {
            assert!(began.elapsed() < DEADLINE, "nothing is pushed");
            thread::sleep(Duration::from_millis(5));
        }
        child.kill().unwrap();
        assert!(!child.wait().unwrap().success());
    }

    /// Requests that the registry has answered since it was started, as `METHOD ADDRESS … STATUS`.
    fn log(&self) -> Vec<String> {
        let log = fs::read_to_string(self.file("registry.log")).unwrap();
        log.lines()
            .filter(|line| line.contains("] \""))
            .filter_map(|line| line.split_once("] \""))
            .map(|(_, rest)| rest.to_owned())
            .collect()
    }

    pub fn all_requests(&self) -> usize {
        self.log().len()
    }

    pub fn requests(&self, method: &str, part: &str, status: u16) -> usize {
        let is_asked = |line: &&String| line.starts_with(&format!("{method} /")) && line.contains(part);
        self.log().iter().filter(is_asked).filter(|line| line.contains(&format!("\" {status} "))).count()
    }

    fn curl(&self, path: &str) -> String {
        let address = format!("https://{REGISTRY}/v2/{path}");
        let mut command = self.server.command("curl");
        command.args(["--silent", "--show-error", "--fail", "--cacert", "registry.crt", "--user", "user:password"]);
        let output = command.args(["--header", "Accept: application/vnd.oci.image.index.v1+json", &address]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// What a tag names.
    pub fn architectures(&self, repository: &str, tag: &str) -> Vec<String> {
        let index: Value = serde_json::from_str(&self.curl(&format!("{repository}/manifests/{tag}"))).unwrap();
        let entries = index["manifests"].as_array().unwrap();
        entries.iter().map(|entry| entry["platform"]["architecture"].as_str().unwrap().to_owned()).collect()
    }

    /// As a kubelet has it pulled: by the digest of the manifest.
    pub fn containerd_pulls_by_digest(&self, repository: &str, bundle: PathBuf) {
        let index = index_of(&bundle).unwrap();
        let pause = index.newest_image("pause", "amd64").unwrap();
        let containerd = index.newest_file("containerd", "amd64").unwrap();
        let folder = self.file("containerd");
        fs::create_dir_all(&folder).unwrap();
        let unpacked = Command::new("tar").arg("-xzf").arg(bundle.join(&containerd.path)).arg("-C").arg(&folder).status().unwrap();
        assert!(unpacked.success());
        let _daemon = Daemon::start(&self.server, &folder);
        let reference = format!("{REGISTRY}/{repository}@{}", pause.manifest_digest);
        let mut command = self.server.command(folder.join("bin/ctr"));
        command.arg("--address").arg(folder.join("socket")).args([
            "content",
            "fetch",
            "--user",
            "user:password",
            "--tlscacert",
            "registry.crt",
        ]);
        let output = command.arg(&reference).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(self.requests("HEAD", &format!("{repository}/manifests/{}", pause.manifest_digest), 200), 1);
    }
}

/// A containerd of its own; it ends with its value.
struct Daemon(std::process::Child);

impl Daemon {
    fn start(server: &Isolated, folder: &Path) -> Self {
        let configuration = format!(
            "version = 3\ndisabled_plugins = [\"io.containerd.cri.v1.images\", \"io.containerd.cri.v1.runtime\", \"io.containerd.grpc.v1.cri\"]\nroot = \"{0}/root\"\nstate = \"{0}/state\"\n[grpc]\naddress = \"{0}/socket\"\n",
            folder.display()
        );
        fs::write(folder.join("config.toml"), configuration).unwrap();
        let log = fs::File::create(folder.join("log")).unwrap();
        let mut command = server.command(folder.join("bin/containerd"));
        command.arg("--config").arg(folder.join("config.toml")).stdout(Stdio::null()).stderr(log).process_group(0);
        let daemon = Self(command.spawn().unwrap());
        let began = Instant::now();
        while !folder.join("socket").exists() {
            assert!(began.elapsed() < DEADLINE, "{}", fs::read_to_string(folder.join("log")).unwrap());
            thread::sleep(Duration::from_millis(20));
        }
        daemon
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
