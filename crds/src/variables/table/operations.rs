//! Variables of operations.

use crate::variables::row::{Variable, flag, number, text, value};

const REMOVAL: &str = "it is read from the `extraArgs` of the action remove-node, and by `kokctl remove`";
const REPLACEMENT: &str = "it is read from the `extraArgs` of the action replace, and `kokctl replace` has `--with`";
const RETRIES: &str = "`kokctl remove` asks the API again until it has an answer, within a deadline";
const RESTORED: &str = "it is read from the `extraArgs` of the action restore, and `kokctl restore` has arguments for it";
const ASKED: &str = "an operation is not asked, and `kokctl reset` has `--yes`";

pub(super) static ROWS: &[Variable] = &[
    number("delete_node_retries", "none", "How often Ansible tries to remove a node.").moot(RETRIES),
    number("delete_node_delay_seconds", "none", "How many seconds lie between.").moot(RETRIES),
    number("cri_stop_containers_grace_period", "0", "How many seconds containers have for ending at a reset.")
        .moot("`kokctl reset` ends them as it ends the others of the host"),
    value("node", "names with commas", "none", "Which hosts are removed.").moot(REMOVAL),
    value("with", "name", "none", "Which host takes the place of the one that the action `replace` takes out.").moot(REPLACEMENT),
    flag("reset_nodes", "true", "Whether a host that is removed is also cleaned.")
        .moot("`kokctl remove` cleans every host that it reaches: a kubelet that goes on would make its node again"),
    flag("allow_ungraceful_removal", "false", "Removes hosts that can't be reached.").moot(REMOVAL),
    flag("delete_nodes_confirmation", "false", "Answers the question whether hosts are to be removed.").moot(ASKED),
    flag("skip_confirmation", "false", "Answers the question whether hosts are to be removed.").moot(ASKED),
    flag("reset_confirmation", "false", "Answers the question whether the cluster is to be removed.").moot(ASKED),
    flag("flush_iptables", "false", "Removes all rules of iptables at a reset, and not those of Kubernetes alone."),
    flag("reset_restart_network", "false", "Restarts the host's network at a reset."),
    flag("undo", "false", "Reverses an action of kubean's.").moot("it belongs to actions of kubean that change one thing on hosts"),
    text("etcd_snapshot", "none", "A backup to restore etcd from.")
        .moot("it is read from the `extraArgs` of the action recover-control-plane; `kokctl recover` has `--from`"),
    text("backup", "none", "The backup that the action `restore` brings back.").moot(RESTORED),
    text("identity", "none", "The key that opens it: a file, and in the operator a key of `secretFilesRef`.").moot(RESTORED),
    flag("new_hosts", "false", "Whether the hosts of the Cluster are new ones.").moot(RESTORED),
    flag("recover_*", "none", "A setting of recover-control-plane.").moot("`kokctl recover` decides by what it sees of the hosts"),
];
