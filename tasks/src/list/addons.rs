//! What the user has installed besides: objects out of manifests.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kok_crds::model::{Addon, NETWORK_ADDON, NetworkPlugin, ObjectName};

use super::{control_plane, network};
use crate::addons::{Record, meant};
use crate::observe::KubernetesState;
use crate::operations::{ApplyAddon, Operation, RemoveAddons};
use crate::plan::{Draft, HostView, Reason, Refusal};

pub(super) const NAME: &str = "addons";

/// Definitions of resources have a minute until they are served, and what is removed has nearly two.
const WAIT: Duration = Duration::from_secs(300);

/// The addon as it is to be, without what it has in the cluster and others have in their manifests now.
pub(super) fn operation(view: &HostView<'_>, addon: &Addon) -> ApplyAddon {
    let record = view.observations().kubernetes.as_ref().and_then(|state| Record::of(state, &addon.name)).unwrap_or_default();
    ApplyAddon::new(addon, record.gone(wanted(view).iter()))
}

/// The objects of all addons.
fn wanted(view: &HostView<'_>) -> BTreeSet<ObjectName> {
    let addons = view.cluster().addons.iter();
    addons.flat_map(|addon| addon.objects.iter().map(|object| meant(addon, object))).collect()
}

pub(super) fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    if !view.is_speaker() {
        return Ok(());
    }
    let administrators = view.id(control_plane::NAME, control_plane::ADMINISTRATORS);
    let mut applied = Vec::new();
    for addon in &view.cluster().addons {
        let step = draft.add(&addon.name, Operation::ApplyAddon(operation(view, addon)));
        draft.within(WAIT);
        draft.needs(&step, &administrators, Reason::Because("only administrators may"));
        if addon.name != NETWORK_ADDON && view.cluster().network.plugin != NetworkPlugin::None {
            let ready = view.id(network::NAME, network::NODES_READY);
            draft.needs(&step, &ready, Reason::Because("its pods, and webhooks among them, need nodes that are Ready"));
        }
        applied.push(step);
    }
    let names: Vec<String> = view.cluster().addons.iter().map(|addon| addon.name.clone()).collect();
    let gone = gone(view, &names);
    // A name with a capital letter is that of no addon.
    let removed = draft.add("Removed", Operation::RemoveAddons(RemoveAddons { wanted: names, gone }));
    draft.within(WAIT);
    draft.needs(&removed, &administrators, Reason::Because("only administrators may"));
    for step in applied {
        draft.needs(&removed, &step, Reason::Because("an object may have moved from one addon to another"));
    }
    Ok(())
}

/// What there is of addons that the list has no more.
fn gone(view: &HostView<'_>, names: &[String]) -> BTreeMap<String, Vec<ObjectName>> {
    let Some(state @ KubernetesState::Ready { .. }) = &view.observations().kubernetes else { return BTreeMap::new() };
    let wanted = wanted(view);
    let others = Record::addons(state).filter(|name| !names.iter().any(|wanted| wanted == name));
    let of = |name: &str| Record::of(state, name).map(|record| record.gone(wanted.iter())).unwrap_or_default();
    others.map(|name| (name.to_owned(), of(name))).collect()
}
