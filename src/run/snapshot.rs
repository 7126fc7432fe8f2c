//! Fetching a snapshot of etcd, before what it is of goes.

use std::time::Duration;

use kok_tasks::snapshot::{ENCRYPTION, Form, script};
use zeroize::Zeroizing;

use super::link::{Link, Links};
use crate::event::{EventKind, Events};
use crate::failure::{Failure, Kind};
use crate::remote::Script;
use crate::state::{KeptSnapshot, SnapshotFile, SnapshotPlace};

/// 8 GiB, the most that etcd is made for, at some 20 Mbit/s. A link that is gone is noticed before.
const DEADLINE: Duration = Duration::from_secs(3600);

/// A file of some lines.
const READ: Duration = Duration::from_secs(30);

/// Takes a snapshot of the member on a host, and keeps it at its place, with the key to what it holds.
///
/// # Errors
/// [`Failure`] unless it is here, whole and on the disk.
pub async fn take_snapshot(
    links: &Links,
    (host, form): (&str, Form),
    key: Option<&EncryptionKey>,
    place: &SnapshotPlace,
    events: &Events,
) -> Result<KeptSnapshot, Failure> {
    let mut file = SnapshotFile::create(place, form)?;
    let (taken, stderr) = fetch_snapshot(links, (host, form), |piece| file.push(piece), events).await?;
    let kept = taken.and_then(|()| file.finish(key.map(|key| key.0.as_slice()))).map_err(|failure| {
        let hint = "nothing was removed; try again, or add --no-snapshot if all that the cluster has stored may be lost";
        let is_of_host = failure.kind == Kind::Host;
        let failure = with_host_output(failure, host, stderr.as_deref());
        if is_of_host { failure.hint(hint) } else { failure }
    })?;
    events.send(EventKind::SnapshotTaken {
        key: kept.key.as_ref().map(|key| key.display().to_string()),
        host: host.to_owned(),
        path: kept.path.display().to_string(),
        bytes: kept.bytes,
        sha256: kept.sha256.clone(),
    });
    Ok(kept)
}

/// Has the member on a host send a snapshot, of which `take` gets piece by piece what came, in its form. Says what `take` found wrong first, and what the
/// host's own program said.
///
/// # Errors
/// [`Failure`] if the host can't be asked.
pub async fn fetch_snapshot(
    links: &Links,
    (host, form): (&str, Form),
    mut take: impl FnMut(&[u8]) -> Result<(), Failure>,
    events: &Events,
) -> Result<(Result<(), Failure>, Option<String>), Failure> {
    events.send(EventKind::SnapshotBegun { host: host.to_owned() });
    let mut taken = Ok(());
    let keep = |piece: &[u8]| {
        taken = take(piece);
        taken.is_ok()
    };
    let output = link_to(links, host)?.bulk().await?.fetch(Script::new(script(form)), keep, DEADLINE).await?;
    Ok((taken, output.as_ref().and_then(crate::remote::Output::reason)))
}

/// What the host's own program said is nearer to the cause than what did not come.
#[must_use]
pub fn with_host_output(failure: Failure, host: &str, output: Option<&str>) -> Failure {
    if failure.kind != Kind::Host {
        return failure;
    }
    let because = [failure.because.as_deref(), output].into_iter().flatten().collect::<Vec<_>>().join("; ");
    failure.at(format!("host {host}")).because(because)
}

/// The API server's configuration of encryption, with the key. It has no `Debug` on purpose.
pub struct EncryptionKey(Zeroizing<Vec<u8>>);

impl EncryptionKey {
    /// The text, for the one place that writes it to where it belongs.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

/// Fetches the key with which API servers encrypt what a snapshot holds.
///
/// # Errors
/// [`Failure`] if it can't be read.
pub async fn fetch_key(links: &Links, host: &str) -> Result<EncryptionKey, Failure> {
    let link = link_to(links, host)?;
    let output = link.scripts().await?.run(Script::new(format!("cat {ENCRYPTION}")), READ).await?;
    let reason = output.reason().unwrap_or_default();
    let (is_whole, text) = (output.is_success() && !output.stdout_truncated, Zeroizing::new(output.stdout));
    if is_whole && !text.is_empty() {
        return Ok(EncryptionKey(text));
    }
    let failure = Failure::new(Kind::Host, "the key with which secrets are encrypted can't be read");
    let failure = failure.at(format!("host {host}: {ENCRYPTION}")).because(reason);
    Err(failure.hint("nothing was removed; restore the file, or add --no-snapshot if all that the cluster has stored may be lost"))
}

fn link_to<'a>(links: &'a Links, host: &str) -> Result<&'a Link, Failure> {
    links.get(host).map(AsRef::as_ref).ok_or_else(|| Failure::new(Kind::Internal, format!("there is no connection to {host}")))
}
