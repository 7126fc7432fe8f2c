//! firewalld or ufw, where they are active and the user lets us.

use std::collections::BTreeSet;

use kok_crds::model::FirewallPolicy;

use crate::firewall::{Opening, zones};
use crate::observe::Firewall;
use crate::plan::{Draft, HostView, Refusal};
use crate::resources::{OpenFirewall, Resource};

pub(super) const NAME: &str = "firewall";

pub(super) fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    if view.settings().host.firewall == FirewallPolicy::Open {
        let opening = Opening::of(view.cluster(), view.host, view.facts);
        let zones = match &view.observations().firewall {
            Some(Firewall::Firewalld(firewalld)) => zones(firewalld, &opening),
            _ => BTreeSet::new(),
        };
        draft.add("open", Resource::OpenFirewall(OpenFirewall { opening, zones }));
    }
    Ok(())
}
