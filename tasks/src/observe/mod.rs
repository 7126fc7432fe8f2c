//! Looking at a host: one script asks for facts and for everything that the plan's steps want to know, batched by kind; one parser reads
//! the answer.
//!
//! The answer is hostile input. It is cut into sections by lines that begin with a nonce that the host could not know before; whatever is
//! missing, cut off or of the wrong shape becomes a [`ParseError`] that names the section and never a panic.

mod addons;
mod annotations;
mod api_server;
mod cluster_trust;
mod contents;
mod deprecated;
mod encryption;
mod etcd;
mod etcd_data;
mod etcd_urls;
mod firewall;
mod images;
pub(crate) mod ipv6;
mod kubeconfig;
mod kubernetes;
mod last_words;
mod limit;
mod list;
mod look;
mod mounts;
mod neighbour;
mod network_check;
mod older_pods;
mod parse;
mod pieces;
pub(crate) mod pod_network;
mod programs;
mod questions;
mod script;
mod state;
mod swap;
mod time;
mod token;
mod token_secrets;
mod tree;
mod units;
mod versions;
mod webhooks;
mod workload;

pub use addons::{ADDON_LABEL, LiveObject};
pub(crate) use addons::{FUNCTIONS as ADDON_FUNCTIONS, is_meant, list as object_list};
pub use annotations::Annotations;
pub use api_server::ApiServerState;
pub use cluster_trust::ClusterTrust;
pub use deprecated::DeprecatedApi;
pub use encryption::{EncryptedValues, EncryptionKeys, EncryptionRead, StoredValues};
pub use etcd::{EtcdAlarm, EtcdMember, EtcdPeer, EtcdState, HEALTHY as ETCD_HEALTHY};
pub use etcd_data::EtcdData;
pub use firewall::{Firewall, Firewalld, Zone};
pub use ipv6::{Ipv6Route, Ipv6State};
pub use kubeconfig::{certificate as kubeconfig_certificate, server as kubeconfig_server};
pub use kubernetes::{KubernetesObject, KubernetesState, NodeState};
pub(crate) use list::list;
pub use look::{Look, Looks};
pub use mounts::{Mounted, Now};
pub(crate) use mounts::{encoded, read as read_mounted};
pub use neighbour::Neighbour;
pub use network_check::{NOT_ASKED, script as network_check_script};
pub use older_pods::OlderPods;
pub(crate) use parse::text_of;
pub use parse::{ParseError, Section, parse, sections};
pub use pieces::Piece;
pub(crate) use pieces::{ends_well, literal, marks};
pub use pod_network::{Family, PodNetwork};
pub use script::{Nonce, probe_script, section_marker};
pub(crate) use script::{glob, sysctl_file};
pub use state::{ImageState, ImageStore, Kind, Metadata, ModuleState, Observations, PathState, UnitState};
pub use swap::SwapState;
pub use time::{TimeSource, TimeTracking};
pub use token::BootstrapTokenState;
pub use token_secrets::TokenSecrets;
pub use tree::ExpectedTree;
pub use versions::{API_SERVER, CONTAINERD, CONTROLLERS, ETCD, Installed, KUBELET, ProgramVersions, STATIC_PODS, version_of};
pub use webhooks::{Rule, Webhook, Webhooks};

/// Where the hosts keep what belongs to kokctl and to nobody else: the hashes of large files and the record of what kubeadm wrote.
pub const STATE_DIRECTORY: &str = "/var/lib/kokctl";

/// Where running scripts keep what must not survive a reboot: the lock, and inputs of jobs. A tmpfs on every systemd host.
pub const RUNTIME_DIRECTORY: &str = "/run/kokctl";

/// Begins a block of ours in a file that others write too.
pub const BLOCK_BEGIN: &str = "# BEGIN kokctl";

/// Ends such a block.
pub const BLOCK_END: &str = "# END kokctl";
