//! How a host is reached: from the variables of Ansible to `ssh` of a host.

use super::build::{Map, text};
use super::groups::Groups;
use super::values::HostValues;
use crate::resolve::{Connection, Jump, aliases};
use crate::tree::{Node, Value};
use crate::variables::spelled;
use crate::words::quote;
use crate::{Position, Problem};

const OPTIONS: [&str; 3] = ["ansible_ssh_args", "ansible_ssh_common_args", "ansible_ssh_extra_args"];
const BECOME: [&str; 3] = ["ansible_become", "ansible_sudo_user", "ansible_become_user"];

/// The login of a host whose own address is known, as far as it can be.
pub(super) fn read(values: &mut HostValues<'_>, groups: &Groups<'_>, host: &str, own: Option<&Node>) -> Option<Node> {
    let connection = connection(values, host)?;
    check_root(values, host, &connection);
    let mut map = login(values, host, &connection);
    if let Some(address) = values.first_of_host(host, &aliases::ADDRESS).filter(|node| own.is_none_or(|own| spelled(own) != spelled(node)))
    {
        map.add("address", address);
    }
    let sudo = connection.become_password.as_ref().and_then(|secret| secret_at(values, host, &aliases::SUDO_PASSWORD, secret.expose()));
    map.add_some("sudoPassword", sudo);
    let at = written(values, host, &OPTIONS);
    let way = chain(&connection.jumps, &at).or_else(|| by_group(values, groups, host));
    map.add_some("bastion", way);
    map.some()
}

fn connection(values: &mut HostValues<'_>, host: &str) -> Option<Connection> {
    match Connection::for_host(values.resolved, host) {
        Ok((connection, notices)) => {
            values.notices.extend(notices);
            Some(connection)
        }
        Err(problems) => {
            values.problems.extend(problems);
            None
        }
    }
}

/// What a login to a host or a bastion needs.
fn login(values: &mut HostValues<'_>, host: &str, connection: &Connection) -> Map {
    let mut map = Map::at(&written(values, host, &[]).at);
    let known = |names: &[&'static str]| written(values, host, &[names, OPTIONS.as_slice()].concat());
    map.add_some("user", connection.user.as_ref().map(|user| known(&aliases::USER).text(user)));
    map.add_some("port", connection.port.map(|port| known(&aliases::PORT).port(port)));
    map.add_some("privateKeyFile", connection.private_key_file.as_ref().map(|file| known(&aliases::PRIVATE_KEY).text(file)));
    let password = connection.password.as_ref().and_then(|secret| secret_at(values, host, &aliases::PASSWORD, secret.expose()));
    map.add_some("password", password);
    map
}

fn secret_at(values: &HostValues<'_>, host: &str, names: &[&'static str], bytes: &[u8]) -> Option<Node> {
    std::str::from_utf8(bytes).ok().map(|secret| written(values, host, names).text(secret))
}

/// Where something is written, and as what.
struct Written {
    name: Option<&'static str>,
    at: Position,
}

impl Written {
    fn text(&self, value: &str) -> Node {
        text(value, &self.at).called(self.name)
    }

    fn port(&self, port: u16) -> Node {
        let node = Node::new(Value::Integer(port.into()), self.at.clone());
        Node { spelling: port.to_string(), ..node }.called(self.name)
    }
}

/// Where the first of several names is written for a host; where the host is, if none is.
fn written(values: &HostValues<'_>, host: &str, names: &[&'static str]) -> Written {
    let found = names.iter().find_map(|name| Some((*name, values.resolved.origin(host, name)?)));
    let at = found.map(|(_, variable)| &variable.node.position).or_else(|| values.resolved.inventory().position_of(host));
    Written { name: found.map(|(name, _)| name), at: at.unwrap_or(&values.start).clone() }
}

/// Everything that is done needs root.
fn check_root(values: &mut HostValues<'_>, host: &str, connection: &Connection) {
    let at = written(values, host, &BECOME).at;
    let is_root = connection.user.as_deref().is_none_or(|user| user == "root");
    if connection.become_other == Some(false) && !is_root {
        let problem = Problem::new(format!("`ansible_become` of the host {} is false, and its login is not root", quote(host)));
        values.problems.push(
            problem.of_host(host).at(&at).because("what is done needs root").hint("leave `ansible_become` out; kokctl uses sudo by itself"),
        );
    }
    if let Some(user) = connection.become_user.as_deref().filter(|user| *user != "root") {
        let problem = Problem::new(format!("the host {} cannot be changed as {}", quote(host), quote(user)));
        values.problems.push(problem.of_host(host).at(&at).because("what is done needs root").hint("leave `ansible_become_user` out"));
    }
}

/// Servers on the way: the last one is the nearest to the host.
fn chain(jumps: &[Jump], at: &Written) -> Option<Node> {
    let (nearest, before) = jumps.split_last()?;
    let mut map = Map::at(&at.at);
    map.add("address", at.text(&nearest.address));
    map.add_some("user", nearest.user.as_ref().map(|user| at.text(user)));
    map.add_some("port", nearest.port.map(|port| at.port(port)));
    map.add_some("privateKeyFile", nearest.private_key_file.as_ref().map(|file| at.text(file)));
    map.add_some("bastion", chain(before, at));
    Some(map.node().called(at.name))
}

/// The host of the group `bastion`, as Kubespray has it.
fn by_group(values: &mut HostValues<'_>, groups: &Groups<'_>, host: &str) -> Option<Node> {
    let bastion = groups.bastion.filter(|bastion| *bastion != host)?;
    let connection = connection(values, bastion)?;
    let mut map = login(values, bastion, &connection);
    map.add("address", written(values, bastion, &aliases::ADDRESS).text(&connection.address));
    Some(map.node())
}
