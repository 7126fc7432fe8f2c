//! A file that is not whole yet, with the digest of what is there.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use aws_lc_rs::digest::{Context, SHA256};
use tokio::task::{JoinHandle, spawn_blocking};

use super::trouble::Trouble;

/// So much is written and hashed at once: an answer comes in pieces of some kilobytes, and a change of threads for each costs more than the piece.
const AT_ONCE: usize = 1 << 18;

/// So much is given to the disk at once while more comes. All of it at the end would be waited for when nothing else is left to do.
const TO_DISK: u64 = 16 << 20;

/// What has come of a file so far.
pub(super) struct Partial {
    path: PathBuf,
    /// None while it is written to, and after a disk that failed.
    written: Option<Written>,
    /// What has come and is not written yet.
    rest: Vec<u8>,
    length: u64,
    began_with: u64,
    /// How much of it the disk has, or is being given.
    given: u64,
    giving: Option<JoinHandle<std::io::Result<()>>>,
}

struct Written {
    file: File,
    context: Context,
}

impl Partial {
    /// Opens it, and reads what an earlier run has left.
    ///
    /// # Errors
    /// [`Trouble`] of the disk, here and in all that follows.
    pub(super) async fn open(path: PathBuf) -> Result<Self, Trouble> {
        let opened = on_disk(&path, {
            let path = path.clone();
            move || Written::open(&path)
        });
        let (written, length) = opened.await?;
        Ok(Self { path, written: Some(written), rest: Vec::new(), length, began_with: length, given: length, giving: None })
    }

    /// How much of it has come.
    pub(super) const fn length(&self) -> u64 {
        self.length
    }

    /// How much of it an earlier run had left.
    pub(super) const fn began_with(&self) -> u64 {
        self.began_with
    }

    /// Throws away what is there.
    pub(super) async fn begin_anew(&mut self) -> Result<(), Trouble> {
        self.rest.clear();
        (self.length, self.began_with, self.given) = (0, 0, 0);
        self.with(Written::begin_anew).await
    }

    /// Takes what came next.
    pub(super) async fn push(&mut self, bytes: &[u8]) -> Result<(), Trouble> {
        self.rest.extend_from_slice(bytes);
        self.length += bytes.len() as u64;
        if self.rest.len() < AT_ONCE {
            return Ok(());
        }
        self.flush().await
    }

    /// Writes what has come, so that another run finds it.
    pub(super) async fn flush(&mut self) -> Result<(), Trouble> {
        let rest = std::mem::take(&mut self.rest);
        let write = move |written: &mut Written| written.write(&rest).map(|()| rest);
        self.rest = self.with(write).await?;
        self.rest.clear();
        Ok(())
    }

    /// Has the disk begin with what has come, for what is to stay as it comes.
    pub(super) async fn give(&mut self) -> Result<(), Trouble> {
        let is_giving = self.giving.as_ref().is_some_and(|giving| !giving.is_finished());
        if is_giving || self.length - self.given < TO_DISK {
            return Ok(());
        }
        self.was_given().await?;
        let Some(Ok(file)) = self.written.as_ref().map(|written| written.file.try_clone()) else { return Ok(()) };
        self.given = self.length;
        self.giving = Some(spawn_blocking(move || file.sync_data()));
        Ok(())
    }

    /// Waits for what the disk was given before. It says once that it could not take something.
    async fn was_given(&mut self) -> Result<(), Trouble> {
        let Some(giving) = self.giving.take() else { return Ok(()) };
        let given = giving.await.map_err(|error| Trouble::of_program(&error.to_string()))?;
        given.map_err(|error| Trouble::of_disk(&self.path, &error))
    }

    /// The sha256 of what has come, in hex.
    pub(super) async fn digest(&mut self) -> Result<String, Trouble> {
        self.flush().await?;
        self.with(|written| Ok(hex::encode(written.context.clone().finish()))).await
    }

    /// Waits until the disk has it.
    pub(super) async fn sync(&mut self) -> Result<(), Trouble> {
        self.was_given().await?;
        self.with(|written| written.file.sync_data()).await
    }

    async fn with<T: Send + 'static>(
        &mut self,
        act: impl FnOnce(&mut Written) -> std::io::Result<T> + Send + 'static,
    ) -> Result<T, Trouble> {
        let mut written = self.written.take().ok_or_else(|| Trouble::of_program("a file was written to after its disk had failed"))?;
        let (written, done) = on_disk(&self.path, move || act(&mut written).map(|done| (written, done))).await?;
        self.written = Some(written);
        Ok(done)
    }
}

async fn on_disk<T: Send + 'static>(path: &Path, act: impl FnOnce() -> std::io::Result<T> + Send + 'static) -> Result<T, Trouble> {
    let done = spawn_blocking(act).await.map_err(|error| Trouble::of_program(&error.to_string()))?;
    done.map_err(|error| Trouble::of_disk(path, &error))
}

impl Written {
    fn open(path: &Path) -> std::io::Result<(Self, u64)> {
        let mut file = File::options().create(true).truncate(false).read(true).write(true).open(path)?;
        let mut context = Context::new(&SHA256);
        let mut buffer = vec![0; AT_ONCE];
        let mut length = 0;
        loop {
            let read = file.read(&mut buffer)?;
            if read == 0 {
                return Ok((Self { file, context }, length));
            }
            context.update(buffer.get(..read).unwrap_or_default());
            length += read as u64;
        }
    }

    fn begin_anew(&mut self) -> std::io::Result<()> {
        self.context = Context::new(&SHA256);
        self.file.set_len(0)?;
        self.file.rewind()
    }

    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.file.write_all(bytes)?;
        self.context.update(bytes);
        Ok(())
    }
}
