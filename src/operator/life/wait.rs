//! Waiting for what may come, as long as nobody wishes the end.

use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::super::attend::Wish;
use super::super::inputs::Unready;
use super::super::object::{self, Condition};
use super::super::status::ANSWER;
use super::{End, Failure, Kind, MISSING, OperationLife, Phase};

/// The first pause before something is looked for again.
const FIRST: Duration = Duration::from_secs(5);
/// The longest one.
const LONGEST: Duration = Duration::from_secs(60);

impl OperationLife {
    /// Lets this time pass, unless the end is wished.
    pub(super) async fn pause(&mut self, time: Duration) -> Result<(), End> {
        let wished = timeout(time, self.wish.wait_for(|wish| *wish != Wish::None)).await.is_ok();
        if wished { Err(End::Stopped) } else { Ok(()) }
    }

    /// What the API answers, which is asked until it does.
    pub(super) async fn answered<T, F>(&mut self, ask: impl Fn() -> F) -> Result<T, End>
    where
        F: Future<Output = kube::Result<T>>,
    {
        loop {
            match timeout(ANSWER, ask()).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(error)) if is_refused(&error) => return Err(End::failed("Refused", refused(&error))),
                Ok(Err(error)) => tracing::warn!(cluster = %self.at.key, %error, "the API server can't be asked"),
                Err(_) => {}
            }
            self.pause(FIRST).await?;
        }
    }

    /// What may fail for a while, as what is kept elsewhere does: tried until it succeeds, or has failed for as long as something may be missing.
    pub(super) async fn tried<T, F>(&mut self, what: &'static str, work: impl Fn() -> F) -> Result<T, End>
    where
        F: Future<Output = Result<T, String>>,
    {
        let began = Instant::now();
        loop {
            let because = match timeout(ANSWER, work()).await {
                Ok(Ok(done)) => return Ok(done),
                Ok(Err(because)) => because,
                Err(_) => format!("the API server has not answered within {} s", ANSWER.as_secs()),
            };
            tracing::warn!(cluster = %self.at.key, because, "{what}");
            if began.elapsed() >= MISSING {
                return Err(End::failed("HostKeys", Failure::new(Kind::Internal, what).because(because)));
            }
            self.pause(FIRST).await?;
        }
    }

    /// What is read of other objects, which are waited for if they are not there yet.
    pub(super) async fn ready<T, F>(&mut self, read: impl Fn() -> F) -> Result<T, End>
    where
        F: Future<Output = Result<T, Unready>>,
    {
        let (began, mut pause) = (Instant::now(), FIRST);
        loop {
            let failure = match timeout(ANSWER, read()).await {
                Ok(Ok(found)) => return Ok(found),
                Ok(Err(Unready::Wrong(failure))) => return Err(End::failed("InputRefused", failure)),
                Ok(Err(Unready::Missing(what))) => {
                    let failure = Failure::new(Kind::Input, format!("{what} is not there"));
                    Some(failure.at(format!("ClusterOperation {}", self.at.operation)).hint("make it, and the operation goes on"))
                }
                Ok(Err(Unready::Api(error))) => {
                    tracing::warn!(cluster = %self.at.key, %error, "inputs can't be read");
                    // Its roles may come after what is to be read.
                    is_refused(&error).then(|| refused(&error))
                }
                Ok(Err(Unready::Unanswered)) | Err(_) => None,
            };
            if let Some(failure) = failure {
                if began.elapsed() >= MISSING {
                    return Err(End::failed("InputsMissing", failure));
                }
                self.waits("InputsMissing", failure).await;
            }
            self.permit = None;
            self.pause(pause).await?;
            pause = LONGEST.min(pause * 2);
        }
    }

    /// Says what is waited for, once.
    async fn waits(&self, reason: &'static str, failure: Failure) {
        if self.writer.now().error.as_ref() == Some(&failure) {
            return;
        }
        let message = [Some(&failure.what), failure.because.as_ref()].into_iter().flatten().cloned().collect::<Vec<_>>().join(": ");
        self.writer.change(|status| {
            status.phase = Phase::Pending;
            status.error = Some(failure);
            status.set(Condition { kind: "Reconciling", is: true, reason, message: message.clone() });
        });
        self.say(|patch| patch.condition("InputsReady", false, reason, message.clone())).await;
    }

    /// Says that what was waited for is there, if a status says that something is not: by this attempt or the one before it, or by another operation.
    pub(super) async fn told_ready(&self) {
        let conditions = self.writer.now().conditions;
        let waited = conditions.iter().any(|condition| condition.kind == "Reconciling" && condition.reason == "InputsMissing");
        let before = object::condition(&self.found.cluster.data, "clusterConditions", "InputsReady");
        if !waited && before.is_none_or(|before| before.get("status").is_none_or(|status| status != "False")) {
            return;
        }
        self.writer.change(|status| {
            status.set(Condition { kind: "Reconciling", is: true, reason: "Running", message: String::new() });
        });
        self.say(|patch| patch.condition("InputsReady", true, "Found", "")).await;
    }

    /// Waits until it may be one of the runs under way.
    pub(super) async fn take_permit(&mut self) -> Result<(), End> {
        if self.permit.is_some() {
            return Ok(());
        }
        let permits = std::sync::Arc::clone(&self.at.shared.permits);
        self.permit = tokio::select! {
            permit = permits.acquire_owned() => permit.ok(),
            _ = self.wish.wait_for(|wish| *wish != Wish::None) => return Err(End::Stopped),
        };
        Ok(())
    }
}

/// Whether the API server has answered, and would answer the same again.
fn is_refused(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.is_forbidden() || status.is_invalid())
}

fn refused(error: &kube::Error) -> Failure {
    let because = if let kube::Error::Api(status) = error { status.message.clone() } else { error.to_string() };
    let failure = Failure::new(Kind::Internal, "the API server refuses the operator").because(because);
    failure.hint("`kubectl apply -f deploy/manifests/rbac.yaml` gives it its roles again")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

    use super::super::super::fake::{CLUSTER, life};
    use super::*;

    /// Otherwise a run of an hour would say all the time that it waits for what was there long ago.
    #[tokio::test]
    async fn what_has_come_is_missing_no_more() {
        let (fake, life) = life("a").await;
        let said = || object::condition(&fake.get(CLUSTER).unwrap(), "clusterConditions", "InputsReady").cloned();
        life.told_ready().await;
        assert_eq!(said(), None, "nobody has said that anything is missing");
        life.waits("InputsMissing", Failure::new(Kind::Input, "Secret kok/key is not there")).await;
        assert_eq!(said().unwrap()["status"], "False");
        life.told_ready().await;
        assert_eq!(said().unwrap()["status"], "True");
        let conditions = life.writer.now().conditions;
        assert!(conditions.iter().all(|condition| condition.reason != "InputsMissing"), "{conditions:?}");
    }
}
