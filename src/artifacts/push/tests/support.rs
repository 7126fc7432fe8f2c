//! A registry in small, on the loopback interface, and a bundle of two images that share a layer.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use kok_tasks::bundle::{Bundle, BundleImage, FORMAT, INDEX};
use kok_tasks::digest::sha256;
use kok_tasks::pushed::{Registry, places};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::super::*;
use crate::artifacts::fetch::tests::support::Heard;

#[derive(Clone)]
pub(super) enum RegistryFault {
    Status(u16),
    /// The connection ends after so many bytes of the request's body.
    Cut(usize),
}

#[derive(Default)]
struct State {
    /// By `REPOSITORY DIGEST`.
    blobs: BTreeMap<String, Vec<u8>>,
    /// By address.
    manifests: BTreeMap<String, Vec<u8>>,
    faults: Vec<(String, RegistryFault, bool)>,
    requests: Vec<String>,
    mounts: bool,
}

pub(super) struct Site {
    state: Arc<Mutex<State>>,
    port: u16,
    folder: tempfile::TempDir,
    pub(super) heard: Arc<Heard>,
}

/// As large as some pieces that are sent at a time.
fn layer() -> Vec<u8> {
    (0..700_000_u32).map(|number| u8::try_from(number % 251).unwrap()).collect()
}

fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", sha256(bytes))
}

fn archive(reference: &str, layers: &[&[u8]]) -> (Vec<u8>, String) {
    let config = format!(r#"{{"architecture":"amd64","os":"linux","author":"{reference}"}}"#).into_bytes();
    let blob = |bytes: &[u8]| format!(r#"{{"mediaType":"application/octet-stream","digest":"{}","size":{}}}"#, digest(bytes), bytes.len());
    let manifest = format!(r#"{{"schemaVersion":2,"config":{},"layers":[{}]}}"#, blob(&config), blob(&layer())).into_bytes();
    let mut archive = tar::Builder::new(Vec::new());
    for bytes in [&manifest[..], &config].iter().chain(layers) {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        archive.append_data(&mut header, format!("blobs/{}", digest(bytes).replace(':', "/")), *bytes).unwrap();
    }
    (archive.into_inner().unwrap(), digest(&manifest))
}

impl Site {
    pub(super) async fn start(mounts: bool) -> Self {
        let state = Arc::new(Mutex::new(State { mounts, ..State::default() }));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (port, own) = (listener.local_addr().unwrap().port(), Arc::clone(&state));
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                tokio::spawn(serve(connection, Arc::clone(&own)));
            }
        });
        let site = Self { state, port, folder: tempfile::tempdir().unwrap(), heard: Arc::default() };
        site.write(|_| vec![layer()]);
        site
    }

    fn write(&self, layers: impl Fn(&str) -> Vec<Vec<u8>>) {
        let images = ["registry.k8s.io/pause:3", "registry.k8s.io/second:1"].map(|reference| {
            let layers = layers(reference);
            let (bytes, manifest_digest) = archive(reference, &layers.iter().map(Vec::as_slice).collect::<Vec<_>>());
            let path = format!("images/{}.tar", reference.replace(':', "-"));
            let file: PathBuf = self.folder.path().join(&path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, &bytes).unwrap();
            let [name, version, architecture] = [reference, "1", "amd64"].map(str::to_owned);
            let (size, sha256, reference, lacks) = (bytes.len() as u64, sha256(&bytes), reference.to_owned(), Vec::new());
            BundleImage { name, version, architecture, path, size, sha256, reference, manifest_digest, lacks }
        });
        let bundle = Bundle { format: FORMAT, kubernetes: Vec::new(), files: Vec::new(), images: images.into(), packages: Vec::new() };
        std::fs::write(self.folder.path().join(INDEX), serde_json::to_vec(&bundle).unwrap()).unwrap();
    }

    /// An archive that lacks its layer.
    pub(super) fn drop_blob(&self, of: &str) {
        self.write(|reference| if reference == of { Vec::new() } else { vec![layer()] });
    }

    pub(super) async fn push(&self) -> Result<Pushed, Vec<Failure>> {
        let registry: Registry = format!("http://127.0.0.1:{}", self.port).parse().unwrap();
        let (folder, connection) = (BundleFolder::open(self.folder.path()).unwrap(), UpstreamConnection::default());
        let places = places(folder.bundle(), &registry, false).unwrap();
        let request = PushRequest { folder: &folder, places, registry: &registry, connection: &connection };
        push(request, Arc::clone(&self.heard) as Arc<dyn Progress>).await
    }

    /// Of all blobs, that of both images twice.
    pub(super) fn bytes(&self) -> u64 {
        self.state.lock().unwrap().blobs.values().map(|blob| blob.len() as u64).sum()
    }

    pub(super) fn layer(&self) -> u64 {
        layer().len() as u64
    }

    pub(super) fn blobs_are_whole(&self) -> bool {
        let state = self.state.lock().unwrap();
        state.blobs.len() == 4 && state.blobs.iter().all(|(name, blob)| name.ends_with(&digest(blob)))
    }

    pub(super) fn requests(&self) -> Vec<String> {
        self.state.lock().unwrap().requests.clone()
    }

    pub(super) fn tag(&self, repository: &str, tag: &str, document: &[u8]) {
        self.state.lock().unwrap().manifests.insert(format!("/v2/{repository}/manifests/{tag}"), document.to_vec());
    }

    pub(super) fn once(&self, request: &str, fault: RegistryFault) {
        self.state.lock().unwrap().faults.push((request.to_owned(), fault, true));
    }

    pub(super) fn always(&self, request: &str, fault: RegistryFault) {
        self.state.lock().unwrap().faults.push((request.to_owned(), fault, false));
    }

    pub(super) fn heal(&self) {
        self.state.lock().unwrap().faults.clear();
    }
}

impl State {
    fn fault(&mut self, request: &str) -> Option<RegistryFault> {
        let place = self.faults.iter().position(|(begin, ..)| request.starts_with(begin.as_str()))?;
        if self.faults[place].2 { Some(self.faults.remove(place).1) } else { Some(self.faults[place].1.clone()) }
    }

    fn answer(&mut self, method: &str, address: &str, body: Vec<u8>) -> (u16, String, Vec<u8>) {
        let plain = |status: u16| (status, String::new(), Vec::new());
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        let value = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)).map(|value| value.replace("%3a", ":"));
        let place = path.trim_start_matches("/v2/").trim_start_matches("/upload/");
        let repository = place.split('/').next().unwrap().to_owned();
        match method {
            "GET" if path == "/v2/" => plain(200),
            "GET" => self.manifests.get(path).map_or_else(|| plain(404), |document| (200, String::new(), document.clone())),
            "HEAD" => plain(if self.blobs.contains_key(&format!("{repository} {}", path.rsplit('/').next().unwrap())) { 200 } else { 404 }),
            "POST" => match (value("mount="), value("from=")) {
                (Some(digest), Some(from)) if self.mounts => {
                    let blob = self.blobs[&format!("{from} {digest}")].clone();
                    self.blobs.insert(format!("{repository} {digest}"), blob);
                    (201, format!("location: /v2/{repository}/blobs/{digest}\r\n"), Vec::new())
                }
                _ => (202, format!("location: /upload/{repository}/1\r\n"), Vec::new()),
            },
            _ if path.starts_with("/upload/") => {
                self.blobs.insert(format!("{repository} {}", value("digest=").unwrap()), body);
                (201, "location: /there\r\n".to_owned(), Vec::new())
            }
            _ => {
                self.manifests.insert(path.to_owned(), body);
                (201, "location: /there\r\n".to_owned(), Vec::new())
            }
        }
    }
}

async fn serve(mut connection: TcpStream, state: Arc<Mutex<State>>) {
    loop {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            match connection.read_u8().await {
                Ok(byte) => head.push(byte),
                Err(_) => return,
            }
        }
        let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
        let line = head.lines().next().unwrap();
        let (method, address) = line.split_once(' ').unwrap();
        let (method, address) = (method.to_ascii_uppercase(), address.split(' ').next().unwrap());
        let length: usize = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or_default();
        let request = format!("{method} {address}");
        let fault = {
            let mut state = state.lock().unwrap();
            state.requests.push(request.clone());
            state.fault(&request)
        };
        let mut body = vec![0; if let Some(RegistryFault::Cut(at)) = fault { at.min(length) } else { length }];
        if connection.read_exact(&mut body).await.is_err() || matches!(fault, Some(RegistryFault::Cut(_))) {
            return;
        }
        let (status, more, content) = match fault {
            Some(RegistryFault::Status(413)) => {
                (413, String::new(), br#"{"errors":[{"code":"SIZE_INVALID","message":"too much for me"}]}"#.to_vec())
            }
            Some(RegistryFault::Status(status)) => (status, String::new(), Vec::new()),
            _ => state.lock().unwrap().answer(&method, address, body),
        };
        let length = content.len();
        let answer = format!("HTTP/1.1 {status} Answer\r\n{more}content-length: {length}\r\n\r\n");
        let sent = [answer.as_bytes(), if method == "HEAD" { &[] } else { &content }].concat();
        if connection.write_all(&sent).await.is_err() {
            return;
        }
    }
}
