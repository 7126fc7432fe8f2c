//! When programs of a control plane were started.

use std::collections::BTreeMap;

use super::parse::ParseError;
use super::versions::{API_SERVER, ETCD};

/// Those that are asked for.
const PROGRAMS: [&str; 4] = [API_SERVER, "kube-controller-manager", "kube-scheduler", ETCD];

/// Found by what the kubelet has containerd label containers with: a user's pod may run a program of the same name. containerd keeps these words and the process of
/// each container in a folder in memory, as long as it runs (a "bundle" of its runtime; the words are sorted, and what stands in a text has its quotes escaped). Where
/// nothing is found there, as with another containerd than ours, containerd is asked itself, by a program that takes many times as long. What a process is called
/// is asked of all of them at once. What follows the name in parentheses begins with field 3 of `/proc/PID/stat` (proc(5)).
pub(super) const SCRIPT: &str = r#"mark programs
by_bundles() {
  cri='"io\.kubernetes\.cri\.'
  set --
  for program in kube-apiserver kube-controller-manager kube-scheduler etcd; do
    set -- "$@" -e "${cri}container-name\":\"$program\",($cri[a-z-]*\":\"[^\"]*\",)*${cri}sandbox-name\":\"$program-[^\"]*\",${cri}sandbox-namespace\":\"kube-system\""
  done
  grep -lsE "$@" /run/containerd/io.containerd.runtime.v2.task/k8s.io/*/config.json | while IFS= read -r bundle; do
    process=
    { read -r process <"${bundle%/config.json}/init.pid"; } 2>/dev/null
    [ -z "$process" ] || echo "$process"
  done
}
by_containerd() {
  label='labels."io.kubernetes'
  set --
  for program in kube-apiserver kube-controller-manager kube-scheduler etcd; do
    set -- "$@" "$label.pod.namespace\"==kube-system,$label.pod.name\"~=\"^$program-\",$label.container.name\"==$program"
  done
  containers=" $(echo $(/usr/local/bin/ctr -n k8s.io containers ls -q "$@" 2>/dev/null)) "
  /usr/local/bin/ctr -n k8s.io tasks ls 2>/dev/null | while read -r container process state; do
    case "$containers$state" in *" $container "*RUNNING) echo "$process";; esac
  done
}
if [ -S /run/containerd/containerd.sock ]; then
  processes=$(by_bundles)
  [ -n "$processes" ] || processes=$(by_containerd)
  set --
  for process in $processes; do set -- "$@" "/proc/$process/cmdline"; done
  [ $# = 0 ] || grep -zasHm 1 '' -- "$@" | tr '\0' '\n' | while IFS= read -r line; do
    process=${line%%/cmdline:*} program=${line#*/cmdline:} stat=
    { read -r stat <"$process/stat"; } 2>/dev/null
    case $process in /proc/*) printf '%s %s\n' "${program##*/}" "${stat##*) }";; esac
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
