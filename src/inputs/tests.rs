//! Somebody whose files are on no disk.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "these are tests")]

use std::collections::BTreeMap;

use kok_crds::model::{Addon, EscrowFile, Payload, Wish};
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

    fn payload(&self, payload: &Payload) -> Result<std::path::PathBuf, Problem> {
        Err(Problem::new("files are refused").at(&payload.origin))
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

/// Answers one request after the other with this, and counts them.
fn serve(body: &'static [u8]) -> (String, std::sync::Arc<std::sync::atomic::AtomicUsize>) {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, count) = (listener.local_addr().unwrap(), std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0)));
    let counted = std::sync::Arc::clone(&count);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
        }
    });
    (format!("http://{address}/tool"), count)
}

#[test]
fn a_file_for_hosts_is_fetched_once_and_only_as_it_was_meant() {
    let folder = tempfile::tempdir().unwrap();
    let (url, requests) = serve(b"\x7fELF\0program");
    let load_with = |sum: &str| {
        let text = format!(
            "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Fleet\nmetadata: {{name: office}}\nspec:\n  hosts: [{{name: a, address: 10.0.0.1}}]\n  \
             hostResources: [{{binary: {{path: /b, url: '{url}', sha256: {sum}}}}}]\n"
        );
        let input = read_input(&[File { name: "fleet.yaml".to_owned(), text, role: Role::Main { cluster: None } }]);
        load(input, &LocalFiles::new(None, Some(folder.path().to_owned())))
    };
    let sum = kok_tasks::digest::sha256(b"\x7fELF\0program");
    for _ in 0..2 {
        let input = load_with(&sum);
        let cluster = input.cluster.unwrap_or_else(|| panic!("{:?}", input.problems));
        let Wish::Binary { payload, .. } = &cluster.resources.entries[0].wish else { panic!("no binary") };
        let held = payload.held.as_ref().unwrap();
        assert_eq!((held.size, &held.sha256), (12, &sum));
        assert_eq!(std::fs::read(&held.path).unwrap(), b"\x7fELF\0program");
    }
    assert_eq!(requests.load(std::sync::atomic::Ordering::SeqCst), 1);
    let problem = only(load_with(&"f".repeat(64)));
    assert!(problem.because.as_deref().unwrap().contains(&sum) && problem.hint.is_some(), "{problem:?}");
    let kept: Vec<_> = std::fs::read_dir(folder.path().join("files")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(kept, [sum.as_str()], "what was not meant is not kept");
}
