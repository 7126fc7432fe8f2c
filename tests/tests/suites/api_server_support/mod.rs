//! An API server of the bundle's own programs, with an etcd and nothing else, in a network of its own.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use kok_tests::lab::Lab;
use kok_tests::release::paths::{default_cache, default_output};
use serde_json::Value;
use tempfile::TempDir;

/// It takes five seconds on two slow processors.
const DEADLINE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(100);

/// A blob that is larger is no manifest and no configuration, but the layer.
const LARGEST_DOCUMENT: u64 = 1 << 20;

/// While there is a file of this name in the server's folder, nobody answers.
const AWAY: &str = "away";
/// What runs beside the server where objects are to go with those that they belong to, and with their namespaces.
const MANAGER: &str = "kube-controller-manager";

/// The first process of a PID namespace, which takes the others with it. Nothing but loopback is there to find an address at, so that one
/// is advertised that nobody asks for.
const SETUP: &str = r#"
set -eu
ip link set lo up
cd "$1"
ssh-keygen -q -t ecdsa -m PEM -N '' -f service-account.key
cat >tokens.csv <<END
test,admin,1,system:masters
operator,system:serviceaccount:kubeonkube:kokctl-operator,2,system:serviceaccounts
END
./etcd --data-dir etcd-data --unsafe-no-fsync --log-level error >etcd.log 2>&1 &
serve() {
    ./kube-apiserver --etcd-servers=http://127.0.0.1:2379 --secure-port=6443 --bind-address=127.0.0.1 --cert-dir=certificates \
        --advertise-address=192.0.2.1 --endpoint-reconciler-type=none \
        --service-account-issuer=https://localhost --service-account-key-file=service-account.key \
        --service-account-signing-key-file=service-account.key --token-auth-file=tokens.csv --authorization-mode=RBAC \
        --service-cluster-ip-range=10.0.0.0/24 --disable-admission-plugins=ServiceAccount >>apiserver.log 2>&1 &
    server=$!
}
[ ! -e kube-controller-manager ] || while sleep 0.5; do
    ./kube-controller-manager --kubeconfig=test.conf --leader-elect=false --secure-port=0 \
        --controllers=namespace-controller,garbage-collector-controller >>manager.log 2>&1 || :
done &
server=
while sleep 0.2; do
    if [ -e away ]; then
        [ -z "$server" ] || { kill -9 "$server"; server=; }
    else
        [ -n "$server" ] || serve
    fi
done
"#;

/// The server, until it is dropped.
pub struct ApiServer {
    process: Child,
    folder: TempDir,
    kubectl: PathBuf,
}

/// What kubectl said.
pub struct KubectlOutput {
    pub success: bool,
    pub stdout: String,
    pub stderr: String,
}

impl ApiServer {
    /// Starts it in a network of its own, and waits until it is ready.
    pub fn start() -> Self {
        let mut command = Command::new("unshare");
        command.arg("--net");
        Self::start_by(command, &[])
    }

    /// Starts it in the network of a lab, where it is at a port of loopback.
    pub fn start_in(lab: &Lab) -> Self {
        Self::start_by(lab.command("unshare").unwrap(), &[])
    }

    /// The same where objects go with those that they belong to, and with their namespaces.
    pub fn start_with_controllers(lab: &Lab) -> Self {
        Self::start_by(lab.command("unshare").unwrap(), &[MANAGER])
    }

    /// `unshare` is told all but the network. Some programs besides are put beside the server.
    fn start_by(mut unshare: Command, more: &[&str]) -> Self {
        assert!(rustix::process::geteuid().is_root(), "this test starts an API server in namespaces of its own: run it as root");
        let bundle = bundle();
        let manifest: Value = serde_json::from_str(&fs::read_to_string(bundle.join("bundle.json")).unwrap()).unwrap();
        let path = |list: &str, name: &str| {
            let entry = manifest[list].as_array().unwrap().iter().find(|entry| entry["name"] == name);
            bundle.join(entry.unwrap_or_else(|| panic!("the bundle has no {name}"))["path"].as_str().unwrap())
        };
        let folder = tempfile::tempdir().unwrap();
        for name in ["etcd", "kube-apiserver"].iter().chain(more) {
            unpack(&path("images", name), name, folder.path());
        }
        write_kubeconfig(folder.path(), "test", "default");
        let kubectl = folder.path().join("kubectl");
        fs::copy(path("files", "kubectl"), &kubectl).unwrap();
        executable(&kubectl);
        let process = unshare
            .args(["--pid", "--fork", "--kill-child", "/bin/sh", "-c", SETUP, "sh"])
            .arg(folder.path())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self { process, folder, kubectl };
        server.wait();
        server
    }

    fn wait(&self) {
        let begun = Instant::now();
        while !self.kubectl(&["get", "--raw", "/readyz"], "").success {
            if begun.elapsed() > DEADLINE {
                let log = |name: &str| fs::read_to_string(self.folder.path().join(name)).unwrap_or_default();
                panic!("the API server is not ready after {DEADLINE:?}:\n{}\n{}", log("etcd.log"), log("apiserver.log"));
            }
            thread::sleep(POLL);
        }
    }

    /// A kubeconfig for whoever has this token, in the network of the server.
    pub fn kubeconfig(&self, token: &str, namespace: &str) -> PathBuf {
        write_kubeconfig(self.folder.path(), token, namespace)
    }

    /// Ends it at once, as a crash does; its etcd goes on. Returns when nobody answers.
    pub fn goes_away(&self) {
        fs::write(self.folder.path().join(AWAY), "").unwrap();
        let begun = Instant::now();
        while self.kubectl(&["get", "--raw", "/readyz"], "").success {
            assert!(begun.elapsed() < DEADLINE, "the API server does not end");
            thread::sleep(POLL);
        }
    }

    /// Starts it again, and waits until it is ready.
    pub fn comes_back(&self) {
        fs::remove_file(self.folder.path().join(AWAY)).unwrap();
        self.wait();
    }

    /// Runs kubectl with this text on its standard input.
    pub fn kubectl(&self, arguments: &[&str], input: &str) -> KubectlOutput {
        let mut child = Command::new("nsenter")
            .arg(format!("--net=/proc/{}/ns/net", self.process.id()))
            .arg(&self.kubectl)
            .args(["--server=https://127.0.0.1:6443", "--insecure-skip-tls-verify", "--token=test"])
            .args(arguments)
            .env("HOME", self.folder.path())
            .env_remove("KUBECONFIG")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // It may end without reading, as when the server is not there yet.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        KubectlOutput { success: output.status.success(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }

    /// Standard output of kubectl, which has to succeed.
    pub fn ok(&self, arguments: &[&str], input: &str) -> String {
        let said = self.kubectl(arguments, input);
        assert!(said.success, "kubectl {arguments:?}: {}", said.stderr);
        said.stdout
    }
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The folder of the bundle: that of the environment, or that of the cache.
fn bundle() -> PathBuf {
    let folder = std::env::var_os("KOKCTL_BUNDLE").map_or_else(|| default_output(&default_cache().unwrap()), PathBuf::from);
    assert!(folder.join("bundle.json").is_file(), "{} is no bundle: run `make bundle` first", folder.display());
    folder
}

fn write_kubeconfig(folder: &Path, token: &str, namespace: &str) -> PathBuf {
    let path = folder.join(format!("{token}.conf"));
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: meta\n\
         clusters: [{{name: meta, cluster: {{server: \"https://127.0.0.1:6443\", insecure-skip-tls-verify: true}}}}]\n\
         users: [{{name: meta, user: {{token: {token}}}}}]\n\
         contexts: [{{name: meta, context: {{cluster: meta, user: meta, namespace: {namespace}}}}}]\n"
    );
    fs::write(&path, text).unwrap();
    path
}

/// Takes a program out of an image of one layer.
fn unpack(image: &Path, program: &str, to: &Path) {
    let mut archive = tar::Archive::new(File::open(image).unwrap());
    for blob in archive.entries().unwrap().map(Result::unwrap).filter(|blob| blob.size() > LARGEST_DOCUMENT) {
        let mut layer = tar::Archive::new(blob);
        for mut file in layer.entries().unwrap().map(Result::unwrap) {
            if file.path().unwrap() == Path::new("usr/local/bin").join(program) {
                io::copy(&mut file, &mut File::create(to.join(program)).unwrap()).unwrap();
                return executable(&to.join(program));
            }
        }
    }
    panic!("{} has no {program}", image.display());
}

fn executable(file: &Path) {
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
}
