//! What Kubernetes knows, by its minor version: options of its programs, feature gates, admission plugins, ciphers, fields of configurations.
//!
//! The tables are made of the programs' own code, by `make tables`; `tests/src/tables/` asks it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use semver::Version;

/// The versions that kokctl's bundle has.
const TABLES: [(u64, &str); 2] = [(36, include_str!("known/1.36.txt")), (37, include_str!("known/1.37.txt"))];

static KNOWN: LazyLock<Vec<Known>> = LazyLock::new(|| TABLES.iter().map(|(minor, text)| Known::read(*minor, text)).collect());

/// A program of Kubernetes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Program {
    ApiServer,
    ControllerManager,
    Scheduler,
    Kubelet,
    KubeProxy,
    Kubeadm,
}

impl Program {
    /// Its name as a program.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
            Self::Scheduler => "kube-scheduler",
            Self::Kubelet => "kubelet",
            Self::KubeProxy => "kube-proxy",
            Self::Kubeadm => "kubeadm",
        }
    }

    /// As messages call it.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::ApiServer => "the API server",
            Self::ControllerManager => "the controller manager",
            Self::Scheduler => "the scheduler",
            Self::Kubelet => "the kubelet",
            Self::KubeProxy => "kube-proxy",
            Self::Kubeadm => "kubeadm",
        }
    }

    /// Parts of the names of variables that speak of it, the likeliest first.
    pub(crate) fn likely(self) -> &'static [&'static str] {
        match self {
            Self::ApiServer => &["apiserver", "kube_api", "spec.vars"],
            Self::ControllerManager => &["kube_controller", "kubeadm_controller", "spec.vars"],
            Self::Scheduler => &["scheduler", "spec.vars"],
            Self::Kubelet => &["kubelet", "eviction", "spec.vars"],
            Self::KubeProxy => &["kube_proxy", "spec.vars"],
            Self::Kubeadm => &["kubeadm_feature_gates", "spec.vars"],
        }
    }
}

/// A feature gate of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gate {
    /// `pre-alpha`, `alpha`, `beta`, `ga` or `deprecated`.
    pub(crate) stage: &'static str,
    /// Whether it is on if nobody says anything.
    pub(crate) default: bool,
    /// Whether it can't be otherwise.
    pub(crate) is_locked: bool,
    /// Gates without which it can't be on, with commas between.
    needs: &'static str,
}

impl Gate {
    pub(crate) fn needs(self) -> impl Iterator<Item = &'static str> {
        self.needs.split(',').filter(|name| *name != "-")
    }
}

/// What one minor version knows.
#[derive(Debug, Default)]
pub(crate) struct Known {
    minor: u64,
    options: BTreeMap<&'static str, BTreeMap<&'static str, &'static str>>,
    gates: BTreeMap<&'static str, BTreeMap<&'static str, Gate>>,
    fields: BTreeMap<&'static str, BTreeMap<&'static str, &'static str>>,
    /// Admission plugins of the API server.
    pub(crate) plugins: Vec<&'static str>,
    /// Ciphers that its programs take.
    pub(crate) ciphers: Vec<&'static str>,
    /// Groups of its API, each with a version: `batch/v1`.
    pub(crate) groups: Vec<&'static str>,
}

impl Known {
    /// What a version knows; nothing is known of other minor versions than those of the bundle.
    pub(crate) fn for_version(version: &Version) -> Option<&'static Self> {
        KNOWN.iter().find(|known| version.major == 1 && version.minor == known.minor)
    }

    fn read(minor: u64, text: &'static str) -> Self {
        let mut known = Self { minor, ..Self::default() };
        for line in text.lines() {
            match line.split(' ').collect::<Vec<_>>().as_slice() {
                ["flag", program, name, kind] => {
                    known.options.entry(program).or_default().insert(name, kind);
                }
                ["gate", name, stage, default, locked, needs, programs] => {
                    let gate = Gate { stage, default: *default == "true", is_locked: *locked == "locked", needs };
                    for program in programs.split(',') {
                        known.gates.entry(program).or_default().insert(name, gate);
                    }
                }
                ["field", kind, path, value] => {
                    known.fields.entry(kind).or_default().insert(path, value);
                }
                ["plugin", name] => known.plugins.push(name),
                ["cipher", name] => known.ciphers.push(name),
                ["group", name] => known.groups.push(name),
                _ => {}
            }
        }
        known
    }

    /// The version as messages call it.
    pub(crate) fn version(&self) -> String {
        format!("Kubernetes 1.{}", self.minor)
    }

    /// The options of a program, with the types of their values as Go calls them.
    pub(crate) fn options(&self, program: Program) -> &BTreeMap<&'static str, &'static str> {
        self.options.get(program.name()).unwrap_or(&NOTHING)
    }

    /// The gate of a program.
    pub(crate) fn gate(&self, program: Program, name: &str) -> Option<Gate> {
        self.gates.get(program.name())?.get(name).copied()
    }

    /// All gates of a program.
    pub(crate) fn gates(&self, program: Program) -> impl Iterator<Item = (&'static str, Gate)> {
        self.gates.get(program.name()).into_iter().flatten().map(|(name, gate)| (*name, *gate))
    }

    /// The fields of a configuration by their paths, with `[]` for an item of a list and `{}` for a value of a map, and what each is.
    pub(crate) fn fields(&self, kind: &str) -> &BTreeMap<&'static str, &'static str> {
        self.fields.get(kind).unwrap_or(&NOTHING)
    }
}

static NOTHING: BTreeMap<&'static str, &'static str> = BTreeMap::new();
