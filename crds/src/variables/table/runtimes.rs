//! Variables of other runtimes.

use crate::variables::row::{Variable, flag, text, value};

const DOCKER: &str = "kokctl runs containers by containerd, without Docker";
const CRIO: &str = "kokctl runs containers by containerd, not by CRI-O";
const SANDBOX: &str = "pods that count on it would run by runc, with the host's kernel";

// What to do as long as it is not done.
const BY_RUNC: &str = "leave it out where runc will do; else run these pods in a cluster that has it";
const RUNC: &str = "leave it out, and let runc start these pods";

pub(super) static ROWS: &[Variable] = &[
    value("docker_insecure_registries", "list of registries", "[]", "Registries that Docker trusts without a certificate.")
        .moot("kokctl runs containers by containerd; write the registry under containerd_registries_mirrors with skip_verify"),
    value("docker_registry_mirrors", "list of URLs", "[]", "Mirrors that Docker asks.")
        .moot("kokctl runs containers by containerd; write the mirror under containerd_registries_mirrors"),
    text("docker_version", "none", "Which Docker.").moot(DOCKER),
    text("docker_cli_version", "none", "Which docker command.").moot(DOCKER),
    text("docker_containerd_version", "none", "Which containerd beside Docker.").moot(DOCKER),
    text("docker_rh_repo_base_url", "none", "Where Docker's packages come from.").moot(DOCKER),
    text("docker_rh_repo_gpgkey", "none", "The key of those packages.").moot(DOCKER),
    text("docker_repo_key_keyring", "none", "The key of those packages.").moot(DOCKER),
    text("docker_storage_options", "none", "How Docker stores layers.").moot(DOCKER),
    text("docker_cgroup_driver", "none", "What manages Docker's control groups.").moot(DOCKER),
    value("docker_*", "none", "none", "A setting of Docker.").moot(DOCKER),
    value("cri_dockerd_*", "none", "none", "A setting of cri-dockerd.").moot(DOCKER),
    value("crio_registries", "list", "[]", "Registries that CRI-O asks.").moot(CRIO),
    value("crio_insecure_registries", "list", "[]", "Registries that CRI-O trusts without a certificate.").moot(CRIO),
    value("crio_*", "none", "none", "A setting of CRI-O.").moot(CRIO),
    flag("kata_containers_enabled", "false", "Runs containers in small virtual machines.").needed(SANDBOX).instead(BY_RUNC),
    value("kata_containers_*", "none", "none", "A setting of Kata Containers.").moot("this version does not install Kata Containers"),
    flag("gvisor_enabled", "false", "Runs containers on a kernel in user space.").needed(SANDBOX).instead(BY_RUNC),
    value("gvisor_*", "none", "none", "A setting of gVisor.").moot("this version does not install gVisor"),
    flag("crun_enabled", "false", "Starts containers by crun.").needed("pods that ask for it could not start").instead(RUNC),
    flag("youki_enabled", "false", "Starts containers by youki.").needed("pods that ask for it could not start").instead(RUNC),
    flag("nvidia_accelerator_enabled", "false", "Drivers for graphics cards.")
        .needed("pods that ask for graphics cards could not start")
        .instead("leave it out; install the drivers on the hosts, and a device plugin that uses CDI into the cluster"),
    text("container_manager_on_localhost", "none", "What runs containers where Kubespray runs.")
        .moot("kokctl runs no containers where it runs"),
    text("crun_version", "none", "Which crun.").moot("this version does not install crun"),
    value("crun_runtime", "map", "none", "How CRI-O calls crun.").moot(CRIO),
    text("youki_version", "none", "Which youki.").moot("this version does not install youki"),
    text("youki_bin_dir", "none", "Where youki lies.").moot("this version does not install youki"),
    value("youki_runtime", "map", "none", "How CRI-O calls youki.").moot(CRIO),
    value("kata_runtimes", "list", "none", "Which virtual machines CRI-O makes.").moot(CRIO),
    value("runc_runtime", "map", "none", "How CRI-O calls runc.").moot(CRIO),
    text("podman_remove_packages_yum", "none", "Packages that are removed for Docker.").moot(DOCKER),
    value("nvidia_*", "none", "none", "A setting of those drivers.").moot("this version does not install drivers"),
];
