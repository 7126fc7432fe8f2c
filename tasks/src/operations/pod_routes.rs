//! Routes to the pods of other hosts, as the kernel has them.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

use crate::change::{Change, Verdict, seen};
use crate::observe::pod_network::PROTOCOL;
use crate::observe::{Look, Observations};
use crate::resources::Act;
use crate::script::Fragment;
use crate::shell::quote;

/// Each other host is the router to its pods, no route of kokctl's leads elsewhere, and packets leave the cluster with the host's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodRoutes {
    /// The range of all pods.
    pub range: Ipv4Net,
    /// Shares of other hosts, with the hosts' addresses.
    pub routes: BTreeMap<Ipv4Net, Ipv4Addr>,
    /// File of commands for `ip -batch`, by which they are made.
    pub commands: String,
    /// File of rules for `nft`.
    pub rules: String,
}

const SET: &str = "set";

impl PodRoutes {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::PodNetwork(self.range)]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let is = seen!(&seen.pod_network);
        for (to, via) in &self.routes {
            match is.routes.get(to) {
                Some((other, _)) if other == via => {}
                Some((other, _)) => return Verdict::differs(SET, format!("its route to the pods {to} leads to {other}, not to {via}")),
                None => return Verdict::differs(SET, format!("it has no route to the pods {to} of {via}")),
            }
        }
        let extra = is.routes.iter().find(|(to, (_, ours))| *ours && !self.routes.contains_key(to));
        if let Some((to, (via, _))) = extra {
            return Verdict::differs(SET, format!("its route to {to} by {via} leads to no pods of the cluster"));
        }
        if is.masquerades {
            Verdict::Same
        } else {
            Verdict::differs(SET, "packets of its pods would leave the cluster with the pods' addresses")
        }
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        let wanted: String = self.routes.iter().map(|(to, via)| format!("{to} via {via}\n")).collect();
        Act::Script(Fragment::text(format!(
            "wanted={}\n\
             ip -4 route show root {} proto {PROTOCOL} | while read -r to by via _; do\n  \
             printf '%s' \"$wanted\" | grep -qxF \"$to $by $via\" || ip -4 route delete \"$to\" \"$by\" \"$via\" proto {PROTOCOL}\ndone\n\
             ip -4 -batch {}\nnft -f {}\n",
            quote(&wanted),
            self.range,
            quote(&self.commands),
            quote(&self.rules)
        )))
    }

    pub(super) fn title(&self) -> String {
        "routes to the pods of other hosts".to_owned()
    }
}
