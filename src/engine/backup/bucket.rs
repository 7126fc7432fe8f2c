//! The bucket that a cluster's file names for its backups.

use std::path::Path;

use kok_crds::model::{BackupFolder, Cluster};
use zeroize::Zeroizing;

use crate::backup::{Bucket, BucketKey};
use crate::failure::{Failure, Kind};
use crate::plain_file;
use crate::remote::mode_if_open;
use crate::state::beside;

/// A key has some lines, and a file of CA certificates some hundred.
const MOST_BYTES: u64 = 4 << 20;

/// The bucket, with the key that opens it. The server is not asked. `home` is what `~/` in paths stands for.
///
/// # Errors
/// [`Failure`] where a file can't be read, others than its owner can read the key, or one of them is not what it should be; nothing of the key is quoted.
pub fn bucket_of(cluster: &Cluster, home: Option<&Path>) -> Result<Option<Bucket>, Failure> {
    let s3 = &cluster.settings.backup.s3;
    let (Some(_), Some(credentials)) = (&s3.bucket, &s3.credentials) else { return Ok(None) };
    let text = |file: &BackupFolder, is_secret: bool| {
        let path = beside(&file.origin, &file.path, home);
        read(&path, is_secret).map_err(|because| {
            let failure = Failure::new(Kind::Input, "the bucket of backups can't be used").at(path.display().to_string()).because(because);
            failure.hint(format!("{} names it", file.origin))
        })
    };
    let key_text = text(credentials, true)?;
    let key = BucketKey::parse(&key_text).map_err(|because| {
        let path = beside(&credentials.origin, &credentials.path, home).display().to_string();
        let failure = Failure::new(Kind::Input, "the key of the bucket can't be used").at(path).because(because);
        failure.hint("write `[default]`, `aws_access_key_id = …` and `aws_secret_access_key = …`, a line each")
    })?;
    let ca = s3.ca.as_ref().map(|file| text(file, false)).transpose()?;
    let host = &cluster.settings.host;
    let is_plain = s3.endpoint.as_ref().is_some_and(|endpoint| endpoint.starts_with("http://"));
    let proxy = if is_plain { &host.http_proxy } else { &host.https_proxy };
    Bucket::new(s3, &key, ca.as_ref().map(|text| text.as_str()), proxy.as_deref()).map(Some)
}

fn read(path: &Path, is_secret: bool) -> Result<Zeroizing<String>, String> {
    let file = plain_file::open(path).map_err(|error| error.to_string())?;
    let metadata = file.metadata().map_err(|error| error.to_string())?;
    if let Some(mode) = mode_if_open(&metadata).filter(|_| is_secret && metadata.is_file()) {
        return Err(format!("the mode of the file is {mode:04o}, so that others can read the key: chmod 600"));
    }
    let bytes = plain_file::bounded(file, MOST_BYTES).map(Zeroizing::new)?;
    std::str::from_utf8(&bytes).map(|text| Zeroizing::new(text.to_owned())).map_err(|_| "it is no text".to_owned())
}
