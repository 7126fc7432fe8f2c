//! Another haproxy stands in for a host's load balancer while a kubelet of another version makes its pod anew.

use crate::LOAD_BALANCER_HEALTH_PORT;

/// The transient unit in which it runs.
pub(super) const UNIT: &str = "kokctl-stand-in.service";

/// The shell functions, after [`super::tasks_of::TASKS_OF`]; for a job, which runs with `set -eu`.
///
/// A kubelet of another minor version makes static pods anew, and kills what it finds of an old one within milliseconds, with all connections: so what its
/// clients ask just then was cut. A second process of the same program with the same files takes the same port (haproxy's sockets have `SO_REUSEPORT`, and
/// Linux lets processes of one user share a port by that), and the old one ends in its own time, before that kubelet starts. haproxy's own reload goes
/// the same way ("Starting HAProxy", `-sf`, in its management guide).
///
/// * `stand_in_begins` does nothing where there is no load balancer, and where the kubelet that runs is the one that starts again: its binary was not
///   replaced. It leaves the host without a kubelet. Where the other process does not come to listen, the host's own goes on as it was.
/// * `stand_in_ends` waits until the pod's process listens, too. Where it does not, the other one stays for as long as its unit may last: the steps that ask for
///   the load balancer say what is wrong.
pub(super) fn functions() -> String {
    FUNCTIONS.replace("UNIT", UNIT).replace("PORT", &format!("{LOAD_BALANCER_HEALTH_PORT:04X}"))
}

/// Whether they listen is seen by the port that the kubelet asks: haproxy opens all of its ports, or ends.
const FUNCTIONS: &str = r#"listeners() {
  count=0
  while read -r slot local remote state rest; do
    case "$local $state" in '0100007F:PORT 0A') count=$((count + 1));; esac
  done </proc/net/tcp
}
listen_within() {
  left=$(($2 * 10))
  while listeners && [ "$count" -lt "$1" ]; do
    left=$((left - 1))
    [ "$left" -gt 0 ] || return 1
    sleep 0.1
  done
}
stand_in_begins() {
  kubelet=$(systemctl show --property=MainPID --value kubelet.service)
  case $(readlink "/proc/$kubelet/exe" || :) in ''|*'(deleted)') ;; *) return 0;; esac
  process=$(tasks_of haproxy | { read -r container process rest || :; echo "${process-}"; })
  [ -n "$process" ] || return 0
  program=$(readlink "/proc/$process/exe" || :)
  case $program in */haproxy) ;; *) return 0;; esac
  user=$(sed -n 's/^Uid:[[:space:]]*\([0-9]*\).*/\1/p' "/proc/$process/status")
  group=$(sed -n 's/^Gid:[[:space:]]*\([0-9]*\).*/\1/p' "/proc/$process/status")
  systemctl stop UNIT 2>/dev/null || :
  systemctl reset-failed UNIT 2>/dev/null || :
  listeners
  wanted=$((count + 1))
  systemctl stop kubelet.service
  systemd-run --quiet --unit=UNIT --description='kokctl: load balancer while its pod is made anew' --property=KillSignal=SIGUSR1 \
    --property=TimeoutStopSec=5 --property=RuntimeMaxSec=180 --property=LimitNOFILE=65536 \
    nsenter "--target=$process" --mount "--setgid=$group" "--setuid=$user" -- "$program" -db -f /usr/local/etc/haproxy/haproxy.cfg || return 0
  if listen_within "$wanted" 10; then kill -USR1 "$process" || :; else systemctl stop UNIT || :; fi
}
stand_in_ends() {
  systemctl --quiet is-active UNIT || return 0
  if listen_within 2 120; then systemctl stop UNIT || :; fi
}
"#;
