//! The TCP connection below SSH.
use super::error::{ConnectFault, Phase};
use super::text::printable;
use std::io;
use std::net::{Shutdown, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// What is sent and not acknowledged for this long means a dead link. Keepalives can't find that while a packet is stuck in a full
/// socket, because they queue behind it.
const UNACKNOWLEDGED: Duration = Duration::from_secs(20);
/// SSH's greeting is at most 255 bytes (RFC 4253, 4.2).
const GREETING_LIMIT: usize = 255;

/// A TCP connection that remembers the first bytes it read, to tell what answered if it was no SSH server.
pub(super) struct Socket {
    stream: TcpStream,
    greeting: Greeting,
}

/// The first bytes that a server sent.
#[derive(Clone, Default)]
pub(super) struct Greeting(Arc<Mutex<Vec<u8>>>);

/// Shuts the connection down when dropped, which wakes and ends whatever reads or writes it.
pub(super) struct Hangup(std::net::TcpStream);

impl Socket {
    pub(super) async fn connect(address: SocketAddr, after: Duration) -> Result<Self, ConnectFault> {
        let stream = match tokio::time::timeout(after, TcpStream::connect(address)).await {
            Err(_) => {
                return Err(ConnectFault::TimedOut { phase: Phase::Connecting, after });
            }
            Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
                return Err(ConnectFault::Refused);
            }
            Ok(Err(source)) => return Err(ConnectFault::Unreachable { source }),
            Ok(Ok(stream)) => stream,
        };
        let configured = stream.set_nodelay(true).and_then(|()| {
            let milliseconds = u32::try_from(UNACKNOWLEDGED.as_millis()).unwrap_or(u32::MAX);
            rustix::net::sockopt::set_tcp_user_timeout(&stream, milliseconds).map_err(io::Error::from)
        });
        configured.map_err(|source| ConnectFault::Unreachable { source })?;
        Ok(Self { stream, greeting: Greeting::default() })
    }

    pub(super) fn hangup(&self) -> io::Result<Hangup> {
        use std::os::fd::AsFd as _;
        Ok(Hangup(std::net::TcpStream::from(self.stream.as_fd().try_clone_to_owned()?)))
    }

    pub(super) fn greeting(&self) -> Greeting {
        self.greeting.clone()
    }
}

impl Drop for Hangup {
    fn drop(&mut self) {
        // It may be closed already.
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

impl Greeting {
    fn remember(&self, data: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room = GREETING_LIMIT.saturating_sub(kept.len());
        kept.extend(data.iter().take(room));
    }

    /// Whether an SSH server greeted us.
    pub(super) fn is_ssh(&self) -> bool {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.split(|byte| *byte == b'\n').any(|line| line.starts_with(b"SSH-"))
    }

    /// What came instead.
    pub(super) fn said(&self) -> Option<String> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Some(printable(&kept)).filter(|text| !text.is_empty())
    }
}

impl AsyncRead for Socket {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let result = ready!(Pin::new(&mut self.stream).poll_read(context, buffer));
        if let Some(read) = buffer.filled().get(before..) {
            self.greeting.remember(read);
        }
        Poll::Ready(result)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, data)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
