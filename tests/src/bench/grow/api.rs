//! The API as an administrator asks it from outside of all hosts, so that who watches costs no host a login.

use std::error::Error;
use std::fs;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

use crate::bench::site::Site;
use crate::lab::Host;

/// Fields of an administrator's kubeconfig, and the files that curl has them in.
const FILES: [(&str, &str); 3] =
    [("certificate-authority-data: ", "ca.crt"), ("client-certificate-data: ", "admin.crt"), ("client-key-data: ", "admin.key")];

/// Fine enough beside seconds, and seldom enough not to be felt.
const POLL: Duration = Duration::from_millis(100);
/// An API server that works answers within milliseconds.
const ANSWERED_SECONDS: &str = "2";
/// Longer than that no host takes from an `apply` or a `kubeadm join` to Ready on any machine that is of use.
const DEADLINE: Duration = Duration::from_secs(600);

/// The API of a cluster.
pub(super) struct Api<'a> {
    site: &'a Site,
    /// Of the first control plane, which stays.
    address: String,
}

impl<'a> Api<'a> {
    /// Takes the administrator's key from the first control plane, which has to answer.
    pub(super) fn new(site: &'a Site) -> Result<Self, Box<dyn Error>> {
        let first = site.first()?;
        let kubeconfig = first.ssh(&["cat", "/etc/kubernetes/admin.conf"])?.stdout;
        for (field, file) in FILES {
            let found = kubeconfig.lines().find_map(|line| line.trim_start().strip_prefix(field));
            let data = found.ok_or_else(|| format!("the administrator's kubeconfig has no {field}"))?;
            fs::write(site.path(file), BASE64_STANDARD.decode(data.trim().trim_matches('"'))?)?;
        }
        let api = Self { site, address: first.address() };
        api.get(&api.address, "/readyz").map_err(|why| format!("{}: {why}", first.name()))?;
        Ok(api)
    }

    /// Does some work while it is watched when hosts become Ready, with a network for their pods. Says what came of the work, and when all of them were.
    pub(super) fn watch<T>(
        &self,
        hosts: &[Host],
        work: impl FnOnce() -> Result<T, Box<dyn Error>>,
    ) -> Result<(T, Instant), Box<dyn Error>> {
        let given_up = AtomicBool::new(false);
        thread::scope(|scope| {
            let watcher = scope.spawn(|| self.wait_until_ready(hosts, &given_up));
            let done = work().inspect_err(|_| given_up.store(true, Ordering::Relaxed));
            let ready = watcher.join().map_err(|_| "who watches the API has panicked")?;
            Ok((done?, ready?))
        })
    }

    fn wait_until_ready(&self, hosts: &[Host], given_up: &AtomicBool) -> Result<Instant, String> {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let missing = match self.missing(hosts) {
                Ok(()) => return Ok(Instant::now()),
                Err(missing) => missing,
            };
            if given_up.load(Ordering::Relaxed) || Instant::now() > deadline {
                return Err(missing);
            }
            thread::sleep(POLL);
        }
    }

    /// One question for all nodes, however many are waited for; then one for each API server.
    fn missing(&self, hosts: &[Host]) -> Result<(), String> {
        let nodes: Value = serde_json::from_slice(&self.get(&self.address, "/api/v1/nodes")?).map_err(|error| error.to_string())?;
        if let Some(host) = hosts.iter().find(|host| !is_ready(&nodes, host.name())) {
            return Err(format!("the node {} is not Ready", host.name()));
        }
        // The lab calls control planes so, and nothing else.
        for host in hosts.iter().filter(|host| host.name().starts_with("cp")) {
            self.get(&host.address(), "/readyz")?;
        }
        Ok(())
    }

    /// What an API server answers with 200.
    fn get(&self, address: &str, path: &str) -> Result<Vec<u8>, String> {
        let mut curl = self.site.lab.command("curl").map_err(|error| error.to_string())?;
        curl.args(["--silent", "--show-error", "--fail", "--max-time", ANSWERED_SECONDS]);
        for (option, (_, file)) in ["--cacert", "--cert", "--key"].into_iter().zip(FILES) {
            curl.arg(option).arg(self.site.path(file));
        }
        let url = format!("https://{address}:6443{path}");
        let output = curl.arg(&url).stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
        if output.status.success() { Ok(output.stdout) } else { Err(format!("{url}: {}", String::from_utf8_lossy(&output.stderr).trim())) }
    }
}

/// What flannel's daemon writes at a node when it has taken its subnet.
const HAS_SUBNET: &str = "/metadata/annotations/flannel.alpha.coreos.com~1public-ip";

/// Whether a list of nodes has this one, with the condition Ready and a network for its pods. By hand a node says that it is Ready before it has that, for the
/// CNI configuration is there before flannel's daemon: pods that begin then fail, and are tried again.
fn is_ready(nodes: &Value, name: &str) -> bool {
    let is = |value: &Value, pointer: &str, text: &str| value.pointer(pointer).and_then(Value::as_str) == Some(text);
    let items = nodes.pointer("/items").and_then(Value::as_array).into_iter().flatten();
    let of_node = items.filter(|node| is(node, "/metadata/name", name));
    let with_network = of_node.filter(|node| node.pointer(HAS_SUBNET).is_some());
    let mut conditions = with_network.filter_map(|node| node.pointer("/status/conditions")?.as_array()).flatten();
    conditions.any(|condition| is(condition, "/type", "Ready") && is(condition, "/status", "True"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn only_the_condition_ready_counts_of_nodes_with_a_network() {
        let node = |name: &str, ready: &str, subnet: &str| {
            let conditions = json!([{"type": "PIDPressure", "status": "True"}, {"type": "Ready", "status": ready}]);
            json!({"metadata": {"name": name, "annotations": {subnet: "10.0.0.1"}}, "status": {"conditions": conditions}})
        };
        let subnet = "flannel.alpha.coreos.com/public-ip";
        let without = json!({"metadata": {"name": "c"}, "status": {}});
        let nodes = json!({"items": [node("a", "True", subnet), node("b", "False", subnet), without, node("d", "True", "other")]});
        let ready: Vec<bool> = ["a", "b", "c", "d", "e"].into_iter().map(|name| super::is_ready(&nodes, name)).collect();
        assert_eq!(ready, [true, false, false, false, false]);
    }
}
