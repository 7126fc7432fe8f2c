//! Families of Linux distributions: what installs their packages, and where they keep what kokctl changes. A new family is a table here, and a
//! line in [`FAMILIES`]. Nothing is guessed of a host of no family: what needs to know more of it is refused.

use crate::facts::{HostFacts, Program, TRUST_DEBIAN, TRUST_RHEL};
use crate::resources::Manager;

/// A family whose members are alike in what counts here.
#[derive(Debug)]
pub struct Distribution {
    /// As messages call it.
    pub name: &'static str,
    /// `ID` of its members, or what they name in `ID_LIKE` of `/etc/os-release`.
    ids: &'static [&'static str],
    /// What installs packages.
    pub manager: Manager,
    /// The command of that.
    pub manager_command: &'static str,
    /// The package that has a command.
    pub package_of: fn(&Program) -> &'static str,
    /// The keyring that the lists of a member's packages are signed by, by its `ID`; none where that is not known.
    pub keyring_of: fn(&str) -> Option<&'static str>,
    /// The store of certificate authorities.
    pub trust: TrustPlaces,
    /// Where chrony has its configuration, and what its unit is called.
    pub chrony: (&'static str, &'static str),
}

/// Where a family has the authorities that programs trust.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrustPlaces {
    /// What makes the file that programs read, and the package that has it.
    pub program: &'static Program,
    /// Where additional authorities lie.
    pub folder: &'static str,
    /// The file that programs read.
    pub bundle: &'static str,
    /// The command that makes the one from the other.
    pub command: &'static str,
    /// The command that takes away links of it to files that are gone.
    pub tidy: Option<&'static str>,
}

/// Debian and Ubuntu, and what is made of them.
pub static DEBIAN: Distribution = Distribution {
    name: "Debian",
    ids: &["debian", "ubuntu"],
    manager: Manager::Apt,
    manager_command: "apt-get",
    package_of: |program| program.debian,
    // Of the packages debian-archive-keyring and ubuntu-keyring, which apt needs.
    keyring_of: |id| match id {
        "debian" => Some("/usr/share/keyrings/debian-archive-keyring.gpg"),
        "ubuntu" => Some("/usr/share/keyrings/ubuntu-archive-keyring.gpg"),
        _ => None,
    },
    trust: TrustPlaces {
        program: &TRUST_DEBIAN,
        folder: "/usr/local/share/ca-certificates",
        bundle: "/etc/ssl/certs/ca-certificates.crt",
        command: "update-ca-certificates",
        // It does the same itself, but only when it adds a certificate.
        tidy: Some("find /etc/ssl/certs -maxdepth 1 -xtype l -delete"),
    },
    chrony: ("/etc/chrony/chrony.conf", "chrony.service"),
};

/// RHEL and its relatives.
pub static RHEL: Distribution = Distribution {
    name: "RHEL",
    ids: &["rhel", "fedora", "centos"],
    manager: Manager::Dnf,
    manager_command: "dnf",
    package_of: |program| program.rhel,
    keyring_of: |_| None,
    trust: TrustPlaces {
        program: &TRUST_RHEL,
        folder: "/etc/pki/ca-trust/source/anchors",
        bundle: "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
        command: "update-ca-trust extract",
        tidy: None,
    },
    chrony: ("/etc/chrony.conf", "chronyd.service"),
};

/// All that are known.
pub static FAMILIES: [&Distribution; 2] = [&DEBIAN, &RHEL];

impl HostFacts {
    /// The family that a host is of, by its own word: its own name before those that it is like. `None` for others.
    #[must_use]
    pub fn distribution(&self) -> Option<&'static Distribution> {
        let family = |id: &String| FAMILIES.into_iter().find(|family| family.ids.contains(&id.as_str()));
        [&self.os_id].into_iter().chain(&self.os_like).find_map(family)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_of_the_family_that_it_names() {
        let family = |id: &str, like: &[&str]| {
            let facts =
                HostFacts { os_id: id.to_owned(), os_like: like.iter().map(|id| (*id).to_owned()).collect(), ..HostFacts::default() };
            facts.distribution().map(|family| family.name)
        };
        assert_eq!([family("debian", &[]), family("ubuntu", &["debian"]), family("linuxmint", &["ubuntu", "debian"])], [Some("Debian"); 3]);
        assert_eq!(
            [family("rhel", &["fedora"]), family("rocky", &["rhel", "centos", "fedora"]), family("amzn", &["fedora"])],
            [Some("RHEL"); 3]
        );
        assert_eq!([family("opensuse-leap", &["suse", "opensuse"]), family("flatcar", &["coreos"]), family("", &[])], [None; 3]);
    }

    #[test]
    fn families_are_apart() {
        for (number, family) in FAMILIES.iter().enumerate() {
            for other in FAMILIES.iter().skip(number + 1) {
                assert!(!family.ids.iter().any(|id| other.ids.contains(id)), "{} and {}", family.name, other.name);
            }
        }
    }
}
