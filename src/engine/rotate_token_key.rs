//! Another key of service accounts, on a cluster that runs.

use kok_crds::model::Cluster;
use kok_pki::{PrivateKey, SecretText};
use kok_tasks::identity;
use kok_tasks::plan::{Refusal, Seen, TokenKeyStage, TokenKeyStanding, may_end_token_key};
use kok_tasks::token_keys::key_id;

use super::apply::make_secrets_with;
use super::context::{Context, Options};
use super::converge::{NextTokenKey, Planned, Tolerance, replace_token_key};
use super::driver::{Run, StagedOrder, Work};
use super::error::Error;
use super::given::Given;
use super::store::Lock;
use crate::failure::Failure;
use crate::randomness::SystemRandomness;
use crate::run::{MadeSigner, Outcome};

/// What is to become of the key of service accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKeyWish {
    /// Another one signs, and the one from before is taken still.
    Replace,
    /// The one from before is refused.
    End {
        /// Also while tokens that it has signed may be in use.
        anyway: bool,
    },
}

/// A key that was replaced.
pub struct TokenKeyRotated {
    /// The name by which tokens say that the key has signed them (`kid`).
    pub key: String,
    /// How it ended, with what all stages have done; nothing, if nothing was left to do.
    pub outcome: Option<Outcome>,
}

/// Replaces the key that signs the tokens of service accounts, or ends that, stage by stage; what is left of one is seen on the hosts. Whoever calls has the
/// cluster's lock, which ends with the run.
///
/// # Errors
/// [`Error`] if not all of it is done; the same call goes on with it.
pub async fn rotate_token_key(
    context: &Context,
    lock: Lock,
    (cluster, wish): (&Cluster, TokenKeyWish),
    given: &Given,
    options: Options<'_>,
) -> Result<TokenKeyRotated, Error> {
    let name = match wish {
        TokenKeyWish::Replace => "certs rotate service-account",
        TokenKeyWish::End { .. } => "certs rotate service-account --finish",
    };
    let run = Run::begin(name, cluster, None, (context, lock), options);
    let stage = if wish == TokenKeyWish::Replace { TokenKeyStage::Known } else { TokenKeyStage::Signs };
    let mut order = Rotation { cluster, given, wish, next: None, stage };
    let driven = run.drive(&mut order).await?;
    let key = order.next.and_then(|next| key_id(next.public())).unwrap_or_default();
    Ok(TokenKeyRotated { key, outcome: driven.outcome })
}

/// The key that signs at the end.
enum Signing {
    Made { key: SecretText, public: String },
    OfHost { public: String, keeper: String },
}

impl Signing {
    fn public(&self) -> &str {
        match self {
            Self::Made { public, .. } | Self::OfHost { public, .. } => public,
        }
    }
}

struct Rotation<'a> {
    cluster: &'a Cluster,
    given: &'a Given,
    wish: TokenKeyWish,
    /// From the first look on: what a stage leaves looks like the beginning of another rotation.
    next: Option<Signing>,
    stage: TokenKeyStage,
}

impl Rotation<'_> {
    /// Which key signs at the end, by how far the cluster has come.
    fn choose(&self, standing: TokenKeyStanding, seen: &Seen) -> Result<Signing, Vec<Refusal>> {
        match (standing, self.wish) {
            (TokenKeyStanding::One | TokenKeyStanding::Unread { .. }, TokenKeyWish::Replace) => self.made(),
            // A run was killed that had taken the key from before out of the files.
            (TokenKeyStanding::Unread { key, keeper }, TokenKeyWish::End { .. }) => Ok(Signing::OfHost { public: key, keeper }),
            (TokenKeyStanding::One, TokenKeyWish::End { .. }) => {
                let refusal = Refusal::new("no key of service accounts from before is there that could go");
                Err(vec![refusal.hint("`kokctl certs rotate service-account` without --finish has another key sign first")])
            }
            (TokenKeyStanding::Begun { .. }, TokenKeyWish::End { .. }) => {
                let refusal = Refusal::new("not all control planes sign tokens of service accounts with the new key yet");
                Err(vec![refusal.hint("`kokctl certs rotate service-account` without --finish goes on with it")])
            }
            (TokenKeyStanding::Begun { key, keeper }, TokenKeyWish::Replace) => Ok(Signing::OfHost { public: key, keeper }),
            (TokenKeyStanding::Replaced { key, keeper, age_seconds }, wish) => {
                if wish == (TokenKeyWish::End { anyway: false }) {
                    may_end_token_key(self.cluster, (&key, age_seconds), seen)?;
                }
                Ok(Signing::OfHost { public: key, keeper })
            }
        }
    }

    fn made(&self) -> Result<Signing, Vec<Refusal>> {
        let key = PrivateKey::generate(identity::policy(self.cluster).algorithm, &mut SystemRandomness);
        let key = key.map_err(|error| vec![Refusal::new("the system has no randomness for a new key").because(error.to_string())])?;
        Ok(Signing::Made { public: key.public_key_pem(), key: key.pem().clone() })
    }
}

impl StagedOrder for Rotation<'_> {
    async fn plan(&mut self, run: &Run<'_>) -> Result<Planned, Vec<Failure>> {
        let tolerance = Tolerance { holder: run.options.take_over, ..Tolerance::default() };
        let (stage, cluster) = (self.stage, self.cluster);
        let ends = self.next.is_none() && self.wish == (TokenKeyWish::End { anyway: false });
        let choose = |standing, seen: &Seen| {
            let signing = match self.next.take() {
                Some(signing) => signing,
                None => self.choose(standing, seen)?,
            };
            let keeper = if let Signing::OfHost { keeper, .. } = &signing { Some(keeper.clone()) } else { None };
            let next = NextTokenKey { key: signing.public().to_owned(), keeper };
            self.next = Some(signing);
            Ok(next)
        };
        replace_token_key((cluster, stage, ends), choose, tolerance, run.context).await
    }

    async fn prepare(&mut self, run: &Run<'_>, planned: &Planned) -> Result<Work, Error> {
        let made = if let Some(Signing::Made { key, .. }) = &self.next { Some(MadeSigner::TokenKey(key)) } else { None };
        let secrets = make_secrets_with(run, planned, (&self.given.token, made)).await?;
        Ok(Work { secrets, bundle: None, whole: false, most_failed: None })
    }

    fn is_done_by(&self, _: &Run<'_>, planned: &Planned) -> bool {
        planned.plan.is_empty()
    }

    fn goes_on(&mut self) -> bool {
        let next = match self.stage {
            TokenKeyStage::Known => Some(TokenKeyStage::Signs),
            TokenKeyStage::Signs if self.wish != TokenKeyWish::Replace => Some(TokenKeyStage::Alone),
            TokenKeyStage::Signs | TokenKeyStage::Alone => None,
        };
        self.stage = next.unwrap_or(self.stage);
        next.is_some()
    }
}
