//! What can be between two hosts: a relay that can be cut, and an address where nobody answers.
use super::LOCALHOST;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// An address of this machine that swallows all attempts to connect, as that of a host does that is switched off.
pub(crate) struct BlackHole {
    listener: std::net::TcpListener,
    _queue: Vec<TcpStream>,
}

impl BlackHole {
    /// At every address of the loopback network, for many hosts.
    pub(crate) async fn new() -> Self {
        let listener = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
        // Who comes when the queue is full gets no answer.
        rustix::net::listen(&listener, 0).unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut queue = Vec::new();
        while let Ok(Ok(stream)) = tokio::time::timeout(Duration::from_millis(200), TcpStream::connect((LOCALHOST, port))).await {
            queue.push(stream);
        }
        Self { listener, _queue: queue }
    }

    pub(crate) fn address(&self) -> std::net::SocketAddr {
        (LOCALHOST, self.port()).into()
    }

    pub(crate) fn port(&self) -> u16 {
        self.listener.local_addr().unwrap().port()
    }
}

/// Passes TCP connections on to a port until it is cut, or goes silent.
pub(crate) struct Relay {
    pub(crate) port: u16,
    task: JoinHandle<()>,
    silent: Arc<AtomicBool>,
}

impl Relay {
    /// The first `dropped` connections are closed as soon as they are accepted.
    pub(crate) async fn to(port: u16, dropped: usize) -> Self {
        Self::at(0, port, dropped).await
    }

    /// At a port of its own, such as one that another relay had.
    pub(crate) async fn at(own: u16, port: u16, dropped: usize) -> Self {
        let listener = TcpListener::bind((LOCALHOST, own)).await.unwrap();
        let own = listener.local_addr().unwrap().port();
        let silent = Arc::new(AtomicBool::new(false));
        let task = tokio::spawn({
            let silent = Arc::clone(&silent);
            async move {
                let mut links = tokio::task::JoinSet::new();
                for count in 0.. {
                    let (client, _) = listener.accept().await.unwrap();
                    if count < dropped {
                        continue;
                    }
                    let server = TcpStream::connect((LOCALHOST, port)).await.unwrap();
                    let (client, server) = (client.into_split(), server.into_split());
                    links.spawn(pass(client.0, server.1, Arc::clone(&silent)));
                    links.spawn(pass(server.0, client.1, Arc::clone(&silent)));
                }
            }
        });
        Self { port: own, task, silent }
    }

    /// From now on nothing gets through, and nobody is told.
    pub(crate) fn go_silent(&self) {
        self.silent.store(true, Ordering::SeqCst);
    }

    /// Closes all connections.
    pub(crate) fn cut(&self) {
        self.task.abort();
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.cut();
    }
}

/// Passes bytes on. When silent it reads no more and keeps both ends open, so that whoever writes gets stuck.
async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, silent: Arc<AtomicBool>) {
    let mut piece = vec![0; 64 << 10];
    loop {
        let read = from.read(&mut piece).await.unwrap_or(0);
        if silent.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        if read == 0 || to.write_all(&piece[..read]).await.is_err() {
            return;
        }
    }
}
