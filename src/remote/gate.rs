//! What waits for a line of our own to come back: a password for sudo's question, a script for the shell behind it.
use super::frame::find;
use super::session::{Gone, Input};
use kok_crds::Secret;
use std::time::Duration;
use tokio::sync::oneshot;

/// How long sudo may take to check a password that it has accepted before. PAM waits some seconds after a wrong one.
const SUDO_PATIENCE: Duration = Duration::from_secs(20);

/// Tells when a line of ours came back on standard output.
pub(super) struct OutputGate {
    mark: Vec<u8>,
    /// The end of what came, which may be the first part of the mark.
    tail: Vec<u8>,
    opened: Option<oneshot::Sender<()>>,
}

impl OutputGate {
    pub(super) fn new(mark: &str) -> (Self, oneshot::Receiver<()>) {
        let (opened, receiver) = oneshot::channel();
        (Self { mark: format!("\n{mark}\n").into_bytes(), tail: Vec::new(), opened: Some(opened) }, receiver)
    }

    pub(super) fn push(&mut self, data: &[u8]) {
        if self.opened.is_none() {
            return;
        }
        self.tail.extend_from_slice(data);
        if find(&self.tail, &self.mark).is_some() {
            // Nobody may wait any more.
            let _ = self.opened.take().map(|opened| opened.send(()));
        }
        let excess = self.tail.len().saturating_sub(self.mark.len() - 1);
        self.tail.drain(..excess);
    }
}

/// What sudo gets before anything else is sent.
pub(super) struct Password {
    pub(super) secret: Secret,
    /// When it may be sent. Without it, at once.
    pub(super) asked: Option<oneshot::Receiver<()>>,
    /// When sudo has taken it and our shell runs. Without it, nothing else is sent.
    pub(super) granted: Option<oneshot::Receiver<()>>,
}

/// Gives sudo its password and waits until our own shell has answered. A sudo that asks again gets the end of its input, not a second
/// try: the shell, should it still come, reads that end and does nothing.
pub(super) async fn unlock(input: &Input, password: Password) -> Result<(), Gone> {
    if let Some(asked) = password.asked
        && asked.await.is_err()
    {
        return Err(Gone);
    }
    let mut line = password.secret.expose().to_vec();
    line.push(b'\n');
    input.send(line).await?;
    let Some(granted) = password.granted else {
        return Ok(());
    };
    match tokio::time::timeout(SUDO_PATIENCE, granted).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) => Err(Gone),
        Err(_) => {
            input.end().await?;
            Err(Gone)
        }
    }
}
