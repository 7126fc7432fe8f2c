//! The network that a manifest of the user's installs: an addon.

use kok_crds::model::{NETWORK_ADDON, NetworkPlugin};

use super::Plugin;
use crate::addons::AddonRecord;
use crate::list::addons;
use crate::plan::{HostView, Refusal};

pub(super) static PLUGIN: Plugin = Plugin {
    kind: NetworkPlugin::Manifest,
    called: "that of a manifest",
    cluster_steps: |view, _| Ok(Some(view.id(addons::NETWORK))),
    sum,
    is_installed: |state| AddonRecord::find(state, NETWORK_ADDON).is_some(),
    ..Plugin::USERS_OWN
};

fn sum(view: &HostView<'_>) -> Result<String, Refusal> {
    let addon = view.cluster().addons.iter().find(|addon| addon.name == NETWORK_ADDON);
    addon
        .map(|addon| addons::operation(view, addon).source)
        .ok_or_else(|| Refusal::new("nothing says which manifest installs the network").hint("write it down at spec.network.manifest"))
}
