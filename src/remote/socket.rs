//! What is below SSH: a TCP connection, or a channel of a bastion.
use super::error::{ConnectFault, ConnectPhase};
use super::target::{AddressFamily, Target};
use super::text::printable;
use std::collections::VecDeque;
use std::future::Future as _;
use std::io;
use std::net::{Shutdown, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, BufReader, ReadBuf};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Sleep, sleep};

/// What is sent and not taken for this long means a dead link. Keepalives can't find that while a packet is stuck in a full socket,
/// because they queue behind it.
const UNACKNOWLEDGED: Duration = Duration::from_secs(20);
/// A name's next address is tried when one has not answered for so long (RFC 8305, 8).
const NEXT_ADDRESS: Duration = Duration::from_millis(250);
/// What is read from a server at once. An SSH client reads every packet in two pieces, its length and its rest, and many packets are small:
/// without a buffer each of them would cost two system calls.
const READ_AHEAD: usize = 16 << 10;
/// SSH's greeting is at most 255 bytes (RFC 4253, 4.2).
const GREETING_LIMIT: usize = 255;

/// Bytes to and from a server.
pub(super) trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

/// A connection that remembers the first bytes it read, to tell what answered if it was no SSH server.
pub(super) struct Socket {
    wire: BufReader<Box<dyn Wire>>,
    /// For the one who may hang up.
    tcp: Option<std::net::TcpStream>,
    greeting: Greeting,
    /// Whether all of a greeting was remembered, and what comes is none of it.
    greeted: bool,
    ended: Ended,
    /// Runs while a write waits.
    stuck: Option<Pin<Box<Sleep>>>,
}

/// The first bytes that a server sent.
#[derive(Clone, Default)]
pub(super) struct Greeting(Arc<Mutex<Vec<u8>>>);

/// Whether the connection was ended by us, and who has to be told.
#[derive(Clone, Default)]
struct Ended(Arc<Mutex<EndedState>>);

#[derive(Default)]
struct EndedState {
    yes: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

/// Ends the connection when dropped, which wakes and ends whatever reads or writes it.
pub(super) struct Hangup {
    tcp: Option<std::net::TcpStream>,
    ended: Ended,
}

impl Socket {
    /// A TCP connection to the target's address, the first of them that answers.
    pub(super) async fn connect(target: &Target, after: Duration) -> Result<Self, ConnectFault> {
        let stream = match tokio::time::timeout(after, dial(target)).await {
            Err(_) => return Err(ConnectFault::TimedOut { phase: ConnectPhase::Connecting, after }),
            Ok(result) => result?,
        };
        let configured = stream.set_nodelay(true).and_then(|()| {
            let milliseconds = u32::try_from(UNACKNOWLEDGED.as_millis()).unwrap_or(u32::MAX);
            rustix::net::sockopt::set_tcp_user_timeout(&stream, milliseconds).map_err(io::Error::from)
        });
        let duplicate = configured.and_then(|()| {
            use std::os::fd::AsFd as _;
            stream.as_fd().try_clone_to_owned().map(std::net::TcpStream::from)
        });
        let tcp = duplicate.map_err(|source| ConnectFault::Unreachable { source })?;
        Ok(Self { tcp: Some(tcp), ..Self::over(stream) })
    }

    /// A connection over something else.
    pub(super) fn over(wire: impl Wire + 'static) -> Self {
        let wire = BufReader::with_capacity(READ_AHEAD, Box::new(wire) as Box<dyn Wire>);
        Self { wire, tcp: None, greeting: Greeting::default(), greeted: false, ended: Ended::default(), stuck: None }
    }

    /// The end of this connection, for one.
    pub(super) fn hangup(&mut self) -> Hangup {
        Hangup { tcp: self.tcp.take(), ended: self.ended.clone() }
    }

    /// Whether the server says something within `patience`, or hangs up; an SSH server greets unasked. Whoever reads next gets what it said.
    pub(super) async fn speaks(&mut self, patience: Duration) -> bool {
        // An error comes again when somebody reads.
        tokio::time::timeout(patience, self.wire.fill_buf()).await.is_ok()
    }

    pub(super) fn greeting(&self) -> Greeting {
        self.greeting.clone()
    }

    fn is_stuck(&mut self, context: &mut Context<'_>) -> bool {
        let timer = self.stuck.get_or_insert_with(|| Box::pin(sleep(UNACKNOWLEDGED)));
        timer.as_mut().poll(context).is_ready()
    }
}

async fn dial(target: &Target) -> Result<TcpStream, ConnectFault> {
    let unresolved = |source| ConnectFault::Unresolved { name: target.address.clone(), source };
    let addresses = tokio::net::lookup_host((target.address.as_str(), target.port)).await.map_err(unresolved)?;
    let wanted = |address: &SocketAddr| match target.configured.address_family {
        AddressFamily::Any => true,
        AddressFamily::V4 => address.is_ipv4(),
        AddressFamily::V6 => address.is_ipv6(),
    };
    let addresses: Vec<SocketAddr> = addresses.filter(wanted).collect();
    if addresses.is_empty() {
        return Err(unresolved(io::Error::from(io::ErrorKind::AddrNotAvailable)));
    }
    race(alternating(addresses)).await.map_err(|error| match error.kind() {
        io::ErrorKind::ConnectionRefused => ConnectFault::Refused,
        _ => ConnectFault::Unreachable { source: error },
    })
}

/// The system's order of addresses, but with the families in turn: where one of them leads nowhere, all its addresses do (RFC 8305, 4).
fn alternating(addresses: Vec<SocketAddr>) -> VecDeque<SocketAddr> {
    let first_is_ipv4 = addresses.first().is_some_and(SocketAddr::is_ipv4);
    let (one, other): (Vec<_>, Vec<_>) = addresses.into_iter().partition(|address| address.is_ipv4() == first_is_ipv4);
    let (mut one, mut other) = (one.into_iter(), other.into_iter());
    let mut ordered = VecDeque::new();
    loop {
        let before = ordered.len();
        ordered.extend(one.next().into_iter().chain(other.next()));
        if ordered.len() == before {
            return ordered;
        }
    }
}

/// The first of these addresses that answers. Each next one is tried when the one before failed or has not answered for a moment, and those
/// before go on: an address that swallows everything hides no other.
async fn race(mut addresses: VecDeque<SocketAddr>) -> io::Result<TcpStream> {
    let mut attempts = JoinSet::new();
    let mut fault = io::Error::from(io::ErrorKind::AddrNotAvailable);
    loop {
        if let Some(address) = addresses.pop_front() {
            attempts.spawn(TcpStream::connect(address));
        }
        tokio::select! {
            ended = attempts.join_next() => match ended {
                Some(Ok(Ok(stream))) => return Ok(stream),
                Some(Ok(Err(error))) => fault = error,
                Some(Err(stopped)) => fault = io::Error::other(stopped),
                None => return Err(fault),
            },
            () = sleep(NEXT_ADDRESS), if !addresses.is_empty() => {}
        }
    }
}

impl Drop for Hangup {
    fn drop(&mut self) {
        if let Some(tcp) = &self.tcp {
            // It may be closed already.
            let _ = tcp.shutdown(Shutdown::Both);
        }
        self.ended.end();
    }
}

impl Ended {
    fn end(&self) {
        let (reader, writer) = {
            let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            state.yes = true;
            (state.reader.take(), state.writer.take())
        };
        reader.into_iter().chain(writer).for_each(Waker::wake);
    }

    /// Whether it has ended. If not, the task of `context` is woken when it does.
    fn poll(&self, context: &Context<'_>, reads: bool) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waker = if reads { &mut state.reader } else { &mut state.writer };
        *waker = Some(context.waker().clone());
        state.yes
    }
}

impl Greeting {
    /// Whether there is room for more.
    fn remember(&self, data: &[u8]) -> bool {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room = GREETING_LIMIT.saturating_sub(kept.len());
        kept.extend(data.iter().take(room));
        kept.len() < GREETING_LIMIT
    }

    /// Whether an SSH server greeted us.
    pub(super) fn is_ssh(&self) -> bool {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.split(|byte| *byte == b'\n').any(|line| line.starts_with(b"SSH-"))
    }

    /// What came instead.
    pub(super) fn received_text(&self) -> Option<String> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Some(printable(&kept)).filter(|text| !text.is_empty())
    }
}

impl AsyncRead for Socket {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.ended.poll(context, true) {
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        let result = std::task::ready!(Pin::new(&mut self.wire).poll_read(context, buffer));
        if let Some(read) = buffer.filled().get(before..).filter(|_| !self.greeted) {
            self.greeted = !self.greeting.remember(read);
        }
        Poll::Ready(result)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        if self.ended.poll(context, false) {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        match Pin::new(&mut self.wire).poll_write(context, data) {
            Poll::Pending if self.is_stuck(context) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
            ready => {
                self.stuck = None;
                ready
            }
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.ended.poll(context, false) {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.wire).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use std::time::Instant;

    use super::*;
    use crate::remote::tests::harness::BlackHole;

    fn addresses(texts: &[&str]) -> Vec<SocketAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn families_take_turns_and_the_first_stays_first() {
        let given = addresses(&["[::1]:1", "[::2]:1", "[::3]:1", "1.1.1.1:1", "2.2.2.2:1"]);
        let wanted = addresses(&["[::1]:1", "1.1.1.1:1", "[::2]:1", "2.2.2.2:1", "[::3]:1"]);
        assert_eq!(Vec::from(alternating(given)), wanted);
        assert_eq!(Vec::from(alternating(addresses(&["1.1.1.1:1"]))), addresses(&["1.1.1.1:1"]));
        assert!(alternating(Vec::new()).is_empty());
    }

    #[tokio::test]
    async fn an_address_that_swallows_everything_hides_no_other() {
        let hole = BlackHole::new().await;
        let alive = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let began = Instant::now();
        let all = [hole.address(), free, hole.address(), alive.local_addr().unwrap()];
        let stream = race(VecDeque::from(all)).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), alive.local_addr().unwrap());
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
        let refused = race(VecDeque::from([free])).await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }
}
