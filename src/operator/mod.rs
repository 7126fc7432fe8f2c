//! The operator: it serves `Cluster` and `ClusterOperation` objects of a meta-cluster by the verbs of the engine.
//!
//! ```text
//! watches ─► stores ─► View ─► decide ─► Intents ─► supervisor ─► Life (Lease, inputs, host keys, engine, outputs) ─► status
//! ```
//!
//! What decides is pure and never waits (`decide.rs`); who has a cluster's Lease writes about it (`attend.rs`); and what fences is the holder record
//! on each host, which all replicas write as the same controller.

mod approval;
mod attend;
mod carry_out;
mod cluster_status;
mod connect;
mod deadline;
mod decide;
mod definitions;
mod drift;
#[cfg(test)]
mod fake;
mod follow;
mod group;
mod history;
mod http;
mod inputs;
mod journal;
mod journals;
mod lasting;
mod lease;
mod life;
mod made;
mod metrics;
mod object;
mod outputs;
mod owned;
mod page;
mod progress;
mod retry;
mod serve;
mod served;
mod shared;
mod sink;
mod status;
mod stores;
mod supervisor;
mod trust;
mod versions;
mod view;
mod watches;
mod watching;
mod writer;
mod writes;

use std::sync::Arc;

use crate::failure::{Failure, Kind};

pub use follow::FollowedEvent;
pub use group::Group;
pub use journals::{OperationRun, operation_run};
pub use shared::OperatorSettings;
pub use watching::{Watched, watch};

/// Serves until it is told to end. What is under way then is ended in good order, for others to go on with.
///
/// # Errors
/// [`Failure`] if it can't begin: without a meta-cluster, its definitions, or the right to use them.
pub async fn run(settings: OperatorSettings) -> Result<(), Failure> {
    let (health, metrics) = (Arc::new(http::Health::default()), Arc::new(metrics::Metrics::default()));
    if let Some(address) = settings.health {
        http::serve_health(address, Arc::clone(&health)).await?;
    }
    if let Some(address) = settings.metrics {
        http::serve_metrics(address, Arc::clone(&metrics)).await?;
    }
    let engine = tokio::runtime::Builder::new_multi_thread().thread_name("engine").enable_all().build();
    let engine = engine.map_err(|error| Failure::new(Kind::Internal, "the program can't start its threads").because(error.to_string()))?;
    let served = serve_with(settings, engine.handle().clone(), metrics, &health).await;
    // Nothing is at work in it any more that has to be awaited.
    engine.shutdown_background();
    served
}

async fn serve_with(
    settings: OperatorSettings,
    engine: tokio::runtime::Handle,
    metrics: Arc<metrics::Metrics>,
    health: &Arc<http::Health>,
) -> Result<(), Failure> {
    let (shared, first_start) = connect::connect(settings, engine, metrics).await?;
    let shared = Arc::new(shared);
    if let Some(address) = shared.settings.web {
        page::serve_page(address, Arc::clone(&shared), Arc::clone(health)).await?;
    }
    serve::ServeLoop::new(shared, first_start, Arc::clone(health)).serve().await;
    Ok(())
}
