//! A file that a user gives, and what it is for.

/// A file, or a part of the command line, that a user gives.
#[derive(Clone, PartialEq, Eq)]
pub struct File {
    /// Name as the user knows it; for files beside an inventory, with `group_vars/` or `host_vars/` in it.
    pub name: String,
    /// Its text, which may hold passwords.
    pub text: String,
    /// What it is for.
    pub role: Role,
}

/// Kinds of objects by which a manifest can be told.
const KINDS: [&str; 5] = ["Cluster", "ClusterOperation", "ConfigMap", "Secret", "List"];

/// What a file is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// A manifest or an inventory, which its text tells.
    Main {
        /// Name of the cluster, if it is an inventory: that has no other place for it.
        cluster: Option<String>,
    },
    /// A file of `group_vars/` or `host_vars/` beside an inventory.
    Beside,
    /// A file with variables that win over those of the inventory, and over those that come before.
    ExtraFile,
    /// The value of one `-e`, likewise.
    Extra,
    /// What `vagrant ssh-config` has printed: the hosts of the cluster, whose settings a manifest says, or variables as beside an inventory.
    Machines {
        /// Name of the cluster, where no manifest says it.
        cluster: Option<String>,
    },
    /// What the Vagrantfile has noted of a machine.
    Machine {
        /// The machine's name.
        name: String,
    },
}

impl File {
    /// Whether the text is one of objects, and not an inventory.
    #[must_use]
    pub fn is_manifest(&self) -> bool {
        is_manifest(&self.text)
    }

    /// Whether the whole is encrypted by ansible-vault: what it is shows when it is opened.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.text.trim_start_matches('\u{feff}').starts_with("$ANSIBLE_VAULT;")
    }

    /// Whether the text has an object that is a cluster. Of folders, it is asked before anything is read.
    #[must_use]
    pub fn holds_cluster(&self) -> bool {
        let is_cluster = |line: &str| {
            let (line, json) = (line.trim_start_matches([' ', '-']).trim_end(), line.replace(' ', ""));
            line == "kind: Cluster" || json.contains("\"kind\":\"Cluster\"")
        };
        self.is_manifest() && self.text.lines().any(is_cluster)
    }
}

pub(super) fn is_manifest(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}');
    // JSON has all in one line, perhaps.
    let head = text.get(..4096).unwrap_or(text);
    let is_json = head.trim_start().starts_with(['{', '[']) && head.contains("\"apiVersion\"");
    let is_object = |line: &str| {
        let line = line.trim_start_matches("- ");
        // Whoever misspells the one has the other.
        line.starts_with("apiVersion:") || line.strip_prefix("kind:").is_some_and(|kind| KINDS.contains(&kind.trim()))
    };
    is_json || text.lines().any(is_object)
}
