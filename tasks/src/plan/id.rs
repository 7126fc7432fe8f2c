//! What steps are called.

use std::fmt;
use std::sync::Arc;

/// Name of a step, unique in its plan: a host, a task and a name within that task. It is printed as `host/task/name`, and only a draft makes
/// one. Clones share it: a plan names each step many times.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepId {
    text: Arc<str>,
    /// Where in the text the task begins.
    task: usize,
    /// Where in the text the name within the task begins.
    name: usize,
}

impl StepId {
    pub(super) fn new(host: &str, task: &str, name: &str) -> Self {
        let (of_task, of_name) = (host.len() + 1, host.len() + task.len() + 2);
        Self { text: format!("{host}/{task}/{name}").into(), task: of_task, name: of_name }
    }

    /// Reads a name that was printed; nothing of what is none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (host, rest) = text.split_once('/')?;
        let (task, name) = rest.split_once('/')?;
        (![host, task, name].contains(&"")).then(|| Self::new(host, task, name))
    }

    /// As it is printed.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The host that it is for; it may be done on another one.
    #[must_use]
    pub fn host(&self) -> &str {
        self.text.get(..self.task.saturating_sub(1)).unwrap_or_default()
    }

    /// The task that it is of.
    #[must_use]
    pub fn task(&self) -> &str {
        self.text.get(self.task..self.name.saturating_sub(1)).unwrap_or_default()
    }

    /// What it is called within its task.
    #[must_use]
    pub fn name(&self) -> &str {
        self.text.get(self.name..).unwrap_or_default()
    }
}

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StepId({:?})", &*self.text)
    }
}

/// A step that others refer to, as the task that makes it calls it. The name of a task is private to its module, so that other tasks can refer
/// to what it names, and to nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepName<'a> {
    task: &'static str,
    name: &'a str,
}

impl<'a> StepName<'a> {
    /// What a task calls a step of its own.
    pub(crate) const fn new(task: &'static str, name: &'a str) -> Self {
        Self { task, name }
    }

    /// The step for that host.
    #[must_use]
    pub fn on(self, host: &str) -> StepId {
        StepId::new(host, self.task, self.name)
    }

    /// The task that makes it.
    #[must_use]
    pub const fn task(self) -> &'static str {
        self.task
    }

    /// What it is called within its task.
    #[must_use]
    pub const fn name(self) -> &'a str {
        self.name
    }
}

/// What a task calls a step when it makes it: by a name that others may refer to, or by a text.
#[derive(Debug, Clone, Copy)]
pub struct NewName<'a> {
    /// The task whose name it is; nothing where it is a text.
    pub(super) task: Option<&'static str>,
    pub(super) name: &'a str,
}

impl<'a> From<StepName<'a>> for NewName<'a> {
    fn from(StepName { task, name }: StepName<'a>) -> Self {
        Self { task: Some(task), name }
    }
}

impl<'a> From<&'a str> for NewName<'a> {
    fn from(name: &'a str) -> Self {
        Self { task: None, name }
    }
}

impl<'a> From<&'a String> for NewName<'a> {
    fn from(name: &'a String) -> Self {
        Self { task: None, name }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use super::*;

    #[test]
    fn a_name_has_three_parts_and_is_read_as_it_was_printed() {
        let id = StepName::new("certificates", "pki/etcd/server.key").on("cp1.example");
        assert_eq!((id.host(), id.task(), id.name()), ("cp1.example", "certificates", "pki/etcd/server.key"));
        assert_eq!(id.to_string(), "cp1.example/certificates/pki/etcd/server.key");
        assert_eq!(StepId::parse(id.as_str()).unwrap(), id);
        for no_name in ["", "cp1", "cp1/host", "/host/claim", "cp1//claim", "cp1/host/"] {
            assert_eq!(StepId::parse(no_name), None, "{no_name}");
        }
    }

    #[test]
    fn names_are_sorted_as_they_are_printed() {
        let mut ids = ["b/a/x", "a/host/y", "a-1/host/x", "a/certificates/z"].map(|text| StepId::parse(text).unwrap());
        ids.sort();
        assert_eq!(ids.map(|id| id.to_string()), ["a-1/host/x", "a/certificates/z", "a/host/y", "b/a/x"]);
    }
}
