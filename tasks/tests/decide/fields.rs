//! Every field of kubeadm's configuration that Kubespray fills from a variable, and what a variable of the file makes of it here.
//!
//! `fixtures/every-field.yaml` says all of them at once; the tables below say where each has to come out. What nobody can say is in
//! [`FIXED`], with the reason.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::world::World;
use crate::support::{cluster_of, own_etcd};

const FILE: &str = include_str!("../fixtures/every-field.yaml");

/// Kind of the document, path of the field, and its value. A name behind `extraArgs` is that of an option.
const SAID: &[(&str, &str, &str)] = &[
    ("InitConfiguration", "localAPIEndpoint/advertiseAddress", "10.20.0.11"),
    ("InitConfiguration", "localAPIEndpoint/bindPort", "7443"),
    ("InitConfiguration", "nodeRegistration/name", "cp1"),
    ("InitConfiguration", "nodeRegistration/taints/0/key", "dedicated"),
    ("InitConfiguration", "nodeRegistration/kubeletExtraArgs/root-dir", "/srv/kubelet"),
    ("InitConfiguration", "nodeRegistration/ignorePreflightErrors/0", "Swap"),
    ("InitConfiguration", "patches/directory", "/etc/kubernetes/kokctl/patches-…"),
    ("ClusterConfiguration", "clusterName", "demo"),
    ("ClusterConfiguration", "encryptionAlgorithm", "RSA-3072"),
    ("ClusterConfiguration", "certificateValidityPeriod", "4000h0m0s"),
    ("ClusterConfiguration", "caCertificateValidityPeriod", "50000h0m0s"),
    ("ClusterConfiguration", "featureGates/RootlessControlPlane", "false"),
    ("ClusterConfiguration", "kubernetesVersion", "v1.37.1"),
    ("ClusterConfiguration", "controlPlaneEndpoint", "10.20.0.11:7443"),
    ("ClusterConfiguration", "networking/dnsDomain", "demo.example"),
    ("ClusterConfiguration", "networking/serviceSubnet", "10.17.0.0/16"),
    ("ClusterConfiguration", "networking/podSubnet", "10.16.0.0/16"),
    ("ClusterConfiguration", "apiServer/certSANs/…", "203.0.113.7"),
    ("ClusterConfiguration", "etcd/local/serverCertSANs/0", "etcd.example"),
    ("ClusterConfiguration", "etcd/local/peerCertSANs/1", "203.0.113.8"),
    ("ClusterConfiguration", "etcd/local/extraArgs/metrics", "extensive"),
    ("ClusterConfiguration", "etcd/local/extraArgs/election-timeout", "4000"),
    ("ClusterConfiguration", "etcd/local/extraArgs/heartbeat-interval", "200"),
    ("ClusterConfiguration", "etcd/local/extraArgs/auto-compaction-retention", "4"),
    ("ClusterConfiguration", "etcd/local/extraArgs/listen-metrics-urls", "http://127.0.0.1:2381"),
    ("ClusterConfiguration", "etcd/local/extraArgs/snapshot-count", "5000"),
    ("ClusterConfiguration", "etcd/local/extraArgs/quota-backend-bytes", "4294967296"),
    ("ClusterConfiguration", "etcd/local/extraArgs/max-request-bytes", "1000000"),
    ("ClusterConfiguration", "etcd/local/extraArgs/log-level", "warn"),
    ("ClusterConfiguration", "etcd/local/extraArgs/max-wals", "7"),
    ("ClusterConfiguration", "apiServer/extraArgs/etcd-compaction-interval", "10m"),
    ("ClusterConfiguration", "apiServer/extraArgs/default-not-ready-toleration-seconds", "60"),
    ("ClusterConfiguration", "apiServer/extraArgs/default-unreachable-toleration-seconds", "70"),
    ("ClusterConfiguration", "apiServer/extraArgs/authorization-mode", "Node,RBAC,Webhook"),
    ("ClusterConfiguration", "apiServer/extraArgs/enable-admission-plugins", "NodeRestriction,AlwaysPullImages,EventRateLimit"),
    ("ClusterConfiguration", "apiServer/extraArgs/disable-admission-plugins", "DefaultStorageClass"),
    ("ClusterConfiguration", "apiServer/extraArgs/admission-control-config-file", "/etc/kubernetes/apiserver/admission.yaml"),
    ("ClusterConfiguration", "apiServer/extraArgs/service-node-port-range", "31000-32000"),
    ("ClusterConfiguration", "apiServer/extraArgs/kubelet-preferred-address-types", "InternalIP,Hostname"),
    ("ClusterConfiguration", "apiServer/extraArgs/profiling", "false"),
    ("ClusterConfiguration", "apiServer/extraArgs/request-timeout", "2m"),
    ("ClusterConfiguration", "apiServer/extraArgs/enable-aggregator-routing", "true"),
    ("ClusterConfiguration", "apiServer/extraArgs/oidc-issuer-url", "https://login.example"),
    ("ClusterConfiguration", "apiServer/extraArgs/oidc-client-id", "kubernetes"),
    ("ClusterConfiguration", "apiServer/extraArgs/oidc-username-claim", "email"),
    ("ClusterConfiguration", "apiServer/extraArgs/authentication-token-webhook-config-file", "/etc/kubernetes/apiserver/…"),
    ("ClusterConfiguration", "apiServer/extraArgs/authorization-webhook-config-file", "/etc/kubernetes/apiserver/…"),
    ("ClusterConfiguration", "apiServer/extraArgs/encryption-provider-config", "/etc/kubernetes/apiserver/encryption.yaml"),
    ("ClusterConfiguration", "apiServer/extraArgs/encryption-provider-config-automatic-reload", "true"),
    ("ClusterConfiguration", "apiServer/extraArgs/runtime-config", "admissionregistration.k8s.io/v1alpha1=true"),
    ("ClusterConfiguration", "apiServer/extraArgs/audit-log-maxage", "7"),
    ("ClusterConfiguration", "apiServer/extraArgs/audit-policy-file", "/etc/kubernetes/apiserver/…"),
    ("ClusterConfiguration", "apiServer/extraArgs/audit-webhook-config-file", "/etc/kubernetes/apiserver/…"),
    ("ClusterConfiguration", "apiServer/extraArgs/max-requests-inflight", "800"),
    ("ClusterConfiguration", "apiServer/extraArgs/feature-gates", "AllAlpha=false"),
    ("ClusterConfiguration", "apiServer/extraArgs/tls-min-version", "VersionTLS12"),
    ("ClusterConfiguration", "apiServer/extraArgs/tls-cipher-suites", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"),
    ("ClusterConfiguration", "apiServer/extraArgs/event-ttl", "2h"),
    ("ClusterConfiguration", "apiServer/extraArgs/tracing-config-file", "/etc/kubernetes/apiserver/…"),
    ("ClusterConfiguration", "apiServer/extraVolumes/0/hostPath", "/srv/certs"),
    ("ClusterConfiguration", "controllerManager/extraArgs/node-monitor-grace-period", "60s"),
    ("ClusterConfiguration", "controllerManager/extraArgs/node-monitor-period", "10s"),
    ("ClusterConfiguration", "controllerManager/extraArgs/allocate-node-cidrs", "False"),
    ("ClusterConfiguration", "controllerManager/extraArgs/node-cidr-mask-size", "25"),
    ("ClusterConfiguration", "controllerManager/extraArgs/profiling", "false"),
    ("ClusterConfiguration", "controllerManager/extraArgs/terminated-pod-gc-threshold", "100"),
    ("ClusterConfiguration", "controllerManager/extraArgs/bind-address", "::"),
    ("ClusterConfiguration", "controllerManager/extraArgs/leader-elect-lease-duration", "30s"),
    ("ClusterConfiguration", "controllerManager/extraArgs/leader-elect-renew-deadline", "20s"),
    ("ClusterConfiguration", "controllerManager/extraArgs/flex-volume-plugin-dir", "/opt/volumes"),
    ("ClusterConfiguration", "controllerManager/extraArgs/feature-gates", "AllBeta=false"),
    ("ClusterConfiguration", "controllerManager/extraArgs/tls-min-version", "VersionTLS12"),
    ("ClusterConfiguration", "controllerManager/extraArgs/concurrent-gc-syncs", "10"),
    ("ClusterConfiguration", "controllerManager/extraVolumes/0/hostPath", "/srv/certs"),
    ("ClusterConfiguration", "scheduler/extraArgs/bind-address", "::"),
    ("ClusterConfiguration", "scheduler/extraArgs/config", "/etc/kubernetes/…"),
    ("ClusterConfiguration", "scheduler/extraArgs/feature-gates", "AllAlpha=false"),
    ("ClusterConfiguration", "scheduler/extraArgs/tls-min-version", "VersionTLS12"),
    ("ClusterConfiguration", "scheduler/extraArgs/v", "2"),
    ("ClusterConfiguration", "scheduler/extraVolumes/0/hostPath", "/srv/certs"),
    ("KubeProxyConfiguration", "clientConnection/acceptContentTypes", "application/json"),
    ("KubeProxyConfiguration", "clientConnection/burst", "20"),
    ("KubeProxyConfiguration", "clientConnection/contentType", "application/json"),
    ("KubeProxyConfiguration", "clientConnection/qps", "10"),
    ("KubeProxyConfiguration", "configSyncPeriod", "5m"),
    ("KubeProxyConfiguration", "conntrack/maxPerCore", "0"),
    ("KubeProxyConfiguration", "conntrack/min", "1000"),
    ("KubeProxyConfiguration", "conntrack/tcpCloseWaitTimeout", "2h"),
    ("KubeProxyConfiguration", "conntrack/tcpEstablishedTimeout", "12h"),
    ("KubeProxyConfiguration", "enableProfiling", "true"),
    ("KubeProxyConfiguration", "featureGates/AllAlpha", "false"),
    ("KubeProxyConfiguration", "healthzBindAddress", "127.0.0.1…"),
    ("KubeProxyConfiguration", "iptables/masqueradeAll", "true"),
    ("KubeProxyConfiguration", "iptables/masqueradeBit", "15"),
    ("KubeProxyConfiguration", "iptables/minSyncPeriod", "2s"),
    ("KubeProxyConfiguration", "iptables/syncPeriod", "60s"),
    ("KubeProxyConfiguration", "metricsBindAddress", "0.0.0.0:10249"),
    ("KubeProxyConfiguration", "mode", "iptables"),
    ("KubeProxyConfiguration", "nodePortAddresses/0", "10.0.0.0/8"),
    ("KubeProxyConfiguration", "oomScoreAdj", "-500"),
    ("KubeletConfiguration", "failCgroupV1", "false"),
    ("KubeletConfiguration", "failSwapOn", "false"),
    ("KubeletConfiguration", "clusterDNS/0", "169.254.25.10"),
    ("KubeletConfiguration", "featureGates/AllAlpha", "false"),
    ("KubeletConfiguration", "cpuCFSQuota", "false"),
    ("KubeletConfiguration", "nodeStatusUpdateFrequency", "20s"),
    ("KubeletConfiguration", "enforceNodeAllocatable/0", "pods"),
    ("KubeletConfiguration", "containerLogMaxFiles", "3"),
    ("KubeletConfiguration", "containerLogMaxSize", "5Mi"),
    ("KubeletConfiguration", "maxPods", "120"),
    ("KubeletConfiguration", "podsPerCore", "20"),
    ("KubeletConfiguration", "podPidsLimit", "4096"),
    ("KubeletConfiguration", "readOnlyPort", "10255"),
    ("KubeletConfiguration", "healthzPort", "10348"),
    ("KubeletConfiguration", "healthzBindAddress", "127.0.0.2"),
    ("KubeletConfiguration", "protectKernelDefaults", "true"),
    ("KubeletConfiguration", "kubeReserved/cpu", "300m"),
    ("KubeletConfiguration", "systemReserved/memory", "1Gi"),
    ("KubeletConfiguration", "evictionHard/memory.available", "300Mi"),
    ("KubeletConfiguration", "evictionSoft/memory.available", "400Mi"),
    ("KubeletConfiguration", "evictionSoftGracePeriod/memory.available", "1m30s"),
    ("KubeletConfiguration", "resolvConf", "/etc/kubernetes/resolv.conf"),
    ("KubeletConfiguration", "tlsMinVersion", "VersionTLS12"),
    ("KubeletConfiguration", "tlsCipherSuites/0", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"),
    ("KubeletConfiguration", "eventRecordQPS", "5"),
    ("KubeletConfiguration", "shutdownGracePeriod", "60s"),
    ("KubeletConfiguration", "shutdownGracePeriodCriticalPods", "20s"),
    ("KubeletConfiguration", "memorySwap/swapBehavior", "LimitedSwap"),
    ("KubeletConfiguration", "streamingConnectionIdleTimeout", "1h"),
    ("KubeletConfiguration", "imageGCHighThresholdPercent", "70"),
    ("KubeletConfiguration", "imageGCLowThresholdPercent", "60"),
    ("KubeletConfiguration", "makeIPTablesUtilChains", "false"),
    ("KubeletConfiguration", "seccompDefault", "true"),
    ("KubeletConfiguration", "cpuManagerPolicy", "static"),
    ("KubeletConfiguration", "topologyManagerPolicy", "best-effort"),
    ("KubeletConfiguration", "tracing/endpoint", "localhost:4317"),
    ("KubeletConfiguration", "maxParallelImagePulls", "4"),
];

/// What stands there whatever the file says, and why.
const FIXED: &[(&str, &str, &str, &str)] = &[
    ("InitConfiguration", "nodeRegistration/criSocket", "unix:///run/containerd/containerd.sock", "kokctl installs containerd"),
    ("InitConfiguration", "nodeRegistration/imagePullPolicy", "Never", "images are on the host before kubeadm runs"),
    ("ClusterConfiguration", "certificatesDir", "/etc/kubernetes/pki", "kubeadm's own place, which its tools know"),
    ("ClusterConfiguration", "imageRepository", "registry.k8s.io", "images come out of the bundle by their own names"),
    ("ClusterConfiguration", "etcd/local/dataDir", "/var/lib/etcd", "a faster disk is mounted there"),
    ("KubeletConfiguration", "cgroupDriver", "systemd", "two managers of control groups would fight"),
    ("KubeletConfiguration", "containerRuntimeEndpoint", "unix:///run/containerd/containerd.sock", "kokctl installs containerd"),
    ("KubeletConfiguration", "rotateCertificates", "true", "a client certificate is valid for a year"),
];

/// The hosts of this test have certificates with the usual names.
const OF_CERTIFICATES: [&str; 5] =
    ["supplementary_addresses_in_ssl_keys:", "serviceCIDR:", "clusterDomain:", "etcd_cert_alt_names:", "etcd_cert_alt_ips:"];

fn with_usual_names() -> String {
    let lines = FILE.lines().filter(|line| !OF_CERTIFICATES.iter().any(|name| line.trim().starts_with(name)));
    lines.map(|line| format!("{line}\n")).collect()
}

fn world_of(file: &str) -> World {
    World::bare_of(cluster_of(file)).converge()
}

fn documents(world: &World) -> Vec<Value> {
    serde_saphyr::from_multiple(world.hosts["cp1"].text("/etc/kubernetes/kokctl/cluster.yaml")).unwrap()
}

/// What stands at a path, as text.
fn value(document: &Value, path: &str) -> Option<String> {
    let found = path.split('/').try_fold(document.clone(), |value, name| match value {
        Value::Object(map) => map.get(name).cloned(),
        Value::Array(items) => match name.parse::<usize>() {
            Ok(index) => items.get(index).cloned(),
            Err(_) if name == "…" => Some(Value::Array(items)),
            Err(_) => items.iter().find(|item| item["name"] == name).map(|item| item["value"].clone()),
        },
        _ => None,
    })?;
    Some(found.as_str().map_or_else(|| found.to_string(), str::to_owned))
}

/// `…` stands for anything.
fn is_said(found: &str, expected: &str) -> bool {
    match expected.strip_suffix('…') {
        Some(beginning) => found.starts_with(beginning),
        None => found == expected || (found.starts_with('[') && found.contains(&format!("\"{expected}\""))),
    }
}

#[test]
fn every_field_is_reached_by_a_variable_or_has_a_reason() {
    let documents = documents(&world_of(FILE));
    let fixed = FIXED.iter().map(|(kind, path, value, _)| (kind, path, value));
    let wrong: Vec<String> = SAID
        .iter()
        .map(|(kind, path, value)| (kind, path, value))
        .chain(fixed)
        .filter_map(|(kind, path, expected)| {
            let document = documents.iter().find(|document| document["kind"] == **kind)?;
            let found = value(document, path);
            let is_right = found.as_ref().is_some_and(|found| is_said(found, expected));
            (!is_right).then(|| format!("{kind} {path}: {found:?}, not {expected:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for kind in ["InitConfiguration", "ClusterConfiguration", "KubeProxyConfiguration", "KubeletConfiguration"] {
        assert!(documents.iter().any(|document| document["kind"] == kind), "{kind}");
    }
}

/// The cluster has one configuration of kubelets; a host's own is a patch of it.
#[test]
fn the_kubelet_of_a_host_is_patched() {
    let world = world_of(&with_usual_names());
    let patch = |host: &str| {
        let mut files = world.hosts[host].paths.keys().filter(|path| path.contains("kubeletconfiguration001+merge.json"));
        let path = files.next().unwrap_or_else(|| panic!("{host} has no patch")).clone();
        assert_eq!(files.next(), None);
        serde_json::from_str::<Value>(world.hosts[host].text(&path)).unwrap()
    };
    assert_eq!(patch("cp1"), json!({"maxPods": 90}));
    assert_eq!(patch("worker1"), json!({"registryBurst": 30}));
    assert_eq!(patch("worker2"), json!({"registryBurst": 30, "systemReserved": {"cpu": "700m"}}));
    let plan = world.plan();
    let changes: Vec<String> = plan.changes().map(|(step, change)| format!("{}: {change:?}", step.id.as_str())).collect();
    assert!(changes.is_empty(), "{changes:?}");
}

#[test]
fn what_one_kubelet_is_told_changes_that_host_alone() {
    let file = with_usual_names();
    let mut world = world_of(&file);
    world.cluster = cluster_of(&file.replace("system_cpu_reserved: 700m", "system_cpu_reserved: 800m"));
    let plan = world.plan();
    let hosts: BTreeSet<&str> = plan.changes().map(|(step, _)| step.host.as_str()).collect();
    assert_eq!(hosts, ["worker2"].into());
}

#[test]
fn another_port_or_share_is_an_operation_of_its_own() {
    let edits = [
        ("kube_apiserver_port: 7443", "kube_apiserver_port: 8443", "listen at port 7443, the file asks for 8443"),
        (
            "kube_controller_manager_allocate_node_cidrs: false",
            "kube_controller_manager_allocate_node_cidrs: true",
            "the running cluster has none",
        ),
    ];
    let file = with_usual_names();
    for (is, edited, said) in edits {
        let mut world = world_of(&file);
        world.cluster = cluster_of(&file.replace(is, edited));
        let refusals = world.try_plan().expect_err("nothing is refused");
        let texts: Vec<&str> = refusals.iter().map(|refusal| refusal.what.as_str()).collect();
        assert!(texts.len() == 1 && texts[0].contains(said), "{edited}: {texts:?}");
    }
}

/// kubeadm's configuration says nothing of an etcd that it does not run; the certificates do.
#[test]
fn members_that_are_units_get_their_further_names_too() {
    let mut world = World::bare_of(own_etcd()).converge();
    world.cluster.settings.certificates.etcd_names = vec!["etcd.example".to_owned()];
    let plan = world.plan();
    let anew: Vec<&str> = plan.changes().map(|(step, _)| step.id.as_str()).filter(|id| id.ends_with(".crt")).collect();
    let expected = world
        .cluster
        .etcd_hosts()
        .flat_map(|host| ["server", "peer"].map(|leaf| format!("{}/certificates/pki/etcd/{leaf}.crt", host.name)));
    assert_eq!(anew, expected.collect::<Vec<_>>());
}
