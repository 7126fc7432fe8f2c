//! A server that stands for upstream: it answers for every name, by TLS with a CA of its own, with the files and images of a bundle.
//!
//! Files lie where upstream has them, for a bundle's folder is laid out by their addresses; sha256 are published beside them as upstream does it;
//! images are served by the distribution protocol of OCI, out of their archives. What can go wrong on the way can be asked for.

mod catalog;
mod content;
mod fault;
mod http;
mod images;
mod isolated;
mod login;
mod registry;
mod tls;
mod tokens;

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use kok_tasks::bundle::{Bundle, INDEX};

pub use catalog::catalog_of;
pub use fault::{Fault, FaultPlace};
use images::Images;
pub use isolated::Isolated;
pub use login::AUTH_HOST;
pub use registry::{Access, REGISTRY, Registry, program as registry_program};
use tokens::Tokens;

/// What is served, and how.
#[derive(Debug, Clone)]
pub struct UpstreamOptions {
    /// The folder of the bundle.
    pub bundle: PathBuf,
    /// A folder of further files, each at `HOST/PATH` below it.
    pub files: Option<PathBuf>,
    /// Where to listen.
    pub listen: SocketAddr,
    /// Where the certificate of the CA is written, in PEM.
    pub ca: PathBuf,
    /// What goes wrong, and where.
    pub faults: Vec<FaultPlace>,
    /// `USER:PASSWORD` in Base64: registries want tokens, which only this user gets.
    pub login: Option<String>,
    /// Where the keys are written with which tokens are signed, as registries read them (JWKS); without it tokens are not signed.
    pub jwks: Option<PathBuf>,
    /// Names whose certificates have expired.
    pub expired: Vec<String>,
    /// Where each request is noted, as `METHOD HOST PATH FROM SCHEME`: from which byte on, and how it says who it is (`-` if it does not).
    pub log: Option<PathBuf>,
}

/// What all connections share.
struct Served {
    pub(super) folder: PathBuf,
    pub(super) bundle: Bundle,
    pub(super) files: Option<PathBuf>,
    pub(super) images: Images,
    faults: Mutex<Vec<FaultPlace>>,
    pub(super) login: Option<String>,
    pub(super) tokens: Option<Tokens>,
    log: Option<Mutex<File>>,
}

impl Served {
    /// What goes wrong with this request, which is answered with so many bytes.
    pub(super) fn fault(&self, address: &str, length: u64) -> Option<Fault> {
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        let place = faults.iter().position(|place| place.matches(address, length))?;
        let fault = faults.get(place)?.fault.clone();
        if fault.is_once() {
            faults.remove(place);
        }
        Some(fault)
    }

    /// Notes a request, without what is secret in it.
    pub(super) fn note(&self, request: &http::Request) -> io::Result<()> {
        let Some(log) = &self.log else { return Ok(()) };
        let scheme = request.authorization.as_deref().and_then(|text| text.split(' ').next()).unwrap_or("-");
        let line = format!("{} {} {} {} {scheme}\n", request.method, request.host, request.path, request.from);
        log.lock().unwrap_or_else(PoisonError::into_inner).write_all(line.as_bytes())
    }
}

/// The index of a bundle.
///
/// # Errors
/// If it can't be read.
pub fn index_of(folder: &std::path::Path) -> io::Result<Bundle> {
    Bundle::parse(&std::fs::read_to_string(folder.join(INDEX))?).map_err(io::Error::other)
}

/// Serves until the process ends. `ready` hears when it listens.
///
/// # Errors
/// If the bundle can't be read, or nobody may listen there.
pub fn serve(options: UpstreamOptions, ready: impl FnOnce()) -> io::Result<()> {
    let bundle = index_of(&options.bundle)?;
    let images = Images::read(&options.bundle, &bundle)?;
    let authority = tls::Authority::new(&options.ca, options.expired)?;
    let log = options.log.map(|path| OpenOptions::new().create(true).append(true).open(path).map(Mutex::new)).transpose()?;
    let tokens = options.jwks.map(|path| Tokens::new(&path)).transpose()?;
    let (faults, login) = (Mutex::new(options.faults), options.login);
    let served = Arc::new(Served { folder: options.bundle, bundle, files: options.files, images, faults, login, tokens, log });
    let listener = TcpListener::bind(options.listen)?;
    ready();
    for connection in listener.incoming() {
        let (connection, served, configuration) = (connection?, Arc::clone(&served), authority.configuration());
        thread::spawn(move || {
            // A client that goes away is its own affair.
            let _ = tls::accept(connection, configuration).and_then(|mut stream| http::answer_all(&mut stream, &served));
        });
    }
    Ok(())
}
