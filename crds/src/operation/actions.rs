//! The actions that people know from kube-on-kube, kubean and Kubespray, and what each does here.

use super::Verb;
use crate::Problem;
use crate::model::AuthorityName;
use crate::words::{quote, with_nearest};

/// An action.
#[derive(Debug, PartialEq, Eq)]
pub struct Action {
    /// Name of the playbook with dashes and without an ending. The same name with underscores, with `.yml` or `.yaml`, and behind
    /// `playbooks/` is the same action.
    pub name: &'static str,
    /// What it does here.
    pub effect: Effect,
}

/// What an action does here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It is a verb of kokctl.
    Runs(Verb),
    /// It needs no run of its own: `apply` does what it is for, or nothing has to be done.
    Covered {
        /// How that is done here.
        by: &'static str,
        /// A variable that it sets for the whole operation unless somebody sets it otherwise, with its value.
        sets: Option<(&'static str, &'static str)>,
    },
    /// This version can't do it yet.
    Planned {
        /// What to do until then.
        instead: &'static str,
    },
    /// It will never do anything here.
    Refused {
        /// What to do instead.
        instead: &'static str,
    },
}

const MIRRORS: &str = "set the variable `containerd_registries_mirrors`, and run the action `cluster.yml`";
const NEEDLESS: &str = "leave it out: it prepares hosts for Ansible or Docker, and kokctl uses neither";

const fn runs(name: &'static str, verb: Verb) -> Action {
    Action { name, effect: Effect::Runs(verb) }
}

const fn covered(name: &'static str, by: &'static str) -> Action {
    Action { name, effect: Effect::Covered { by, sets: None } }
}

const fn planned(name: &'static str, instead: &'static str) -> Action {
    Action { name, effect: Effect::Planned { instead } }
}

const fn refused(name: &'static str, instead: &'static str) -> Action {
    Action { name, effect: Effect::Refused { instead } }
}

/// Every action, in the order of their names.
pub static ACTIONS: &[Action] = &[
    runs("backup-create", Verb::Backup),
    runs("certs-renew", Verb::Renew),
    runs("change-encryption", Verb::ChangeEncryption),
    runs("cluster", Verb::Apply),
    runs("cluster-info", Verb::Status),
    refused("config-docker-cgroup-driver-for-kylinSP2", NEEDLESS),
    planned("config-for-kube-vip", "put a load balancer of your own before the control plane"),
    refused("config-insecure-registry", MIRRORS),
    runs("cordon", Verb::Cordon),
    Action {
        name: "disable-firewalld",
        effect: Effect::Covered {
            by: "the firewall stays on, and `apply` opens the ports in it that the cluster needs (`firewall: open`)",
            sets: Some(("firewall", "open")),
        },
    },
    refused("disable-kernel-unattended-upgrade", "hold the kernel's packages yourself, as by `apt-mark hold`"),
    runs("drain", Verb::Drain),
    covered("enable-nf-conntrack", "`apply` loads the kernel modules that the cluster needs"),
    refused("enable-repo", "set up the repositories on the hosts yourself; kokctl brings all of Kubernetes in its bundle"),
    refused("ensure-kube-resolv-conf", "leave it out: kokctl's kubelet reads the host's own resolv.conf"),
    runs("etcd-alarm-disarm", Verb::Disarm),
    runs("etcd-defrag", Verb::Defragment),
    covered("facts", "every run looks at its hosts anew; nothing is kept"),
    runs("kubeconfig", Verb::Kubeconfig),
    refused("mount-xfs-pquota", "add `prjquota` to the file system's options in /etc/fstab yourself"),
    runs("ping", Verb::Check),
    runs("precheck", Verb::Check),
    runs("reboot", Verb::Reboot),
    runs("recover", Verb::Recover),
    runs("recover-control-plane", Verb::Recover),
    runs("remove", Verb::Remove),
    runs("remove-node", Verb::Remove),
    refused("remove-pkgs", "remove the packages yourself; kokctl says which ones are in its way"),
    runs("renew-certs", Verb::Renew),
    runs("replace", Verb::Replace),
    runs("reset", Verb::Reset),
    runs("restore", Verb::Restore),
    refused("rh8-compat", NEEDLESS),
    runs("rotate-ca-etcd", Verb::RotateAuthority(AuthorityName::Etcd)),
    runs("rotate-ca-etcd-finish", Verb::EndAuthority(AuthorityName::Etcd)),
    runs("rotate-ca-front-proxy", Verb::RotateAuthority(AuthorityName::FrontProxy)),
    runs("rotate-ca-front-proxy-finish", Verb::EndAuthority(AuthorityName::FrontProxy)),
    runs("rotate-ca-kubernetes", Verb::RotateAuthority(AuthorityName::Kubernetes)),
    runs("rotate-ca-kubernetes-finish", Verb::EndAuthority(AuthorityName::Kubernetes)),
    runs("rotate-encryption-key", Verb::RotateKey),
    runs("rotate-service-account-key", Verb::RotateTokenKey),
    runs("rotate-service-account-key-finish", Verb::EndTokenKey),
    runs("scale", Verb::Apply),
    refused("set-containerd-registry-mirror", MIRRORS),
    refused("strip-kylin-version", NEEDLESS),
    runs("uncordon", Verb::Uncordon),
    covered("update-hosts", "`apply` keeps the names of all hosts in /etc/hosts"),
    runs("upgrade", Verb::Upgrade),
    runs("upgrade-cluster", Verb::Upgrade),
    runs("upgrade-components", Verb::UpgradeComponents),
    runs("upgrade-emulate", Verb::EmulateUpgrade),
    runs("upgrade-finish", Verb::FinishUpgrade),
    runs("upgrade-take-back", Verb::TakeBackUpgrade),
];

/// The action of that name in any spelling.
pub(crate) fn find(written: &str) -> Option<&'static Action> {
    let name = canonical(written);
    ACTIONS.iter().find(|action| action.name == name)
}

fn canonical(written: &str) -> String {
    let text = written.trim();
    let text = text.strip_prefix("./").unwrap_or(text);
    let text = text.strip_prefix("playbooks/").unwrap_or(text);
    let text = text.strip_suffix(".yml").or_else(|| text.strip_suffix(".yaml")).unwrap_or(text);
    text.replace('_', "-")
}

/// Why an action can't be done, if so; of one that nobody knows too.
pub(crate) fn problem(written: &str) -> Option<Problem> {
    let Some(action) = find(written) else {
        let names: Vec<&str> = ACTIONS.iter().map(|action| action.name).collect();
        let problem = Problem::new(format!("unknown action {}", quote(written)))
            .because("kokctl runs no playbooks; it knows those of Kubespray and kubean by their names, and does what they are for itself");
        return Some(with_nearest(problem, &canonical(written), &names, "write one of these: cluster.yml, scale.yml, reset.yml, ping.yml"));
    };
    match action.effect {
        Effect::Runs(_) | Effect::Covered { .. } => None,
        Effect::Planned { instead } => {
            Some(Problem::new(format!("this version cannot do {} yet", quote(written))).because("it is planned").hint(instead))
        }
        Effect::Refused { instead } => {
            Some(Problem::new(format!("{} does nothing here", quote(written))).because("kokctl has no counterpart of it").hint(instead))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ACTIONS, Effect, Verb, find, problem};

    #[test]
    fn every_spelling_is_the_same_action() {
        for action in ACTIONS {
            let name = action.name;
            let spellings =
                [name.to_owned(), format!("{name}.yml"), format!("{name}.yaml"), format!("playbooks/{}.yml", name.replace('-', "_"))];
            for spelling in spellings {
                assert_eq!(find(&spelling), Some(action), "{spelling}");
            }
        }
        assert_eq!(find("Cluster.yml"), None);
        assert!(ACTIONS.is_sorted_by_key(|action| action.name.to_lowercase()));
    }

    #[test]
    fn only_what_can_be_done_is_no_problem() {
        for action in ACTIONS {
            let done = matches!(action.effect, Effect::Runs(_) | Effect::Covered { .. });
            assert_eq!(problem(action.name).is_none(), done, "{}", action.name);
        }
        let hint = problem("upgrade_clutser.yml").and_then(|problem| problem.hint);
        assert_eq!(hint.as_deref(), Some("did you mean `upgrade-cluster`?"));
        assert_eq!(find("scale.yml").map(|action| action.effect), Some(Effect::Runs(Verb::Apply)));
    }
}
