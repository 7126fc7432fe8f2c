//! What a template sees: the variables of a host, and what Ansible itself says about hosts and groups.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use minijinja::value::{Enumerator, Object, ObjectRepr};
use minijinja::{Error, ErrorKind, Value as Jinja};

use super::render::{Session, Whose};
use crate::Problem;
use crate::words::quote;

/// What a host says of itself, under names that don't begin with `ansible_`.
const FACTS: [&str; 2] = ["image_arch", "host_architecture"];
/// How to reach a host; without them the host is reached by its name.
const CONNECTION: [&str; 12] = [
    "ansible_host",
    "ansible_port",
    "ansible_user",
    "ansible_password",
    "ansible_connection",
    "ansible_become",
    "ansible_become_user",
    "ansible_become_method",
    "ansible_become_password",
    "ansible_ssh_common_args",
    "ansible_ssh_private_key_file",
    "ansible_python_interpreter",
];
/// What only a running playbook knows.
const PLAYBOOK: [&str; 9] =
    ["omit", "playbook_dir", "inventory_dir", "inventory_file", "role_path", "role_name", "play_hosts", "environment", "vars"];
/// What is another value on each host without being written for it.
const OF_THE_HOST: [&str; 3] = ["inventory_hostname", "inventory_hostname_short", "group_names"];
/// Functions, which the engine looks for among the variables first; no variable of a user hides them.
const FUNCTIONS: [&str; 2] = ["lookup", "query"];
/// A function whose name is also that of variables.
const RANGE: &str = "range";

/// The variables of one host, each worked out when it is asked for.
pub(super) struct Scope {
    session: Arc<Session>,
    host: Arc<str>,
    whose: Whose,
    /// Names that were asked for and that nobody has set.
    missing: Mutex<Vec<String>>,
}

impl Scope {
    pub(super) fn new(session: &Arc<Session>, host: &Arc<str>, whose: Whose) -> Self {
        Self { session: Arc::clone(session), host: Arc::clone(host), whose, missing: Mutex::default() }
    }

    /// The names that were missing, without those for which the text itself has something to fall back to.
    pub(super) fn missing(&self, text: &str) -> Vec<String> {
        let mut names = self.missing.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut seen = BTreeSet::new();
        names.retain(|name| seen.insert(name.clone()));
        let words: String = text.split_whitespace().collect();
        let excused =
            |name: &String| ["|default", "|d(", "isdefined", "isnotdefined"].iter().any(|after| words.contains(&format!("{name}{after}")));
        if names.iter().all(excused) { Vec::new() } else { names.into_iter().filter(|name| !excused(name)).collect() }
    }

    fn lookup(&self, name: &str) -> Option<Jinja> {
        if FUNCTIONS.contains(&name) {
            return None;
        }
        if let Some(value) = self.magic(name) {
            if self.whose == Whose::Own && OF_THE_HOST.contains(&name) {
                self.session.needs_the_host();
            }
            return Some(value);
        }
        match self.session.value(&self.host, name, self.whose) {
            Ok(Some(value)) => Some(value),
            Ok(None) => self.unset(name),
            Err(problem) => Some(invalid(problem)),
        }
    }

    /// What Ansible itself sets; no variable of a user hides it.
    fn magic(&self, name: &str) -> Option<Jinja> {
        let inventory = &self.session.data.inventory;
        Some(match name {
            "inventory_hostname" => Jinja::from(Arc::clone(&self.host)),
            "inventory_hostname_short" => Jinja::from(self.host.split('.').next().unwrap_or_default()),
            "group_names" => {
                let names = inventory.groups_of(&self.host).into_iter().filter_map(|name| inventory.group(name));
                let mut names: Vec<&str> = names.flat_map(|(name, group)| group.aliases.iter().chain([name])).map(AsRef::as_ref).collect();
                names.sort_unstable();
                Jinja::from_iter(names)
            }
            "groups" => Jinja::from_object(Groups(Arc::clone(&self.session))),
            "hostvars" => Jinja::from_object(Hosts(Arc::clone(&self.session))),
            _ => return None,
        })
    }

    /// A variable that nobody has set: undefined, or known only later.
    fn unset(&self, name: &str) -> Option<Jinja> {
        let is_fact = FACTS.contains(&name) || (name.starts_with("ansible_") && !CONNECTION.contains(&name));
        let because = if is_fact {
            "it is known only when the host is asked, and variables are worked out before"
        } else if PLAYBOOK.contains(&name) {
            "it is known only while Ansible runs a playbook"
        } else {
            if name != RANGE {
                self.missing.lock().unwrap_or_else(PoisonError::into_inner).push(name.to_owned());
            }
            return None;
        };
        let problem = Problem::new(format!("{} is not known yet", quote(name))).because(because);
        let chain = self.session.needed_by();
        let problem = chain.into_iter().fold(problem, |problem, (user, place)| {
            let message = format!("{} cannot be worked out: {}", quote(&user), problem.message);
            Problem { message, ..problem }.at(&place)
        });
        Some(invalid(problem.hint(format!("set {} yourself, or write out the value", quote(name)))))
    }
}

/// A value that ends the evaluation with a problem.
fn invalid(problem: Problem) -> Jinja {
    Jinja::from(Error::new(ErrorKind::InvalidOperation, "a variable that it needs cannot be worked out").with_source(problem))
}

impl fmt::Debug for Scope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the variables of {}", self.host)
    }
}

impl Object for Scope {
    fn get_value(self: &Arc<Self>, key: &Jinja) -> Option<Jinja> {
        self.lookup(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Jinja> {
        self.lookup(key)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        // All variables of a host at once would work out what nobody needs.
        Enumerator::NonEnumerable
    }
}

/// `groups`: the names of the hosts of each group.
struct Groups(Arc<Session>);

impl fmt::Debug for Groups {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("groups")
    }
}

impl Object for Groups {
    fn get_value(self: &Arc<Self>, key: &Jinja) -> Option<Jinja> {
        let members = self.0.data.inventory.members(key.as_str()?)?;
        Some(Jinja::from_iter(members))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        let names: Vec<_> = self.0.data.inventory.groups().map(Jinja::from).collect();
        Enumerator::Iter(Box::new(names.into_iter()))
    }
}

/// `hostvars`: the variables of each host.
struct Hosts(Arc<Session>);

impl fmt::Debug for Hosts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("hostvars")
    }
}

impl Object for Hosts {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Map
    }

    fn get_value(self: &Arc<Self>, key: &Jinja) -> Option<Jinja> {
        let (host, _) = self.0.data.inventory.host(key.as_str()?)?;
        Some(Jinja::from_object(Scope::new(&self.0, host, Whose::Named)))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        let names: Vec<_> = self.0.data.inventory.hosts().into_iter().map(Jinja::from).collect();
        Enumerator::Iter(Box::new(names.into_iter()))
    }
}
