//! SIGINT and SIGTERM: once to finish what is in flight, twice to leave at once.

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::failure::{Failure, Kind};
use crate::run::Stop;

/// Tells the signals from now on; before, they end the process, which is right while nothing has been changed.
///
/// # Errors
/// [`Failure`] if the system does not let us.
pub(super) fn listen(sender: watch::Sender<Stop>) -> Result<(), Failure> {
    let failure = |error: std::io::Error| Failure::new(Kind::Internal, "signals can't be heard").because(error.to_string());
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failure)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(failure)?;
    tokio::spawn(async move {
        for wish in [Stop::Finish, Stop::Now] {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            if sender.send(wish).is_err() {
                return;
            }
        }
        sender.closed().await;
    });
    Ok(())
}
