//! The plans that replace the key with which API servers encrypt, one for each stage: every API server reads the new key, every one writes with it, all that
//! is encrypted is written anew, and the old key goes (Kubernetes, "Encrypting Confidential Data at Rest": rotating a decryption key). A stage is made only
//! when nothing of the one before it is left to do, and what is left of each is seen on the hosts and in etcd.

mod unfit;

use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::time::Duration;

use kok_crds::go_duration;
use kok_crds::model::{Cluster, Host};

use super::draft::{Draft, Edge};
use super::graph::Plan;
use super::id::StepId;
use super::make::{Making, Seen, compared, defect, enter};
use super::reason::Reason;
use super::refusal::Refusal;
use super::select::Selection;
use crate::api_files::{ENCRYPTION, ENCRYPTION_SUMMARY, FOLDER};
use crate::backup;
use crate::encryption::{Layout, LayoutTarget, Provider, age, new_name};
use crate::list::api_server;
use crate::observe::{EncryptionKeys, Look, Looks, PathState};
use crate::operations::{Operation, ReadsEncryption, RewriteEncrypted};
use crate::preconditions;
use crate::resources::{Directory, File, FileContent, Replace, Resource};
use crate::secret_name::SecretName;

/// What of a rotation is done by a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyStage {
    /// The files are there that API servers are to be started with which do not encrypt yet.
    Laid,
    /// Every API server can read what is encrypted with the new key.
    Read,
    /// Every API server encrypts with it.
    First,
    /// Nothing in etcd is encrypted with another one.
    Rewritten,
    /// No API server has another one.
    Alone,
}

impl KeyStage {
    /// The stage after this one.
    #[must_use]
    pub const fn next(self) -> Option<Self> {
        match self {
            Self::Laid => Some(Self::Read),
            Self::Read => Some(Self::First),
            Self::First => Some(Self::Rewritten),
            Self::Rewritten => Some(Self::Alone),
            Self::Alone => None,
        }
    }
}

/// A stage on the way to another key, or to another way to encrypt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyRotation<'a> {
    /// Where it leads to.
    pub target: &'a LayoutTarget,
    /// What is done now.
    pub stage: KeyStage,
}

pub(super) use unfit::{at, others, says_nothing, silent};

const TASK: &str = "secrets";

/// An API server looks at its file once a minute, and again after some seconds where it could not read it.
const READ_WITHIN: Duration = Duration::from_secs(180);

/// What an API server was asked before it read its file may be encrypted with the key from before, and be written until it gives the request up: after a
/// minute, unless the owner says otherwise (`--request-timeout`).
const LONGEST_REQUEST: Duration = Duration::from_secs(60);
const RESERVE: Duration = Duration::from_secs(5);

fn longest_request(cluster: &Cluster) -> Duration {
    let timeout = cluster.settings.components.api_server.options.get("request-timeout").and_then(|text| go_duration(text.as_str()?));
    timeout.unwrap_or(LONGEST_REQUEST) + RESERVE
}

/// Some dozens of objects are written in a second: so many seconds are some hundred thousand objects.
const REWRITTEN_WITHIN: Duration = Duration::from_secs(4 * 3600);

/// What a first look at a host asks.
#[must_use]
pub fn rotate_key_looks(cluster: &Cluster, host: &Host) -> Looks {
    let mut looks: Looks = backup::looks(host).into_iter().collect();
    if host.roles.control_plane {
        looks.extend([Look::Path(ENCRYPTION.to_owned()), Look::Content(ENCRYPTION_SUMMARY.to_owned())]);
        looks.extend([Look::EncryptionKeys, Look::EncryptionRead, Look::ApiServer]);
        looks.extend(api_server::plugin_look(cluster));
    }
    looks
}

/// What a rotation leads to: of one that is under way the newest key there is, else a new one.
///
/// # Errors
/// [`Refusal`]s where the key can't be replaced now: all control planes have to answer, and to go by keys of kokctl's as the file asks for them.
pub fn key_to_encrypt_with(cluster: &Cluster, seen: &Seen, now_seconds: i64) -> Result<LayoutTarget, Vec<Refusal>> {
    let refusals = unfit::refused(cluster, seen);
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let all: Vec<&EncryptionKeys> = cluster.control_planes().map(|host| keys(seen, host)).collect();
    let names: Vec<String> = all.iter().flat_map(|keys| keys.names()).collect();
    // Of a rotation that was ended in the last minute an API server may not have read the end yet.
    let is_first = names.iter().all(|name| age(name) == 0);
    let is_read = is_first || cluster.control_planes().all(|host| has_read(seen, host));
    let is_steady =
        is_read && all.iter().all(|keys| keys.layout.is_steady() && Some(&keys.layout) == all.first().map(|first| &first.layout));
    let newest = names.iter().max_by_key(|name| age(name)).filter(|_| !is_steady);
    let key = newest.cloned().unwrap_or_else(|| new_name(now_seconds, names.iter().map(String::as_str)));
    let wanted = &cluster.settings.security.encryption;
    let writer = Some(Provider::Key { algorithm: wanted.algorithm, name: key });
    Ok(LayoutTarget { resources: wanted.resources.clone(), writer })
}

pub(super) fn has_read(seen: &Seen, host: &Host) -> bool {
    let read = seen.observations(&host.name).encryption_read.as_ref().and_then(|read| read.digest.as_ref());
    read == Some(&keys(seen, host).digest)
}

/// The plan for a stage.
///
/// # Errors
/// [`Refusal`]s where a control plane does not answer, or a host is somebody else's.
pub fn rotate_key(cluster: &Cluster, rotation: &KeyRotation<'_>, seen: &Seen) -> Result<Making, Vec<Refusal>> {
    let refusals = preconditions::check_reset(cluster, seen);
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let (mut plan, mut edges) = (Plan::default(), Vec::new());
    let mut all_read = Vec::new();
    for host in cluster.control_planes() {
        let mut draft = Draft::new(&host.name, TASK);
        let file = configuration(cluster, rotation, seen, host).map(|file| {
            let folder = draft.add("folder", Resource::Directory(Directory::new(FOLDER, 0o700)));
            let file = draft.add("encryption", Resource::File(file));
            draft.needs(&file, &folder, Reason::Inside);
            file
        });
        // An API server that does not encrypt yet is started with what is laid there; and where nothing is to be encrypted it has nothing to read, if it was not.
        let has_none = rotation.target.writer.is_none() && !keys(seen, host).is_read;
        if rotation.stage == KeyStage::Laid || has_none {
            edges.extend(enter(&mut plan, draft).map_err(|refusal| vec![refusal])?);
            continue;
        }
        let settled = (rotation.stage == KeyStage::Rewritten).then(|| longest_request(cluster));
        let reads = ReadsEncryption { settled: settled.map(|time| time.as_secs()) };
        let read = draft.add("read", Operation::ReadsEncryption(reads));
        draft.within(READ_WITHIN + settled.unwrap_or_default());
        if let Some(file) = file {
            draft.follows(&read, &file, Reason::Reads);
        }
        all_read.push(read);
        edges.extend(enter(&mut plan, draft).map_err(|refusal| vec![refusal])?);
    }
    if let (KeyStage::Rewritten, Some(speaker)) = (rotation.stage, cluster.control_planes().next()) {
        let draft = rewritten(speaker, rewriting(cluster, rotation, seen), &all_read);
        edges.extend(enter(&mut plan, draft).map_err(|refusal| vec![refusal])?);
    }
    for Edge { later, earlier, reason } in edges {
        plan.order(&later, &earlier, reason).map_err(|sentence| vec![defect(sentence)])?;
    }
    compared(plan, seen, &Selection::whole())
}

/// All is written anew by one control plane, once each API server goes by its file.
fn rewritten<'a>(speaker: &'a Host, rewriting: RewriteEncrypted, all_read: &[StepId]) -> Draft<'a> {
    let mut draft = Draft::new(&speaker.name, TASK);
    let step = draft.add("rewritten", Operation::RewriteEncrypted(rewriting));
    draft.within(REWRITTEN_WITHIN);
    for read in all_read {
        draft.needs(&step, read, Reason::Because("what it writes until then may be encrypted with the key from before"));
    }
    draft
}

fn rewriting(cluster: &Cluster, rotation: &KeyRotation<'_>, seen: &Seen) -> RewriteEncrypted {
    let target = rotation.target;
    let named = cluster.control_planes().flat_map(|host| keys(seen, host).layout.resources());
    let others: BTreeSet<&str> = named.filter(|name| !target.resources.iter().any(|known| known == name)).collect();
    let key = target.writer.as_ref().and_then(Provider::mark).map(str::to_owned);
    RewriteEncrypted { key, resources: target.resources.clone(), others: others.into_iter().map(str::to_owned).collect() }
}

static NO_KEYS: LazyLock<EncryptionKeys> = LazyLock::new(EncryptionKeys::default);

pub(super) fn keys<'a>(seen: &'a Seen, host: &Host) -> &'a EncryptionKeys {
    seen.observations(&host.name).encryption_keys.as_ref().unwrap_or(&NO_KEYS)
}

/// What a host's file is to be made from: what it says, or where it was lost what another control plane's says, for that is what others write by.
fn layout_of<'a>(cluster: &Cluster, seen: &'a Seen, host: &Host) -> &'a Layout {
    let own = keys(seen, host);
    let keeper = preconditions::encryption_keeper(cluster, seen).filter(|_| own.digest.is_empty());
    keeper.map_or(&own.layout, |keeper| &keys(seen, keeper).layout)
}

/// The file of this stage, if it is another one by now.
fn configuration(cluster: &Cluster, rotation: &KeyRotation<'_>, seen: &Seen, host: &Host) -> Option<File> {
    let (own, has) = (keys(seen, host), layout_of(cluster, seen, host));
    // Who encrypts already is led on later, and gets only what it has lost: it may not reach the plugin yet, and could not be started anew with a file that
    // names it.
    let restores = rotation.stage == KeyStage::Laid && own.is_read;
    if restores && !own.digest.is_empty() {
        return None;
    }
    let layout = if restores { has.reachable(own.plugin_folder.as_deref()) } else { has.after(rotation.target, rotation.stage) };
    let found = seen.observations(&host.name).paths.get(ENCRYPTION).and_then(PathState::present);
    // Where none was read, none is made on the way to nothing, nor after everybody else has one.
    let is_needless = found.is_none() && !restores && (rotation.stage > KeyStage::Read || rotation.target.writer.is_none());
    if layout == own.layout || is_needless {
        return None;
    }
    let names = layout.names();
    let has_all = |other: &&Host| names.iter().all(|name| keys(seen, other).names().contains(name));
    let has_any = |other: &&Host| names.iter().any(|name| keys(seen, other).names().contains(name));
    let planes = || [host].into_iter().chain(cluster.control_planes());
    // Its own first: nobody else is asked for what it has itself.
    let keeper = planes().find(has_all).filter(|_| !names.is_empty());
    let new = rotation.target.key().map(str::to_owned).filter(|_| keeper.is_none());
    let keeper = keeper.or_else(|| planes().find(has_any)).map(|keeper| keeper.name.clone());
    let because = format!("it has {has}, and is to have {layout}");
    let replace = found.map(|found| Replace { because, changed_nanoseconds: found.changed_nanoseconds });
    let name = SecretName::EncryptionConfiguration { keeper, layout, new };
    Some(File::new(ENCRYPTION, 0o600, FileContent::Secret { name, replace, without: None }))
}

/// Whether the API server of a host can reach the plugin that is to encrypt, if one is.
pub(super) fn reaches(target: &LayoutTarget, seen: &Seen, host: &Host) -> bool {
    target.plugin().is_none_or(|plugin| keys(seen, host).plugin_folder.as_deref() == Some(plugin.folder()))
}
