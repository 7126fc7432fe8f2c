//! Addresses of both families.

use kok_tests::lab::Lab;
use serde_json::Value;

use crate::cluster_support::cluster::{items, kubectl, kubectl_json};
use crate::cluster_support::{hosts, ok};
use crate::lab_support::wait_for;

/// A Service that has an address of each family and leads to the pods that are on every node since the cluster was found complete.
const SERVICE: &str = r#"
apiVersion: v1
kind: Service
metadata: {name: both}
spec:
  ipFamilyPolicy: RequireDualStack
  selector: {app: echo}
  ports: [{port: 80, targetPort: 8080}]
"#;

fn texts(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|item| item.as_str().unwrap().to_owned()).collect()
}

pub fn nodes_have_addresses(lab: &Lab) {
    let nodes = kubectl_json(lab, "get nodes");
    for node in items(&nodes) {
        let host = lab.host(node["metadata"]["name"].as_str().unwrap()).unwrap();
        let addresses = node["status"]["addresses"].as_array().unwrap().iter().filter(|address| address["type"] == "InternalIP");
        let addresses: Vec<&str> = addresses.map(|address| address["address"].as_str().unwrap()).collect();
        assert_eq!(addresses, [host.address(), host.address_ipv6().unwrap()]);
        assert_eq!(texts(&node["spec"]["podCIDRs"]).len(), 2, "{}", node["spec"]);
    }
}

/// Each pod asks each pod at both of its addresses, and the service at both of its own.
pub fn pods_and_services_answer(lab: &Lab) {
    kubectl(lab, &format!("apply -f - <<'END'\n{SERVICE}\nEND"));
    let pods = kubectl_json(lab, "get pods -l app=echo");
    assert_eq!(items(&pods).len(), hosts(lab).len());
    let service = texts(&kubectl_json(lab, "get service both")["spec"]["clusterIPs"]);
    assert!(matches!(&service[..], [first, second] if !first.contains(':') && second.contains(':')), "{service:?}");
    for asking in items(&pods) {
        let name = asking["metadata"]["name"].as_str().unwrap();
        for asked in items(&pods) {
            let addresses: Vec<String> =
                asked["status"]["podIPs"].as_array().unwrap().iter().map(|ip| ip["ip"].as_str().unwrap().to_owned()).collect();
            assert!(matches!(&addresses[..], [first, second] if !first.contains(':') && second.contains(':')), "{addresses:?}");
            addresses.iter().for_each(|address| answers(lab, name, address, 8080, asked["spec"]["nodeName"].as_str()));
        }
        service.iter().for_each(|address| answers(lab, name, address, 80, None));
    }
    let nobody = check(lab, items(&pods)[0]["metadata"]["name"].as_str().unwrap(), "fd00:10:20::99", 8080);
    assert_eq!(nobody["ok"], false, "the check itself has to be able to fail: {nobody}");
}

/// kube-proxy programs a new Service within a second or so.
fn answers(lab: &Lab, from: &str, address: &str, port: u16, node: Option<&str>) {
    wait_for(&format!("{from} has an answer of {address}"), 30, || {
        let answer = check(lab, from, address, port);
        assert!(answer["ok"] != true || node.is_none_or(|node| answer["node"] == node), "{answer}");
        answer["ok"] == true
    });
}

/// Asks a pod to ask.
fn check(lab: &Lab, pod: &str, address: &str, port: u16) -> Value {
    let host = if address.contains(':') { format!("%5B{address}%5D") } else { address.to_owned() };
    let path = format!("/api/v1/namespaces/default/pods/{pod}:8080/proxy/check?target=http://{host}:{port}/");
    let results: Value = serde_json::from_str(&kubectl(lab, &format!("get --raw '{path}'"))).unwrap();
    results[0].clone()
}

/// Where the API server listens, as the file asks for it.
pub const PORT: u16 = 7443;

/// Its certificate has the host's IPv6 address, and it listens there.
pub fn the_api_server_is_known(lab: &Lab) {
    let host = lab.host("cp1").unwrap();
    let address = host.address_ipv6().unwrap();
    let asked = format!("curl --silent --cacert /etc/kubernetes/pki/ca.crt https://[{address}]:{PORT}/readyz");
    assert_eq!(ok(&host, &asked), "ok");
}
