//! Options of ssh that say how to reach a host.

use super::connection::Jump;
use crate::inventory::{Comments, split};

/// More servers than any way has; each is a login of its own.
const MAX_JUMPS: usize = 4;
/// Options of one letter that take a value.
const WITH_VALUE: &str = "BbcDEeFIiJLlmOopQRSWw";

/// What was understood. The first value of each counts.
#[derive(Debug, Default)]
pub(super) struct Options {
    pub(super) user: Option<String>,
    pub(super) port: Option<u16>,
    pub(super) private_key_file: Option<String>,
    pub(super) jumps: Vec<Jump>,
}

/// Where options go; `None` if none of them means anything here.
pub(crate) fn field(text: &str) -> Option<&'static str> {
    let mut options = Options::default();
    match read(text, &mut options) {
        // Why, a problem says.
        Err(_) => Some("spec.hosts[].ssh"),
        Ok(_) if !options.jumps.is_empty() => Some("spec.hosts[].ssh.bastion"),
        Ok(_) => (options.user.is_some() || options.port.is_some() || options.private_key_file.is_some()).then_some("spec.hosts[].ssh"),
    }
}

/// Reads options into what is known already; gives those that were not understood, or why all of it is wrong.
pub(super) fn read(text: &str, options: &mut Options) -> Result<Vec<String>, String> {
    let words = split(text, Comments::None).map_err(|_| "a quote is opened and not closed".to_owned())?;
    let mut words = words.into_iter().map(|word| word.text);
    let mut ignored = Vec::new();
    while let Some(word) = words.next() {
        let Some(letter) = word.strip_prefix('-').and_then(|rest| rest.chars().next()) else {
            ignored.push(word);
            continue;
        };
        if !WITH_VALUE.contains(letter) {
            ignored.push(word);
            continue;
        }
        let glued = word.get(1 + letter.len_utf8()..).unwrap_or_default();
        let value =
            if glued.is_empty() { words.next().ok_or_else(|| format!("the option -{letter} has no value"))? } else { glued.to_owned() };
        if !one(letter, &value, options)? {
            ignored.push(format!("-{letter} {value}"));
        }
    }
    Ok(ignored)
}

/// One option with its value; false if it is not understood.
fn one(letter: char, value: &str, options: &mut Options) -> Result<bool, String> {
    match letter {
        'o' => {
            let (name, value) = value.split_once(['=', ' ']).ok_or("the option -o has a name and a value")?;
            named(name.trim(), value.trim(), options)
        }
        'J' => named("ProxyJump", value, options),
        'l' => named("User", value, options),
        'p' => named("Port", value, options),
        'i' => named("IdentityFile", value, options),
        _ => Ok(false),
    }
}

fn named(name: &str, value: &str, options: &mut Options) -> Result<bool, String> {
    match name.to_ascii_lowercase().as_str() {
        "proxyjump" | "proxycommand" if !options.jumps.is_empty() => {}
        // Both take `none` to mean that there is no server on the way.
        "proxyjump" | "proxycommand" if value.eq_ignore_ascii_case("none") => {}
        "proxyjump" => options.jumps = jumps(value)?,
        "proxycommand" => options.jumps = proxy_command(value)?,
        "user" => keep(&mut options.user, value),
        "port" => options.port = options.port.or(Some(port(value)?)),
        "identityfile" => keep(&mut options.private_key_file, value),
        _ => return Ok(false),
    }
    Ok(true)
}

fn keep(place: &mut Option<String>, value: &str) {
    place.get_or_insert_with(|| value.to_owned());
}

fn port(text: &str) -> Result<u16, String> {
    text.parse().ok().filter(|port| *port > 0).ok_or_else(|| "a port of ssh is a number from 1 to 65535".to_owned())
}

/// `[user@]host[:port]`, several with commas.
fn jumps(text: &str) -> Result<Vec<Jump>, String> {
    let jumps: Vec<Jump> = text.split(',').map(jump).collect::<Result<_, _>>()?;
    if jumps.len() > MAX_JUMPS { Err(format!("it passes more than {MAX_JUMPS} servers")) } else { Ok(jumps) }
}

fn jump(text: &str) -> Result<Jump, String> {
    let text = text.trim();
    let text = text.strip_prefix("ssh://").unwrap_or(text);
    let (user, place) = text.rsplit_once('@').map_or((None, text), |(user, place)| (Some(user.to_owned()), place));
    let (address, port_text) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, rest)) => (address, rest.strip_prefix(':')),
        None => match place.split_once(':') {
            // Two colons without brackets are an IPv6 address.
            Some((address, port)) if !port.contains(':') => (address, Some(port)),
            _ => (place, None),
        },
    };
    if address.is_empty() || address.starts_with('-') || address.contains(|c: char| c.is_whitespace() || c == '%') {
        return Err("a server on the way is `user@host:port`".to_owned());
    }
    Ok(Jump { user, address: address.to_owned(), port: port_text.map(port).transpose()?, private_key_file: None })
}

/// `ssh -W %h:%p [options] [user@]host`: a server on the way, written as a command.
fn proxy_command(text: &str) -> Result<Vec<Jump>, String> {
    let unknown =
        || "of a ProxyCommand kokctl knows `ssh -W %h:%p user@host` with the options -p, -l, -i and -q, and runs no other".to_owned();
    let words = split(text, Comments::None).map_err(|_| "a quote is opened and not closed".to_owned())?;
    let mut words = words.into_iter().map(|word| word.text).peekable();
    if !words.next().is_some_and(|command| command == "ssh" || command.ends_with("/ssh")) {
        return Err(unknown());
    }
    let (mut forwards, mut place, mut options) = (false, None, Options::default());
    while let Some(word) = words.next() {
        let Some(letter) = word.strip_prefix('-').and_then(|rest| rest.chars().next()) else {
            // A second word would be a command for the server.
            if place.replace(word).is_some() {
                return Err(unknown());
            }
            continue;
        };
        let glued = word.get(1 + letter.len_utf8()..).unwrap_or_default().to_owned();
        let takes_value = WITH_VALUE.contains(letter);
        let value = if takes_value && glued.is_empty() { words.next().ok_or_else(unknown)? } else { glued };
        match letter {
            'W' if matches!(value.as_str(), "%h:%p" | "[%h]:%p") => forwards = true,
            'W' => return Err(unknown()),
            _ if !takes_value => {}
            _ => {
                // Options that do nothing for the way do nothing here either.
                one(letter, &value, &mut options)?;
            }
        }
    }
    let jump = jump(&place.filter(|_| forwards).ok_or_else(unknown)?)?;
    let mut before = options.jumps;
    before.push(Jump {
        user: jump.user.or(options.user),
        port: jump.port.or(options.port),
        private_key_file: options.private_key_file,
        ..jump
    });
    if before.len() > MAX_JUMPS { Err(format!("it passes more than {MAX_JUMPS} servers")) } else { Ok(before) }
}

#[cfg(test)]
mod tests {
    use super::{Options, read};

    fn shown(text: &str) -> String {
        let mut options = Options::default();
        let ignored = match read(text, &mut options) {
            Ok(ignored) => ignored,
            Err(reason) => return format!("! {reason}"),
        };
        let jumps = options.jumps.iter().map(|jump| {
            let (user, port) = (jump.user.as_deref().unwrap_or("-"), jump.port.unwrap_or_default());
            format!("{user}@{}:{port} {}", jump.address, jump.private_key_file.as_deref().unwrap_or("-"))
        });
        let mut parts: Vec<String> = jumps.collect();
        parts.extend(options.user.map(|user| format!("user {user}")));
        parts.extend(options.port.map(|port| format!("port {port}")));
        parts.extend(options.private_key_file.map(|file| format!("key {file}")));
        parts.extend(ignored.into_iter().map(|option| format!("ignored {option}")));
        parts.join("; ")
    }

    #[test]
    fn ways_to_a_host() {
        for (text, expected) in [
            ("", ""),
            ("-o ProxyJump=bastion", "-@bastion:0 -"),
            ("-o 'ProxyJump admin@bastion:2222'", "admin@bastion:2222 -"),
            ("-oProxyJump=a@b,c:22", "a@b:0 -; -@c:22 -"),
            ("-J admin@[fd00::1]:22", "admin@fd00::1:22 -"),
            ("-J ssh://admin@b:22", "admin@b:22 -"),
            ("-o proxyjump=none -J b", "-@b:0 -"),
            ("-o ProxyCommand=\"ssh -W %h:%p -q admin@bastion\"", "admin@bastion:0 -"),
            ("-o ProxyCommand='ssh -p 2222 -i ~/.ssh/id -l admin -W %h:%p bastion'", "admin@bastion:2222 ~/.ssh/id"),
            ("-o ProxyCommand='/usr/bin/ssh -o StrictHostKeyChecking=no -W [%h]:%p b -J a'", "-@a:0 -; -@b:0 -"),
            (
                "-C -o StrictHostKeyChecking=no -i key -p 22 -l me",
                "user me; port 22; key key; ignored -C; ignored -o StrictHostKeyChecking=no",
            ),
            ("-o ControlMaster=auto -J b -J c", "-@b:0 -; ignored -o ControlMaster=auto"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for text in [
            "-o ProxyCommand='nc -x proxy %h %p'",
            "-o ProxyCommand='ssh bastion nc %h %p'",
            "-o ProxyCommand='ssh bastion'",
            "-o ProxyCommand='ssh -W %h:%p'",
            "-o ProxyCommand='ssh -W host:22 bastion'",
            "-J",
            "-J a@b:x",
            "-J a,,b",
            "-J a,b,c,d,e",
            "-o 'x",
            "-o Port",
            "-p 0",
        ] {
            assert!(shown(text).starts_with("! "), "{text}: {}", shown(text));
        }
    }
}
