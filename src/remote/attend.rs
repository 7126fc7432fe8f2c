//! Scripts that end with whoever has asked for them.
use super::channel::Output;
use super::connection::{Connection, ScriptWork};
use super::error::RunError;
use super::script::{Script, Start};
use super::sudo::{Privilege, SudoCommand};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

/// More than any script takes that nobody has told to end: what ends it is the wish of whoever asked.
const NO_DEADLINE: Duration = Duration::from_secs(365 * 24 * 3600);

/// As whom a script runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunAs {
    /// As the login, whoever that is.
    Login,
    /// As root, by sudo if the login is another one.
    Root,
}

impl Connection {
    /// Runs a script whose standard input stays open, with nothing in it, until `end` comes to an end, and waits for its end: at the most `grace` after
    /// that one. The script itself has to end where its input does; it ends in the same way if the connection breaks.
    ///
    /// # Errors
    /// See [`RunError`]. A script that fails is an [`Output`].
    pub async fn attend(&self, script: Script, who: RunAs, end: impl Future<Output = ()>, grace: Duration) -> Result<Output, RunError> {
        let began = Instant::now();
        let (ender, ended) = oneshot::channel();
        let work = self.attended(script, who, UntilDropped(ended));
        tokio::pin!(work);
        tokio::select! {
            biased;
            result = &mut work => return result,
            () = end => drop::<oneshot::Sender<()>>(ender),
        }
        let late = || RunError::Deadline { host: self.host().to_owned(), after: began.elapsed() };
        timeout(grace, work).await.unwrap_or_else(|_| Err(late()))
    }

    async fn attended(&self, script: Script, who: RunAs, source: UntilDropped) -> Result<Output, RunError> {
        let (until, deadline) = (Instant::now() + NO_DEADLINE, NO_DEADLINE);
        let privilege = match who {
            RunAs::Login => &Privilege::Root,
            RunAs::Root => {
                self.learn_sudo(until, deadline).await?;
                &self.inner.privilege
            }
        };
        let nonce = self.nonce()?;
        let command = SudoCommand::starting(Start::Stream, privilege, &nonce);
        let work = ScriptWork {
            nonce: &nonce,
            text: script.for_attended(&nonce),
            stdout_limit: script.stdout_limit,
            at_most: script.at_most,
            until,
            deadline,
            tap: None,
        };
        let (collected, _) = self.execute(command, work, source).await?;
        self.judge(collected)
    }
}

/// Has nothing to read, and ends when the other end is dropped.
struct UntilDropped(oneshot::Receiver<()>);

impl AsyncRead for UntilDropped {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll(context).map(|_| Ok(()))
    }
}
