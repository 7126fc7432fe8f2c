//! The objects of an addon, applied by the API server.

use kok_crds::model::{Addon, ObjectName};
use serde_json::{Value, json};

use crate::addons::{AddonRecord, RECORD, SOURCE, line, meant, stays};
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::digest::sha256;
use crate::observe::{ADDON_FUNCTIONS, ADDON_LABEL, KubernetesState, Look, Observations, object_list};
use crate::operations::KUBECTL;
use crate::operations::ready::unanswered;
use crate::resources::Act;
use crate::script::{Content, Fragment};
use crate::shell::quote;

/// An addon, with everything that is in its manifest and nothing that was in an earlier one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplyAddon {
    /// Its name.
    pub name: String,
    /// The names of its objects.
    pub objects: Vec<ObjectName>,
    /// The sum of what is applied.
    pub source: String,
    /// What the cluster's record has of it and its manifest has no more, as it was seen when the plan was made.
    pub gone: Vec<ObjectName>,
    /// The same of what stays all the same, because others would lose theirs with it. It stays in the record, too.
    pub kept: Vec<ObjectName>,
    manifest: Manifest,
}

/// What is applied, in this order. It may hold passwords.
#[derive(Clone, PartialEq, Eq)]
struct Manifest {
    /// What others need to be there: namespaces and definitions of resources.
    first: Vec<Value>,
    rest: Vec<Value>,
}

impl std::fmt::Debug for Manifest {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} and {} objects", self.first.len(), self.rest.len())
    }
}

const DEFINITION: &str = "CustomResourceDefinition";

impl ApplyAddon {
    /// An addon as its manifest has it.
    #[must_use]
    pub fn new(addon: &Addon, gone: Vec<ObjectName>, kept: Vec<ObjectName>) -> Self {
        let (mut first, mut rest, mut names) = (Vec::new(), Vec::new(), [Vec::new(), Vec::new()]);
        for object in &addon.objects {
            let name = meant(addon, object);
            let value = marked(&object.value, &addon.name, name.namespace.as_deref());
            let [of_first, of_rest] = &mut names;
            let (values, names) = if is_first(&object.name) { (&mut first, of_first) } else { (&mut rest, of_rest) };
            values.push(value);
            names.push(name);
        }
        let source = sha256(json!([first, rest]).to_string().as_bytes());
        Self { name: addon.name.clone(), objects: names.concat(), source, gone, kept, manifest: Manifest { first, rest } }
    }

    pub(super) fn looks(&self) -> Vec<Look> {
        [Look::Kubernetes].into_iter().chain(self.objects.iter().cloned().map(Look::AddonObject)).collect()
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let state = seen!(&seen.kubernetes);
        if !matches!(state, KubernetesState::Ready { .. }) {
            return unanswered(ChangeKind::Apply, state);
        }
        let Some(record) = AddonRecord::find(state, &self.name) else {
            return Verdict::differs(ChangeKind::Apply, "the cluster does not have it");
        };
        match &record.source {
            None => return Verdict::differs(ChangeKind::Apply, "it was not applied to its end"),
            Some(source) if *source != self.source => return Verdict::differs(ChangeKind::Apply, self.changed(&record)),
            Some(_) => {}
        }
        let mut wrong: Vec<String> = record
            .objects
            .iter()
            .filter(|(is, _)| self.gone.contains(is))
            .map(|(is, _)| format!("its manifest has {is} no longer"))
            .collect();
        for name in &self.objects {
            match seen!(seen.addon_objects.get(name)) {
                None => wrong.push(format!("{name} does not exist")),
                Some(live) if live.is_going => wrong.push(format!("{name} is being removed")),
                Some(live) if Some(live.sum.as_str()) != record.sum(name) => wrong.push(format!("{name} was changed by somebody else")),
                Some(_) => {}
            }
        }
        match wrong.as_slice() {
            [] => Verdict::Same,
            [one] => Verdict::differs(ChangeKind::Apply, one.clone()),
            [one, others @ ..] => Verdict::differs(ChangeKind::Apply, format!("{one}, and {} more of it are not as applied", others.len())),
        }
    }

    /// Why another manifest is applied than before, and what goes with that.
    fn changed(&self, record: &AddonRecord) -> String {
        let mut gone = record.gone(self.objects.iter());
        gone.retain(|is| !self.kept.contains(is));
        let stays = stays(&self.kept);
        match gone.as_slice() {
            [] => format!("its manifest has changed{stays}"),
            [one] => format!("its manifest has changed, and has {one} no longer{stays}"),
            [one, others @ ..] => format!("its manifest has changed, and has {one} and {} more no longer{stays}", others.len()),
        }
    }

    /// What may be there is recorded before it is, and what was applied afterwards. Where the cluster did not answer when the plan was made,
    /// nobody knows what has left the manifest: it stays in the record, for the next run.
    pub(super) fn act(&self, change: &Change) -> Act {
        let name = quote(&self.name);
        let mut fragment = Fragment::text(functions());
        if change.assumed {
            fragment.line(&format!("recorded_before {name}"));
        }
        let expected: String = self.objects.iter().chain(&self.gone).chain(&self.kept).map(line).collect();
        fragment.feed(Content::Bytes(expected.as_bytes()), &format!("record_addon {name}"));
        for (objects, is_first) in [(&self.manifest.first, true), (&self.manifest.rest, false)] {
            if !objects.is_empty() {
                let list = json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string();
                fragment.feed(Content::Bytes(list.as_bytes()), "apply_addon");
            }
            if is_first {
                established(objects, &mut fragment);
            }
        }
        remove(&mut fragment, &self.name, &self.gone);
        let list = object_list(self.objects.iter().chain(&self.kept));
        let source = quote(&self.source);
        fragment.feed(Content::Bytes(list.as_bytes()), &format!("record_there {name} {source}"));
        Act::Script(fragment)
    }

    pub(super) fn title(&self) -> String {
        format!("addon {}", self.name)
    }
}

/// Waits until the API serves what was defined: kubectl refuses objects of a kind that it does not find there.
fn established(objects: &[Value], fragment: &mut Fragment) {
    for definition in objects.iter().filter(|object| object["kind"] == DEFINITION) {
        let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (name, group, plural) = (text("/metadata/name"), text("/spec/group"), text("/spec/names/plural"));
        fragment.line(&format!("kube wait --for=condition=Established --timeout=60s {} >/dev/null", quote(&format!("crd/{name}"))));
        let versions = definition.pointer("/spec/versions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for version in versions.iter().filter(|version| version["served"] == true) {
            let path = format!("/apis/{group}/{}", version["name"].as_str().unwrap_or_default());
            fragment.line(&format!("served {} {}", quote(&path), quote(plural)));
        }
    }
}

/// Removes those of these objects that have the addon's label, the last first: what needs others comes behind them.
pub(super) fn remove(fragment: &mut Fragment, addon: &str, gone: &[ObjectName]) {
    if !gone.is_empty() {
        let list = object_list(gone.iter().rev());
        fragment.feed(Content::Bytes(list.as_bytes()), &format!("remove_of_addon {}", quote(addon)));
    }
}

/// Namespaces and definitions come before what stands in them, and what is of their kinds.
fn is_first(name: &ObjectName) -> bool {
    name.holds_others()
}

/// The object with our label, in its namespace.
fn marked(value: &Value, addon: &str, namespace: Option<&str>) -> Value {
    let mut value = value.clone();
    let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) else { return value };
    if let Some(namespace) = namespace {
        metadata.insert("namespace".to_owned(), namespace.into());
    }
    let labels = metadata.entry("labels").or_insert_with(|| json!({}));
    if labels.is_null() {
        *labels = json!({});
    }
    if let Some(labels) = labels.as_object_mut() {
        labels.insert(ADDON_LABEL.to_owned(), addon.into());
    }
    value
}

/// Where kubectl's complaints are kept until it is known whether they are any.
const SAID: &str = "/run/kokctl/addon-said";

/// What the scripts of addons share.
///
/// * `recorded_before NAME` keeps what the addon's record has for all that is recorded afterwards.
/// * `record_addon NAME` takes lines and writes them as the addon's record. Each addon has a field manager of its own there, so that one
///   does not remove the record of another.
/// * `record_there NAME SOURCE` takes a list of objects and records those that are there, with the source that they were made from. Where the
///   cluster can't be asked, the record stays as it was: what is not in it is never removed.
/// * `remove_of_addon NAME` takes a list of objects and removes those that have its label. A kind that the API does not know has no objects.
pub(super) fn functions() -> String {
    format!(
        r#"{KUBECTL}{ADDON_FUNCTIONS}apply_addon() {{
  said=$(kube apply --server-side --field-manager=kokctl --force-conflicts -f - 2>&1 >/dev/null) && return
  printf '%s\n' "$said" | sed 's/^error: error validating "STDIN": //; s/; if you choose to ignore.*//' >&2
  exit 1
}}
before=
recorded_before() {{
  before=$(kube -n kube-system get configmap {RECORD} --ignore-not-found -o jsonpath="{{.data.$1}}") || exit 1
  before=$(printf '%s\n' "$before" | sed '/^{SOURCE} /d')
}}
record_there() {{
  there=$(tracked) || exit 1
  {{ printf '{SOURCE} %s\n' "$2"; [ -z "$there" ] || printf '%s\n' "$there" | summed; }} | record_addon "$1"
}}
record_addon() {{
  {{ cat; printf '%s\n' "$before"; }} | kube -n kube-system create configmap {RECORD} --from-file="$1=/dev/stdin" --dry-run=client -o json |
    kube apply --server-side --field-manager="kokctl-addon-$1" --force-conflicts -f - >/dev/null
}}
served() {{
  tries=0
  until kube get --raw "$1" 2>/dev/null | grep -qF "\"name\":\"$2\""; do
    tries=$((tries + 1))
    [ "$tries" -lt 150 ] || {{ echo "the API server does not serve $2 of $1" >&2; exit 1; }}
    sleep 0.2
  done
}}
remove_of_addon() {{
  if ! there=$(tracked 2>{SAID}) && grep -v 'no matches for kind' {SAID} >&2; then exit 1; fi
  rm -f {SAID}
  ours=$(printf '%s\n' "$there" | while read -r version kind path label rest; do
    [ "$label" != "$1" ] || printf '{{"apiVersion":"%s","kind":"%s","metadata":{{"namespace":"%s","name":"%s"}}}}\n' "$version" "$kind" "${{path%%/*}}" "${{path#*/}}"
  done)
  [ -z "$ours" ] || printf '%s\n' "$ours" | kube delete --ignore-not-found --wait --timeout=100s -f - >/dev/null
}}
"#
    )
}
