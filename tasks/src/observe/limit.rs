//! How much a host may answer: what each look can honestly need, with room for what is said instead where something goes wrong. A host that says
//! more is not what it should be, and is not listened to any further.

use super::look::Looks;
use super::script::{CONTENT_LIMIT, SHOWN_LIMIT};

/// Marks of sections, clocks, who holds the host and what is at work there.
const FRAME: usize = 64 << 10;

/// All facts. The longest are addresses (a node with a service proxy by IPVS has each service's, two lines of 150 bytes) and `/etc/hosts`.
const FACTS: usize = 2 << 20;

/// What stands beside the name of a path, a module, a user or a command: modes, sums and times.
const LINE: usize = 256;

/// The properties of a unit that are asked for, and the value of a kernel parameter.
const VALUE: usize = 4 << 10;

/// What a program or an API server says that answers a question, or complains.
const WORDS: usize = 64 << 10;

/// Images: an image has three entries, by tag, digest and id, of 500 bytes each in containerd's list (18 entries: 8,996), and of 350 as `ctr` prints them. There
/// is room for as many as are read (`MOST_IMAGES`).
const IMAGES: usize = 5 << 20;

/// Objects that tasks look at: the record of addons may have all of the megabyte that an object may have.
const OBJECTS: usize = 2 << 20;

/// Of each node: what the API says of it on the average, with what drivers of hardware label and plugins annotate it with; its annotations alone; the pods
/// of load balancers on it, of which one may be on its way out; and what its pod of the network check says, where it asks.
const NODE: usize = 48 << 10;
const ANNOTATIONS: usize = 64 << 10;
const LOAD_BALANCER: usize = 2 * (16 << 10);
const NETWORK_CHECK: usize = super::network_check::ANSWER_LIMIT + LINE;

/// Of each node that is asked about: 250 pods of 16 KiB. Of the cluster: a thousand budgets.
const PODS: usize = 4 << 20;
const BUDGETS: usize = 2 << 20;

/// Of each host that is named in a block of a file, or has a route to its pods.
const NAMED: usize = 512;

/// Six logs, of each forty lines of a thousand characters, which may have four bytes each.
const LAST_WORDS: usize = 6 * 40 * 4004;

impl Looks {
    /// How many bytes a host may answer to these looks, in a cluster of so many hosts.
    #[must_use]
    pub fn answer_limit(&self, hosts: usize, with_facts: bool) -> usize {
        let facts = if with_facts { FACTS } else { 0 };
        [FRAME, facts, self.of_files(), self.of_host(hosts), self.of_cluster(hosts.saturating_add(1))]
            .into_iter()
            .fold(0, usize::saturating_add)
    }

    fn of_files(&self) -> usize {
        let lines = |paths: &mut dyn Iterator<Item = &String>| paths.map(|path| path.len() + LINE).sum::<usize>();
        let named = lines(&mut self.paths.iter()) + lines(&mut self.files.keys()) + lines(&mut self.large.iter());
        let shown = if self.files.is_empty() { 0 } else { SHOWN_LIMIT + lines(&mut self.files.keys()) };
        let whole = self
            .contents
            .iter()
            .chain(&self.kubeconfigs)
            .chain(&self.kubeconfig_authorities)
            .chain(&self.certificates)
            .map(|path| path.len() + LINE + CONTENT_LIMIT);
        named + shown + whole.sum::<usize>()
    }

    fn of_host(&self, hosts: usize) -> usize {
        let words = [self.time, self.swap, self.firewall, self.ipv6, self.programs, self.versions];
        let words = words.into_iter().filter(|asked| *asked).count() * WORDS + (self.patterns.len() + self.neighbours.len()) * WORDS;
        let of_hosts = hosts.saturating_mul(NAMED).saturating_add(WORDS);
        let named = (self.blocks.len() + usize::from(self.pod_network.is_some())).saturating_mul(of_hosts);
        let values = (self.units.len() + self.sysctls.len()) * VALUE;
        let lines = [&self.commands, &self.modules].into_iter().flatten().map(|name| name.len() + LINE);
        let images = if self.images { IMAGES } else { 0 };
        let pieces = self.pieces.len().saturating_mul(super::pieces::PIECE_LIMIT + LINE);
        (words + values + images + lines.sum::<usize>()).saturating_add(named).saturating_add(pieces)
    }

    fn of_cluster(&self, nodes: usize) -> usize {
        let of_nodes = [(self.kubernetes, NODE), (self.node_annotations, ANNOTATIONS), (self.load_balancers, LOAD_BALANCER)];
        let of_nodes = of_nodes.into_iter().filter(|(asked, _)| *asked);
        let of_nodes = of_nodes.map(|(_, bytes)| nodes.saturating_mul(bytes)).fold(0, usize::saturating_add);
        let of_pods = self.network_check.as_ref().map_or(0, |askers| askers.len().saturating_mul(NETWORK_CHECK));
        let asked = usize::from(self.asks_api_server())
            + 2 * usize::from(self.deprecated)
            + 8 * usize::from(self.webhooks)
            + 8 * (usize::from(self.cluster_trust) + self.older_pods.len())
            + usize::from(self.warnings)
            + usize::from(self.etcd)
            + usize::from(self.etcd_data);
        let words = (asked + self.api_endpoints.len() + self.etcd_endpoints.len()) * WORDS;
        let objects = if self.kubernetes { OBJECTS } else { 0 };
        let workload = if self.workload.is_empty() { 0 } else { BUDGETS.saturating_add(self.workload.len().saturating_mul(PODS)) };
        let last = if self.last_words { LAST_WORDS } else { 0 };
        let addons = self.addon_objects.iter().map(|name| name.kind.len() + name.name.len() + 4 * LINE).sum::<usize>();
        of_nodes.saturating_add(of_pods).saturating_add(words + objects + last + addons).saturating_add(workload)
    }
}
