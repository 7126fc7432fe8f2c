//! Hosts of the model that leave their cluster.

use super::host::Host;
use super::world::World;

impl World {
    /// The host is what it was, with its data gone.
    pub(super) fn leave(&mut self, host: &str) {
        let host = self.host(host);
        *host = Host { now: host.now + 1, ..Host::bare(&host.name) };
    }

    /// The cluster forgets a node.
    pub(super) fn forget(&mut self, speaker: &str, node: &str) {
        self.uses_api(speaker, true);
        self.api.nodes.remove(node);
        self.api.annotations.remove(node);
    }
}
