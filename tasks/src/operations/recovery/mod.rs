//! What a recovery of etcd does on hosts ([`crate::recovery`]). Each step can be cut off anywhere and done again; what was put aside is never written to.

mod keep;
mod new;
mod run;
mod still;

pub use keep::{EndRecovery, KeepData, TakeBack};
pub use new::{NewEtcd, TakeSnapshot};
pub use run::StartAnew;
pub use still::StandStill;

use crate::observe::Observations;

/// Programs of a control plane whose etcd is made anew, those first that write to it.
const PROGRAMS: [&str; 4] = ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd"];

fn manifest(program: &str) -> String {
    format!("/etc/kubernetes/manifests/{program}.yaml")
}

/// Whether a file of a recovery was written by the one of this name.
fn is_of(path: &str, id: &str, seen: &Observations) -> bool {
    seen.contents.get(path).is_some_and(|text| text.trim_ascii() == id.as_bytes())
}
