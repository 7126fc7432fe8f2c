//! A Service that every node has a port for.

use kok_tests::lab::Lab;
use serde_json::Value;

use super::cluster::node_hosts;
use super::{each, ok};
use crate::lab_support::wait_for;

/// The port, of the range that Kubernetes has for them.
pub const PORT: u16 = 30_080;

/// Each node, asked from each node, leads to the pod on this one; there is no other.
pub fn answers_from_each_to_each(lab: &Lab, node: &str) {
    let hosts = node_hosts(lab);
    for from in &hosts {
        for to in &hosts {
            let ask = format!("curl -s --max-time 5 http://{}:{PORT}/", to.address());
            let mut said = String::new();
            // kube-proxy programs a new Service within a second or so.
            wait_for(&format!("{} answers {} at its port", to.name(), from.name()), 30, || {
                [said] = each(from, [&ask]);
                !said.is_empty()
            });
            let answer: Value = serde_json::from_str(&said).unwrap();
            assert_eq!(answer["node"], node, "{} by {}: {answer}", from.name(), to.name());
        }
        // What answers has to be the Service: the port beside it is nobody's.
        let nobody = format!("! curl -s --max-time 5 http://{}:{}/", hosts[0].address(), PORT + 1);
        ok(from, &nobody);
    }
}
