//! Operations: changes with an effect beyond one file or unit. Each says what to look at, when it is done, and what to do. Done is what
//! the host or the cluster says, never that a command ended without an error.

mod addons;
mod apply_addon;
mod bootstrap_token;
mod claim;
mod cluster_admins;
mod controllers_run;
mod cordon;
mod drain;
mod encryption;
mod end_api_server;
mod endpoint_ready;
mod etcd_answers;
mod etcd_member;
mod etcd_room;
mod fence;
mod finalize;
mod join;
mod kubelet;
mod kubelet_endpoint;
mod kubelet_registers;
mod kubelet_trust;
pub mod lead;
mod load_balancers;
mod manifest;
mod mark;
mod members;
mod network_check;
mod network_sample;
mod node_dns;
mod node_shares;
mod pki_tree;
mod plane_rests;
mod pod_routes;
mod preflight;
mod private_cluster_info;
mod publish_trust;
mod read_authorities;
mod read_kubeconfigs;
mod read_token_keys;
mod ready;
mod reboot;
mod record;
mod recovery;
mod remove_addons;
mod remove_node;
mod reset;
mod signing_certificate;
mod stand_in;
mod static_pods;
mod static_pods_settled;
mod tasks_of;
mod time_sync;
mod tokens;
mod trust;
mod uncordon;
mod upload;
pub(crate) mod virtual_router;

pub use addons::Addons;
pub use apply_addon::ApplyAddon;
pub use bootstrap_token::{BootstrapToken, TOKEN_RESERVE, TOKEN_VALIDITY};
pub use claim::Claim;
pub use cluster_admins::ClusterAdmins;
pub use controllers_run::ControllersRun;
pub use cordon::CordonNode;
pub use drain::DrainNode;
pub(crate) use encryption::key_of;
pub use encryption::{ReadsEncryption, RewriteEncrypted};
pub use end_api_server::EndApiServer;
pub use endpoint_ready::EndpointReady;
pub use etcd_answers::EtcdAnswers;
pub use etcd_member::EtcdMemberReady;
pub use etcd_room::{DefragmentMember, DisarmAlarms};
pub use fence::{KeepOut, LetIn, kept_out};
pub use finalize::{FINALIZED, KubeletFinalize};
pub use join::Join;
pub(crate) use join::KUBELET_CONF;
pub use kubelet::{KubeletStart, KubeletStays};
pub use kubelet_endpoint::KubeletEndpoint;
pub use kubelet_registers::{KubeletRegisters, Lacks};
pub use kubelet_trust::KubeletTrust;
pub use load_balancers::LoadBalancersReady;
pub use manifest::ApplyManifest;
pub use mark::MarkNode;
pub use members::{AnnounceMember, MoveLeader, PromoteMember, RemoveMember};
pub use network_check::{NAMESPACE as NETWORK_CHECK_NAMESPACE, NetworkCheck, NetworkCheckStage};
pub(crate) use network_sample::ASKED_BY;
pub use network_sample::askers;
pub use node_dns::{NodeDnsLink, RemoveNodeDns, UNIT_FILE as NODE_DNS_UNIT_FILE};
pub use node_shares::NodeShares;
pub use pki_tree::PkiTree;
pub use plane_rests::PlaneRests;
pub use pod_routes::PodRoutes;
pub use preflight::Preflight;
pub use private_cluster_info::PrivateClusterInfo;
pub use publish_trust::PublishTrust;
pub use read_authorities::ReadAuthorities;
pub use read_kubeconfigs::ReadKubeconfigs;
pub use read_token_keys::{ReadTokenKeys, TokenKeysReader};
pub use ready::{
    API_SERVER_MANIFEST, ApiServerReady, CredentialReady, NodesReady, SubnetReady, WorkloadReady, said_briefly, without_means,
};
pub(crate) use ready::{CLIENT_CERTIFICATE, kubelets_own_has_ended};
pub use reboot::{REBOOT_REQUIRED, Reboot};
pub use recovery::{EndRecovery, KeepData, ManifestsBack, NewEtcd, StandStill, StartAnew, TakeBack, TakeSnapshot};
pub use remove_addons::RemoveAddons;
pub use remove_node::RemoveNode;
pub use reset::{RESET_BEGUN, Reset};
pub use signing_certificate::{SIGNING_CERTIFICATE, SigningCertificate};
pub use static_pods::{Component, FOUNDERS_LINK, MEMBER_DATA, StaticPods};
pub use static_pods_settled::StaticPodsSettled;
pub use time_sync::TimeSynchronised;
pub use tokens::{RemoveTokens, TOKEN_PREFIX};
pub use trust::TrustStore;
pub use uncordon::UncordonNodes;
pub(crate) use upload::{CONTROL_PLANES_ANNOTATION, founded, names};
pub use upload::{FOUNDED, UploadConfiguration};
pub use virtual_router::{
    NoVirtualRouter, VIRTUAL_ROUTER_CHECK_FILE, VIRTUAL_ROUTER_CHECK_UNIT, VIRTUAL_ROUTER_CONFIGURATION, VIRTUAL_ROUTER_FOLDER,
    VIRTUAL_ROUTER_READ, VIRTUAL_ROUTER_STATE, VIRTUAL_ROUTER_UNIT, VIRTUAL_ROUTER_UNIT_FILE, VirtualRouter, VirtualRouterReady,
};

use std::time::Duration;

use crate::change::{Change, Verdict};
use crate::observe::{Look, Observations};
use crate::resources::Act;
use crate::secret_name::SecretName;

/// Where the binaries of a bundle are installed.
pub const BINARIES: &str = "/usr/local/bin";

/// Start of a script that talks to the host's own API server as the administrator. Credentials stay in the file; `HOME` keeps kubectl's
/// cache of the API's kinds in a tmpfs.
pub(crate) const KUBECTL: &str = concat!(
    own_api_server!(),
    "kube() { HOME=/run/kokctl /usr/local/bin/kubectl --kubeconfig=/etc/kubernetes/admin.conf --server=\"$own_api_server\" ",
    "--request-timeout=20s \"$@\"; }\n"
);

/// JSON pointer of the annotation that says from which source an object was made; `~1` is `/`.
pub(crate) const SOURCE_ANNOTATION: &str = "/metadata/annotations/kokctl.io~1source-sha256";

/// Makes the enum, and the functions that call the one of the same name of each operation.
macro_rules! operations {
    ($($(#[$about:meta])* $name:ident,)*) => {
        /// A change of a cluster, or a condition that it has to reach.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Operation {
            $($(#[$about])* $name($name),)*
        }

        macro_rules! each {
            ($self:ident, $it:ident => $call:expr) => {
                match $self {
                    $(Operation::$name($it) => $call,)*
                }
            };
        }
    };
}

operations! {
    /// The host says whose it is.
    Claim,
    /// The whole certificate set of a new control plane.
    PkiTree,
    /// kubeadm's own checks of a host.
    Preflight,
    /// Manifests of etcd or the control plane.
    StaticPods,
    /// The kubelet's configuration and its start.
    KubeletStart,
    /// The kubelet goes on after its start.
    KubeletStays,
    /// A kubelet whose node is gone makes it again.
    KubeletRegisters,
    /// The kubelet asks the API by its name.
    KubeletEndpoint,
    /// The host's member of etcd works, with all others.
    EtcdMemberReady,
    /// More than half of etcd's members answer this control plane.
    EtcdAnswers,
    /// Load balancers of hosts have found an API server.
    LoadBalancersReady,
    /// etcd expects one more member.
    AnnounceMember,
    /// A member of etcd that learned has its vote.
    PromoteMember,
    /// Another member of etcd leads.
    MoveLeader,
    /// A member has left etcd.
    RemoveMember,
    /// The file of a member of etcd is smaller than it was.
    DefragmentMember,
    /// etcd takes writes again.
    DisarmAlarms,
    /// A host that leaves has no API server any more.
    EndApiServer,
    /// The kubelet of a control plane rests, and its API server has ended.
    PlaneRests,
    /// The local API server goes by its keys to encrypt with.
    ReadsEncryption,
    /// No value in etcd is encrypted with another key.
    RewriteEncrypted,
    /// The local API server answers.
    ApiServerReady,
    /// An API server answers at the endpoint that the user runs.
    EndpointReady,
    /// The administrators' group has its rights.
    ClusterAdmins,
    /// kubeadm's configuration stands in the cluster.
    UploadConfiguration,
    /// A short-lived token and the rules for those who join with it.
    BootstrapToken,
    /// Controller manager and scheduler know their present kubeconfigs.
    ReadKubeconfigs,
    /// A program of the control plane goes by the present keys of service accounts.
    ReadTokenKeys,
    /// A program goes by the present certificate authorities.
    ReadAuthorities,
    /// The controller manager signs by a certificate.
    SigningCertificate,
    /// A kubelet knows the API server by these authorities.
    KubeletTrust,
    /// The cluster tells others to trust these authorities.
    PublishTrust,
    /// Controller manager and scheduler run.
    ControllersRun,
    /// What a kubelet of another version makes of static pods is over.
    StaticPodsSettled,
    /// Labels and taints of a node.
    MarkNode,
    /// The kubelet has a certificate of its own.
    CredentialReady,
    /// kubelet.conf names the kubelet's own certificate.
    KubeletFinalize,
    /// kube-proxy and CoreDNS.
    Addons,
    /// A host becomes a node.
    Join,
    /// Strangers don't learn the cluster's address and authority.
    PrivateClusterInfo,
    /// No token of ours is left.
    RemoveTokens,
    /// Objects of a manifest.
    ApplyManifest,
    /// Objects of a user's manifest.
    ApplyAddon,
    /// Nothing is left of manifests that the user has no more.
    RemoveAddons,
    /// New pods are kept away from a node.
    CordonNode,
    /// A host is started anew.
    Reboot,
    /// No pod is left on a node that may leave it.
    DrainNode,
    /// Nodes from which kokctl kept new pods away take them again.
    UncordonNodes,
    /// The kubelet of a host that was removed makes no node.
    KeepOut,
    /// The kubelet of a host may make its node again.
    LetIn,
    /// The cluster has no node of this name.
    RemoveNode,
    /// A DaemonSet or Deployment runs everywhere it should.
    WorkloadReady,
    /// flannel's daemon runs on the host.
    SubnetReady,
    /// Nodes are Ready.
    NodesReady,
    /// Routes to the pods of other hosts.
    PodRoutes,
    /// keepalived goes by its configuration.
    VirtualRouter,
    /// keepalived lets the host have the address.
    VirtualRouterReady,
    /// No address of ours moves to the host any more.
    NoVirtualRouter,
    /// Nodes say which share of the pods' range is theirs.
    NodeShares,
    /// A node has the link of its DNS cache, or none any more.
    NodeDnsLink,
    /// Nodes have no DNS cache any more.
    RemoveNodeDns,
    /// Pods of all nodes answer each other.
    NetworkCheck,
    /// The host's clock follows its source.
    TimeSynchronised,
    /// Programs trust the certificate authorities that were added.
    TrustStore,
    /// The host is what it was before it became part of the cluster.
    Reset,
    /// Nothing of the control plane runs on a host.
    StandStill,
    /// The data of a member are aside.
    KeepData,
    /// A snapshot is on the host that etcd is made anew from.
    TakeSnapshot,
    /// There are data of a new etcd with one member.
    NewEtcd,
    /// The control plane beside the new etcd is started.
    StartAnew,
    /// A control plane without a member is started again.
    ManifestsBack,
    /// A recovery has come to its end on a host.
    EndRecovery,
    /// A host is as it was before a recovery began.
    TakeBack,
}

/// What an operation does not say of itself. One that does has a function of this name, `pub(super)`, which comes first; its signature is this one.
trait Unsaid {
    fn writes(&self) -> Vec<String> {
        Vec::new()
    }

    fn lasts(&self) -> Option<Duration> {
        None
    }

    fn secret_files(&self) -> Vec<(String, SecretName)> {
        Vec::new()
    }
}

impl<T> Unsaid for T {}

impl Operation {
    /// What must be seen to know whether it is done.
    #[must_use]
    pub fn looks(&self) -> Vec<Look> {
        each!(self, it => it.looks())
    }

    /// Whether it is done.
    #[must_use]
    pub fn diff(&self, seen: &Observations) -> Verdict {
        each!(self, it => it.diff(seen))
    }

    /// What does it.
    #[must_use]
    pub fn act(&self, change: &Change) -> Act {
        each!(self, it => it.act(change))
    }

    /// What it is, for people.
    #[must_use]
    pub fn title(&self) -> String {
        each!(self, it => it.title())
    }

    /// The paths that it writes and nobody else may.
    #[must_use]
    pub fn writes(&self) -> Vec<String> {
        each!(self, it => it.writes())
    }

    /// How long what it has made is good for those who begin to use it, from the moment it was begun; nothing if that has no end.
    #[must_use]
    pub fn lasts(&self) -> Option<Duration> {
        each!(self, it => it.lasts())
    }

    /// The files that it writes with a secret in them and that stay, and which.
    #[must_use]
    pub fn secret_files(&self) -> Vec<(String, SecretName)> {
        each!(self, it => it.secret_files())
    }
}
