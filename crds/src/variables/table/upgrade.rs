//! Variables of upgrades.

use crate::variables::row::{Variable, flag, number, text, value, word};

const UPGRADE: &str = "it belongs to upgrades, which this version does not do";

pub(super) static ROWS: &[Variable] = &[
    flag("upgrade_cluster_setup", "false", "Upgrades without draining nodes.").moot(UPGRADE),
    value("serial", "number or share of hosts", "none", "How many hosts are upgraded at once.").moot(UPGRADE),
    flag("drain_nodes", "none", "Whether pods leave a node before it is upgraded.").moot(UPGRADE),
    number("drain_grace_period", "none", "How many seconds pods have for leaving.").moot(UPGRADE),
    word("drain_timeout", "time", "none", "How long that may take.").moot(UPGRADE),
    number("drain_retries", "none", "How often it is tried.").moot(UPGRADE),
    number("drain_retry_delay_seconds", "none", "How many seconds lie between.").moot(UPGRADE),
    text("drain_pod_selector", "none", "Which pods leave.").moot(UPGRADE),
    flag("drain_fallback_enabled", "none", "Whether pods are deleted that may not be evicted.").moot(UPGRADE),
    value("drain_*", "none", "none", "A setting of that.").moot(UPGRADE),
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
