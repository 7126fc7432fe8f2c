//! Who runs kokctl.

use std::env;
use std::fs;

/// `user@machine`, for people: nothing depends on it. Behind sudo it is the user who called it.
pub(super) fn who() -> String {
    let user = ["SUDO_USER", "USER", "LOGNAME"].iter().find_map(|name| env::var(name).ok().filter(|user| !user.is_empty()));
    let user = user.unwrap_or_else(|| name_of(rustix::process::getuid().as_raw()));
    let machine = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{user}@{}", machine.trim())
}

/// The name that `/etc/passwd` has for a user, or the number.
fn name_of(user: u32) -> String {
    let accounts = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let found = accounts.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, _, id) = (fields.next()?, fields.next()?, fields.next()?);
        (id == user.to_string()).then(|| name.to_owned())
    });
    found.unwrap_or_else(|| format!("uid{user}"))
}
