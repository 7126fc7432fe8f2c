//! A script of a user's.

use std::fmt::Write as _;
use std::time::Duration;

use kok_crds::model::{HookPlace, OnFailure, Text};

use super::{Act, Debt};
use crate::change::{ChangeKind, Verdict, seen};
use crate::digest::sha256;
use crate::observe::{Look, Observations, PathState, Piece, ends_well};
use crate::script::{Content, Fragment};
use crate::secret_name::SecretName;
use crate::shell::quote;

/// Where hosts keep which hooks ended well, and in which form.
const RECORDS: &str = "/var/lib/kokctl/hooks";

/// The same of hooks before a host leaves the cluster, which leave nothing on it: `reset` removes the folder, and so does the next start.
const RECORDS_OF_REMOVAL: &str = "/run/kokctl/hooks";

/// What a script may print at the most; the end of it is told.
const MOST_OUTPUT: u32 = 16 << 10;

/// What `timeout` gives a program that was asked to end (timeout(1)).
const GRACE_SECONDS: u32 = 10;

/// A script that ends well, or of which the host says that it need not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    /// Its name: letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// When it runs.
    pub at: HookPlace,
    /// The hosts that it is about, and for which it runs: one, but for those that run once for several.
    pub about: Vec<String>,
    /// Name of the cluster.
    pub cluster: String,
    /// The script.
    pub script: Text,
    /// A path that says by being there that nothing is to be done.
    pub creates: Option<String>,
    /// A command that says by ending well that nothing is to be done.
    pub unless: Option<String>,
    /// How long the script may take.
    pub timeout: Duration,
    /// Variables of its environment.
    pub environment: Vec<(String, String)>,
    /// Variables of its environment that nobody may see.
    pub secrets: Vec<(String, SecretName, Text)>,
    /// Whether what comes after it waits for a failure to be mended.
    pub on_failure: OnFailure,
    /// What it is recorded for beside its text: it runs once for each.
    pub occasion: String,
    /// Where it runs only if it is owed: what says so, which it pays.
    pub owed: Option<Box<Debt>>,
}

impl Hook {
    const fn has_guard(&self) -> bool {
        self.creates.is_some() || self.unless.is_some()
    }

    /// Whether the host keeps a record of it: where nothing else says that it ran, or that it was tried.
    fn is_recorded(&self) -> bool {
        self.owed.is_none() && (!self.has_guard() || self.on_failure == OnFailure::Go)
    }

    fn folder(&self) -> &'static str {
        if self.at == HookPlace::BeforeRemoval { RECORDS_OF_REMOVAL } else { RECORDS }
    }

    fn record(&self) -> String {
        format!("{}/{}", self.folder(), self.name)
    }

    /// What stands in the record: a digest, and only root may read it, for a script may have a password that somebody could guess.
    fn recorded(&self) -> String {
        let mut form = self.script.expose().to_owned();
        for (name, value) in &self.environment {
            let _ = write!(form, "\0{name}={value}");
        }
        format!("{} {}\n", sha256(form.as_bytes()), self.occasion)
    }

    /// The record that a host keeps of it when it has ended well, and what stands in that; nothing where its guard says all that there is to know.
    #[must_use]
    pub fn kept(&self) -> Option<(String, String)> {
        (self.is_recorded() && !self.has_guard()).then(|| (self.record(), self.recorded()))
    }

    fn unless_piece(&self) -> Option<Piece> {
        self.unless.clone().map(Piece::EndsWell)
    }

    pub(super) fn looks(&self) -> Vec<Look> {
        let text = |path: String, text: &str| Look::File { path, expected: Some(sha256(text.as_bytes())) };
        let creates = self.creates.clone().map(Look::Path);
        let unless = self.unless_piece().map(Look::Piece);
        let record = self.is_recorded().then(|| text(self.record(), &self.recorded()));
        let owed = self.owed.iter().flat_map(|debt| debt.looks());
        [creates, unless, record].into_iter().flatten().chain(owed).collect()
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        if let Some(debt) = &self.owed {
            // Its guard is asked when it is paid, so that none stays for another time.
            return match seen!(debt.is_open(seen)) {
                true => Verdict::differs(ChangeKind::Run, "it is owed"),
                false => Verdict::Same,
            };
        }
        if let Some(path) = &self.creates
            && matches!(seen!(seen.paths.get(path)), PathState::Present(_))
        {
            return Verdict::Same;
        }
        if let Some(piece) = self.unless_piece()
            && seen!(seen.pieces.get(&piece)).trim() == "yes"
        {
            return Verdict::Same;
        }
        let mut ran_otherwise = false;
        if self.is_recorded() {
            let record = seen!(seen.paths.get(&self.record()));
            if has_text(record, &self.recorded()) {
                return Verdict::Same;
            }
            ran_otherwise = matches!(record, PathState::Present(_));
        }
        Verdict::differs(ChangeKind::Run, self.because(ran_otherwise))
    }

    fn because(&self, ran_otherwise: bool) -> String {
        match (&self.creates, &self.unless) {
            (Some(path), None) => format!("{path} does not exist"),
            (None, Some(_)) => "its `unless` does not end well".to_owned(),
            (Some(path), Some(_)) => format!("{path} does not exist, and its `unless` does not end well"),
            (None, None) if ran_otherwise => "it has not run in this form, or for this occasion".to_owned(),
            (None, None) => "it has not run".to_owned(),
        }
    }

    pub(super) fn act(&self) -> Act {
        let folder = format!("/run/kokctl/hook-{}", self.name);
        let quoted = quote(&folder);
        let mut fragment = Fragment::text(format!(
            "[ ! -e {quoted} ] || rm -rf {quoted}\nmkdir -p -m 700 /run/kokctl {quoted}\nsaid={}\n\
             trap 'rm -rf -- '{quoted}' \"$said\"' EXIT\n",
            quote(&format!("/var/lib/kokctl/hook-{}.said", self.name)),
        ));
        fragment.put(&format!("{folder}/script"), 0o600, Content::Bytes(self.script.expose().as_bytes()));
        for (name, secret, _) in &self.secrets {
            fragment.put(&format!("{folder}/{name}"), 0o600, Content::Secret(secret));
        }
        fragment.line(&self.run(&folder));
        self.conclude(&mut fragment);
        Act::Script(fragment)
    }

    /// Writes down that it ran, where nothing else says so.
    fn conclude(&self, fragment: &mut Fragment) {
        if let Some(debt) = &self.owed {
            return match debt.paid() {
                Some(text) => fragment.put(debt.path(), 0o644, Content::Bytes(text.as_bytes())),
                None => fragment.line(&format!("rm -f {}", quote(debt.path()))),
            };
        }
        if !self.is_recorded() {
            return;
        }
        if self.has_guard() {
            fragment.line(&format!("if [ \"$status\" = 0 ]; then rm -f {}; else", quote(&self.record())));
        }
        fragment.line(&format!("mkdir -p -m 755 {}", quote(self.folder())));
        fragment.put(&self.record(), 0o600, Content::Bytes(self.recorded().as_bytes()));
        if self.has_guard() {
            fragment.line("fi");
        }
    }

    /// Runs it unless its guard says that there is nothing to do, and says what it said.
    fn run(&self, folder: &str) -> String {
        let failed = match self.on_failure {
            OnFailure::Stop => "exit 1",
            OnFailure::Go => "echo 'kokctl: the run goes on all the same (onFailure: Go)'",
        };
        let afterwards = if self.has_guard() {
            let because = quote(&format!("kokctl: it ended well, and is still to do: {}", self.because(false)));
            format!("[ \"$status\" != 0 ] || nothing_to_do || {{ echo {because}; status=1; }}\n")
        } else {
            String::new()
        };
        format!(
            "nothing_to_do() {{ {}; }}\nstatus=0\nif ! nothing_to_do; then\n{}[ ! -s \"$said\" ] || tail -c {MOST_OUTPUT} \"$said\"\n\
             case $status in 0) ;; 124|137) echo \"kokctl: it took longer than {:?}\" ;; *) echo \"kokctl: it ended with the code $status\" ;; esac\n\
             {afterwards}[ \"$status\" = 0 ] || {failed}\nfi",
            self.guard(),
            self.call(folder),
            self.timeout,
        )
    }

    /// A command that ends well where nothing is to be done.
    fn guard(&self) -> String {
        let creates = self.creates.as_ref().map(|path| format!("[ -e {0} ] || [ -L {0} ]", quote(path)));
        let unless = self.unless.as_ref().map(|command| ends_well(command));
        let all: Vec<String> = creates.into_iter().chain(unless).collect();
        if all.is_empty() { "false".to_owned() } else { all.join(" || ") }
    }

    /// The call, in a shell of its own: no variable of the user's is one of ours, and what it leaves at work keeps nothing open that somebody waits for, neither
    /// what it prints to, nor the locks of the script around it.
    fn call(&self, folder: &str) -> String {
        let mut text = "(\ncd /\n".to_owned();
        let own = [
            ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned()),
            ("KOKCTL_HOOK", self.at.as_str().to_owned()),
            ("KOKCTL_CLUSTER", self.cluster.clone()),
            ("KOKCTL_HOST", self.about.join(" ")),
        ];
        text.push_str("[ ! -f /etc/kubernetes/admin.conf ] || export KUBECONFIG=/etc/kubernetes/admin.conf\n");
        let given = self.environment.iter().map(|(name, value)| (name.as_str(), value.clone()));
        for (name, value) in own.into_iter().chain(given) {
            let _ = writeln!(text, "export {name}={}", quote(&value));
        }
        for (name, ..) in &self.secrets {
            // The last line of a file ends, and a value of the environment does not.
            let path = quote(&format!("{folder}/{name}"));
            let _ = writeln!(text, "{name}=$(cat {path} && echo .)\nexport {name}=\"${{{name}%.}}\"");
        }
        let _ = writeln!(
            text,
            "exec timeout --kill-after={GRACE_SECONDS} {} {} {}\n) </dev/null >\"$said\" 2>&1 8>&- 9>&- || status=$?",
            self.timeout.as_secs(),
            interpreter(self.script.expose()),
            quote(&format!("{folder}/script")),
        );
        text
    }

    pub(super) fn writes(&self) -> Vec<String> {
        if self.is_recorded() { vec![self.record()] } else { Vec::new() }
    }

    /// What it gives out by name.
    pub(super) fn given(&self) -> Vec<(&SecretName, &Text)> {
        self.secrets.iter().map(|(_, name, text)| (name, text)).collect()
    }

    pub(super) fn title(&self) -> String {
        format!("hook {} ({})", self.name, self.at.as_str())
    }
}

fn has_text(is: &PathState, text: &str) -> bool {
    matches!(is, PathState::Present(is) if is.sha256.as_deref() == Some(&sha256(text.as_bytes())))
}

/// The command that runs a script: what its first line names behind `#!`, with one argument at the most, as the kernel has it (execve(2)). The kernel itself
/// does not run it, for `/run` is often mounted with `noexec`.
fn interpreter(script: &str) -> String {
    let first = script.lines().next().and_then(|line| line.strip_prefix("#!")).map(str::trim).filter(|line| !line.is_empty());
    let Some(line) = first else { return "/bin/sh".to_owned() };
    match line.split_once([' ', '\t']) {
        Some((program, argument)) => format!("{} {}", quote(program), quote(argument.trim())),
        None => quote(line),
    }
}

#[cfg(test)]
mod tests {
    use super::interpreter;

    #[test]
    fn the_first_line_says_what_runs_a_script() {
        for (script, expected) in [
            ("echo a\n", "/bin/sh"),
            ("#!/bin/bash\necho a\n", "'/bin/bash'"),
            ("#! /usr/bin/env python3\n", "'/usr/bin/env' 'python3'"),
            ("#!/usr/bin/env -S bash -e\n", "'/usr/bin/env' '-S bash -e'"),
            ("#!/bin/a;b\n", "'/bin/a;b'"),
            ("#!\n", "/bin/sh"),
        ] {
            assert_eq!(interpreter(script), expected, "{script}");
        }
    }
}
