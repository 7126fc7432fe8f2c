//! What is kept of etcd before its last members go: a snapshot of one of them, which etcd itself can be restored from.

mod decode;

use std::collections::{BTreeMap, BTreeSet};

use kok_crds::model::{Cluster, Host};
use kok_pki::AuthorityKind;

use crate::issued::is_kept_elsewhere;
use crate::list::kubeadm_configuration::initial_cluster;
use crate::observe::{EtcdMember, EtcdPeer, EtcdState, Look, PathState};
use crate::operations::{FINALIZED, FOUNDED, MEMBER_DATA, RESET_BEGUN};
use crate::plan::{Refusal, Seen};
use crate::preconditions::{ETCD_STARTED, encryption_keeper};

pub use crate::api_files::ENCRYPTION;
pub use decode::{Damage, Decoder, Form};

/// Where a member has its data, once it was started. The folder around them is there earlier.
const DATA: [&str; 2] = [MEMBER_DATA, "/var/lib/etcd/member/snap"];

/// What is to be done about a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Snapshot {
    /// There is nothing that could be kept, and why.
    Nothing(&'static str),
    /// An earlier reset has begun, and kept what was to be kept; in words.
    Begun(&'static str),
    /// It is taken of the member on this host.
    Of {
        /// The host.
        host: String,
        /// How it comes.
        form: Form,
        /// The control plane that has the key with which API servers encrypt what etcd holds, if they do: without it a snapshot is of no use.
        key: Option<String>,
    },
}

/// What has to be seen of a host to decide that.
#[must_use]
pub fn looks(host: &Host) -> Vec<Look> {
    let path = |path: &str| Look::Path(path.to_owned());
    let of_member = [RESET_BEGUN, ETCD_STARTED].into_iter().chain(DATA).map(path).chain([Look::Etcd]).filter(|_| host.roles.etcd);
    let of_plane = [path(FOUNDED), path(FINALIZED), path(ENCRYPTION), Look::EncryptionKeys];
    of_member.chain(of_plane.into_iter().filter(|_| host.roles.control_plane)).collect()
}

/// Decides which member a snapshot is taken of, before every host of the cluster is taken out of it.
///
/// # Errors
/// [`Refusal`] where the cluster's data could be lost: some host says that it ran, or one that could say so has forgotten everything, and no
/// member answers.
pub fn decide(cluster: &Cluster, seen: &Seen) -> Result<Snapshot, Refusal> {
    let hosts = Hosts { cluster, seen };
    let members: Vec<&Host> = cluster.etcd_hosts().filter(|host| hosts.is_ours(host)).collect();
    if let Some(refusal) = two_clusters(&members, seen) {
        return Err(refusal);
    }
    if let Some(snapshot) = of_healthy(&hosts, &members) {
        return Ok(snapshot);
    }
    if members.iter().any(|host| hosts.has(host, RESET_BEGUN)) {
        return Ok(Snapshot::Begun("an earlier reset has begun to remove it, after what was to be kept of it had been"));
    }
    let has_data = members.iter().any(|host| DATA.iter().any(|path| hosts.has(host, path)));
    if hosts.any_says_that_it_ran() || (has_data && is_told_by_founder_alone(cluster)) {
        return Err(refused(&members, seen));
    }
    if !has_data {
        return Ok(Snapshot::Nothing("no host has data of etcd"));
    }
    match hosts.without_record() {
        // An API server writes nothing of a user's before these records are there, but for what somebody does within seconds.
        None => Ok(Snapshot::Nothing("the cluster was never set up to its end, and its etcd does not answer")),
        Some(host) => Err(forgotten(host, &members, seen)),
    }
}

/// Decides which member a snapshot is taken of while the cluster goes on: always one that is [`Snapshot::Of`] somebody. Hosts that were not seen have no say.
///
/// # Errors
/// [`Refusal`] where no member with a vote and a leader answers, and where they are of two clusters.
pub fn of_running(cluster: &Cluster, seen: &Seen) -> Result<Snapshot, Refusal> {
    let hosts = Hosts { cluster, seen };
    let members: Vec<&Host> = cluster.etcd_hosts().filter(|host| hosts.is_ours(host)).collect();
    if let Some(refusal) = two_clusters(&members, seen) {
        return Err(refusal.hint("`kokctl etcd status` shows them; stop the members of the one that may go, with their kubelet"));
    }
    of_healthy(&hosts, &members).ok_or_else(|| {
        let refusal = refused(&members, seen);
        Refusal { what: "no snapshot of etcd can be taken".to_owned(), ..refusal }.hint(
            "start a member again (`kokctl etcd status` shows them); an etcd that has lost its quorum is made anew by `kokctl recover`",
        )
    })
}

fn of_healthy(hosts: &Hosts<'_>, members: &[&Host]) -> Option<Snapshot> {
    let Hosts { cluster, seen } = *hosts;
    let healthy = || members.iter().filter(|host| is_healthy(host, seen));
    let host = healthy().find(|host| has_list_of(cluster, host, seen)).or_else(|| healthy().next())?;
    let form = if cluster.has_etcd_units() { Form::Raw } else { Form::Gateway };
    let key = encryption_keeper(cluster, seen).map(|host| host.name.clone());
    Some(Snapshot::Of { host: host.name.clone(), form, key })
}

/// What was seen of all hosts, each of which was asked.
struct Hosts<'a> {
    cluster: &'a Cluster,
    seen: &'a Seen,
}

impl<'a> Hosts<'a> {
    fn is_ours(&self, host: &Host) -> bool {
        self.seen.facts(&host.name).is_some_and(|facts| facts.cluster.as_ref() == Some(&self.cluster.name))
    }

    fn has(&self, host: &Host, path: &str) -> bool {
        matches!(self.seen.observations(&host.name).paths.get(path), Some(PathState::Present(_)))
    }

    /// That the cluster was founded is recorded by one control plane alone, which may have been lost since. So the others are asked what they
    /// could not have without it.
    fn any_says_that_it_ran(&self) -> bool {
        let signs = [FOUNDED, FINALIZED, ETCD_STARTED];
        self.cluster.hosts.iter().filter(|host| self.is_ours(host)).any(|host| signs.iter().any(|sign| self.has(host, sign)))
    }

    /// A host whose record, if it had one, is gone: it may have been made anew.
    fn without_record(&self) -> Option<&'a Host> {
        let could_say = |host: &&Host| host.roles.control_plane || host.roles.etcd;
        self.cluster.hosts.iter().filter(could_say).find(|host| !self.is_ours(host))
    }
}

/// Where no kubelet renews its own certificate and no member is a unit, only the control plane that has founded the cluster could say so, and it may
/// have been made anew since.
fn is_told_by_founder_alone(cluster: &Cluster) -> bool {
    is_kept_elsewhere(cluster, AuthorityKind::Kubernetes) && !cluster.has_etcd_units()
}

fn member<'a>(host: &Host, seen: &'a Seen) -> Option<&'a EtcdMember> {
    match &seen.observations(&host.name).etcd {
        Some(EtcdState::Ready(member)) => Some(member),
        _ => None,
    }
}

fn is_healthy(host: &Host, seen: &Seen) -> bool {
    let is_whole = |member: &EtcdMember| !member.errors.iter().any(|error| error.contains("CORRUPT"));
    member(host, seen).is_some_and(|member| member.has_leader && !member.is_learner && is_whole(member))
}

/// One that has missed a change of the members may have missed more.
fn has_list_of(cluster: &Cluster, host: &Host, seen: &Seen) -> bool {
    let wanted = initial_cluster(cluster.etcd_hosts());
    let is = member(host, seen).map(|member| member.members.iter().map(EtcdPeer::listed).collect::<BTreeSet<_>>());
    is == Some(wanted.split(',').map(str::to_owned).collect())
}

/// One of them may be empty: a snapshot of it would be worth nothing, and the data of the other would go.
fn two_clusters(members: &[&Host], seen: &Seen) -> Option<Refusal> {
    let mut by_id: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (host, member) in members.iter().filter_map(|host| Some((host, member(host, seen)?))) {
        by_id.entry(&member.cluster_id).or_default().push(&host.name);
    }
    (by_id.len() > 1).then(|| {
        let groups: Vec<String> = by_id.iter().map(|(id, hosts)| format!("{} of {id}", hosts.join(", "))).collect();
        Refusal::new(format!("a snapshot is of one etcd, and the members belong to {}", by_id.len())).because(groups.join("; ")).hint(
            "stop the members of the one that may go, with their kubelet, and repeat it; or take snapshots by hand (etcdctl snapshot save) and \
             add --no-snapshot",
        )
    })
}

fn refused(members: &[&Host], seen: &Seen) -> Refusal {
    let outputs = members.iter().map(|host| {
        let output = match &seen.observations(&host.name).etcd {
            Some(EtcdState::NotReady(output)) => {
                output.trim().lines().next_back().unwrap_or_default().split(" - did you").next().unwrap_or_default()
            }
            Some(EtcdState::Ready(member)) if !member.has_leader => "its member knows of no leader",
            Some(EtcdState::Ready(member)) if member.is_learner => "its member only learns",
            Some(EtcdState::Ready(_)) => "its member says that its data are corrupt",
            _ => "nothing of its member is there that could be asked",
        };
        format!("{}: {output}", host.name)
    });
    let outputs = outputs.collect::<Vec<_>>().join("; ");
    Refusal::new("no snapshot of etcd can be taken before the cluster goes")
        .because(if outputs.is_empty() { "no host with a member belongs to the cluster any more".to_owned() } else { outputs })
        .hint(
            "start a member again (`kokctl status` shows them); or, if all that the cluster has stored may be lost or was kept before, add \
             --no-snapshot",
        )
        .passing()
}

/// Nobody says that the cluster ran, and nobody can say that it did not.
fn forgotten(host: &Host, members: &[&Host], seen: &Seen) -> Refusal {
    let refusal = refused(members, seen);
    let reason = refusal.because.clone().unwrap_or_default();
    let because = format!("{} is no part of the cluster, or not any more, so nobody knows whether it ever ran; {reason}", host.name);
    refusal.because(because)
}

/// The script for a host that writes a snapshot of its member to standard output, and nothing else. What it makes on the host is below
/// `/run/kokctl`: what kubectl keeps there is removed by `reset`, and all else by the script itself.
#[must_use]
pub fn script(form: Form) -> &'static str {
    match form {
        Form::Gateway => GATEWAY,
        Form::Raw => RAW,
    }
}

/// Beside an API server there is kubectl, which sends etcd's own request for a snapshot and passes on what comes (etcd, "gRPC gateway"). What
/// is in etcd's image is not run as root on the host.
const GATEWAY: &str = "echo '{}' | HOME=/run/kokctl KUBECONFIG=/dev/null /usr/local/bin/kubectl --server=https://127.0.0.1:2379 --request-timeout=0 \
    --certificate-authority=/etc/kubernetes/pki/etcd/ca.crt --client-certificate=/etc/kubernetes/pki/etcd/healthcheck-client.crt \
    --client-key=/etc/kubernetes/pki/etcd/healthcheck-client.key create --raw /v3/maintenance/snapshot -f -\n";

/// etcdctl writes to a file of the name with `.part`, here a pipe, so that the host needs no room for it. It can't flush a pipe to a disk, and
/// ends with an error for that alone; whether all came is told by the digest at the end of a snapshot. A writer of our own opens the pipe,
/// or a reader would wait for ever where etcdctl does not begin.
const RAW: &str = r#"mkdir -p -m 700 /run/kokctl
folder=$(mktemp -d /run/kokctl/snapshot.XXXXXX) || exit 1
trap 'rm -rf "$folder"' EXIT
mkfifo -m 600 "$folder/db.part" || exit 1
(
  exec 3>"$folder/db.part"
  /usr/local/bin/etcdctl --endpoints=https://127.0.0.1:2379 --dial-timeout=5s --cacert=/etc/kubernetes/pki/etcd/ca.crt \
    --cert=/etc/kubernetes/pki/etcd/healthcheck-client.crt --key=/etc/kubernetes/pki/etcd/healthcheck-client.key \
    snapshot save "$folder/db" 3>&- 2>&1 >/dev/null | grep -v -e '^{' -e 'could not fsync' >&2
) &
cat "$folder/db.part"
wait
exit 0
"#;
