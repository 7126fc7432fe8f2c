//! Runs of an operator whose steps wait for the test: each is a hook on a bare host, so that what goes wrong does at a step that is known.

pub mod changed;
pub mod deleted;
pub mod ends;
pub mod inputs;
pub mod killed;
pub mod many;
pub mod objects;
pub mod replicas;

use std::time::Instant;

use kok_tests::lab::{Host, Lab};
use serde_json::{Value, json};

use crate::api_server_support::ApiServer;
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::ok;
use crate::lab_support::wait_for;
use crate::operator_story::{NAMESPACE, Operator, object, operate_with, status};

/// Hooks of a round, one after the other.
pub const STEPS: usize = 8;
/// A Lease that nobody renews is free after forty seconds, and is asked for each ten.
pub const TAKEN_OVER: u64 = 75;
/// The operator has heard of something, and has said what it thinks of it.
pub const HEARD: u64 = 30;
/// A round of which nothing has to be waited for is over by then. What there is no kubeconfig of is asked for it three times.
pub const ROUND: u64 = 90;
/// A hook says that it has begun, and ends when the test lets it.
const HOOK: &str = "echo \"$ROUND $NUMBER\" >>/var/log/rounds
until [ \"$NUMBER\" -le \"$(cat /run/round)\" ] 2>/dev/null; do sleep 0.1; done";

/// A meta-cluster with one Cluster, and everything by which it is served.
pub struct OperatorStory<'a> {
    pub lab: &'a Lab,
    pub server: ApiServer,
    pub kokctl: Kokctl<'a>,
}

impl<'a> OperatorStory<'a> {
    /// With the Cluster that the lab is, of which nothing was begun.
    pub fn new(lab: &'a Lab, server: ApiServer) -> Self {
        let story = Self { lab, server, kokctl: Kokctl::new(lab) };
        story.server.ok(&["apply", "-f", "-"], &objects::login(lab, NAMESPACE).to_string());
        story.server.ok(&["apply", "-f", "-"], &objects::cluster(lab, NAMESPACE).to_string());
        story
    }

    /// A replica of the operator, with this port for its health.
    pub fn replica(&self, name: &str, port: u16) -> Operator {
        let namespaces = format!("--namespaces={NAMESPACE},tenant");
        Operator::start_apart(&self.kokctl, &self.server, name, port, &["--accept-new-host-keys", &namespaces])
    }

    /// The host on which the hooks run.
    pub fn host(&self) -> Host {
        self.lab.host("cp1").unwrap()
    }

    /// Describes the hooks of another round, of which none has run.
    pub fn describes(&self, round: &str) {
        let patch = json!({"spec": {"hooks": objects::hooks(round)}}).to_string();
        self.server.ok(&["patch", "kok", self.lab.name(), "--type=merge", "-p", &patch], "");
    }

    /// Begins a round by an operation of its name, which waits in the hook after the first `steps`.
    pub fn begins(&self, round: &str, steps: usize) {
        self.begins_with(round, steps, json!({}));
    }

    /// The same by an operation with these fields besides.
    pub fn begins_with(&self, round: &str, steps: usize, fields: Value) {
        self.describes(round);
        self.lets(steps);
        self.operates(round, fields);
        self.waits_after(round, steps);
    }

    /// Makes an operation that runs the hooks which have not run yet.
    pub fn operates(&self, name: &str, fields: Value) {
        let mut all = json!({"action": "cluster.yml", "extraArgs": "--tags=hooks"});
        all.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        operate_with(&self.server, self.lab, name, all);
    }

    /// Lets so many hooks end.
    pub fn lets(&self, steps: usize) {
        ok(&self.host(), &format!("echo {steps} >/run/round.new && mv /run/round.new /run/round"));
    }

    /// The hooks of a round that have begun, as often as they did.
    pub fn begun(&self, round: &str) -> Vec<usize> {
        let log = ok(&self.host(), "cat /var/log/rounds 2>/dev/null || :");
        let of_round = log.lines().filter_map(|line| line.strip_prefix(round)?.trim().parse().ok());
        of_round.collect()
    }

    /// Waits until the hook after so many has begun, and no other.
    pub fn waits_after(&self, round: &str, steps: usize) {
        wait_for(&format!("hook {} of {round}", steps + 1), ROUND, || self.begun(round).last() == Some(&(steps + 1)));
    }

    /// Lets all hooks of a round end, and waits until its operation has succeeded. Each hook was begun once.
    pub fn ends_well(&self, round: &str, operators: &[&Operator]) -> Value {
        self.lets(STEPS);
        wait_for(&format!("the end of {round}"), ROUND + TAKEN_OVER, || is_over(&status(&self.server, round)));
        let status = status(&self.server, round);
        let logs: String = operators.iter().map(|operator| operator.log()).collect();
        assert_eq!(status["phase"], "Succeeded", "{status:#}\n{logs}");
        assert_eq!(self.begun(round), (1..=STEPS).collect::<Vec<_>>(), "each hook once, in their order: {logs}");
        status
    }

    /// The Lease of the Cluster.
    pub fn lease(&self) -> Value {
        let uid = object(&self.server, "kok", self.lab.name())["metadata"]["uid"].as_str().unwrap().to_owned();
        object(&self.server, "lease", &format!("kokctl-{uid}"))
    }

    /// Which of the replicas attends to an operation, and the others.
    pub fn at_work<'b>(&self, operation: &str, replicas: &'b [Operator]) -> (&'b Operator, &'b Operator) {
        let name = replica(&status(&self.server, operation));
        let (own, others): (Vec<&Operator>, Vec<&Operator>) = replicas.iter().partition(|operator| operator.name() == name);
        (own[0], others[0])
    }

    /// Waits until this replica attends to an operation, as its second attempt. The seconds since then.
    pub fn goes_on(&self, operation: &str, operator: &Operator, since: Instant) -> f64 {
        wait_for(&format!("{} at {operation}", operator.name()), TAKEN_OVER, || {
            let status = status(&self.server, operation);
            replica(&status) == operator.name() && status["attempt"] == 2
        });
        since.elapsed().as_secs_f64()
    }
}

/// The replica that has written a status last.
fn replica(status: &Value) -> String {
    let whole = status["replica"].as_str().unwrap_or_default();
    whole.rsplit_once('_').map_or("", |(name, _)| name).to_owned()
}

/// Whether a status says that its operation has ended.
pub fn is_over(status: &Value) -> bool {
    ["Succeeded", "Failed"].iter().any(|end| status["status"] == *end)
}
