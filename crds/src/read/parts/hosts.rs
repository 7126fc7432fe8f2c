//! Fields of what hosts have, and keep for themselves.

use super::{Part, ValueKind, leaf};
use crate::decode::Form;

/// More than a /16 of a node has addresses for.
const MOST_PODS: i64 = 65_536;
/// The kernel's own limit (`PID_MAX_LIMIT`).
const MOST_PIDS: i64 = 4_194_304;

pub(crate) const HOST_RESOURCES: Part = Part {
    form: Form {
        what: "the field `hostResources`",
        fields: &["kubeReserved", "systemReserved", "evictionHard", "maxPods", "podPidsLimit", "vars", "hostVars", "resources"],
        refused: &[
            ("podPIDsLimit", "write it as `podPidsLimit`"),
            ("sysctls", "write them as `sysctl` under `resources`"),
            ("entries", "write them as `resources`"),
        ],
    },
    leaves: &[
        leaf("evictionHard", "eviction_hard", ValueKind::Texts, "When the kubelet evicts pods: what must be left, by eviction signal."),
        leaf("maxPods", "kubelet_max_pods", ValueKind::Number(1, MOST_PODS), "How many pods a node runs at most; so far 110."),
        leaf(
            "podPidsLimit",
            "kubelet_pod_pids_limit",
            ValueKind::Number(-1, MOST_PIDS),
            "How many processes a pod may have; so far -1, no limit.",
        ),
    ],
    inner: &[("kubeReserved", &KUBE_RESERVED), ("systemReserved", &SYSTEM_RESERVED)],
};

/// What the kubelet calls resources that may be reserved.
const RESERVED: [&str; 4] = ["cpu", "memory", "ephemeral-storage", "pid"];

pub(crate) const KUBE_RESERVED: Part = Part {
    form: Form { what: "the field `kubeReserved`", fields: &RESERVED, refused: &[] },
    leaves: &[
        leaf("cpu", "kube_cpu_reserved", ValueKind::Amount, "Processor time; so far none."),
        leaf("memory", "kube_memory_reserved", ValueKind::Amount, "Memory; so far none."),
        leaf("ephemeral-storage", "kube_ephemeral_storage_reserved", ValueKind::Amount, "Disk; so far none."),
        leaf("pid", "kube_pid_reserved", ValueKind::Amount, "Processes; so far none."),
    ],
    inner: &[],
};

pub(crate) const SYSTEM_RESERVED: Part = Part {
    form: Form { what: "the field `systemReserved`", fields: &RESERVED, refused: &[] },
    leaves: &[
        leaf("cpu", "system_cpu_reserved", ValueKind::Amount, "Processor time; so far none."),
        leaf("memory", "system_memory_reserved", ValueKind::Amount, "Memory; so far none."),
        leaf("ephemeral-storage", "system_ephemeral_storage_reserved", ValueKind::Amount, "Disk; so far none."),
        leaf("pid", "system_pid_reserved", ValueKind::Amount, "Processes; so far none."),
    ],
    inner: &[],
};
