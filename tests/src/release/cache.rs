//! Built components, kept by key.
//!
//! ```text
//! <cache>/lock                                      held by the one builder that works here
//! <cache>/components/etcd-3.7.0-<key>/component.json   what is in it, with digests
//! <cache>/components/etcd-3.7.0-<key>/{files,images}/… at the paths of the bundle
//! <cache>/tmp/…                                     what is being built; renamed when whole
//! ```

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use kok_tasks::bundle::{BundleFile, BundleImage, KubernetesRelease};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::error::{ReleaseError, Result};
use super::progress::Progress;
use super::source::Component;

/// The description of a cached component.
const MANIFEST: &str = "component.json";

/// Components that no build has used for so long are removed. Long enough for work on two branches in turn.
const KEEP: Duration = Duration::from_secs(14 * 24 * 3600);

/// A built component: what it adds to a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct CachedComponent {
    /// The key under which it was built.
    pub key: String,
    /// Its files, at paths below its folder.
    pub files: Vec<BundleFile>,
    /// Its images, at paths below its folder.
    pub images: Vec<BundleImage>,
    /// For Kubernetes: the images that the release needs.
    pub kubernetes: Option<KubernetesRelease>,
}

impl CachedComponent {
    /// Path, length and SHA-256 of everything in it.
    pub fn entries(&self) -> impl Iterator<Item = (&str, u64, &str)> {
        let files = self.files.iter().map(|file| (file.path.as_str(), file.size, file.sha256.as_str()));
        files.chain(self.images.iter().map(|image| (image.path.as_str(), image.size, image.sha256.as_str())))
    }
}

/// The cache, locked for this process.
pub struct Cache {
    root: PathBuf,
    _lock: File,
}

impl Cache {
    /// Opens the cache, makes it if need be, and waits for another builder that works in it.
    ///
    /// # Errors
    /// When a folder can't be made or the lock can't be taken.
    pub fn open(root: &Path, progress: &mut Progress) -> Result<Self> {
        let components = root.join("components");
        fs::create_dir_all(&components).map_err(ReleaseError::io("create", &components))?;
        let lock = lock(&root.join("lock"), progress)?;
        let tmp = root.join("tmp");
        // The lock is ours, so this was left by a builder that was killed.
        if tmp.exists() {
            fs::remove_dir_all(&tmp).map_err(ReleaseError::io("remove", &tmp))?;
        }
        fs::create_dir(&tmp).map_err(ReleaseError::io("create", &tmp))?;
        Ok(Self { root: root.to_path_buf(), _lock: lock })
    }

    /// The folder of a component with this key.
    #[must_use]
    pub fn folder(&self, component: &Component, key: &str) -> PathBuf {
        // 64 bits tell the keys of one component apart; the whole key stands in the manifest.
        let short = key.get(..16).unwrap_or(key);
        self.root.join("components").join(format!("{}-{}-{short}", component.name, component.version))
    }

    /// The component if it was built with this key. One whose manifest can't be read counts as not built.
    #[must_use]
    pub fn load(&self, component: &Component, key: &str) -> Option<CachedComponent> {
        let path = self.folder(component, key).join(MANIFEST);
        let text = fs::read_to_string(&path).ok()?;
        let cached: CachedComponent = serde_json::from_str(&text).ok().filter(|cached: &CachedComponent| cached.key == key)?;
        // The time says when it was last used; without it the component is removed earlier and built again.
        let _ = File::open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        Some(cached)
    }

    /// A folder in which a component can be built.
    ///
    /// # Errors
    /// When it can't be made.
    pub fn work_folder(&self) -> Result<TempDir> {
        let tmp = self.root.join("tmp");
        TempDir::new_in(&tmp).map_err(ReleaseError::io("create a folder in", &tmp))
    }

    /// Takes a whole component out of the folder where it was built, in one step.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn store(&self, component: &Component, cached: &CachedComponent, built: &Path) -> Result<()> {
        let manifest = built.join(MANIFEST);
        let text = serde_json::to_string_pretty(cached).map_err(|error| ReleaseError::io("write", &manifest)(error.into()))?;
        fs::write(&manifest, text).map_err(ReleaseError::io("write", &manifest))?;
        sync(built)?;
        self.remove(component, &cached.key)?;
        fs::rename(built, self.folder(component, &cached.key)).map_err(ReleaseError::io("rename", built))
    }

    /// Removes a component, if it is there.
    ///
    /// # Errors
    /// When it can't be removed.
    pub fn remove(&self, component: &Component, key: &str) -> Result<()> {
        let folder = self.folder(component, key);
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(ReleaseError::io("remove", &folder))?;
        }
        Ok(())
    }

    /// Removes components that no build has used for two weeks.
    ///
    /// # Errors
    /// When one can't be removed.
    pub fn prune(&self) -> Result<()> {
        let components = self.root.join("components");
        for entry in fs::read_dir(&components).map_err(ReleaseError::io("list", &components))? {
            let path = entry.map_err(ReleaseError::io("list", &components))?.path();
            let used = fs::metadata(path.join(MANIFEST)).and_then(|metadata| metadata.modified());
            let age = used.ok().and_then(|used| SystemTime::now().duration_since(used).ok());
            if age.is_some_and(|age| age > KEEP) {
                fs::remove_dir_all(&path).map_err(ReleaseError::io("remove", &path))?;
            }
        }
        Ok(())
    }
}

/// Makes everything that was written to the folder's file system lasting, so that no later rename outlives its content.
///
/// # Errors
/// When the system can't.
pub fn sync(folder: &Path) -> Result<()> {
    let opened = File::open(folder).map_err(ReleaseError::io("open", folder))?;
    rustix::fs::syncfs(&opened).map_err(|errno| ReleaseError::io("sync", folder)(errno.into()))
}

fn lock(path: &Path, progress: &mut Progress) -> Result<File> {
    let mut file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(ReleaseError::io("open", path))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => {
            let mut holder = String::new();
            file.read_to_string(&mut holder).map_err(ReleaseError::io("read", path))?;
            progress.line(&format!("another builder (process {}) works in this cache; waiting until it is done", holder.trim()));
            flock(&file, FlockOperation::LockExclusive).map_err(|errno| ReleaseError::io("lock", path)(errno.into()))?;
        }
        Err(errno) => return Err(ReleaseError::io("lock", path)(errno.into())),
    }
    file.set_len(0).and_then(|()| file.rewind()).map_err(ReleaseError::io("write", path))?;
    writeln!(file, "{}", std::process::id()).map_err(ReleaseError::io("write", path))?;
    Ok(file)
}
