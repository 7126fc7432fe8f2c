//! Variables of packages.

use crate::variables::row::{Variable, flag, number, text, value, word};

const SOURCES: &str = "kokctl installs from the repositories that the host has, and only what is missing; set them up on the host";
const SYSTEM: &str = "kokctl updates nothing on a host";

pub(super) static ROWS: &[Variable] = &[
    flag(
        "install_packages",
        "true",
        "Whether packages that a host lacks are installed from its own repositories; otherwise the host is refused.",
    )
    .reads(|decoder, field, settings| {
        settings.host.install_packages = decoder.boolean(field).unwrap_or(settings.host.install_packages);
    }),
    value("repo_list", "list of URLs", "[]", "Repositories that kubean's action enable-repo.yml sets up.").moot(SOURCES),
    word("yum_repo", "URL", "none", "A mirror of RHEL's packages.").moot(SOURCES),
    word("debian_repo", "URL", "none", "A mirror of Debian's packages.").moot(SOURCES),
    word("ubuntu_repo", "URL", "none", "A mirror of Ubuntu's packages.").moot(SOURCES),
    word("extras_rh_repo_*", "URL", "none", "A mirror of RHEL's further packages.").moot(SOURCES),
    flag("rhel_enable_repos", "true", "Sets up further repositories on RHEL and its kin.").moot(SOURCES),
    word("rh_subscription_*", "text", "none", "A subscription of RHEL.").moot(SOURCES).hidden(),
    word("epel_*", "text", "none", "The repository EPEL.").moot(SOURCES),
    number("pkg_install_retries", "none", "How often packages are tried.")
        .moot("kokctl waits for the locks of the package manager, and installs once"),
    number("pkg_install_timeout", "none", "How long packages may take.").moot("kokctl has a limit of its own"),
    flag("system_upgrade", "false", "Updates the packages of hosts.").moot(SYSTEM),
    flag("system_upgrade_autoclean", "false", "Removes downloaded packages after that.").moot(SYSTEM),
    word("system_upgrade_reboot", "text", "never", "Restarts hosts after that.").moot(SYSTEM),
    flag("coreos_auto_upgrade", "false", "Whether CoreOS updates itself.").moot(SYSTEM),
    flag("allow_package_downgrades*", "false", "Whether packages may become older.").moot(SYSTEM),
    flag("centos_fastestmirror_enabled", "none", "Lets yum look for the fastest mirror.").moot(SOURCES),
    flag("openeuler_metalink_enabled", "none", "Lets dnf look for mirrors.").moot(SOURCES),
    flag("use_oracle_public_repo", "none", "Sets up Oracle's repositories.").moot(SOURCES),
    text("yum_repo_dir", "none", "Where repositories stand.").moot(SOURCES),
    value("fedora_coreos_packages", "list of names", "none", "Packages for CoreOS.").moot(SOURCES),
    flag("coreos_locksmithd_disable", "none", "Whether CoreOS restarts by itself.").moot(SYSTEM),
    flag("ubuntu_kernel_unattended_upgrades_disabled", "none", "Keeps Ubuntu from updating its kernel.").moot(SYSTEM),
    flag("ubuntu_stop_unattended_upgrades", "none", "Keeps Ubuntu from updating itself.").moot(SYSTEM),
    value("pkgs", "map", "what kokctl needs", "Packages that Kubespray installs.")
        .moot("kokctl knows which it needs, and installs no others"),
    value("pkgs_to_remove", "list of names", "none", "Packages that Kubespray removes.").moot("kokctl removes no packages"),
    text("pyyaml_package", "none", "A package that Ansible needs on hosts.").moot("hosts need no Python here"),
    value("common_required_pkgs", "list of names", "what kokctl needs", "Packages that Kubespray installs.")
        .moot("kokctl knows which it needs, and installs no others"),
    value("required_pkgs", "list of names", "what kokctl needs", "Packages that Kubespray installs.")
        .moot("kokctl knows which it needs, and installs no others"),
];
