//! What the user has installed besides: objects out of manifests.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kok_crds::model::{Addon, NETWORK_ADDON, ObjectName, Prune};

use super::{Task, control_plane, network};
use crate::addons::{AddonRecord, divided, meant};
use crate::observe::KubernetesState;
use crate::operations::{ApplyAddon, Operation, RemoveAddons};
use crate::plan::{Draft, HostView, Reason, Refusal, StepName};

const NAME: &str = "addons";

pub(super) const TASK: Task = Task { name: NAME, about: "the user's own addons, out of manifests", plan };

/// Step that installs the network that the user brings.
pub(crate) const NETWORK: StepName<'static> = StepName::new(NAME, NETWORK_ADDON);

/// Objects by the addon that has had them.
type Objects = BTreeMap<String, Vec<ObjectName>>;

/// Definitions of resources have a minute until they are served, and what is removed has nearly two.
const WAIT: Duration = Duration::from_secs(300);

/// The addon as it is to be, without what it has in the cluster and others have in their manifests now.
pub(crate) fn operation(view: &HostView<'_>, addon: &Addon) -> ApplyAddon {
    let record = view.observations().kubernetes.as_ref().and_then(|state| AddonRecord::find(state, &addon.name)).unwrap_or_default();
    let prune = if view.inputs.prune { Prune::All } else { addon.prune };
    let (gone, kept) = divided(record.gone(wanted(view).iter()), prune);
    ApplyAddon::new(addon, gone, kept)
}

/// The objects of all addons.
fn wanted(view: &HostView<'_>) -> BTreeSet<ObjectName> {
    let addons = view.cluster().addons.iter();
    addons.flat_map(|addon| addon.objects.iter().map(|object| meant(addon, object))).collect()
}

fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    if !view.is_speaker() {
        return Ok(());
    }
    let administrators = view.id(control_plane::ADMINISTRATORS);
    let mut applied = Vec::new();
    for addon in &view.cluster().addons {
        let step = draft.add(&addon.name, Operation::ApplyAddon(operation(view, addon)));
        draft.within(WAIT);
        draft.needs(&step, &administrators, Reason::Because("only administrators may"));
        if addon.name != NETWORK_ADDON && network::is_there(view) {
            let ready = view.id(network::NODES_READY);
            draft.needs(&step, &ready, Reason::Because("its pods, and webhooks among them, need nodes that are Ready"));
        }
        applied.push(step);
    }
    let names: Vec<String> = view.cluster().addons.iter().map(|addon| addon.name.clone()).collect();
    let (gone, kept) = left(view, &names);
    // A name with a capital letter is that of no addon.
    let removed = draft.add("Removed", Operation::RemoveAddons(RemoveAddons { wanted: names, gone, kept }));
    draft.within(WAIT);
    draft.needs(&removed, &administrators, Reason::Because("only administrators may"));
    for step in applied {
        draft.needs(&removed, &step, Reason::Because("an object may have moved from one addon to another"));
    }
    Ok(())
}

/// What goes of addons that the list has no more, and what stays.
fn left(view: &HostView<'_>, names: &[String]) -> (Objects, Objects) {
    let Some(state @ KubernetesState::Ready { .. }) = &view.observations().kubernetes else { return Default::default() };
    let prune = if view.inputs.prune { Prune::All } else { Prune::Objects };
    let wanted = wanted(view);
    let others = AddonRecord::addons(state).filter(|name| !names.iter().any(|wanted| wanted == name));
    let gone_of = |name: &str| AddonRecord::find(state, name).map(|record| record.gone(wanted.iter())).unwrap_or_default();
    let divided = others.map(|name| (name, divided(gone_of(name), prune)));
    divided.map(|(name, (gone, kept))| ((name.to_owned(), gone), (name.to_owned(), kept))).unzip()
}
