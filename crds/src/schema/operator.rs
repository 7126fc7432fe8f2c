//! What `kokctl operator` is told by objects, and what it writes into them.

use serde_json::{Value, json};

use super::cluster::reference;
use super::property::{Property, fields, integer, map, property, text, texts, time, word};
use super::rule;
use crate::objects::operator::{
    APPROVALS, DELETION_DEADLINES, DELETION_POLICIES, DRIFT_POLICIES, INTERVAL, MODES, OF_CLUSTER, OF_OPERATION,
};

/// Operations and hosts that a status names at the most.
const MOST_NAMED: u32 = 200;

/// How the operator serves a Cluster.
pub(super) fn of_cluster() -> Property {
    let properties = vec![
        word(
            "mode",
            "Whether the cluster is changed by operations alone (`OnDemand`, the default), or whenever it is described otherwise (`Declarative`).",
            &MODES,
        ),
        word(
            "approval",
            "Whether the plans of operations that the operator makes by itself wait until somebody approves them (`Manual`), or not (`Auto`, the default).",
            &APPROVALS,
        ),
        property("suspend", "Whether nothing is begun; a run that is under way ends.", json!({"type": "boolean"})),
        text("driftInterval", "How often it is looked whether the hosts differ from their description, from `1m`; `10m` by default.")
            .with("pattern", INTERVAL)
            .with("maxLength", 20),
        word(
            "driftPolicy",
            "Whether the status tells of what differs (`Observe`, the default), or it is mended, too (`Repair`). Without `mode: Declarative` nobody looks unless this is written.",
            &DRIFT_POLICIES,
        ),
        word(
            "deletionPolicy",
            "Whether the hosts of a Cluster that is deleted are left as they are (`Orphan`, the default), or taken down before (`Reset`).",
            &DELETION_POLICIES,
        ),
        integer(
            "deletionDeadlineSeconds",
            "How long they may take for that until the Cluster goes without them; 1800 by default.",
            DELETION_DEADLINES.0,
            DELETION_DEADLINES.1,
        ),
        reference("knownHostsRef", "ConfigMap with the hosts' keys under `known_hosts`; by default NAME-known-hosts."),
        reference(
            "filesRef",
            "ConfigMap with files that the cluster names, such as manifests of addons: a path is a key of it, with `__` for each `/`.",
        ),
        reference("secretFilesRef", "Secret with such files, for those that are secret."),
    ];
    property("operator", "How `kokctl operator` serves the cluster; nothing else reads it.", map(&fields(&OF_CLUSTER), &[], properties))
        .with("x-kubernetes-validations", cluster_rules())
}

/// What the words of one field can't say.
fn cluster_rules() -> Vec<Value> {
    let repairs = "has(self.driftPolicy) && self.driftPolicy == 'Repair'";
    vec![
        rule(
            &format!("!({repairs}) || (has(self.mode) && self.mode == 'Declarative')"),
            "`driftPolicy: Repair` needs `mode: Declarative`: write that, or `driftPolicy: Observe`",
        ),
        rule(
            "!has(self.driftInterval) || (duration(self.driftInterval) >= duration('1m') && duration(self.driftInterval) <= duration('168h'))",
            "`driftInterval` is a time from `1m` to `168h`, as in `10m`",
        ),
    ]
}

/// How the operator carries out an operation.
pub(super) fn of_operation() -> Property {
    let retries =
        integer("retries", "How often it is tried again where hosts can't be reached and nothing was changed; 5 by default.", 0, 10);
    let approval =
        word("approval", "Whether each plan waits until somebody approves it (`Manual`), or not (`Auto`, the default).", &APPROVALS);
    let dry_run = property("dryRun", "Whether the plan is only shown.", json!({"type": "boolean"}));
    let properties = vec![approval, dry_run, retries];
    property("operator", "How `kokctl operator` carries it out; nothing else reads it.", map(&fields(&OF_OPERATION), &[], properties))
}

/// What the operator says of a Cluster, with the names of the fields.
pub(super) fn cluster_status() -> (Vec<&'static str>, Vec<Property>) {
    let names = vec![
        "clusterConditions",
        "phase",
        "observedGeneration",
        "hostSummary",
        "hosts",
        "hostKeys",
        "drift",
        "certificates",
        "lastError",
        "backupSchedule",
    ];
    let properties = vec![
        conditions(
            "clusterConditions",
            "How it is: Ready, Progressing, InputsReady, HostKeysTrusted, Drifted, HeldByAnother, KubeconfigKept.",
        ),
        word("phase", "How far it is.", &["Pending", "Provisioning", "Ready", "Degraded", "Suspended", "Deleting"]),
        count("observedGeneration", "Version of the spec that this is about."),
        property("hostSummary", "Its hosts in the last run that changed something.", host_summary()),
        property("hosts", "Hosts in trouble.", list(map(&["name", "state", "offeredHostKey"], &["name"], of_host(Vec::new())))),
        property("hostKeys", "Host keys that nobody has compared yet.", host_keys()),
        property("drift", "In what its hosts differ from their description, as the last look at them has it.", drift()),
        property("certificates", "What gives access to it, and for how long.", certificates()),
        last_error(),
        text("backupSchedule", "When its backups are made, as its variables said to the last operation."),
    ];
    (names, properties)
}

fn host_summary() -> Value {
    let numbers =
        [("total", "All."), ("ready", "As they are to be."), ("failed", "On which something failed."), ("unreachable", "Not reached.")];
    let numbers = numbers.into_iter().map(|(name, about)| count(name, about));
    map(&["total", "ready", "failed", "unreachable", "text"], &[], numbers.chain([text("text", "The same in short.")]).collect())
}

fn host_keys() -> Value {
    let digest = text("digest", "What stands for exactly these keys: the annotation kokctl.io/trusted-host-keys with it trusts them.");
    map(&["unknown", "digest"], &[], vec![count("unknown", "How many hosts offer one."), digest])
}

fn drift() -> Value {
    let properties = vec![
        time("checkedAt", "When the hosts were looked at, or a run has made them as they are to be."),
        count("changes", "Steps that would change something; nothing where that could not be found out."),
        texts("steps", "Names of these steps, of twenty at the most."),
    ];
    map(&["checkedAt", "changes", "steps"], &[], properties)
}

fn certificates() -> Value {
    let secret = reference("kubeconfigSecret", "Secret with the administrator's kubeconfig under `value`.");
    let end = time(
        "earliestEnd",
        "When the first certificate ends of its control planes and members of etcd, as they were after the last operation that changed it.",
    );
    map(&["kubeconfigSecret", "earliestEnd"], &[], vec![secret, end])
}

/// What the operator says of an operation, with the names of the fields.
pub(super) fn operation_status() -> (Vec<&'static str>, Vec<Property>) {
    let names = vec![
        "conditions",
        "phase",
        "observedGeneration",
        "run",
        "attempt",
        "replica",
        "invocationsDone",
        "fruitlessAttempts",
        "plan",
        "progress",
        "hosts",
        "inputs",
        "journal",
        "lastError",
    ];
    const PHASES: [&str; 10] =
        ["Pending", "Queued", "Planning", "AwaitingApproval", "Running", "Resuming", "Cancelling", "Succeeded", "Failed", "Cancelled"];
    let of_run = vec![count("done", "Steps done."), count("total", "Steps to be done."), text("now", "The step at work.")];
    let host = map(&["name", "done", "total", "now", "state", "message"], &["name"], of_host(of_run));
    let properties = vec![
        conditions("conditions", "How it is: Accepted, Approved, Reconciling, StateKept, Stalled, Ready."),
        word("phase", "How far it is.", &PHASES),
        count("observedGeneration", "Version of the spec that this is about."),
        text("run", "Name of the run, in the operator's journals."),
        count("attempt", "How often a process has begun it, or gone on with it."),
        text("replica", "Which process has written this, and works on it until it is over."),
        count("invocationsDone", "How many of preHook, the action and postHook, in this order, are done: they are not done again."),
        count("fruitlessAttempts", "Attempts one after the other in which no step was done; of five it has failed."),
        property("plan", "What the last plan changes.", plan()),
        property("progress", "How far the run is.", progress()),
        property("hosts", "Its hosts, those in trouble first.", list(host)),
        property("inputs", "What it is done by.", inputs()),
        property("journal", "What its runs did, step by step.", journal()),
        last_error(),
    ];
    (names, properties)
}

fn plan() -> Value {
    let numbers =
        vec![count("steps", "All steps."), count("changes", "Those that change something."), count("hosts", "Hosts that change.")];
    let texts = [
        text("text", "The same in short."),
        text("digest", "Of a plan that was only shown: what it is approved by, with the annotation kokctl.io/approved-plan."),
        text("ref", "Secret with such a plan under `plan.json`."),
    ];
    map(&["steps", "changes", "hosts", "text", "digest", "ref"], &[], numbers.into_iter().chain(texts).collect())
}

fn progress() -> Value {
    let properties = vec![
        count("done", "Steps done."),
        count("failed", "Steps failed."),
        count("blocked", "Steps not begun, because of one that failed or because of the end."),
        count("total", "Steps to be done."),
        count("percent", "Of a hundred."),
        text("text", "The same in short."),
        texts("now", "Steps at work."),
    ];
    map(&["done", "failed", "blocked", "total", "percent", "text", "now"], &[], properties)
}

fn inputs() -> Value {
    let properties = vec![
        text("secret", "Secret with the Cluster, the inventory and the variables as they were when it began."),
        text("sshSecretResourceVersion", "Version of the Secret with the private key."),
        count("clusterGeneration", "Version of the Cluster's spec."),
        text("versions", "What stands for the versions of everything that the Cluster names."),
    ];
    map(&["secret", "sshSecretResourceVersion", "clusterGeneration", "versions"], &[], properties)
}

fn journal() -> Value {
    let place =
        text("configMap", "Namespace and name of the ConfigMap with the events of each run; `kokctl run show --operation NAME` reads it.");
    map(&["configMap", "bytes"], &[], vec![place, count("bytes", "Length of the last one, packed.")])
}

fn of_host(more: Vec<Property>) -> Vec<Property> {
    let all = vec![
        text("name", "Name of the host."),
        text("state", "How it is."),
        text("message", "What is wrong with it."),
        text("offeredHostKey", "Type and fingerprint of the keys that it offers."),
    ];
    all.into_iter().chain(more).collect()
}

fn list(items: Value) -> Value {
    json!({"type": "array", "items": items, "maxItems": MOST_NAMED})
}

fn count(name: &'static str, about: &str) -> Property {
    property(name, about, json!({"type": "integer", "format": "int64"}))
}

fn last_error() -> Property {
    let properties = vec![
        word("kind", "Who has to do something.", &["Input", "Host", "Incomplete", "Internal"]),
        text("what", "What is wrong."),
        text("at", "Where."),
        text("because", "Why."),
        text("hint", "What to do."),
    ];
    property("lastError", "What went wrong last.", map(&["kind", "what", "at", "because", "hint"], &[], properties))
}

/// Conditions as Kubernetes has them.
fn conditions(name: &'static str, about: &str) -> Property {
    let properties = vec![
        text("type", "What it is about."),
        word("status", "Whether it is so.", &["True", "False", "Unknown"]),
        count("observedGeneration", "Version of the spec that this is about."),
        time("lastTransitionTime", "Since when."),
        text("reason", "Why, in a word."),
        text("message", "Why."),
    ];
    let names = ["type", "status", "observedGeneration", "lastTransitionTime", "reason", "message"];
    property(name, about, json!({"type": "array", "items": map(&names, &["type", "status"], properties)}))
        .with("x-kubernetes-list-type", "map")
        .with("x-kubernetes-list-map-keys", json!(["type"]))
}
