//! The DNS cache of each node, as pods see it.

use std::fs;

use kok_tests::lab::{Host, Lab};
use serde_json::Value;

use super::cluster::{kubectl, node_hosts};
use super::kokctl::Kokctl;
use super::ok;
use crate::lab_support::wait_for;

const ADDRESS: &str = "169.254.25.10";

/// Asks for names, on a worker.
const POD: &str = r#"{apiVersion: v1, kind: Pod, metadata: {name: asking}, spec: {nodeName: worker1, terminationGracePeriodSeconds: 1, containers: [
  {name: echo, image: "ghcr.io/kokctl/echo:0.1.0", args: [serve, --listen, ":8089"], readinessProbe: {httpGet: {path: /healthz, port: 8089}, periodSeconds: 1}}]}}"#;

/// The API server: whoever finds it and speaks no TLS is told so.
const KNOWN: &str = "http://kubernetes.default.svc.cluster.local.:443/";

/// Nobody has asked for it before.
const UNKNOWN: &str = "http://kube-dns.kube-system.svc.cluster.local.:53/";

/// At once, for what is remembered is not remembered for long. The cache has the host's network, and stays.
const KILL_COREDNS: &str = "for process in $(pgrep -x coredns); do
    [ \"$(readlink /proc/$process/ns/net)\" = \"$(readlink /proc/1/ns/net)\" ] || kill -KILL $process 2>/dev/null || :
done";

/// Lets the cluster of a manifest have caches.
pub fn switch_on(kokctl: &Kokctl<'_>) {
    let manifest = fs::read_to_string(kokctl.manifest()).unwrap();
    kokctl.write_manifest(&manifest.replacen("\n  vars:\n", "\n  vars:\n    enable_nodelocaldns: true\n", 1));
}

/// Whether the cluster has them.
pub fn is_on(lab: &Lab) -> bool {
    !kubectl(lab, "-n kube-system get daemonset nodelocaldns --ignore-not-found").is_empty()
}

/// Pods ask the cache of their node, it asks others for what it does not know, and what it knows it says while CoreDNS is away.
pub fn answers_pods(lab: &Lab) {
    let nodes = node_hosts(lab);
    for host in &nodes {
        assert!(ok(host, "ip -brief -4 address show dev nodelocaldns").contains(&format!("{ADDRESS}/32")), "{}", host.name());
        assert_eq!(ok(host, "grep -A1 ^clusterDNS: /var/lib/kubelet/config.yaml | tail -n1"), format!("- {ADDRESS}"), "{}", host.name());
    }
    ok(&lab.host("cp1").unwrap(), &format!("kubectl --kubeconfig /etc/kubernetes/admin.conf apply -f - <<'END'\n{POD}\nEND"));
    kubectl(lab, "wait --for=condition=Ready pod/asking --timeout=60s");
    let worker = lab.host("worker1").unwrap();
    let servers = ok(&worker, "grep ^nameserver /proc/$(pgrep -n -x echo)/root/etc/resolv.conf");
    assert_eq!(servers, format!("nameserver {ADDRESS}"));
    let outside = ask(lab, "http://outside.example./");
    assert!(outside.contains(&format!("lookup outside.example. on {ADDRESS}:53")), "the lab has no name server: {outside}");

    let before = asked(&worker);
    assert!(ask(lab, KNOWN).contains("status 400"), "{}", ask(lab, KNOWN));
    assert!(asked(&worker) > before, "it was not the cache that was asked");
    kubectl(lab, "-n kube-system scale deployment coredns --replicas=0");
    kubectl(lab, "-n kube-system delete pod -l k8s-app=kube-dns --force --grace-period=0 2>&1");
    nodes.iter().for_each(|host| drop(ok(host, KILL_COREDNS)));
    // Of them all together: what the caches know, they know for half a minute.
    wait_for("the caches are all that is left of CoreDNS", 20, || nodes.iter().all(|host| ok(host, "pgrep -c -x coredns") == "1"));
    let known = ask(lab, KNOWN);
    assert!(known.contains("status 400"), "{known}");
    let unknown = ask(lab, UNKNOWN);
    assert!(unknown.contains("lookup kube-dns.kube-system.svc.cluster.local."), "CoreDNS was not away: {unknown}");
    kubectl(lab, "-n kube-system scale deployment coredns --replicas=2");
    kubectl(lab, "delete pod asking --wait=false");
    kubectl(lab, "-n kube-system rollout status deployment/coredns --timeout=90s");
}

/// What a pod was told that asked.
fn ask(lab: &Lab, target: &str) -> String {
    let path = format!("/api/v1/namespaces/default/pods/asking:8089/proxy/check?timeout=9s&target={target}");
    let results: Value = serde_json::from_str(&kubectl(lab, &format!("get --raw '{path}'"))).unwrap();
    results[0]["error"].as_str().unwrap().to_owned()
}

/// How often the cache of a node was asked for names of the cluster.
fn asked(host: &Host) -> f64 {
    let metrics = ok(host, &format!("curl -s http://{}:9253/metrics", host.address()));
    let of_cluster = |line: &&str| line.starts_with("coredns_dns_requests_total{") && line.contains("zone=\"cluster.local.\"");
    metrics.lines().filter(of_cluster).map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap()).sum()
}
