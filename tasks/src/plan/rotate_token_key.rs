//! The plans that replace the key which signs the tokens of service accounts, one for each stage: every API server knows the new one, every one signs with it,
//! and the one from before goes. Tokens are taken all the while, whichever of the two has signed them (Kubernetes, `--service-account-key-file`: any of the
//! keys verifies). How far a host has come stands in its `sa.pub` ([`PemSet`]).

mod drafts;

use std::time::Duration;

use kok_crds::listed;
use kok_crds::model::{Cluster, Host};

use super::draft::Edge;
use super::graph::Plan;
use super::id::StepName;
use super::make::{Making, Seen, compared, defect, enter};
use super::refusal::Refusal;
use super::select::Selection;
use crate::observe::{API_SERVER, ApiServerState, Look, Looks, PathState};
use crate::pem_set::PemSet;
use crate::preconditions;
use crate::resources::{File, FileContent, Replace};
use crate::secret_name::SecretName;
use crate::speaker::speaker;
use crate::token_keys::{SIGNING_KEY, TOKEN_KEYS, key_id};

/// What of it is done by a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TokenKeyStage {
    /// Every API server knows tokens of the new key.
    Known,
    /// Every API server, and every controller manager, signs with it.
    Signs,
    /// No API server knows tokens of another one.
    Alone,
}

/// A stage on the way to a new key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenKeyRotation<'a> {
    /// The public key, in PEM.
    pub key: &'a str,
    /// The control plane that has the private key; nothing if this run has made it.
    pub keeper: Option<&'a str>,
    /// What is done now.
    pub stage: TokenKeyStage,
}

/// How far control planes have come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenKeyStanding {
    /// All of them sign with the same key, and know tokens of no other one.
    One,
    /// The same, and an API server that runs has not read it: it takes tokens of another key still.
    Unread {
        /// The public key, in PEM.
        key: String,
        /// A control plane that signs with it.
        keeper: String,
    },
    /// Some of them sign with a new key: this one, which that host has.
    Begun {
        /// The public key, in PEM.
        key: String,
        /// A control plane that signs with it.
        keeper: String,
    },
    /// All of them sign with it, and the one from before is taken still.
    Replaced {
        /// The public key, in PEM.
        key: String,
        /// A control plane that signs with it.
        keeper: String,
        /// For how many seconds every API server that runs has signed with it.
        age_seconds: u64,
    },
}

const TASK: &str = "service-accounts";
const READY: StepName<'static> = StepName::new(TASK, "api-server");
const RUN: StepName<'static> = StepName::new(TASK, "controllers");

/// As long as kubeadm gives a control plane, and what a kubelet waits before it starts anew what has ended again and again (`MaxContainerBackOff`).
const STARTED_WITHIN: Duration = Duration::from_secs(240 + 300);
/// What does not end by itself is killed after half a minute.
const ENDED_WITHIN: Duration = Duration::from_secs(120);

/// A kubelet asks for another token when most of the time of the one that a pod has is over, and after a day at the latest (its token manager's `maxTTL`);
/// programs read theirs again within minutes.
const LONGEST_TOKEN: u64 = 25 * 3600;

/// Options of an API server by which it goes by other files.
const OWN_OPTIONS: [&str; 3] = ["service-account-key-file", "service-account-signing-key-file", "service-account-signing-endpoint"];

/// What a first look at a host asks; where the key from before is to go, also who has tokens of it.
#[must_use]
pub fn rotate_token_key_looks(host: &Host, ends: bool) -> Looks {
    if !host.roles.control_plane {
        return Looks::default();
    }
    let keys = Look::File { path: TOKEN_KEYS.to_owned(), expected: None };
    let files = [Look::Path(SIGNING_KEY.to_owned()), Look::Content(TOKEN_KEYS.to_owned()), keys];
    files.into_iter().chain([Look::Programs, Look::ApiServer, Look::Kubernetes]).chain(ends.then_some(Look::TokenSecrets)).collect()
}

/// How far a cluster has come.
///
/// # Errors
/// [`Refusal`]s where the key can't be replaced now: all control planes have to answer, and to go by the files that kubeadm makes.
pub fn token_key_standing(cluster: &Cluster, seen: &Seen) -> Result<TokenKeyStanding, Vec<Refusal>> {
    let refusals = refused(cluster, seen);
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let planes: Vec<(&Host, PemSet)> = cluster.control_planes().map(|host| (host, keys(seen, host))).collect();
    let signer = |keys: &PemSet| keys.signer().unwrap_or_default().to_owned();
    // The newest is the one beside which every other one has signed before.
    let replaces = |keys: &PemSet| planes.iter().all(|(_, other)| signer(other) == signer(keys) || keys.has_before(&signer(other)));
    let Some((keeper, newest)) = planes.iter().find(|(_, keys)| replaces(keys)) else {
        return Err(vec![strangers(&planes)]);
    };
    let (key, keeper) = (signer(newest), keeper.name.clone());
    if planes.iter().any(|(_, keys)| signer(keys) != key) {
        return Ok(TokenKeyStanding::Begun { key, keeper });
    }
    if planes.iter().all(|(_, keys)| keys.before().next().is_none()) {
        // Where one is to sign next, its private key may lie on a host already, and nothing is at its end.
        let is_unread = planes.iter().all(|(_, keys)| !keys.is_under_way()) && planes.iter().any(|(host, _)| is_unread(seen, host));
        return Ok(if is_unread { TokenKeyStanding::Unread { key, keeper } } else { TokenKeyStanding::One });
    }
    let age_seconds = planes.iter().map(|(host, _)| age(seen, host)).min().unwrap_or_default();
    Ok(TokenKeyStanding::Replaced { key, keeper, age_seconds })
}

/// What speaks against the end of a replacement, after which tokens of the key from before are refused.
///
/// # Errors
/// [`Refusal`]s: pods may have such tokens, or Secrets do.
pub fn may_end_token_key(cluster: &Cluster, (key, age_seconds): (&str, u64), seen: &Seen) -> Result<(), Vec<Refusal>> {
    let mut refusals = Vec::new();
    if age_seconds < LONGEST_TOKEN {
        let hours = (LONGEST_TOKEN - age_seconds).div_ceil(3600);
        let refusal = Refusal::new("pods may still have tokens that the key from before has signed");
        let refusal =
            refusal.because("kubelets ask for new ones within an hour, or within a day where a pod wants tokens that last longer");
        refusals.push(refusal.hint(format!(
            "end it in {hours} h; or with --anyway, if that key is in wrong hands: pods whose tokens are refused have to be started anew"
        )));
    }
    let secrets = speaker(cluster, seen).and_then(|host| seen.observations(&host.name).token_secrets.as_ref());
    let unknown =
        |reason: &str| Refusal::new("it is not known which Secrets have tokens of the key from before").because(reason.to_owned());
    match secrets {
        None => refusals.push(unknown("no API server was asked").hint("repeat the command").passing()),
        Some(Err(reason)) => refusals.push(unknown(reason).hint("repeat the command when the API server answers").passing()),
        Some(Ok(secrets)) => {
            let own = key_id(key);
            let others = secrets.iter().filter(|(_, signed)| Some(*signed) != own.as_ref()).map(|(name, _)| name.as_str());
            refusals.extend(in_secrets(&others.collect::<Vec<_>>()));
        }
    }
    if refusals.is_empty() { Ok(()) } else { Err(refusals) }
}

fn in_secrets(names: &[&str]) -> Option<Refusal> {
    let (namespace, name) = names.first()?.split_once('/')?;
    let refusal = Refusal::new("Secrets have tokens that the key from before has signed").because(listed(names.iter().copied()));
    Some(refusal.hint(format!(
        "delete those that nobody uses; of others take the token out, and another one is put in: `kubectl patch secret {name} -n {namespace} --type=json \
         -p '[{{\"op\":\"remove\",\"path\":\"/data/token\"}}]'`. Give the new ones to who has the old ones outside the cluster"
    )))
}

/// The plan for a stage.
///
/// # Errors
/// As [`token_key_standing`].
pub fn rotate_token_key(cluster: &Cluster, rotation: &TokenKeyRotation<'_>, seen: &Seen) -> Result<Making, Vec<Refusal>> {
    let refusals = refused(cluster, seen);
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let (mut plan, mut edges) = (Plan::default(), Vec::new());
    let mut before = None;
    for host in cluster.control_planes() {
        let draft = drafts::of_host((cluster, host), rotation, seen, before);
        edges.extend(enter(&mut plan, draft).map_err(|refusal| vec![refusal])?);
        before = Some(host);
    }
    for Edge { later, earlier, reason } in edges {
        plan.order(&later, &earlier, reason).map_err(|sentence| vec![defect(sentence)])?;
    }
    compared(plan, seen, &Selection::whole())
}

fn keys(seen: &Seen, host: &Host) -> PemSet {
    let text = seen.observations(&host.name).contents.get(TOKEN_KEYS).map(|text| String::from_utf8_lossy(text));
    PemSet::parse(&text.unwrap_or_default())
}

fn wanted(rotation: &TokenKeyRotation<'_>, has: &PemSet) -> PemSet {
    match rotation.stage {
        TokenKeyStage::Known => has.with_next(rotation.key),
        TokenKeyStage::Signs => has.signing_with(rotation.key),
        TokenKeyStage::Alone => has.alone(),
    }
}

/// The private key, where a host has another one by what it says.
fn signing_key(rotation: &TokenKeyRotation<'_>, seen: &Seen, host: &Host) -> Option<File> {
    let has = keys(seen, host);
    if rotation.stage != TokenKeyStage::Signs || wanted(rotation, &has).signer() == has.signer() {
        return None;
    }
    let found = seen.observations(&host.name).paths.get(SIGNING_KEY).and_then(PathState::present);
    let because = "another key is to sign".to_owned();
    let replace = found.map(|found| Replace { because, changed_nanoseconds: found.changed_nanoseconds });
    let name = SecretName::TokenKey { keeper: rotation.keeper.map(str::to_owned), key: key_id(rotation.key).unwrap_or_default() };
    Some(File::new(SIGNING_KEY, 0o600, FileContent::Secret { name, replace, without: None }))
}

/// Whether the API server that runs on a host was started before its public keys were changed.
fn is_unread(seen: &Seen, host: &Host) -> bool {
    let observed = seen.observations(&host.name);
    let started = observed.programs.as_ref().and_then(|programs| programs.get(API_SERVER));
    started.is_some_and(|started| observed.is_older(*started, TOKEN_KEYS))
}

/// For how many seconds a host's API server has signed with the key that is there, by its own clock: since its start. When it was started before that is not
/// known any more, and a key that lay there for a day may have been read a minute ago.
fn age(seen: &Seen, host: &Host) -> u64 {
    let observed = seen.observations(&host.name);
    let started = observed.programs.as_ref().and_then(|programs| programs.get(API_SERVER));
    let started = started.filter(|started| !observed.is_older(**started, SIGNING_KEY));
    let age = started.map_or(0, |started| (observed.clock_nanoseconds - started) / 1_000_000_000);
    u64::try_from(age).unwrap_or_default()
}

fn refused(cluster: &Cluster, seen: &Seen) -> Vec<Refusal> {
    let refusals = preconditions::check_reset(cluster, seen);
    if !refusals.is_empty() {
        return refusals;
    }
    let options = &cluster.settings.components.api_server.options;
    if let Some(own) = OWN_OPTIONS.iter().find(|name| options.contains_key(**name)) {
        let refusal = Refusal::new(format!("the file has an option of API servers of its own, `{own}`"));
        let refusal = refusal.because("they go by other keys of service accounts than those that kubeadm makes");
        return vec![refusal.hint("replace the key where that option leads to; or take the option out, and run `kokctl apply`")];
    }
    // One that a run has ended that was killed then comes back by itself, and is waited for before the next one is started anew.
    let begun = cluster.control_planes().any(|host| keys(seen, host).is_under_way() || is_unread(seen, host));
    cluster.control_planes().filter_map(|host| unfit(seen, host, begun)).collect()
}

/// What keeps the key of a control plane from being replaced.
fn unfit(seen: &Seen, host: &Host, begun: bool) -> Option<Refusal> {
    let at = |what: &str| Refusal::new(what).at(format!("host {} ({})", host.name, host.address));
    match &seen.observations(&host.name).api_server {
        Some(ApiServerState::Ready) => {}
        Some(ApiServerState::NotReady(_)) if begun => {}
        Some(ApiServerState::NotReady(output)) => {
            let refusal = at("its API server is not ready, and has to know the new key").because(output.trim().to_owned());
            return Some(refusal.hint("see `kokctl status`, and mend it first").passing());
        }
        Some(ApiServerState::Absent) | None => {
            return Some(
                at("it is no control plane of the cluster yet").hint("run `kokctl apply` first, or take the host out of the file"),
            );
        }
    }
    let has_none = keys(seen, host).signer().is_none();
    has_none.then(|| at(&format!("{TOKEN_KEYS} has no key in it")).hint("copy it from another control plane, or from a backup"))
}

/// Two control planes that know nothing of each other's keys.
fn strangers(planes: &[(&Host, PemSet)]) -> Refusal {
    let mut hosts: Vec<&str> = Vec::new();
    for (host, keys) in planes {
        if planes.iter().any(|(_, other)| keys.signer().is_some_and(|signer| !other.has(signer))) {
            hosts.push(&host.name);
        }
    }
    let refusal = Refusal::new("control planes sign tokens of service accounts with keys that others don't know");
    let refusal = refusal.because(format!("tokens of {} are refused elsewhere", listed(hosts)));
    refusal.hint(format!(
        "copy {SIGNING_KEY} and {TOKEN_KEYS} from a control plane that signs as most do to the others, and start their API servers anew"
    ))
}
