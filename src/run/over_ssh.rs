//! Hosts reached over SSH.

mod lead;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kok_tasks::artifact::Artifact;
use kok_tasks::holder::{BUSY, HELD};
use kok_tasks::observe::{Looks, Nonce, Observations};
use kok_tasks::operations::Operation;
use kok_tasks::plan::Action;
use kok_tasks::resources::Act;
use kok_tasks::secret_name::SecretName;

use super::batch::{Batch, Settled, Writer};
use super::hosts::{Answer, Hosts, Order, OrderTrouble};
use super::link::{Link, Links};
use super::probe::look;
use super::progress::Counted;
use super::secrets::Secrets;
use crate::artifacts::BundleFolder;
use crate::event::Events;
use crate::failure::Failure;
use crate::randomness::random_bytes;
use crate::remote::{ConnectError, ExitStatus, Output, Prospect, RunError, Script};

/// What asking what became of an order takes besides waiting: a reboot's end (60 s), and a look.
const SETTLE: Duration = Duration::from_secs(120);

/// Everything that is needed to send scripts.
pub(super) struct OverSsh {
    pub(super) links: Links,
    pub(super) secrets: Secrets,
    pub(super) bundle: Option<Arc<BundleFolder>>,
    pub(super) events: Events,
    pub(super) writer: Writer,
    /// The boot id of each host when the run took it.
    pub(super) boots: BTreeMap<String, String>,
    /// Hosts whose API servers write to an etcd of several members.
    pub(super) writers: Vec<String>,
}

impl OverSsh {
    fn link(&self, host: &str) -> Result<&Arc<Link>, OrderTrouble> {
        let missing = || OrderTrouble::Failed { because: format!("there is no connection to {host}"), unknown: false };
        self.links.get(host).ok_or_else(missing)
    }

    async fn send(&self, order: &Order, script: Script, deadline: Duration) -> Result<Output, OrderTrouble> {
        let connection = self.link(&order.host)?.scripts().await.map_err(gone)?;
        connection.run(script, deadline).await.map_err(broken)
    }

    async fn stream(&self, order: &Order, script: Script, artifact: &Artifact) -> Result<Output, OrderTrouble> {
        let failed = |because: String| OrderTrouble::Failed { because, unknown: false };
        let Some(bundle) = &self.bundle else { return Err(failed("there is no bundle to take it from".to_owned())) };
        let file = bundle.read(artifact).map_err(|error| failed(format!("{}: {error}", artifact.title)))?;
        let link = self.link(&order.host)?;
        // Data has a connection of its own. If that can't be opened, the one for scripts says whether the host is gone.
        let connection = match link.bulk().await {
            Ok(connection) => connection,
            Err(error) => return Err(OrderTrouble::Lost { because: Failure::from(error).one_line(), begun: false }),
        };
        let step = order.steps.first().map(|(step, _)| step.id.to_string()).unwrap_or_default();
        let counted = Counted::new(file, self.events.clone(), step, artifact.size);
        connection.stream(script, counted, order.deadline).await.map(|streamed| streamed.output).map_err(broken)
    }
}

impl Hosts for OverSsh {
    async fn act(&self, order: &Order) -> Result<Answer, OrderTrouble> {
        let batch = Batch::new(order, nonce()?);
        if order.steps.iter().any(|(step, _)| matches!(step.action, Action::Operation(Operation::Reboot(_)))) {
            self.link(&order.host)?.wait_at_least(order.deadline);
        }
        self.move_lead(order).await;
        let limit = batch.answer_limit(self.link(&order.host)?.cluster_hosts());
        let script = Script::new(batch.script(&self.writer, &self.secrets).map_err(not_prepared)?).stdout_limit(limit);
        let output = match order.steps.first() {
            Some((_, Act::Stream { artifact, .. })) => self.stream(order, script, artifact).await?,
            _ => self.send(order, script, order.deadline).await?,
        };
        let reason = output.reason().unwrap_or_default();
        match output.status {
            ExitStatus::Exited(HELD) => Err(OrderTrouble::Held { because: reason }),
            // What it did is asked for, by a script that says less.
            _ if output.stdout_truncated => Err(OrderTrouble::Lost {
                because: format!("its script said more than the {} bytes that were kept of it", output.stdout.len()),
                begun: true,
            }),
            ExitStatus::Exited(BUSY) => Err(OrderTrouble::Failed { because: reason, unknown: false }),
            // What it did is looked at again.
            _ => batch.read(&output, &self.secrets).map_err(|error| OrderTrouble::Lost { because: cut_off(&error, &reason), begun: true }),
        }
    }

    async fn settle(&self, order: &Order, patience: Duration) -> Result<Answer, OrderTrouble> {
        let batch = Batch::new(order, nonce()?);
        let boot = self.boots.get(&order.host).map(String::as_str).unwrap_or_default();
        let script = batch.settle_script(&self.writer, boot, patience.as_secs(), &self.secrets).map_err(not_prepared)?;
        let script = Script::new(script).at_most(batch.answer_limit(self.link(&order.host)?.cluster_hosts()));
        // Twice the patience: once for the script, once for the job.
        let output = self.send(order, script, patience * 2 + SETTLE).await?;
        let reason = output.reason().unwrap_or_default();
        let settled = batch
            .read_settled(&output, &self.writer, boot, &self.secrets)
            .map_err(|error| OrderTrouble::Failed { because: cut_off(&error, &reason), unknown: true })?;
        match settled {
            Settled::Answered(answer) => Ok(*answer),
            Settled::Held(because) => Err(OrderTrouble::Held { because }),
            Settled::AtWork => Err(OrderTrouble::Late { because: format!("it is still at work after further {} s", patience.as_secs()) }),
        }
    }

    async fn look(&self, host: &str, looks: Looks) -> Result<Observations, OrderTrouble> {
        let link = self.link(host)?;
        link.scripts().await.map_err(gone)?;
        // A look that failed changes nothing, so it may be repeated whatever became of it.
        look(host, link, looks).await.map_err(|failure| OrderTrouble::Lost { because: failure.one_line(), begun: false })
    }

    fn reaches(&self, host: &str) -> bool {
        self.links.contains_key(host)
    }

    fn redact(&self, text: &str) -> String {
        self.secrets.redact(text)
    }
}

fn nonce() -> Result<Nonce, OrderTrouble> {
    random_bytes().map(Nonce::new).map_err(|failure| OrderTrouble::Failed { because: failure.one_line(), unknown: false })
}

fn not_prepared(name: SecretName) -> OrderTrouble {
    OrderTrouble::Failed { because: format!("{name} was not prepared; nothing was sent to the host"), unknown: false }
}

fn gone(error: ConnectError) -> OrderTrouble {
    let is_away = error.prospect() == Prospect::Away;
    OrderTrouble::Gone { because: Failure::from(error).one_line(), is_away }
}

fn broken(error: RunError) -> OrderTrouble {
    let (not_started, late, unknown) =
        (matches!(error, RunError::NotStarted { .. }), matches!(error, RunError::Deadline { .. }), error.may_have_run());
    let because = Failure::from(error).one_line();
    match (not_started, late) {
        (_, true) => OrderTrouble::Late { because },
        (true, _) => OrderTrouble::Lost { because, begun: false },
        _ if unknown => OrderTrouble::Lost { because, begun: true },
        _ => OrderTrouble::Failed { because, unknown },
    }
}

fn cut_off(error: &kok_tasks::observe::ParseError, reason: &str) -> String {
    if reason.is_empty() { error.to_string() } else { format!("{error}; it said: {reason}") }
}
