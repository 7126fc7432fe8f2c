//! Upstream in small, on the loopback interface: two files, two images that share a layer, and what can go wrong.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use kok_tasks::catalog::{Expected, FileItem, ImageItem, Item};
use kok_tasks::digest::sha256;
use kok_tasks::mirrors::Mirrors;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

use super::super::*;

const RUNC: &str = "/opencontainers/runc/releases/download/v1.5.2/runc.amd64";
const CNI: &str = "/containernetworking/plugins/releases/download/v1.9.1/cni-plugins-linux-amd64-v1.9.1.tgz";

#[derive(Clone)]
pub(super) enum UpstreamFault {
    /// The connection ends after so many bytes of the body.
    Cut(usize),
    Status(u16, Option<u64>),
    Other(Vec<u8>),
    LongerThanItIs(usize),
    Redirect(String),
}

#[derive(Default)]
struct State {
    content: BTreeMap<String, Vec<u8>>,
    faults: Vec<(String, UpstreamFault, bool)>,
    requests: Vec<String>,
    needs_login: bool,
    manifests: BTreeMap<String, String>,
}

pub(super) struct Upstream {
    state: Arc<Mutex<State>>,
    port: u16,
    server: AbortHandle,
}

#[derive(Default)]
pub(in crate::artifacts) struct Heard {
    bytes: AtomicU64,
    notices: Mutex<Vec<String>>,
}

impl Heard {
    pub(in crate::artifacts) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(in crate::artifacts) fn notices(&self) -> Vec<String> {
        self.notices.lock().unwrap().clone()
    }
}

impl Progress for Heard {
    fn begins(&self, _: usize, _: u64) {}
    fn came(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
    fn done(&self, _: &str) {}
    fn notice(&self, text: &str) {
        self.notices.lock().unwrap().push(text.to_owned());
    }
}

pub(super) fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o755);
        // The library itself writes no path that leads out.
        header.as_gnu_mut().unwrap().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_cksum();
        archive.append(&header, *content).unwrap();
    }
    let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    zipped.write_all(&archive.into_inner().unwrap()).unwrap();
    zipped.finish().unwrap()
}

fn digest(content: &[u8]) -> String {
    format!("sha256:{}", sha256(content))
}

impl Upstream {
    pub(super) async fn start() -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        {
            let mut state = state.lock().unwrap();
            let runc: Vec<u8> = (0..100_000_u32).map(|number| u8::try_from(number % 251).unwrap()).collect();
            state.content.insert(format!("{RUNC}.sum"), format!("{}  runc.amd64\n", sha256(&runc)).into_bytes());
            state.content.insert(RUNC.to_owned(), runc);
            state.content.insert(CNI.to_owned(), archive(&[("./loopback", b"l"), ("./bridge", b"b")]));
            state.add_image("pause", "3.10.2", b"a shared layer");
            state.add_image("kokctl/echo", "0.1.0", b"a shared layer");
        }
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let own = Arc::clone(&state);
        let server = tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                tokio::spawn(serve(connection, Arc::clone(&own)));
            }
        });
        Self { state, port, server: server.abort_handle() }
    }

    pub(super) fn stop(&self) {
        self.server.abort();
    }

    pub(super) fn items(&self) -> Vec<Item> {
        let state = self.state.lock().unwrap();
        let file = |name: &str, version: &str, path: &str, expected: Expected| {
            Item::File(FileItem {
                name: name.to_owned(),
                version: version.to_owned(),
                architecture: "amd64".to_owned(),
                address: format!("https://github.com{path}"),
                expected,
                licence: "Apache-2.0".to_owned(),
            })
        };
        let image = |name: &str, version: &str, reference: &str, is_release: bool| {
            Item::Image(ImageItem {
                name: name.to_owned(),
                version: version.to_owned(),
                architecture: "amd64".to_owned(),
                reference: reference.to_owned(),
                releases: is_release.then(|| "1.37.1".to_owned()).into_iter().collect(),
                may_be_absent: !is_release,
                licence: "Apache-2.0".to_owned(),
            })
        };
        let published = Expected::Published { address: format!("https://github.com{RUNC}.sum"), is_list: true };
        vec![
            file("runc", "1.5.2", RUNC, published),
            file("cni-plugins", "1.9.1", CNI, Expected::Pinned(sha256(&state.content[CNI]))),
            image("pause", "3.10.2", "registry.k8s.io/pause:3.10.2", true),
            image("echo", "0.1.0", "ghcr.io/kokctl/echo:0.1.0", false),
        ]
    }

    pub(super) async fn fetch(&self, folder: &Path, heard: Arc<Heard>) -> Result<Fetched, Vec<Failure>> {
        self.fetch_these(self.items(), folder, heard).await
    }

    pub(super) async fn fetch_these(&self, items: Vec<Item>, folder: &Path, heard: Arc<Heard>) -> Result<Fetched, Vec<Failure>> {
        let address = format!("http://127.0.0.1:{}", self.port);
        let mirrors =
            ["github.com", "registry.k8s.io", "ghcr.io", "deb.debian.org"].map(|host| format!("{host}={address}").parse().unwrap());
        let mut credentials = Credentials::default();
        credentials.add(&format!(r#"{{"auths": {{"127.0.0.1:{}": {{"auth": "dXNlcjpwYXNz"}}}}}}"#, self.port)).unwrap();
        let connection = UpstreamConnection { mirrors: Mirrors(mirrors.into()), credentials, ..UpstreamConnection::default() };
        let releases = vec!["1.37.1".to_owned()];
        let licences = BTreeMap::new();
        fetch(&FetchRequest { items, releases, folder, connection: &connection, licences }, heard).await
    }

    pub(super) fn runc(&self) -> Vec<u8> {
        self.state.lock().unwrap().content[RUNC].clone()
    }

    pub(super) fn serve_cni(&self, content: Vec<u8>) {
        self.serve(CNI, content);
    }

    pub(super) fn serve(&self, path: &str, content: Vec<u8>) {
        self.state.lock().unwrap().content.insert(path.to_owned(), content);
    }

    /// How many bytes files and blobs have, each once.
    pub(super) fn bytes(&self) -> u64 {
        let state = self.state.lock().unwrap();
        let blobs: BTreeMap<&str, &Vec<u8>> =
            state.content.iter().filter_map(|(path, content)| Some((path.split_once("/blobs/")?.1, content))).collect();
        let shared = b"a shared layer".len();
        // The layer that two images share counts once for each of them in what is planned.
        let all =
            state.content[RUNC].len() + state.content[CNI].len() + blobs.values().map(|content| content.len()).sum::<usize>() + shared;
        all as u64
    }

    pub(super) fn manifest_digest(&self, image: &str) -> String {
        self.state.lock().unwrap().manifests[image].clone()
    }

    pub(super) fn requests(&self) -> Vec<String> {
        self.state.lock().unwrap().requests.clone()
    }

    pub(super) fn once(&self, path: &str, fault: UpstreamFault) {
        self.state.lock().unwrap().faults.push((path.to_owned(), fault, true));
    }

    pub(super) fn always(&self, path: &str, fault: UpstreamFault) {
        self.state.lock().unwrap().faults.push((path.to_owned(), fault, false));
    }

    pub(super) fn heal(&self) {
        self.state.lock().unwrap().faults.clear();
    }

    pub(super) fn without(&self, name: &str) {
        self.state.lock().unwrap().content.retain(|path, _| !path.contains(name));
    }

    pub(super) fn ask_for_login(&self) {
        self.state.lock().unwrap().needs_login = true;
    }

    /// The same machine by another name.
    pub(super) fn other_name(&self) -> String {
        format!("http://localhost:{}", self.port)
    }
}

impl State {
    fn add_image(&mut self, name: &str, tag: &str, layer: &[u8]) {
        let config = format!(r#"{{"architecture":"amd64","os":"linux","name":"{name}"}}"#).into_bytes();
        let blob = |kind: &str, content: &[u8]| {
            format!(r#"{{"mediaType":"application/vnd.oci.image.{kind}","digest":"{}","size":{}}}"#, digest(content), content.len())
        };
        let manifest = format!(
            r#"{{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{},"layers":[{}]}}"#,
            blob("config.v1+json", &config),
            blob("layer.v1.tar", layer)
        );
        let entry = |architecture: &str, digest: &str, size: usize| {
            format!(
                r#"{{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"{digest}","size":{size},"platform":{{"architecture":"{architecture}","os":"linux"}}}}"#
            )
        };
        let own = digest(manifest.as_bytes());
        let other = entry("arm64", &digest(b"another"), 7);
        let index = format!(
            r#"{{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[{other},{}]}}"#,
            entry("amd64", &own, manifest.len())
        );
        for (path, content) in [
            (format!("manifests/{tag}"), index.into_bytes()),
            (format!("manifests/{own}"), manifest.into_bytes()),
            (format!("blobs/{}", digest(&config)), config),
            (format!("blobs/{}", digest(layer)), layer.to_vec()),
        ] {
            self.content.insert(format!("/v2/{name}/{path}"), content);
        }
        self.manifests.insert(name.to_owned(), own);
    }

    fn fault(&mut self, method: &str, path: &str) -> Option<UpstreamFault> {
        let place = self.faults.iter().position(|(part, ..)| {
            method == "GET" && path.ends_with(part.as_str()) || part.contains('/') && path.contains(part.as_str())
        })?;
        if self.faults[place].2 { Some(self.faults.remove(place).1) } else { Some(self.faults[place].1.clone()) }
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
        let head = String::from_utf8(head).unwrap();
        let (answer, is_over) = answer(&head, &mut state.lock().unwrap());
        if connection.write_all(&answer).await.is_err() || is_over {
            return;
        }
    }
}

/// The bytes of an answer, and whether the connection ends behind it.
fn answer(head: &str, state: &mut State) -> (Vec<u8>, bool) {
    state.requests.push(head.to_owned());
    let mut words = head.split_whitespace();
    let (method, path) = (words.next().unwrap(), words.next().unwrap());
    let header = |name: &str| {
        let lower = head.to_ascii_lowercase();
        lower.lines().find_map(|line| line.strip_prefix(name).and_then(|rest| rest.strip_prefix(": ")).map(str::to_owned))
    };
    let plain = |status: &str, more: &str| (format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n{more}\r\n").into_bytes(), false);
    if state.needs_login && path.starts_with("/v2/") && header("authorization").is_none() {
        return plain("401 Unauthorized", "www-authenticate: Basic realm=\"here\"\r\n");
    }
    if path == "/v2/" {
        return plain("200 OK", "");
    }
    let fault = state.fault(method, path);
    let mut content = match (&fault, state.content.get(path)) {
        (Some(UpstreamFault::Status(status, after)), _) => {
            let after = after.map(|seconds| format!("retry-after: {seconds}\r\n")).unwrap_or_default();
            return plain(&format!("{status} Busy"), &after);
        }
        (Some(UpstreamFault::Redirect(to)), _) => return plain("307 Temporary Redirect", &format!("location: {to}{path}\r\n")),
        (Some(UpstreamFault::Other(content)), _) => content.clone(),
        (_, Some(content)) => content.clone(),
        (_, None) => return plain("404 Not Found", ""),
    };
    let from: usize = header("range").and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok()).unwrap_or_default();
    let whole = content.len();
    if from > 0 && from >= whole {
        return plain("416 Range Not Satisfiable", "");
    }
    content.drain(..from);
    let (status, range) = match from {
        0 => ("200 OK", String::new()),
        from => ("206 Partial Content", format!("content-range: bytes {from}-{}/{whole}\r\n", whole - 1)),
    };
    let more = if let Some(UpstreamFault::LongerThanItIs(more)) = fault { more } else { 0 };
    let kind = if path.contains("/manifests/") && content.starts_with(br#"{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index"#)
    {
        "application/vnd.oci.image.index.v1+json"
    } else {
        "application/vnd.oci.image.manifest.v1+json"
    };
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n{range}\r\n", content.len() + more);
    let mut answer = head.into_bytes();
    if method == "GET" {
        let sent = if let Some(UpstreamFault::Cut(at)) = fault { content.get(..at).unwrap_or(&content) } else { &content };
        answer.extend_from_slice(sent);
    }
    let is_cut = matches!(fault, Some(UpstreamFault::Cut(_) | UpstreamFault::LongerThanItIs(_)));
    (answer, is_cut)
}
