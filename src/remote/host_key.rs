//! Decides whether a host is the one we mean. No credential leaves before this said yes.
use super::host_key_fault::{HostKeyFault, KeyPrint, KnownHostsPlace};
use super::identity::Surroundings;
use super::known_hosts::{self, Line, Marker};
use super::target::{DEFAULT_PORT, HostKeyChecking, Target};
use super::transport::Transport;
use russh::keys::{Algorithm, EcdsaCurve, HashAlg, PublicKey};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Host key algorithms in the order we ask for them. RSA with SHA-1 is not among them.
pub(super) const ALGORITHMS: [Algorithm; 6] = [
    Algorithm::Ed25519,
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP256 },
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP384 },
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP521 },
    Algorithm::Rsa { hash: Some(HashAlg::Sha512) },
    Algorithm::Rsa { hash: Some(HashAlg::Sha256) },
];

/// A host key that was new and is in known_hosts now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// The key.
    pub key: KeyPrint,
    /// The file it was added to.
    pub file: PathBuf,
}

/// All that is known about a target's host key before connecting.
#[derive(Debug)]
pub(super) struct HostKeys {
    lookup: String,
    pinned: Option<String>,
    files: Vec<PathBuf>,
    /// Lines for exactly this address and port.
    exact: Vec<(PathBuf, Line)>,
    /// Lines for the address without the port, when the port is not 22. They can confirm a key, not accuse one.
    portless: Vec<(PathBuf, Line)>,
    /// The file for new keys, if they are to be accepted.
    accept_into: Option<PathBuf>,
    accepted: OnceLock<Accepted>,
    /// Where nothing is verified, because nobody logs in: what to ask for, and what was shown.
    only_shown: Option<(Vec<Algorithm>, OnceLock<PublicKey>)>,
}

impl HostKeys {
    /// Reads the known_hosts files that count for `target`. A file that the target names must exist; the usual ones need not, nor one
    /// that new keys go to.
    pub(super) fn load(target: &Target, transport: &Transport) -> Result<Self, HostKeyFault> {
        let pinned = target.host_key.as_deref().map(checked_pin).transpose()?;
        let files = known_hosts_files(target, transport.surroundings());
        let accepts = target.host_key_checking == HostKeyChecking::AcceptNew && pinned.is_none();
        let mut keys = Self {
            lookup: target.lookup(),
            pinned,
            accept_into: files.first().filter(|_| accepts).cloned(),
            files,
            exact: Vec::new(),
            portless: Vec::new(),
            accepted: OnceLock::new(),
            only_shown: None,
        };
        let has_portless = target.port != DEFAULT_PORT && target.configured.host_key_alias.is_none();
        for file in &keys.files {
            let known = match transport.known_hosts().read(file) {
                Ok(known) => known,
                Err(error) if error.kind() == io::ErrorKind::NotFound && (target.known_hosts_file.is_none() || accepts) => continue,
                Err(source) => return Err(HostKeyFault::Unreadable { file: file.clone(), source }),
            };
            let with_file = |line| (file.clone(), line);
            keys.exact.extend(known.matching(&keys.lookup).into_iter().map(with_file));
            if has_portless {
                keys.portless.extend(known.matching(&target.address).into_iter().map(with_file));
            }
        }
        Ok(keys)
    }

    /// For a look at the key only. A session with these must not be logged in.
    pub(super) fn showing(target: &Target, algorithms: Vec<Algorithm>) -> Self {
        Self {
            lookup: target.lookup(),
            pinned: None,
            files: Vec::new(),
            exact: Vec::new(),
            portless: Vec::new(),
            accept_into: None,
            accepted: OnceLock::new(),
            only_shown: Some((algorithms, OnceLock::new())),
        }
    }

    /// The key that was only looked at.
    pub(super) fn shown(&self) -> Option<&PublicKey> {
        self.only_shown.as_ref().and_then(|(_, shown)| shown.get())
    }

    /// The files that count, the one for new keys first.
    pub(super) fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The host as known_hosts writes it.
    pub(super) fn lookup(&self) -> &str {
        &self.lookup
    }

    /// The key that was new and has been accepted.
    pub(super) fn accepted(&self) -> Option<&Accepted> {
        self.accepted.get()
    }

    /// Algorithms to ask for, those of recorded keys first: a host that is known by its RSA key must not be called unknown
    /// because it has an Ed25519 key too.
    pub(super) fn algorithms(&self) -> Vec<Algorithm> {
        if let Some((algorithms, _)) = &self.only_shown {
            return algorithms.clone();
        }
        let (mut first, mut rest) = (Vec::new(), Vec::new());
        for algorithm in ALGORITHMS {
            if self.recorded(&self.exact).chain(self.recorded(&self.portless)).any(|(key, _)| same_type(key, &algorithm)) {
                first.push(algorithm);
            } else {
                rest.push(algorithm);
            }
        }
        first.append(&mut rest);
        first
    }

    /// Accepts or refuses the key that the host has just proven to hold.
    pub(super) fn verify(&self, key: &PublicKey) -> Result<(), HostKeyFault> {
        if let Some((_, shown)) = &self.only_shown {
            shown.get_or_init(|| key.clone());
            return Ok(());
        }
        let shown = KeyPrint::from_key(key);
        self.refuse_revoked(key, &shown)?;
        if let Some(pinned) = &self.pinned {
            return if *pinned == shown.fingerprint { Ok(()) } else { Err(HostKeyFault::NotPinned { shown, pinned: pinned.clone() }) };
        }
        let holds = |(recorded, _): (&PublicKey, KnownHostsPlace)| recorded.key_data() == key.key_data();
        if self.recorded(&self.exact).any(holds) {
            return Ok(());
        }
        let recorded: Vec<_> = self.recorded(&self.exact).map(|(key, place)| (KeyPrint::from_key(key), place)).collect();
        if !recorded.is_empty() {
            return Err(HostKeyFault::Changed { shown, lookup: self.lookup.clone(), recorded });
        }
        if self.recorded(&self.portless).any(holds) {
            return Ok(());
        }
        if let Some((file, line)) = self.exact.iter().find(|(_, line)| line.marker == Marker::CertAuthority) {
            return Err(HostKeyFault::OnlyAuthority { shown, place: place(file, line) });
        }
        let unknown = |shown| HostKeyFault::Unknown { shown, lookup: self.lookup.clone(), files: self.files.clone() };
        // A line that can't be read, or one for another port of the same address, may be this host under another key.
        let is_new = self.exact.is_empty() && self.portless.is_empty();
        match self.accept_into.as_ref().filter(|_| is_new) {
            Some(file) => self.record(file, key, shown),
            None => Err(unknown(shown)),
        }
    }

    /// Adds a new key to known_hosts. Under the file's lock it is looked at again: another connection may have been faster, and may
    /// have been shown another key.
    fn record(&self, file: &Path, key: &PublicKey, shown: KeyPrint) -> Result<(), HostKeyFault> {
        match known_hosts::add(file, &self.lookup, &[key]) {
            Ok(lines) if lines.is_empty() => {
                self.accepted.get_or_init(|| Accepted { key: shown, file: file.to_owned() });
                Ok(())
            }
            Ok(lines) if lines.iter().any(|line| line.holds(key)) => Ok(()),
            Ok(lines) => {
                let recorded = lines.iter().filter_map(|line| Some((KeyPrint::from_key(line.key.as_ref()?), place(file, line)))).collect();
                Err(HostKeyFault::Changed { shown, lookup: self.lookup.clone(), recorded })
            }
            Err(source) => Err(HostKeyFault::NotRecorded { file: file.to_owned(), source }),
        }
    }

    fn refuse_revoked(&self, key: &PublicKey, shown: &KeyPrint) -> Result<(), HostKeyFault> {
        let lines = self.exact.iter().chain(&self.portless);
        for (file, line) in lines.filter(|(_, line)| line.marker == Marker::Revoked) {
            match &line.key {
                None => {
                    return Err(HostKeyFault::BrokenRevocation { place: place(file, line) });
                }
                Some(revoked) if revoked.key_data() == key.key_data() => {
                    return Err(HostKeyFault::Revoked { shown: shown.clone(), place: place(file, line) });
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    #[allow(clippy::unused_self)]
    fn recorded<'a>(&self, lines: &'a [(PathBuf, Line)]) -> impl Iterator<Item = (&'a PublicKey, KnownHostsPlace)> {
        lines
            .iter()
            .filter(|(_, line)| line.marker == Marker::HostKey)
            .filter_map(|(file, line)| line.key.as_ref().map(|key| (key, place(file, line))))
    }
}

/// The files that count, the one for new keys first.
fn known_hosts_files(target: &Target, surroundings: &Surroundings) -> Vec<PathBuf> {
    if let Some(file) = &target.known_hosts_file {
        return vec![file.clone()];
    }
    let user = target.configured.user_known_hosts_files.clone().unwrap_or_else(|| surroundings.user_known_hosts_files());
    let global = target.configured.global_known_hosts_files.clone();
    let global = global.unwrap_or_else(|| ["/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"].map(PathBuf::from).to_vec());
    user.into_iter().chain(global).collect()
}

fn place(file: &Path, line: &Line) -> KnownHostsPlace {
    KnownHostsPlace { file: file.to_owned(), line: line.number }
}

/// An RSA key serves all RSA signature algorithms.
fn same_type(key: &PublicKey, algorithm: &Algorithm) -> bool {
    match algorithm {
        Algorithm::Rsa { .. } => matches!(key.algorithm(), Algorithm::Rsa { .. }),
        other => key.algorithm() == *other,
    }
}

/// `SHA256:` and 43 characters of unpadded base64; padding, which some tools print, is dropped.
fn checked_pin(pin: &str) -> Result<String, HostKeyFault> {
    let trimmed = pin.trim().trim_end_matches('=');
    let digest = trimmed.strip_prefix("SHA256:").unwrap_or_default();
    let base64 = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    if digest.len() == 43 && digest.bytes().all(base64) {
        Ok(trimmed.to_owned())
    } else {
        Err(HostKeyFault::BadPin { pinned: pin.to_owned() })
    }
}
