//! What users of kubectl, Ansible, Kubespray and kubeadm type, and what it is here.

use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Words, and the tip for each of them.
type Table = &'static [(&'static [&'static str], &'static str)];

/// Words in the place of a verb, and the tip for each; a playbook's `.yml` is no part of it.
const VERBS: Table = &[
    (
        &["upgrade-cluster", "upgrade_cluster", "update"],
        "`kokctl upgrade FILE` brings a cluster to the version of its file; `kokctl apply FILE` whatever else is changed",
    ),
    (
        &["scale", "join", "add", "add-node", "add-nodes", "facts-and-scale"],
        "write the new worker into the file, then `kokctl apply FILE`: what is there already stays as it is",
    ),
    (&["remove-node", "remove_node", "leave", "delete-node", "evict"], "`kokctl remove -f FILE HOST` takes a worker out of the cluster"),
    (
        &["resume", "retry", "rerun", "restart", "continue", "repair", "reinstall"],
        "`kokctl apply FILE` again: a run goes on where the last one ended, and does only what is left",
    ),
    (
        &["renew", "certs-renew", "rotate", "certificates"],
        "`kokctl certs renew FILE` makes anew what ends soon, and `kokctl certs status FILE` shows when that is",
    ),
    (&["revert", "rollback", "undo"], "put the former file back; `kokctl plan FILE` shows what that would change"),
    (&["delete", "destroy", "down", "uninstall", "teardown", "purge"], "`kokctl reset FILE` takes the cluster down"),
    (
        &["create", "up", "install", "deploy", "cluster", "site", "init", "run-playbook", "playbook", "bootstrap", "sync"],
        "`kokctl apply FILE` makes the cluster, and brings it back to what the file says",
    ),
    (&["diff", "dry-run", "preview", "check-mode"], "`kokctl plan FILE` shows what apply would change"),
    (
        &["download", "fetch", "pull", "images", "airgap", "offline", "artifacts"],
        "`kokctl bundle create --for FILE --output FOLDER` fetches what the cluster needs; `kokctl versions` shows what there is",
    ),
    (&["ping", "preflight", "doctor", "upgrade-check"], "`kokctl check FILE` asks the hosts, and changes nothing"),
    (
        &["get", "describe", "logs", "top", "rollout", "label", "taint", "edit", "patch", "port-forward"],
        "that is kubectl's: `kokctl kubeconfig FILE --merge`, then kubectl; `kokctl status FILE` shows hosts and nodes",
    ),
    (&["nodes", "info", "cluster-info", "health"], "`kokctl status FILE` shows hosts, nodes and certificates"),
    (&["config", "kubeconf", "login", "credentials"], "`kokctl kubeconfig FILE` prints the administrator's kubeconfig"),
    (&["lint", "verify", "syntax-check", "inventory", "test"], "`kokctl validate FILE` reads everything, and touches no host"),
    (&["import", "migrate", "export", "generate", "template"], "`kokctl convert FILE` makes one Cluster file of an inventory"),
    (&["explain", "doc", "docs", "variables", "options", "api-resources"], "`kokctl vars NAME` says what a variable does here"),
    (&["history", "log", "list", "events"], "`kokctl runs` lists earlier runs, and `kokctl run show latest` says what the last one did"),
    (&["recover-control-plane"], "`kokctl recover -f FILE` makes etcd anew that has lost its quorum, from a member or a snapshot"),
    (
        &["snapshot", "backups", "backup-create"],
        "`kokctl backup create FILE` writes a snapshot of etcd and the cluster's keys into one file, and `kokctl restore` brings one back",
    ),
    (
        &["defrag", "defragment", "compact", "alarm"],
        "`kokctl etcd defrag FILE` frees room, and `kokctl etcd alarm --disarm FILE` has a full etcd take writes again",
    ),
    (&["keyscan", "ssh-keyscan", "trust"], "`kokctl known-hosts scan FILE` shows the host keys"),
];

/// Options, and the tip for each.
const OPTIONS: Table = &[
    (
        &["--dry-run", "--check", "-C", "--diff", "-D", "--noop", "--what-if"],
        "`kokctl plan FILE` shows what apply would change, with the differences",
    ),
    (&["-i", "--inventory", "--inventory-file"], "an inventory is given as it is, or its folder: `kokctl VERB FILE`"),
    (&["-t", "--tags"], "`--only TASK` chooses a part; `kokctl plan FILE --steps` shows the names"),
    (&["--skip-tags"], "`--skip TASK` leaves a part out; `kokctl plan FILE --steps` shows the names"),
    (&["-u", "--user"], "write `ssh: {user: NAME}` in the Cluster, or for an inventory give `-e ansible_user=NAME`"),
    (
        &["--private-key", "--key-file"],
        "write `ssh: {privateKeyFile: PATH}` in the Cluster, or for an inventory give `-e ansible_ssh_private_key_file=PATH`",
    ),
    (&["-b", "--become", "--become-user", "--become-method"], "leave it out: kokctl becomes root by sudo where the login is not root"),
    (
        &["-k", "--ask-pass", "-K", "--ask-become-pass", "--connection-password-file", "--become-password-file"],
        "passwords stand in the file or beside it, as `password` and `sudoPassword`, or `ansible_password` and `ansible_become_password`; docs/ssh.md",
    ),
    (
        &["--ask-vault-pass", "--ask-vault-password", "-J"],
        "leave it out: who is at a terminal is asked for the password; or `--vault-id LABEL@prompt`",
    ),
    (&["--forks"], "leave it out: kokctl itself finds out how much can be done at once"),
    (&["--list-hosts", "--syntax-check"], "`kokctl validate FILE` shows the hosts, and reads everything"),
    (&["--list-tasks", "--list-tags"], "`kokctl plan FILE --steps` lists all steps"),
    (&["--start-at-task", "--step"], "leave it out: a run goes on by itself where the last one ended"),
    (&["-o", "--output"], "`--json` prints it for programs, where a verb has it"),
    (&["-y", "--assume-yes", "--auto-approve", "--force", "--grace-period"], "`--yes` answers where a verb asks"),
    (&["-c", "--config", "--manifest"], "the file is given as it is, or with -f: `kokctl VERB FILE`"),
    (
        &["-n", "--namespace", "--context", "--kubeconfig", "-A", "--all-namespaces"],
        "that is kubectl's: `kokctl kubeconfig FILE --merge`, then kubectl",
    ),
    (&["-T", "--timeout", "--wait"], "leave it out: apply waits until all is ready, and has limits of its own"),
    (&["--node", "--nodes", "--host", "--hosts", "--target"], "`--limit HOST` chooses hosts"),
    (
        &["--upgrade", "--kubernetes-version", "--version"],
        "`kokctl version` shows this program's; that of Kubernetes stands in the file, and `kokctl upgrade` brings it",
    ),
];

/// The error, with what the user may have meant if it is known.
pub(super) fn with_tip(mut error: Error) -> Error {
    if let Some(tip) = tip(&error) {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        // What is spelled alike means something else.
        error.remove(ContextKind::SuggestedSubcommand);
        error.remove(ContextKind::SuggestedArg);
    }
    for kind in [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg] {
        if error.get(kind).is_some_and(is_dangerous) {
            error.remove(kind);
            // It shows the same word.
            error.remove(ContextKind::Usage);
        }
    }
    error
}

/// What nobody is to try because it is spelled much like what they typed: one takes a cluster down, the other ends what another run does.
const DANGEROUS: [&str; 2] = ["reset", "--take-over"];

fn is_dangerous(suggested: &ContextValue) -> bool {
    match suggested {
        ContextValue::String(word) => DANGEROUS.contains(&word.as_str()),
        ContextValue::Strings(words) => words.iter().any(|word| DANGEROUS.contains(&word.as_str())),
        _ => false,
    }
}

fn tip(error: &Error) -> Option<&'static str> {
    let (kind, table) = match error.kind() {
        ErrorKind::InvalidSubcommand => (ContextKind::InvalidSubcommand, VERBS),
        ErrorKind::UnknownArgument => (ContextKind::InvalidArg, OPTIONS),
        _ => return None,
    };
    let Some(ContextValue::String(given)) = error.get(kind) else { return None };
    let given = given.split('=').next().unwrap_or_default();
    let word = given.rsplit('/').next().unwrap_or_default();
    let word = [".yml", ".yaml"].iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word);
    table.iter().find(|(words, _)| words.contains(&word)).map(|(_, tip)| *tip)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use std::collections::BTreeSet;

    use clap::{CommandFactory as _, Parser as _};

    use super::{OPTIONS, Table, VERBS, with_tip};
    use crate::cli::Cli;

    fn error_text(line: &str) -> String {
        let error = Cli::try_parse_from(line.split(' ')).err().unwrap_or_else(|| panic!("{line}: accepted"));
        with_tip(error).to_string()
    }

    #[test]
    fn habits_of_other_programs_are_answered() {
        for (line, expected) in [
            ("kokctl upgrade-cluster.yml", "kokctl upgrade FILE"),
            ("kokctl scale.yml -i hosts.yaml", "kokctl apply FILE"),
            ("kokctl playbooks/remove_node.yml", "kokctl remove -f FILE HOST"),
            ("kokctl cluster.yml", "kokctl apply FILE"),
            ("kokctl delete", "kokctl reset FILE"),
            ("kokctl get nodes", "kokctl status FILE"),
            ("kokctl apply --dry-run -f c.yaml", "kokctl plan FILE"),
            ("kokctl apply --dry-run=server c.yaml", "kokctl plan FILE"),
            ("kokctl apply c.yaml --check", "kokctl plan FILE"),
            ("kokctl apply -i hosts.yaml", "kokctl VERB FILE"),
            ("kokctl -i hosts.yaml apply", "kokctl VERB FILE"),
            ("kokctl status c.yaml -o yaml", "--json"),
            ("kokctl apply c.yaml --tags etcd", "--only TASK"),
        ] {
            let said = error_text(line);
            let tips: Vec<&str> = said.lines().filter(|line| line.contains("tip:")).collect();
            assert!(tips.len() == 1 && tips.concat().contains(expected), "{line}: {said}");
        }
    }

    #[test]
    fn nobody_is_led_to_what_takes_something_away() {
        for line in
            ["rescue", "render", "rese", "apply c.yaml --server x", "apply c.yaml --take-ove", "drain w1", "backup", "resume", "renew"]
        {
            let said = error_text(&format!("kokctl {line}"));
            assert!(!said.contains("reset") && !said.contains("--take-over"), "{line}: {said}");
        }
    }

    /// What this program knows itself needs no tip, and a word has one.
    #[test]
    fn no_tip_is_of_a_word_that_means_something_here() {
        let words = |table: Table| table.iter().flat_map(|(words, _)| *words).copied().collect::<Vec<_>>();
        for table in [VERBS, OPTIONS] {
            let all = words(table);
            assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        }
        let command = Cli::command();
        let verbs: BTreeSet<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        assert!(words(VERBS).iter().all(|word| !verbs.contains(word)));
        // Each command that a tip names is one.
        let named =
            VERBS.iter().chain(OPTIONS).flat_map(|(_, tip)| tip.split("`kokctl ").skip(1)).filter_map(|rest| rest.split([' ', '`']).next());
        named.filter(|verb| *verb != "VERB").for_each(|verb| assert!(verbs.contains(verb), "{verb}"));
    }

    #[test]
    fn what_is_misspelled_is_still_told_by_what_is_near() {
        assert!(error_text("kokctl aply").contains("'apply'"));
    }
}
