//! Cases of bad input, and how each is judged.

pub mod bundle;
pub mod file;
pub mod host;
pub mod login;

use std::cell::RefCell;
use std::path::Path;
use std::time::{Duration, Instant};

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Host, Lab};

use crate::cluster_support::kokctl::{Kokctl, KokctlOutput};
use crate::cluster_support::ok;
use crate::cluster_support::snapshot::{assert_same, fingerprint};

/// Exit codes of kokctl.
pub const INPUT: i32 = 2;
pub const HOST: i32 = 3;

/// Nobody should wait longer to be told that nothing can be done.
const AT_ONCE: Duration = Duration::from_secs(10);

/// One lab with kokctl, and the manifest that would be right.
pub struct Refusals<'a> {
    pub lab: &'a Lab,
    /// The hosts as they have to be after the next refusal.
    before: RefCell<String>,
    pub kokctl: Kokctl<'a>,
    pub manifest: String,
}

/// The parts of one message of kokctl.
#[derive(Debug, Default)]
pub struct Message {
    pub what: String,
    pub at: String,
    pub because: String,
    pub hint: String,
}

/// What a message has to be: `what` and `at` exactly, of the rest a telling part.
pub struct Expected<'a> {
    pub what: &'a str,
    pub at: &'a str,
    pub because: &'a str,
    pub hint: &'a str,
}

impl<'a> Refusals<'a> {
    pub fn new(lab: &'a Lab) -> Self {
        let before = RefCell::new(fingerprint(lab));
        Self { lab, before, kokctl: Kokctl::new(lab), manifest: lab.inventory(DEFAULT_KUBERNETES_VERSION).unwrap() }
    }

    pub fn host(&self, name: &str) -> Host {
        self.lab.host(name).unwrap()
    }

    /// Changes a host by a line of shell, as the test wants to have it.
    pub fn prepare(&self, host: &Host, line: &str) {
        ok(host, line);
        self.before.replace(fingerprint(self.lab));
    }

    /// The right manifest but for one thing.
    pub fn manifest_with(&self, right: &str, wrong: &str) -> String {
        assert!(self.manifest.contains(right), "{right:?} in {}", self.manifest);
        self.manifest.replace(right, wrong)
    }

    /// `apply` of this manifest from the right bundle is refused with these messages, and the hosts stay as they are.
    pub fn refuses(&self, manifest: &str, code: i32, expected: &[Expected<'_>]) {
        self.refuses_from(self.kokctl.bundle(), manifest, code, expected);
    }

    /// The same from another bundle.
    pub fn refuses_from(&self, bundle: &Path, manifest: &str, code: i32, expected: &[Expected<'_>]) {
        self.kokctl.write_manifest(manifest);
        self.refuses_verb(&["--bundle", bundle.to_str().unwrap()], code, expected);
    }

    /// `apply` with these arguments of the manifest as it is.
    pub fn refuses_verb(&self, arguments: &[&str], code: i32, expected: &[Expected<'_>]) {
        let (said, took) = self.timed("apply", arguments);
        assert_quick(took, &said);
        assert_same(&self.before.borrow(), &fingerprint(self.lab), &format!("refused input must not change anything:\n{}", said.stderr));
        assert_refused(&said, code, expected);
    }

    /// A verb with the manifest, and how long it took.
    pub fn timed(&self, verb: &str, arguments: &[&str]) -> (KokctlOutput, Duration) {
        let began = Instant::now();
        (self.kokctl.verb(verb, arguments), began.elapsed())
    }

    /// `apply` of this manifest is refused with one message, about worker1, and the hosts stay as they are.
    pub fn refuses_worker(&self, manifest: &str, code: i32) -> Message {
        self.kokctl.write_manifest(manifest);
        let (said, took) = self.timed("apply", &["--bundle", self.kokctl.bundle().to_str().unwrap()]);
        assert_quick(took, &said);
        assert_same(&self.before.borrow(), &fingerprint(self.lab), &format!("refused input must not change anything:\n{}", said.stderr));
        assert_eq!(said.code, code, "{}\n{}", said.stdout, said.stderr);
        let mut messages = messages(&said.stderr);
        assert_eq!(messages.len(), 1, "{}", said.stderr);
        let message = messages.remove(0);
        assert!(message.at.contains("worker1") && !message.hint.is_empty(), "{}", said.stderr);
        message
    }

    /// Position of a text in the manifest on disk, as messages have it.
    pub fn position(&self, manifest: &str, text: &str) -> String {
        let offset = manifest.rfind(text).unwrap_or_else(|| panic!("{text:?} in {manifest}"));
        let (before, _) = manifest.split_at(offset);
        let (line, column) = (before.matches('\n').count() + 1, before.rsplit('\n').next().unwrap().len() + 1);
        format!("{}:{line}:{column}", self.kokctl.manifest().display())
    }
}

/// What is refused is refused at once.
pub fn assert_quick(took: Duration, said: &KokctlOutput) {
    assert!(took < AT_ONCE, "it took {:.1} s:\n{}", took.as_secs_f64(), said.stderr);
}

pub fn assert_refused(said: &KokctlOutput, code: i32, expected: &[Expected<'_>]) {
    assert_eq!(said.code, code, "{}\n{}", said.stdout, said.stderr);
    assert_eq!(said.stdout, "", "errors belong on standard error");
    let messages = messages(&said.stderr);
    assert_eq!(messages.len(), expected.len(), "{}", said.stderr);
    for (message, expected) in messages.iter().zip(expected) {
        assert_eq!(message.what, expected.what, "{}", said.stderr);
        assert_eq!(message.at, expected.at, "{}", said.stderr);
        assert!(message.because.contains(expected.because), "{:?} in: {}", expected.because, said.stderr);
        assert!(message.hint.contains(expected.hint), "{:?} in: {}", expected.hint, said.stderr);
        // Whatever this test expects: nobody is left without a place and something to do.
        assert!(!message.at.is_empty() && !message.hint.is_empty(), "{}", said.stderr);
    }
}

/// Reads messages back; lines of progress stand before the first.
fn messages(text: &str) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    let mut part = 0;
    for line in text.lines() {
        if let Some(what) = line.strip_prefix("error: ") {
            messages.push(Message { what: what.to_owned(), ..Message::default() });
            continue;
        }
        let Some(message) = messages.last_mut() else { continue };
        for (index, label) in ["     at: ", "because: ", "   hint: ", "         "].into_iter().enumerate() {
            if let Some(more) = line.strip_prefix(label) {
                part = if index == 3 { part } else { index };
                let text = [&mut message.at, &mut message.because, &mut message.hint].into_iter().nth(part).unwrap();
                text.push_str(if index == 3 { "\n" } else { "" });
                text.push_str(more);
            }
        }
    }
    messages
}
