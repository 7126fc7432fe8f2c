//! What kubelets say of their nodes.

use kok_tests::lab::{Host, Lab};

use super::cluster::{control_planes, node_hosts};
use super::ok;
use crate::lab_support::wait_for;

/// A kubelet that starts may say at first that its node is not Ready, for its runtime has not answered yet, and says the next word after 10 s (its
/// `nodeStatusUpdateFrequency`). So what was said before it started does not count.
pub fn say_that_they_are_ready(lab: &Lab) {
    for host in node_hosts(lab) {
        wait_for(&format!("the kubelet of {} says that it is Ready", host.name()), 60, || has_said_so(lab, &host));
    }
}

fn has_said_so(lab: &Lab, host: &Host) -> bool {
    let condition = "{range .status.conditions[?(@.type==\"Ready\")]}{.status} {.lastHeartbeatTime}{end}";
    let ask = format!("kubectl --kubeconfig /etc/kubernetes/admin.conf get node {} -o jsonpath='{condition}' 2>&1 || :", host.name());
    let said = ok(&control_planes(lab).remove(0), &ask);
    let Some(at) = said.strip_prefix("True ") else { return false };
    let since = "$(systemctl show -p ActiveEnterTimestamp --value kubelet.service)";
    ok(host, &format!("[ \"$(date -d '{at}' +%s)\" -ge \"$(date -d \"{since}\" +%s)\" ] && echo since || :")) == "since"
}
