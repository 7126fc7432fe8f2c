//! Routes to the pods of other hosts, and the rule by which packets of pods leave the cluster.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

/// By this number (rtnetlink(7), `rtm_protocol`; those from 5 on are for whoever takes one) a host knows the routes that are kokctl's.
pub(crate) const PROTOCOL: &str = "75";

/// The table of nftables with kokctl's rule.
pub(crate) const TABLE: &str = "ip kokctl-pods";

/// What a host has of a network by routes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PodNetwork {
    /// Routes through other hosts: where each leads, by whom, and whether it is kokctl's.
    pub routes: BTreeMap<Ipv4Net, (Ipv4Addr, bool)>,
    /// Whether packets that leave the range of the pods get the host's address.
    pub masquerades: bool,
}

/// What is asked for a range of pods.
pub(super) fn script(range: Ipv4Net) -> String {
    format!(
        "mark pod-network\nip -4 route show root {range} 2>/dev/null\n\
         nft list table {TABLE} 2>/dev/null | grep -q 'masquerade' && echo masquerades\n"
    )
}

/// Routes without a router are those of interfaces.
pub(super) fn read(text: &str) -> PodNetwork {
    let mut seen = PodNetwork::default();
    for line in text.lines() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match words.as_slice() {
            ["masquerades"] => seen.masquerades = true,
            [to, "via", via, rest @ ..] => {
                let ours = rest.windows(2).any(|pair| pair == ["proto", PROTOCOL]);
                if let (Ok(to), Ok(via)) = (to.parse(), via.parse()) {
                    seen.routes.insert(to, (via, ours));
                }
            }
            _ => {}
        }
    }
    seen
}
