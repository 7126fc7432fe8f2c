//! firewalld or ufw, where they are active and the user lets us.

use std::collections::BTreeSet;

use kok_crds::model::FirewallPolicy;

use super::Task;
use crate::firewall::{Opening, zones};
use crate::observe::Firewall;
use crate::plan::{Draft, HostView, Refusal};
use crate::resources::{OpenFirewall, Resource};

const NAME: &str = "firewall";

pub(super) const TASK: Task = Task { name: NAME, about: "ports in the host's firewall, where kokctl may open them", plan };

fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    if view.settings().host.firewall == FirewallPolicy::Open {
        let opening = Opening::for_host(view.cluster(), view.host, view.facts);
        let zones = match &view.observations().firewall {
            Some(Firewall::Firewalld(firewalld)) => zones(firewalld, &opening),
            _ => BTreeSet::new(),
        };
        draft.add("open", Resource::OpenFirewall(OpenFirewall { opening, zones }));
    }
    Ok(())
}
