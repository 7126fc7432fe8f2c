//! Routes to the pods of other hosts, as the kernel has them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::net::IpAddr;

use ipnet::IpNet;

use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::observe::pod_network::PROTOCOL;
use crate::observe::{Family, Look, Observations};
use crate::resources::Act;
use crate::script::Fragment;
use crate::shell::quote;

/// Each other host is the router to its pods, no route of kokctl's leads elsewhere, and packets leave the cluster with the host's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodRoutes {
    /// The ranges of all pods, one of each family that the cluster has.
    pub ranges: Vec<IpNet>,
    /// Shares of other hosts, with the hosts' addresses.
    pub routes: BTreeMap<IpNet, IpAddr>,
    /// The families in which packets leave the cluster with the host's address.
    pub masquerades: BTreeSet<Family>,
    /// File of commands for `ip -batch`, by which they are made.
    pub commands: String,
    /// File of rules for `nft`.
    pub rules: String,
}

impl PodRoutes {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::PodNetwork(self.ranges.clone())]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let is = seen!(&seen.pod_network);
        for (to, via) in &self.routes {
            match is.routes.get(to) {
                Some((other, _)) if other == via => {}
                Some((other, _)) => {
                    return Verdict::differs(ChangeKind::Set, format!("its route to the pods {to} leads to {other}, not to {via}"));
                }
                None => return Verdict::differs(ChangeKind::Set, format!("it has no route to the pods {to} of {via}")),
            }
        }
        let extra = is.routes.iter().find(|(to, (_, ours))| *ours && !self.routes.contains_key(to));
        if let Some((to, (via, _))) = extra {
            return Verdict::differs(ChangeKind::Set, format!("its route to {to} by {via} leads to no pods of the cluster"));
        }
        let families: BTreeSet<Family> = self.ranges.iter().map(Family::from_range).collect();
        let (bare, hidden) = (self.masquerades.difference(&is.masquerades).next(), is.masquerades.difference(&self.masquerades));
        let name = |family: &Family| if families.len() > 1 { format!(" over {}", family.name()) } else { String::new() };
        if let Some(family) = bare {
            return Verdict::differs(
                ChangeKind::Set,
                format!("packets of its pods would leave the cluster{} with the pods' addresses", name(family)),
            );
        }
        match hidden.into_iter().find(|family| families.contains(family)) {
            Some(family) => {
                Verdict::differs(ChangeKind::Set, format!("packets of its pods leave the cluster{} with the host's address", name(family)))
            }
            None => Verdict::Same,
        }
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        let wanted: String = self.routes.iter().map(|(to, via)| format!("{to} via {via}\n")).collect();
        let mut script = format!("wanted={}\n", quote(&wanted));
        for range in &self.ranges {
            let option = Family::from_range(range).option();
            // Writing to a String can't fail.
            let _ = write!(
                script,
                "ip {option} route show root {range} proto {PROTOCOL} | while read -r to by via _; do\n  \
                 printf '%s' \"$wanted\" | grep -qxF \"$to $by $via\" || ip {option} route delete \"$to\" \"$by\" \"$via\" proto {PROTOCOL}\ndone\n"
            );
        }
        let _ = write!(script, "ip -batch {}\nnft -f {}\n", quote(&self.commands), quote(&self.rules));
        Act::Script(Fragment::text(script))
    }

    pub(super) fn title(&self) -> String {
        "routes to the pods of other hosts".to_owned()
    }
}
