//! What the containers of a control plane that does not come up said last: the cause is mostly there, and nowhere else.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::parse::Section;

/// The end of the newest log of etcd and of the API server, where the kubelet keeps them; of etcd as a unit, the end of its journal, with what stands
/// before a line in the logs of containers.
pub(super) const SCRIPT: &str = r#"for name in etcd kube-apiserver; do
  mark last-words "$name"
  newest=$(ls -t /var/log/pods/kube-system_"$name"-*/"$name"/*.log 2>/dev/null | head -n 1)
  [ -z "$newest" ] || tail -n 40 -- "$newest" | cut -c 1-1000
done
if [ -e /etc/systemd/system/etcd.service ]; then
  mark last-words etcd
  journalctl -u etcd.service -n 40 -o cat --no-pager 2>/dev/null | cut -c 1-1000 | sed 's/^/- - - /'
fi
"#;

/// More would fill a terminal.
const LONGEST: usize = 300;

/// A line of etcd's log (zap's JSON).
#[derive(Deserialize)]
struct Entry {
    level: String,
    msg: String,
    #[serde(default)]
    error: Option<String>,
}

/// By name of the container, the last complaint in its log.
pub(super) fn read(sections: &[Section<'_>]) -> BTreeMap<String, String> {
    let logs = sections.iter().filter(|section| section.name == "last-words");
    let last = |body: &[u8]| String::from_utf8_lossy(body).lines().filter_map(complaint).next_back();
    logs.filter_map(|section| Some((section.argument.to_owned(), last(section.body)?))).collect()
}

/// What a line of a container's log complains of. containerd writes `TIME STREAM F TEXT` (CRI's log format); the text is etcd's JSON, or begins
/// as klog's lines do with the level and the date, or is what cobra prints when a program ends (`Error: …`).
fn complaint(line: &str) -> Option<String> {
    let text = line.splitn(4, ' ').nth(3)?.trim();
    let said = if let Ok(entry) = serde_json::from_str::<Entry>(text) {
        let bad = ["warn", "error", "fatal", "panic", "dpanic"].contains(&entry.level.as_str());
        bad.then(|| entry.error.map_or_else(|| entry.msg.clone(), |error| format!("{}: {error}", entry.msg)))
    } else {
        let is_klog = text.starts_with(['E', 'F']) && text.get(1..5).is_some_and(|date| date.bytes().all(|byte| byte.is_ascii_digit()));
        let message = || text.split_once("] ").map_or(text, |(_, message)| message).to_owned();
        if is_klog { Some(message()) } else { text.starts_with("Error: ").then(|| text.to_owned()) }
    };
    said.map(|said| said.chars().take(LONGEST).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(complaint("nothing of the kind"), None);
        assert_eq!(complaint(&format!("a b F Error: {}", "x".repeat(9000))).unwrap_or_default().chars().count(), LONGEST);
    }
}
