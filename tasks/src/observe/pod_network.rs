//! Routes to the pods of other hosts, and the rules by which packets of pods leave the cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::net::IpAddr;

use ipnet::IpNet;

/// By this number (rtnetlink(7), `rtm_protocol`; those from 5 on are for whoever takes one) a host knows the routes that are kokctl's.
pub(crate) const PROTOCOL: &str = "75";

/// A family of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl Family {
    /// That of a range.
    #[must_use]
    pub fn from_range(range: &IpNet) -> Self {
        match range {
            IpNet::V4(_) => Self::V4,
            IpNet::V6(_) => Self::V6,
        }
    }

    /// ip(8)'s option for it.
    pub(crate) fn option(self) -> &'static str {
        match self {
            Self::V4 => "-4",
            Self::V6 => "-6",
        }
    }

    /// The table of nftables with kokctl's rule.
    pub(crate) fn table(self) -> &'static str {
        match self {
            Self::V4 => "ip kokctl-pods",
            Self::V6 => "ip6 kokctl-pods",
        }
    }

    /// For people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        }
    }
}

/// What a host has of a network by routes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PodNetwork {
    /// Routes through other hosts: where each leads, by whom, and whether it is kokctl's.
    pub routes: BTreeMap<IpNet, (IpAddr, bool)>,
    /// The families in which packets that leave the range of the pods get the host's address.
    pub masquerades: BTreeSet<Family>,
}

/// What is asked for ranges of pods.
pub(super) fn script(ranges: &[IpNet]) -> String {
    let mut script = "mark pod-network\n".to_owned();
    for range in ranges {
        let family = Family::from_range(range);
        let (option, table, name) = (family.option(), family.table(), family.name());
        // Writing to a String can't fail.
        let _ = writeln!(
            script,
            "ip {option} route show root {range} 2>/dev/null\n\
             nft list table {table} 2>/dev/null | grep -q 'masquerade' && echo masquerades {name}"
        );
    }
    script
}

/// Routes without a router are those of interfaces.
pub(super) fn read(text: &str) -> PodNetwork {
    let mut seen = PodNetwork::default();
    for line in text.lines() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match words.as_slice() {
            ["masquerades", name] => seen.masquerades.extend([Family::V4, Family::V6].into_iter().filter(|family| family.name() == *name)),
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
