//! The way by which a holder's record on a host is changed.

use std::sync::Arc;
use std::time::Duration;

use kok_tasks::holder;

use super::resend::{Sent, resend};
use crate::event::Events;
use crate::failure::{Failure, Kind};
use crate::remote::{Output, Script};
use crate::run::link::{Link, Links};

/// What the script allows itself, and the way there and back.
const TAKE: Duration = Duration::from_secs(holder::TAKE_SECONDS + 10);

/// Letting go is a courtesy to the next run, and one of the same controller does without: what the script waits for the record, and the way
/// there and back.
const RELEASE: Duration = Duration::from_secs(25);

/// The way by which a holder's record on a host is changed.
pub(in crate::run) trait Door {
    /// Whether there is a way to this host.
    fn leads_to(&self, host: &str) -> bool;

    /// Sends the script that takes a host, again if the way breaks. `boot` is the host's boot id when it was probed.
    fn take(&self, host: &str, boot: Option<String>, script: String) -> impl Future<Output = Result<Output, Failure>> + Send + 'static;

    /// Sends the script that lets go of a host; or says why it was not answered.
    fn release(&self, host: &str, script: String) -> impl Future<Output = Result<Output, String>> + Send + 'static;
}

/// By the connections of a run.
pub(in crate::run) struct ByLinks {
    links: Links,
    events: Events,
}

impl ByLinks {
    /// By these connections; when one breaks and when it is there again is told.
    pub(in crate::run) fn new(links: &Links, events: &Events) -> Self {
        Self { links: links.clone(), events: events.clone() }
    }
}

impl Door for ByLinks {
    fn leads_to(&self, host: &str) -> bool {
        self.links.contains_key(host)
    }

    fn take(&self, host: &str, boot: Option<String>, script: String) -> impl Future<Output = Result<Output, Failure>> + Send + 'static {
        let (link, host, events) = (self.links.get(host).map(Arc::clone), host.to_owned(), self.events.clone());
        // Where it was done already it does nothing.
        async move { resend(&host, boot.as_deref(), &events, || try_send(link.as_deref(), &host, script.clone())).await }
    }

    fn release(&self, host: &str, script: String) -> impl Future<Output = Result<Output, String>> + Send + 'static {
        let (link, host) = (self.links.get(host).map(Arc::clone), host.to_owned());
        async move {
            match tokio::time::timeout(RELEASE, send(link.as_deref(), &host, script)).await {
                Ok(answer) => answer.map_err(|failure| failure.one_line()),
                Err(_) => Err(format!("the host did not answer within {} s", RELEASE.as_secs())),
            }
        }
    }
}

async fn try_send(link: Option<&Link>, host: &str, script: String) -> Sent {
    let Some(link) = link else { return Sent::Failed(no_way_to(host)) };
    match link.scripts().await {
        Ok(connection) => Sent::from_result(connection.run(Script::new(script), TAKE).await, || connection.is_lost()).await,
        Err(error) => Sent::Failed(error.into()),
    }
}

async fn send(link: Option<&Link>, host: &str, script: String) -> Result<Output, Failure> {
    let link = link.ok_or_else(|| no_way_to(host))?;
    Ok(link.scripts().await?.run(Script::new(script), RELEASE).await?)
}

fn no_way_to(host: &str) -> Failure {
    Failure::new(Kind::Internal, "it is not connected").at(format!("host {host}"))
}
