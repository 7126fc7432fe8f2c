//! The host's firewall.

use std::collections::BTreeSet;

/// A unit has a control group exactly while it runs. firewalld's own program is asked only then: it takes a third of a second. ufw's rules
/// are a file.
pub(super) const SCRIPT: &str = r#"mark firewall
for root in /sys/fs/cgroup /sys/fs/cgroup/systemd /sys/fs/cgroup/unified; do
  [ -d "$root/system.slice/firewalld.service" ] || continue
  echo firewalld
  firewall-cmd --get-default-zone 2>&1 </dev/null
  firewall-cmd --list-ports 2>&1 </dev/null
  firewall-cmd --zone=trusted --list-sources 2>&1 </dev/null
  break
done
if [ -e /etc/ufw/ufw.conf ] && grep -q '^ENABLED=yes' /etc/ufw/ufw.conf; then
  echo ufw
  grep -hs '^### tuple ###' /etc/ufw/user.rules
fi
"#;

/// A firewall that filters what reaches the host. Rules that stand in nftables or iptables without one of these programs are not known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Firewall {
    /// None of those that we know is active.
    #[default]
    None,
    /// firewalld, with the ports (`6443/tcp`) and the sources of trusted networks that it lets in; the zone of the host's traffic.
    Firewalld {
        /// The default zone.
        zone: String,
        /// Ports and ranges of ports that the zone opens.
        ports: BTreeSet<String>,
        /// Sources of the zone `trusted`.
        trusted: BTreeSet<String>,
    },
    /// ufw, with its rules as they stand in `user.rules` behind `### tuple ###`.
    Ufw {
        /// The rules.
        rules: BTreeSet<String>,
    },
}

/// What the probe said of firewalld (name, default zone, ports, trusted sources, one line each) or of ufw (name, rules).
pub(super) fn read(text: &str) -> Firewall {
    let mut lines = text.lines().filter(|line| !line.is_empty() || text.starts_with("firewalld"));
    let words = |line: Option<&str>| line.unwrap_or_default().split_ascii_whitespace().map(str::to_owned).collect();
    match lines.next() {
        Some("firewalld") => Firewall::Firewalld {
            zone: lines.next().unwrap_or_default().trim().to_owned(),
            ports: words(lines.next()),
            trusted: words(lines.next()),
        },
        Some("ufw") => Firewall::Ufw {
            rules: lines.filter_map(|line| line.strip_prefix("### tuple ###")).map(|rule| rule.trim().to_owned()).collect(),
        },
        _ => Firewall::None,
    }
}
