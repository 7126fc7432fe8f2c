//! Labels of nodes that are not a user's to say: kokctl gives labels as administrator, so that the API takes them, and others live by them.

use super::Judge;
use crate::Problem;
use crate::model::Host;
use crate::read::ReadHost;
use crate::words::quote;

/// By it kokctl, kubeadm and others know control planes.
const CONTROL_PLANE: &str = "node-role.kubernetes.io/control-plane";

/// What a kubelet writes again whenever it starts (`updateDefaultLabels` of Kubernetes' `pkg/kubelet/kubelet_node_status.go`).
const OF_SYSTEM: [&str; 2] = ["kubernetes.io/os", "beta.kubernetes.io/os"];
const OF_MACHINE: [&str; 2] = ["kubernetes.io/arch", "beta.kubernetes.io/arch"];
const OF_NAME: &str = "kubernetes.io/hostname";

pub(super) fn labels(judge: &mut Judge<'_>, hosts: &[ReadHost<'_>]) {
    for (index, host) in hosts.iter().enumerate().filter_map(|(index, host)| Some((index, host.host.as_ref()?))) {
        for (key, value) in &host.labels {
            if let Some((because, hint)) = wrong(host, key, value) {
                let position = judge.decoder.position(&format!("spec.hosts[{index}].labels.{key}")).unwrap_or(&host.origin).clone();
                let problem =
                    Problem::new(format!("the node {} cannot have the label {}", quote(&host.name), quote(&format!("{key}={value}"))));
                judge.report_at(&position, problem.because(because).hint(hint));
            }
        }
    }
}

/// Why a host can't have a label, and what to do.
fn wrong(host: &Host, key: &str, value: &str) -> Option<(String, &'static str)> {
    let kubelets = |what: &str| format!("its kubelet says it, and writes it again whenever it starts: {what}");
    let machine = ["amd64", "arm64"];
    if key == CONTROL_PLANE && !host.roles.control_plane {
        return Some((
            "it marks control planes, and this host is none".to_owned(),
            "leave it out, or give the host the role `control-plane`",
        ));
    }
    let what = match key {
        OF_NAME if value != host.name => format!("the host's name, {}", quote(&host.name)),
        _ if OF_SYSTEM.contains(&key) && value != "linux" => "`linux`".to_owned(),
        _ if OF_MACHINE.contains(&key) && !machine.contains(&value) => "that of the host's machine".to_owned(),
        _ => return None,
    };
    Some((kubelets(&what), "leave it out"))
}
