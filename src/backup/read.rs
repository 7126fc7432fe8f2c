//! A backup that is read: all of it, from its first to its last byte, before anything is done with it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, File};
use std::io::{self, BufReader, ErrorKind, Read, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use aws_lc_rs::digest::{Context, SHA256};
use kok_pki::{Escrow, SecretText};
use kok_tasks::backup::{CLUSTER, ENCRYPTION, KEYS, MANIFEST, Manifest, PartSum, SNAPSHOT, WrongParts};
use kok_tasks::documents::kms_plugins;
use kok_tasks::snapshot::{Damage, Decoder, Form};
use tar::EntryType;
use zeroize::Zeroizing;

use super::seal::{Closed, Identities, open};
use crate::failure::{Failure, Kind};

/// Parts that are read whole, and the most that each may have: ten times of what any cluster has.
const SHORT: [(&str, u64); 4] = [(KEYS, 4 << 20), (ENCRYPTION, 4 << 20), (CLUSTER, 64 << 20), (MANIFEST, 4 << 20)];

/// How many this process has made.
static SPOOLS: AtomicU32 = AtomicU32::new(0);

/// So much is read at once.
const PIECE: usize = 1 << 18;

/// What a backup holds, but for the snapshot. It has no `Debug` on purpose.
pub struct BackupContents {
    /// What it says of itself, which was compared with what is in it.
    pub manifest: Manifest,
    /// The keys.
    pub keys: Escrow,
    /// The API servers' configuration of encryption, if they encrypt.
    pub encryption: Option<Zeroizing<String>>,
    /// SHA-256 of the snapshot with its own digest, in hexadecimal digits.
    pub snapshot_sha256: String,
}

/// A place for the snapshot while it is sent to a host. It has no name, so that nobody else can read or remove it, and it is gone with this process.
pub struct Spool {
    path: PathBuf,
    file: File,
}

impl Spool {
    /// On the disk of a folder of kokctl's own, which is made.
    ///
    /// # Errors
    /// [`Failure`] if it can't be written.
    pub fn create(folder: &Path) -> Result<Self, Failure> {
        // Of one process there may be two.
        let named = folder.join(format!(".restore-{}-{}.db", std::process::id(), SPOOLS.fetch_add(1, Ordering::Relaxed)));
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        let file = made.and_then(|()| {
            let _ = fs::remove_file(&named);
            let file = File::options().create_new(true).read(true).write(true).mode(0o600).open(&named)?;
            fs::remove_file(&named).map(|()| file)
        });
        let file = file.map_err(|error| {
            let failure = Failure::new(Kind::Internal, "the snapshot can't be unpacked").at(folder.display().to_string());
            failure.because(error.to_string()).hint("make room or correct the rights there; nothing was changed")
        })?;
        let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        Ok(Self { path, file })
    }

    /// By which it is written to.
    ///
    /// # Errors
    /// [`Failure`] where the process has too many files open.
    pub fn file(&self) -> Result<File, Failure> {
        self.file.try_clone().map_err(|error| Failure::new(Kind::Internal, "a file can't be opened once more").because(error.to_string()))
    }

    /// By which this process reads it, from its beginning each time.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl BackupContents {
    /// The keys as the text of an escrow.
    #[must_use]
    pub fn escrow(&self) -> kok_crds::Secret {
        let keys = &self.keys;
        let pairs: Vec<(&str, &str)> = keys.encryption_keys().iter().map(|key| (key.name.as_str(), key.secret.expose())).collect();
        kok_crds::Secret::new(kok_pki::escrow(keys.cluster(), keys.authorities(), &pairs).expose())
    }

    /// Names of the KMS plugins that some of it is encrypted by, whose keys are not in it.
    #[must_use]
    pub fn kms_plugins(&self) -> BTreeSet<String> {
        let configuration = self.encryption.as_ref().map(|text| text.as_str()).unwrap_or_default();
        kms_plugins(configuration).into_iter().map(|(name, _)| name.to_owned()).collect()
    }
}

/// Why a file can't be restored from.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error("{0}")]
    Closed(#[from] Closed),
    #[error("{0}")]
    Disk(#[from] io::Error),
    #[error("{SNAPSHOT}: {0}")]
    Snapshot(#[from] Damage),
    #[error("{0}")]
    Parts(#[from] WrongParts),
    #[error("{KEYS}: {0}")]
    Keys(String),
    #[error("{0}")]
    Form(String),
    /// What is unpacked finds no room.
    #[error("{0}")]
    Spool(io::Error),
}

/// Reads all of a backup, and compares it with what it says of itself and with the digest of etcd. The snapshot goes to `spool`, if there is one.
///
/// # Errors
/// [`Failure`] where it is damaged or cut off, and where it is encrypted and none of the keys opens it.
pub fn read(path: &Path, identities: Option<&Identities>, spool: Option<&mut Spool>) -> Result<BackupContents, Failure> {
    contents(path, identities, spool).map_err(|trouble| failure(path, &trouble))
}

/// The same of one that is only looked at.
///
/// # Errors
/// Those of [`read`].
pub fn check(path: &Path, identities: Option<&Identities>) -> Result<BackupContents, Failure> {
    read(path, identities, None)
}

/// What a backup that is not encrypted says of itself, as far as that is found at a glance.
#[must_use]
pub fn manifest_of(path: &Path) -> Option<Manifest> {
    let mut archive = tar::Archive::new(crate::plain_file::open(path).ok()?);
    let mut entries = archive.entries_with_seek().ok()?.filter_map(Result::ok);
    let entry = entries.find(|entry| &*entry.path_bytes() == MANIFEST.as_bytes())?;
    Manifest::parse(&crate::plain_file::bounded(entry, most(MANIFEST)?).ok()?).ok()
}

fn most(name: &str) -> Option<u64> {
    SHORT.iter().find(|(known, _)| *known == name).map(|(_, most)| *most)
}

fn contents(path: &Path, identities: Option<&Identities>, spool: Option<&mut Spool>) -> Result<BackupContents, Trouble> {
    let file = crate::plain_file::open(path)?;
    let input = open(BufReader::with_capacity(PIECE, file), identities)?;
    let Parts { sums, mut short, snapshot_sha256 } = Parts::read(input, spool)?;
    let manifest = short.remove(MANIFEST).ok_or_else(|| WrongParts::Missing(MANIFEST.to_owned()))?;
    let manifest = Manifest::parse(&manifest)?;
    manifest.check(&sums)?;
    let text = |bytes: Zeroizing<Vec<u8>>, name: &str| {
        std::str::from_utf8(&bytes).map(|text| Zeroizing::new(text.to_owned())).map_err(|_| Trouble::Form(format!("{name} is no text")))
    };
    let keys = short.remove(KEYS).ok_or_else(|| WrongParts::Missing(KEYS.to_owned()))?;
    let keys = Escrow::parse(&SecretText::from_zeroizing(text(keys, KEYS)?)).map_err(|error| Trouble::Keys(error.to_string()))?;
    if keys.cluster() != manifest.cluster {
        return Err(Trouble::Keys("they are of another cluster than the rest".to_owned()));
    }
    let encryption = short.remove(ENCRYPTION).map(|bytes| text(bytes, ENCRYPTION)).transpose()?;
    Ok(BackupContents { manifest, keys, encryption, snapshot_sha256 })
}

/// What was found in a tar.
#[derive(Default)]
struct Parts {
    /// All but the manifest.
    sums: Vec<PartSum>,
    short: BTreeMap<&'static str, Zeroizing<Vec<u8>>>,
    snapshot_sha256: String,
}

impl Parts {
    fn read(input: impl Read, mut spool: Option<&mut Spool>) -> Result<Self, Trouble> {
        let mut parts = Self::default();
        let mut archive = tar::Archive::new(input);
        for entry in archive.entries()? {
            let mut entry = entry?;
            let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            if entry.header().entry_type() != EntryType::Regular || parts.short.contains_key(MANIFEST) {
                return Err(WrongParts::Strange(name).into());
            }
            match SHORT.iter().find(|(known, _)| *known == name) {
                Some((known, most)) => parts.short(known, &mut entry, *most)?,
                None if name == SNAPSHOT => parts.snapshot(&mut entry, spool.take())?,
                None => return Err(WrongParts::Strange(name).into()),
            }
        }
        at_end(archive.into_inner())?;
        Ok(parts)
    }

    fn short(&mut self, name: &'static str, entry: &mut impl Read, most: u64) -> Result<(), Trouble> {
        let mut bytes = Zeroizing::new(Vec::new());
        entry.take(most + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most {
            return Err(Trouble::Form(format!("{name} is longer than any")));
        }
        if name != MANIFEST {
            self.sums.push(PartSum { name: name.to_owned(), bytes: bytes.len() as u64, sha256: kok_tasks::digest::sha256(&bytes) });
        }
        self.short.insert(name, bytes);
        Ok(())
    }

    fn snapshot(&mut self, entry: &mut impl Read, spool: Option<&mut Spool>) -> Result<(), Trouble> {
        let (mut decoder, mut whole, mut piece) = (Decoder::new(Form::Raw), Context::new(&SHA256), vec![0; PIECE]);
        let mut file = spool.map(|spool| &mut spool.file);
        loop {
            let length = entry.read(&mut piece)?;
            let Some(bytes) = piece.get(..length).filter(|bytes| !bytes.is_empty()) else { break };
            whole.update(bytes);
            decoder.push(bytes)?;
            if let Some(file) = &mut file {
                file.write_all(bytes).map_err(Trouble::Spool)?;
            }
        }
        let (bytes, _) = decoder.finish()?;
        let sha256 = hex::encode(whole.finish());
        self.sums.push(PartSum { name: SNAPSHOT.to_owned(), bytes, sha256: sha256.clone() });
        self.snapshot_sha256 = sha256;
        Ok(())
    }
}

/// Reads what is behind the last part: of an encrypted file the last piece says that it is the last one, and nothing but zeros may be there.
fn at_end(mut rest: impl Read) -> Result<(), Trouble> {
    let mut piece = vec![0; PIECE];
    loop {
        let length = rest.read(&mut piece)?;
        match piece.get(..length) {
            Some([]) | None => return Ok(()),
            Some(bytes) if bytes.iter().all(|byte| *byte == 0) => {}
            Some(_) => return Err(Trouble::Form("something is behind its end".to_owned())),
        }
    }
}

fn failure(path: &Path, trouble: &Trouble) -> Failure {
    let failed = |what: &str, because: String, hint: &str| {
        Failure::new(Kind::Input, what).at(path.display().to_string()).because(because).hint(hint)
    };
    match trouble {
        Trouble::Closed(Closed::NoIdentity) => {
            let because = "it is encrypted, and neither a private key nor a passphrase was named".to_owned();
            failed(
                "the backup can't be opened",
                because,
                "name the file with a key that it was written for (--identity FILE), or with its passphrase (--passphrase-file FILE)",
            )
        }
        Trouble::Closed(closed @ Closed::OtherIdentity) => {
            let hint = "name a private key that it was written for; `age-keygen -y FILE` prints the public key of one. Nothing was changed";
            failed("the backup can't be opened", closed.to_string(), hint)
        }
        Trouble::Closed(closed @ Closed::OtherPassphrase) => {
            let hint = "name the file with its passphrase (--passphrase-file FILE), or with a private key that it was written for (--identity FILE). Nothing was changed";
            failed("the backup can't be opened", closed.to_string(), hint)
        }
        Trouble::Spool(error) => {
            let failure = Failure::new(Kind::Internal, "the snapshot can't be unpacked").because(error.to_string());
            failure.hint("make room in kokctl's folder of the cluster; nothing was changed")
        }
        Trouble::Disk(error) | Trouble::Closed(Closed::Disk(error)) => match error.kind() {
            ErrorKind::UnexpectedEof => damaged(path, "it is cut off".to_owned()),
            ErrorKind::InvalidData | ErrorKind::Other => damaged(path, format!("it was changed or cut off after it was written ({error})")),
            _ => failed("the backup can't be read", error.to_string(), "name a file that `kokctl backup create` has written"),
        },
        Trouble::Parts(WrongParts::Format(_)) => {
            failed("the backup can't be read", trouble.to_string(), "take the kokctl that has written it, or a later one")
        }
        _ => damaged(path, trouble.to_string()),
    }
}

fn damaged(path: &Path, because: String) -> Failure {
    let failure = Failure::new(Kind::Input, "that is no whole backup").at(path.display().to_string()).because(because);
    failure.hint("take another one (`kokctl backup list` shows them), or get this one anew from where it was kept; nothing was changed")
}
