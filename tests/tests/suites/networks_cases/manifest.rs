//! A network out of a manifest that carries Services too, so that the cluster has no kube-proxy of its own.

use std::fs::{self, File};

use kok_tests::bench::create::flannel;
use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Lab};

use crate::cluster_support::cluster::{kubectl, node_hosts};
use crate::cluster_support::kokctl::{Kokctl, archive_of, image_of};
use crate::lab_support::wait_for;

/// kube-proxy by another name and with a configuration of its own, as programs are that some networks bring. It has to know where the API
/// server is, since nobody carries packets to the Service `kubernetes` before it.
const SERVICES: &str = r#"
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: services, namespace: kube-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: services}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:node-proxier"}
subjects: [{kind: ServiceAccount, name: services, namespace: kube-system}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: services, namespace: kube-system}
data:
  config.yaml: |
    apiVersion: kubeproxy.config.k8s.io/v1alpha1
    kind: KubeProxyConfiguration
    mode: nftables
    clusterCIDR: 10.233.64.0/18
    conntrack: {maxPerCore: 0}
    clientConnection: {kubeconfig: /etc/services/kubeconfig.yaml}
  kubeconfig.yaml: |
    apiVersion: v1
    kind: Config
    clusters: [{name: own, cluster: {server: "https://ENDPOINT", certificate-authority: /var/run/secrets/kubernetes.io/serviceaccount/ca.crt}}]
    users: [{name: own, user: {tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token}}]
    contexts: [{name: own, context: {cluster: own, user: own}}]
    current-context: own
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: services, namespace: kube-system}
spec:
  selector: {matchLabels: {app: services}}
  template:
    metadata: {labels: {app: services}}
    spec:
      hostNetwork: true
      serviceAccountName: services
      priorityClassName: system-node-critical
      tolerations: [{operator: Exists}]
      containers:
        - name: services
          image: IMAGE
          imagePullPolicy: IfNotPresent
          command: [/usr/local/bin/kube-proxy, --config=/etc/services/config.yaml, --hostname-override=$(NODE)]
          env: [{name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]
          securityContext: {privileged: true}
          volumeMounts: [{name: configuration, mountPath: /etc/services}]
      volumes: [{name: configuration, configMap: {name: services}}]
"#;

/// The network of `plugin: none` is to come from elsewhere: the run ends, and says so.
pub fn nothing_is_a_choice_too(lab: &Lab, kokctl: &Kokctl<'_>) {
    ask_for(lab, kokctl, "none", true);
    let said = kokctl.converge("apply");
    assert!(said.starts_with(&format!("cluster {} runs without a network: 2 hosts, ", lab.name())), "{said}");
    assert!(said.contains("install a network plugin that you choose"), "{said}");
    kokctl.has_nothing_to_do();
    assert_eq!(kubectl(lab, "get daemonsets --all-namespaces -o name"), "");
    let ready = "get nodes -o jsonpath='{.items[*].status.conditions[?(@.type==\"Ready\")].status}'";
    assert_eq!(kubectl(lab, ready), "False False");
}

fn ask_for(lab: &Lab, kokctl: &Kokctl<'_>, plugin: &str, without_proxy: bool) {
    let plain = lab.inventory(DEFAULT_KUBERNETES_VERSION).unwrap();
    let text = plain.replace("    plugin: flannel\n", &format!("    plugin: {plugin}\n"));
    assert!(text.contains(&format!("    plugin: {plugin}\n")), "{text}");
    let proxy = if without_proxy { "    kube_proxy_remove: true\n" } else { "" };
    kokctl.write_manifest(&format!("{}\n{proxy}", text.trim_end()));
}

/// Their owner's part: such a network's images come from a registry, which the lab does not have, and with them its CNI plugin.
pub fn images_and_plugin_are_brought(lab: &Lab, kokctl: &Kokctl<'_>) {
    let import = |reference: &str| {
        format!(
            "ctr -n k8s.io images import - >/dev/null 2>&1 && ctr -n k8s.io images label {reference} io.cri-containerd.pinned=pinned >/dev/null 2>&1"
        )
    };
    let unpack = "cd /opt/cni/bin && tar xzf - && mv flannel-* flannel";
    let mut brought = vec![(archive_of(kokctl.bundle(), "flannel-cni-plugin"), unpack.to_owned())];
    for name in ["flannel", "kube-proxy"] {
        let (reference, archive) = image_of(kokctl.bundle(), name);
        brought.push((archive, import(&reference)));
    }
    for (archive, script) in brought {
        for host in node_hosts(lab) {
            let status = host.ssh_command("root", &script).unwrap().stdin(File::open(&archive).unwrap()).status().unwrap();
            assert!(status.success(), "{}: {}", host.name(), archive.display());
        }
    }
}

fn write(lab: &Lab, kokctl: &Kokctl<'_>, services: bool) {
    let endpoint = format!("{}:6443", lab.host("cp1").unwrap().address());
    let index = fs::read_to_string(kokctl.bundle().join("bundle.json")).unwrap();
    let mut text = flannel::manifest(&index, "10.233.64.0/18", &endpoint).unwrap();
    if services {
        text.push_str(&SERVICES.replace("ENDPOINT", &endpoint).replace("IMAGE", &image_of(kokctl.bundle(), "kube-proxy").0));
    }
    fs::write(kokctl.folder().join("network.yaml"), text).unwrap();
    ask_for(lab, kokctl, "manifest\n    manifest: network.yaml", services);
}

pub fn carries_services(lab: &Lab, kokctl: &Kokctl<'_>) {
    write(lab, kokctl, true);
    let said = kokctl.converge("apply");
    assert!(said.starts_with(&format!("cluster {} is ready: 2 hosts, ", lab.name())), "{said}");
    let uploaded = kubectl(lab, "-n kube-system get configmap kubeadm-config -o jsonpath='{.data.ClusterConfiguration}'");
    assert!(uploaded.contains("proxy:\n  disabled: true\n"), "{uploaded}");
    assert_eq!(kubectl(lab, "-n kube-system get daemonsets -o name"), "daemonset.apps/services");
}

/// The way back is an `apply`: kubeadm's kube-proxy comes, and what the manifest no longer has goes.
pub fn kube_proxy_comes_instead(lab: &Lab, kokctl: &Kokctl<'_>) {
    write(lab, kokctl, false);
    kokctl.converge("apply");
    wait_for("kube-proxy is all that is left", 60, || {
        kubectl(lab, "-n kube-system get daemonsets -o name") == "daemonset.apps/kube-proxy"
            && kubectl(lab, "-n kube-system get pods -l app=services -o name").is_empty()
    });
    let uploaded = kubectl(lab, "-n kube-system get configmap kubeadm-config -o jsonpath='{.data.ClusterConfiguration}'");
    assert!(!uploaded.contains("disabled: true"), "{uploaded}");
    // From now on it is in the way of the other direction.
    ask_for(lab, kokctl, "manifest\n    manifest: network.yaml", true);
    let said = kokctl.verb("apply", &["--bundle", kokctl.bundle().to_str().unwrap()]);
    assert!(said.code == 3 && said.stderr.contains("error: the running cluster has kube-proxy, and the file asks for none"), "{said:?}");
    ask_for(lab, kokctl, "manifest\n    manifest: network.yaml", false);
}
