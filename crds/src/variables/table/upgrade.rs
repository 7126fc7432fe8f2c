//! Variables of upgrades.

use crate::variables::read::disruption;
use crate::variables::row::{Variable, flag, number, text, value, word};

const UPGRADE: &str = "`kokctl upgrade` goes to the next node when one is Ready again, and stops at one that is not or whose pods stay";
const AGAIN: &str = "kokctl asks again until `drain_timeout`";

pub(super) static ROWS: &[Variable] = &[
    flag("upgrade_cluster_setup", "false", "Upgrades without draining nodes.").reads(disruption::upgrade_cluster_setup),
    value("serial", "number or share of hosts", "20%", "How many workers may be away at a time.").reads(disruption::serial),
    flag("drain_nodes", "true", "Whether pods leave a node before it gets another minor version.").reads(disruption::drain_nodes),
    number("drain_grace_period", "what each pod asks for", "How many seconds pods have to end when they leave a node.")
        .reads(disruption::drain_grace_period),
    word("drain_timeout", "time", "360s", "After how long it is given up to have pods leave a node.").reads(disruption::drain_timeout),
    number("drain_retries", "none", "How often it is tried.").moot(AGAIN),
    number("drain_retry_delay_seconds", "none", "How many seconds lie between.").moot(AGAIN),
    text("drain_pod_selector", "none", "Which pods leave.").refused("a node that is drained loses all of its pods", "leave it out"),
    flag("drain_fallback_enabled", "false", "Whether pods are deleted that a PodDisruptionBudget protects.")
        .reads(disruption::drain_fallback_enabled),
    value("drain_fallback_*", "none", "none", "A setting of that.").moot("such pods are deleted at once, within the same time"),
    value("drain_*", "none", "none", "A setting of drains.").moot(UPGRADE),
    word("upgrade_post_cilium_wait_timeout", "time", "none", "How long Cilium may take.").moot(UPGRADE),
    flag("upgrade_node_confirm", "false", "Asks before each node.").moot(UPGRADE),
    number("upgrade_node_pause_seconds", "0", "Waits before each node.").moot(UPGRADE),
    flag("upgrade_node_fail_if_drain_fails", "none", "Whether pods that stay end the upgrade.").moot(UPGRADE),
    flag("upgrade_node_always_cordon", "none", "Keeps new pods away although nothing is upgraded.").moot(UPGRADE),
    flag("upgrade_node_uncordon_after_drain_failure", "none", "Lets new pods come again after a failure.").moot(UPGRADE),
    value("upgrade_node_post_upgrade_*", "none", "none", "Asks or waits after each node.").moot(UPGRADE),
    value("post_upgrade_hooks", "list of paths", "[]", "Tasks of Ansible that are run after a node is upgraded.").moot(UPGRADE),
    value("upgrade_node_*", "none", "none", "A setting of upgrades.").moot(UPGRADE),
];
