//! When programs of a control plane were started.

use std::collections::BTreeMap;

use super::parse::ParseError;
use super::versions::{API_SERVER, ETCD};

/// Those that are asked for.
const PROGRAMS: [&str; 4] = [API_SERVER, "kube-controller-manager", "kube-scheduler", ETCD];

/// Asked of containerd by what the kubelet labels containers with: a user's pod may run a program of the same name. What follows the name in
/// parentheses begins with field 3 of `/proc/PID/stat` (proc(5)).
pub(super) const SCRIPT: &str = r#"mark programs
if [ -S /run/containerd/containerd.sock ]; then
  label='labels."io.kubernetes'
  for program in kube-apiserver kube-controller-manager kube-scheduler etcd; do
    set -- "$@" "$label.pod.namespace\"==kube-system,$label.pod.name\"~=\"^$program-\",$label.container.name\"==$program"
  done
  containers=" $(echo $(/usr/local/bin/ctr -n k8s.io containers ls -q "$@" 2>/dev/null)) "
  set --
  /usr/local/bin/ctr -n k8s.io tasks ls 2>/dev/null | while read -r container process state; do
    case "$containers$state" in
      *" $container "*RUNNING)
        program=$(tr '\0' '\n' 2>/dev/null <"/proc/$process/cmdline" | head -n 1)
        stat=$(cat "/proc/$process/stat" 2>/dev/null)
        printf '%s %s\n' "${program##*/}" "${stat##*) }";;
    esac
  done
fi
"#;

/// Field 22 is the time of the start; the first one here is field 3.
const START: usize = 22 - 3;

/// A hundredth of a second is the unit of times in `/proc` on every architecture that Kubernetes runs on (`USER_HZ`).
const TICK_NANOSECONDS: i128 = 10_000_000;

/// When they were started, in nanoseconds since 1970; of several of one name, the oldest. Both clocks count from the boot, also while a
/// machine sleeps.
pub(super) fn read(text: &str, clock: &str, now_nanoseconds: i128) -> Result<BTreeMap<String, i128>, ParseError> {
    let wrong = |line: &str| ParseError::new("programs", line);
    let uptime = clock.lines().nth(1).and_then(|line| line.split(' ').next()).unwrap_or_default();
    let uptime: i128 = uptime.replace('.', "").parse::<u64>().map_err(|_| wrong(uptime))?.into();
    let mut started: BTreeMap<String, i128> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let mut words = line.split_whitespace();
        let Some(name) = words.next().filter(|name| PROGRAMS.contains(name)) else { continue };
        // One that has ended meanwhile has no start.
        let Some(ticks) = words.nth(START) else { continue };
        let ticks: i128 = ticks.parse::<u64>().map_err(|_| wrong(line))?.into();
        let at = now_nanoseconds - (uptime - ticks).max(0) * TICK_NANOSECONDS;
        started.entry(name.to_owned()).and_modify(|oldest| *oldest = at.min(*oldest)).or_insert(at);
    }
    Ok(started)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One control plane's answer: a scheduler that was started 2,000 ticks after the boot, 10 s ago.
    #[test]
    fn the_start_of_a_program_is_by_the_clock_of_the_host() {
        let stat = "S 1 1 1 0 -1 4194560 1 0 0 0 1 1 0 0 20 0 9 0 2000 1 1";
        let text = format!("kube-scheduler {stat}\nkube-controller-manager \nanother {stat}\n");
        let started = read(&text, "0\n30.00 12.3\n", 60_000_000_000);
        assert_eq!(started, Ok(BTreeMap::from([("kube-scheduler".to_owned(), 50_000_000_000)])));
    }
}
