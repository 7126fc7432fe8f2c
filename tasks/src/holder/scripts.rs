//! Scripts that look at a holder record, change it, and compare it.

use super::{LINE_LIMIT, PATH};
use crate::script::JOBS;
use crate::shell::quote;

/// Exit code of a script on a host that another run holds.
pub const HELD: u32 = 76;

/// Exit code of a script that did nothing, because an earlier one is still at work on the host.
pub const BUSY: u32 = 77;

/// How long the lock of the record is waited for, which is held only while the record is compared and written.
pub const RECORD_SECONDS: u64 = 20;

/// How long a script that takes a host waits for another one that does: ending units (30 s) and [`WAIT_SECONDS`].
const COPY_SECONDS: u64 = 150;

/// The longest that a script takes which takes a host: each of its waits, and ending units (30 s).
pub const TAKE_SECONDS: u64 = 2 * RECORD_SECONDS + COPY_SECONDS + 30 + UPLOAD_SECONDS + WAIT_SECONDS;

/// The line of the run that took the host last. In a tmpfs: what it says of scripts and jobs holds until the next restart.
const TAKEN: &str = "/run/kokctl/taken";

/// The line of the run that let go of the host last.
const LET_GO: &str = "/run/kokctl/let-go";

const BOOT: &str = "cat /proc/sys/kernel/random/boot_id";

/// How long a script waits for those before it: the longest single change of a healthy host, a unit's stop included.
pub const WAIT_SECONDS: u64 = 120;

/// How long the first look at a host waits for scripts of an earlier run, so that what takes longer is told soon.
pub const FIRST_LOOK_SECONDS: u32 = 2;

/// How long any further look waits for them. Whoever looks sees each time that the host answers, and looks again.
pub const LOOK_SECONDS: u32 = 15;

/// How long an upload whose connection is lost may go on: with all that it was sent, it hashes that and writes it to the disk.
pub const UPLOAD_SECONDS: u64 = 15;

/// The lane of uploads, as [`begin_script`] takes it.
pub const UPLOADS: &str = "streams";

/// The part of a first probe that says who holds the host, and waits up to `seconds` until no script of an earlier run of this
/// controller is at work, or says that one is, and which jobs are. The scripts of another controller's run are not waited for: that run is refused, or taken over.
#[must_use]
pub fn look_script(controller: &str, seconds: u32) -> String {
    format!(
        "mark holder\nheld=; {{ read -r held <{PATH}; }} 2>/dev/null\nprintf '%s\\n' \"$held\"\nwaits=yes\n\
         case \"$held\" in *' run='*) waits=;; esac\ncase \"$held\" in *' controller='{own}' '*) waits=yes;; esac\n\
         if [ -n \"$waits\" ] && [ -d /run/kokctl ] && {{ true >>/run/kokctl/lock; }} 2>/dev/null; then\n  mark lock\n  \
         exec 9>/run/kokctl/lock\n  flock -x -w {seconds} 9 || {{ echo busy; for input in {JOBS}/*.sh; do\n    [ -e \"$input\" ] || continue\n    \
         input=${{input##*/}} unit=\"kokctl-job-${{input%.sh}}.service\"\n    \
         systemctl is-active --quiet \"kokctl-${{input%.sh}}.service\" 2>/dev/null && unit=\"kokctl-${{input%.sh}}.service\"\n    \
         echo \"$unit\"\n  done; }}\n  exec 9>&-\nfi\n",
        own = quote(controller)
    )
}

/// The script that makes `line` the holder's if `expected` stands there. Only when no script of an earlier run can begin any more, what is
/// left of it is waited for. With `take_over` the jobs of the run that `expected` names are ended first, and nothing else: those of any other
/// run are waited for, and units that carry a node's network go on. Needs the functions of a script's beginning;
/// ends with [`HELD`] and the present line on standard error, or [`BUSY`]. Prints the boot id. The record of hashes of large files, to which
/// probes only add, is begun anew when it has grown: that costs hashing them once.
///
/// What stands there is compared as [`Standing::parse`](super::Standing::parse) keeps it (`plain`): a damaged line could not be compared otherwise, nor taken over.
///
/// It may be sent again whatever became of it. The lock of the record is let go of before anything is waited for, so that the host can be let
/// go of, or taken over, meanwhile: then this ends with [`HELD`]. One that has ended well leaves a mark, behind which its copies do nothing; so
/// does [`release_script`], behind which a copy that comes too late does not take the host any more.
#[must_use]
pub fn take_script(expected: &str, line: &str, take_over: bool) -> String {
    let stop = run_of(expected).filter(|_| take_over).map(end_jobs_script).unwrap_or_default();
    let (expected, line) = (quote(expected), quote(line));
    format!(
        "set -eu\nmkdir -p -m 700 /var/lib/kokctl /run/kokctl\nkokctl_holder={line}\n\
         busy() {{ echo \"$1\" >&2; exit {BUSY}; }}\nlost() {{ printf '%s\\n' \"$held\" >&2; exit {HELD}; }}\n\
         plain() {{ printf '%s' \"$1\" | LC_ALL=C tr -cd ' -~' | cut -c -{LINE_LIMIT}; }}\n{TAKE_FUNCTIONS}{END_UPLOADS}\
         exec 7>/run/kokctl/holder.lock\n\
         flock -x -w {RECORD_SECONDS} 7 || busy 'its holder is being changed'\n\
         held=; {{ read -r held <{PATH}; }} 2>/dev/null || :\n\
         if [ \"$held\" != {line} ]; then\n  \
         [ \"$(plain \"$held\")\" = {expected} ] && ! marked {LET_GO} || lost\n  put_line {PATH} 0600 {line}\nfi\nflock -u 7\n\
         exec 6>/run/kokctl/take.lock\ncomes 6 {COPY_SECONDS} || busy 'it is being taken by an earlier run'\n\
         ! marked {TAKEN} || {{ {BOOT}; exit 0; }}\n{stop}\
         exec 9>/run/kokctl/lock\ncomes 9 {UPLOAD_SECONDS} || end_uploads\ncomes 9 {WAIT_SECONDS} || busy 'a script of an earlier run is still at work'\n\
         flock -x -w {RECORD_SECONDS} 7 || busy 'its holder is being changed'\nis_ours || lost\n\
         [ ! -e {JOBS} ] || rm -rf {JOBS}\n\
         [ ! -e /var/lib/kokctl/hashes ] || find /var/lib/kokctl/hashes -size +64k -delete 2>/dev/null || :\n\
         put_line {TAKEN} 0600 {line}\n{BOOT}\n"
    )
}

/// The run that a record names, if it is one of kokctl.
fn run_of(line: &str) -> Option<&str> {
    line.split(' ').find_map(|field| field.strip_prefix("run=")).filter(|run| !run.is_empty())
}

/// Ends the jobs that this run has at work, all at once. Which ones these are stands in the folder of jobs.
fn end_jobs_script(run: &str) -> String {
    let attempt = quote(&format!("attempt {run}"));
    format!(
        "jobs=\nfor about in {JOBS}/*.about; do\n  {{ read -r word run rest <\"$about\"; }} 2>/dev/null || continue\n  \
         [ \"$word $run\" = {attempt} ] || continue\n  name=${{about##*/}}\n  job_units \"${{name%.about}}\"\n  \
         jobs=\"$jobs${{jobs:+ }}$units\"\ndone\n[ -z \"$jobs\" ] || systemctl stop $jobs >/dev/null 2>&1 </dev/null || :\n"
    )
}

/// The script that takes `line` away and leaves this one ([`left_line`](super::left_line)), or nothing on a host that is part of no cluster. Records of jobs go too, unless
/// another run has taken over or a job is still at work. Ends with [`BUSY`] if the record could not be had within `seconds`
/// ([`RECORD_SECONDS`]).
#[must_use]
pub fn release_script(line: &str, left: &str, seconds: u64) -> String {
    let (line, left) = (quote(line), quote(left));
    format!(
        "[ -d /run/kokctl ] || mkdir -p -m 700 /run/kokctl\nexec 7>/run/kokctl/holder.lock\n\
         flock -x -w {seconds} 7 || {{ echo 'its holder is being changed' >&2; exit {BUSY}; }}\n\
         put_line {LET_GO} 0600 {line}\n\
         held=; {{ read -r held <{PATH}; }} 2>/dev/null || :\n[ \"$held\" = {line} ] || [ -z \"$held\" ] || exit 0\n\
         if [ -e /var/lib/kokctl/cluster ]; then put_line {PATH} 0600 {left} || exit 1; else\n  \
         rm -f {PATH} || exit 1; rmdir /var/lib/kokctl 2>/dev/null; fi\n\
         for input in {JOBS}/*.sh; do [ ! -e \"$input\" ] || exit 0; done\n[ ! -e {JOBS} ] || rm -rf {JOBS}\n"
    )
}

/// Of [`take_script`]: `comes LOCK SECONDS` waits for a lock as long as the host is ours, `marked FILE` says whether it names this line.
const TAKE_FUNCTIONS: &str = r#"marked() {
  mark=
  { read -r mark <"$1"; } 2>/dev/null || :
  [ "$mark" = "$kokctl_holder" ]
}
comes() {
  looks=$(($2 / 2))
  until flock -x -w 2 "$1"; do
    is_ours || lost
    looks=$((looks - 1))
    [ "$looks" -gt 0 ] || return 1
  done
  is_ours || lost
}
"#;

/// A function of the shell that ends the uploads of runs and connections that are no more. What they read can't come whole any more, and where the
/// end of the connection was lost too, sshd keeps them waiting for it: for ever, and with them the lane. They are known by the lock that they hold
/// or wait for, and by nothing that another process could have.
pub const END_UPLOADS: &str = r#"end_uploads() {
  for descriptor in /proc/[0-9]*/fd/8; do
    process=${descriptor#/proc/}
    process=${process%%/*}
    if [ "$process" != $$ ] && [ "$(readlink "$descriptor" 2>/dev/null)" = /run/kokctl/lane-streams ]; then kill "$process" 2>/dev/null; fi
  done
}
"#;

/// The beginning of a script that changes a host. No two of one `lane` are at work on a host at the same time, whatever became of the
/// connections that they came over; all hold the host's lock shared, which says that a run is at work. A script of a run that does not hold
/// the host any more does nothing. Whoever is before it is waited for `seconds` ([`WAIT_SECONDS`]). Needs the functions of a script's beginning;
/// ends with [`HELD`] or [`BUSY`].
#[must_use]
pub fn begin_script(line: &str, lane: &str, seconds: u64) -> String {
    let busy = format!("{{ echo 'an earlier script of this run is still at work on the host' >&2; exit {BUSY}; }}");
    // Jobs are begun by one lane only, whose scripts come one after the other: whoever gets here has the results of those before.
    let jobs = if lane == "scripts" {
        format!(
            "jobs_end {seconds} || {busy}\nfor record in {JOBS}/*.record; do [ ! -e \"$record\" ] || {{ rm -f {JOBS}/*.record; break; }}; done\n"
        )
    } else {
        String::new()
    };
    format!(
        "[ -d /run/kokctl ] || mkdir -p -m 700 /run/kokctl\nkokctl_holder={}\nexec 8>/run/kokctl/lane-{lane}\nflock -x -w {seconds} 8 || {busy}\n{jobs}\
         exec 9>/run/kokctl/lock\nflock -s -w {seconds} 9 || {{ echo 'another kokctl looks at this host' >&2; exit {BUSY}; }}\n{}",
        quote(line),
        compare_script()
    )
}

/// Ends the script with [`HELD`] if another run holds the host by now.
#[must_use]
pub fn compare_script() -> String {
    format!("is_ours || {{ echo \"$held\" >&2; exit {HELD}; }}\n")
}
