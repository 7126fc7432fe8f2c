//! A backup that is fetched part by part: no request takes as long as the whole, and a line that is cut costs no more than a piece of it.

use std::ops::Range;
use std::time::Duration;

use futures_util::stream;
use futures_util::{StreamExt as _, TryStreamExt as _};
use kok_tasks::backup::BackupName;
use object_store::{Error, GetOptions, GetRange, ObjectMeta, ObjectStore as _, ObjectStoreExt as _};
use tokio::fs::File;
use tokio::io::AsyncWriteExt as _;
use tokio::time::sleep;

use super::Bucket;
use crate::failure::{Failure, Kind};

/// What is asked for at once.
const PART: usize = 16 << 20;
/// So many parts are on their way or wait to be written, each held in memory: one comes while another one is written.
const AT_ONCE: usize = 2;
/// Tries of a part, each with those that the library makes of a request and its answer, and each for what did not come yet.
const TRIES: usize = 3;
/// Between two of them. The library waits by itself between its own, but not where it knows of nothing that another try would mend.
const PAUSE: Duration = Duration::from_secs(1);
const WHAT: &str = "the backup can't be fetched from the bucket";

/// Why not all of a part came.
enum Broken {
    /// What was found when the first part was asked for is there no more.
    Replaced,
    By(Error),
}

impl From<Error> for Broken {
    fn from(error: Error) -> Self {
        if matches!(error, Error::Precondition { .. }) { Self::Replaced } else { Self::By(error) }
    }
}

impl Bucket {
    /// Writes a backup to a file, from its beginning.
    ///
    /// # Errors
    /// [`Failure`] where it is not there, the server does not send all of it, another one takes its place meanwhile, or the disk takes no more.
    pub async fn fetch(&self, name: &BackupName, to: std::fs::File) -> Result<(), Failure> {
        let mut to = File::from_std(to);
        let whole = self.store.head(&self.key(&name.file_name())).await.map_err(|error| self.failed(WHAT, &error))?;
        let mut came = 0_u64;
        let mut parts = stream::iter(ranges(whole.size)).map(|range| self.part(&whole, range)).buffered(AT_ONCE);
        while let Some(part) = parts.try_next().await? {
            came += part.len() as u64;
            to.write_all(&part).await.map_err(|error| self.failed(WHAT, &error))?;
        }
        to.flush().await.map_err(|error| self.failed(WHAT, &error))?;
        if came == whole.size { Ok(()) } else { Err(self.cut(WHAT, whole.size, came)) }
    }

    async fn part(&self, whole: &ObjectMeta, range: Range<u64>) -> Result<Vec<u8>, Failure> {
        let (mut part, mut tries) = (Vec::with_capacity(PART), 1);
        while let Err(broken) = self.rest_of_part(whole, &range, &mut part).await {
            match broken {
                Broken::Replaced => {
                    let failure = Failure::new(Kind::Host, WHAT).at(format!("s3://{}/{}", self.name, whole.location));
                    return Err(failure.because("another object has taken its place meanwhile").hint("try again"));
                }
                // All that has no kind of its own: lines that are cut, servers that do not answer in time, or are broken.
                Broken::By(Error::Generic { .. }) if tries < TRIES => tries += 1,
                Broken::By(error) => return Err(self.failed(WHAT, &error)),
            }
            sleep(PAUSE).await;
        }
        let (wanted, came) = (range.end - range.start, part.len() as u64);
        if came == wanted { Ok(part) } else { Err(self.cut(WHAT, whole.size, range.start + came)) }
    }

    /// Adds what is missing of a part. What came before an error stays.
    async fn rest_of_part(&self, whole: &ObjectMeta, range: &Range<u64>, part: &mut Vec<u8>) -> Result<(), Broken> {
        let rest = range.start + part.len() as u64..range.end;
        if rest.is_empty() {
            return Ok(());
        }
        let options = GetOptions { range: Some(GetRange::Bounded(rest)), if_match: whole.e_tag.clone(), ..GetOptions::default() };
        let answer = self.store.get_opts(&whole.location, options).await?;
        // Not every server knows the condition.
        if (answer.meta.size, &answer.meta.e_tag) != (whole.size, &whole.e_tag) {
            return Err(Broken::Replaced);
        }
        let mut pieces = answer.into_stream();
        while let Some(piece) = pieces.try_next().await? {
            part.extend_from_slice(&piece);
        }
        Ok(())
    }
}

/// The parts of so many bytes.
fn ranges(size: u64) -> impl Iterator<Item = Range<u64>> {
    (0..size).step_by(PART).map(move |start| start..size.min(start + PART as u64))
}

#[cfg(test)]
mod tests;
