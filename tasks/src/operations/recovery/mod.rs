//! What a recovery of etcd does on hosts ([`crate::recovery`]). Each step can be cut off anywhere and done again; what was put aside is never written to.

mod back;
mod keep;
mod new;
mod run;
mod still;

pub use back::TakeBack;
pub use keep::{EndRecovery, KeepData};
pub use new::{NewEtcd, TakeSnapshot};
pub use run::{ManifestsBack, StartAnew};
pub use still::StandStill;

use crate::observe::{Look, Observations};
use crate::preconditions::ETCD_STARTED;
use crate::recovery::{ASIDE, ENDED, KUBELET, MADE, MANIFESTS, OF, Recovery, STARTED, UNIT_ASIDE, UNIT_STARTED};
use crate::shell::quote;

/// Programs of a control plane whose etcd is made anew, those first that write to it.
const PROGRAMS: [&str; 4] = ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd"];

/// Where etcd is no pod.
const UNIT: &str = "etcd.service";

fn manifest(program: &str) -> String {
    format!("/etc/kubernetes/manifests/{program}.yaml")
}

/// Where it is while it is aside.
fn manifest_aside(program: &str) -> String {
    format!("{MANIFESTS}/{program}.yaml")
}

/// Whether a file of a recovery was written by the one of this name.
fn is_of(path: &str, id: &str, seen: &Observations) -> bool {
    seen.contents.get(path).is_some_and(|text| text.trim_ascii() == id.as_bytes())
}

fn file_looks(path: &str) -> [Look; 2] {
    [Look::Path(path.to_owned()), Look::Content(path.to_owned())]
}

/// What all scripts of a recovery begin with.
///
/// * `says FILE` says whether a file of the recovery has its name.
/// * `say FILE` writes it there, and is done when it is on the disk; whatever was done before has to be there already.
/// * `is_there PATH` says whether anything has this name, be it a link that leads nowhere, as to a disk that is not mounted.
/// * `had_data_back` says again, whole and on the disk, that the member of a unit had data; without that it would be started without them.
fn begin(recovery: &Recovery) -> String {
    let (id, kept) = (quote(&recovery.id), quote(&recovery.kept()));
    format!(
        "id={id}\nkept={kept}\nof={OF}\nkubelet={KUBELET}\naside={ASIDE}\nmade={MADE}\nstarted={STARTED}\nended={ENDED}\nunit_aside={UNIT_ASIDE}\n\
         unit_started={UNIT_STARTED}\nhad_data={ETCD_STARTED}\n{FUNCTIONS}"
    )
}

const FUNCTIONS: &str = r#"says() { [ "$(cat "$1" 2>/dev/null || :)" = "$id" ]; }
say() {
  printf '%s\n' "$id" >"$1.part"
  sync "$1.part"
  mv -f "$1.part" "$1"
  sync "${1%/*}"
}
is_there() { [ -e "$1" ] || [ -L "$1" ]; }
had_data_back() {
  if [ -f "$unit_started" ] && [ ! -e "$had_data" ]; then
    mkdir -p -m 700 "${had_data%/*}"
    cp -p -- "$unit_started" "$had_data.part"
    sync "$had_data.part"
    mv -f -- "$had_data.part" "$had_data"
    sync "${had_data%/*}"
  fi
}
"#;

/// `manifests_back` puts what is aside in its place, for the kubelet to start it; whole, and on the disk. One that is there already stays.
const MANIFESTS_BACK: &str = r#"manifests_back() {
  for manifest in /var/lib/kokctl/recovery/manifests/*.yaml; do
    name=${manifest##*/}
    [ -f "$manifest" ] && [ ! -e "/etc/kubernetes/manifests/$name" ] || continue
    cp -p -- "$manifest" "/etc/kubernetes/manifests/.kokctl-$name"
    sync "/etc/kubernetes/manifests/.kokctl-$name"
    mv -f -- "/etc/kubernetes/manifests/.kokctl-$name" "/etc/kubernetes/manifests/$name"
  done
  [ ! -d /etc/kubernetes/manifests ] || sync /etc/kubernetes/manifests
}
"#;
