//! Another certificate authority, on a cluster that runs.

use kok_crds::model::{AuthorityName, Cluster};
use kok_crds::operation::Verb;
use kok_pki::{Authority, AuthorityKind, SecretText, inspect_certificate};
use kok_tasks::identity;
use kok_tasks::plan::{AuthorityStage, AuthorityStanding, Refusal, Seen, may_begin_authority, may_end_authority};
use kok_tasks::preconditions::{authority_kind, authority_word};
use time::OffsetDateTime;

use super::apply::make_secrets_with;
use super::context::{Context, Options};
use super::converge::{NextAuthority, Planned, Tolerance, replace_authority};
use super::driver::{Run, StagedOrder, Work};
use super::error::Error;
use super::given::Given;
use super::store::Lock;
use crate::clock::Clock;
use crate::failure::Failure;
use crate::randomness::SystemRandomness;
use crate::run::{MadeSigner, Outcome};

/// What is to become of an authority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthorityWish {
    /// Another one signs, and the one from before is trusted still.
    Replace,
    /// Nobody trusts the one from before.
    End {
        /// Also while pods know no other.
        anyway: bool,
    },
}

/// An authority that was replaced.
pub struct AuthorityRotated {
    /// Lower-case hexadecimal sha256 of the certificate of the one that signs.
    pub sha256: String,
    /// How it ended, with what all stages have done; nothing, if nothing was left to do.
    pub outcome: Option<Outcome>,
}

/// Replaces an authority, or ends that, stage by stage; what is left of one is seen on the hosts. Whoever calls has the cluster's lock, which ends with the run.
///
/// # Errors
/// [`Error`] if not all of it is done; the same call goes on with it.
pub async fn rotate_authority(
    context: &Context,
    lock: Lock,
    (cluster, name, wish): (&Cluster, AuthorityName, AuthorityWish),
    given: &Given,
    options: Options<'_>,
) -> Result<AuthorityRotated, Error> {
    let verb = if wish == AuthorityWish::Replace { Verb::RotateAuthority(name) } else { Verb::EndAuthority(name) };
    let run = Run::begin(verb.as_str(), cluster, None, (context, lock), options);
    let mut order = Rotation { cluster, kind: authority_kind(name), given, wish, next: None, trusted: String::new() };
    let driven = run.drive(&mut order).await?;
    let certificate = order.next.map(|next| next.certificate).unwrap_or_default();
    let sha256 = inspect_certificate(&certificate).map(|facts| facts.sha256).unwrap_or_default();
    Ok(AuthorityRotated { sha256, outcome: driven.outcome })
}

/// The authority that signs at the end, and where its key is.
struct Next {
    certificate: String,
    key: NextKey,
    stage: AuthorityStage,
}

enum NextKey {
    Made(SecretText),
    OfHost(String),
}

impl Next {
    fn of_host(certificate: String, keeper: String, stage: AuthorityStage) -> Self {
        Self { certificate, key: NextKey::OfHost(keeper), stage }
    }
}

struct Rotation<'a> {
    cluster: &'a Cluster,
    kind: AuthorityKind,
    given: &'a Given,
    wish: AuthorityWish,
    /// From the first look on: what a stage leaves looks like the beginning of another rotation.
    next: Option<Next>,
    /// What all hosts trust by the present plan.
    trusted: String,
}

impl Rotation<'_> {
    /// Which one signs at the end, and what comes first, by how far the cluster has come.
    fn choose(&self, standing: AuthorityStanding, seen: &Seen) -> Result<Next, Vec<Refusal>> {
        match (standing, self.wish) {
            (AuthorityStanding::One { begun, .. }, AuthorityWish::Replace) => {
                // What a run that was killed has ended comes back by itself, and is waited for.
                if !begun {
                    may_begin_authority(self.cluster, self.kind, seen)?;
                }
                self.made()
            }
            (AuthorityStanding::Begun { certificate, keeper }, AuthorityWish::Replace) => {
                Ok(Next::of_host(certificate, keeper, AuthorityStage::Known))
            }
            (AuthorityStanding::Replaced { ends: true, .. }, AuthorityWish::Replace) => {
                let refusal = Refusal::new("the end of the authority from before has begun").because("some hosts trust it no more");
                Err(vec![refusal.hint(format!("`kokctl certs rotate ca {} --finish` goes on with it", authority_word(self.kind)))])
            }
            (AuthorityStanding::Replaced { certificate, keeper, .. }, AuthorityWish::Replace) => {
                Ok(Next::of_host(certificate, keeper, AuthorityStage::Signs))
            }
            // A key that is to sign next may lie on a host already, so neither of the two could go.
            (AuthorityStanding::Begun { .. } | AuthorityStanding::One { begun: true, .. }, AuthorityWish::End { .. }) => {
                let refusal = Refusal::new("the new authority does not sign on all hosts yet");
                Err(vec![refusal.hint(format!("`kokctl certs rotate ca {}` without --finish goes on with it", authority_word(self.kind)))])
            }
            // What is left on hosts without a key.
            (AuthorityStanding::One { certificate, keeper, begun: false }, AuthorityWish::End { .. })
            | (AuthorityStanding::Replaced { certificate, keeper, ends: true }, AuthorityWish::End { .. }) => {
                Ok(Next::of_host(certificate, keeper, AuthorityStage::Alone))
            }
            (AuthorityStanding::Replaced { certificate, keeper, ends: false }, AuthorityWish::End { anyway }) => {
                if !anyway {
                    may_end_authority(self.cluster, self.kind, seen)?;
                }
                Ok(Next::of_host(certificate, keeper, AuthorityStage::Signs))
            }
        }
    }

    fn made(&self) -> Result<Next, Vec<Refusal>> {
        let now = OffsetDateTime::from_unix_timestamp(Clock::seconds()).unwrap_or(OffsetDateTime::UNIX_EPOCH);
        let made = Authority::generate(self.kind, &identity::policy(self.cluster), now, &mut SystemRandomness);
        let refused = |because: String| vec![Refusal::new("no new authority could be made").because(because)];
        let made = made.map_err(|error| refused(error.to_string()))?;
        let key = made.key_pem().cloned().ok_or_else(|| refused("it has no key".to_owned()))?;
        Ok(Next { certificate: made.certificate_pem().to_owned(), key: NextKey::Made(key), stage: AuthorityStage::Known })
    }
}

impl StagedOrder for Rotation<'_> {
    async fn plan(&mut self, run: &Run<'_>) -> Result<Planned, Vec<Failure>> {
        let tolerance = Tolerance { holder: run.options.take_over, ..Tolerance::default() };
        let (cluster, kind) = (self.cluster, self.kind);
        let ends = self.next.is_none() && self.wish == (AuthorityWish::End { anyway: false });
        let choose = |standing, seen: &Seen| {
            let chosen = match self.next.take() {
                Some(next) => next,
                None => self.choose(standing, seen)?,
            };
            let keeper = if let NextKey::OfHost(keeper) = &chosen.key { Some(keeper.clone()) } else { None };
            let next = NextAuthority { certificate: chosen.certificate.clone(), keeper, stage: chosen.stage };
            self.next = Some(chosen);
            Ok(next)
        };
        let (planned, trusted) = replace_authority((cluster, kind, ends), choose, tolerance, run.context).await?;
        self.trusted = trusted;
        Ok(planned)
    }

    async fn prepare(&mut self, run: &Run<'_>, planned: &Planned) -> Result<Work, Error> {
        let next = self.next.as_ref().filter(|next| next.stage != AuthorityStage::Known);
        let key = next.and_then(|next| if let NextKey::Made(key) = &next.key { Some(key) } else { None });
        let made = next.map(|_| MadeSigner::Authority { kind: self.kind, trusted: &self.trusted, key });
        let secrets = make_secrets_with(run, planned, (&self.given.token, made)).await?;
        Ok(Work { secrets, bundle: None, whole: false, most_failed: None })
    }

    fn is_done_by(&self, _: &Run<'_>, planned: &Planned) -> bool {
        planned.plan.is_empty()
    }

    fn goes_on(&mut self) -> bool {
        let (kind, ends) = (self.kind, self.wish != AuthorityWish::Replace);
        let Some(next) = &mut self.next else { return false };
        let stage = match next.stage {
            AuthorityStage::Known => Some(AuthorityStage::Signs),
            AuthorityStage::Signs if ends && kind == AuthorityKind::Kubernetes => Some(AuthorityStage::Shown),
            AuthorityStage::Signs | AuthorityStage::Shown if ends => Some(AuthorityStage::Alone),
            AuthorityStage::Signs | AuthorityStage::Shown | AuthorityStage::Alone => None,
        };
        next.stage = stage.unwrap_or(next.stage);
        stage.is_some()
    }
}
