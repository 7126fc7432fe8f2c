//! Has etcd led by another member while no API server writes, before the one ends that leads.

use std::time::Duration;

use futures_util::future::join_all;
use kok_tasks::holder::compare_script;
use kok_tasks::observe::Look;
use kok_tasks::operations::lead::{ends_leader, give_script, go_on_script, hold_script, successors};
use kok_tasks::script::PRELUDE;
use kok_tasks::shell::quote;
use tokio::time::timeout;
use tracing::{debug, info};

use super::super::hosts::{Hosts as _, Order};
use super::OverSsh;
use crate::remote::Script;

/// How long the look may take, and the move. Its member gives the lead away by itself where it did not come to it.
const MOVE: Duration = Duration::from_secs(10);

/// How long API servers are waited for until they are held, and until they go on: half of what they are held at most. One that is away holds up nothing.
const HOLD: Duration = Duration::from_secs(1);

impl OverSsh {
    /// Gives the lead away that the member of an order's host has, if it has it and the order ends it. Nothing depends on that it comes about.
    pub(super) async fn move_lead(&self, order: &Order) {
        let Some(first) = order.steps.iter().find_map(|(step, _)| ends_leader(step)) else { return };
        // What is tried again has done that before, or can't.
        if self.writers.is_empty() || order.attempt > 1 {
            return;
        }
        let host = order.host.as_str();
        match timeout(MOVE, self.look(host, [Look::Etcd].into_iter().collect())).await {
            Ok(Ok(seen)) => self.give(host, &successors(first, &seen)).await,
            Ok(Err(_)) | Err(_) => debug!(host, "its member of etcd was not asked in time whether it leads"),
        }
    }

    async fn give(&self, host: &str, ids: &[u64]) {
        if ids.is_empty() {
            return;
        }
        let all = |script: fn() -> String| join_all(self.writers.iter().map(move |writer| self.runs(writer, script(), HOLD)));
        let held = all(hold_script).await.into_iter().filter(|is| *is).count();
        let moved = self.runs(host, give_script(ids), MOVE).await;
        all(go_on_script).await;
        info!(host, held, moved, "the lead of etcd is given away");
    }

    /// Whether a script did what it is for, on a host that is this run's still.
    async fn runs(&self, host: &str, script: String, at_most: Duration) -> bool {
        let Ok(link) = self.link(host) else { return false };
        let script = format!("{PRELUDE}kokctl_holder={}\n{}{script}", quote(&self.writer.line), compare_script());
        let work = async { link.scripts().await.ok()?.run(Script::new(script), at_most).await.ok() };
        timeout(at_most, work).await.ok().flatten().is_some_and(|output| output.is_success())
    }
}
