//! A meta-cluster without hosts, and the operator that serves it: both in the network of a lab.

pub mod declared;
pub mod scheduled;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use kok_tests::lab::Lab;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::api_server_support::ApiServer;
use crate::cluster_support::kokctl::{Kokctl, program};
use crate::lab_support::wait_for;

/// Where everything of the clusters is.
pub const NAMESPACE: &str = "kubeonkube";
/// An API server answers within this time, and whoever watches it hears of everything.
const SOON: u64 = 30;
/// Linux counts the time of a process in these, of which a second has as many.
const TICKS: f64 = 100.0;

/// A meta-cluster with what `kokctl operator manifests` prints: the definitions, and the roles that the operator has.
pub fn meta_cluster(lab: &Lab) -> ApiServer {
    prepared(ApiServer::start_in(lab))
}

/// The same where objects go with those that they belong to, and with their namespaces.
pub fn meta_cluster_with_controllers(lab: &Lab) -> ApiServer {
    prepared(ApiServer::start_with_controllers(lab))
}

fn prepared(server: ApiServer) -> ApiServer {
    server.ok(&["apply", "--server-side", "-f", "-"], &manifests("definitions"));
    for kind in ["clusters", "clusteroperations"] {
        server.ok(&["wait", "--for=condition=Established", "--timeout=20s", &format!("crd/{kind}.kubeonkube.clay.io")], "");
    }
    manifests_are_taken(&server);
    // The namespace of Events comes a moment after the server.
    let operator = manifests("operator");
    wait_for("the roles", SOON, || server.kubectl(&["apply", "--validate=strict", "-f", "-"], &operator).success);
    server
}

/// A part of what kokctl prints for this namespace.
fn manifests(part: &str) -> String {
    let output = Command::new(program()).args(["operator", "manifests", "--namespace", NAMESPACE, "--only", part]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// What is meant for a meta-cluster with nodes is right, and its pods would be admitted. The namespace of Events comes a moment after the server.
fn manifests_are_taken(server: &ApiServer) {
    let apply = || server.kubectl(&["apply", "--validate=strict", "-k", root().join("deploy/manifests").to_str().unwrap()], "");
    let mut warned = false;
    wait_for("the manifests", SOON, || {
        let said = apply();
        warned |= said.stderr.contains("would violate PodSecurity");
        said.success
    });
    assert!(!warned);
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A file of the source tree.
pub fn source(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// An operator, until it is dropped.
pub struct Operator {
    process: Child,
    name: String,
    log: PathBuf,
    state: PathBuf,
}

impl Operator {
    /// Starts it with what is in deploy/manifests, as the ServiceAccount of those.
    pub fn start(kokctl: &Kokctl<'_>, server: &ApiServer, name: &str) -> Self {
        Self::start_with(kokctl, server, name, &[])
    }

    /// Starts it with other arguments besides.
    pub fn start_with(kokctl: &Kokctl<'_>, server: &ApiServer, name: &str, more: &[&str]) -> Self {
        Self::start_at(kokctl, server, name, (kokctl.folder().join("state/kokctl"), 8081), more)
    }

    /// Starts one with a state of its own, as each replica in a pod has it, and with this port for its health.
    pub fn start_apart(kokctl: &Kokctl<'_>, server: &ApiServer, name: &str, port: u16, more: &[&str]) -> Self {
        Self::start_at(kokctl, server, name, (kokctl.folder().join("states").join(name), port), more)
    }

    fn start_at(kokctl: &Kokctl<'_>, server: &ApiServer, name: &str, (state, port): (PathBuf, u16), more: &[&str]) -> Self {
        let kubeconfig = server.kubeconfig("operator", NAMESPACE);
        let log = kokctl.folder().join(format!("{name}.log"));
        let (bundle, health) = (kokctl.bundle().to_str().unwrap(), format!("127.0.0.1:{port}"));
        let arguments = ["operator", "--kubeconfig", kubeconfig.to_str().unwrap(), "--bundle", bundle, "--identity", name];
        let places = ["--state", state.to_str().unwrap(), "--health", &health];
        let mut command = kokctl.command(&[&arguments[..], &places, more].concat());
        let process = command.stdout(Stdio::null()).stderr(File::create(&log).unwrap()).spawn().unwrap();
        Self { process, name: name.to_owned(), log, state }
    }

    /// What it is called in the status of an operation, before the rest of its identity.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The folders of its runs, in the order in which they began.
    pub fn runs(&self) -> Vec<PathBuf> {
        let runs = fs::read_dir(self.state.join("kubeonkube/kokctl/runs"));
        let mut runs: Vec<PathBuf> = runs.into_iter().flatten().map(|run| run.unwrap().path()).collect();
        runs.sort_unstable();
        runs
    }

    /// Memory that it has by now, in kB.
    pub fn memory(&self) -> u64 {
        self.kilobytes("VmHWM")
    }

    /// What the kernel says of its memory under this word, in kB.
    pub fn kilobytes(&self, word: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find(|line| line.split(':').next() == Some(word)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// For how long it has had a processor so far, in seconds.
    pub fn processor_time(&self) -> f64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.process.id())).unwrap();
        // Its name, which may have spaces, ends with the last bracket.
        let fields = stat.rsplit(')').next().unwrap().split_whitespace().skip(11).take(2);
        fields.map(|field| field.parse::<f64>().unwrap()).sum::<f64>() / TICKS
    }

    /// Has it stand still, as a machine does that is moved.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// Has it go on.
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).unwrap();
    }

    /// Ends it as a crash does.
    pub fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Ends it as Kubernetes ends a pod, and waits until it has.
    pub fn terminate(self) {
        self.is_to_end();
        self.ends();
    }

    /// Asks it to end, as Kubernetes does.
    pub fn is_to_end(&self) {
        self.signal(Signal::TERM);
    }

    /// Waits until it has ended in good order.
    pub fn ends(mut self) {
        wait_for("the end of the operator", SOON, || self.process.try_wait().unwrap().is_some());
        assert!(self.process.wait().unwrap().success(), "{}", self.log());
    }

    /// What it logged so far.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("what {} logged:\n{}", self.name, fs::read_to_string(&self.log).unwrap_or_default());
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A cluster that kubectl asks as its administrator.
pub trait Kubectl {
    /// Standard output of kubectl, which has to succeed.
    fn ok(&self, arguments: &[&str], input: &str) -> String;
}

impl Kubectl for ApiServer {
    fn ok(&self, arguments: &[&str], input: &str) -> String {
        Self::ok(self, arguments, input)
    }
}

/// An object as JSON.
pub fn object(server: &impl Kubectl, kind: &str, name: &str) -> Value {
    serde_json::from_str(&server.ok(&["get", kind, name, "-n", NAMESPACE, "-o", "json"], "")).unwrap()
}

/// The status of an operation.
pub fn status(server: &impl Kubectl, name: &str) -> Value {
    object(server, "kokop", name)["status"].clone()
}

/// Whether a condition says so.
pub fn condition<'a>(conditions: &'a Value, kind: &str) -> Option<&'a Value> {
    conditions.as_array()?.iter().find(|condition| condition["type"] == kind)
}

/// Makes an operation for this playbook.
pub fn operate(server: &ApiServer, lab: &Lab, name: &str, playbook: &str) {
    operate_with(server, lab, name, json!({"action": playbook}));
}

/// Makes an operation with these fields of its spec.
pub fn operate_with(server: &ApiServer, lab: &Lab, name: &str, fields: Value) {
    let mut spec = json!({"cluster": lab.name(), "actionType": "playbook"});
    spec.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let kind = ("kubeonkube.clay.io/v1alpha1", "ClusterOperation");
    let object = json!({"apiVersion": kind.0, "kind": kind.1, "metadata": {"name": name}, "spec": spec});
    server.ok(&["create", "--validate=strict", "-f", "-"], &object.to_string());
}

/// Waits until an operation is over, and has succeeded.
pub fn succeeds(server: &ApiServer, operator: &Operator, name: &str, seconds: u64) -> Value {
    wait_for(&format!("the end of {name}"), seconds, || ["Succeeded", "Failed"].iter().any(|end| status(server, name)["status"] == *end));
    let status = status(server, name);
    assert_eq!(status["phase"], "Succeeded", "{status:#}\n{}", operator.log());
    status
}
