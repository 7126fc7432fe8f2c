//! The bundle on this machine's disk.

pub mod archive;
pub mod fetch;
mod lacking;
pub mod prune;
pub mod push;
mod reading;
pub mod signature;
pub mod sums;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use aws_lc_rs::digest::{Context, SHA256};
use kok_tasks::artifact::Artifact;
use kok_tasks::bundle::{Bundle, FORMAT, INDEX};

pub use reading::Reading;
use reading::{FileIdentity, OpenArtifact};

use crate::failure::{Failure, Kind};
use crate::plain_file;

/// Names the bundle where `--bundle` does not.
pub const BUNDLE_VARIABLE: &str = "KOKCTL_BUNDLE";

/// One with all minor versions that upstream supports has some hundred kilobytes.
const MOST_INDEX_BYTES: u64 = 16 << 20;

/// A bundle whose index was read and checked.
#[derive(Debug)]
pub struct BundleFolder {
    path: PathBuf,
    /// The index as it stands in its file; none if it is a part of that.
    index: Option<Vec<u8>>,
    bundle: Bundle,
    /// Where digests of the user's files are kept.
    sums: Option<PathBuf>,
    /// Files whose digests were right, as they were then.
    verified: Mutex<BTreeMap<PathBuf, FileIdentity>>,
    /// Files that are being sent.
    sources: Mutex<BTreeMap<PathBuf, Weak<OpenArtifact>>>,
}

impl BundleFolder {
    /// Opens the bundle at `path`.
    ///
    /// # Errors
    /// [`Failure`] if there is none, or its index is not one that this program reads.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let index = path.join(INDEX);
        let failure = |what: String| Failure::new(Kind::Input, what).at(index.display().to_string());
        let bytes = plain_file::read(&index, MOST_INDEX_BYTES);
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).map_err(|_| "it is not text".to_owned())).map_err(|because| {
            failure("there is no bundle".to_owned())
                .because(because)
                .hint("give the folder of a bundle with --bundle; `kokctl bundle create` makes one, `kokctl bundle import` takes one out of its archive")
        })?;
        let bundle = Bundle::parse(&text).map_err(|error| {
            let because = error.to_string();
            let because = because.strip_prefix(&format!("{INDEX}: ")).unwrap_or(&because).to_owned();
            failure("the index of the bundle can't be used".to_owned())
                .because(because)
                .hint("build or fetch the bundle again, or give another one with --bundle; nothing was changed on any host")
        })?;
        Ok(Self {
            path: path.to_owned(),
            index: Some(text.into_bytes()),
            bundle,
            sums: None,
            verified: Mutex::default(),
            sources: Mutex::default(),
        })
    }

    /// No bundle at all, for a plan that sends files of this machine and nothing else.
    #[must_use]
    pub fn none() -> Self {
        let bundle = Bundle { format: FORMAT, kubernetes: Vec::new(), files: Vec::new(), images: Vec::new(), packages: Vec::new() };
        Self { path: PathBuf::from("/"), index: None, bundle, sums: None, verified: Mutex::default(), sources: Mutex::default() }
    }

    /// The same, which reads none of the user's files again that is the one whose digest is kept in this file ([`sums`]). Hosts compare what they get in any case.
    #[must_use]
    pub fn with_sums(self, kept: Option<PathBuf>) -> Self {
        Self { sums: kept, ..self }
    }

    /// The same folder with another index, which names a part of what it holds.
    #[must_use]
    pub fn with_index(self, bundle: Bundle) -> Self {
        Self { bundle, index: None, ..self }
    }

    /// Where it lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes of the index that was read; none if this is a part of it.
    #[must_use]
    pub fn index(&self) -> Option<&[u8]> {
        self.index.as_deref()
    }

    /// What the bundle holds.
    #[must_use]
    pub fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// Where an artifact lies on this machine.
    #[must_use]
    pub fn file(&self, artifact: &Artifact) -> PathBuf {
        self.path.join(&artifact.path)
    }

    /// The bytes of an artifact that was verified. Those who read one at the same time share the reading.
    ///
    /// # Errors
    /// If it can't be read, was not verified, or is not what it was then any more. The last one may show only when all has been read.
    pub fn read(&self, artifact: &Artifact) -> io::Result<Reading> {
        let path = self.file(artifact);
        let verified = self.verified.lock().unwrap_or_else(PoisonError::into_inner).get(&path).copied();
        let identity = verified.ok_or_else(|| io::Error::other(format!("{} was not verified", path.display())))?;
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(source) = sources.get(&path).and_then(Weak::upgrade) {
            return Ok(Reading::new(source));
        }
        let source = OpenArtifact::open(&path, identity)?;
        sources.insert(path, Arc::downgrade(&source));
        Ok(Reading::new(source))
    }

    /// Reads each of these artifacts once and compares it with the digest of the index. Returns how many bytes were read.
    ///
    /// # Errors
    /// One [`Failure`] for each that is missing, cut off or corrupted.
    pub fn verify<'a>(&self, artifacts: impl Iterator<Item = &'a Artifact>) -> Result<u64, Vec<Failure>> {
        let mut distinct: Vec<&Artifact> = Vec::new();
        let mut known = BTreeSet::new();
        for artifact in artifacts {
            if known.insert(&artifact.path) {
                distinct.push(artifact);
            }
        }
        // One thread per processor at most: hashing is bound by them.
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let chunks = distinct.chunks(distinct.len().div_ceil(threads).max(1));
        let results: Vec<Result<u64, Failure>> = std::thread::scope(|scope| {
            let workers: Vec<_> =
                chunks.map(|chunk| scope.spawn(move || chunk.iter().map(|one| self.check(one)).collect::<Vec<_>>())).collect();
            // A thread that panicked has verified nothing.
            let stopped = || vec![Err(Failure::new(Kind::Internal, "the bundle could not be verified"))];
            workers.into_iter().flat_map(|worker| worker.join().unwrap_or_else(|_| stopped())).collect()
        });
        let (good, bad): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
        let failures: Vec<Failure> = bad.into_iter().filter_map(Result::err).collect();
        if failures.is_empty() { Ok(good.into_iter().filter_map(Result::ok).sum()) } else { Err(failures) }
    }

    fn check(&self, artifact: &Artifact) -> Result<u64, Failure> {
        let path = self.file(artifact);
        let failure = |what: String| {
            let hint = if artifact.is_users() { "let it be readable" } else { "build or fetch the bundle again" };
            Failure::new(Kind::Input, what).at(path.display().to_string()).hint(format!("{hint}; nothing was changed on any host"))
        };
        let unreadable = |error: io::Error| failure(format!("{} can't be read", artifact.title)).because(error.to_string());
        let (identity, size, sha256) = self.digest(artifact, &path).map_err(unreadable)?;
        if artifact.is_users() && (size != artifact.size || sha256 != artifact.sha256) {
            let failure = Failure::new(Kind::Input, format!("{} was changed meanwhile", artifact.title)).at(path.display().to_string());
            return Err(failure
                .because("it is not what it was when the plan was made")
                .hint("run it again; nothing was changed on any host"));
        }
        if size != artifact.size || sha256 != artifact.sha256 {
            return Err(failure(format!("{} is corrupted", artifact.title)).because(format!(
                "its {size} bytes have the sha256 {sha256}; the bundle's index says {} bytes and {}",
                artifact.size, artifact.sha256
            )));
        }
        self.verified.lock().unwrap_or_else(PoisonError::into_inner).insert(path, identity);
        Ok(size)
    }

    fn digest(&self, artifact: &Artifact, path: &Path) -> io::Result<(FileIdentity, u64, String)> {
        let Some(kept) = self.sums.as_deref().filter(|_| artifact.is_users()) else { return digest(path) };
        let identity = FileIdentity::from_metadata(&path.metadata()?);
        let (size, sha256) = sums::sum(path, Some(kept))?;
        if FileIdentity::from_metadata(&path.metadata()?) != identity {
            return Err(io::Error::other("it was changed while it was read"));
        }
        Ok((identity, size, sha256))
    }
}

/// Length and SHA-256 of a file, in lower-case hexadecimal digits.
///
/// # Errors
/// If it can't be read, or is changed meanwhile.
pub fn sum_of(path: &Path) -> io::Result<(u64, String)> {
    digest(path).map(|(_, size, sha256)| (size, sha256))
}

fn digest(path: &Path) -> io::Result<(FileIdentity, u64, String)> {
    let mut file = File::open(path)?;
    let identity = FileIdentity::from_metadata(&file.metadata()?);
    let mut context = Context::new(&SHA256);
    // Large enough that the system call costs nothing beside the hash.
    let mut buffer = vec![0; 1 << 18];
    let mut size = 0;
    loop {
        let length = file.read(&mut buffer)?;
        if length == 0 {
            break;
        }
        context.update(buffer.get(..length).unwrap_or_default());
        size += length as u64;
    }
    if FileIdentity::from_metadata(&file.metadata()?) != identity {
        return Err(io::Error::other("it was changed while it was read"));
    }
    Ok((identity, size, hex::encode(context.finish())))
}
