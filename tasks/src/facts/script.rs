//! The part of a probe that gathers facts.
//!
//! A process costs a host some 3 ms, which a hundred hosts on few processors feel. So all small files are read by one `grep`, what can be
//! asked by the shell itself is, and what only some hosts have to be asked is asked only there.

use std::fmt::Write as _;

use super::files::FILES;
use super::storage::{FOLDERS, MOUNT_POINTS};
use super::{CHRONY, COMMANDS, CURL, KEEPALIVED, OTHER_COMMANDS, Program, TARGETS, TRUST_DEBIAN};

/// The script. It reads files, and of commands meant for people only `ip`, `df` and, where they are active, the firewall's.
/// With `moves`, of a host that an address is to move to.
pub(crate) fn script(moves: bool) -> String {
    let mut script = format!("mark fact-files\ngrep -Ha '' {} 2>/dev/null\n", FILES.join(" "));
    script.push_str("mark fact-machine\nuname -m\n");
    let mounts = MOUNT_POINTS.join("|");
    let _ = writeln!(script, "mark fact-mounts\ngrep -E '^[^ ]+ ({mounts}) ' /proc/self/mounts");
    script.push_str(LISTENING);
    script.push_str("mark fact-addresses\nip addr show 2>/dev/null\n");
    push_space(&mut script);
    push_commands(&mut script);
    push_packages(&mut script, moves);
    script
}

/// Sockets in the state LISTEN; a busy host has ten thousand in others.
const LISTENING: &str =
    "mark fact-listening\ngrep -hE '^ *[0-9]+: [0-9A-F]+:[0-9A-F]+ [0-9A-F]+:0000 0A ' /proc/net/tcp /proc/net/tcp6 2>/dev/null\n";

/// Of a folder that does not exist yet the file system is that of the folder above it. `df` prints one line per folder, in their order.
fn push_space(script: &mut String) {
    let folders = FOLDERS.iter().map(|folder| folder.path).collect::<Vec<_>>().join(" ");
    let _ = write!(
        script,
        r#"mark fact-space
( set --
  for folder in {folders}; do
    while [ ! -d "$folder" ]; do folder=${{folder%/*}}; folder=${{folder:-/}}; done
    set -- "$@" "$folder"
  done
  df -k --output=avail,size,itotal,iavail,target -- "$@" )
mark fact-unwritable
unwritable() {{
  mount=$(df --output=target -- "$1" | tail -n 1)
  echo "$1 $mount $(grep -F " $mount " /proc/self/mounts | tail -n 1 | cut -d ' ' -f 4)"
}}
for folder in {targets}; do [ -w "$folder" ] || [ ! -e "$folder" ] || unwritable "$folder"; done
( set -e; mkdir -p -m 700 /run/kokctl; : >/run/kokctl/.probe; rm -f /run/kokctl/.probe ) 2>/dev/null || unwritable /run
"#,
        targets = TARGETS.iter().map(|target| target.path).collect::<Vec<_>>().join(" ")
    );
}

fn push_commands(script: &mut String) {
    let names = COMMANDS.iter().map(|program| program.name).chain(OTHER_COMMANDS.iter().copied()).collect::<Vec<_>>().join(" ");
    let _ = write!(
        script,
        "mark fact-commands\nfor command in {names}; do\n  command -v \"$command\" >/dev/null 2>&1 && echo \"$command\"\ndone\n"
    );
}

/// Whether a package could be installed is asked only where a command is missing. Debian's package manager knows it from its lists,
/// which an image may come without; the one of the RHEL family fetches them when it is asked. What these could do shows when it is done.
fn push_packages(script: &mut String, moves: bool) {
    script.push_str(
        "mark fact-packages\nfor file in /var/lib/dpkg/updates/[0-9]*; do [ -e \"$file\" ] && { echo interrupted; break; }; done\n",
    );
    script.push_str("lacking=\n");
    for Program { name, debian, .. } in COMMANDS.iter().chain([&CHRONY, &CURL, &TRUST_DEBIAN]).chain(moves.then_some(&KEEPALIVED)) {
        let _ = writeln!(script, "command -v {name} >/dev/null 2>&1 || lacking=\"$lacking {debian}\"");
    }
    script.push_str("for file in /var/lib/apt/lists/*Packages*; do [ -e \"$file\" ] || echo no-lists; break; done\n");
    script.push_str(
        "[ -n \"$lacking\" ] && command -v apt-cache >/dev/null 2>&1 && apt-cache madison $lacking 2>/dev/null </dev/null | while read -r name rest; do echo \"can $name\"; done\n",
    );
}
