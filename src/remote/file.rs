//! Puts a file on a host so that at any moment the old one or the new one is there, whole.
use super::channel::ExitStatus;
use super::connection::Connection;
use super::error::RunError;
use super::script::Script;
use kok_tasks::shell::quote;
use std::time::Duration;
use tokio::io::AsyncRead;

/// The script's exit code when what arrived has another digest (EX_DATAERR of sysexits.h).
const WRONG_DIGEST: u32 = 65;

/// A file as it shall be on a host.
#[derive(Debug, Clone, Copy)]
pub struct PutFile<'a> {
    /// Its absolute path. The folder must exist.
    pub path: &'a str,
    /// Its permission bits.
    pub mode: u32,
    /// `user:group` as chown(1) takes it; nothing for `root:root`.
    pub owner: Option<&'a str>,
    /// Its length in bytes.
    pub size: u64,
    /// SHA-256 of its content.
    pub sha256: [u8; 32],
}

impl Connection {
    /// Streams `source` into the file. The content goes to a temporary name in the same folder, which has owner and mode before the
    /// first byte is there; it is renamed only when the host found the right length and digest and has it on disk.
    ///
    /// If the host goes down meanwhile, a file `.kokctl-*` may stay in the folder; nothing ever reads it.
    ///
    /// # Errors
    /// [`RunError::Corrupted`] if the source is not what `file` says, [`RunError::NotWritten`] if the host could not store it: in both
    /// cases the file is as it was before.
    pub async fn put_file<R: AsyncRead + Unpin>(&self, file: PutFile<'_>, source: R, deadline: Duration) -> Result<(), RunError> {
        let host = || self.host().to_owned();
        let path = || file.path.to_owned();
        let Some((folder, name)) = file.path.rsplit_once('/').filter(|_| file.path.starts_with('/')) else {
            return Err(RunError::NotWritten { host: host(), path: path(), reason: "the path is not absolute".to_owned() });
        };
        if name.is_empty() || file.path.contains('\0') {
            return Err(RunError::NotWritten { host: host(), path: path(), reason: "the path names no file".to_owned() });
        }
        let script = Script::new(put_script(&file, folder, &self.nonce()?.to_string()));
        let streamed = self.stream(script, source, deadline).await?;
        if let Some(sent) = streamed.sent.filter(|sent| sent.sha256 != file.sha256) {
            let (expected, found) = (hex::encode(file.sha256), hex::encode(sent.sha256));
            return Err(RunError::Corrupted { host: host(), path: path(), expected, found });
        }
        let reason = match streamed.output.status {
            ExitStatus::Exited(0) => return Ok(()),
            ExitStatus::Exited(WRONG_DIGEST) => "what arrived is not what was sent".to_owned(),
            ref status => streamed.output.reason().unwrap_or_else(|| format!("its script ended with {status:?}")),
        };
        Err(RunError::NotWritten { host: host(), path: path(), reason })
    }
}

/// The digest is taken from the bytes on their way to the disk, beside the writing and not after it; that all of them got there
/// shows in the length and in the sync.
fn put_script(file: &PutFile<'_>, folder: &str, nonce: &str) -> String {
    let temporary = quote(&format!("{folder}/.kokctl-{nonce}"));
    let folder = quote(if folder.is_empty() { "/" } else { folder });
    let owner = quote(file.owner.unwrap_or("root:root"));
    let (path, mode, size, sha256) = (quote(file.path), file.mode & 0o7777, file.size, hex::encode(file.sha256));
    format!(
        "t={temporary}\n\
         trap 'rm -f \"$t\"' EXIT\n\
         trap 'exit 74' HUP INT TERM PIPE\n\
         set -C\n: >\"$t\" || exit 73\nset +C\n\
         chown {owner} \"$t\" </dev/null && chmod {mode:04o} \"$t\" </dev/null || exit 73\n\
         sum=$(tee \"$t\" | sha256sum) || exit 74\n\
         size=$(stat -c %s \"$t\" </dev/null) || exit 74\n\
         [ \"${{sum%% *}}\" = {sha256} ] || exit {WRONG_DIGEST}\n\
         [ \"$size\" = {size} ] || exit 74\n\
         sync \"$t\" </dev/null || exit 74\n\
         mv -fT \"$t\" {path} </dev/null || exit 74\n\
         sync {folder} </dev/null || exit 74\n"
    )
}
