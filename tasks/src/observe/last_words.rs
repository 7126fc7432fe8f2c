//! What the containers of a control plane that does not come up said last, and a kubelet that does not stay up: the cause is mostly there, and
//! nowhere else.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::parse::Section;

/// The end of the newest log of etcd, the API server and the controllers, where the kubelet keeps them; of etcd as a unit, and of a kubelet that does not run, or has
/// not for long, the end of its journal, with what stands before a line in the logs of containers. A kubelet that has just started again writes its whole configuration,
/// some hundred lines that begin with blanks, behind what the one before it said.
pub(super) const SCRIPT: &str = r#"for name in etcd kube-apiserver kube-controller-manager kube-scheduler; do
  mark last-words "$name"
  newest=$(ls -t /var/log/pods/kube-system_"$name"-*/"$name"/*.log 2>/dev/null | head -n 1)
  [ -z "$newest" ] || tail -n 40 -- "$newest" | cut -c 1-1000
done
if [ -e /etc/systemd/system/etcd.service ]; then
  mark last-words etcd
  journalctl -u etcd.service -n 40 -o cat --no-pager 2>/dev/null | cut -c 1-1000 | sed 's/^/- - - /'
fi
started=$(systemctl show -p ExecMainStartTimestampMonotonic --value kubelet.service)
read -r now _ </proc/uptime
if [ -e /etc/systemd/system/kubelet.service ] && { ! systemctl is-active --quiet kubelet.service || [ $((${now%.*} - ${started:-0} / 1000000)) -lt 10 ]; }; then
  mark last-words kubelet
  journalctl -u kubelet.service -n 400 -o cat --no-pager 2>/dev/null | grep -v '^[[:space:]]' | tail -n 40 | cut -c 1-1000 | sed 's/^/- - - /'
fi
"#;

/// More would fill a terminal.
const LONGEST: usize = 300;

/// How many different complaints are told: the last is often only what follows from the one before.
const MOST: usize = 3;

/// What is behind most complaints that have such words, the more telling ones first.
const LIKELY: [(&str, &str); 13] = [
    ("has already been bootstrapped", "its data were lost; see \"A member that lost its data\" in docs/bootstrap.md"),
    ("could not retrieve cluster information", "its data were lost; see \"A member that lost its data\" in docs/bootstrap.md"),
    ("cluster ID mismatch", "members of two clusters have each other's addresses"),
    ("no space left on device", "a disk of the host is full; `df -h` says which"),
    ("unknown flag", "an option in your file that this version of Kubernetes does not have"),
    ("unrecognized feature gate", "a feature gate in your file that this version of Kubernetes does not have"),
    ("address already in use", "another program has its port; `ss -ltnp` says which"),
    ("permission denied", "a file or folder that it needs was given to somebody else"),
    ("no such file or directory", "a file that an option names is not there, or not in the pod"),
    ("certificate has expired or is not yet valid", "the clocks of the hosts differ, or a certificate has ended"),
    ("x509", "certificates of different authorities, or without a name or address that is used"),
    ("connection refused", "what it asks does not run; etcd, most of all"),
    ("deadline exceeded", "what it asks does not answer: a firewall between the hosts, or too slow a disk below etcd"),
];

/// A line of etcd's log (zap's JSON).
#[derive(Deserialize)]
struct Entry {
    level: String,
    msg: String,
    #[serde(default)]
    error: Option<String>,
}

/// By name of the container, the last complaints in its log, the newest first, and what is likely behind them.
pub(super) fn read(sections: &[Section<'_>]) -> BTreeMap<String, String> {
    let logs = sections.iter().filter(|section| section.name == "last-words");
    logs.filter_map(|section| Some((section.argument.to_owned(), last_complaints(&String::from_utf8_lossy(section.body))?))).collect()
}

fn last_complaints(log: &str) -> Option<String> {
    let mut last: Vec<String> = Vec::new();
    for complaint in log.lines().rev().filter_map(complaint) {
        if last.len() < MOST && !last.contains(&complaint) {
            last.push(complaint);
        }
    }
    let likely = LIKELY.iter().find(|(words, _)| last.iter().any(|complaint| complaint.contains(words)));
    let likely = likely.map(|(_, cause)| format!(" (likely: {cause})")).unwrap_or_default();
    (!last.is_empty()).then(|| last.join("; and before that: ") + &likely)
}

/// What a line of a container's log complains of. containerd writes `TIME STREAM F TEXT` (CRI's log format); the text is etcd's JSON, or begins
/// as klog's lines do with the level and the date, or is what cobra prints when a program ends (`Error: …`).
fn complaint(line: &str) -> Option<String> {
    let text = line.splitn(4, ' ').nth(3)?.trim();
    let complaint = if let Ok(entry) = serde_json::from_str::<Entry>(text) {
        let bad = ["warn", "error", "fatal", "panic", "dpanic"].contains(&entry.level.as_str());
        bad.then(|| entry.error.map_or_else(|| entry.msg.clone(), |error| format!("{}: {error}", entry.msg)))
    } else {
        let is_klog = text.starts_with(['E', 'F']) && text.get(1..5).is_some_and(|date| date.bytes().all(|byte| byte.is_ascii_digit()));
        let message = || text.split_once("] ").map_or(text, |(_, message)| message).to_owned();
        if is_klog { Some(message()) } else { text.starts_with("Error: ").then(|| text.to_owned()) }
    };
    complaint.map(|complaint| complaint.chars().take(LONGEST).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_are_told_with_what_is_likely_behind_them() {
        let line = |text: &str| format!("2026-11-22T01:20:28Z stderr F Error: {text}\n");
        assert_eq!(last_complaints("2026-11-22T01:20:28Z stderr F all is well\n"), None);
        assert_eq!(last_complaints(&line("odd")).as_deref(), Some("Error: odd"));
        let log = [line("first"), line("unknown flag: --x"), line("odd"), line("odd"), line("last")].concat();
        let expected = "Error: last; and before that: Error: odd; and before that: Error: unknown flag: --x (likely: an option in your file that \
                        this version of Kubernetes does not have)";
        assert_eq!(last_complaints(&log).as_deref(), Some(expected));
    }

    #[test]
    fn complaints_are_found_in_the_logs_of_both() {
        let etcd = r#"2026-11-22T01:20:28Z stderr F {"level":"fatal","ts":"x","caller":"etcdmain/etcd.go:157","msg":"discovery failed","error":"member 6731 has already been bootstrapped"}"#;
        assert_eq!(complaint(etcd).as_deref(), Some("discovery failed: member 6731 has already been bootstrapped"));
        assert_eq!(complaint(r#"2026-11-22T01:20:28Z stderr F {"level":"info","ts":"x","msg":"all is well"}"#), None);
        let api =
            "2026-11-22T01:20:28Z stderr F E1122 01:20:28.125084       1 run.go:72] \"command failed\" err=\"open /etc/x: no such file\"";
        assert_eq!(complaint(api).as_deref(), Some("\"command failed\" err=\"open /etc/x: no such file\""));
        assert_eq!(complaint("2026-11-22T01:20:28Z stderr F I1122 01:20:28.125084       1 run.go:72] started"), None);
        assert_eq!(complaint("2026-11-22T01:20:28Z stderr F Error: unknown flag: --x").as_deref(), Some("Error: unknown flag: --x"));
        let kubelet = "- - - E1122 01:20:28.125084    1314 run.go:72] \"command failed\" err=\"invalid configuration\"";
        assert_eq!(complaint(kubelet).as_deref(), Some("\"command failed\" err=\"invalid configuration\""));
        assert_eq!(complaint("nothing of the kind"), None);
        assert_eq!(complaint(&format!("a b F Error: {}", "x".repeat(9000))).unwrap_or_default().chars().count(), LONGEST);
    }
}
