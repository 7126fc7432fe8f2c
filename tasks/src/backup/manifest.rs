//! What a backup says of itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{CLUSTER, ENCRYPTION, KEYS, SNAPSHOT};

/// Another form gets another number; fields that are added don't change it.
const FORMAT: u32 = 1;

/// What a backup says of itself: its last part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// The form of the file.
    pub format: u32,
    /// The cluster.
    pub cluster: String,
    /// When it was begun, in seconds since 1970 by the clock of the machine that made it.
    pub seconds: i64,
    /// What ran.
    pub versions: BackupVersions,
    /// The host of the member that the snapshot is of.
    pub member: String,
    /// The revision that the member had before the snapshot was taken, which has that one at least; none where it did not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
    /// The parts before this one, in their order.
    pub parts: Vec<PartSum>,
}

/// Versions of what a backup was made of and by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackupVersions {
    /// Of kokctl.
    pub kokctl: String,
    /// Of Kubernetes.
    pub kubernetes: String,
    /// Of etcd.
    pub etcd: String,
}

/// A part of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PartSum {
    /// Its name.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal digits.
    pub sha256: String,
}

/// Why the parts of a file are no backup.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WrongParts {
    /// The manifest can't be read.
    #[error("its manifest is not as kokctl writes it")]
    Unreadable,
    /// It has a later form.
    #[error("it has the form {0}, and this version reads {FORMAT}")]
    Format(u32),
    /// Something is missing.
    #[error("{0} is missing")]
    Missing(String),
    /// Something is there that it says nothing of.
    #[error("{} is in it, and its manifest says nothing of that", .0.escape_debug())]
    Strange(String),
    /// A part has another content.
    #[error("{0} is not what its manifest says")]
    Differs(String),
}

impl Manifest {
    /// What is said of these parts.
    #[must_use]
    pub fn new(
        cluster: &str,
        seconds: i64,
        versions: BackupVersions,
        (member, revision): (&str, Option<u64>),
        parts: Vec<PartSum>,
    ) -> Self {
        Self { format: FORMAT, cluster: cluster.to_owned(), seconds, versions, member: member.to_owned(), revision, parts }
    }

    /// As it stands in the file.
    #[must_use]
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).map(|text| text + "\n").unwrap_or_default()
    }

    /// What a file says.
    ///
    /// # Errors
    /// [`WrongParts`] if it is none, or has a later form.
    pub fn parse(text: &[u8]) -> Result<Self, WrongParts> {
        #[derive(Deserialize)]
        struct Form {
            format: u32,
        }
        let Form { format } = serde_json::from_slice(text).map_err(|_| WrongParts::Unreadable)?;
        if format != FORMAT {
            return Err(WrongParts::Format(format));
        }
        serde_json::from_slice(text).map_err(|_| WrongParts::Unreadable)
    }

    /// Compares what was found in the file with what is said of it.
    ///
    /// # Errors
    /// [`WrongParts`] where anything differs, or what every backup has is missing.
    pub fn check(&self, found: &[PartSum]) -> Result<(), WrongParts> {
        let mut parts: BTreeMap<&str, &PartSum> = self.parts.iter().map(|part| (part.name.as_str(), part)).collect();
        for part in found {
            match parts.remove(part.name.as_str()) {
                None => return Err(WrongParts::Strange(part.name.clone())),
                Some(is) if is != part => return Err(WrongParts::Differs(part.name.clone())),
                Some(_) => {}
            }
        }
        if let Some(name) = parts.keys().next() {
            return Err(WrongParts::Missing((*name).to_owned()));
        }
        let has = |name: &str| found.iter().any(|part| part.name == name);
        let missing = [KEYS, CLUSTER, SNAPSHOT].into_iter().find(|name| !has(name));
        missing.map_or(Ok(()), |name| Err(WrongParts::Missing(name.to_owned())))
    }

    /// Whether the API servers encrypted what they stored.
    #[must_use]
    pub fn is_of_encrypted(&self) -> bool {
        self.parts.iter().any(|part| part.name == ENCRYPTION)
    }

    /// The length of the snapshot.
    #[must_use]
    pub fn snapshot_bytes(&self) -> u64 {
        self.parts.iter().find(|part| part.name == SNAPSHOT).map_or(0, |part| part.bytes)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

    use super::*;

    fn part(name: &str, bytes: u64) -> PartSum {
        PartSum { name: name.to_owned(), bytes, sha256: format!("{bytes:064x}") }
    }

    fn manifest(parts: Vec<PartSum>) -> Manifest {
        let versions = BackupVersions { kokctl: "0.1.0".to_owned(), kubernetes: "1.37.1".to_owned(), etcd: "3.7.1".to_owned() };
        Manifest::new("demo", 1_795_723_865, versions, ("cp1", Some(42)), parts)
    }

    fn parts() -> Vec<PartSum> {
        vec![part(KEYS, 5), part(CLUSTER, 6), part(SNAPSHOT, 7)]
    }

    #[test]
    fn it_is_read_as_it_was_written() {
        let is = manifest(parts());
        assert_eq!(Manifest::parse(is.text().as_bytes()).unwrap(), is);
        assert!(!is.is_of_encrypted() && is.snapshot_bytes() == 7);
        assert!(manifest(vec![part(ENCRYPTION, 1)]).is_of_encrypted());
    }

    #[test]
    fn what_is_added_later_is_passed_over_and_another_form_is_not() {
        let text = manifest(parts()).text();
        let more = text.replacen('{', "{\"objects\": {\"pods\": 3},", 1);
        assert_eq!(Manifest::parse(more.as_bytes()).unwrap(), manifest(parts()));
        let other = text.replacen("\"format\": 1", "\"format\": 2, \"cluster\": [], \"x\": 1", 1);
        assert_eq!(Manifest::parse(other.as_bytes()), Err(WrongParts::Format(2)));
        for wrong in ["", "{", "{}", "{\"format\": 1}", "[]"] {
            assert_eq!(Manifest::parse(wrong.as_bytes()), Err(WrongParts::Unreadable), "{wrong}");
        }
    }

    #[test]
    fn whatever_differs_is_named() {
        let is = manifest(parts());
        assert_eq!(is.check(&parts()), Ok(()));
        let mut found = parts();
        found[2].bytes += 1;
        assert_eq!(is.check(&found), Err(WrongParts::Differs(SNAPSHOT.to_owned())));
        let mut found = parts();
        found[0].sha256.replace_range(0..1, "f");
        assert_eq!(is.check(&found), Err(WrongParts::Differs(KEYS.to_owned())));
        assert_eq!(is.check(&parts()[..2]), Err(WrongParts::Missing(SNAPSHOT.to_owned())));
        let more = [parts(), vec![part("x", 1)]].concat();
        assert_eq!(is.check(&more), Err(WrongParts::Strange("x".to_owned())));
        let twice = [parts(), parts()].concat();
        assert_eq!(is.check(&twice), Err(WrongParts::Strange(KEYS.to_owned())));
        assert_eq!(manifest(Vec::new()).check(&[]), Err(WrongParts::Missing(KEYS.to_owned())));
    }
}
