//! Variables of the kubelet.

use crate::variables::read::kubelet;
use crate::variables::row::{Variable, flag, number, text, value, word};

const OPEN: &str = "the kubelet would be less secure than asked for";
const CERTIFICATE: &str = "the kubelet's own certificate would be one that nobody has signed";
const GROUPS: &str = "systemd has both in system.slice, and the kubelet finds that out";
const ROOM: &str = "pods could take what is to be kept for the host";

// What to do as long as it is not done.
const UNSIGNED: &str = "leave it out; what asks kubelets may not check their certificates then (metrics-server: \
`--kubelet-insecure-tls`)";
const FLAGS: &str = "leave it out; by hand options go into /etc/default/kubelet of each host, as `KUBELET_EXTRA_ARGS=…`, \
and its kubelet is restarted";
const RESERVE_MEMORY: &str = "leave it out, and keep room by `memory.available` under `eviction_hard`";
const RESERVE_DISK: &str = "leave it out, and keep room by `nodefs.available` under `eviction_hard`";
const RESERVE_PIDS: &str = "leave it out, and keep room by `pid.available` under `eviction_hard`";

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
    number("kubelet_max_pods", "110", "How many pods a node runs at most.")
        .needed("a node would run 110 pods at most")
        .instead(by_hand!("--max-pods=…")),
    number("kubelet_pods_per_core", "0", "How many pods per processor.")
        .needed("a node would run 110 pods at most, whatever it has")
        .instead(by_hand!("--pods-per-core=…")),
    number("kubelet_pod_pids_limit", "-1", "How many processes a pod may have.")
        .needed("one pod could take all processes of a node from the others")
        .instead(by_hand!("--pod-max-pids=…")),
    word("kubelet_bind_address", "address", "0.0.0.0", "Where the kubelet listens.")
        .moot("it listens at all addresses of the host, also where the host's own is meant, as with Kubespray; another one is an error"),
    text("kubelet_address", "the host's address", "The address of the node.").moot("it is the host's address; another one is an error"),
    word("kubelet_healthz_bind_address", "address", "127.0.0.1", "Where the kubelet tells whether it is well."),
    number("kubelet_healthz_port", "10248", "The port at which it tells it."),
    number("kubelet_max_parallel_image_pulls", "1", "How many images a node fetches at once."),
    word("kubelet_swap_behavior", "NoSwap", "NoSwap", "How much swap pods may use, where there is any."),
    word(
        "kubelet_flexvolumes_plugins_dir",
        "path",
        "/usr/libexec/kubernetes/kubelet-plugins/volume/exec",
        "Where old drivers of volumes lie.",
    )
    .needed("the kubelet would not find them")
    .instead("put the drivers into /usr/libexec/kubernetes/kubelet-plugins/volume/exec"),
    word("kube_resolv_conf", "path", "that of systemd-resolved, or /etc/resolv.conf", "The name servers that pods ask for names outside.")
        .or(&["/run/systemd/resolve/resolv.conf"])
        .usually(&["/etc/resolv.conf"])
        .needed("pods would ask the name servers of the host")
        .instead(by_hand!("--resolv-conf=…")),
    text("kubelet_kubelet_cgroups*", "found out", "In which control group the kubelet is.").moot(GROUPS),
    text("kubelet_runtime_cgroups*", "found out", "In which control group containerd is.").moot(GROUPS),
    text("kube_service_cgroups", "system.slice", "In which control group both are.").moot(GROUPS),
    value("kubelet_config_extra_args_cgroupfs", "map", "none", "Further configuration without systemd.")
        .moot("systemd manages the control groups here"),
    value("kubelet_systemd_wants_dependencies", "list of units", "[]", "What systemd starts with the kubelet."),
    text("kubelet_config_dir", "none", "Where the kubelet's configuration lies.").moot("it is where kubeadm has it, in /var/lib/kubelet"),
    flag("kubelet_tracing", "false", "Tells a collector of OpenTelemetry what the kubelet does."),
    text("kubelet_tracing_*", "none", "Which collector that is, and how much it is told.").moot("it is read with kubelet_tracing only"),
    value("kube_node_addresses", "text", "none", "Addresses of all hosts.").moot("Kubespray computes it itself and reads it from nobody"),
    word("kubelet_cgroup_driver", "systemd", "systemd", "What manages control groups.").only(
        &["systemd"],
        "systemd manages the others of the host, and two managers would fight",
        "leave it out",
    ),
    word("kubelet_shutdown_grace_period", "time", "0s", "How long a host that goes down waits for its pods."),
    word("kubelet_shutdown_grace_period_critical_pods", "time", "0s", "How much of that is for critical pods."),
    word("kubelet_status_update_frequency", "time", "10s", "How often a node tells how it is."),
    number("kube_read_only_port", "0", "A port at which anybody may read what the kubelet knows."),
    flag("system_reserved", "false", "Keeps room for the host's programs.").needed(ROOM).instead(by_hand!("--system-reserved=…")),
    flag("kube_reserved", "false", "Keeps room for the kubelet and containerd.").needed(ROOM).instead(by_hand!("--kube-reserved=…")),
    value("system_reserved_*", "none", "none", "Where the host's programs are.").moot("it is read with system_reserved only"),
    value("kube_reserved_*", "none", "none", "Where the kubelet and containerd are.").moot("it is read with kube_reserved only"),
    word("system_cpu_reserved", "amount", "none", "Processor time for the host's programs.")
        .usually(&["500m"])
        .needed(ROOM)
        .instead(by_hand!("--system-reserved=cpu=…")),
    word("system_memory_reserved", "amount", "none", "Memory for the host's programs.")
        .usually(&["512Mi"])
        .needed(ROOM)
        .instead(RESERVE_MEMORY),
    word("system_ephemeral_storage_reserved", "amount", "none", "Disk for the host's programs.")
        .usually(&["500Mi"])
        .needed(ROOM)
        .instead(RESERVE_DISK),
    word("system_pid_reserved", "amount", "none", "Processes for the host's programs.")
        .usually(&["1000"])
        .needed(ROOM)
        .instead(RESERVE_PIDS),
    word("kube_cpu_reserved", "amount", "none", "Processor time for the kubelet and containerd.")
        .usually(&["100m"])
        .needed(ROOM)
        .instead(by_hand!("--kube-reserved=cpu=…")),
    word("kube_memory_reserved", "amount", "none", "Memory for the kubelet and containerd.")
        .usually(&["256Mi"])
        .needed(ROOM)
        .instead(RESERVE_MEMORY),
    word("kube_ephemeral_storage_reserved", "amount", "none", "Disk for the kubelet and containerd.")
        .usually(&["500Mi"])
        .needed(ROOM)
        .instead(RESERVE_DISK),
    word("kube_pid_reserved", "amount", "none", "Processes of the kubelet and containerd.")
        .usually(&["1000"])
        .needed(ROOM)
        .instead(RESERVE_PIDS),
    text("kubelet_enforce_node_allocatable", "pods", "For whom those limits hold.")
        .usually(&["\"\""])
        .needed(ROOM)
        .instead(by_hand!("--enforce-node-allocatable=…")),
    flag("kubelet_rotate_certificates", "true", "Whether the kubelet renews its client certificate.").only(
        &["true"],
        "it is valid for a year only",
        "leave it out",
    ),
    flag("kubelet_rotate_server_certificates", "false", "Whether the cluster signs the kubelet's own certificate.")
        .needed(CERTIFICATE)
        .instead(UNSIGNED),
    flag("kubelet_csr_approver_enabled", "false", "What approves those certificates.").needed(CERTIFICATE).instead(UNSIGNED),
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
    flag("kubelet_protect_kernel_defaults", "false", "Whether the kubelet refuses kernel parameters that it would change.")
        .usually(&["true"])
        .needed(OPEN)
        .instead(by_hand!("--protect-kernel-defaults")),
    flag("kubelet_seccomp_default", "false", "Whether containers get the runtime's seccomp profile.")
        .needed(OPEN)
        .instead("leave it out, and give pods `seccompProfile: {type: RuntimeDefault}` in their securityContext"),
    flag("kubelet_systemd_hardening", "false", "Lets systemd refuse strangers at the kubelet.")
        .needed(OPEN)
        .instead("leave it out, and let a firewall of the hosts close port 10250 to strangers"),
    value("kubelet_secure_addresses", "text", "none", "Who is no stranger then.").moot("it is read with kubelet_systemd_hardening only"),
    word("kubelet_streaming_connection_idle_timeout", "time", "4h", "How long a silent connection to a container lives.")
        .or(&["4h0m0s"])
        .needed(OPEN)
        .instead(by_hand!("--streaming-connection-idle-timeout=…")),
    flag("kubelet_make_iptables_util_chains", "true", "Whether the kubelet makes chains of iptables."),
    value("kubelet_feature_gates", "list of Name=true or Name=false", "[]", "Feature gates of the kubelet.")
        .needed("other features make another Kubernetes")
        .instead(by_hand!("--feature-gates=…")),
    number("kubelet_event_record_qps", "50", "How many events a second the kubelet sends."),
    value("kubelet_config_extra_args", "map", "{}", "Further configuration of the kubelet.")
        .needed("the kubelet would behave otherwise than asked for")
        .instead(FLAGS),
    value("kubelet_node_config_extra_args", "map", "{}", "Further configuration of the workers' kubelets.")
        .needed("the kubelet would behave otherwise than asked for")
        .instead(FLAGS),
    value("kubelet_custom_flags", "list of options", "[]", "Further options of the kubelet.")
        .needed("the kubelet would behave otherwise than asked for")
        .instead(FLAGS),
    value("kubelet_node_custom_flags", "list of options", "[]", "Further options of the workers' kubelets.")
        .needed("the kubelet would behave otherwise than asked for")
        .instead(FLAGS),
    value("eviction_soft*", "map", "none", "When the kubelet evicts pods after a while."),
    value("kubelet_image_gc_*", "whole number", "the kubelet's own", "When images that nobody uses are removed."),
    text("kubelet_logfiles_max_*", "the kubelet's own", "How much of the pods' logs is kept."),
    word("kubelet_topology_manager_policy", "none", "none", "How processors and memory are given to pods.")
        .needed("pods that count on it would be placed otherwise")
        .instead(by_hand!("--topology-manager-policy=…")),
    word("kubelet_cpu_manager_policy", "none", "none", "Whether pods get processors of their own.")
        .needed("pods that count on it would share processors")
        .instead(by_hand!("--cpu-manager-policy=…")),
];
