//! No network: whoever runs the cluster installs one that kokctl knows nothing of.

use kok_crds::model::NetworkPlugin;

use super::Plugin;

pub(super) static PLUGIN: Plugin = Plugin { kind: NetworkPlugin::None, called: "none", carries_pods: false, ..Plugin::USERS_OWN };
