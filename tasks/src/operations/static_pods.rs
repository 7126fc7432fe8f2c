//! Manifests of etcd, API server, controller manager and scheduler, by kubeadm's own phases.

use super::record::Record;
use super::signing_certificate::after_kubeadm;
use super::tasks_of::TASKS_OF;
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::{Look, Observations, PathState};
use crate::resources::Act;
use crate::script::{Content, Fragment};
use crate::shell::quote;

/// Which static pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Component {
    /// etcd.
    Etcd,
    /// API server, controller manager and scheduler.
    ControlPlane,
}

/// Manifests of a control plane's static pods. The kubelet starts them; here they are only written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaticPods {
    /// Which ones.
    pub component: Component,
    /// Path of kubeadm's configuration on the host.
    pub configuration: String,
    /// Path of the one that is taken instead where etcd has data: a member that was started once must found nothing, should it lose them.
    pub of_member: Option<String>,
    /// Sha256 of the first one.
    pub source: String,
    /// What it was where the cluster had one control plane, and its address was the endpoint: the manifests were the same.
    pub source_alone: Option<String>,
}

/// The processes of the pod before its manifest is written again. After [`TASKS_OF`]. Where containerd does not answer there is nothing to wait for that the
/// next step does not see.
pub(super) const BEFORE: &str = r#"before=$(cat "$manifest" 2>/dev/null || :)
old=
if [ -n "$before" ] && systemctl is-active --quiet kubelet.service; then
  old=$(tasks_of "$program" | while read -r container process; do echo "/proc/$process"; done || :)
fi
"#;

/// The kubelet ends what ran before it starts what is to run. Until then the old one answers, and whoever asked it would take it for the new
/// one. The kubelet notices a manifest within 20 seconds, and gives a pod 30 to end; one that takes longer is left to the step that waits for
/// its successor.
pub(super) const UNTIL_OLD_IS_GONE: &str = r#"if [ -n "$old" ] && [ "$(cat "$manifest")" != "$before" ]; then
  left=60
  for process in $old; do
    while [ -e "$process" ] && [ "$left" -gt 0 ]; do
      left=$((left - 1))
      sleep 1
    done
  done
fi
"#;

/// Where a control plane works, each of its programs says first whether it takes the options that it is to get: with `--version` behind them it reads all of
/// them, its feature gates too, prints that, and ends (Kubernetes, `component-base/version/verflag`; cobra runs it behind the reading of flags). So what a new
/// version has dropped, or somebody has misspelled, is told while the old one runs on, and not by an API server that is gone. It is asked of the image that is
/// to run, where the host has it. An option with a space in it is not among what it reads, for the manifest may have it on several lines; and where the asking
/// itself fails, nothing is said. kubeadm writes the manifests into another folder for that (`KUBEADM_INIT_DRYRUN_DIR`).
const TRIAL: &str = r#"trial() (
  folder=$(mktemp -d /run/kokctl-trial.XXXXXX) || exit 0
  trap 'rm -rf "$folder"' EXIT
  KUBEADM_INIT_DRYRUN_DIR="$folder" kubeadm init phase control-plane all --dry-run --config="$configuration" >/dev/null 2>&1 || exit 0
  for new in "$folder"/*.yaml; do
    name=${new##*/}
    name=${name%.yaml}
    ! cmp -s "$new" "/etc/kubernetes/manifests/$name.yaml" || continue
    image=$(sed -n 's/^ *image: *//p' "$new" | head -n 1)
    /usr/local/bin/ctr -n k8s.io images ls -q 2>/dev/null | grep -qxF -e "$image" || continue
    set --
    while read -r line; do
      case "$line" in
        "- '--"*"'") line=${line#"- '"} line=${line%"'"} ;;
        '- --'*) line=${line#- } ;;
        *) continue ;;
      esac
      case "$line" in *[\ \'\"]*) ;; *) set -- "$@" "$line" ;; esac
    done <"$new"
    /usr/local/bin/ctr -n k8s.io run --rm "$image" "kokctl-trial-$name-$$" "$name" "$@" --version >"$folder/said" 2>&1 </dev/null && continue
    because=$(sed -n -e 's/^Error: //p' -e 's/.*"command failed" err="\(.*\)"$/\1/p' "$folder/said" | head -n 1)
    [ -z "$because" ] || { echo "$name of $image does not take the options that it is to get: $because" >&2; exit 1; }
  done
)
[ -z "$before" ] || trial || exit 1
"#;

/// Where an API server runs, its manifest comes first: controller manager and scheduler may be of no newer version than the one beside them, which they
/// ask (Kubernetes, "Version Skew Policy").
const ONE_BY_ONE: &str = r#"[ -z "$old" ] || kubeadm init phase control-plane apiserver --config="$configuration"
"#;

const THEN_ALL: &str = r#"kubeadm init phase control-plane all --config="$configuration"
"#;

/// Where etcd writes first of all.
pub const MEMBER_DATA: &str = "/var/lib/etcd/member/wal";

/// A link to the certificate of etcd's authority, which lies with the data of a member. The manifest by which a member founds a cluster names it as
/// what other members are judged by, so etcd ends at once where the data were lost, and the link with them. Neither the kubelet nor containerd,
/// which make folders that a pod wants and are not there, would make it.
pub const FOUNDERS_LINK: &str = "/var/lib/etcd/member/kokctl-ca.crt";

/// Made after the manifest: before that one, kubeadm wants the folder empty.
const LINK: &str = r#"if [ -n "$founds" ]; then
  mkdir -p -m 700 /var/lib/etcd/member
  ln -sfn /etc/kubernetes/pki/etcd/ca.crt /var/lib/etcd/member/kokctl-ca.crt
  sync /var/lib/etcd /var/lib/etcd/member
fi
"#;

/// What the manifest of a member says that may found a cluster.
const NEW: &str = "--initial-cluster-state=new";

const ETCD_MANIFEST: &str = "/etc/kubernetes/manifests/etcd.yaml";

impl StaticPods {
    fn files(&self) -> &'static [&'static str] {
        match self.component {
            Component::Etcd => &[ETCD_MANIFEST],
            Component::ControlPlane => &[
                "/etc/kubernetes/manifests/kube-apiserver.yaml",
                "/etc/kubernetes/manifests/kube-controller-manager.yaml",
                "/etc/kubernetes/manifests/kube-scheduler.yaml",
            ],
        }
    }

    fn name(&self) -> &'static str {
        match self.component {
            Component::Etcd => "etcd",
            Component::ControlPlane => "control-plane",
        }
    }

    fn record(&self) -> Record<'_> {
        Record { name: self.name(), source: &self.source, also: self.source_alone.as_deref(), files: self.files() }
    }

    pub(super) fn writes(&self) -> Vec<String> {
        self.files().iter().map(|path| (*path).to_owned()).collect()
    }

    pub(super) fn looks(&self) -> Vec<Look> {
        let mut looks = self.record().looks();
        if self.of_member.is_some() {
            looks.push(Look::Content(ETCD_MANIFEST.to_owned()));
            looks.extend([MEMBER_DATA, FOUNDERS_LINK].map(|path| Look::Path(path.to_owned())));
        }
        looks
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        match self.record().diff(seen) {
            Verdict::Same if self.of_member.is_some() => founds(seen),
            other => other,
        }
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        let write = match self.component {
            Component::Etcd => "kubeadm init phase etcd local --config=\"$configuration\"\n".to_owned(),
            Component::ControlPlane => format!("{TRIAL}{ONE_BY_ONE}{UNTIL_OLD_IS_GONE}{THEN_ALL}{}", after_kubeadm()),
        };
        let until = if self.component == Component::Etcd { UNTIL_OLD_IS_GONE } else { "" };
        let (forget, keep) = (self.record().forget(), self.record().keep());
        let (program, manifest) = match self.component {
            Component::Etcd => ("etcd", ETCD_MANIFEST),
            Component::ControlPlane => ("kube-apiserver", "/etc/kubernetes/manifests/kube-apiserver.yaml"),
        };
        let script = format!(
            "{forget}program={program}\nmanifest={manifest}\n{TASKS_OF}{BEFORE}{}{write}{}{keep}{until}",
            self.choice(),
            if self.of_member.is_some() { LINK } else { "" }
        );
        let mut fragment = Fragment::default();
        fragment.feed(Content::Bytes(script.as_bytes()), &format!("job {}", self.name()));
        Act::Script(fragment)
    }

    /// Only the host knows by then whether its member was started.
    fn choice(&self) -> String {
        let first = format!("configuration={}\n", quote(&self.configuration));
        let of_member = self
            .of_member
            .as_deref()
            .map(|path| format!("founds=yes\nif [ -d {MEMBER_DATA} ]; then configuration={} founds=; fi\n", quote(path)));
        first + &of_member.unwrap_or_default()
    }

    pub(super) fn title(&self) -> String {
        format!("static pods of {}", self.name())
    }
}

/// Whether a member that was started would found a cluster by its manifest, should it lose its data. Earlier versions have left such ones.
fn founds(seen: &Observations) -> Verdict {
    let manifest = seen.contents.get(ETCD_MANIFEST).map(|text| String::from_utf8_lossy(text)).unwrap_or_default();
    if !manifest.contains(NEW) {
        return Verdict::Same;
    }
    let is_linked = *seen!(seen.paths.get(FOUNDERS_LINK)) != PathState::Missing;
    let has_data = *seen!(seen.paths.get(MEMBER_DATA)) != PathState::Missing;
    match (manifest.contains(FOUNDERS_LINK), is_linked) {
        (true, true) => Verdict::Same,
        // Its data were restored by hand, or it has none yet.
        (true, false) => Verdict::differs(ChangeKind::Write, format!("etcd does not start by it, for {FOUNDERS_LINK} is not there")),
        (false, _) if has_data => Verdict::differs(ChangeKind::Write, "by it a member that has lost its data could found another cluster"),
        (false, _) => {
            Verdict::differs(ChangeKind::Write, "it does not keep a member from founding another cluster once it has lost its data")
        }
    }
}
