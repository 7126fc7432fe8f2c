//! A TCP proxy that makes a path longer than it is: what passes through it arrives half a round trip later.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketType, bind, connect, socket};

/// Read at once; a packet of SSH is at most 32 KiB.
const CHUNK: usize = 32 << 10;
/// Chunks under way in one direction: 64 MiB, more than any window of SSH leaves unacknowledged.
const UNDER_WAY: usize = 2048;

/// What a proxy is between.
#[derive(Debug, Clone, Copy)]
pub struct Proxy {
    /// Where it takes connections.
    pub listen: SocketAddrV4,
    /// The address that it connects from.
    pub from: Ipv4Addr,
    /// Where it connects to.
    pub to: SocketAddrV4,
    /// How long a question and its answer are under way.
    pub round_trip: Duration,
}

/// Bytes, or none at the end of the stream, and when they arrive.
type Chunk = (Instant, Vec<u8>);

/// Takes connections for ever; calls `ready` once it does.
///
/// # Errors
/// When it can't listen, or no connection can be taken any more.
pub fn serve(proxy: Proxy, ready: impl FnOnce()) -> io::Result<()> {
    let listener = TcpListener::bind(SocketAddr::V4(proxy.listen))?;
    ready();
    take_connections(&listener, proxy)
}

fn take_connections(listener: &TcpListener, proxy: Proxy) -> io::Result<()> {
    loop {
        let (client, _) = listener.accept()?;
        let accepted = Instant::now();
        // An error is the end of this connection, and its two ends see that.
        thread::spawn(move || relay(proxy, client, accepted));
    }
}

/// The client has its connection at once, though it would wait for a round trip, and its host would see it half a one after that.
/// So everything begins later by as much.
fn relay(proxy: Proxy, client: TcpStream, accepted: Instant) -> io::Result<()> {
    client.set_nodelay(true)?;
    let half = proxy.round_trip / 2;
    let (to_host, from_client) = sync_channel(UNDER_WAY);
    let (to_client, from_host) = sync_channel(UNDER_WAY);
    let mut questions = client.try_clone()?;
    thread::spawn(move || take(&mut questions, &to_host, half));
    wait_until(accepted + proxy.round_trip + half);
    let Ok(host) = open(proxy) else { return client.shutdown(Shutdown::Both) };
    let mut answers = host.try_clone()?;
    thread::spawn(move || take(&mut answers, &to_client, half));
    thread::spawn(move || deliver(host, &from_client));
    deliver(client, &from_host);
    Ok(())
}

fn open(proxy: Proxy) -> io::Result<TcpStream> {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
    bind(&socket, &SocketAddrV4::new(proxy.from, 0))?;
    connect(&socket, &proxy.to)?;
    let stream = TcpStream::from(socket);
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn take(stream: &mut TcpStream, chunks: &SyncSender<Chunk>, half: Duration) {
    loop {
        let mut bytes = vec![0; CHUNK];
        let count = stream.read(&mut bytes).unwrap_or(0);
        bytes.truncate(count);
        if chunks.send((Instant::now() + half, bytes)).is_err() || count == 0 {
            return;
        }
    }
}

fn deliver(mut stream: TcpStream, chunks: &Receiver<Chunk>) {
    while let Ok((due, bytes)) = chunks.recv() {
        wait_until(due);
        if bytes.is_empty() || stream.write_all(&bytes).is_err() {
            break;
        }
    }
    let _ = stream.shutdown(Shutdown::Write);
}

fn wait_until(moment: Instant) {
    thread::sleep(moment.saturating_duration_since(Instant::now()));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const LOCAL: Ipv4Addr = Ipv4Addr::LOCALHOST;

    /// A host that greets, and answers each byte by the same.
    fn echo() -> u16 {
        let listener = TcpListener::bind((LOCAL, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(b"!").unwrap();
            let mut byte = [0];
            while stream.read_exact(&mut byte).is_ok() {
                stream.write_all(&byte).unwrap();
            }
        });
        port
    }

    #[test]
    fn each_question_costs_a_round_trip() {
        let round_trip = Duration::from_millis(60);
        // Its port is its own from here on: one that is only looked up somebody else gets, be it the host beside it.
        let listener = TcpListener::bind((LOCAL, 0)).unwrap();
        let listen = SocketAddrV4::new(LOCAL, listener.local_addr().unwrap().port());
        let to = SocketAddrV4::new(LOCAL, echo());
        thread::spawn(move || take_connections(&listener, Proxy { listen, from: LOCAL, to, round_trip }));
        let began = Instant::now();
        let mut client = TcpStream::connect(listen).unwrap();
        let mut byte = [0];
        client.read_exact(&mut byte).unwrap();
        // One for connecting, half a one for the host to see it, half a one for its greeting.
        assert!(began.elapsed() >= 2 * round_trip, "{:?}", began.elapsed());
        for _ in 0..3 {
            let asked = Instant::now();
            client.write_all(b"?").unwrap();
            client.read_exact(&mut byte).unwrap();
            assert!(asked.elapsed() >= round_trip, "{:?}", asked.elapsed());
            assert_eq!(&byte, b"?");
        }
        client.shutdown(Shutdown::Write).unwrap();
        assert_eq!(client.read(&mut byte).unwrap(), 0, "the end of a stream passes as well");
    }
}
