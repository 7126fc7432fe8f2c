//! What `vagrant ssh-config` prints: for each machine a block of an OpenSSH configuration.

use super::{MOST_PROBLEMS, Machine, text};
use crate::inventory::{Comments, split};
use crate::tree::{Node, Value};
use crate::words::{quote, with_nearest};
use crate::{Position, Problem, Source};

/// More than Kubernetes takes.
const MOST_MACHINES: usize = 5_000;

/// Options that become fields of `ssh`.
const FIELDS: [(&str, &str); 4] = [("HostName", "address"), ("User", "user"), ("Port", "port"), ("IdentityFile", "privateKeyFile")];

/// Options that Vagrant prints and that change neither where, nor how, nor as whom somebody logs in. Whoever says that no key is to be verified is not
/// listened to: kokctl always does.
const PASSED_OVER: [&str; 11] = [
    "UserKnownHostsFile",
    "StrictHostKeyChecking",
    "PasswordAuthentication",
    "IdentitiesOnly",
    "LogLevel",
    "ForwardAgent",
    "ForwardX11",
    "SendEnv",
    "PubkeyAcceptedKeyTypes",
    "PubkeyAcceptedAlgorithms",
    "HostKeyAlgorithms",
];

/// Options that would change the way to a machine.
const REFUSED: [(&str, &str); 3] = [
    ("ProxyCommand", "kokctl runs no program on the way to a host: use a provider of this machine"),
    ("ProxyJump", "write the way as `ssh: {bastion: …}` in a file of the cluster, and not in the Vagrantfile"),
    ("Include", "take `config.ssh.config` out of the Vagrantfile"),
];

/// What to do about a text that Vagrant did not mean.
const PRINTED: &str =
    "run `vagrant ssh-config` and look: a Vagrantfile or a plugin may print something of its own, which has to go to standard error";

/// The machines, and what is wrong with the text.
pub(super) fn read(source: &Source) -> (Vec<Machine>, Vec<Problem>) {
    let (mut machines, mut problems) = (Vec::new(), Vec::new());
    for (line, number) in source.text.lines().zip(1..) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let position = source.position(number, 1);
        if let Err(problem) = read_line(line, &position, &mut machines) {
            problems.push(problem.at(&position));
        }
        if problems.len() == MOST_PROBLEMS {
            break;
        }
    }
    if machines.is_empty() && problems.is_empty() {
        let problem = Problem::new("Vagrant lists no machines").at(&source.position(1, 1));
        problems.push(
            problem.because("`vagrant ssh-config` has printed nothing").hint("let the Vagrantfile define machines, and run `vagrant up`"),
        );
    }
    let whole = if problems.is_empty() { machines.iter().flat_map(lacking).collect() } else { Vec::new() };
    problems.extend(whole);
    (machines, problems)
}

fn read_line(line: &str, position: &Position, machines: &mut Vec<Machine>) -> Result<(), Problem> {
    let (name, rest) = line.split_once(|c: char| c.is_ascii_whitespace() || c == '=').unwrap_or((line, ""));
    let is = |known: &&str| known.eq_ignore_ascii_case(name);
    if PASSED_OVER.iter().any(&is) {
        return Ok(());
    }
    if let Some((known, hint)) = REFUSED.iter().find(|(known, _)| is(known)) {
        return Err(Problem::new(format!("`{known}` of `vagrant ssh-config` is not supported"))
            .because("it changes the way to a machine")
            .hint(*hint));
    }
    if is(&"Host") {
        let value = value(rest)?;
        machines.push(machine(&value, position, machines)?);
        return Ok(());
    }
    let Some((known, field)) = FIELDS.iter().find(|(known, _)| is(known)) else { return Err(unknown(name)) };
    let value = value(rest)?;
    let Some(machine) = machines.last_mut() else {
        let problem = Problem::new(format!("`{known}` stands before the first machine"));
        return Err(problem.because("`Host` begins what is said of a machine").hint(PRINTED));
    };
    if machine.login.iter().any(|(other, _)| other == field) {
        return Err(twice(known, &machine.name));
    }
    machine.login.push((field, node(field, &value, position)?));
    Ok(())
}

/// The only word behind the name of an option.
fn value(rest: &str) -> Result<String, Problem> {
    let wrong = |because: &str| Problem::new("a line of `vagrant ssh-config` can't be read").because(because).hint(PRINTED);
    let rest = rest.trim_start().strip_prefix('=').unwrap_or(rest);
    let words = split(rest, Comments::None).map_err(|_| wrong("a quote is opened and not closed"))?;
    match <[_; 1]>::try_from(words) {
        Ok([word]) if !word.text.is_empty() && !word.text.contains(char::is_control) => Ok(word.text),
        _ => Err(wrong("it is not the name of an option and one value")),
    }
}

fn machine(name: &str, position: &Position, before: &[Machine]) -> Result<Machine, Problem> {
    if name.contains(['*', '?', '!']) {
        let problem = Problem::new(format!("{} is no name of a machine", quote(name)));
        return Err(problem.because("it is a pattern, and Vagrant names machines").hint(PRINTED));
    }
    if before.len() == MOST_MACHINES {
        let problem = Problem::new(format!("Vagrant lists more than {MOST_MACHINES} machines"));
        return Err(problem.because("that is more than Kubernetes takes").hint(PRINTED));
    }
    if before.iter().any(|machine| machine.name == name) {
        let problem = Problem::new(format!("the machine {} is listed twice", quote(name)));
        return Err(problem.because("each of its lines could be meant").hint(PRINTED));
    }
    Ok(Machine { name: name.to_owned(), position: position.clone(), login: Vec::new(), address: None })
}

fn node(field: &str, value: &str, position: &Position) -> Result<Node, Problem> {
    if field != "port" {
        return Ok(text(value, position));
    }
    let port: u16 = value.parse().map_err(|_| {
        let problem = Problem::new(format!("{} is no port", quote(value)));
        problem.because("it is a number from 1 to 65535").hint(PRINTED)
    })?;
    Ok(Node { spelling: port.to_string(), ..Node::new(Value::Integer(port.into()), position.clone()) })
}

fn twice(option: &str, machine: &str) -> Problem {
    let problem = Problem::new(format!("the machine {} has `{option}` twice", quote(machine)));
    match option {
        "IdentityFile" => problem.because("kokctl logs in to a host with one key").hint(
            "leave `config.ssh.insert_key` as it is, so that the machine gets a key of its own at its first `vagrant up`; or name one in \
             `config.ssh.private_key_path`",
        ),
        _ => problem.because("each of them could be meant").hint(PRINTED),
    }
}

fn unknown(name: &str) -> Problem {
    let known: Vec<&str> = FIELDS.iter().map(|(known, _)| *known).chain(PASSED_OVER).chain(["Host"]).collect();
    let problem = Problem::new(format!("unknown option {} in what `vagrant ssh-config` printed", quote(name)));
    with_nearest(problem.because("what it means for a login is not known here"), name, &known, PRINTED)
}

/// What a login can't do without.
fn lacking(machine: &Machine) -> Option<Problem> {
    let missing = FIELDS.iter().find(|(_, field)| !machine.login.iter().any(|(given, _)| given == field))?;
    let problem = Problem::new(format!("the machine {} has no `{}`", quote(&machine.name), missing.0)).at(&machine.position);
    Some(match missing.0 {
        "IdentityFile" => problem
            .because("kokctl logs in to Vagrant's machines with the key that Vagrant has given them")
            .hint("leave `config.ssh.password` and `config.ssh.insert_key` out of the Vagrantfile"),
        _ => problem.because("`vagrant ssh-config` says it of every machine that is up").hint(PRINTED),
    })
}
