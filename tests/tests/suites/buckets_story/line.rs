//! A line to a server that is cut again and again.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use kok_tests::lab::Lab;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// What stands between a client and a server of the lab's own address. It looks into nothing that it carries.
pub struct Line {
    port: u16,
    listener: TcpListener,
    cuts: Arc<Cuts>,
}

/// What is still to be cut, and what was.
#[derive(Default)]
struct Cuts {
    /// The bytes, both ways together, after which a connection ends.
    after: AtomicUsize,
    left: AtomicUsize,
    seen: AtomicUsize,
}

impl Line {
    /// To this port. Nothing is cut yet.
    pub fn begin(lab: &Lab, to: u16) -> Self {
        let namespace = File::open(lab.facts().unwrap().network_namespace).unwrap();
        let cuts = Arc::new(Cuts::default());
        let (told, listener) = mpsc::channel();
        let of_thread = Arc::clone(&cuts);
        // Its threads are born in the lab's network, too.
        thread::spawn(move || {
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
            let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
            told.send(listener.try_clone().unwrap()).unwrap();
            while let Ok((client, _)) = listener.accept() {
                let cuts = Arc::clone(&of_thread);
                thread::spawn(move || carry(client, to, &cuts));
            }
        });
        let listener = listener.recv().unwrap();
        Self { port: listener.local_addr().unwrap().port(), listener, cuts }
    }

    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Connections that have carried so many megabytes are cut, so many times, while `what` runs. How often it was.
    pub fn cut<T>(&self, after_megabytes: usize, times: usize, what: impl FnOnce() -> T) -> (T, usize) {
        self.cuts.after.store(after_megabytes * 1_000_000, Ordering::SeqCst);
        self.cuts.seen.store(0, Ordering::SeqCst);
        self.cuts.left.store(times, Ordering::SeqCst);
        let result = what();
        self.cuts.left.store(0, Ordering::SeqCst);
        (result, self.cuts.seen.load(Ordering::SeqCst))
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // Whoever waits for a connection is told that none comes any more.
        let _ = rustix::net::shutdown(&self.listener, rustix::net::Shutdown::Both);
    }
}

impl Cuts {
    /// Whether it is this connection's turn, now that it has carried so much.
    fn is_due(&self, carried: usize) -> bool {
        let is_due = carried > self.after.load(Ordering::SeqCst)
            && self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        if is_due {
            self.seen.fetch_add(1, Ordering::SeqCst);
        }
        is_due
    }
}

/// Both ways, until one of them ends or it is cut. What the client has sent and nobody read then is answered by a reset.
fn carry(client: TcpStream, to: u16, cuts: &Cuts) {
    let Ok(server) = TcpStream::connect(("127.0.0.1", to)) else { return };
    let carried = AtomicUsize::new(0);
    let ends = || [&client, &server].map(|end| end.shutdown(Shutdown::Both));
    let one_way = |mut from: &TcpStream, mut to: &TcpStream| {
        let mut piece = vec![0; 64 << 10];
        while let Ok(read @ 1..) = from.read(&mut piece) {
            let carried = carried.fetch_add(read, Ordering::SeqCst) + read;
            if cuts.is_due(carried) || to.write_all(&piece[..read]).is_err() {
                break;
            }
        }
        let _ = ends();
    };
    thread::scope(|scope| {
        scope.spawn(|| one_way(&client, &server));
        one_way(&server, &client);
    });
}
