//! A bucket of a server that speaks S3, as a place of backups. An object is there under its name whole or not at all: what was begun and not completed nobody
//! sees (Amazon S3, "Uploading and copying objects using multipart upload").

mod fetch;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::FuturesUnordered;
use futures_util::{StreamExt as _, TryStreamExt as _};
use kok_crds::model::{Keep, S3};
use kok_tasks::backup::{BackupName, surplus};
use object_store::aws::{AmazonS3, AmazonS3Builder, Checksum};
use object_store::path::Path as Key;
use object_store::{BackoffConfig, Certificate, ClientOptions, MultipartUpload, ObjectStore as _, ObjectStoreExt as _, RetryConfig};
use tokio::fs::File;
use tokio::io::AsyncReadExt as _;
use zeroize::Zeroizing;

use crate::failure::{Failure, Kind};

/// The region of a server that has none, and of Amazon's first.
const REGION: &str = "us-east-1";
/// Parts of an upload: 10,000 of them are the most that there may be, so that 160 GB fit, and the least is 5 MiB.
const PART: usize = 16 << 20;
/// So many parts are on their way at once, each held in memory.
const AT_ONCE: usize = 2;
/// A server that is there answers within seconds.
const CONNECT: Duration = Duration::from_secs(20);
/// A part takes so long at the most: two of 16 MiB share a line of 0.3 MB/s.
const REQUEST: Duration = Duration::from_secs(120);
/// Tries of one request, and how long they may take together.
const TRIES: usize = 6;
const TRIES_LAST: Duration = Duration::from_secs(300);

/// What opens a bucket. It has no `Debug` on purpose.
pub struct BucketKey {
    /// The id of the key.
    pub id: String,
    /// The key.
    pub secret: Zeroizing<String>,
}

/// A bucket, with what stands before the names in it.
#[derive(Clone)]
pub struct Bucket {
    store: Arc<AmazonS3>,
    name: String,
    prefix: String,
}

/// A backup in a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredBackup {
    /// What it is by its name.
    pub name: BackupName,
    /// Its length.
    pub bytes: u64,
}

impl BucketKey {
    /// Reads what stands under `[default]` in a file as Amazon's own tools have it, or in one without sections.
    ///
    /// # Errors
    /// What is missing; nothing of it is quoted.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (mut id, mut secret, mut is_default) = (None, None, true);
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';'])) {
            if let Some(section) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                is_default = section.trim() == "default";
            } else if let Some((name, value)) = line.split_once('=').filter(|_| is_default) {
                match name.trim() {
                    "aws_access_key_id" => id = Some(value.trim().to_owned()),
                    "aws_secret_access_key" => secret = Some(Zeroizing::new(value.trim().to_owned())),
                    "aws_session_token" => {
                        return Err("it has a session token, which ends within hours: a key that stays is needed".to_owned());
                    }
                    _ => {}
                }
            }
        }
        match (id.filter(|id| !id.is_empty()), secret.filter(|secret| !secret.is_empty())) {
            (Some(id), Some(secret)) => Ok(Self { id, secret }),
            (None, _) => Err("it has no `aws_access_key_id = …` under `[default]`".to_owned()),
            (_, None) => Err("it has no `aws_secret_access_key = …` under `[default]`".to_owned()),
        }
    }
}

impl Bucket {
    /// One that a cluster's file names. The proxy is the cluster's; without one the environment's is taken. Nothing is asked of the server.
    ///
    /// # Errors
    /// [`Failure`] where a CA can't be used, or the file names no bucket.
    pub fn new(s3: &S3, key: &BucketKey, ca: Option<&str>, proxy: Option<&str>) -> Result<Self, Failure> {
        let wrong = |because: String| Failure::new(Kind::Input, "the bucket of backups can't be used").because(because);
        let bucket = s3.bucket.as_ref().ok_or_else(|| wrong("the file names none".to_owned()))?;
        let is_plain = s3.endpoint.as_ref().is_some_and(|endpoint| endpoint.starts_with("http://"));
        let mut client = ClientOptions::new().with_connect_timeout(CONNECT).with_timeout(REQUEST).with_allow_http(is_plain);
        if let Some(pem) = ca {
            let all = Certificate::from_pem_bundle(pem.as_bytes()).map_err(|error| wrong(format!("`caFile` can't be read: {error}")))?;
            if all.is_empty() {
                return Err(wrong("`caFile` has no certificate in PEM".to_owned()));
            }
            client = all.into_iter().fold(client, ClientOptions::with_root_certificate);
        }
        if let Some(proxy) = proxy {
            client = client.with_proxy_url(proxy);
        }
        let retry = RetryConfig { backoff: BackoffConfig::default(), max_retries: TRIES, retry_timeout: TRIES_LAST };
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(bucket)
            .with_region(s3.region.as_deref().unwrap_or(REGION))
            .with_access_key_id(&key.id)
            .with_secret_access_key(key.secret.as_str())
            .with_checksum_algorithm(Checksum::SHA256)
            .with_client_options(client)
            .with_retry(retry);
        if let Some(endpoint) = &s3.endpoint {
            // Whoever runs a server of his own seldom has a name for each bucket.
            builder = builder.with_endpoint(endpoint).with_virtual_hosted_style_request(false);
        }
        let store = builder.build().map_err(|error| wrong(error.to_string()))?;
        Ok(Self { store: Arc::new(store), name: bucket.clone(), prefix: s3.prefix.clone() })
    }

    /// As people write it.
    #[must_use]
    pub fn address(&self) -> String {
        if self.prefix.is_empty() { format!("s3://{}", self.name) } else { format!("s3://{}/{}", self.name, self.prefix) }
    }

    /// The address of a backup.
    #[must_use]
    pub fn address_of(&self, name: &BackupName) -> String {
        format!("{}/{}", self.address(), name.file_name())
    }

    /// Which backup an address means.
    ///
    /// # Errors
    /// [`Failure`] where it is not in this bucket, or is none of a backup.
    pub fn named(&self, address: &str) -> Result<BackupName, Failure> {
        let name = address.strip_prefix(&self.address()).and_then(|rest| BackupName::parse(rest.strip_prefix('/')?));
        name.ok_or_else(|| {
            let failure = Failure::new(Kind::Input, "that is no backup in the cluster's bucket").at(address.escape_debug().to_string());
            let because = format!("the file has {}, and a backup is called as `kokctl backup list` shows it", self.address());
            failure.because(because).hint("give the file of that bucket's cluster with -f; or fetch it by other means, and name the file")
        })
    }

    fn key(&self, name: &str) -> Key {
        Key::from_iter(self.prefix.split('/').filter(|part| !part.is_empty()).chain([name]))
    }

    /// Sends a file, and says once the server has all of it. Nothing is written over.
    ///
    /// # Errors
    /// [`Failure`] where the file can't be read or the server does not take it; then nothing of it is seen in the bucket.
    pub async fn put(&self, path: &Path, name: &BackupName) -> Result<(), Failure> {
        let key = self.key(&name.file_name());
        match self.store.head(&key).await {
            Err(object_store::Error::NotFound { .. }) => {}
            Err(error) => return Err(self.failed("the backup can't be put into the bucket", &error)),
            Ok(_) => {
                let failure = Failure::new(Kind::Input, "a backup of this cluster and second is in the bucket already");
                return Err(failure.at(self.address_of(name)).hint("try again"));
            }
        }
        let cannot_read = |error: std::io::Error| {
            Failure::new(Kind::Internal, "the backup can't be read").at(path.display().to_string()).because(error.to_string())
        };
        let mut file = File::open(path).await.map_err(cannot_read)?;
        let bytes = file.metadata().await.map_err(cannot_read)?.len();
        let mut upload =
            self.store.put_multipart(&key).await.map_err(|error| self.failed("the backup can't be put into the bucket", &error))?;
        let sent = match parts(&mut *upload, &mut file).await {
            Ok(()) => match upload.complete().await {
                // Where the answer was lost it was asked for once more, and the server knows of no such upload: it has ended well.
                Err(_) if self.store.head(&key).await.is_ok_and(|object| object.size == bytes) => Ok(()),
                completed => completed.map(drop).map_err(Into::into),
            },
            Err(error) => Err(error),
        };
        if let Err(error) = sent {
            // What was sent would be paid for, and nobody would see it.
            let _ = upload.abort().await;
            return Err(self.failed("the backup can't be put into the bucket", &*error));
        }
        match self.store.head(&key).await {
            Ok(object) if object.size == bytes => Ok(()),
            Ok(object) => Err(self.cut("the backup is not whole in the bucket", bytes, object.size)),
            Err(error) => Err(self.failed("the backup can't be seen in the bucket", &error)),
        }
    }

    /// The backups in it, of one cluster or of all, the oldest first. Objects that are called otherwise are none.
    ///
    /// # Errors
    /// [`Failure`] where the server does not say.
    pub async fn list(&self, cluster: Option<&str>) -> Result<Vec<StoredBackup>, Failure> {
        let prefix = Some(self.key("")).filter(|_| !self.prefix.is_empty());
        let listed = self.store.list(prefix.as_ref()).try_collect::<Vec<_>>().await;
        let objects = listed.map_err(|error| self.failed("the backups in the bucket can't be listed", &error))?;
        let mut found: Vec<StoredBackup> = objects
            .iter()
            .filter_map(|object| {
                let name = object.location.filename()?;
                // What lies deeper is somebody else's.
                let name = BackupName::parse(name).filter(|known| self.key(&known.file_name()) == object.location)?;
                Some(StoredBackup { name, bytes: object.size })
            })
            .filter(|found| cluster.is_none_or(|cluster| found.name.cluster == cluster))
            .collect();
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    /// What would go of a cluster's backups.
    ///
    /// # Errors
    /// [`Failure`] where the server does not say what there is.
    pub async fn surplus(&self, cluster: &str, keep: &Keep, now: i64) -> Result<Vec<BackupName>, Failure> {
        let names: Vec<BackupName> =
            self.list(Some(cluster)).await?.into_iter().filter(|found| found.bytes > 0).map(|found| found.name).collect();
        Ok(surplus(&names, keep, now).into_iter().cloned().collect())
    }

    /// Removes these.
    ///
    /// # Errors
    /// [`Failure`] at the first that can't be removed.
    pub async fn remove(&self, surplus: &[BackupName]) -> Result<(), Failure> {
        for name in surplus {
            match self.store.delete(&self.key(&name.file_name())).await {
                Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
                Err(error) => return Err(self.failed("an older backup can't be removed from the bucket", &error)),
            }
        }
        Ok(())
    }

    fn cut(&self, what: &str, whole: u64, came: u64) -> Failure {
        Failure::new(Kind::Host, what).at(self.address()).because(format!("{came} of {whole} bytes came")).hint("try again")
    }

    fn failed(&self, what: &str, error: &dyn std::error::Error) -> Failure {
        let failure = Failure::new(Kind::Host, what).at(self.address()).because(all_of(error));
        failure.hint(
            "look at the bucket's name, `endpoint`, `region` and the key in `credentialsFile`, and at what the key may do; then try again",
        )
    }
}

/// Sends all parts of a file, some at a time.
async fn parts(upload: &mut dyn MultipartUpload, file: &mut File) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut sending = FuturesUnordered::new();
    loop {
        let mut part = Vec::new();
        let read = (&mut *file).take(PART as u64).read_to_end(&mut part).await?;
        if read == 0 {
            break;
        }
        if sending.len() == AT_ONCE {
            sending.next().await.transpose()?;
        }
        sending.push(upload.put_part(part.into()));
    }
    while let Some(sent) = sending.next().await {
        sent?;
    }
    Ok(())
}

/// An error with what caused it: the libraries below say of a certificate that is not trusted no more than that sending failed. What the server has said is in
/// it too.
fn all_of(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !words.contains(&more) {
            words = format!("{words}: {more}");
        }
        cause = error.source();
    }
    words.escape_debug().to_string()
}

#[cfg(test)]
mod tests;
