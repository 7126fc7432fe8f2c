//! Has etcd led by another member while no API server writes, before the one ends that leads.

use std::time::Duration;

use futures_util::future::join_all;
use kok_tasks::observe::Look;
use kok_tasks::operations::lead::{ends_leader, give_script, go_on_script, hold_script, successors};
use tokio::time::timeout;
use tracing::{debug, info};

use super::super::hosts::{Hosts as _, Order};
use super::OverSsh;
use crate::remote::Script;

/// How long all of it may take. Its member gives the lead away by itself where it did not come to it.
const MOVE: Duration = Duration::from_secs(20);

/// How long one of its scripts may take.
const SCRIPT: Duration = Duration::from_secs(5);

impl OverSsh {
    /// Gives the lead away that the member of an order's host has, if it has it and the order ends it. Nothing depends on that it comes about.
    pub(super) async fn move_lead(&self, order: &Order) {
        let Some(first) = order.steps.iter().find_map(|(step, _)| ends_leader(step)) else { return };
        if timeout(MOVE, self.moves(&order.host, first)).await.is_err() {
            debug!(host = order.host, "the lead of etcd was not given away in time");
        }
    }

    async fn moves(&self, host: &str, first: &[String]) {
        let Ok(seen) = self.look(host, [Look::Etcd].into_iter().collect()).await else { return };
        let ids = successors(first, &seen);
        if ids.is_empty() {
            return;
        }
        let all = |script: fn() -> String| join_all(self.planes.iter().map(move |writer| self.runs(writer, script())));
        let held = all(hold_script).await.into_iter().filter(|is| *is).count();
        let moved = self.runs(host, give_script(&ids)).await;
        all(go_on_script).await;
        info!(host, held, moved, "the lead of etcd is given away");
    }

    /// Whether a script did what it is for.
    async fn runs(&self, host: &str, script: String) -> bool {
        let Ok(link) = self.link(host) else { return false };
        let Ok(connection) = link.scripts().await else { return false };
        connection.run(Script::new(script), SCRIPT).await.is_ok_and(|output| output.is_success())
    }
}
