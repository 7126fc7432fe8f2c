use std::collections::BTreeMap;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use serde::{Deserialize, Serialize};

use super::LabError;
use super::address::{DEEPEST, MOST_HOSTS};

/// What lab to make.
#[derive(Debug, Clone)]
pub struct LabSpec {
    /// The lab's name, unique on this machine: a DNS label of at most 32 characters.
    pub name: String,
    /// The hosts. They get ascending addresses in this order.
    pub hosts: Vec<HostSpec>,
    /// Whether each host has an address of IPv6 beside that of IPv4, and the manifest asks for dual stack.
    pub dual_stack: bool,
}

/// One host of a [`LabSpec`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostSpec {
    /// The host's name: a DNS label, unique in the lab.
    pub name: String,
    /// The distribution that it runs.
    pub image: Image,
    /// Only systemd and sshd are started: for many hosts at once. Everything that a full host has is installed.
    pub light: bool,
    /// The bastion, an earlier host of the lab, through which alone this host can be reached; it is in a subnet of its own.
    pub behind: Option<String>,
}

/// The distribution of a host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Image {
    /// Debian 12, bookworm.
    #[default]
    #[value(name = "debian-12")]
    #[serde(rename = "debian-12")]
    Debian12,
    /// Debian 13, trixie.
    #[value(name = "debian-13")]
    #[serde(rename = "debian-13")]
    Debian13,
}

impl Image {
    /// Debian's name of the release.
    pub(crate) fn suite(self) -> &'static str {
        match self {
            Self::Debian12 => "bookworm",
            Self::Debian13 => "trixie",
        }
    }

    /// The name for people.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Debian12 => "Debian 12",
            Self::Debian13 => "Debian 13",
        }
    }
}

impl HostSpec {
    /// A full host with the default image that the controller reaches directly.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), image: Image::default(), light: false, behind: None }
    }
}

impl LabSpec {
    /// A lab of the given name with `count` hosts: `cp1`, then `worker1`, `worker2`, …
    #[must_use]
    pub fn new(name: &str, count: usize) -> Self {
        let workers = (1..count).map(|number| HostSpec::new(&format!("worker{number}")));
        Self { name: name.to_owned(), hosts: (0..count.min(1)).map(|_| HostSpec::new("cp1")).chain(workers).collect(), dual_stack: false }
    }

    /// The same with `count` control planes among as many hosts: `cp1`, `cp2`, …, then workers. All are control planes if there are no more
    /// hosts.
    #[must_use]
    pub fn control_planes(mut self, count: usize) -> Self {
        let (count, total) = (count.min(self.hosts.len()), self.hosts.len());
        let names = (1..=count).map(|number| format!("cp{number}")).chain((1..=total - count).map(|number| format!("worker{number}")));
        self.hosts.iter_mut().zip(names).for_each(|(host, name)| host.name = name);
        self
    }

    /// The same with the last `count` hosts for etcd alone: `etcd1`, `etcd2`, …
    #[must_use]
    pub fn etcd(mut self, count: usize) -> Self {
        let others = self.hosts.len().saturating_sub(count);
        let members = self.hosts.iter_mut().skip(others).zip(1..);
        members.for_each(|(host, number): (_, usize)| host.name = format!("etcd{number}"));
        self
    }

    /// A lab with a name that no other lab on this machine has, for tests, with `count` hosts as of [`LabSpec::new`].
    #[must_use]
    pub fn unique(count: usize) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(1);
        Self::new(&format!("test-{}-{}", process::id(), NUMBER.fetch_add(1, Ordering::Relaxed)), count)
    }

    /// The same with another distribution on every host.
    #[must_use]
    pub fn image(mut self, image: Image) -> Self {
        self.hosts.iter_mut().for_each(|host| host.image = image);
        self
    }

    /// The same with addresses of both families.
    #[must_use]
    pub fn dual_stack(self) -> Self {
        Self { dual_stack: true, ..self }
    }

    /// The same with light hosts only.
    #[must_use]
    pub fn light(mut self) -> Self {
        self.hosts.iter_mut().for_each(|host| host.light = true);
        self
    }

    /// The same with all hosts behind a chain of `count` more, `bastion1`, `bastion2`, …; each of them is reached only through the
    /// one before.
    #[must_use]
    pub fn behind_bastions(mut self, count: usize) -> Self {
        let name = |number: usize| format!("bastion{number}");
        let image = self.hosts.first().map(|host| host.image).unwrap_or_default();
        let bastion = |number: usize| {
            let behind = number.checked_sub(1).filter(|before| *before > 0).map(name);
            HostSpec { name: name(number), image, light: true, behind }
        };
        if count > 0 {
            self.hosts.iter_mut().for_each(|host| host.behind = Some(name(count)));
            self.hosts.splice(0..0, (1..=count).map(bastion));
        }
        self
    }

    pub(crate) fn check(&self) -> Result<(), LabError> {
        check_name("lab", &self.name, 32)?;
        if self.hosts.is_empty() || self.hosts.len() > MOST_HOSTS {
            return Err(LabError::Hosts { asked: self.hosts.len(), most: MOST_HOSTS });
        }
        let mut depths = BTreeMap::new();
        for host in &self.hosts {
            check_name("host", &host.name, 63)?;
            let bad = |why| LabError::Name { what: "host", name: host.name.clone(), why };
            let depth = match &host.behind {
                None => 0,
                Some(bastion) => depths.get(bastion).ok_or_else(|| bad("its bastion is no earlier host of the lab"))? + 1,
            };
            if depth > DEEPEST {
                return Err(bad("there are too many bastions before it"));
            }
            if depths.insert(host.name.clone(), depth).is_some() {
                return Err(bad("another host has it already"));
            }
        }
        Ok(())
    }
}

impl Default for LabSpec {
    /// One control plane and two workers under a unique name.
    fn default() -> Self {
        Self::unique(3)
    }
}

/// Names become folders, cgroups and host names, so they are DNS labels.
pub(crate) fn check_name(what: &'static str, name: &str, most: usize) -> Result<(), LabError> {
    let valid = |character: char| character.is_ascii_lowercase() || character.is_ascii_digit() || character == '-';
    if name.is_empty() || name.len() > most || !name.chars().all(valid) || name.starts_with('-') || name.ends_with('-') {
        let why = "use lower-case letters, digits and hyphens, not at the ends; at most 32 characters for a lab, 63 for a host";
        return Err(LabError::Name { what, name: name.to_owned(), why });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_labels() {
        for bad in ["", "A", "a_b", "-a", "a-", "../a", "a/b", "@network", "a b", &"a".repeat(33)] {
            assert!(check_name("lab", bad, 32).is_err(), "{bad}");
        }
        for good in ["a", "cp1", "test-1-2", &"a".repeat(32)] {
            assert!(check_name("lab", good, 32).is_ok(), "{good}");
        }
    }

    fn names(spec: &LabSpec) -> Vec<&str> {
        spec.hosts.iter().map(|host| host.name.as_str()).collect()
    }

    #[test]
    fn hosts_are_named_in_order_and_unique() {
        assert_eq!(names(&LabSpec::new("lab", 3)), ["cp1", "worker1", "worker2"]);
        assert_eq!(names(&LabSpec::new("lab", 5).control_planes(3)), ["cp1", "cp2", "cp3", "worker1", "worker2"]);
        assert_eq!(names(&LabSpec::new("lab", 2).control_planes(3)), ["cp1", "cp2"]);
        assert_eq!(names(&LabSpec::new("lab", 5).etcd(3)), ["cp1", "worker1", "etcd1", "etcd2", "etcd3"]);
        assert!(LabSpec::new("lab", 0).check().is_err());
        assert!(LabSpec::new("lab", MOST_HOSTS + 1).check().is_err());
        let twice = LabSpec { name: "lab".to_owned(), hosts: vec![HostSpec::new("a"), HostSpec::new("a")], dual_stack: false };
        assert!(twice.check().is_err());
        assert_ne!(LabSpec::default().name, LabSpec::default().name);
    }

    #[test]
    fn bastions_come_before_what_is_behind_them() {
        let mut spec = LabSpec::new("lab", 2).behind_bastions(2);
        assert_eq!(names(&spec), ["bastion1", "bastion2", "cp1", "worker1"]);
        let behind: Vec<Option<&str>> = spec.hosts.iter().map(|host| host.behind.as_deref()).collect();
        assert_eq!(behind, [None, Some("bastion1"), Some("bastion2"), Some("bastion2")]);
        assert!(spec.check().is_ok());
        spec.hosts.reverse();
        assert!(spec.check().is_err());
        assert!(LabSpec::new("lab", 1).behind_bastions(DEEPEST + 1).check().is_err());
        assert_eq!(LabSpec::new("lab", 1).behind_bastions(0).hosts, LabSpec::new("lab", 1).hosts);
    }
}
