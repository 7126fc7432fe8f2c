//! Another haproxy stands in for a host's load balancer while a kubelet of another version makes its pod anew.

use crate::LOAD_BALANCER_HEALTH_PORT;

/// The transient unit in which it runs.
pub(super) const UNIT: &str = "kokctl-stand-in.service";

/// The shell functions, after [`super::tasks_of::TASKS_OF`]; for a job, which runs with `set -eu`.
///
/// A kubelet of another minor version makes static pods anew, and kills what it finds of an old one within milliseconds, with all connections: so what its
/// clients ask just then was cut. A second process of the same program with the same files takes the same port (haproxy's sockets have `SO_REUSEPORT`, and
/// Linux lets processes of one user share a port by that), and the old one ends in its own time, before that kubelet starts. haproxy's own reload goes
/// the same way ("Starting HAProxy", `-sf`, in its management guide). What is asked for longer than the configuration's `hard-stop-after`, as watches are, begins anew.
///
/// * `stand_in_begins` does nothing where there is no load balancer of ours, and where no kubelet of another minor version comes. Otherwise it leaves the host without a
///   kubelet. Where the other process does not come to listen, the host's own goes on as it was. What a run that was cut off has begun is ended, and begun anew.
/// * The other process ends in its own time when the pod's listens beside it, whoever waits for that: a host whose new kubelet does not come up keeps it.
/// * `stand_in_ends` waits for that, for two minutes at the most, and not for a kubelet that ends again and again: the steps that ask for kubelet and load balancer say what
///   is wrong.
pub(super) fn functions() -> String {
    FUNCTIONS.replace("UNIT", UNIT).replace("PORT", &format!("{LOAD_BALANCER_HEALTH_PORT:04X}"))
}

/// Whether they listen is seen by the port that the kubelet asks: haproxy opens all of its ports, or ends. What the unit runs is a file, for systemd reads
/// its own file of a transient unit wrong where the command has several lines, or quotes.
const FUNCTIONS: &str = r#"listeners() { grep -c ': 0100007F:PORT 00000000:0000 0A ' /proc/net/tcp || :; }
minor() { "$1" --version 2>/dev/null | sed -n 's/^Kubernetes v\([0-9]*\.[0-9]*\)\..*/\1/p'; }
another_kubelet_comes() {
  kubelet=$(systemctl show --property=MainPID --value kubelet.service) || return 1
  case $kubelet in ''|0) systemctl --quiet is-active UNIT; return;; esac
  case $(readlink "/proc/$kubelet/exe") in *'(deleted)') ;; *) return 1;; esac
  [ "$(minor "/proc/$kubelet/exe")" != "$(minor /usr/local/bin/kubelet)" ]
}
balancer() {
  tasks_of haproxy | while read -r container process; do
    [ "$(readlink "/proc/$process/ns/net")" = "$(readlink /proc/1/ns/net)" ] || continue
    case $(readlink "/proc/$process/exe") in */haproxy) ;; *) continue;; esac
    ! grep -qxF '# Written by kokctl.' "/proc/$process/root/usr/local/etc/haproxy/haproxy.cfg" || { echo "$process"; break; }
  done
}
id_of_process() { sed -n "s/^$2:[[:space:]]*\([0-9]*\).*/\1/p" "/proc/$1/status"; }
stand_in='nsenter "--target=$1" --mount "--setgid=$2" "--setuid=$3" -- "$4" -db -f /usr/local/etc/haproxy/haproxy.cfg &
process=$!
trap "kill -USR1 $process" TERM
while [ -e "/proc/$process" ]; do
  if [ ! -e "/proc/$1" ] && [ "$(grep -c ": 0100007F:PORT 00000000:0000 0A " /proc/net/tcp)" -ge 2 ]; then kill -USR1 "$process"; break; fi
  sleep 0.2
done
wait "$process" || wait "$process" || :'
stand_in_begins() {
  another_kubelet_comes || return 0
  process=$(balancer) && [ -n "$process" ] || return 0
  program=$(readlink "/proc/$process/exe") && user=$(id_of_process "$process" Uid) && group=$(id_of_process "$process" Gid) || return 0
  systemctl stop UNIT 2>/dev/null || :
  printf '%s\n' "$stand_in" >/run/kokctl/stand-in.sh
  wanted=$(($(listeners) + 1))
  systemctl stop kubelet.service
  systemd-run --quiet --collect --unit=UNIT --description='kokctl: load balancer while its pod is made anew' --property=KillMode=mixed \
    --property=TimeoutStopSec=5 --property=LimitNOFILE=65536 /bin/sh /run/kokctl/stand-in.sh "$process" "$group" "$user" "$program" || return 0
  left=100
  while [ "$(listeners)" -lt "$wanted" ]; do
    left=$((left - 1))
    [ "$left" -gt 0 ] || { systemctl stop UNIT || :; return 0; }
    sleep 0.1
  done
  kill -USR1 "$process" || :
  left=30
  while [ -e "/proc/$process" ] && [ "$left" -gt 0 ]; do
    left=$((left - 1))
    sleep 0.1
  done
}
stand_in_ends() {
  left=600
  while systemctl --quiet is-active UNIT && [ "$left" -gt 0 ]; do
    case $(systemctl show --property=NRestarts --value kubelet.service) in ''|0) ;; *) return 0;; esac
    left=$((left - 1))
    sleep 0.2
  done
  rm -f /run/kokctl/stand-in.sh
}
"#;
