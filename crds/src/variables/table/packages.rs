//! Variables of packages.

use crate::variables::row::{Variable, flag, number, text, value, word};

const SYSTEM: &str = "it is read with system_upgrade only";

pub(super) static ROWS: &[Variable] = &[
    flag(
        "install_packages",
        "true",
        "Whether packages that a host lacks are installed, out of the bundle or from its own repositories; otherwise the host is refused.",
    )
    .reads(|decoder, field, settings| {
        settings.host.install_packages = decoder.boolean(field).unwrap_or(settings.host.install_packages);
    }),
    value(
        "repo_list",
        "list of URLs",
        "[]",
        "Repositories that kubean's action enable-repo.yml sets up; kokctl installs from those that the host has.",
    ),
    word("yum_repo", "URL", "none", "A mirror of RHEL's packages; kokctl installs from the repositories that the host has."),
    word("debian_repo", "URL", "none", "A mirror of Debian's packages; kokctl installs from the repositories that the host has."),
    word("ubuntu_repo", "URL", "none", "A mirror of Ubuntu's packages; kokctl installs from the repositories that the host has."),
    word(
        "extras_rh_repo_*",
        "URL",
        "none",
        "A mirror of RHEL's further packages; kokctl installs from the repositories that the host has.",
    ),
    flag("rhel_enable_repos", "false", "Sets up further repositories on RHEL and its kin."),
    word("rh_subscription_*", "text", "none", "A subscription of RHEL.").hidden(),
    flag("epel_enabled", "false", "Sets up the repository EPEL."),
    word("epel_*", "text", "none", "Where the repository EPEL comes from.").moot("it is read with epel_enabled only"),
    number("pkg_install_retries", "none", "How often packages are tried.")
        .moot("kokctl waits for the locks of the package manager, and installs once"),
    number("pkg_install_timeout", "none", "How long packages may take.").moot("kokctl has a limit of its own"),
    flag("system_upgrade", "false", "Updates the packages of hosts."),
    flag("system_upgrade_autoclean", "false", "Removes downloaded packages after that.").moot(SYSTEM),
    word("system_upgrade_reboot", "text", "never", "Restarts hosts after that.").moot(SYSTEM),
    flag("coreos_auto_upgrade", "as the host has it", "Whether CoreOS updates itself."),
    flag("allow_package_downgrades*", "false", "Whether packages may become older.").moot("kokctl installs only what is missing"),
    flag("centos_fastestmirror_enabled", "false", "Lets yum look for the fastest mirror."),
    flag("openeuler_metalink_enabled", "false", "Lets dnf look for mirrors."),
    flag("use_oracle_public_repo", "false", "Sets up Oracle's repositories."),
    text("yum_repo_dir", "none", "Where repositories stand.").moot("kokctl sets up no repositories"),
    value("fedora_coreos_packages", "list of names", "what kokctl needs", "Packages for CoreOS."),
    flag("coreos_locksmithd_disable", "false", "Keeps Flatcar from restarting by itself."),
    flag("ubuntu_kernel_unattended_upgrades_disabled", "false", "Keeps Ubuntu from updating its kernel."),
    flag("ubuntu_stop_unattended_upgrades", "false", "Keeps Ubuntu from updating itself."),
    value("pkgs", "map", "what kokctl needs", "Further packages of hosts, and when each is wanted."),
    value("pkgs_to_remove", "list of names", "none", "Packages that are removed from hosts."),
    text("pyyaml_package", "none", "A package that Ansible needs on hosts.").moot("hosts need no Python here"),
    value("common_required_pkgs", "list of names", "what kokctl needs", "Packages of all hosts."),
    value("required_pkgs", "list of names", "what kokctl needs", "Packages of hosts of this distribution."),
];
