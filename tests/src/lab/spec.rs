use std::collections::BTreeSet;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use super::LabError;
use super::address::MOST_HOSTS;

/// What lab to make.
#[derive(Debug, Clone)]
pub struct LabSpec {
    /// The lab's name, unique on this machine: a DNS label of at most 32 characters.
    pub name: String,
    /// The hosts' names: unique DNS labels. They get ascending addresses in this order.
    pub hosts: Vec<String>,
}

impl LabSpec {
    /// A lab of the given name with `count` hosts: `cp1`, then `worker1`, `worker2`, …
    #[must_use]
    pub fn new(name: &str, count: usize) -> Self {
        let workers = (1..count).map(|number| format!("worker{number}"));
        Self { name: name.to_owned(), hosts: (0..count.min(1)).map(|_| "cp1".to_owned()).chain(workers).collect() }
    }

    /// A lab with a name that no other lab on this machine has, for tests, with `count` hosts as of [`LabSpec::new`].
    #[must_use]
    pub fn unique(count: usize) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(1);
        Self::new(&format!("test-{}-{}", process::id(), NUMBER.fetch_add(1, Ordering::Relaxed)), count)
    }

    pub(crate) fn check(&self) -> Result<(), LabError> {
        check_name("lab", &self.name, 32)?;
        if self.hosts.is_empty() || self.hosts.len() > MOST_HOSTS {
            return Err(LabError::Hosts { asked: self.hosts.len(), most: MOST_HOSTS });
        }
        let mut seen = BTreeSet::new();
        for host in &self.hosts {
            check_name("host", host, 63)?;
            if !seen.insert(host) {
                return Err(LabError::Name { what: "host", name: host.clone(), why: "another host has it already" });
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

    #[test]
    fn hosts_are_named_in_order_and_unique() {
        assert_eq!(LabSpec::new("lab", 3).hosts, ["cp1", "worker1", "worker2"]);
        assert!(LabSpec::new("lab", 0).check().is_err());
        assert!(LabSpec::new("lab", MOST_HOSTS + 1).check().is_err());
        let twice = LabSpec { name: "lab".to_owned(), hosts: vec!["a".to_owned(), "a".to_owned()] };
        assert!(twice.check().is_err());
        assert_ne!(LabSpec::default().name, LabSpec::default().name);
    }
}
