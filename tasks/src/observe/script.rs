//! The text of a probe.

use std::fmt::Write as _;

use super::look::Looks;
use super::{BLOCK_BEGIN, BLOCK_END, STATE_DIRECTORY};
use crate::facts::{self, Extent};
use crate::script::DIGESTS;
use crate::shell::quote;

/// Contents that differ are shown in plans; a file above this length is only compared.
pub(super) const CONTENT_LIMIT: usize = 64 * 1024;

/// What is shown of all files that differ together: nobody reads more, and of the others a plan says that they differ.
pub(super) const SHOWN_LIMIT: usize = 1024 * 1024;

/// Random text that begins each section of an answer, so that no content of a file can pass for a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nonce(String);

impl Nonce {
    /// A nonce of 128 random bits.
    #[must_use]
    pub fn new(random: [u8; 16]) -> Self {
        Self(hex::encode(random))
    }

    /// The nonce as it stands in scripts and answers.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The shell function `mark NAME [ARGUMENT]` that begins a section of the answer.
#[must_use]
pub fn section_marker(nonce: &Nonce) -> String {
    format!("mark() {{ printf '\\n%s %s\\n' {} \"$*\"; }}\n", nonce.as_str())
}

/// The script that answers `looks`, with so many of the host's facts first.
///
/// Read-only but for the hashes of large files and the versions of programs, which it remembers where kokctl already has a folder of its own (the
/// latter until the next start of the host), and for an empty file below `/run/kokctl`, by which facts tell whether `/run` can be written. It needs root.
#[must_use]
pub fn probe_script(nonce: &Nonce, looks: &Looks, facts: Option<Extent>) -> String {
    let mut script = section_marker(nonce);
    super::questions::push(&mut script, of_host(looks, facts), looks);
    script.push_str("mark end\n");
    script
}

/// What a host is asked by small commands, one after the other.
fn of_host(looks: &Looks, facts: Option<Extent>) -> String {
    let mut script = facts.map_or_else(String::new, |extent| facts::script(extent, &looks.installable));
    script.push_str(CLOCK);
    push_paths(&mut script, looks);
    push_files(&mut script, looks);
    push_large(&mut script, looks);
    super::contents::push(&mut script, looks);
    super::kubeconfig::push_authorities(&mut script, &looks.kubeconfig_authorities);
    super::kubeconfig::push_certificates(&mut script, &looks.certificates);
    super::units::push(&mut script, looks);
    push_kernel(&mut script, looks);
    if looks.time {
        script.push_str(super::time::SCRIPT);
    }
    push_host(&mut script, looks);
    if looks.versions {
        super::versions::push(&mut script);
    }
    script
}

/// Wall clock, then the clock by which systemd dates the starts of units: CLOCK_MONOTONIC, which stands still while a machine sleeps, as
/// the kernel's list of timers has it. The time since boot, which goes on then, is for kernels without that list. The wall clock is read
/// last: on a busy host some tenths of a second pass between the two, and units seem to have been started later then, never earlier, so
/// that none is restarted for a file that it has read.
const CLOCK: &str = "read -r uptime </proc/uptime\nnow=\n{ read -r now && read -r now && read -r now; } 2>/dev/null </proc/timer_list || :\n\
    mark clock\ndate +%s%N\nprintf '%s\\n%s\\n' \"$uptime\" \"$now\"\n";

/// Words of a script.
pub(super) fn quoted<'a>(items: impl IntoIterator<Item = &'a String>) -> String {
    items.into_iter().map(|item| quote(item)).collect::<Vec<_>>().join(" ")
}

/// Permissions, owner and group, and what changes when a file does: name, size, times and inode.
const STAT: &str = "'%f %u %g %n|%s|%.9Y|%.9Z|%i'";

/// Stands before the large files in what `stat` is asked.
const BETWEEN: &str = "/.";

/// So many bytes dash reads byte by byte, by `read`, in the time that a program takes to start.
const READ_LIMIT: u32 = 2048;

fn push_paths(script: &mut String, looks: &Looks) {
    if looks.large.is_empty() {
        if !looks.paths.is_empty() {
            let _ = writeln!(script, "mark paths\nstat -c {STAT} -- {} 2>/dev/null", quoted(&looks.paths));
        }
        return;
    }
    // One process for both kinds. Between them stands a path that is always there, which nobody asks for in this form.
    let others = quoted(looks.paths.difference(&looks.large));
    let large = quoted(&looks.large);
    let _ = writeln!(
        script,
        "stats=$(stat -c {STAT} -- {others} {BETWEEN} {STATE_DIRECTORY}{RECORD} {large} 2>/dev/null)\nmark paths\nprintf '%s\\n' \"$stats\""
    );
}

/// One `sha256sum` for all; then the content of those whose sum isn't the expected one, by a comparison inside the shell.
fn push_files(script: &mut String, looks: &Looks) {
    if looks.files.is_empty() {
        return;
    }
    let paths = quoted(looks.files.keys());
    let _ = writeln!(script, "mark sums\nsums=$(sha256sum -- {paths} 2>/dev/null)\nprintf '%s\\n' \"$sums\"");
    let _ = writeln!(
        script,
        "shown=0\nshow() {{\n  [ -f \"$1\" ] && size=$(stat -Lc %s -- \"$1\") && [ \"$size\" -le {CONTENT_LIMIT} ] || return 0\n  \
         shown=$((shown + size))\n  [ \"$shown\" -le {SHOWN_LIMIT} ] || return 0\n  mark content \"$1\"\n  head -c \"$size\" <\"$1\"\n}}\n\
         unlike() {{ case \"$sums\" in *\"$1  $2\"*) ;; *) show \"$2\";; esac; }}"
    );
    for (path, expected) in &looks.files {
        if let Some(expected) = expected {
            let _ = writeln!(script, "unlike {} {}", quote(expected), quote(path));
        }
    }
    if !looks.edited.is_empty() {
        script.push_str(EDITED);
    }
    for (path, copy) in &looks.edited {
        let _ = writeln!(script, "edited {} {}", quote(path), quote(copy));
    }
}

/// `edited FILE COPY` compares by the sums that there are already; where a file is missing there is nothing to compare.
const EDITED: &str = r#"newline='
'
sum_of() { rest="$newline$sums$newline"; case "$rest" in *"  $1$newline"*) ;; *) sum=; return;; esac; rest=${rest%%"  $1$newline"*}; sum=${rest##*"$newline"}; }
edited() { sum_of "$1"; is=$sum; sum_of "$2"; [ -z "$is" ] || [ -z "$sum" ] || [ "$is" = "$sum" ] || { show "$1"; show "$2"; }; }
"#;

/// The record of the digests of large files below [`STATE_DIRECTORY`], in a form in which nobody asks for it.
const RECORD: &str = "/./hashes";

/// A large file is hashed only if no line of the record has its present size, times and inode. Compared line by line: a pattern that looks for
/// one in the whole of it takes the shell half a second for thirty files.
fn push_large(script: &mut String, looks: &Looks) {
    if looks.large.is_empty() {
        return;
    }
    let _ = write!(
        script,
        r#"{DIGESTS}mark large
newline='
'
known=
noted() {{
  if [ "$1" -gt {READ_LIMIT} ]; then known=$(cat {STATE_DIRECTORY}{RECORD}); return; fi
  while IFS= read -r line; do known=$known$line$newline; done <{STATE_DIRECTORY}{RECORD}
}}
set -f
IFS=$newline
is_large=
for line in $stats; do
  case $line in *' {BETWEEN}|'[0-9]*) is_large=1; continue;; esac
  [ -n "$is_large" ] || continue
  case $line in *' {STATE_DIRECTORY}{RECORD}|'*) size=${{line#*"{RECORD}|"}}; noted "${{size%%|*}}"; continue;; esac
  case $line in *' /'*) line=/${{line#*" /"}};; *) continue;; esac
  path=${{line%|*|*|*|*}} sum=
  [ -f "$path" ] || continue
  for entry in $known; do case $entry in "$line "*) sum=${{entry#"$line "}};; esac; done
  if [ -z "$sum" ]; then
    size=${{line#"$path|"}}
    digest_of "$path" "${{size%%|*}}" || continue
    [ -d {STATE_DIRECTORY} ] && printf '%s %s\n' "$line" "$sum" >>{STATE_DIRECTORY}/hashes
  fi
  printf '%s  %s\n' "$sum" "$path"
done
unset IFS
set +f
"#
    );
}

/// What the shell can find out by itself, for the most part.
fn push_host(script: &mut String, looks: &Looks) {
    if !looks.commands.is_empty() {
        let names = quoted(&looks.commands);
        let _ = writeln!(
            script,
            "mark commands\nfor command in {names}; do\n  command -v -- \"$command\" >/dev/null 2>&1 && printf '%s\\n' \"$command\"\ndone"
        );
    }
    for path in &looks.blocks {
        let path = quote(path);
        let _ = writeln!(script, "mark block {path}\nsed -n '/^{BLOCK_BEGIN}$/,/^{BLOCK_END}$/p' {path} 2>/dev/null");
    }
    for pattern in &looks.patterns {
        let (name, glob) = (quote(pattern), glob(pattern));
        let _ = writeln!(script, "mark matching {name}\nfor path in {glob}; do [ -e \"$path\" ] && printf '%s\\n' \"$path\"; done");
    }
    super::pieces::push(script, &looks.pieces);
    if looks.swap {
        script.push_str(super::swap::SCRIPT);
    }
    if looks.firewall {
        script.push_str(super::firewall::SCRIPT);
    }
    if let Some(ranges) = &looks.pod_network {
        script.push_str(&super::pod_network::script(ranges));
    }
    if looks.ipv6 {
        script.push_str(super::ipv6::SCRIPT);
    }
}

/// A pattern of which only `*` has a meaning to the shell.
pub(crate) fn glob(pattern: &str) -> String {
    pattern.split('*').map(quote).collect::<Vec<_>>().join("*")
}

/// The file of a kernel parameter. A dot in the name of an interface is spelled as a slash, as sysctl(8) and sysctl.d(5) have it.
pub(crate) fn sysctl_file(name: &str) -> String {
    let swapped = name.chars().map(|c| match c {
        '.' => '/',
        '/' => '.',
        other => other,
    });
    ["/proc/sys/"].into_iter().flat_map(str::chars).chain(swapped).collect()
}

/// Whether a module is there. It counts as there when it is loaded or built in: `/sys/module` has both (for those with parameters), `modules.builtin` the
/// rest, and some are known by what they provide. Of one that is not there, modprobe knows whether it would find it. The lists are long, and read only for
/// what is not in `/sys/module`.
const MODULE: &str = r#"listed= known=
module() {
  if [ -d "/sys/module/$1" ]; then echo "$1"; return; fi
  if [ -z "$listed" ]; then
    listed=yes
    read -r kernel </proc/sys/kernel/osrelease
    known=$(cat "/lib/modules/$kernel/modules.builtin" /proc/filesystems 2>/dev/null)
  fi
  case "$known" in
    */"$1".ko*|*"	$1"*) echo "$1";;
    *)
      if [ "$1" = br_netfilter ] && [ -d /proc/sys/net/bridge ]; then echo "$1"
      elif ! command -v modprobe >/dev/null 2>&1 || modprobe -n -q -- "$1" 2>/dev/null; then echo "can $1"; fi;;
  esac
}
"#;

/// Kernel parameters and modules.
fn push_kernel(script: &mut String, looks: &Looks) {
    if !looks.sysctls.is_empty() {
        // Not `read`: dash reads byte by byte, and these files answer the first read only.
        let files: Vec<String> = looks.sysctls.iter().map(|name| quote(&sysctl_file(name))).collect();
        let _ = writeln!(script, "mark sysctls\ngrep -H '' {} 2>/dev/null", files.join(" "));
    }
    if !looks.modules.is_empty() {
        let _ = writeln!(script, "mark modules\n{MODULE}for name in {}; do module \"$name\"; done", quoted(&looks.modules));
    }
}

#[cfg(test)]
mod tests {
    use super::super::look::Look;
    use super::*;

    #[test]
    fn batches_each_kind_into_one_command() {
        let looks: Looks = (0..50).map(|i| Look::File { path: format!("/etc/f{i}"), expected: None }).collect();
        let script = probe_script(&Nonce::new([7; 16]), &looks, None);
        assert_eq!(script.matches("stat -c").count(), 1);
        assert_eq!(script.matches("sha256sum").count(), 1);
    }

    #[test]
    fn reads_the_wall_clock_last() {
        let script = probe_script(&Nonce::new([7; 16]), &Looks::default(), None);
        assert!(script.find("/proc/timer_list") < script.find("date +%s%N") && script.contains("/proc/timer_list"), "{script}");
    }

    #[test]
    fn quotes_what_it_looks_at() {
        let looks: Looks = [Look::Path("/a b'; rm -rf /".to_owned())].into_iter().collect();
        let script = probe_script(&Nonce::new([7; 16]), &looks, None);
        assert!(script.contains(r"'/a b'\''; rm -rf /'"), "{script}");
    }
}
