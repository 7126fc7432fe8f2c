//! Variables of containerd.

use crate::variables::read::containerd;
use crate::variables::row::{Variable, flag, number, text, value, word};

const BUNDLE: &str = "the bundle says which containerd and runc are installed";

pub(super) static ROWS: &[Variable] = &[
    word("container_manager", "containerd", "containerd", "What runs containers.").only(
        &["containerd"],
        "kokctl installs containerd",
        "write `containerd`, or leave it out; images, pods and volumes are the same with it",
    ),
    text("containerd_version", "that of the bundle", "Which containerd.").moot(BUNDLE),
    text("runc_version", "that of the bundle", "Which runc.").moot(BUNDLE),
    text("cni_version", "those of the bundle", "Which CNI plugins.").moot(BUNDLE),
    flag("containerd_static_binary", "true", "Whether containerd is the static one.").moot(BUNDLE),
    value(
        "containerd_extra_runtime_args",
        "map of names to texts, whole numbers or booleans",
        "{}",
        "Further options of containerd's CRI runtime plugin (io.containerd.cri.v1.runtime).",
    )
    .reads(containerd::containerd_extra_runtime_args),
    number(
        "containerd_limit_open_file_num",
        "1048576",
        "Most files that containerd, and a container that says nothing else, may have open.",
    )
    .reads(containerd::containerd_limit_open_file_num),
    value(
        "containerd_registries_mirrors",
        "list of prefix and mirrors (host, capabilities, skip_verify, override_path, ca)",
        "[]",
        "Where containerd fetches images instead of their own registries.",
    )
    .reads(containerd::containerd_registries_mirrors),
    value("containerd_insecure_registries", "map", "{}", "Registries without certificates, in a form that Kubespray no longer reads.")
        .moot("Kubespray has not read it since 2.23; write the registry under containerd_registries_mirrors with skip_verify"),
    value("containerd_registries", "map", "{}", "Mirrors of registries, in a form that Kubespray no longer reads.")
        .moot("Kubespray has not read it since 2.23; write containerd_registries_mirrors"),
    value("containerd_registry_auth", "list of registry, username and password", "[]", "Logins to registries.")
        .needed("images that need a login could not be pulled; use imagePullSecrets in the cluster")
        .hidden(),
    word("containerd_storage_dir", "path", "/var/lib/containerd", "Where images and containers lie.").only(
        &["/var/lib/containerd"],
        "this version has them there and looks for room there",
        "mount the larger file system at /var/lib/containerd",
    ),
    word("containerd_state_dir", "path", "/run/containerd", "Where containerd has its sockets.").only(
        &["/run/containerd"],
        "kokctl and the kubelet look there",
        "leave it out",
    ),
    word("containerd_snapshotter", "overlayfs", "overlayfs", "How layers of images become file systems.").only(
        &["overlayfs"],
        "this version sets containerd up with it",
        "write `overlayfs`, or leave it out",
    ),
    flag("containerd_use_systemd_cgroup", "true", "Whether systemd manages the control groups of containers.").only(
        &["true"],
        "systemd manages the others of the host, and two managers would fight",
        "leave it out",
    ),
    number("containerd_oom_score", "-999", "How late the kernel kills containerd."),
    value("containerd_default_runtime", "runc", "runc", "Which program starts containers.").only(
        &["runc"],
        "kokctl installs runc",
        "write `runc`, or leave it out",
    ),
    value("containerd_additional_runtimes", "list", "[]", "Further programs that start containers.")
        .needed("pods that ask for them could not start"),
    flag("containerd_use_config_path", "true", "Whether mirrors stand in files of their own.").moot("they always do"),
    text("containerd_metrics_address", "none", "Where containerd tells numbers about itself."),
    value("nerdctl_*", "none", "none", "A setting of nerdctl.").moot("kokctl does not install nerdctl"),
    text("crictl_version", "that of the bundle", "Which crictl.").moot(BUNDLE),
];
