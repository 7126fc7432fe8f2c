//! Fields that a later version will have: not mistakes of their authors, and not honoured either.

use super::Form;
use crate::Problem;
use crate::tree::Entry;
use crate::words::quote;

/// What has the field, its name, and what to do until then.
const PLANNED: [(&str, &str, &str); 7] = [
    (
        "the spec of a Cluster",
        "apiEndpoint",
        "leave it out: the address of the control plane is the endpoint, and a load balancer of your own can be put before it",
    ),
    ("the spec of a Cluster", "etcd", "leave it out: etcd runs beside the API server"),
    (
        "the spec of a Cluster",
        "containerRuntime",
        "leave it out: containerd is installed, and `spec.vars` has its settings (`containerd_*`)",
    ),
    ("the spec of a Cluster", "addons", "leave it out, and install them with kubectl or Helm once the cluster runs"),
    ("the spec of a Cluster", "hostResources", "leave it out, or write what `spec.vars` has (`kokctl vars` lists it)"),
    ("a host", "vars", "write what counts for all hosts under `spec.vars`; labels, taints and logins have fields of the host"),
    ("a host", "containerRuntime", "leave it out: containerd is installed on every host"),
];

/// What is wrong with an unknown field that is only early.
pub(super) fn problem(form: &Form, entry: &Entry) -> Option<Problem> {
    let (_, _, hint) = PLANNED.iter().find(|(what, name, _)| *what == form.what && *name == entry.key)?;
    let problem = Problem::new(format!("the field {} is planned, and this version does not honour it", quote(&entry.key)));
    Some(problem.at(&entry.key_position).because("to read over it would make another cluster than the one that is described").hint(*hint))
}
