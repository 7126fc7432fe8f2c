//! The host's firewall.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;

/// A unit has a control group exactly while it runs. firewalld's own program is asked only then: each question takes a third of a second.
/// ufw's rules are a file.
pub(super) const SCRIPT: &str = r#"mark firewall
for root in /sys/fs/cgroup /sys/fs/cgroup/systemd /sys/fs/cgroup/unified; do
  [ -d "$root/system.slice/firewalld.service" ] || continue
  echo firewalld
  firewall-cmd --get-default-zone 2>/dev/null </dev/null
  firewall-cmd --list-all-zones 2>/dev/null </dev/null
  break
done
if [ -e /etc/ufw/ufw.conf ] && grep -q '^ENABLED=yes' /etc/ufw/ufw.conf; then
  echo ufw
  grep -hs '^### tuple ###' /etc/ufw/user.rules /etc/ufw/user6.rules
fi
"#;

/// A firewall that filters what reaches the host. Rules that stand in nftables or iptables without one of these programs are not known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Firewall {
    /// None of those that we know is active.
    #[default]
    None,
    /// firewalld.
    Firewalld(Firewalld),
    /// ufw, with its rules as they stand in `user.rules`, of IPv6 in `user6.rules`, behind `### tuple ###`.
    Ufw {
        /// The rules.
        rules: BTreeSet<String>,
    },
}

/// firewalld, as it is at work now.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Firewalld {
    /// The zone of interfaces that are in no other.
    pub default: String,
    /// All zones by name.
    pub zones: BTreeMap<String, Zone>,
}

/// A zone of firewalld.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Zone {
    /// Its interfaces.
    pub interfaces: BTreeSet<String>,
    /// Networks, and names of sets of addresses, whose packets it takes wherever they come in.
    pub sources: BTreeSet<String>,
    /// Ports (`6443/tcp`) and ranges of ports that it opens.
    pub ports: BTreeSet<String>,
    /// Whether it lets in everything.
    pub accepts: bool,
}

impl Zone {
    /// Whether it takes the packets of this address, as far as its networks say.
    #[must_use]
    pub fn has_source(&self, address: IpAddr) -> bool {
        let network = |text: &String| text.parse::<IpNet>().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
        self.sources.iter().filter_map(network).any(|network| network.contains(&address))
    }
}

impl Firewalld {
    /// Whether everything from this network is let in.
    #[must_use]
    pub fn trusts(&self, network: &str) -> bool {
        let network = network.parse::<IpNet>().ok();
        let holds = |source: &String| source.parse::<IpNet>().ok().zip(network).is_some_and(|(source, network)| source.contains(&network));
        self.zones.values().any(|zone| zone.accepts && zone.sources.iter().any(holds))
    }
}

/// What the probe said of firewalld (name, default zone, all zones) or of ufw (name, rules). Nothing of a firewalld that runs and does not
/// answer, as while it starts: what it lets in is not known then.
pub(super) fn read(text: &str) -> Option<Firewall> {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    Some(match lines.next() {
        Some("firewalld") => {
            let default = lines.next()?.trim().to_owned();
            let zones = zones(lines);
            zones.contains_key(&default).then_some(Firewall::Firewalld(Firewalld { default, zones }))?
        }
        Some("ufw") => Firewall::Ufw {
            rules: lines.filter_map(|line| line.strip_prefix("### tuple ###")).map(|rule| rule.trim().to_owned()).collect(),
        },
        _ => Firewall::None,
    })
}

/// A zone's name begins its line, with `(active)` or the like behind it; what it has is indented by two blanks, as `name: words`.
fn zones<'a>(lines: impl Iterator<Item = &'a str>) -> BTreeMap<String, Zone> {
    let (mut zones, mut name) = (BTreeMap::<String, Zone>::new(), String::new());
    for line in lines {
        if !line.starts_with([' ', '\t']) {
            name = line.split_ascii_whitespace().next().unwrap_or_default().to_owned();
        }
        let zone = zones.entry(name.clone()).or_default();
        let Some((field, value)) = line.strip_prefix("  ").and_then(|line| line.split_once(':')) else { continue };
        let words = || value.split_ascii_whitespace().map(str::to_owned).collect();
        match field {
            "target" => zone.accepts = value.trim() == "ACCEPT",
            "interfaces" => zone.interfaces = words(),
            "sources" => zone.sources = words(),
            "ports" => zone.ports = words(),
            _ => {}
        }
    }
    zones
}
