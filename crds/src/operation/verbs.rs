//! The verbs of kokctl as operations ask for them: what each is about, and what it takes of an operation's arguments.
//!
//! A new verb is a variant and its row in [`Verb::row`] here, an action in `actions.rs`, and an arm of the operator's `carry_out`; all else that reads
//! operations follows from the row.

use crate::model::AuthorityName;

/// A verb of kokctl.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Bring all hosts to what is wanted.
    Apply,
    /// Write a backup of the cluster.
    Backup,
    /// Look at the hosts, and change nothing.
    Check,
    /// Keep new pods away from nodes.
    Cordon,
    /// Free what the files of etcd's members hold for nothing.
    Defragment,
    /// Have an etcd that ran out of room take writes again.
    Disarm,
    /// Take the pods off nodes.
    Drain,
    /// Print the kubeconfig.
    Kubeconfig,
    /// Start hosts anew.
    Reboot,
    /// Make etcd anew that has lost its quorum.
    Recover,
    /// Take hosts out of the cluster.
    Remove,
    /// Make certificates anew that end soon.
    Renew,
    /// Take hosts out of the cluster, and let them join anew.
    Replace,
    /// Take the cluster down.
    Reset,
    /// Bring the cluster back to what a backup has of it.
    Restore,
    /// Replace the key that Secrets are encrypted with.
    RotateKey,
    /// Encrypt what etcd holds as the file asks for it.
    ChangeEncryption,
    /// Have another key sign the tokens of service accounts.
    RotateTokenKey,
    /// Have tokens refused that the key of service accounts from before has signed.
    EndTokenKey,
    /// Have another certificate authority sign.
    RotateAuthority(AuthorityName),
    /// Have nobody trust the authority from before.
    EndAuthority(AuthorityName),
    /// Show what can be seen of the cluster.
    Status,
    /// Let pods come to nodes again.
    Uncordon,
    /// Bring the cluster to another version of Kubernetes.
    Upgrade,
    /// Give control planes another version that works as the one before, so that it can be taken back.
    EmulateUpgrade,
    /// Let control planes work as what they are, and all else follow.
    FinishUpgrade,
    /// Give control planes the version back that they work as.
    TakeBackUpgrade,
    /// What goes with no version of Kubernetes becomes what the bundle has.
    UpgradeComponents,
}

/// What an operation of a verb is about, and so which hosts it may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    /// What the hosts are to be. Tags and `--limit` choose a part of it, and `--check` changes nothing.
    Wish,
    /// All hosts, which are looked at.
    Looks,
    /// What the cluster says of itself.
    Answers,
    /// Hosts that have to be named.
    NamedHosts,
    /// Hosts that are named, or all.
    SomeHosts,
    /// The whole cluster, never a part of it.
    Whole {
        /// Whether the cluster is another one afterwards.
        changes: bool,
        /// Why it is about all of it.
        because: &'static str,
        /// Who takes part.
        part: &'static str,
    },
    /// An etcd without quorum. Hosts that are named are gone for good.
    Recovery,
    /// A cluster as a backup has it. Hosts that are named are gone for good.
    Restored,
    /// The end of the cluster, or of the hosts of `--limit`.
    Down,
}

/// One verb.
struct Row {
    /// The word on the command line.
    word: &'static str,
    about: About,
    /// The variables of `extraArgs` that are arguments of it.
    takes: &'static [&'static str],
}

const MEMBERS: &str = "all members take part";
const CONTROL_PLANES: &str = "all control planes take part";
const HOSTS: &str = "all hosts take part";
const ALARM: &str = "an etcd that is full takes nothing new on any of them";
const BACKUP: &str = "a backup is of the whole cluster, whoever of etcd's members it is taken of";
const ENCRYPTION_KEY: &str = "all control planes encrypt with the same key";
const TOKEN_KEY: &str = "all control planes sign tokens of service accounts with the same key";
const AUTHORITY: &str = "all hosts trust the same authority";

/// What is done to all hosts that take part, for they have the same.
const fn shared(word: &'static str, because: &'static str, part: &'static str) -> Row {
    Row { word, about: About::Whole { changes: true, because, part }, takes: &[] }
}

const fn plain(word: &'static str, about: About) -> Row {
    Row { word, about, takes: &[] }
}

const fn of_nodes(word: &'static str, about: About) -> Row {
    Row { word, about, takes: &["node"] }
}

impl Verb {
    const fn row(self) -> Row {
        match self {
            Self::Apply => plain("apply", About::Wish),
            Self::Backup => plain("backup create", About::Whole { changes: false, because: BACKUP, part: MEMBERS }),
            Self::Check => plain("check", About::Looks),
            Self::Cordon => of_nodes("cordon", About::NamedHosts),
            Self::Defragment => of_nodes("etcd defrag", About::SomeHosts),
            Self::Disarm => shared("etcd alarm --disarm", ALARM, MEMBERS),
            Self::Drain => of_nodes("drain", About::NamedHosts),
            Self::Kubeconfig => plain("kubeconfig", About::Answers),
            Self::Reboot => of_nodes("reboot", About::NamedHosts),
            Self::Recover => Row { word: "recover", about: About::Recovery, takes: &["node", "etcd_snapshot"] },
            Self::Remove => Row { word: "remove", about: About::NamedHosts, takes: &["node", "allow_ungraceful_removal"] },
            Self::Renew => of_nodes("certs renew", About::SomeHosts),
            Self::Replace => Row { word: "replace", about: About::NamedHosts, takes: &["node", "allow_ungraceful_removal", "with"] },
            Self::Reset => plain("reset", About::Down),
            Self::Restore => Row { word: "restore", about: About::Restored, takes: &["node", "backup", "identity", "new_hosts"] },
            Self::RotateKey => shared("secrets rotate-key", ENCRYPTION_KEY, CONTROL_PLANES),
            Self::ChangeEncryption => shared("secrets change-encryption", ENCRYPTION_KEY, CONTROL_PLANES),
            Self::RotateTokenKey => shared("certs rotate service-account", TOKEN_KEY, CONTROL_PLANES),
            Self::EndTokenKey => shared("certs rotate service-account --finish", TOKEN_KEY, CONTROL_PLANES),
            Self::RotateAuthority(AuthorityName::Kubernetes) => shared("certs rotate ca kubernetes", AUTHORITY, HOSTS),
            Self::RotateAuthority(AuthorityName::Etcd) => shared("certs rotate ca etcd", AUTHORITY, HOSTS),
            Self::RotateAuthority(AuthorityName::FrontProxy) => shared("certs rotate ca front-proxy", AUTHORITY, HOSTS),
            Self::EndAuthority(AuthorityName::Kubernetes) => shared("certs rotate ca kubernetes --finish", AUTHORITY, HOSTS),
            Self::EndAuthority(AuthorityName::Etcd) => shared("certs rotate ca etcd --finish", AUTHORITY, HOSTS),
            Self::EndAuthority(AuthorityName::FrontProxy) => shared("certs rotate ca front-proxy --finish", AUTHORITY, HOSTS),
            Self::Status => plain("status", About::Answers),
            Self::Uncordon => of_nodes("uncordon", About::NamedHosts),
            Self::Upgrade => plain("upgrade", About::SomeHosts),
            Self::EmulateUpgrade => plain("upgrade --emulate", About::SomeHosts),
            Self::FinishUpgrade => plain("upgrade --finish", About::SomeHosts),
            Self::TakeBackUpgrade => plain("upgrade --take-back", About::SomeHosts),
            Self::UpgradeComponents => plain("upgrade --part components", About::SomeHosts),
        }
    }

    /// The word on the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.row().word
    }

    /// What its operation is about.
    #[must_use]
    pub const fn about(self) -> About {
        self.row().about
    }

    /// Whether its operation takes this variable of `extraArgs` as an argument, and not as a variable of the cluster.
    #[must_use]
    pub fn takes(self, variable: &str) -> bool {
        self.row().takes.contains(&variable)
    }

    /// Whether nothing but what is seen comes of it.
    #[must_use]
    pub const fn only_looks(self) -> bool {
        matches!(self.about(), About::Looks | About::Answers)
    }

    /// Whether the cluster may be another one afterwards.
    #[must_use]
    pub const fn changes_cluster(self) -> bool {
        !self.only_looks() && !matches!(self.about(), About::Whole { changes: false, .. })
    }

    /// Whether it is done to a cluster that there is. A restore may found it, and a reset of none has nothing to do.
    #[must_use]
    pub const fn needs_cluster(self) -> bool {
        !matches!(self.about(), About::Wish | About::Looks | About::Restored | About::Down)
    }
}
