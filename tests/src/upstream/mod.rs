//! A server that stands for upstream: it answers for every name, by TLS with a CA of its own, with the files and images of a bundle.
//!
//! Files lie where upstream has them, for a bundle's folder is laid out by their addresses; sha256 are published beside them as upstream does it;
//! images are served by the distribution protocol of OCI, out of their archives. What can go wrong on the way can be asked for.

mod catalog;
mod content;
mod http;
mod images;
mod tls;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use kok_tasks::bundle::{Bundle, INDEX};

pub use catalog::catalog_of;
use images::Images;

/// What goes wrong, where a part of the address is in a request for content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The connection ends once behind so many bytes.
    Cut(usize),
    /// Other bytes come, each time.
    Wrong,
}

/// What is served, and how.
#[derive(Debug, Clone)]
pub struct Options {
    /// The folder of the bundle.
    pub bundle: PathBuf,
    /// Where to listen.
    pub listen: SocketAddr,
    /// Where the certificate of the CA is written, in PEM.
    pub ca: PathBuf,
    /// A part of an address, and what goes wrong there.
    pub faults: Vec<(String, Fault)>,
}

/// What all connections share.
struct Served {
    pub(super) folder: PathBuf,
    pub(super) bundle: Bundle,
    pub(super) images: Images,
    faults: Mutex<Vec<(String, Fault)>>,
}

impl Served {
    /// What goes wrong with this request; a cut happens once.
    pub(super) fn fault(&self, address: &str) -> Option<Fault> {
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        let place = faults.iter().position(|(part, _)| address.contains(part.as_str()))?;
        let fault = faults.get(place)?.1.clone();
        if matches!(fault, Fault::Cut(_)) {
            faults.remove(place);
        }
        Some(fault)
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
pub fn serve(options: Options, ready: impl FnOnce()) -> io::Result<()> {
    let bundle = index_of(&options.bundle)?;
    let images = Images::read(&options.bundle, &bundle)?;
    let authority = tls::Authority::new(&options.ca)?;
    let served = Arc::new(Served { folder: options.bundle, bundle, images, faults: Mutex::new(options.faults) });
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
