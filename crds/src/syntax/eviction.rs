//! Signals by which a kubelet evicts pods.

/// Those that a kubelet knows (`signalToResource` of Kubernetes' `pkg/kubelet/eviction`).
pub(crate) const SIGNALS: [&str; 9] = [
    "allocatableMemory.available",
    "containerfs.available",
    "containerfs.inodesFree",
    "imagefs.available",
    "imagefs.inodesFree",
    "memory.available",
    "nodefs.available",
    "nodefs.inodesFree",
    "pid.available",
];
