//! API servers that have read with which keys they encrypt, and values in etcd that are written anew with the newest of them.

use super::KUBECTL;
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::encryption::covers;
use crate::observe::{EncryptedValues, Look, Observations};
use crate::resources::Act;
use crate::script::Fragment;
use crate::shell::quote;

/// The API server of the host goes by the keys that stand in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadsEncryption {
    /// For how many seconds it has to have done that, so that nothing is written any more by the file from before; nothing if that does not matter.
    pub settled: Option<u64>,
}

/// No value in etcd is encrypted with another key, and what is to be encrypted is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewriteEncrypted {
    /// The name of the key; nothing, where nothing is to be encrypted.
    pub key: Option<String>,
    /// What is to be encrypted, as the configuration names it.
    pub resources: Vec<String>,
    /// What else may be encrypted still.
    pub others: Vec<String>,
}

/// Every object is patched with nothing. The API server writes an object anew whose value is encrypted with another key than the first, and holds on to the
/// revision that it has read: what somebody else changes meanwhile is his, and written with the new key. Lists come in pages of 100. kubectl asks for each
/// object and then patches it, and is not held back for ten requests: one call of it has five objects, one call comes after the other, and so some dozens
/// of objects are written in a second at the most. Whoever is gone, or was changed, is done; of a
/// kind that is deprecated there are warnings. Where there is no kubectl that lists, nothing is said to be done.
const SCRIPT: &str = r#"kinds() {
  case $1 in
    '*.*') kube api-resources --verbs=list,patch --output=name;;
    '*.'*) kube api-resources --verbs=list,patch --api-group="${1#??}" --output=name;;
    *) printf '%s\n' "$1";;
  esac
}
patch() {
  space=$1
  shift
  [ "$#" -gt 0 ] || return 0
  said=$(kube patch ${space:+"--namespace=$space"} --type=merge --patch='{}' --output=name -- "$kind" "$@" 2>&1 >/dev/null) && return
  said=$(printf '%s\n' "$said" | grep -v -e '(NotFound)' -e '(Conflict)' -e '^Warning: ' | head -n 3)
  [ -z "$said" ] || { printf '%s\n' "$said" >&2; failed=yes; }
}
rewrite() {
  kind=$1 failed=
  { kube get "$kind" --all-namespaces --chunk-size=100 --output='jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name}{"\n"}{end}' || echo failed; } | {
    namespace=
    set --
    while IFS= read -r line; do
      case $line in
        */*) ;;
        *) failed=yes; continue;;
      esac
      if [ "$#" -ge 5 ] || [ "$namespace" != "${line%%/*}" ]; then
        patch "$namespace" "$@"
        set --
      fi
      namespace=${line%%/*}
      set -- "$@" "${line#*/}"
    done
    patch "$namespace" "$@"
    [ -z "$failed" ]
  }
}
for resource in $resources; do
  kinds=$(kinds "$resource")
  for kind in $kinds; do rewrite "$kind" || exit 1; done
done
"#;

impl ReadsEncryption {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::EncryptionKeys, Look::EncryptionRead]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let (keys, read) = (seen!(&seen.encryption_keys), seen!(&seen.encryption_read));
        let wait = |because: String| Verdict::differs(ChangeKind::Wait, because);
        match (&read.digest, read.age_seconds) {
            (None, _) => wait("its API server does not say which keys it has read".to_owned()),
            (Some(digest), _) if *digest != keys.digest => {
                wait("its API server has not read its keys anew, which it does within a minute".to_owned())
            }
            (Some(_), age) => match self.settled.filter(|settled| age.is_none_or(|age| age < *settled)) {
                Some(settled) => wait(format!("what was asked of its API server before it read its keys may go on for up to {settled} s")),
                None => Verdict::Same,
            },
        }
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        Act::Wait
    }

    pub(super) fn title(&self) -> String {
        "API server goes by its keys to encrypt with".to_owned()
    }
}

/// The name of the key in a mark: `k8s:enc:PROVIDER:v1:KEY:`.
pub(crate) fn key_of(mark: &str) -> &str {
    mark.split(':').nth(4).unwrap_or(mark)
}

impl RewriteEncrypted {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::EncryptedValues]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        match self.left(seen!(&seen.encrypted_values)) {
            None => Verdict::Same,
            Some(left) => Verdict::differs(ChangeKind::Write, left),
        }
    }

    /// How many values are encrypted with other keys than this one, and with which, or are not and should be; or that nobody knows.
    fn left(&self, values: &EncryptedValues) -> Option<String> {
        let values = match values {
            Err(reason) => return Some(format!("etcd does not say what its values are encrypted with: {reason}")),
            Ok(values) => values,
        };
        let is_other = |mark: &str| self.key.as_deref() != Some(key_of(mark));
        let others = values.encrypted.iter().filter(|(mark, _)| is_other(mark));
        let others: Vec<String> = others.map(|(mark, count)| format!("{count} with {}", key_of(mark))).collect();
        let others = (!others.is_empty()).then(|| format!("values in etcd are encrypted with other keys: {}", others.join(", ")));
        let is_asked = |resource: &str| self.key.is_some() && self.resources.iter().any(|pattern| covers(pattern, resource));
        let plain = values.plain.iter().filter(|(resource, _)| is_asked(resource));
        let plain: Vec<String> = plain.map(|(resource, count)| format!("{count} {resource}")).collect();
        let plain = (!plain.is_empty()).then(|| format!("values in etcd are not encrypted: {}", plain.join(", ")));
        let left: Vec<String> = others.into_iter().chain(plain).collect();
        (!left.is_empty()).then(|| left.join("; "))
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        let resources: Vec<&str> = self.resources.iter().chain(&self.others).map(String::as_str).collect();
        let mut fragment = Fragment::text(KUBECTL);
        // No name of a resource has blanks in it, and none is a pattern: the shell takes it apart without looking for files.
        fragment.line(&format!("set -f\nresources={}", quote(&resources.join(" "))));
        fragment.line(SCRIPT);
        Act::Script(fragment)
    }

    pub(super) fn title(&self) -> String {
        match &self.key {
            Some(key) => format!("what is encrypted in etcd is encrypted with {key}"),
            None => "nothing in etcd is encrypted".to_owned(),
        }
    }
}
