//! Pushing a bundle's images into a registry of one's own, each with the digest of its manifest.
//!
//! A tag is moved last, when everything that it names is there: a push that was cut leaves the registry as it was, but for what the next push finds there.

mod archive;
mod blob;
mod session;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use kok_tasks::artifact::Artifact;
use kok_tasks::pushed::{PushedTag, Registry};

use super::BundleFolder;
use super::fetch::{Client, Progress, Trouble, UpstreamConnection, all, failures};
use crate::failure::Failure;
use session::{Lack, PushSession};

/// What is to be pushed, and where to.
pub struct PushRequest<'a> {
    /// The bundle.
    pub folder: &'a BundleFolder,
    /// What of it, and what it is called there.
    pub places: Vec<PushedTag>,
    /// Where to.
    pub registry: &'a Registry,
    /// By what the registry is reached.
    pub connection: &'a UpstreamConnection,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pushed {
    /// How many tags were pushed; the others named all of it already.
    pub tags: usize,
    /// How many bytes were sent.
    pub bytes: u64,
}

/// Pushes what the registry does not have yet.
///
/// # Errors
/// One [`Failure`] for each tag that could not be pushed; what was pushed besides stays, and the next push goes on. Once somebody has to do something no
/// other one begins. Archives are compared with the bundle's index before the first is sent.
pub async fn push(request: PushRequest<'_>, progress: Arc<dyn Progress>) -> Result<Pushed, Vec<Failure>> {
    let PushRequest { folder, places, registry, connection } = request;
    let client = Client::sending(connection, registry).map_err(|failure| vec![failure])?;
    let session = Arc::new(PushSession::new(client, registry.clone(), Arc::clone(&progress)));
    let lacks: Vec<Lack> = one_then_all(places, |place| Arc::clone(&session).ask(place)).await?.into_iter().flatten().collect();
    if lacks.is_empty() {
        return Ok(Pushed::default());
    }
    let artifacts: Vec<Artifact> = lacks.iter().flat_map(|lack| &lack.missing).map(Artifact::from).collect();
    tokio::task::block_in_place(|| folder.verify(artifacts.iter()))?;
    let opened = tokio::task::block_in_place(|| archive::open_all(folder, lacks))?;
    let tags = opened.len();
    progress.begins(tags, opened.iter().map(session::Opened::bytes).sum());
    one_then_all(opened, |opened| Arc::clone(&session).push(opened)).await?;
    Ok(Pushed { tags, bytes: session.sent() })
}

/// Does it with the first, and then with all others: a login that is refused is told once, and not for each.
async fn one_then_all<T, A, F>(mut items: Vec<T>, work: impl Fn(T) -> F) -> Result<Vec<A>, Vec<Failure>>
where
    F: Future<Output = Result<A, Trouble>> + Send + 'static,
    A: Send + 'static,
{
    if items.is_empty() {
        return Ok(Vec::new());
    }
    let others = items.split_off(1);
    let mut done = Vec::new();
    for items in [items, others] {
        let (good, bad): (Vec<_>, Vec<_>) = all(items, &work).await.into_iter().partition(Result::is_ok);
        if !bad.is_empty() {
            return Err(failures(bad.into_iter().filter_map(Result::err).collect()));
        }
        done.extend(good.into_iter().filter_map(Result::ok));
    }
    Ok(done)
}
