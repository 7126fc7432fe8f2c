//! A file that is not whole yet, with the digest of what is there.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use aws_lc_rs::digest::{Context, SHA256};
use tokio::task::spawn_blocking;

use super::trouble::Trouble;

/// So much is written and hashed at once: an answer comes in pieces of some kilobytes, and a change of threads for each costs more than the piece.
const AT_ONCE: usize = 1 << 18;

/// What has come of a file so far.
pub(super) struct Partial {
    path: PathBuf,
    /// None while it is written to, and after a disk that failed.
    written: Option<Written>,
    /// What has come and is not written yet.
    rest: Vec<u8>,
    length: u64,
    began_with: u64,
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
        Ok(Self { path, written: Some(written), rest: Vec::new(), length, began_with: length })
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
        (self.length, self.began_with) = (0, 0);
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

    /// The sha256 of what has come, in hex.
    pub(super) async fn digest(&mut self) -> Result<String, Trouble> {
        self.flush().await?;
        self.with(|written| Ok(hex::encode(written.context.clone().finish()))).await
    }

    /// Waits until the disk has it.
    pub(super) async fn sync(&mut self) -> Result<(), Trouble> {
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
