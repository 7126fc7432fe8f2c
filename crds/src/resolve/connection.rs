//! How Ansible would log in to a host, from the host's variables.

use std::fmt;

use super::ssh_meaning;
use super::ssh_options::{self, Options};
use super::{Resolved, aliases};
use crate::syntax::name;
use crate::tree::{Node, Value};
use crate::words::quote;
use crate::{Notice, Position, Problem, Secret};

/// A login of a host.
#[derive(Clone, PartialEq, Eq)]
pub struct Connection {
    /// Address or name; the host's own name if the inventory gives none.
    pub address: String,
    /// TCP port of the SSH server.
    pub port: Option<u16>,
    /// Login name.
    pub user: Option<String>,
    /// Password of the login.
    pub password: Option<Secret>,
    /// Path of the private key as the user wrote it.
    pub private_key_file: Option<String>,
    /// Whether to become another user on the host; `None` leaves it to the caller.
    pub become_other: Option<bool>,
    /// Whom to become.
    pub become_user: Option<String>,
    /// What sudo asks for.
    pub become_password: Option<Secret>,
    /// Servers on the way, the first one that is passed first.
    pub jumps: Vec<Jump>,
}

/// A server on the way to a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jump {
    /// Login name.
    pub user: Option<String>,
    /// Address or name.
    pub address: String,
    /// TCP port of the SSH server.
    pub port: Option<u16>,
    /// Path of the private key.
    pub private_key_file: Option<String>,
}

impl fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hidden = |secret: &Option<Secret>| secret.as_ref().map(|_| "(hidden)");
        formatter
            .debug_struct("Connection")
            .field("address", &self.address)
            .field("port", &self.port)
            .field("user", &self.user)
            .field("password", &hidden(&self.password))
            .field("private_key_file", &self.private_key_file)
            .field("become_other", &self.become_other)
            .field("become_user", &self.become_user)
            .field("become_password", &hidden(&self.become_password))
            .field("jumps", &self.jumps)
            .finish()
    }
}

impl Connection {
    /// The login of a host, and what of its variables does nothing here.
    ///
    /// # Errors
    /// Everything that is wrong with these variables.
    pub fn for_host(resolved: &Resolved, host: &str) -> Result<(Self, Vec<Notice>), Vec<Problem>> {
        let mut reader = Reader { resolved, host, problems: Vec::new(), notices: Vec::new() };
        reader.refuse_others();
        let address = reader.text(&aliases::ADDRESS, no_blanks);
        let options = reader.options();
        let connection = Self {
            address: address.unwrap_or_else(|| host.to_owned()),
            port: reader.port().or(options.port),
            user: reader.text(&aliases::USER, name::user).or(options.user),
            password: reader.secret(&aliases::PASSWORD),
            private_key_file: reader.text(&aliases::PRIVATE_KEY, name::path).or(options.private_key_file),
            become_other: reader.boolean("ansible_become"),
            become_user: reader.text(&aliases::SUDO_USER, name::user),
            become_password: reader.secret(&aliases::SUDO_PASSWORD),
            jumps: options.jumps,
        };
        let mut problems = reader.problems;
        problems.sort_by(|a, b| a.position.cmp(&b.position));
        problems.dedup();
        if problems.is_empty() { Ok((connection, reader.notices)) } else { Err(problems) }
    }
}

struct Reader<'a> {
    resolved: &'a Resolved,
    host: &'a str,
    problems: Vec<Problem>,
    notices: Vec<Notice>,
}

impl Reader<'_> {
    /// The first of several names of one variable that has a value.
    fn first(&mut self, names: &[&'static str]) -> Option<(&'static str, Node)> {
        for name in names {
            match self.resolved.get(self.host, name) {
                Ok(Some(node)) if !matches!(node.value, Value::Null) => return Some((name, node)),
                Ok(_) => {}
                Err(problem) => {
                    self.problems.push(problem);
                    return None;
                }
            }
        }
        None
    }

    fn wrong(&mut self, name: &str, position: &Position, (because, hint): (&str, &str)) {
        let problem = Problem::new(format!("`{name}` of the host {} cannot have this value", quote(self.host))).of_host(self.host);
        self.problems.push(problem.at(position).because(because).hint(hint));
    }

    fn text(&mut self, names: &[&'static str], check: fn(&str) -> Option<&'static str>) -> Option<String> {
        let (name, node) = self.first(names)?;
        let Value::Text(text) = &node.value else {
            self.wrong(name, &node.position, no_text(&node));
            return None;
        };
        // Text that is empty says nothing, as in Ansible.
        if text.is_empty() {
            return None;
        }
        let Some(reason) = check(text) else { return Some(text.clone()) };
        self.wrong(name, &node.position, (reason, "write it so, or leave it out"));
        None
    }

    fn secret(&mut self, names: &[&'static str]) -> Option<Secret> {
        let (name, node) = self.first(names)?;
        match &node.value {
            Value::Text(text) if text.chars().any(char::is_control) => {
                const ONE_LINE: &str = "write it in one line: a block of YAML (`|`) ends with a line break";
                self.wrong(name, &node.position, ("it has control characters, such as the end of a line", ONE_LINE));
                None
            }
            Value::Text(text) => (!text.is_empty()).then(|| Secret::new(text.as_bytes())),
            // INI takes digits for a number, and there is no doubt which text they were.
            Value::Integer(_) | Value::Float if !node.spelling.is_empty() => Some(Secret::new(node.spelling.as_bytes())),
            _ => {
                self.wrong(name, &node.position, no_text(&node));
                None
            }
        }
    }

    fn port(&mut self) -> Option<u16> {
        let (name, node) = self.first(&aliases::PORT)?;
        let port = match &node.value {
            Value::Integer(port) => u16::try_from(*port).ok(),
            Value::Text(text) => text.parse().ok(),
            _ => None,
        };
        let port = port.filter(|port| *port > 0);
        if port.is_none() {
            self.wrong(name, &node.position, ("it is a number from 1 to 65535", "write such a number, or leave it out: 22 holds then"));
        }
        port
    }

    fn boolean(&mut self, name: &'static str) -> Option<bool> {
        let (_, node) = self.first(&[name])?;
        let word = match &node.value {
            Value::Bool(value) => return Some(*value),
            Value::Text(text) => text.to_ascii_lowercase(),
            _ => node.spelling.clone(),
        };
        match word.as_str() {
            "yes" | "true" | "on" | "1" => Some(true),
            "no" | "false" | "off" | "0" => Some(false),
            _ => {
                self.wrong(name, &node.position, ("it is `true` or `false`", "write one of the two"));
                None
            }
        }
    }

    /// Ways to a host and to root that kokctl does not go.
    fn refuse_others(&mut self) {
        let known: [(&'static str, &[&str], &str); 2] = [
            (
                "ansible_connection",
                &["ssh", "smart", "paramiko", "paramiko_ssh", "ansible.builtin.ssh"],
                "kokctl reaches every host over SSH",
            ),
            ("ansible_become_method", &["sudo", "ansible.builtin.sudo", "community.general.sudo"], "kokctl becomes root with sudo"),
        ];
        for (name, values, because) in known {
            let Some((_, node)) = self.first(&[name]) else { continue };
            let text = if let Value::Text(text) = &node.value { text.as_str() } else { "" };
            if !values.contains(&text) {
                let problem = Problem::new(format!("`{name}` of the host {} cannot be {}", quote(self.host), quote(text)));
                let problem = problem.of_host(self.host).at(&node.position).because(because);
                self.problems.push(match text {
                    "local" => problem.hint("allow SSH to the host itself and leave the variable out"),
                    _ => problem.hint("leave the variable out"),
                });
            }
        }
    }

    /// Options of ssh in the order in which Ansible passes them; of each the first counts, as for ssh.
    fn options(&mut self) -> Options {
        let mut options = Options::default();
        for name in ["ansible_ssh_args", "ansible_ssh_common_args", "ansible_ssh_extra_args"] {
            let Some((_, node)) = self.first(&[name]) else { continue };
            let Value::Text(text) = &node.value else {
                self.wrong(
                    name,
                    &node.position,
                    ("it is text with options of ssh", "write them in one pair of quotes, for example \"-J jump.example.org\""),
                );
                continue;
            };
            match ssh_options::read(text, &mut options) {
                Ok(ignored) => {
                    self.notices.extend(ignored.iter().map(|option| ssh_meaning::notice(option, name).at(&node.position)));
                }
                Err(reason) => self.wrong(name, &node.position, (&reason, WAYS)),
            }
        }
        options
    }
}

/// What to do about options of ssh that are not understood.
const WAYS: &str = "write the way as `-J user@host:port`, or say it in your ~/.ssh/config, which kokctl reads";

/// What is wrong with a value that should be text, and what to do.
fn no_text(node: &Node) -> (&'static str, &'static str) {
    match node.value {
        Value::List(_) | Value::Map(_) => ("it is text", "write one text in its place"),
        _ => ("it is text, and without quotes YAML takes it for something else", "write it in quotes"),
    }
}

fn no_blanks(text: &str) -> Option<&'static str> {
    text.contains(|c: char| c.is_whitespace() || c.is_control()).then_some("an address has no blanks")
}
