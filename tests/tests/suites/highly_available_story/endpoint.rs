//! Where what talks to the API is sent: to an endpoint that outlives any one host, and control planes to themselves.

use kok_tests::lab::Lab;

use crate::cluster_support::cluster::{control_planes, kubectl, node_hosts};
use crate::cluster_support::ok;

/// The name that leads each host to its own load balancer.
const BALANCED: &str = "https://lb-apiserver.kubernetes.local:6443";

/// Several control planes, without a load balancer of the user's.
pub fn survives_any_host(lab: &Lab) {
    is_named(lab, BALANCED);
}

/// By everything that is made once for all hosts, and by the kubelets of workers; those of control planes ask their own API server.
pub fn is_named(lab: &Lab, endpoint: &str) {
    let kube_proxy = kubectl(lab, "-n kube-system get configmap kube-proxy -o jsonpath='{.data.kubeconfig\\.conf}'");
    assert_eq!(servers(&kube_proxy), [endpoint], "of kube-proxy");
    let cluster_info = kubectl(lab, "-n kube-public get configmap cluster-info -o jsonpath='{.data.kubeconfig}'");
    assert_eq!(servers(&cluster_info), [endpoint], "of cluster-info");
    let planes: Vec<String> = control_planes(lab).iter().map(|host| host.name().to_owned()).collect();
    for host in node_hosts(lab) {
        let own = format!("https://{}:6443", host.address());
        let expected = if planes.iter().any(|plane| plane == host.name()) { own.as_str() } else { endpoint };
        assert_eq!(servers(&ok(&host, "cat /etc/kubernetes/kubelet.conf")), [expected], "of the kubelet of {}", host.name());
    }
}

fn servers(kubeconfig: &str) -> Vec<&str> {
    kubeconfig.lines().filter_map(|line| line.trim_start().strip_prefix("server: ")).collect()
}
