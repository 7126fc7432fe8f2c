//! Keeping out what was removed without being cleaned.
//!
//! A kubelet's certificate can't be revoked, and a kubelet that is started anew makes its node again. So the cluster keeps the names of hosts that were
//! removed as dead, and admits neither nodes nor requests for certificates by their kubelets (KEP-3488, ValidatingAdmissionPolicy).

use serde_json::{Value, json};

use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::digest::sha256;
use crate::observe::{KubernetesState, Look, Observations};
use crate::operations::KUBECTL;
use crate::operations::ready::unanswered;
use crate::resources::Act;
use crate::script::{Content, Fragment};
use crate::shell::quote;

/// What kokctl keeps in the cluster of its own.
const RECORD: &str = "kokctl-cluster";
const POLICY: &str = "kokctl-removed";
/// The annotation of the record that says by which policy it is used.
const BY: &str = "kokctl.io/removed-by";

/// The names of hosts that are kept out, as the cluster's record has them.
#[must_use]
pub fn kept_out(state: &KubernetesState) -> Vec<&str> {
    let record = state.object("ConfigMap", "kube-system", RECORD);
    record.and_then(|map| map.text("/data/removed")).unwrap_or_default().split_whitespace().collect()
}

/// The kubelet of a host that was removed makes no node, and gets no certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeepOut {
    /// The name of its node.
    pub node: String,
}

/// The kubelet of a host may make its node again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LetIn {
    /// The name of its node.
    pub node: String,
}

impl KeepOut {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Kubernetes]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let state = seen!(&seen.kubernetes);
        if !matches!(state, KubernetesState::Ready { .. }) {
            return unanswered(ChangeKind::Close, state);
        }
        // What was never a node has no certificate; a name that is mistyped keeps nobody out.
        if state.node(&self.node).is_none() {
            return Verdict::Same;
        }
        let record = state.object("ConfigMap", "kube-system", RECORD);
        let by = record.and_then(|map| map.text("/metadata/annotations/kokctl.io~1removed-by"));
        if kept_out(state).contains(&self.node.as_str()) && by == Some(sum().as_str()) {
            return Verdict::Same;
        }
        Verdict::differs(ChangeKind::Close, "its kubelet still has a certificate, and would make its node again")
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        let mut script = Fragment::text(KUBECTL);
        // The record comes last: it says that the rest is there.
        script.feed(
            Content::Bytes(policy().to_string().as_bytes()),
            "kube apply --server-side --force-conflicts --field-manager=kokctl -f - >/dev/null",
        );
        script.line(&recorded(&self.node, &format!(" {}", self.node)));
        Act::Script(script)
    }

    pub(super) fn title(&self) -> String {
        format!("node {} kept out", self.node)
    }
}

impl LetIn {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Kubernetes]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        match seen!(&seen.kubernetes) {
            state if kept_out(state).contains(&self.node.as_str()) => {
                Verdict::differs(ChangeKind::Open, "it was removed as dead, and is kept out since")
            }
            KubernetesState::Ready { .. } | KubernetesState::Absent => Verdict::Same,
            state => unanswered(ChangeKind::Open, state),
        }
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        let mut script = Fragment::text(KUBECTL);
        script.line(&recorded(&self.node, ""));
        Act::Script(script)
    }

    pub(super) fn title(&self) -> String {
        format!("node {} let in", self.node)
    }
}

/// Writes the record without this name, and with `more` at its end. Whoever else writes it meanwhile makes the API refuse this, by its version.
fn recorded(node: &str, more: &str) -> String {
    let (node, more, by) = (quote(node), quote(more), quote(&sum()));
    format!(
        r#"record=$(kube -n kube-system get configmap {RECORD} --ignore-not-found -o jsonpath='{{.metadata.resourceVersion}} {{.data.removed}}')
version=${{record%% *}} names=
[ -n "$record" ] || version=
for name in ${{record#* }}; do [ "$name" = {node} ] || names="$names $name"; done
names="$names"{more}
printf '{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{RECORD}","namespace":"kube-system","resourceVersion":"%s","annotations":{{"{BY}":"%s"}}}},"data":{{"removed":"%s"}}}}\n' "$version" {by} "${{names# }}" |
if [ -n "$version" ]; then kube replace -f - >/dev/null; else kube create -f - >/dev/null; fi"#
    )
}

fn sum() -> String {
    sha256(policy().to_string().as_bytes())
}

/// Both without their parameter admit everybody: a record that is lost keeps nobody out.
fn policy() -> Value {
    let rule = |group: &str, resource: &str| json!({"apiGroups": [group], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": [resource]});
    let expression = "!params.?data.?removed.orValue('').split(' ').exists(name, request.userInfo.username == 'system:node:' + name)";
    let message = "kokctl has removed this node as dead: `kokctl apply` with its host in the file lets it join anew";
    json!({"apiVersion": "v1", "kind": "List", "items": [
        {
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": POLICY},
            "spec": {
                "failurePolicy": "Fail",
                "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
                "matchConstraints": {"resourceRules": [rule("", "nodes"), rule("certificates.k8s.io", "certificatesigningrequests")]},
                "validations": [{"expression": expression, "message": message}],
            },
        },
        {
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": POLICY},
            "spec": {
                "policyName": POLICY,
                "paramRef": {"name": RECORD, "namespace": "kube-system", "parameterNotFoundAction": "Allow"},
                "validationActions": ["Deny"],
            },
        },
    ]})
}
