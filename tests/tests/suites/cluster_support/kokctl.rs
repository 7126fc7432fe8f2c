//! Running kokctl in a lab's network.

use std::env;
use std::fs;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use kok_tasks::bundle::Bundle;
use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Lab};
use kok_tests::release::paths::{default_cache, default_output};
use serde_json::Value;
use tempfile::TempDir;

/// More than any single run takes on a busy machine; a run that hangs must not hang the tests.
const DEADLINE_SECONDS: u64 = 420;

/// What a run came to.
#[derive(Debug)]
pub struct KokctlOutput {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// kokctl with a manifest, a bundle and a state folder of its own.
pub struct Kokctl<'a> {
    lab: &'a Lab,
    folder: TempDir,
    bundle: PathBuf,
    /// What `-f` names: the lab's manifest, or an inventory.
    main: PathBuf,
    /// What every verb with it is told besides.
    more: Vec<String>,
    /// Everything that it printed so far.
    transcript: Mutex<String>,
    logs: AtomicBool,
}

impl<'a> Kokctl<'a> {
    /// For this lab, with the lab's own manifest.
    pub fn new(lab: &'a Lab) -> Self {
        assert!(program().is_file(), "{} is not built: run `cargo build --bin kokctl` first", program().display());
        let folder = TempDir::new().unwrap();
        let main = folder.path().join("cluster.yaml");
        let logs = AtomicBool::new(false);
        let kokctl = Self { lab, folder, bundle: bundle(), main, more: Vec::new(), transcript: Mutex::default(), logs };
        kokctl.write_manifest(&lab.inventory(DEFAULT_KUBERNETES_VERSION).unwrap());
        kokctl
    }

    /// From now on with an inventory in a folder of this name, these options, and another bundle.
    pub fn with_inventory(self, folder: &str, more: Vec<String>, bundle: PathBuf) -> Self {
        Self { main: self.folder().join(folder), more, bundle, ..self }
    }

    /// From now on with these options besides.
    pub fn with_options(mut self, more: &[&str]) -> Self {
        self.more.extend(more.iter().map(|option| (*option).to_owned()));
        self
    }

    /// A folder for files of the test.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The bundle that it installs from.
    pub fn bundle(&self) -> &Path {
        &self.bundle
    }

    pub fn manifest(&self) -> PathBuf {
        self.main.clone()
    }

    pub fn write_manifest(&self, text: &str) {
        fs::write(self.manifest(), text).unwrap();
    }

    /// The journal of every run so far.
    pub fn journals(&self) -> String {
        let runs = fs::read_dir(self.folder().join("state/kokctl/runs")).unwrap();
        runs.map(|run| fs::read_to_string(run.unwrap().path().join("events.jsonl")).unwrap()).collect()
    }

    pub fn transcript(&self) -> String {
        self.transcript.lock().unwrap().clone()
    }

    /// Notes output that was read elsewhere.
    pub fn note(&self, text: &str) {
        self.transcript.lock().unwrap().push_str(text);
    }

    /// The program itself, for a caller who watches or kills it: its process id is kokctl's.
    pub fn command(&self, arguments: &[&str]) -> Command {
        self.prepare(self.lab.command(program()).unwrap(), arguments)
    }

    /// The same for a caller who reads what it says on its way: after so many seconds it is ended, and its code is 124.
    pub fn command_within(&self, seconds: u64, arguments: &[&str]) -> Command {
        let mut command = self.lab.command("timeout").unwrap();
        command.arg("--kill-after=5").arg(seconds.to_string()).arg(program());
        self.prepare(command, arguments)
    }

    fn prepare(&self, mut command: Command, arguments: &[&str]) -> Command {
        command.args(arguments).stdin(Stdio::null()).env("XDG_STATE_HOME", self.folder().join("state"));
        // What the tester's own shell has set, and the settings of SSH at home, must not decide.
        command.env("HOME", self.folder());
        command.env_remove("KOKCTL_BUNDLE").env_remove("SSH_AUTH_SOCK").env_remove("KOKCTL_LOG");
        if self.logs.load(Ordering::Relaxed) {
            command.env("KOKCTL_LOG", "trace");
        }
        command
    }

    /// From now on every run writes all that there is to log behind what it prints on standard error.
    pub fn log_everything(&self) {
        self.logs.store(true, Ordering::Relaxed);
    }

    /// Runs it with exactly these arguments, without a terminal.
    pub fn run(&self, arguments: &[&str]) -> KokctlOutput {
        self.run_within(DEADLINE_SECONDS, arguments)
    }

    /// The same where it may take longer.
    pub fn run_within(&self, seconds: u64, arguments: &[&str]) -> KokctlOutput {
        let output = self.command_within(seconds, arguments).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("kokctl prints UTF-8");
        let said = KokctlOutput { code: output.status.code().unwrap_or(-1), stdout: text(&output.stdout), stderr: text(&output.stderr) };
        assert_ne!(said.code, 124, "kokctl {arguments:?} did not end: {said:?}");
        self.note(&said.stdout);
        self.note(&said.stderr);
        said
    }

    /// A verb with the manifest.
    pub fn verb(&self, verb: &str, more: &[&str]) -> KokctlOutput {
        let manifest = self.manifest();
        let mut arguments = vec![verb, "-f", manifest.to_str().unwrap()];
        arguments.extend(self.more.iter().map(String::as_str));
        arguments.extend_from_slice(more);
        self.run(&arguments)
    }

    /// Takes the keys that hosts show for theirs, where the manifest says none.
    pub fn knows_the_hosts(&self) {
        let said = self.run(&["known-hosts", "scan", "--write", "-f", self.manifest().to_str().unwrap()]);
        assert_eq!(said.code, 0, "{said:?}");
    }

    /// `plan` or `apply` with the bundle: its standard output; it has to succeed.
    pub fn converge(&self, verb: &str) -> String {
        self.converge_with(verb, &[])
    }

    /// The same with further options.
    pub fn converge_with(&self, verb: &str, more: &[&str]) -> String {
        let said = self.verb(verb, &[&["--bundle", self.bundle().to_str().unwrap()], more].concat());
        assert_eq!(said.code, 0, "{verb}: {}\n{}", said.stdout, said.stderr);
        said.stdout
    }

    pub fn has_nothing_to_do(&self) {
        let said = self.converge("apply");
        assert_eq!(said, "nothing to do\n", "what there was to do: {}", self.last_journal());
    }

    /// The journal of the newest run: names of runs begin with their time.
    fn last_journal(&self) -> String {
        let runs = fs::read_dir(self.folder().join("state/kokctl/runs")).unwrap();
        let newest = runs.map(|run| run.unwrap().path()).max().unwrap();
        fs::read_to_string(newest.join("events.jsonl")).unwrap()
    }
}

/// Reads events up to the next one of this kind.
pub fn wait_for_event(events: &mut impl BufRead, kind: &str, said: &mut String) -> Value {
    loop {
        let mut line = String::new();
        assert_ne!(events.read_line(&mut line).unwrap(), 0, "apply ended before {kind}: {said}");
        said.push_str(&line);
        let event: Value = serde_json::from_str(&line).unwrap();
        if event["event"] == kind {
            return event;
        }
    }
}

/// The program that Cargo built beside this test.
pub fn program() -> PathBuf {
    // target/debug/deps/cluster-1234 → target/debug/kokctl
    env::current_exe().unwrap().parent().unwrap().parent().unwrap().join("kokctl")
}

pub fn bundle() -> PathBuf {
    let path = default_output(&default_cache().unwrap());
    let index = path.join("bundle.json");
    assert!(index.is_file(), "there is no bundle in {}: run `cargo run -p kok-tests --bin release -- build` first", path.display());
    path
}

/// A program of the bundle, on this machine.
pub fn program_of(bundle: &Path, name: &str) -> PathBuf {
    bundle.join(&index_of(bundle).file(name, DEFAULT_KUBERNETES_VERSION, architecture()).unwrap().path)
}

/// The newest image of this name in the bundle: how it is called, and its archive.
pub fn image_of(bundle: &Path, name: &str) -> (String, PathBuf) {
    let index = index_of(bundle);
    let image = index.newest_image(name, architecture()).unwrap();
    (image.reference.clone(), bundle.join(&image.path))
}

/// The newest archive of this name in the bundle.
pub fn archive_of(bundle: &Path, name: &str) -> PathBuf {
    bundle.join(&index_of(bundle).newest_file(name, architecture()).unwrap().path)
}

fn index_of(bundle: &Path) -> Bundle {
    Bundle::parse(&fs::read_to_string(bundle.join("bundle.json")).unwrap()).unwrap()
}

fn architecture() -> &'static str {
    match env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
