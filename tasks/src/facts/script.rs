//! The part of a probe that gathers facts.
//!
//! A process costs a host some 3 ms, which a hundred hosts on few processors feel. So all small files are read by one `grep`, what can be
//! asked by the shell itself is, and what only some hosts have to be asked is asked only there.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::files::{FILES, MACHINE};
use super::storage::{FOLDERS, MOUNT_POINTS};
use super::{COMMANDS, Extent, OTHER_COMMANDS, Program, TARGETS};
use crate::shell::quote;

/// The script. It reads files, and of commands meant for people only `ip`, `df` and, where they are active, the firewall's.
/// Of the commands that are `needed` it says whether packages of them could be installed.
pub(crate) fn script(extent: Extent, needed: &BTreeSet<Program>) -> String {
    let mut script = format!("mark fact-files\ngrep -Ha '' {} 2>/dev/null\n", FILES.join(" "));
    // Kernels say it themselves from 6.1 on.
    let _ = writeln!(script, "mark fact-machine\n[ -e {MACHINE} ] || uname -m");
    script.push_str("mark fact-addresses\nip addr show 2>/dev/null\n");
    push_commands(&mut script);
    if extent == Extent::Node {
        push_kernel(&mut script);
        push_space(&mut script);
        push_packages(&mut script, needed);
    }
    script
}

fn push_kernel(script: &mut String) {
    let mounts = MOUNT_POINTS.join("|");
    // Of sockets those in the state LISTEN; a busy host has ten thousand in others. No line of one of these files is like one of another.
    let _ = writeln!(
        script,
        "mark fact-kernel\ngrep -hE '^[^ ]+ ({mounts}) |^ *[0-9]+: [0-9A-F]+:[0-9A-F]+ [0-9A-F]+:0000 0A ' /proc/self/mounts /proc/net/tcp /proc/net/tcp6 2>/dev/null"
    );
}

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
{{ [ -d /run/kokctl ] || mkdir -p -m 700 /run/kokctl; }} 2>/dev/null && {{ true >/run/kokctl/.probe; }} 2>/dev/null || unwritable /run
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

/// Whether a package could be installed is asked only where a command is missing that is needed. Debian's package manager knows it from its lists, which an
/// image may come without, and takes its time to read them; the one of the RHEL family fetches them when it is asked. What these could do shows when it
/// is done.
fn push_packages(script: &mut String, needed: &BTreeSet<Program>) {
    script.push_str(
        "mark fact-packages\nfor file in /var/lib/dpkg/updates/[0-9]*; do [ -e \"$file\" ] && { echo interrupted; break; }; done\n",
    );
    script.push_str("for file in /var/lib/apt/lists/*Packages*; do [ -e \"$file\" ] || echo no-lists; break; done\n");
    if needed.is_empty() {
        return;
    }
    script.push_str("lacking=\n");
    for Program { name, debian, .. } in needed {
        let _ = writeln!(script, "command -v {} >/dev/null 2>&1 || lacking=\"$lacking {debian}\"", quote(name));
    }
    script.push_str(
        "[ -n \"$lacking\" ] && command -v apt-cache >/dev/null 2>&1 && apt-cache madison $lacking 2>/dev/null </dev/null | while read -r name rest; do echo \"can $name\"; done\n",
    );
}
