//! What the host's firewall lets in.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::Act;
use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::firewall::{Opening, closed, name};
use crate::observe::{Firewall, Look, Observations};
use crate::script::Fragment;
use crate::shell::quote;

/// firewalld or ufw, where one of them is active, let in what the cluster needs, now and after the next start. Rules that are there stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenFirewall {
    /// What has to reach the host.
    pub opening: Opening,
    /// The zones of firewalld that it has to reach the host by.
    pub zones: BTreeSet<String>,
}

impl OpenFirewall {
    pub(super) fn looks() -> Vec<Look> {
        vec![Look::Firewall]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        let state: &Firewall = seen!(&seen.firewall);
        let closed = closed(state, &self.opening, false);
        if closed.is_empty() {
            Verdict::Same
        } else {
            Verdict::differs(ChangeKind::Open, format!("{} does not let in {}", name(state), closed.join(", ")))
        }
    }

    /// Which of the two is active is asked again: the script changes what it finds.
    pub(super) fn act(&self, _: &Change) -> Act {
        let (mut firewalld, mut ufw) = (String::new(), String::new());
        for port in &self.opening.ports {
            for zone in &self.zones {
                let (zone, port) = (quote(zone), port.dashed());
                let _ = writeln!(firewalld, "  for keep in '' --permanent; do firewall-cmd -q $keep --zone={zone} --add-port={port}; done");
            }
            let _ = writeln!(ufw, "  ufw allow proto {} to any port {} >/dev/null", port.protocol, port.colon());
        }
        for pods in self.opening.pods.iter().map(|pods| quote(pods)) {
            let _ = writeln!(firewalld, "  for keep in '' --permanent; do firewall-cmd -q $keep --zone=trusted --add-source={pods}; done");
            let rules = [format!("allow from {pods}"), format!("route allow from {pods}"), format!("route allow to {pods}")];
            for rule in rules {
                let _ = writeln!(ufw, "  ufw {rule} >/dev/null");
            }
        }
        Act::Script(Fragment::text(format!(
            "if systemctl is-active --quiet firewalld.service; then\n{firewalld}\
             elif grep -qs '^ENABLED=yes' /etc/ufw/ufw.conf; then\n{ufw}fi\n"
        )))
    }
}
