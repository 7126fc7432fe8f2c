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
    events.send(EventKind::SnapshotBegun { host: host.to_owned() });
    let link = link_to(links, host)?;
    let mut file = SnapshotFile::create(place, form)?;
    let mut wrong = None;
    let keep = |piece: &[u8]| match file.push(piece) {
        Ok(()) => true,
        Err(failure) => {
            wrong = Some(failure);
            false
        }
    };
    let output = link.bulk().await?.fetch(Script::new(script(form)), keep, DEADLINE).await?;
    let said = output.as_ref().and_then(crate::remote::Output::reason);
    let kept = match wrong {
        Some(failure) => Err(failure),
        None => file.finish(key.map(|key| key.0.as_slice())),
    };
    let kept = kept.map_err(|failure| told(failure, host, said))?;
    events.send(EventKind::SnapshotTaken {
        key: kept.key.as_ref().map(|key| key.display().to_string()),
        host: host.to_owned(),
        path: kept.path.display().to_string(),
        bytes: kept.bytes,
        sha256: kept.sha256.clone(),
    });
    Ok(kept)
}

/// What the host's own program said is nearer to the cause than what did not come.
fn told(failure: Failure, host: &str, said: Option<String>) -> Failure {
    if failure.kind != Kind::Host {
        return failure;
    }
    let because = [failure.because.clone(), said].into_iter().flatten().collect::<Vec<_>>().join("; ");
    failure
        .at(format!("host {host}"))
        .because(because)
        .hint("nothing was removed; try again, or add --no-snapshot if all that the cluster has stored may be lost")
}

/// The API server's configuration of encryption, with the key. It has no `Debug` on purpose.
pub struct EncryptionKey(Zeroizing<Vec<u8>>);

/// Fetches the key with which API servers encrypt what a snapshot holds.
///
/// # Errors
/// [`Failure`] if it can't be read.
pub async fn fetch_key(links: &Links, host: &str) -> Result<EncryptionKey, Failure> {
    let link = link_to(links, host)?;
    let output = link.scripts().await?.run(Script::new(format!("cat {ENCRYPTION}")), READ).await?;
    let said = output.reason().unwrap_or_default();
    let (is_whole, text) = (output.is_success() && !output.stdout_truncated, Zeroizing::new(output.stdout));
    if is_whole && !text.is_empty() {
        return Ok(EncryptionKey(text));
    }
    let failure = Failure::new(Kind::Host, "the key with which secrets are encrypted can't be read");
    let failure = failure.at(format!("host {host}: {ENCRYPTION}")).because(said);
    Err(failure.hint("nothing was removed; restore the file, or add --no-snapshot if all that the cluster has stored may be lost"))
}

fn link_to<'a>(links: &'a Links, host: &str) -> Result<&'a Link, Failure> {
    links.get(host).map(AsRef::as_ref).ok_or_else(|| Failure::new(Kind::Internal, format!("there is no connection to {host}")))
}
