//! Running generated scripts in the shells that hosts have.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kok_tasks::resources::Act;
use kok_tasks::script::{Fragment, PRELUDE, Part};

/// Debian's and Ubuntu's `sh` is dash, that of RHEL is bash.
pub(crate) const SHELLS: [&[&str]; 2] = [&["dash"], &["bash", "--posix"]];

/// Runs a script as a host does, in the folder `/`, from standard input.
pub(crate) fn run(shell: &[&str], options: &[&str], script: &str) -> Output {
    let mut child = Command::new(shell[0])
        .args(&shell[1..])
        .args(options)
        .env("LC_ALL", "C")
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{} can't be run: {error}", shell[0]));
    let mut input = child.stdin.take().unwrap();
    let text = script.to_owned();
    let writer = std::thread::spawn(move || {
        // A script that ends early leaves the rest unread.
        let _ = input.write_all(text.as_bytes());
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

/// The text of a fragment without secrets, as a batch of a run has it.
pub(crate) fn text_of(fragment: &Fragment) -> String {
    let texts = fragment.parts().iter().map(|part| match part {
        Part::Text(text) => text.as_str(),
        Part::Secret(name) | Part::Digest(name) => panic!("{name} is a secret"),
    });
    format!("{PRELUDE}set -eu\n{}", texts.collect::<String>())
}

/// The script of an act that is one.
pub(crate) fn script_of(act: &Act) -> String {
    text_of(act.script().unwrap())
}

/// What a fragment does, be it by a job.
pub(crate) fn inner_of(parts: &[Part]) -> String {
    let text: String = parts.iter().map(|part| if let Part::Text(text) = part { text.as_str() } else { panic!("{part:?}") }).collect();
    let Some((_, rest)) = text.split_once("base64 -d <<'--END--'") else { return text };
    let body: String = rest.lines().skip(1).take_while(|line| *line != "--END--").collect();
    String::from_utf8(STANDARD.decode(body).unwrap()).unwrap()
}

/// A folder that goes when the test ends.
#[derive(Debug)]
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    /// A program in it. A process of its own writes it: a child that another test starts while this process wrote would hold the file
    /// open for writing until it has become another program, and whoever ran it meanwhile would hear "Text file busy".
    pub(crate) fn program(&self, name: &str, text: &str) {
        let path = self.text(name);
        let output = Command::new("sh").args(["-c", "printf %s \"$2\" >\"$1\" && chmod 755 \"$1\"", "sh", &path, text]).output().unwrap();
        assert!(output.status.success(), "{path}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Names of everything in it.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            std::fs::read_dir(self.root()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}
