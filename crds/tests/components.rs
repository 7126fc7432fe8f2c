//! What components would not start with, or take no notice of, is refused in the file.
//!
//! That they would not is tried with the programs themselves in `tests/tests/suites/known.rs`.
#![allow(clippy::unwrap_used, clippy::panic)]

use kok_crds::read_cluster;

#[path = "components/hosts.rs"]
mod hosts;

const HEAD: u32 = 8;

fn problems(version: &str, hosts: &str, vars: &str) -> String {
    let vars: String = vars.lines().map(|line| format!("    {line}\n")).collect();
    let text = format!(
        "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {{name: a}}\nspec:\n  kubernetesVersion: {version}\n  \
         hosts: [{hosts}]\n  network: {{plugin: flannel}}\n  vars:\n{vars}"
    );
    match read_cluster("f", &text) {
        Ok(_) => String::new(),
        Err(problems) => {
            assert!(problems.iter().all(|problem| problem.position.is_some()), "a problem has no place: {problems:?}");
            assert!(problems.iter().all(|problem| problem.because.is_some()), "{problems:?}");
            problems.iter().map(|problem| format!("{problem}\n")).collect()
        }
    }
}

const ONE: &str = "{name: cp1, address: 10.0.0.11, roles: [control-plane, worker]}";

/// That this is refused at a line of its own, and in which words.
fn refused(vars: &str, line: u32, words: &[&str]) {
    let told = problems("1.37.1", ONE, vars);
    assert!(told.contains(&format!("f:{}:", HEAD + line)), "{vars}: line {line} of {told}");
    assert!(told.contains("\n hint: "), "{vars}: {told}");
    for word in words {
        assert!(told.contains(word), "{vars}: {word} in {told}");
    }
}

/// That whoever reads the variable says so.
fn misread(vars: &str, words: &str) {
    let told = problems("1.37.1", ONE, vars);
    assert!(told.contains(words), "{vars}: {told}");
}

fn accepted(vars: &str) {
    assert_eq!(problems("1.37.1", ONE, vars), "", "{vars}");
    assert_eq!(problems("1.36.3", ONE, vars), "", "{vars}");
}

#[test]
fn soft_evictions_have_grace_periods() {
    refused(
        "eviction_soft: {memory.available: 300Mi}",
        1,
        &["`memory.available` has no grace period", "eviction_soft_grace_period: {memory.available"],
    );
    refused("eviction_soft_grace_period: {nodefs.available: 1m}\neviction_soft: {memory.available: 300Mi}", 2, &["no grace period"]);
    refused("kubelet_config_extra_args: {evictionSoft: {memory.available: 300Mi}}", 1, &["no grace period"]);
    refused("kubelet_config_extra_args: {evictionMinimumReclaim: {memory.availble: 1Gi}}", 1, &["did you mean `memory.available`?"]);
    refused("eviction_soft: {memory.available: lots}\neviction_soft_grace_period: {memory.available: 1m}", 1, &["cannot be `lots`"]);
    misread("eviction_soft: {memory.available: 1Gi}\neviction_soft_grace_period: {memory.available: 60}", "cannot have that value");
    accepted("eviction_soft: {memory.available: 300Mi}\neviction_soft_grace_period: {memory.available: 1m30s}");
    accepted("eviction_soft_grace_period: {memory.available: 1m30s}");
    // The kubelet takes no notice of the two ends, and asks for no time.
    accepted("eviction_soft: {memory.available: 0%, nodefs.available: 100%}");
    accepted("eviction_soft: {memory.available: 0%}\neviction_soft_grace_period: {memory.available: 1m30s}");
    refused("kubelet_config_extra_args: {evictionMinimumReclaim: {memory.available: 0%}}", 1, &["cannot be `0%`"]);
    misread("eviction_hard: {memory.available: 0Mi}", "`0Mi` is no threshold");
    accepted("eviction_hard: {memory.available: 0%, allocatableMemory.available: 100Mi}");
}

#[test]
fn critical_pods_have_a_part_of_the_time() {
    let critical = "kubelet_shutdown_grace_period_critical_pods: ";
    refused(&format!("{critical}20s"), 1, &["20s of the 0s", "kubelet_shutdown_grace_period"]);
    refused(&format!("kubelet_shutdown_grace_period: 60s\n{critical}61s"), 2, &["61s of the 60s"]);
    refused("kubelet_shutdown_grace_period: 500ms", 1, &["a second and more"]);
    accepted(&format!("kubelet_shutdown_grace_period: 60s\n{critical}60s"));
}

#[test]
fn images_are_removed_down_to_less() {
    refused(
        "kubelet_image_gc_low_threshold: 90",
        1,
        &["from 85 % of the disk on, and down to 90 %", "kubelet_image_gc_low_threshold below"],
    );
    refused("kubelet_image_gc_high_threshold: 80", 1, &["down to 80 %"]);
    refused("kubelet_custom_flags: [\"--image-gc-low-threshold=85\"]", 1, &["down to 85 %"]);
    refused("kubelet_config_extra_args: {imageGCHighThresholdPercent: 200}", 1, &["0 to 100"]);
    accepted("kubelet_image_gc_high_threshold: 70\nkubelet_image_gc_low_threshold: 69");
    refused("kubelet_config_extra_args: {maxParallelImagePulls: 3, serializeImagePulls: true}", 1, &["one by one"]);
    refused("kubelet_config_extra_args: {imageMaximumGCAge: 1m}", 1, &["not longer than `imageMinimumGCAge`"]);
}

#[test]
fn two_cannot_have_one_port() {
    refused("kubelet_healthz_port: 10250", 1, &["the kubelet and the kubelet's health cannot have one port, 10250"]);
    refused("kube_read_only_port: 10256", 1, &["10256", "kube-proxy's health"]);
    refused("kube_proxy_metrics_bind_address: 127.0.0.1:10248", 1, &["10248"]);
    refused("kube_kubeadm_scheduler_extra_args: {secure-port: 10257}", 1, &["the controller manager and the scheduler"]);
    refused("etcd_listen_metrics_urls: http://0.0.0.0:2379", 1, &["etcd and etcd's metrics"]);
    refused("enable_nodelocaldns: true\nnodelocaldns_prometheus_port: 10256", 2, &["the metrics of the DNS cache", "10256"]);
    misread("kubelet_healthz_port: 70000", "from 0 to 65535");
    refused("kube_kubeadm_controller_extra_args: {secure-port: 65536}", 1, &["1 to 65535"]);
    refused(
        "kube_kubeadm_scheduler_extra_args: {secure-port: 0}",
        1,
        &["`secure-port` of the scheduler cannot be `0`", "asks whether it is well"],
    );
    accepted("kubelet_healthz_port: 0\nkube_read_only_port: 10255");
    // Two addresses are two places.
    accepted("kubelet_healthz_port: 10249\nkubelet_healthz_bind_address: 127.0.0.2");
}

#[test]
fn etcd_elects_after_five_heartbeats() {
    refused("etcd_heartbeat_interval: 250", 1, &["after 1000 ms", "every 250 ms", "five times"]);
    refused("etcd_election_timeout: 400", 1, &["after 400 ms", "every 100 ms"]);
    refused("etcd_extra_vars: {ETCD_ELECTION_TIMEOUT: 60000}", 1, &["60000 ms", "more than 50000"]);
    refused("etcd_heartbeat_interval: 0", 1, &["every 0 ms"]);
    refused("etcd_extra_vars: {auto-compaction-mode: hourly}", 1, &["one of periodic, revision"]);
    accepted("etcd_heartbeat_interval: 250\netcd_election_timeout: 5000");
    accepted("etcd_heartbeat_interval: 200");
}

#[test]
fn ciphers_are_those_of_go() {
    let good = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256";
    refused(
        &format!("tls_cipher_suites: [{good}, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA257]"),
        1,
        &["did you mean `TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256`?"],
    );
    refused("etcd_tls_cipher_suites: ECDHE-RSA-AES256-SHA", 1, &["no cipher that Kubernetes and etcd know"]);
    refused("kube_kubeadm_apiserver_extra_args: {tls-cipher-suites: NULL-SHA}", 1, &["`NULL-SHA` is no cipher"]);
    refused("kubelet_config_extra_args: {tlsCipherSuites: [NULL-SHA]}", 1, &["`NULL-SHA` is no cipher"]);
    refused("tls_cipher_suites: [TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384]", 1, &["the API server cannot do with these ciphers alone", good]);
    refused("etcd_extra_vars: {tls-min-version: TLS1.3, cipher-suites: TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256}", 1, &["TLS 1.3 at least"]);
    accepted(&format!("tls_cipher_suites: [{good}, TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384]"));
    accepted("tls_min_version: VersionTLS13\ntls_cipher_suites: [TLS_AES_128_GCM_SHA256]");
}

#[test]
fn feature_gates_exist_and_can_be_so() {
    refused(
        "kube_feature_gates: [MutableCSINodeAllocatableCuont=true]",
        1,
        &["no feature gate of Kubernetes 1.37", "did you mean `MutableCSINodeAllocatableCount`?"],
    );
    refused(
        "kubelet_feature_gates:\n- AllAlpha=false\n- DynamicKubeletConfig=true",
        3,
        &["no feature gate of the kubelet in Kubernetes 1.37", "leave it out"],
    );
    refused("kube_proxy_feature_gates: {Nope: true}", 1, &["of kube-proxy"]);
    refused("kubeadm_feature_gates: [ControlPlaneKubeletLocalMode=true]", 1, &["of kubeadm"]);
    refused(
        "kube_apiserver_feature_gates: [MutableCSINodeAllocatableCount=false]",
        1,
        &["`MutableCSINodeAllocatableCount` cannot be false", "locked to true"],
    );
    refused("kube_feature_gates: [DynamicResourceAllocation=false]", 1, &["`DynamicResourceAllocation` cannot be false"]);
    refused(
        "kube_feature_gates: [DRAFractionalCapacityRange=true, DRAConsumableCapacity=false]",
        1,
        &["`DRAFractionalCapacityRange` needs `DRAConsumableCapacity`"],
    );
    accepted(
        "kube_feature_gates: [AllAlpha=false]\nkubelet_feature_gates: {MemoryQoS: true}\nkubeadm_feature_gates: [RootlessControlPlane=false]",
    );
    accepted("kube_feature_gates: [MutableCSINodeAllocatableCount=true]");
}

#[test]
fn admission_plugins_exist() {
    refused("kube_apiserver_enable_admission_plugins: [PodSecurityPolicy]", 1, &["no admission plugin of Kubernetes 1.37"]);
    refused("kube_apiserver_disable_admission_plugins: [DefaultStorageClas]", 1, &["did you mean `DefaultStorageClass`?"]);
    let both = "kube_apiserver_enable_admission_plugins: [AlwaysPullImages]\nkube_apiserver_disable_admission_plugins: [AlwaysPullImages]";
    refused(both, 1, &["on and off at once"]);
    refused("kube_api_runtime_config: [bach/v1=true]", 1, &["`bach/v1` is no version of a group", "did you mean `batch/v1`?"]);
    let dead = problems("1.37.1", ONE, "kube_api_runtime_config: [extension/v1beta1=true, app/v1beta1=true]");
    assert!(!dead.contains("`extensions/v1beta1`?") && !dead.contains("`apps/v1beta1`?"), "{dead}");
    refused("kube_api_runtime_config: [batch/v2alpha1=true]", 1, &["`batch/v2alpha1` is no version"]);
    accepted("kube_api_runtime_config: [batch/v1=true, apps/v1/deployments=true, api/all=true, v1=true]");
}

#[test]
fn options_exist_and_have_values_of_their_types() {
    let further = [
        ("kube_kubeadm_apiserver_extra_args", "the API server"),
        ("kube_kubeadm_controller_extra_args", "the controller manager"),
        ("kube_kubeadm_scheduler_extra_args", "the scheduler"),
    ];
    for (variable, who) in further {
        refused(&format!("{variable}:\n  v: 2\n  insecure-port: 0"), 3, &[who, "has no option `insecure-port`", "hint: "]);
        refused(&format!("{variable}: {{kube-api-qps: lots, v: much}}"), 1, &["`v` of", "cannot be `much`", "a whole number"]);
        accepted(&format!("{variable}: {{v: 2, vmodule: 'a=1'}}"));
    }
    refused("kube_kubeadm_apiserver_extra_args: {max_requests_inflite: 5}", 1, &["did you mean `max-requests-inflight`?"]);
    refused("kube_kubeadm_apiserver_extra_args: {audit-log-format: xml}", 1, &["one of json, legacy"]);
    refused("kubelet_custom_flags: [\"--v=4\", \"--no-such-flag=1\"]", 1, &["the kubelet of Kubernetes 1.37 has no option `no-such-flag`"]);
    refused("kubelet_node_custom_flags: [\"--max-pods=lots\"]", 1, &["cannot be `lots`"]);
    accepted("kubelet_custom_flags: [\"--max-pods=50\", \"--root-dir=/srv\"]");
}

#[test]
fn leaders_have_times_that_go_together() {
    refused(
        "kube_controller_manager_leader_elect_lease_duration: 10s",
        1,
        &["the controller manager cannot have the times 10s, 10s and 2s"],
    );
    refused("kube_scheduler_leader_elect_renew_deadline: 20s", 1, &["the scheduler cannot have"]);
    refused("kube_scheduler_leader_elect_extra_opts: {retryPeriod: 9s}", 1, &["1.2 of its period"]);
    accepted("kube_scheduler_leader_elect_lease_duration: 60s\nkube_scheduler_leader_elect_renew_deadline: 40s");
}

#[test]
fn fields_exist_and_have_values_of_their_types() {
    let extra = |fields: &str| format!("kubelet_config_extra_args: {{{fields}}}");
    refused(&extra("maxPods: lots"), 1, &["`maxPods` of the kubelet's configuration cannot be `lots`", "a whole number"]);
    refused(&extra("maxPods: '110'"), 1, &["write it without quotes"]);
    refused(&extra("maxpods: 110"), 1, &["has no field `maxpods`", "did you mean `maxPods`?"]);
    refused(&extra("syncFrequency: 60"), 1, &["it is a time"]);
    refused(&extra("memorySwap: {swapBehaviour: NoSwap}"), 1, &["`memorySwap.swapBehaviour`", "did you mean `swapBehavior`?"]);
    refused(&extra("shutdownGracePeriodByPodPriority: [{priority: high}]"), 1, &["`shutdownGracePeriodByPodPriority.priority`"]);
    refused(&extra("topologyManagerScope: pods"), 1, &["did you mean `pod`?"]);
    refused(&extra("hairpinMode: yes-please"), 1, &["hairpin-veth"]);
    refused(&extra("enforceNodeAllocatable: [pods, kube-reserved]"), 1, &["kubeReservedCgroup"]);
    refused("kubelet_node_config_extra_args: {maxPods: lots}", 1, &["cannot be `lots`"]);
    refused("kube_scheduler_config_extra_opts: {paralelism: 8}", 1, &["the scheduler's configuration", "did you mean `parallelism`?"]);
    refused("kube_scheduler_profiles: [{schedulerNam: a}]", 1, &["did you mean `schedulerName`?"]);
    refused("kubeadm_patches:\n- {target: kubeletconfiguration, patch: {maxPods: lots}}", 2, &["cannot be `lots`"]);
    refused(
        "kubeadm_patches:\n- {target: kubeletconfiguration, type: json, patch: [{op: add, path: /maxPodz, value: 1}]}",
        2,
        &["did you mean `maxPods`?"],
    );
    refused("kubeadm_patches: [{target: kubeletconfiguration, patch: {imageGCLowThresholdPercent: 99}}]", 1, &["down to 99 %"]);
    accepted(&extra(
        "maxPods: 110, syncFrequency: 1m, memorySwap: {swapBehavior: LimitedSwap}, registerWithTaints: [{key: a, effect: NoSchedule}]",
    ));
}

#[test]
fn fields_of_kubelets_have_rules_of_their_own() {
    let extra = |fields: &str| format!("kubelet_config_extra_args: {{{fields}}}");
    refused(&extra("containerLogMaxSize: 10MB"), 1, &["`containerLogMaxSize` of the kubelet cannot be `10MB`", "`10Mi`, or `10M`"]);
    refused("kubelet_custom_flags: [\"--container-log-max-size=0.5\"]", 1, &["`container-log-max-size` of the kubelet"]);
    refused(&extra("memoryThrottlingFactor: 2"), 1, &["cannot be `2`", "1.0 at the most"]);
    refused(
        &format!("{}\nkubelet_feature_gates: [MemoryQoS=false]", extra("memoryThrottlingFactor: 0.8")),
        1,
        &["needs the feature gate `MemoryQoS`"],
    );
    refused(&extra("crashLoopBackOff: {maxContainerRestartPeriod: 400s}"), 1, &["cannot be `400s`", "1s to 300s"]);
    let off = "kube_feature_gates: [KubeletCrashLoopBackOffMax=false]";
    refused(&format!("{}\n{off}", extra("crashLoopBackOff: {maxContainerRestartPeriod: 30s}")), 1, &["needs the feature gate"]);
    refused(&extra("registerWithTaints: [{key: a, effect: NoSchedul}]"), 1, &["the effect `NoSchedul`", "did you mean `NoSchedule`?"]);
    refused(&extra("registerWithTaints: [{key: a, effect: Foo}]"), 1, &["the effect `Foo`", "write one of them"]);
    refused(&extra("registerWithTaints: [{key: 'a b', value: '-'}]"), 1, &["the key `a b`", "the value `-`"]);
    refused(&extra("logging: {format: jsn}"), 1, &["`logging.format` of the kubelet cannot be `jsn`", "did you mean `json`?"]);
    refused("kubelet_custom_flags: [\"--logging-format=jsn\"]", 1, &["did you mean `json`?"]);
    for name in ["'net..core'", "Net.core", "'*.net'", "'net.*.a'"] {
        refused(&extra(&format!("allowedUnsafeSysctls: [{name}]")), 1, &["of which only the end may be `*`"]);
    }
    refused(&extra("allowedUnsafeSysctls: [vm.swappiness]"), 1, &["a pod has none of its own"]);
    refused("kubelet_custom_flags: [\"--allowed-unsafe-sysctls=vm.swappiness\"]", 1, &["a pod has none of its own"]);
    refused(&extra("userNamespaces: {idsPerPod: 70000}"), 1, &["a multiple"]);
    refused(&extra("podLogsDir: /var/log/../pods"), 1, &["an absolute path"]);
    refused("kubeadm_patches: [{target: kubeletconfiguration, patch: {logging: {format: jsn}}}]", 1, &["cannot be `jsn`"]);
    accepted(&extra("containerLogMaxSize: 10M, memoryThrottlingFactor: 0.9, crashLoopBackOff: {maxContainerRestartPeriod: 300s}"));
    accepted(&extra("registerWithTaints: [{key: a.example/b}], logging: {format: json}, userNamespaces: {idsPerPod: 131072}"));
    accepted(&extra("allowedUnsafeSysctls: ['net.*', kernel.shm*, net/ipv4/conf/eth0.1/rp_filter, kernel.sem, 'fs.mqueue.*']"));
}

#[test]
fn what_is_usual_is_accepted_and_what_is_wrong_is_said_once() {
    accepted("kubelet_config_extra_args: {evictionMinimumReclaim: {memory.available: 0Mi}}");
    accepted("tls_min_version: \"\"");
    accepted("kube_kubeadm_apiserver_extra_args: {tls-min-version: \"\"}");
    refused("kubelet_custom_flags: [\"--cpu-manager-policy=dynamic\"]", 1, &["cannot be `dynamic`"]);
}

#[test]
fn processors_and_memory_are_kept_where_pods_get_their_own() {
    let processors = "kubelet_cpu_manager_policy: static";
    refused(processors, 1, &["processors of their own and keep none", "system_cpu_reserved"]);
    refused("kubelet_custom_flags: [\"--cpu-manager-policy=static\"]", 1, &["keep none"]);
    refused("kubelet_config_extra_args: {cpuManagerPolicyOptions: {full-pcpus-only: 'true'}}", 1, &["needs the policy `static`"]);
    let options = "kubelet_config_extra_args: {cpuManagerPolicyOptions: {full-cpus-only: 'true'}}";
    refused(&format!("{processors}\nkube_cpu_reserved: 100m\n{options}"), 3, &["did you mean `full-pcpus-only`?"]);
    for kept in ["system_cpu_reserved: 500m", "kube_reserved: true", "kubelet_config_extra_args: {reservedSystemCPUs: '0-1'}"] {
        accepted(&format!("{processors}\n{kept}"));
    }
    // Of what is refused it is not said as well that it is not there.
    for refused in ["kubelet_config_extra_args: {kubeReserved: {cpu: 100m}}", "kube_cpu_reserved: much"] {
        let told = problems("1.37.1", ONE, &format!("{processors}\n{refused}"));
        assert!(told.matches("error: ").count() == 1 && !told.contains("keep none"), "{refused}: {told}");
    }
    let told = problems("1.37.1", ONE, "kube_memory_reserved: much\nkubelet_config_extra_args: {memoryManagerPolicy: Static}");
    assert_eq!(told.matches("error: ").count(), 1, "{told}");
    refused("kubelet_config_extra_args: {reservedSystemCPUs: '1-0'}", 1, &["a list of numbers of processors"]);
    let memory = "kubelet_config_extra_args: {memoryManagerPolicy: Static";
    refused(&format!("{memory}}}"), 1, &["0 bytes", "104857600 are kept"]);
    accepted(&format!("kube_memory_reserved: 924Mi\n{memory}, reservedMemory: [{{numaNode: 0, limits: {{memory: 1Gi}}}}]}}"));
    accepted(&format!("eviction_hard: {{memory.available: 5%}}\n{memory}, reservedMemory: [{{numaNode: 0, limits: {{memory: 1Gi}}}}]}}"));
}
