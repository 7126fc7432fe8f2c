//! Somebody whose files are on no disk.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

use std::collections::BTreeMap;

use kok_crds::model::{Addon, EscrowFile};
use kok_crds::{File, Position, Problem, Role, Source, read_input};

use super::*;
use crate::state::Kept;

/// Keys of an object, as an operator has them.
struct Keys(BTreeMap<&'static str, &'static str>);

impl Files for Keys {
    fn name(&self, _origin: &Position, path: &str) -> String {
        format!("key {path}")
    }

    fn read(&self, _origin: &Position, path: &str, _most: u64) -> Result<Contents, Unread> {
        let text = self.0.get(path).ok_or(Unread { cause: UnreadCause::Missing, because: "there is no such key".to_owned() })?;
        Ok(Contents { bytes: text.as_bytes().to_vec(), open_mode: None })
    }

    fn open_to_others(&self, _origin: &Position) -> Option<(String, u32)> {
        None
    }

    fn fetch(&self, addon: &Addon, _url: &str) -> Result<Source, Problem> {
        Err(Problem::new("addresses are refused").at(&addon.origin))
    }

    fn kept(&self, _cluster: &str, _file: &EscrowFile) -> Result<Option<Kept>, Problem> {
        Ok(None)
    }
}

fn read(addon: &str, keys: &[(&'static str, &'static str)]) -> Input {
    let text = format!(
        "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {{name: berlin}}\nspec:\n  kubernetesVersion: 1.37.1\n  \
         hosts: [{{name: cp1, address: 10.0.0.11, roles: [control-plane]}}]\n  addons: [{{name: shop, {addon}}}]\n"
    );
    let input = read_input(&[File { name: "cluster.yaml".to_owned(), text, role: Role::Main { cluster: None } }]);
    load(input, &Keys(keys.iter().copied().collect()))
}

fn only(input: Input) -> Problem {
    assert!(input.cluster.is_none());
    input.problems.into_iter().next().unwrap()
}

#[test]
fn what_files_name_comes_from_where_the_caller_says() {
    let read = |keys: &[(&'static str, &'static str)]| read("manifest: shop.yaml", keys);
    let cluster = read(&[("shop.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n")]).cluster.unwrap();
    assert_eq!(cluster.addons[0].objects.len(), 1);
    assert_eq!(only(read(&[])).because.as_deref(), Some("key shop.yaml: there is no such key"));
    let sum = "0".repeat(64);
    let problem = only(super::tests::read(&format!("url: 'https://example.org/shop.yaml', sha256: '{sum}'"), &[]));
    assert_eq!(problem.message, "addresses are refused");
}
