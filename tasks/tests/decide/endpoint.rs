//! A load balancer before the API servers that the user runs.

use kok_tasks::observe::{Look, Looks, Observations, parse, probe_script};
use kok_tasks::operations::{EndpointReady, Operation};

use crate::support::world::World;
use crate::support::{cluster_of, nonce, step_id};

const SEVERAL: &str = include_str!("../fixtures/highly-available.yaml");
const BY_ADDRESS: &str = "  apiEndpoint: {address: 192.0.2.100, port: 8443}\n";
const BY_NAME: &str = "  vars:
    loadbalancer_apiserver: {address: 192.0.2.100}
    apiserver_loadbalancer_domain_name: api.example.com
    populate_loadbalancer_apiserver_to_hosts_file: true
    supplementary_addresses_in_ssl_keys: [203.0.113.7, '*.api.example.com']
";

fn converged(more: &str) -> World {
    World::bare_of(cluster_of(&format!("{SEVERAL}{more}"))).converge()
}

#[test]
fn everybody_is_sent_to_it_and_hosts_need_no_load_balancers() {
    let world = converged(BY_ADDRESS);
    let left: Vec<String> = world.plan().changes().map(|(step, change)| format!("{}: {change:?}", step.id)).collect();
    assert!(left.is_empty(), "{left:?}");
    let (plane, worker) = (&world.hosts["cp1"], &world.hosts["worker1"]);
    assert!(!worker.has("/etc/kubernetes/manifests/kokctl-haproxy.yaml"));
    assert!(!worker.text("/etc/hosts").contains("lb-apiserver"), "{}", worker.text("/etc/hosts"));
    let configuration = plane.text("/etc/kubernetes/kokctl/cluster.yaml");
    assert!(configuration.contains("controlPlaneEndpoint: \"192.0.2.100:8443\""), "{configuration}");
}

#[test]
fn it_may_have_a_name_and_certificates_more_names() {
    let world = converged(BY_NAME);
    let hosts = world.hosts["worker1"].text("/etc/hosts");
    assert!(hosts.contains("192.0.2.100 api.example.com\n") && !hosts.contains("lb-apiserver"), "{hosts}");
    let configuration = world.hosts["cp1"].text("/etc/kubernetes/kokctl/cluster.yaml");
    assert!(configuration.contains("controlPlaneEndpoint: \"api.example.com:6443\""), "{configuration}");
    for name in ["192.0.2.100", "203.0.113.7", "*.api.example.com", "api.example.com", "localhost"] {
        assert!(configuration.contains(&format!("\"{name}\"")), "{name}: {configuration}");
    }
}

#[test]
fn names_that_come_later_are_in_new_certificates_and_another_endpoint_is_refused() {
    let mut world = converged("");
    world.cluster = cluster_of(&format!("{SEVERAL}  vars: {{supplementary_addresses_in_ssl_keys: [203.0.113.7]}}\n"));
    let plan = world.plan();
    let changed = |step: &str| plan.changes().any(|(change, _)| change.id.as_str().ends_with(step));
    assert!(changed("pki/apiserver.crt") && !changed("pki/ca.crt"));
    world.cluster = cluster_of(&format!("{SEVERAL}{BY_ADDRESS}"));
    let refused = world.try_plan().unwrap_err().into_iter().map(|refusal| refusal.what).collect::<String>();
    assert!(refused.contains("controlPlaneEndpoint lb-apiserver.kubernetes.local:6443, the file asks for 192.0.2.100:8443"), "{refused}");
}

#[test]
fn kubeadm_asks_nothing_before_it_leads_to_an_api_server() {
    let url = "https://192.0.2.100:8443".to_owned();
    let operation = Operation::EndpointReady(EndpointReady { url: url.clone() });
    let looks: Looks = [Look::ApiEndpoint(url.clone())].into_iter().collect();
    assert!(probe_script(&nonce(), &looks, None).contains("ask_api 'https://192.0.2.100:8443'"));
    let said = |text: &str| {
        let sections =
            [("clock", "1780000000000000000\n5.10 9.99\n"), ("kube-ready", "ok"), (&format!("kube-endpoint {url}"), text), ("end", "")];
        let answer: String = sections.iter().map(|(name, body)| format!("\n{} {name}\n{body}\n", nonce().as_str())).collect();
        let seen: Observations = parse(&nonce(), &looks, answer.as_bytes()).unwrap();
        format!("{:?}", operation.diff(&seen))
    };
    assert!(said("Warning: something\nok").contains("Same"));
    let refused = said("The connection to the server 192.0.2.100:8443 was refused - did you specify the right host or port?");
    assert!(refused.contains("was refused") && !refused.contains("did you"), "{refused}");
    let plan = World::bare_of(cluster_of(&format!("{SEVERAL}{BY_ADDRESS}"))).plan();
    for step in ["uploaded", "addons", "bootstrap-token"] {
        let needs = plan.needs(&step_id("cp1", "control-plane", step));
        assert!(needs.iter().any(|(need, _)| need.id.as_str() == "cp1/control-plane/endpoint"), "{step}");
    }
}
