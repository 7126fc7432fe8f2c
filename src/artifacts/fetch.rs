//! Fetching what a bundle is made of: files and images, each verified before it has its name in the bundle's folder.
//!
//! What was cut is gone on with by the next run: a file that is not whole yet is called `.part`. `bundle.json` is written last, so it never names
//! what is not there.

mod absent;
mod client;
mod contents;
mod credentials;
mod file;
mod image;
mod index;
mod layout;
mod mirrors;
mod packages;
mod partial;
mod resolve;
mod space;
#[cfg(test)]
pub(super) mod tests;
mod trouble;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kok_tasks::bundle::{Bundle, BundleFile, BundleImage, BundlePackages};
use kok_tasks::catalog::{FileItem, ImageItem, Item, PackagesItem};
use kok_tasks::sbom::{SBOM, spdx};
use rustix::fs::{FlockOperation, flock};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

pub(super) use client::{Client, with_tries};
pub use client::{Proxy, UpstreamConnection};
pub use credentials::Credentials;
pub(super) use image::ACCEPTED;
pub use index::part_of;
pub(super) use index::{bytes as index_bytes, join, read as read_index, write as write_index, write_bytes as write_index_bytes};
pub(super) use trouble::{Remedy, Trouble, failures};

use crate::clock::Clock;
use crate::failure::{Failure, Kind};
use mirrors::mirrored;
use resolve::resolve;

/// So many are fetched at the same time: upstream's servers give one connection a few megabytes a second, and take more than these ill.
const AT_ONCE: usize = 8;

/// Lies in the bundle's folder.
const LOCK: &str = ".lock";

/// What is to be fetched, and where to.
pub struct FetchRequest<'a> {
    /// What.
    pub items: Vec<Item>,
    /// Releases of Kubernetes that the bundle is to name.
    pub releases: Vec<String>,
    /// The bundle's folder; what it holds already stays.
    pub folder: &'a Path,
    /// By what upstream is reached.
    pub connection: &'a UpstreamConnection,
    /// Licences of components by their names, for the list of what the bundle consists of.
    pub licences: BTreeMap<String, String>,
}

/// Hears what goes on.
pub trait Progress: Send + Sync {
    /// So much is to be fetched. Bytes are a lower bound if not every server says its lengths.
    fn begins(&self, items: usize, bytes: u64);
    /// So many bytes more came.
    fn came(&self, bytes: u64);
    /// One of them is there and verified.
    fn done(&self, title: &str);
    /// Something else that a person should know.
    fn notice(&self, text: &str);
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// The index as it stands in the folder now.
    pub bundle: Bundle,
    /// How many were fetched; the others were there.
    pub items: usize,
    /// How many bytes they have.
    pub bytes: u64,
}

/// One that was fetched.
enum Entry {
    File(BundleFile),
    Image(BundleImage),
    Packages(BundlePackages),
}

/// One that is to be fetched, with what is known of it by then.
enum Wanted {
    File(FileItem, String, Option<u64>),
    Image(ImageItem, Box<image::ResolvedImage>),
    Packages(PackagesItem, packages::ResolvedPackages),
}

impl Wanted {
    /// Its name among those that may be absent.
    fn optional_name(&self) -> Option<String> {
        match self {
            Self::Image(image, _) => absent::names(&[Item::Image(image.clone())]).pop(),
            Self::File(..) | Self::Packages(..) => None,
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Self::File(_, _, size) => size.unwrap_or_default(),
            Self::Image(_, resolved) => resolved.bytes(),
            Self::Packages(_, resolved) => resolved.bytes(),
        }
    }

    /// How long it takes beside the others, until it is done: all that has come is read through once or twice more where an archive is made of it, or is
    /// one. What begins last is to be over when its last byte has come.
    fn work(&self) -> u64 {
        match self {
            Self::File(file, ..) if contents::is_archive(&file.address) => 2 * self.bytes(),
            Self::File(..) => self.bytes(),
            Self::Image(..) | Self::Packages(..) => 3 * self.bytes(),
        }
    }

    /// How much room it takes while it is put together: what becomes an archive stands there in its parts too.
    fn room(&self) -> u64 {
        match self {
            Self::File(..) => self.bytes(),
            Self::Image(..) | Self::Packages(..) => 2 * self.bytes(),
        }
    }
}

/// Fetches what the folder does not hold yet, and writes its index.
///
/// # Errors
/// One [`Failure`] for each that can't be had or is not what it should be. Nothing of such a one stays in the bundle; what was fetched besides
/// is kept and not fetched again.
pub async fn fetch(request: &FetchRequest<'_>, progress: Arc<dyn Progress>) -> Result<Fetched, Vec<Failure>> {
    let _lock = lock(request.folder, &*progress).await.map_err(|failure| vec![failure])?;
    let mut held = index::read(request.folder).map_err(|failure| vec![failure])?;
    let missing: Vec<Item> = request.items.iter().filter(|item| !index::holds(&held, request.folder, item)).cloned().collect();
    let missing = absent::without_known(request.folder, missing);
    let asked = absent::names(&missing);
    let client = Arc::new(Client::new(request.connection).map_err(|failure| vec![failure])?);
    let (wanted, absent) = resolve(&client, (request.folder, &held), missing, &progress).await?;
    absent::remember(request.folder, &asked, &wanted.iter().filter_map(Wanted::optional_name).collect());
    let bytes = wanted.iter().map(Wanted::bytes).sum();
    space::check(request.folder, wanted.iter().map(Wanted::room).sum()).map_err(|failure| vec![failure])?;
    absent.iter().for_each(|text| progress.notice(text));
    let items = wanted.len();
    if items > 0 {
        progress.begins(items, bytes);
    }
    let (entries, failures) = fetch_all(&client, request.folder, wanted, &progress).await;
    for entry in entries {
        index::add(&mut held, entry);
    }
    if failures.is_empty() {
        index::name_releases(&mut held, request);
        index::write(request.folder, &held).map_err(|failure| vec![failure])?;
        if items > 0 {
            write_sbom(request.folder, &request.licences, &held).map_err(|error| vec![disk_failure(&request.folder.join(SBOM), &error)])?;
        }
        image::forget_blobs(request.folder);
        return Ok(Fetched { bundle: held, items, bytes });
    }
    // What came is kept for the next try; a release that lacks an image is not named.
    // Where a part of another architecture came alone, the index stays as it was: with it nobody could use the bundle.
    let kept = if held.check().is_ok() { index::write(request.folder, &held).err() } else { None };
    Err(failures.into_iter().chain(kept).collect())
}

/// One run at a time changes a folder. The lock ends with the process that has it, however that ends.
async fn lock(folder: &Path, progress: &dyn Progress) -> Result<std::fs::File, Failure> {
    let failed = |error: std::io::Error| disk_failure(folder, &error);
    std::fs::create_dir_all(folder).map_err(failed)?;
    let (file, is_ours) = try_lock(folder).map_err(failed)?;
    if is_ours {
        return Ok(file);
    }
    progress.notice(&format!("another run fetches into {}; waiting for it", folder.display()));
    let waiting = tokio::task::spawn_blocking(move || flock(&file, FlockOperation::LockExclusive).map(|()| file)).await;
    waiting.map_err(std::io::Error::other).map_err(failed)?.map_err(|error| failed(error.into()))
}

/// The same for who does not wait.
pub(super) fn lock_now(folder: &Path) -> Result<std::fs::File, Failure> {
    match try_lock(folder) {
        Ok((file, true)) => Ok(file),
        Ok((_, false)) => {
            let failure = Failure::new(Kind::Input, "another run fetches into the bundle").at(folder.display().to_string());
            Err(failure.hint("wait until it has ended, and run this again"))
        }
        Err(error) => Err(disk_failure(folder, &error)),
    }
}

fn try_lock(folder: &Path) -> std::io::Result<(std::fs::File, bool)> {
    let file = std::fs::File::create(folder.join(LOCK))?;
    let is_ours = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
    Ok((file, is_ours))
}

async fn fetch_all(
    client: &Arc<Client>,
    folder: &Path,
    mut wanted: Vec<Wanted>,
    progress: &Arc<dyn Progress>,
) -> (Vec<Entry>, Vec<Failure>) {
    // What is longest about first, so that none of them is left alone at the end.
    wanted.sort_by_key(|one| std::cmp::Reverse(one.work()));
    let blobs = Arc::new(image::Blobs::default());
    let answers = all(wanted, |one| {
        let (client, progress, blobs, folder) = (Arc::clone(client), Arc::clone(progress), Arc::clone(&blobs), folder.to_owned());
        async move { fetch_one(&client, &folder, one, &blobs, &*progress).await }
    })
    .await;
    let (good, bad): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    (good.into_iter().filter_map(Result::ok).collect(), failures(bad.into_iter().filter_map(Result::err).collect()))
}

async fn fetch_one(client: &Client, folder: &Path, one: Wanted, blobs: &image::Blobs, progress: &dyn Progress) -> Result<Entry, Trouble> {
    match one {
        Wanted::File(file, digest, _) => {
            let entry = file::fetch(client, folder, &file, &digest, progress).await?;
            progress.done(&format!("{} {} for {}", file.name, file.version, file.architecture));
            Ok(Entry::File(entry))
        }
        Wanted::Image(image, resolved) => {
            let entry = image::fetch(client, folder, (&image, &resolved), blobs, progress).await?;
            progress.done(&format!("{} for {}", image.reference, image.architecture));
            Ok(Entry::Image(entry))
        }
        Wanted::Packages(item, resolved) => {
            let entry = packages::fetch(client, folder, (&item, &resolved), blobs, progress).await?;
            progress.done(&item.title());
            Ok(Entry::Packages(entry))
        }
    }
}

/// Does it with all of them, some at a time; the answers come in any order.
pub(super) async fn all<T, A, F>(items: Vec<T>, work: impl Fn(T) -> F) -> Vec<Result<A, Trouble>>
where
    F: Future<Output = Result<A, Trouble>> + Send + 'static,
    A: Send + 'static,
{
    let turns = Arc::new(Semaphore::new(AT_ONCE));
    let mut tasks = JoinSet::new();
    for item in items {
        let (turns, work) = (Arc::clone(&turns), work(item));
        tasks.spawn(async move {
            let _turn = turns.acquire().await;
            work.await
        });
    }
    let mut answers = Vec::new();
    while let Some(joined) = tasks.join_next().await {
        answers.push(joined.unwrap_or_else(|error| Err(Trouble::of_program(&error.to_string()))));
    }
    answers
}

/// Writes the list of what the bundle consists of.
pub(super) fn write_sbom(folder: &Path, licences: &BTreeMap<String, String>, bundle: &Bundle) -> std::io::Result<()> {
    let tool = concat!("kokctl-", env!("CARGO_PKG_VERSION"));
    let list = spdx(bundle, licences, &Clock::rfc3339(), tool);
    std::fs::write(folder.join(SBOM), serde_json::to_vec_pretty(&list)?)
}

/// Makes the folder that a file is put into.
fn folder_of(path: &Path) -> Result<(), Trouble> {
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder).map_err(|error| Trouble::of_disk(folder, &error))
}

/// A failure of this machine's disk.
fn disk_failure(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(Kind::Input, "the bundle can't be written").at(path.display().to_string()).because(error.to_string())
}

/// Where a file stands until it is whole.
fn part(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    path.with_file_name(name)
}
