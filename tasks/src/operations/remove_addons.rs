//! Addons that are in the cluster and no more in the list.

use std::collections::BTreeMap;

use kok_crds::listed;
use kok_crds::model::ObjectName;

use super::apply_addon::{functions, remove};
use crate::addons::{AddonRecord, RECORD, stays};
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{KubernetesState, Look, Observations, object_list};
use crate::operations::ready::unanswered;
use crate::resources::Act;
use crate::script::{Content, Fragment};
use crate::shell::quote;

/// Nothing is left of addons that the list has no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoveAddons {
    /// Names of those that it has.
    pub wanted: Vec<String>,
    /// What the cluster's record has of others, as it was seen when the plan was made.
    pub gone: BTreeMap<String, Vec<ObjectName>>,
    /// What of that stays all the same, because others would lose theirs with it. It stays in the record, so that it can be removed later.
    pub kept: BTreeMap<String, Vec<ObjectName>>,
}

impl RemoveAddons {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Kubernetes]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let state = seen!(&seen.kubernetes);
        // A cluster that does not answer, or that there is not yet, may have none.
        if !matches!(state, KubernetesState::Ready { .. }) {
            return match state {
                KubernetesState::Absent => Verdict::Same,
                _ if self.gone.is_empty() => Verdict::Same,
                _ => unanswered(ChangeKind::Remove, state),
            };
        }
        let others = AddonRecord::addons(state).filter(|name| !self.wanted.iter().any(|wanted| wanted == name));
        let names: Vec<&str> = others.filter(|name| !self.has_only_kept(state, name)).collect();
        if names.is_empty() {
            return Verdict::Same;
        }
        let recorded = names.iter().filter_map(|name| Some(AddonRecord::find(state, name)?.objects)).flatten();
        let kept: Vec<ObjectName> = names.iter().flat_map(|name| self.kept_of(name)).cloned().collect();
        let objects: Vec<ObjectName> = recorded.map(|(object, _)| object).filter(|object| !kept.contains(object)).collect();
        Verdict::differs(
            ChangeKind::Remove,
            format!("the list has no longer {}, with {}{}", listed(names), describe_objects(&objects), stays(&kept)),
        )
    }

    fn kept_of(&self, addon: &str) -> &[ObjectName] {
        self.kept.get(addon).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether nothing else is left of an addon than what stays.
    fn has_only_kept(&self, state: &KubernetesState, addon: &str) -> bool {
        let kept = self.kept_of(addon);
        let is_kept = |record: AddonRecord| record.objects.iter().all(|(object, _)| kept.contains(object));
        !kept.is_empty() && AddonRecord::find(state, addon).is_some_and(is_kept)
    }

    /// The record of an addon goes when everything else is gone, or says what has stayed.
    pub(super) fn act(&self, _: &Change) -> Act {
        let mut fragment = Fragment::text(functions());
        for (name, gone) in &self.gone {
            remove(&mut fragment, name, gone);
            if !self.kept_of(name).is_empty() {
                let list = object_list(self.kept_of(name));
                fragment.feed(Content::Bytes(list.as_bytes()), &format!("record_there {} {KEPT}", quote(name)));
                continue;
            }
            let patch = quote(&format!("{{\"data\":{{\"{name}\":null}}}}"));
            fragment.line(&format!("kube -n kube-system patch configmap {RECORD} --type=merge -p {patch} >/dev/null"));
        }
        Act::Script(fragment)
    }

    pub(super) fn title(&self) -> String {
        "addons that are not in the list".to_owned()
    }
}

/// Stands in a record in the place of the sum of a manifest.
const KEPT: &str = "kept";

/// As many as can be read at a glance.
const MOST_NAMED: usize = 12;

/// What goes, by name, and what goes with it.
fn describe_objects(objects: &[ObjectName]) -> String {
    let named = objects.iter().take(MOST_NAMED).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let more = objects.len().saturating_sub(MOST_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let takes_more = |kind: &str, what: &'static str| objects.iter().any(|object| object.kind == kind).then_some(what);
    let takes = [
        takes_more("Namespace", "; with a Namespace goes everything that is in it"),
        takes_more("CustomResourceDefinition", "; with a CustomResourceDefinition go all objects of its kind"),
    ];
    format!("{}: {named}{more}{}", kok_crds::count(objects.len(), "object"), takes.into_iter().flatten().collect::<String>())
}
