//! Looks which host keys a server shows, without logging in and without believing them.
use super::dial::Journey;
use super::error::{ConnectError, ConnectFault};
use super::host_key::{ALGORITHMS, HostKeys};
use super::host_key_fault::{HostKeyFault, KeyPrint};
use super::known_hosts;
use super::target::{Deadlines, HostKeyChecking, Target};
use super::transport::Transport;
use russh::keys::{Algorithm, PublicKey};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// The host keys of one server, and what is known about them.
#[derive(Debug)]
pub struct Scan {
    /// The host as known_hosts writes it.
    pub lookup: String,
    /// The keys, one of each type that the server has.
    pub keys: Vec<ShownKey>,
    /// Where new keys are added.
    pub file: Option<PathBuf>,
}

/// A host key that a server showed, having proven that it holds it.
#[derive(Debug)]
pub struct ShownKey {
    /// Type and fingerprint.
    pub print: KeyPrint,
    /// The line for known_hosts.
    pub line: String,
    /// What known_hosts and the cluster's file say: nothing if it is the right one.
    pub fault: Option<HostKeyFault>,
    key: PublicKey,
}

impl Scan {
    /// Asks the target for its key of each type. Bastions on the way are verified and logged in to as always.
    ///
    /// # Errors
    /// [`ConnectError`] if it can't be reached.
    pub async fn ask(target: &Target, deadlines: &Deadlines, transport: &Transport) -> Result<Self, ConnectError> {
        let journey = Journey { deadlines, transport };
        // Nothing is added while we look.
        let strict = Target { host_key_checking: HostKeyChecking::Strict, known_hosts_file: None, ..target.clone() };
        let strict = match target.known_hosts_file.as_ref().filter(|file| file.exists()) {
            Some(file) => Target { known_hosts_file: Some(file.clone()), ..strict },
            None => strict,
        };
        let known = HostKeys::load(&strict, transport).map_err(|fault| ConnectError::here(target, fault))?;
        let file = target.known_hosts_file.clone().or_else(|| known.files().first().cloned());
        let mut keys = Vec::new();
        for algorithms in by_type() {
            let host_keys = Arc::new(HostKeys::showing(target, algorithms));
            match journey.meet(target, Arc::clone(&host_keys)).await {
                Ok(session) => session.close().await,
                Err(fault) if matches!(&*fault.fault, ConnectFault::NoCommonAlgorithm { .. }) => continue,
                Err(fault) => return Err(ConnectError::from_hop_fault(target, fault)),
            }
            let Some(key) = host_keys.shown().cloned() else { continue };
            let line = known_hosts::line(known.lookup(), &key).unwrap_or_default();
            keys.push(ShownKey { print: KeyPrint::from_key(&key), line, fault: known.verify(&key).err(), key });
        }
        Ok(Self { lookup: known.lookup().to_owned(), keys, file })
    }

    /// Whether nothing is known about the server, so that its keys can be added.
    #[must_use]
    pub fn is_new(&self) -> bool {
        !self.keys.is_empty() && self.keys.iter().all(|key| matches!(key.fault, Some(HostKeyFault::Unknown { .. })))
    }

    /// Adds all keys, if the file still knows nothing about the server. Says whether it did.
    ///
    /// # Errors
    /// The system's, if the file can't be written.
    pub fn add(&self) -> io::Result<bool> {
        let Some(file) = self.file.as_ref().filter(|_| self.is_new()) else { return Ok(false) };
        let keys: Vec<_> = self.keys.iter().map(|key| &key.key).collect();
        Ok(known_hosts::add(file, &self.lookup, &keys)?.is_empty())
    }
}

/// One list for each type of key, since a server shows one key for each question.
fn by_type() -> [Vec<Algorithm>; 3] {
    let algorithms_of = |wanted: fn(&Algorithm) -> bool| ALGORITHMS.iter().filter(|algorithm| wanted(algorithm)).cloned().collect();
    [
        algorithms_of(|algorithm| matches!(algorithm, Algorithm::Ed25519)),
        algorithms_of(|algorithm| matches!(algorithm, Algorithm::Ecdsa { .. })),
        algorithms_of(|algorithm| matches!(algorithm, Algorithm::Rsa { .. })),
    ]
}
