//! Variables of containerd.

use crate::variables::read::containerd;
use crate::variables::row::{Variable, flag, number, text, value, word};

const OTHERWISE: &str = "containerd would behave otherwise than asked for";
const SPEC: &str = "containers would start otherwise than asked for";
const OWN_PATHS: (&str, &str) = ("kokctl has its files at places of its own", "leave it out");
const BUNDLE: &str = "the bundle says which containerd and runc are installed";

// What to do as long as it is not done.
const OPEN_FILES: &str = "leave it out; how many files a container may have open is `containerd_limit_open_file_num`";

pub(super) static ROWS: &[Variable] =
    &[
        word("container_manager", "containerd", "containerd", "What runs containers.").only(
            &["containerd"],
            "kokctl installs containerd",
            "write `containerd`, or leave it out; images, pods and volumes are the same with it",
        ),
        text("containerd_version", "the newest of the bundle", "Which containerd; the bundle has to have it.")
            .reads(containerd::containerd_version),
        text("runc_version", "that of the bundle", "Which runc."),
        text("cni_version", "those of the bundle", "Which CNI plugins."),
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
        text("containerd_config", "none", "The whole configuration of containerd, in a form that Kubespray refuses.")
            .refused("Kubespray refuses it too", "write what it says of registries as `containerd_registries_mirrors`"),
        value("containerd_insecure_registries", "map", "{}", "Registries without certificates, in a form that Kubespray no longer reads.")
            .moot("Kubespray has not read it since 2.23; write the registry under containerd_registries_mirrors with skip_verify"),
        value("containerd_registries", "map", "{}", "Mirrors of registries, in a form that Kubespray no longer reads.")
            .moot("Kubespray has not read it since 2.23; write containerd_registries_mirrors"),
        value("containerd_registry_auth", "list of registry, username and password", "[]", "Logins to registries.")
            .needed("images that need a login could not be pulled").instead("leave it out, and give pods the login by `imagePullSecrets`")
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
            .needed("pods that ask for them could not start")
            .instead("leave it out, and let runc start these pods"),
        flag("containerd_use_config_path", "true", "Whether mirrors stand in files of their own.").moot("they always do"),
        text("containerd_metrics_address", "none", "Where containerd tells numbers about itself."),
        text("containerd_extra_args", "none", "Further configuration of containerd, as it stands in its file.")
            .needed(OTHERWISE)
            .instead("leave it out; what is an option of the CRI runtime plugin goes under `containerd_extra_runtime_args`"),
        value("containerd_base_runtime_specs", "map", "{}", "What containers have that say nothing else.")
            // As it is written out, and as templates make it, which may sort the keys.
            .usually(&[
                "{cri-base.json: {process: {rlimits: [{type: RLIMIT_NOFILE, hard: 65535, soft: 65535}]}}}",
                "{cri-base.json: {process: {rlimits: [{hard: 65535, soft: 65535, type: RLIMIT_NOFILE}]}}}",
            ])
            .needed(SPEC)
            .instead(OPEN_FILES),
        value("containerd_default_base_runtime_spec*", "map", "none", "What containers have that say nothing else.")
            .usually(&["{process: {rlimits: [{type: RLIMIT_NOFILE, hard: 65535, soft: 65535}]}}"])
            .needed(SPEC)
            .instead(OPEN_FILES),
        number(
            "containerd_base_runtime_spec_rlimit_nofile",
            "that of containerd_limit_open_file_num",
            "Most files that a container may have open.",
        )
        .usually(&["65535"])
        .needed("containers could have as many as `containerd_limit_open_file_num` says")
        .instead("write the number as `containerd_limit_open_file_num`, which holds for containers too"),
        value("containerd_runc_runtime", "map", "none", "How runc is called.")
            .usually(&["{name: runc, type: io.containerd.runc.v2, base_runtime_spec: cri-base.json, options: {Root: , SystemdCgroup: true, BinaryName: /usr/local/bin/runc}}"])
            .needed(SPEC)
            .instead("leave it out: runc is in /usr/local/sbin and leaves control groups to systemd"),
        flag("containerd_enable_selinux", "false", "Whether SELinux confines containers.")
            .needed("SELinux would not confine containers")
            .instead("leave it out; what SELinux does on the hosts is `preinstall_selinux_state`"),
        flag("containerd_disable_apparmor", "false", "Keeps AppArmor from confining containers.")
            .needed("AppArmor would keep containers from what they are to do")
            .instead("write `disable_apparmor: true` under `containerd_extra_runtime_args`"),
        flag("containerd_enable_unprivileged_ports", "true", "Whether containers without rights may use ports below 1024."),
        flag("containerd_enable_unprivileged_icmp", "true", "Whether containers without rights may send pings."),
        flag("containerd_disable_hugetlb_controller", "true", "Leaves huge pages of memory out of control groups."),
        flag("containerd_tolerate_missing_hugetlb_controller", "true", "Does without huge pages of memory where there are none."),
        flag("containerd_discard_unpacked_layers", "false", "Throws layers of images away that are unpacked."),
        number("containerd_grpc_max_recv_message_size", "16777216", "How large a question to containerd may be."),
        number("containerd_grpc_max_send_message_size", "16777216", "How large an answer of containerd may be."),
        number("containerd_max_container_log_line_size", "16384", "How long a line of a container's log may be."),
        word("containerd_image_pull_progress_timeout", "time", "5m0s", "How long a download of an image may stand still.").or(&["5m"]),
        word("containerd_limit_proc_num", "number or infinity", "infinity", "Most processes of containerd."),
        word("containerd_limit_core", "number or infinity", "infinity", "Largest dump of a crash."),
        word("containerd_limit_mem_lock", "number or infinity", "systemd's own", "Most memory that may be locked."),
        value("containerd_debug_*", "none", "containerd's own", "What containerd tells about itself.").or(&["info", "0"]),
        flag("containerd_metrics_grpc_histogram", "false", "Tells more numbers about itself."),
        flag("containerd_tracing_enabled", "false", "Tells a collector of OpenTelemetry what containerd does."),
        value("containerd_tracing_*", "none", "none", "Which collector that is, and how much it is told.")
            .moot("it is read with containerd_tracing_enabled only"),
        flag("enable_cdi", "true", "Whether devices may be given to containers by CDI."),
        flag("nri_enabled", "true", "Whether other programs may change containers by NRI."),
        flag("deploy_container_engine", "true", "Whether containerd is installed.").only(&["true"], "every node needs it", "leave it out"),
        word("cri_socket", "address of a socket", "unix:///run/containerd/containerd.sock", "Where the kubelet reaches containerd.").only(
            &["unix:///run/containerd/containerd.sock", "unix:///var/run/containerd/containerd.sock"],
            "containerd listens there",
            "leave it out",
        ),
        word("containerd_cfg_dir", "path", "/etc/containerd", "Where containerd's configuration lies.").only(
            &["/etc/containerd"],
            OWN_PATHS.0,
            OWN_PATHS.1,
        ),
        word("containerd_systemd_dir", "path", "/etc/systemd/system/containerd.service.d", "Where further settings of its service lie.")
            .only(&["/etc/systemd/system/containerd.service.d"], OWN_PATHS.0, OWN_PATHS.1),
        word("containerd_bin_dir", "path", "/usr/local/bin", "Where containerd lies.").only(&["/usr/local/bin"], OWN_PATHS.0, OWN_PATHS.1),
        word("runc_bin_dir", "path", "/usr/local/sbin", "Where runc lies.").moot("kokctl has it in /usr/local/sbin"),
        text("runc_package_name", "none", "The package of runc.").moot(BUNDLE),
        flag("runc_enabled", "true", "Whether runc is installed.").moot(BUNDLE),
        text("containerd_package*", "none", "The package of containerd.").moot(BUNDLE),
        text("containerd_versioned_pkg", "none", "The package of containerd.").moot(BUNDLE),
        text("containerd_min_version_required", "none", "Which containerd Kubespray wants at least.").moot(BUNDLE),
        value("containerd_supported_distributions", "list", "none", "Where Kubespray installs containerd.").moot(BUNDLE),
        text("containerd_debian_repo_*", "none", "Where containerd's packages come from.").moot(BUNDLE),
        text("containerd_fedora_repo_*", "none", "Where containerd's packages come from.").moot(BUNDLE),
        text("containerd_ubuntu_repo_*", "none", "Where containerd's packages come from.").moot(BUNDLE),
        value("nerdctl_*", "none", "none", "A setting of nerdctl.").moot("kokctl does not install nerdctl"),
        text("crictl_image_*", "none", "How Kubespray handles images.").moot("Kubespray works it out itself for its own use"),
        text("crictl_version", "that of the bundle", "Which crictl."),
    ];
