//! What components are told by variables, as the running ones show it.

use kok_tests::lab::{Host, Lab};

use super::etcd::etcdctl;
use crate::cluster_support::cluster::{control_planes, kubectl};
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::ok;
use crate::lab_support::wait_for;

/// Some of each kind, as they stand below `vars` of the lab's file.
pub const VARIABLES: &str = r#"
    containerd_version: 2.2.9
    kubernetes_audit: true
    kube_encrypt_secret_data: true
    kube_oidc_auth: true
    kube_oidc_url: https://login.example
    kube_oidc_client_id: kubernetes
    kube_feature_gates: [MutableCSINodeAllocatableCount=true]
    kube_pod_security_use_default: true
    kube_apiserver_enable_admission_plugins: [EventRateLimit]
    kube_apiserver_admission_control_config_file: true
    kube_apiserver_admission_event_rate_limits: {all: {type: Server, qps: 500, burst: 1000, cache_size: 2000}}
    kube_apiserver_tracing: true
    kube_apiserver_tracing_endpoint: localhost:4317
    kube_kubeadm_apiserver_extra_args: {max-requests-inflight: 800}
    kube_controller_node_monitor_grace_period: 60s
    kube_scheduler_config_extra_opts: {parallelism: 8}
    etcd_quota_backend_bytes: 4294967296
    kube_reserved: true
    kubelet_max_pods: 120
    kubelet_config_extra_args: {cpuCFSQuotaPeriod: 100ms}
    kubelet_custom_flags: ["--v=3"]
    kube_proxy_sync_period: 20s
    kubeadm_patches:
    - {target: kube-scheduler, patch: {metadata: {labels: {example.com/patched: "yes"}}}}
    - {target: kubeletconfiguration, type: merge, patch: {registryPullQPS: 7}}
"#;

const OPTIONS: [(&str, &[&str]); 4] = [
    (
        "kube-apiserver",
        &[
            "--oidc-client-id=kubernetes",
            "--feature-gates=MutableCSINodeAllocatableCount=true",
            "--enable-admission-plugins=NodeRestriction,EventRateLimit",
            "--max-requests-inflight=800",
            "--audit-log-maxage=30",
        ],
    ),
    ("kube-controller-manager", &["--node-monitor-grace-period=60s"]),
    ("kube-scheduler", &["--config=/etc/kubernetes/scheduler/configuration.yaml"]),
    ("etcd", &["--quota-backend-bytes=4294967296"]),
];

pub fn components_run_so(lab: &Lab) {
    let host = control_planes(lab).remove(0);
    for (component, options) in OPTIONS {
        let line =
            kubectl(lab, &format!("-n kube-system get pod {component}-{} -o jsonpath='{{.spec.containers[0].command}}'", host.name()));
        for option in options {
            assert!(line.contains(&format!("{option}\"")), "{option}: {line}");
        }
    }
    let runtime = format!("get node {} -o jsonpath='{{.status.nodeInfo.containerRuntimeVersion}}'", host.name());
    assert_eq!(kubectl(lab, &runtime), "containerd://2.2.9", "not the newest of the bundle, but what was asked for");
    let label = format!("-n kube-system get pod kube-scheduler-{} -o jsonpath='{{.metadata.labels}}'", host.name());
    assert!(kubectl(lab, &label).contains(r#""example.com/patched":"yes""#));
    let kubelet = kubectl(lab, &format!("get --raw /api/v1/nodes/{}/proxy/configz", host.name()));
    for field in [r#""maxPods":120"#, r#""registryPullQPS":7"#, r#""cpuCFSQuotaPeriod":"100ms""#, r#""kubeReserved":{"cpu":"100m""#] {
        assert!(kubelet.contains(field), "{field}: {kubelet}");
    }
    let proxy = kubectl(lab, "-n kube-system get configmap kube-proxy -o jsonpath='{.data.config\\.conf}'");
    let of_mode: Vec<&str> =
        proxy.lines().skip_while(|line| *line != "nftables:").skip(1).take_while(|line| line.starts_with(' ')).collect();
    assert!(of_mode.contains(&"  syncPeriod: 20s"), "{proxy}");
    let refused = ok(
        &host,
        "kubectl --kubeconfig /etc/kubernetes/admin.conf run x --image=x --dry-run=server --overrides='{\"spec\":{\"hostPID\":true}}' 2>&1 || :",
    );
    assert!(refused.contains("violates PodSecurity \"baseline:latest\""), "{refused}");
}

pub fn secrets_are_encrypted_and_requests_recorded(lab: &Lab) {
    let host = control_planes(lab).remove(0);
    kubectl(lab, "create secret generic told --from-literal=word=inplain");
    let stored = etcdctl(lab, host.name(), "get /registry/secrets/default/told --print-value-only | head -c 30 | tr -c '[:print:]' .");
    assert!(stored.starts_with("k8s:enc:secretbox:v1:kokctl:"), "{stored}");
    assert_eq!(kubectl(lab, "get secret told -o jsonpath='{.data.word}'"), "aW5wbGFpbg==");
    let log = "/var/log/kubernetes/audit/kube-apiserver-audit.log";
    wait_for("the request is in the audit log", 30, || {
        let lines = ok(&host, &format!("grep '\"verb\":\"create\"' {log} | grep '\"name\":\"told\"' || :"));
        lines.contains("\"level\":\"Metadata\"")
    });
    assert_eq!(ok(&host, &format!("grep -c aW5wbGFpbg {log} || :")).trim(), "0", "a secret stands in the audit log");
}

/// The API server starts again with what changed, and goes on with the same key.
pub fn a_change_is_carried_out(lab: &Lab, kokctl: &Kokctl<'_>, manifest: &str) {
    let host = control_planes(lab).remove(0);
    let key = || ok(&host, "grep 'secret: ' /etc/kubernetes/apiserver/encryption.yaml | sha256sum");
    let before = key();
    let changed = manifest.replace("kubernetes_audit: true", "kubernetes_audit: true\n    audit_policy_custom_rules: [{level: Metadata}]");
    assert_ne!(changed, manifest);
    kokctl.write_manifest(&changed);
    kokctl.converge("apply");
    assert_eq!(key(), before);
    let more = changed.replace("secret_data: true", "secret_data: true\n    kube_encryption_resources: [secrets, configmaps]");
    assert_ne!(more, changed);
    kokctl.write_manifest(&more);
    let said = kokctl.verb("apply", &["--bundle", kokctl.bundle().to_str().unwrap()]);
    assert!(said.code != 0 && said.stderr.contains("change-encryption"), "{said:?}");
    kokctl.write_manifest(&changed);
    assert_eq!(kubectl(lab, "get secret told -o jsonpath='{.data.word}'"), "aW5wbGFpbg==");
    kokctl.has_nothing_to_do();
    kokctl.write_manifest(&changed.replace("kube_encrypt_secret_data: true", "kube_encrypt_secret_data: false"));
    let said = kokctl.verb("apply", &["--bundle", kokctl.bundle().to_str().unwrap()]);
    assert!(said.code != 0 && said.stderr.contains("error: the cluster encrypts what etcd holds"), "{said:?}");
}

pub fn nothing_is_left(lab: &Lab) {
    for host in control_planes(lab) {
        assert_eq!(ok(&host, "ls -d /var/log/kubernetes /etc/systemd/logind.conf.d/99-kubelet.conf 2>/dev/null || :"), "");
    }
}

/// The key by which secrets are encrypted was made once: every API server has it, and reads what another one wrote.
pub fn one_key_on_all_control_planes(lab: &Lab) {
    let hosts = control_planes(lab);
    let key = |host: &Host| {
        ok(host, "stat -c %a /etc/kubernetes/apiserver/encryption.yaml; sed -n 's/.*secret: //p' /etc/kubernetes/apiserver/encryption.yaml")
    };
    let keys: Vec<String> = hosts.iter().map(key).collect();
    assert!(keys[0].starts_with("600\n") && keys[0].len() > 40, "there is a key, for nobody else to read");
    assert!(keys.iter().all(|key| *key == keys[0]), "the control planes have different keys");
    for writer in &hosts {
        let own = |host: &Host, line: &str| {
            ok(host, &format!("kubectl --kubeconfig /etc/kubernetes/admin.conf --server=https://127.0.0.1:6443 {line}"))
        };
        let name = format!("by-{}", writer.name());
        own(writer, &format!("create secret generic {name} --from-literal=word=inplain"));
        let stored = etcdctl(lab, writer.name(), &format!("get /registry/secrets/default/{name} --print-value-only | tr -c '[:print:]' ."));
        assert!(stored.starts_with("k8s:enc:secretbox:v1:kokctl:") && !stored.contains("inplain"), "{name}");
        for reader in &hosts {
            assert_eq!(own(reader, &format!("get secret {name} -o jsonpath='{{.data.word}}'")), "aW5wbGFpbg==", "{}", reader.name());
        }
    }
}
