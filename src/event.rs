//! The one stream of events that terminal, `--json` and journal are fed from.

mod failure_record;
mod stream;
mod trace;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use failure_record::FailureRecord;
pub use stream::{Events, Sink, elapsed};
pub use trace::Trace;

/// Something that happened in a run. Numbered without gaps; times are of the controller.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// Number in the run, from 0.
    pub sequence: u64,
    /// Milliseconds since the run began, by a clock that never goes back.
    pub milliseconds: u64,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What can happen.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum EventKind {
    /// A run begins. The first event of each.
    RunStarted {
        /// Version of the format of events. Fields and events that are added don't change it.
        v: u32,
        /// Name of the run.
        run: String,
        /// The verb.
        verb: String,
        /// The cluster.
        cluster: String,
        /// Wall-clock time, RFC 3339.
        time: String,
        /// Version of kokctl.
        version: String,
        /// `user@machine`.
        who: String,
        /// The part of the cluster that is meant, as options; nothing for the whole.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        part: Option<String>,
    },
    /// Lines of the user's files do nothing here, or there is something to know of them; `kokctl validate` shows each. No host has been
    /// touched.
    FilesNoted {
        /// How many variables that are set do nothing.
        idle: usize,
        /// How much else there is to know.
        notices: usize,
    },
    /// The bundle was read and what is needed of it was compared with its digests.
    BundleVerified {
        /// Bytes that were read.
        bytes: u64,
    },
    /// These hosts are being connected to and probed.
    HostsAwaited {
        /// The hosts.
        hosts: Vec<String>,
    },
    /// A host was connected to and probed.
    HostProbed {
        /// The host.
        host: String,
        /// How long connecting took.
        connect_milliseconds: u64,
        /// How long the probe took.
        probe_milliseconds: u64,
    },
    /// What an earlier run left at work on a host is waited for.
    HostBusy {
        /// The host.
        host: String,
        /// The units of its jobs, if it is any of these.
        jobs: Vec<String>,
    },
    /// A run that was cut off had begun to start the member of etcd of a host anew: it is waited for.
    MemberAwaited {
        /// The host.
        host: String,
        /// For how long at the most.
        within_milliseconds: u64,
    },
    /// A host that was not chosen is asked all the same, because what was chosen can't be decided without it. It is not changed.
    HostAsked {
        /// The host.
        host: String,
        /// The step whose state is to be known.
        step: String,
        /// The step that needs it.
        needed_by: String,
    },
    /// The key of a host was not known, and is trusted from now on, as the user wished.
    HostKeyTrusted {
        /// The host.
        host: String,
        /// The key.
        key: String,
        /// The file it was added to.
        file: String,
    },
    /// Something that stops nothing, and may become a problem.
    Warning(FailureRecord),
    /// The plan is made.
    PlanMade {
        /// All steps.
        steps: usize,
        /// Those that change something.
        changes: usize,
    },
    /// A step is to change something. One event for each, after the plan is made.
    StepPlanned {
        /// Its name.
        step: String,
        /// Its host.
        host: String,
        /// Its task.
        task: String,
        /// What it is.
        title: String,
        /// What it is to do.
        summary: String,
        /// How it is done.
        lane: Lane,
        /// The steps to be done before it; those that change nothing are left out, and what they need stands for them.
        needs: Vec<String>,
    },
    /// The plan is dropped before anything was changed, and made anew.
    PlanDropped {
        /// Why.
        because: String,
    },
    /// The run was refused before anything was changed.
    RunRefused {
        /// The exit code.
        code: u8,
        /// Why.
        failures: Vec<FailureRecord>,
        /// How long that took.
        took_milliseconds: u64,
    },
    /// A snapshot of etcd is being taken.
    SnapshotBegun {
        /// The host of the member.
        host: String,
    },
    /// A snapshot of etcd is here, whole.
    SnapshotTaken {
        /// The file with the key to what it holds, if that is encrypted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        /// The host of the member.
        host: String,
        /// Where it is on this machine.
        path: String,
        /// Its length.
        bytes: u64,
        /// The digest that etcd has put at its end.
        sha256: String,
    },
    /// No snapshot of etcd is taken.
    SnapshotLeftOut {
        /// Why.
        because: String,
    },
    /// Data are lost by what is about to be done, if somebody wants that.
    LossTold {
        /// What is done, and what is lost by it.
        what: String,
    },
    /// The run ends what an earlier run has left at work on hosts that it holds, and takes its place.
    RunTakesOver {
        /// The earlier run, whose it is, and since when it holds hosts.
        from: String,
    },
    /// Hosts lose the mark of an operator that keeps them as its Cluster describes them, and that may be there still.
    ManagerReplaced {
        /// `CLUSTER@NAMESPACE` of it.
        by: String,
        /// The hosts.
        hosts: Vec<String>,
    },
    /// Keys and certificates are made or read.
    SecretsReady {
        /// How many files were made.
        made: usize,
    },
    /// The keys of the cluster are kept in a file on this machine from now on.
    KeysKept {
        /// The file.
        path: String,
        /// The cluster.
        cluster: String,
    },
    /// A step begins.
    StepStarted {
        /// Its name.
        step: String,
        /// Its host.
        host: String,
        /// What it is.
        title: String,
        /// What it does.
        summary: String,
    },
    /// A step waits for something that comes about by itself.
    StepWaiting {
        /// Its name.
        step: String,
        /// Its host.
        host: String,
        /// What it waits for.
        because: String,
        /// What the programs complain of that it waits for, when that has taken long.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_words: Option<String>,
    },
    /// A part of an artifact has been sent.
    StepProgress {
        /// Its name.
        step: String,
        /// Bytes sent so far.
        bytes: u64,
        /// Bytes in all.
        total: u64,
    },
    /// What a script of the user's printed that ended well, or whose failure stops nothing.
    HookSaid {
        /// The step that ran it.
        step: String,
        /// Its host.
        host: String,
        /// The end of it, without secrets.
        said: String,
    },
    /// A step is done, and a second look confirmed it.
    StepDone {
        /// Its name.
        step: String,
        /// Its host.
        host: String,
        /// How long it took.
        took_milliseconds: u64,
    },
    /// A step failed.
    StepFailed {
        /// Its name.
        step: String,
        /// Its host.
        host: String,
        /// Why.
        error: String,
        /// Whether it may have been done all the same: the next run's probe will tell.
        unknown: bool,
    },
    /// A step was not begun.
    StepBlocked {
        /// Its name.
        step: String,
        /// The step that failed.
        by: String,
    },
    /// A host can't be reached and is left out.
    HostLeftOut {
        /// The host.
        host: String,
        /// Why.
        because: String,
    },
    /// The link to a host broke while something was at work there.
    HostLost {
        /// The host.
        host: String,
        /// Why.
        because: String,
    },
    /// A host is reached again, and has said what became of what was at work there.
    HostBack {
        /// The host.
        host: String,
        /// How long that took.
        after_milliseconds: u64,
        /// Whether it was started anew meanwhile.
        restarted: bool,
    },
    /// A step of which nobody had heard is not done, and will be begun again.
    StepRepeated {
        /// Its name.
        step: String,
        /// Its host.
        host: String,
        /// Why nobody had heard of it.
        because: String,
    },
    /// What a step has made would end too soon for steps that are about to use it: it is done again before them.
    StepRenewed {
        /// Its name.
        step: String,
        /// Its host.
        host: String,
        /// Why it is done again.
        because: String,
    },
    /// Nothing new is begun any more.
    RunStopping {
        /// Why.
        because: String,
        /// Steps at work that are waited for.
        awaited: Vec<String>,
    },
    /// The run leaves what is at work on hosts to itself.
    RunLeft {
        /// These steps: the next run's probe will tell what became of them.
        in_doubt: Vec<String>,
    },
    /// What is kept of the journal does not have all of it, for it was too long. No run tells this: it stands in the copy.
    StepsLeftOut {
        /// Steps that were done.
        done: usize,
        /// Steps that were not begun.
        not_begun: usize,
    },
    /// The run is over.
    RunFinished {
        /// Steps done.
        done: usize,
        /// Steps failed.
        failed: usize,
        /// Steps not begun.
        blocked: usize,
        /// Why it was ended before its end, if it was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stopped: Option<String>,
        /// The hosts on which something failed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        failed_hosts: Vec<String>,
        /// How many steps of each host were not begun.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        not_begun: BTreeMap<String, usize>,
        /// How long the run took.
        took_milliseconds: u64,
    },
}

/// Version of the format of events.
pub const FORMAT: u32 = 1;

/// How a step is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lane {
    /// By a script; on one host they run one after the other.
    Script,
    /// By a stream of bulk data; one at a time on one host.
    Stream,
    /// Not at all: it is waited for.
    Wait,
}
