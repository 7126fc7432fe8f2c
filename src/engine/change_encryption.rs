//! What etcd holds, encrypted as the file asks for it, on a cluster that runs.

use std::sync::{Arc, OnceLock};

use kok_crds::model::Cluster;
use kok_tasks::plan::{EncryptionChange, KeyStage, Selection};

use super::apply::{Apply, ApplyRequest, make_secrets};
use super::context::{Context, Options};
use super::converge::{Planned, Tolerance, change_encryption as plan_stage, encryption_standing};
use super::driver::{Run, StagedOrder, Work};
use super::error::Error;
use super::given::Given;
use super::store::Lock;
use crate::artifacts::BundleFolder;
use crate::failure::Failure;
use crate::run::Outcome;

/// How etcd's content is encrypted, and is to be.
pub struct EncryptionStanding {
    /// What is encrypted by what, on the first control plane.
    pub is: String,
    /// What the file asks for.
    pub asked: String,
    /// Whether there is nothing to do: nothing is encrypted, and nothing is to be.
    pub is_idle: bool,
}

/// How it stands. Nothing is changed.
///
/// # Errors
/// [`Failure`]s where it can't be changed now.
pub async fn encryption(context: &Context, cluster: &Cluster) -> Result<EncryptionStanding, Vec<Failure>> {
    let ((is, asked), is_idle) = encryption_standing(cluster, context).await?;
    Ok(EncryptionStanding { is, asked, is_idle })
}

/// Brings what etcd holds to how the file asks for it to be encrypted, or goes on with that, stage by stage; what is left is seen on the hosts and in etcd. API
/// servers are started anew where they did not encrypt before, or are not to any more. What else the file asks for is applied with it. Whoever calls has the
/// cluster's lock, which ends with the run.
///
/// # Errors
/// [`Error`] if not all of it is done; the same call goes on with it.
pub async fn change_encryption(
    context: &Context,
    lock: Lock,
    cluster: &Cluster,
    (bundle, given): (&Arc<BundleFolder>, &Given),
    options: Options<'_>,
) -> Result<Option<Outcome>, Error> {
    let run = Run::begin("secrets change-encryption", cluster, None, (context, lock), options);
    let whole = Selection::whole();
    let first = OnceLock::new();
    let mut order = Way { cluster, bundle, given, whole: &whole, first: &first, change: None, stage: Stage::Key(KeyStage::Laid) };
    Ok(run.drive(&mut order).await?.outcome)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Of the files of keys, and of what is in etcd.
    Key(KeyStage),
    /// API servers are started that did not encrypt, or did not reach the plugin.
    Start,
    /// All is as the file says.
    End,
}

struct Way<'a> {
    cluster: &'a Cluster,
    bundle: &'a Arc<BundleFolder>,
    given: &'a Given,
    whole: &'a Selection,
    /// The cluster as its API servers are started first, if that is not yet how the file asks for it.
    first: &'a OnceLock<Cluster>,
    /// From the first look on: what a stage leaves looks like the beginning of another way.
    change: Option<EncryptionChange>,
    stage: Stage,
}

impl<'a> Way<'a> {
    /// What is applied in this stage, beside the stages of keys.
    fn request(&self) -> ApplyRequest<'a> {
        let before = self.change.as_ref().and_then(|change| change.before.clone()).filter(|_| self.stage == Stage::Start);
        let cluster = before.map_or(self.cluster, |encryption| {
            self.first.get_or_init(|| {
                let mut cluster = self.cluster.clone();
                cluster.settings.security.encryption = encryption;
                cluster
            })
        });
        ApplyRequest::of_stage(cluster, self.whole, (self.bundle, self.given))
    }
}

impl StagedOrder for Way<'_> {
    async fn plan(&mut self, run: &Run<'_>) -> Result<Planned, Vec<Failure>> {
        let Stage::Key(stage) = self.stage else {
            return Apply { request: &self.request() }.plan(run).await;
        };
        let tolerance = Tolerance { holder: run.options.take_over, ..Tolerance::default() };
        let (planned, change) = plan_stage(self.cluster, (self.change.as_ref(), stage), tolerance, run.context).await?;
        self.change = Some(change);
        Ok(planned)
    }

    async fn prepare(&mut self, run: &Run<'_>, planned: &Planned) -> Result<Work, Error> {
        if !matches!(self.stage, Stage::Key(_)) {
            return Apply { request: &self.request() }.prepare(run, planned).await;
        }
        let secrets = make_secrets(run, planned, &self.given.token).await?;
        Ok(Work { secrets, bundle: None, whole: false, most_failed: None })
    }

    fn is_done_by(&self, run: &Run<'_>, planned: &Planned) -> bool {
        if matches!(self.stage, Stage::Key(_)) {
            planned.plan.is_empty()
        } else {
            Apply { request: &self.request() }.is_done_by(run, planned)
        }
    }

    fn goes_on(&mut self) -> bool {
        let Some(change) = self.change.as_ref().filter(|change| !change.is_idle) else { return false };
        let next = match self.stage {
            Stage::Key(KeyStage::Laid) if change.starts => Some(Stage::Start),
            Stage::Start => Some(Stage::Key(KeyStage::Read)),
            Stage::Key(stage) => Some(stage.next().map_or(Stage::End, Stage::Key)),
            Stage::End => None,
        };
        self.stage = next.unwrap_or(self.stage);
        next.is_some()
    }
}
