//! The shell functions that fragments use.

use super::digest::digests;

/// Where jobs keep their input while they run, and their record until the next script of the run. A tmpfs: after a reboot a job has
/// neither run on nor left a record, and only a look at the host tells what became of it.
pub const JOBS: &str = "/run/kokctl/jobs";

/// Functions that fragments use; stands once at the beginning of a script. Those of [`DIGESTS`](super::DIGESTS) come first.
///
/// * `is_whole DIGEST WHAT` says whether its standard input has this sha256, and complains of WHAT if it has not. The digest of a secret stands in
///   the script, beside the secret, and is compared by the shell itself: no program gets it as an argument, and nobody prints it.
/// * `put PATH MODE DIGEST [OWNER]` decodes its standard input (base64) into a temporary file beside PATH, compares it with the digest, flushes it to the
///   disk and renames it into place. The temporary name begins with a dot, which the kubelet ignores in the folder of static pods, and is always the same
///   for PATH, so that what an interrupted run left is replaced by the next. PATH's folder is flushed by whoever calls it ([`Fragment::folders`]).
/// * `put_line PATH MODE LINE` does the same with one line, and flushes the folder.
/// * `remember DIGEST PATH …` notes the digests of large files that have just been compared, so that the look behind the change need not read them again.
///   It notes all or none: a digest beside another file would have that one installed anew.
/// * `flush FOLDER …` flushes those that are there, so that what was renamed into them outlives a power cut.
/// * `clear_temporary` makes `$temporary` anew, empty, with the mode 0600, which a folder with an access control list of its own may widen: so the mode
///   is given all the same, but in the folder that we made. Below `/run` nothing is flushed: it is a tmpfs.
///
///   A process costs a host some 2 ms, and a host is given dozens of files: so these call what they can't do without.
/// * `whole DIGEST COMMAND …` runs a command with its own standard input, once all of that is there.
/// * `written DIGEST PATH` says in a section of its own whether a file has the content with this sha256, and not which it has. It needs `mark`.
/// * `job NAME` runs its standard input as a script in the transient systemd unit `kokctl-job-NAME.service`, which goes on when the connection
///   breaks, waits for it, prints the end of what it printed, and returns its exit code. The input is a 0600 file that systemd removes when
///   the unit ends, however it ends; then the record `NAME.record` of [`JOBS`] appears at once and whole: run, step, attempt and sum of the
///   input, boot id, times, exit code, the end of its output. A job that is already at work with the same input is attached to and one with
///   another input is waited for; the record of a job that this very attempt has started is read and the job not started again. It needs
///   `$kokctl_run`, `$kokctl_step`, `$kokctl_attempt` and `$kokctl_holder`, the first line that the holder's record must have; without a
///   holder nothing is compared.
///   Nothing of several lines may stand in the unit's command or description: systemd reads its own file of a transient unit wrong then
///   when somebody reloads it, and forgets the unit's settings.
///   What it prints goes through a pipe, because a file could fill `/run`: into `NAME.log`, which becomes `NAME.log.1` after 2048 pieces of
///   512 bytes at the most, if there is more. `dd` writes each piece as it comes, which `head` does not. The unit's first process waits until all
///   that the job printed is in the file, for a second at the most, because systemd then kills what is left of the unit; it hands on the
///   signal that asks it to end, and ends as the job's shell did. That it waits by a lock, and then for the one that had it, leaves no process
///   behind: of what systemd has to kill in cgroups of version 1 it may hear nothing more until the unit's time to stop is over.
///   That the unit has ended is asked of systemd itself: `systemd-run --wait` returns early when somebody reloads systemd meanwhile.
/// * `job_units NAME` says in `$units` which units a job of this name may have: its own, and `kokctl-NAME.service` for one that was begun by a
///   kokctl older than the names `kokctl-job-…`. Never a unit that carries a part of the network, whatever name stands in the folder of jobs.
/// * `jobs_end SECONDS` waits until no job is at work any more, and fails if one still is.
/// * `is_ours` says whether the record of the holder still is `$kokctl_holder`.
pub const PRELUDE: &str = concat!(
    digests!(),
    r#"is_whole() {
  [ "$(sha256sum)" = "$1  -" ] || { echo "$2: what arrived is not what was sent; is there room in /tmp?" >&2; return 1; }
}
whole() {
  fed=$(base64)
  printf '%s\n' "$fed" | base64 -d | is_whole "$1" "$2" || return 1
  shift
  printf '%s\n' "$fed" | base64 -d | "$@"
}
written() {
  mark written "$2"
  if [ "$(sha256sum 2>/dev/null <"$2")" = "$1  -" ]; then echo same; else echo other; fi
}
clear_temporary() {
  umask 077
  { [ ! -e "$temporary" ] && [ ! -L "$temporary" ]; } || rm -f "$temporary" || return 1
  true >"$temporary"
}
give_mode() { case "$1 $temporary" in '0600 /run/kokctl/'*) ;; *) chmod "$1" "$temporary";; esac; }
flush_file() { case $1 in /run/*) ;; *) sync "$1";; esac; }
put() {
  temporary="${1%/*}/.kokctl-${1##*/}"
  { clear_temporary && { [ $# -lt 4 ] || chown -h -- "$4" "$temporary"; } && give_mode "$2" && base64 -d >"$temporary" && is_whole "$3" "$1" <"$temporary" && flush_file "$temporary" && mv -fT "$temporary" "$1"; } || { rm -f "$temporary"; return 1; }
}
put_line() {
  temporary="${1%/*}/.kokctl-${1##*/}"
  { clear_temporary && give_mode "$2" && printf '%s\n' "$3" >"$temporary" && flush_file "$temporary" && mv -fT "$temporary" "$1" && flush_file "${1%/*}/"; } || { rm -f "$temporary"; return 1; }
}
remember() {
  [ -d /var/lib/kokctl ] || return 0
  digests=
  count=$(($# / 2))
  while [ "$count" -gt 0 ]; do
    digests="$digests$1 " count=$((count - 1))
    set -- "$@" "$2"
    shift 2
  done
  lines=$(stat -c '%n|%s|%.9Y|%.9Z|%i' -- "$@") || return 0
  while IFS= read -r line; do
    printf '%s %s\n' "$line" "${digests%% *}"
    digests=${digests#* }
  done <<LINES >>/var/lib/kokctl/hashes || :
$lines
LINES
}
flush() {
  for folder; do
    shift
    [ ! -d "$folder" ] || set -- "$@" "$folder"
  done
  [ $# = 0 ] || sync "$@"
}
is_ours() {
  [ -n "${kokctl_holder-}" ] || return 0
  held=
  { read -r held </var/lib/kokctl/holder; } 2>/dev/null || :
  [ "$held" = "$kokctl_holder" ]
}
job_units() {
  case $1 in
    ''|*[!a-z0-9-]*) units=;;
    node-dns|pod-network) units="kokctl-job-$1.service";;
    *) units="kokctl-job-$1.service kokctl-$1.service";;
  esac
}
job_works() {
  job_units "$1"
  for state in $([ -z "$units" ] || systemctl is-active $units); do
    case $state in active|activating|deactivating|reloading) return 0;; esac
  done
  return 1
}
job_ends() {
  looks=5000
  while job_works "$1"; do
    looks=$((looks - 1))
    [ "$looks" -ge 0 ] || return 1
    sleep 0.2
  done
}
jobs_end() {
  for input in /run/kokctl/jobs/*.sh; do
    [ -e "$input" ] || continue
    name="${input##*/}"
    looks=$(($1 * 5))
    while job_works "${name%.sh}"; do
      looks=$((looks - 1))
      [ "$looks" -ge 0 ] || return 1
      sleep 0.2
    done
    rm -f "$input"
  done
}
job() {
  base="/run/kokctl/jobs/$1"
  mkdir -p -m 700 /run/kokctl/jobs
  (
    umask 077
    cat >"$base.next"
    printf '%s\n' "$job_begin" >"$base.part"
    mv -f "$base.part" /run/kokctl/jobs/begin
    printf '%s\n' "$job_end" >"$base.part"
    mv -f "$base.part" /run/kokctl/jobs/end
  )
  input=$(sha256sum <"$base.next")
  attempt="${kokctl_run-} ${kokctl_step-} ${kokctl_attempt-}"
  attached=
  if job_works "$1"; then
    attached=1
    job_ends "$1" || { echo "kokctl-job-$1.service of an earlier attempt is still at work" >&2; return 1; }
  fi
  if [ -n "${kokctl_run-}" ] && grep -qxF "attempt $attempt" "$base.record" 2>/dev/null; then
    rm -f "$base.next"
  elif [ -n "$attached" ] && grep -qxF "input ${input%% *}" "$base.record" 2>/dev/null; then
    rm -f "$base.next"
  else
    rm -f "$base.record" "$base.log.1"
    (umask 077; printf 'attempt %s\ninput %s\nboot %s\nstarted %s\n' "$attempt" "${input%% *}" "$(cat /proc/sys/kernel/random/boot_id)" "$(date +%s)" >"$base.about"; : >"$base.log")
    mv -f "$base.next" "$base.sh"
    systemctl reset-failed "kokctl-job-$1.service" 2>/dev/null || :
    systemd-run --quiet --wait --unit="kokctl-job-$1" --property=KillMode=mixed --property=RuntimeMaxSec="${kokctl_limit:-900}" --property=TimeoutStopSec=30 \
      --property="ExecStopPost=/bin/sh /run/kokctl/jobs/end $1" \
      --setenv=PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin --setenv=LC_ALL=C --setenv=HOME=/root \
      --description="kokctl job $1" /bin/sh /run/kokctl/jobs/begin "$base" "${kokctl_holder-}" </dev/null || :
    job_ends "$1"
    systemctl reset-failed "kokctl-job-$1.service" 2>/dev/null || :
  fi
  [ -f "$base.record" ] || { rm -f "$base.sh" "$base.about" "$base.log" "$base.log.1"; echo "kokctl-job-$1.service left no record" >&2; return 1; }
  sed '1,/^output$/d' "$base.record" | tail -n 60
  ended=$(sed -n '/^output$/q; s/^exit //p' "$base.record")
  case $ended in
    'exited 0') return 0;;
    'exited '*) return "${ended#exited }";;
  esac
  echo "kokctl-job-$1.service was ended: $ended" >&2
  return 1
}
job_begin='base="$1"
rm -f "$base.pipe"
mkfifo -m 600 "$base.pipe"
{
  umask 077
  exec 5>"$base.lock"
  flock 5
  exec <"$base.pipe"
  while dd bs=512 count=2047 >>"$base.log" && dd bs=1 count=1 >"$base.after" && [ -s "$base.after" ]; do
    mv -f "$base.log" "$base.log.1"
    mv -f "$base.after" "$base.log"
  done
  exec cat
} >/dev/null 2>&1 &
reader=$!
exec >"$base.pipe" 2>&1
rm -f "$base.pipe"
drain() {
  trap - TERM
  exec >/dev/null 2>&1 9>&-
  ! flock -w 1 "$base.lock" true || wait "$reader"
}
exec 9>/run/kokctl/lock
flock -s 9
if [ -n "$2" ]; then
  held=; { read -r held </var/lib/kokctl/holder; } 2>/dev/null || :
  [ "$held" = "$2" ] || { echo "another run has taken this host over: $held"; drain; exit 76; }
fi
/bin/sh -eu "$base.sh" &
job=$!
trap "kill $job; drain; kill $$" TERM
wait "$job"
code=$?
drain
exit "$code"'
job_end='umask 077
base="/run/kokctl/jobs/$1"
[ -f "$base.about" ] || exit 0
{
  cat "$base.about"
  printf "ended %s\nresult %s\nexit %s %s\noutput\n" "$(date +%s)" "${SERVICE_RESULT-}" "${EXIT_CODE-}" "${EXIT_STATUS-}"
  cat "$base.log.1" "$base.log" 2>/dev/null | tail -c 8192
} >"$base.part"
sync "$base.part"
mv -f "$base.part" "$base.record"
rm -f "$base.about" "$base.log" "$base.log.1" "$base.after" "$base.lock" "$base.pipe" "$base.sh"'
"#
);
