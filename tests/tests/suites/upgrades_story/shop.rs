//! What users run while their cluster is upgraded: three pods behind a Service, of which two have to be there at any moment.

use kok_tests::lab::{Host, Lab};

use crate::cluster_support::cluster::kubectl;
use crate::cluster_support::ok;
use crate::lab_support::wait_for;
use crate::members_story::load::start_script;

/// A pod that is to end answers until every node knows it, as Kubernetes asks of those that serve ("Pod Lifecycle", termination).
const SHOP: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: shop}}}
      containers:
      - name: shop
        image: 'IMAGE'
        imagePullPolicy: IfNotPresent
        args: [serve, --listen, ':8080']
        readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}
        lifecycle: {preStop: {sleep: {seconds: 5}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: shop}
spec: {minAvailable: 2, selector: {matchLabels: {app: shop}}}
---
apiVersion: v1
kind: Service
metadata: {name: shop}
spec:
  selector: {app: shop}
  ports: [{port: 80, targetPort: 8080}]
";

/// How many of them the budget wants.
const AT_LEAST: usize = 2;

/// Asks the Service four times a second, once each time.
const CUSTOMER: &str = r#"n=0
while :; do
  n=$((n + 1))
  said=$(curl -sf -o /dev/null -w '%{exitcode} %{http_code} %{errormsg}' --max-time 2 "http://$SHOP/") ||
    echo "$(date +%T.%3N) question $n: $said" >>unserved
  echo "$n" >asked
  sleep 0.25
done
"#;

/// How many pods are ready, at each change of the Service's endpoints: the API says all of them each time.
const COUNTER: &str = r#"slices='/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?watch=1&labelSelector=kubernetes.io%2Fservice-name%3Dshop'
while :; do
  api "$slices" -N --max-time 20 | while read -r line; do
    case $line in *'"kind":"EndpointSlice"'*) ;; *) continue ;; esac
    ready=0
    while :; do
      case $line in *'"ready":true'*) ready=$((ready + 1)) line=${line#*'"ready":true'} ;; *) break ;; esac
    done
    echo "$(date +%T.%3N) $ready" >>ready
  done
  sleep 0.05
done
"#;

/// The shop, with a customer on each of some workers that are clients of the API.
pub struct Shop<'a> {
    lab: &'a Lab,
    customers: Vec<Host>,
    pods: Vec<String>,
}

impl<'a> Shop<'a> {
    /// Opens it, and begins to ask and to count.
    pub fn open(lab: &'a Lab, image: &str, workers: &[&str]) -> Self {
        kubectl(lab, &format!("apply -f - <<'END'\n{}\nEND", SHOP.replace("IMAGE", image)));
        kubectl(lab, "rollout status deployment/shop --timeout=90s");
        let address = kubectl(lab, "get service shop -o jsonpath='{.spec.clusterIP}'");
        let customers: Vec<Host> = workers.iter().map(|worker| lab.host(worker).unwrap()).collect();
        for customer in &customers {
            let serves = || customer.ssh(&["curl", "-sf", "-o", "/dev/null", &format!("http://{address}/")]).unwrap().success();
            wait_for("the Service answers", 30, serves);
            start_script(customer, "customer", &format!("--setenv=SHOP={address}"), CUSTOMER);
        }
        start_script(&customers[0], "counter", "", COUNTER);
        wait_for("pods are counted", 20, || !counted(&customers[0]).is_empty());
        Self { lab, customers, pods: pods(lab) }
    }

    /// Each question was answered, and enough pods were ready at every moment; closes it. Every pod was moved meanwhile, or nothing was shown.
    pub fn was_never_closed(self) {
        let ready = counted(&self.customers[0]);
        println!("ready pods of the shop: {ready:?}");
        for customer in &self.customers {
            ok(customer, "systemctl stop load-customer load-counter 2>/dev/null; systemctl reset-failed 2>/dev/null; :");
            let said = ok(customer, "cd /root/load; cat asked; cat unserved 2>/dev/null || :");
            let (asked, unserved) = said.split_once('\n').unwrap_or((&said, ""));
            println!("{}: {asked} questions to the Service, {} without an answer", customer.name(), unserved.lines().count());
            assert!(asked.parse::<u32>().unwrap() > 100, "{said}");
            assert_eq!(unserved, "", "{}: the Service did not answer", customer.name());
        }
        assert!(ready.iter().all(|number| *number >= AT_LEAST), "the budget was broken: {ready:?}");
        let stayed: Vec<String> = pods(self.lab).into_iter().filter(|pod| self.pods.contains(pod)).collect();
        assert!(stayed.is_empty(), "these never left their nodes: {stayed:?}");
        kubectl(self.lab, "delete deployment,poddisruptionbudget,service shop");
    }
}

fn counted(host: &Host) -> Vec<usize> {
    let said = ok(host, "cat /root/load/ready 2>/dev/null || :");
    said.lines().filter_map(|line| line.split_once(' ')?.1.parse().ok()).collect()
}

fn pods(lab: &Lab) -> Vec<String> {
    kubectl(lab, "get pods -l app=shop -o jsonpath='{.items[*].metadata.name}'").split_whitespace().map(str::to_owned).collect()
}
