//! Files that a cluster names: keys of a ConfigMap and a Secret, and nothing else.

use std::collections::BTreeMap;
use std::path::PathBuf;

use kok_crds::model::{Addon, EscrowFile, Payload};
use kok_crds::{Position, Problem, Source};
use kok_tasks::digest::sha256;

use crate::inputs::{Contents, Files, Unread, UnreadCause};
use crate::state::Kept;

/// What the keys of `filesRef` and `secretFilesRef` hold. No path leads to a file of the machine that the operator runs on.
#[derive(Default)]
pub(in super::super) struct ObjectFiles(pub(in super::super) BTreeMap<String, Vec<u8>>);

impl ObjectFiles {
    /// What stands for exactly these files.
    pub(in super::super) fn digest(&self) -> String {
        let sums = self.0.iter().map(|(name, bytes)| format!("{} {name:?}\n", sha256(bytes)));
        format!("sha256:{}", sha256(sums.collect::<String>().as_bytes()))
    }

    /// What the key of this path holds.
    pub(super) fn get(&self, path: &str) -> Option<&[u8]> {
        self.0.get(&key_of(path)).map(Vec::as_slice)
    }
}

/// The key that stands for a path. A key has no `/`, which `__` stands for; what leads nowhere else, as `./` and the first `/`, is left out.
fn key_of(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    parts.join("__")
}

impl Files for ObjectFiles {
    fn name(&self, _: &Position, path: &str) -> String {
        path.to_owned()
    }

    fn read(&self, _: &Position, path: &str, most: u64) -> Result<Contents, Unread> {
        let missing = || Unread {
            cause: UnreadCause::Missing,
            because: format!("neither `spec.operator.filesRef` nor `spec.operator.secretFilesRef` has a key `{}`", key_of(path)),
        };
        let bytes = self.get(path).ok_or_else(missing)?;
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > most {
            return Err(Unread { cause: UnreadCause::Other, because: format!("it is longer than {most} bytes") });
        }
        Ok(Contents { bytes: bytes.to_vec(), open_mode: None })
    }

    fn open_to_others(&self, _: &Position) -> Option<(String, u32)> {
        None
    }

    fn fetch(&self, addon: &Addon, url: &str) -> Result<Source, Problem> {
        let problem = Problem::new(format!("the manifest of the addon `{}` is not fetched", addon.name)).at(&addon.origin);
        let problem = problem.because(format!("the operator fetches nothing by itself, and {url} is elsewhere"));
        Err(problem.hint("put it into the ConfigMap of `spec.operator.filesRef`, and name its key as `manifest`"))
    }

    fn payload(&self, payload: &Payload) -> Result<PathBuf, Problem> {
        let problem = Problem::new(format!("{} is not brought to hosts", payload.title())).at(&payload.origin);
        let problem = problem.because("the operator has texts of ConfigMaps and Secrets and no other files, and fetches nothing by itself");
        Err(problem.hint("have `kokctl apply --only resources` do that, or leave it out; a text of at most 1 MiB may be a `file`"))
    }

    fn kept(&self, _: &str, file: &EscrowFile) -> Result<Option<Kept>, Problem> {
        let problem = Problem::new("the operator keeps no keys in a file").at(&file.origin);
        Err(problem.because("the file would be one of the machine that it runs on").hint("leave `escrow` out, or `kokctl apply` with it"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_key_without_slashes() {
        let keys = ["a.yaml", "./a.yaml", "addons/a.yaml", "./addons//a.yaml", "/etc/pki/ca.crt", "../a.yaml"].map(key_of);
        assert_eq!(keys, ["a.yaml", "a.yaml", "addons__a.yaml", "addons__a.yaml", "etc__pki__ca.crt", "..__a.yaml"]);
        let files = ObjectFiles([("addons__a.yaml".to_owned(), b"text".to_vec())].into());
        assert_eq!(files.get("addons/a.yaml"), Some(b"text".as_slice()));
        assert_eq!(files.get("a.yaml"), None);
    }
}
