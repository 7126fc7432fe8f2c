//! Variables of the kubelet.

use crate::variables::read::{component, kubelet, policies, values};
use crate::variables::row::{Variable, flag, number, text, value, word};

const OPEN: &str = "the kubelet would be less secure than asked for";
const SIGNED: &str = "the cluster's authority signs it in any case, kokctl makes it anew in time, and nobody has to approve it; where somebody else keeps \
the key of that authority, the kubelet signs its own";
const GROUPS: &str = "systemd has both in system.slice, and the kubelet finds that out";

pub(super) static ROWS: &[Variable] = &[
    value(
        "eviction_hard",
        "map of eviction signals to what must be left: an amount (1Gi) or a share (10%)",
        "{}: the kubelet's own, among them 10 % of its file system and 15 % of containerd's",
        "When the kubelet evicts pods and takes no more; a signal that is not named has no threshold.",
    )
    .reads(kubelet::eviction_hard),
    value("eviction_hard_control_plane", "map", "none", "Another threshold of control planes.")
        .refused("Kubespray has removed it", "write `eviction_hard`, which holds for all hosts"),
    text("kubelet_static_pod_path", "/etc/kubernetes/manifests", "Where manifests of static pods lie.")
        .refused("Kubespray has removed it", "leave it out: they lie in /etc/kubernetes/manifests"),
    flag("kubelet_fail_cgroup_v1", "true", "Whether the kubelet refuses to start on a host with version 1 control groups.").reads(
        |decoder, field, settings| settings.kubelet_fail_cgroup_v1 = decoder.boolean(field).unwrap_or(settings.kubelet_fail_cgroup_v1),
    ),
    number("kubelet_max_pods", "110", "How many pods a node runs at most.").reads(|d, f, s| values::number(d, f, &mut s.components.kubelet.fields, "maxPods", 1..=10_000)),
    number("kubelet_pods_per_core", "0", "How many pods per processor.").reads(|d, f, s| values::count(d, f, &mut s.components.kubelet.fields, "podsPerCore")),
    number("kubelet_pod_pids_limit", "-1", "How many processes a pod may have.").reads(|d, f, s| values::number(d, f, &mut s.components.kubelet.fields, "podPidsLimit", -1..=i64::MAX)),
    word("kubelet_bind_address", "address", "0.0.0.0", "Where the kubelet listens.")
        .follows("it listens at all addresses of the host, also where the host's own is meant, as with Kubespray; another one is an error"),
    text("kubelet_address", "the host's address", "The address of the node.").follows("it is the host's address; another one is an error"),
    word("kubelet_healthz_bind_address", "address", "127.0.0.1", "Where the kubelet tells whether it is well.").reads(|d, f, s| values::address(d, f, &mut s.components.kubelet.fields, "healthzBindAddress")),
    number("kubelet_healthz_port", "10248", "The port at which it tells it.").reads(|d, f, s| values::number(d, f, &mut s.components.kubelet.fields, "healthzPort", 0..=65_535)),
    number("kubelet_max_parallel_image_pulls", "1", "How many images a node fetches at once.").reads(kubelet::parallel_pulls),
    word("kubelet_swap_behavior", "NoSwap", "NoSwap", "How much swap pods may use, where there is any.").reads(|d, f, s| values::word(d, f, &mut s.components.kubelet.fields, "memorySwap.swapBehavior", &["NoSwap", "LimitedSwap"])),
    word(
        "kubelet_flexvolumes_plugins_dir",
        "path",
        "/usr/libexec/kubernetes/kubelet-plugins/volume/exec",
        "Where old drivers of volumes lie.",
    ).reads(kubelet::flexvolumes),
    word(
        "kube_resolv_conf",
        "path",
        "that of systemd-resolved, or /etc/resolv.conf",
        "The name servers that pods ask for names outside; `/etc/resolv.conf` leaves it to kubeadm, which finds out whether pods can use it.",
    )
    .reads(kubelet::resolv_conf),
    text("kubelet_kubelet_cgroups*", "found out", "In which control group the kubelet is.").moot(GROUPS),
    text("kubelet_runtime_cgroups*", "found out", "In which control group containerd is.").moot(GROUPS),
    text("kube_service_cgroups", "system.slice", "In which control group both are.").moot(GROUPS),
    value("kubelet_config_extra_args_cgroupfs", "map", "none", "Further configuration without systemd.")
        .moot("systemd manages the control groups here"),
    value("kubelet_systemd_wants_dependencies", "list of units", "[]", "What systemd starts with the kubelet."),
    text("kubelet_config_dir", "none", "Where the kubelet's configuration lies.").moot("it is where kubeadm has it, in /var/lib/kubelet"),
    flag("kubelet_tracing", "false", "Tells a collector of OpenTelemetry what the kubelet does.").reads(|d, f, s| values::switch(d, f, &mut s.components.kubelet_tracing)),
    text("kubelet_tracing_endpoint", "localhost:4317", "Address and port of that collector.")
        .reads(|d, f, s| values::text(d, f, &mut s.components.kubelet_tracing.values, "endpoint")).beside("kubelet_tracing", |s| s.components.kubelet_tracing.enabled),
    number("kubelet_tracing_sampling_rate_per_million", "0", "How many of a million spans are told.")
        .reads(|d, f, s| values::number(d, f, &mut s.components.kubelet_tracing.values, "samplingRatePerMillion", 0..=1_000_000)).beside("kubelet_tracing", |s| s.components.kubelet_tracing.enabled),
    value("kube_node_addresses", "text", "none", "Addresses of all hosts.").moot("Kubespray computes it itself and reads it from nobody"),
    word("kubelet_cgroup_driver", "systemd", "systemd", "What manages control groups.").only(
        &["systemd"],
        "systemd manages the others of the host, and two managers would fight",
        "leave it out",
    ),
    word("kubelet_shutdown_grace_period", "time", "0s", "How long a host that goes down waits for its pods.").reads(|d, f, s| values::time(d, f, &mut s.components.kubelet.fields, "shutdownGracePeriod")),
    word("kubelet_shutdown_grace_period_critical_pods", "time", "0s", "How much of that is for critical pods.").reads(|d, f, s| values::time(d, f, &mut s.components.kubelet.fields, "shutdownGracePeriodCriticalPods")),
    word("kubelet_status_update_frequency", "time", "10s", "How often a node tells how it is.").reads(|d, f, s| values::time(d, f, &mut s.components.kubelet.fields, "nodeStatusUpdateFrequency")),
    number("kube_read_only_port", "0", "A port at which anybody may read what the kubelet knows.").reads(|d, f, s| values::number(d, f, &mut s.components.kubelet.fields, "readOnlyPort", 0..=65_535)),
    flag("system_reserved", "false", "Keeps room for the host's programs, also where no amount is said: 500m, 512Mi, 500Mi of disk and 1000 processes.").reads(|d, f, s| s.components.kubelet.system_reserved.enabled = d.boolean(f)),
    flag("kube_reserved", "false", "Keeps room for the kubelet and containerd, also where no amount is said: 100m, 256Mi, 500Mi of disk and 1000 processes.").reads(|d, f, s| s.components.kubelet.kube_reserved.enabled = d.boolean(f)),
    value("system_reserved_*", "none", "none", "Where the host's programs are.").moot(GROUPS),
    value("kube_reserved_*", "none", "none", "Where the kubelet and containerd are.").moot(GROUPS),
    word("system_cpu_reserved", "amount", "none", "Processor time for the host's programs.").reads(|d, f, s| kubelet::reserved(d, f, &mut s.components.kubelet.system_reserved.amounts, "cpu")),
    word("system_memory_reserved", "amount", "none", "Memory for the host's programs.").reads(|d, f, s| kubelet::reserved(d, f, &mut s.components.kubelet.system_reserved.amounts, "memory")),
    word("system_ephemeral_storage_reserved", "amount", "none", "Disk for the host's programs.").reads(|d, f, s| kubelet::reserved(d, f, &mut s.components.kubelet.system_reserved.amounts, "ephemeral-storage")),
    word("system_pid_reserved", "amount", "none", "Processes for the host's programs.").reads(|d, f, s| kubelet::reserved(d, f, &mut s.components.kubelet.system_reserved.amounts, "pid")),
    word("kube_cpu_reserved", "amount", "none", "Processor time for the kubelet and containerd.").reads(|d, f, s| kubelet::reserved(d, f, &mut s.components.kubelet.kube_reserved.amounts, "cpu")),
    word("kube_memory_reserved", "amount", "none", "Memory for the kubelet and containerd.").reads(|d, f, s| kubelet::reserved(d, f, &mut s.components.kubelet.kube_reserved.amounts, "memory")),
    word("kube_ephemeral_storage_reserved", "amount", "none", "Disk for the kubelet and containerd.").reads(|d, f, s| kubelet::reserved(d, f, &mut s.components.kubelet.kube_reserved.amounts, "ephemeral-storage")),
    word("kube_pid_reserved", "amount", "none", "Processes of the kubelet and containerd.").reads(|d, f, s| kubelet::reserved(d, f, &mut s.components.kubelet.kube_reserved.amounts, "pid")),
    text("kubelet_enforce_node_allocatable", "pods", "For whom those limits hold.").reads(kubelet::enforced),
    flag("kubelet_rotate_certificates", "true", "Whether the kubelet renews its client certificate.").only(
        &["true"],
        "it is valid for a year only",
        "leave it out",
    ),
    flag("kubelet_rotate_server_certificates", "false", "Whether the cluster signs the kubelet's own certificate.")
        .moot(SIGNED),
    flag("kubelet_csr_approver_enabled", "false", "What approves those certificates.").moot(SIGNED),
    value("kubelet_csr_approver_*", "none", "none", "A setting of that.").moot("it is read with kubelet_csr_approver_enabled only"),
    flag("kubelet_authentication_token_webhook", "true", "Whether the kubelet asks the API server who somebody is.").only(
        &["true"],
        OPEN,
        "leave it out",
    ),
    flag("kubelet_authorization_mode_webhook", "true", "Whether the kubelet asks the API server what somebody may do.").only(
        &["true"],
        OPEN,
        "leave it out",
    ),
    flag("kubelet_protect_kernel_defaults", "false", "Whether the kubelet refuses kernel parameters that it would change.").reads(|d, f, s| values::flag(d, f, &mut s.components.kubelet.fields, "protectKernelDefaults")),
    flag("kubelet_seccomp_default", "false", "Whether containers get the runtime's seccomp profile.").reads(|d, f, s| values::flag(d, f, &mut s.components.kubelet.fields, "seccompDefault")),
    flag("kubelet_systemd_hardening", "false", "Lets systemd refuse strangers at the kubelet.")
        .needed(OPEN)
        .instead("leave it out, and let a firewall of the hosts close port 10250 to strangers"),
    value("kubelet_secure_addresses", "text", "none", "Who is no stranger then.").moot("it is read with kubelet_systemd_hardening only"),
    word("kubelet_streaming_connection_idle_timeout", "time", "4h", "How long a silent connection to a container lives.").reads(|d, f, s| values::time(d, f, &mut s.components.kubelet.fields, "streamingConnectionIdleTimeout")),
    flag("kubelet_make_iptables_util_chains", "true", "Whether the kubelet makes chains of iptables.").reads(|d, f, s| values::flag(d, f, &mut s.components.kubelet.fields, "makeIPTablesUtilChains")),
    value("kubelet_feature_gates", "list of Name=true or Name=false", "[]", "Feature gates of the kubelet.").reads(|d, f, s| component::gates(d, f, &mut s.components.feature_gates.kubelet)),
    number("kubelet_event_record_qps", "50", "How many events a second the kubelet sends.").reads(|d, f, s| values::count(d, f, &mut s.components.kubelet.fields, "eventRecordQPS")),
    value("kubelet_config_extra_args", "map", "{}", "Further configuration of the kubelet.").reads(|d, f, s| values::entries(d, f, &mut s.components.kubelet.fields, kubelet::OWN)),
    value("kubelet_node_config_extra_args", "map", "{}", "Further configuration of kubelets of nodes that are no control planes.")
        .reads(|d, f, s| values::entries(d, f, &mut s.components.kubelet_of_workers.fields, kubelet::OWN)),
    value("kubelet_custom_flags", "list of options", "[]", "Further options of the kubelet.").reads(|d, f, s| component::kubelet_flags(d, f, &mut s.components.kubelet.options)),
    value("kubelet_node_custom_flags", "list of options", "[]", "Further options of kubelets of nodes that are no control planes.")
        .reads(|d, f, s| component::kubelet_flags(d, f, &mut s.components.kubelet_of_workers.options)),
    value("eviction_soft", "map of eviction signals to what must be left", "{}", "When the kubelet evicts pods after a while.")
        .reads(|d, f, s| kubelet::soft(d, f, s, "evictionSoft")),
    value("eviction_soft_grace_period", "map of eviction signals to times", "{}", "How long that while is.")
        .reads(|d, f, s| kubelet::soft(d, f, s, "evictionSoftGracePeriod")),
    number("kubelet_image_gc_high_threshold", "85", "At how many percent of the disk images that nobody uses are removed.")
        .reads(|d, f, s| values::number(d, f, &mut s.components.kubelet.fields, "imageGCHighThresholdPercent", 0..=100)),
    number("kubelet_image_gc_low_threshold", "80", "Down to how many percent they are.")
        .reads(|d, f, s| values::number(d, f, &mut s.components.kubelet.fields, "imageGCLowThresholdPercent", 0..=100)),
    value("kubelet_image_gc_*", "whole number", "the kubelet's own", "When images that nobody uses are removed.")
        .refused("there is no such setting", "write kubelet_image_gc_high_threshold and kubelet_image_gc_low_threshold"),
    number("kubelet_logfiles_max_nr", "5", "How many files of a container's log are kept.")
        .reads(|d, f, s| values::number(d, f, &mut s.components.kubelet.fields, "containerLogMaxFiles", 2..=1000)),
    word("kubelet_logfiles_max_size", "amount", "10Mi", "How large such a file becomes.")
        .reads(|d, f, s| kubelet::amount(d, f, s, "containerLogMaxSize")),
    word("kubelet_topology_manager_policy", "none", "none", "How processors and memory are given to pods.").reads(|d, f, s| values::word(d, f, &mut s.components.kubelet.fields, "topologyManagerPolicy", &["none", "best-effort", "restricted", "single-numa-node"])),
    word("kubelet_topology_manager_scope", "container or pod", "container", "Whether that is done for each container or for the whole pod.")
        .reads(|d, f, s| values::word(d, f, &mut s.components.kubelet.fields, "topologyManagerScope", &["container", "pod"])),
    word("kubelet_cpu_manager_policy", "none", "none", "Whether pods get processors of their own.").reads(|d, f, s| values::word(d, f, &mut s.components.kubelet.fields, "cpuManagerPolicy", &["none", "static"])),
    value("kubelet_cpu_manager_policy_options", "map of names to texts", "{}", "More about that.")
        .reads(policies::options),
];
