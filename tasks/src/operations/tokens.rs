//! The end of bootstrap tokens.

use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{KubernetesState, Look, Observations};
use crate::operations::KUBECTL;
use crate::operations::ready::unanswered;
use crate::resources::Act;
use crate::script::Fragment;

/// No token that kokctl made is left, also none of a run that was interrupted. Tokens of others stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoveTokens;

/// Begins the public half of every token that kokctl makes; the three characters behind it are random.
pub const TOKEN_PREFIX: &str = "kok";

impl RemoveTokens {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Kubernetes]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let state = seen!(&seen.kubernetes);
        let KubernetesState::Ready { bootstrap_tokens, .. } = state else {
            // Before there is a cluster there is no token; the step follows those that make one.
            return match state {
                KubernetesState::Absent => Verdict::Same,
                _ => unanswered(ChangeKind::Remove, state),
            };
        };
        if bootstrap_tokens.iter().any(|token| token.name.starts_with(&format!("bootstrap-token-{TOKEN_PREFIX}"))) {
            return Verdict::differs(ChangeKind::Remove, "a bootstrap token of kokctl is left");
        }
        Verdict::Same
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        Act::Script(Fragment::text(format!(
            "{KUBECTL}names=$(kube -n kube-system get secrets --field-selector type=bootstrap.kubernetes.io/token -o name)\n\
             for name in $names; do\n  case $name in secret/bootstrap-token-{TOKEN_PREFIX}*) kube -n kube-system delete --ignore-not-found \"$name\" >/dev/null;; esac\ndone\n"
        )))
    }

    pub(super) fn title(&self) -> String {
        "removal of bootstrap tokens".to_owned()
    }
}
