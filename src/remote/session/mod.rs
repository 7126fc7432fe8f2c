//! The SSH protocol by russh: handshake, login, channels. Apart from key types, no other file of the project names russh, whose
//! API changes often.
mod client;
mod login;

use super::error::{ConnectFault, ConnectPhase};
use super::host_key::HostKeys;
use super::identity::SshIdentities;
use super::socket::{Hangup, Socket};
use super::target::{Deadlines, Target};
use super::tunnel::tunnel;
use crate::pools::HANDSHAKES_THROUGH;
use client::{ClientError, SshClient};
use login::Login;
use russh::client::{Config, Handle, Msg, connect_stream};
use russh::{ChannelMsg, ChannelOpenFailure, ChannelReadHalf, ChannelWriteHalf, Preferred, cipher, compression, kex, mac};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, watch};
use tracing::Instrument as _;

/// A silent link is asked for a sign of life this often …
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
/// … and given up when this many went unanswered: 20 s after the last byte.
const KEEPALIVE_MAX: usize = 3;
/// What the peer may send on a channel before we have to say that we read it.
const WINDOW: u32 = 2 << 20;

/// Ciphers, fastest first: with AES instructions GCM costs the hosts a third less than ChaCha20. CBC is not among them.
const CIPHERS: &[cipher::Name] =
    &[cipher::AES_256_GCM, cipher::AES_128_GCM, cipher::CHACHA20_POLY1305, cipher::AES_256_CTR, cipher::AES_192_CTR, cipher::AES_128_CTR];
/// Key exchanges; the last two offer RFC 8308 extensions and strict key exchange.
const KEXES: &[kex::Name] = &[
    kex::MLKEM768X25519_SHA256,
    kex::CURVE25519,
    kex::CURVE25519_PRE_RFC_8731,
    kex::ECDH_SHA2_NISTP256,
    kex::DH_GEX_SHA256,
    kex::DH_G16_SHA512,
    kex::DH_G14_SHA256,
    kex::EXTENSION_SUPPORT_AS_CLIENT,
    kex::EXTENSION_OPENSSH_STRICT_KEX_AS_CLIENT,
];
const MACS: &[mac::Name] = &[mac::HMAC_SHA256_ETM, mac::HMAC_SHA512_ETM, mac::HMAC_SHA256, mac::HMAC_SHA512];
/// Bundles are compressed already.
const COMPRESSIONS: &[compression::Name] = &[compression::NONE];

/// A session whose host key was verified.
pub(super) struct SshSession {
    handle: Handle<SshClient>,
    lost: watch::Receiver<Option<String>>,
    /// For connections through this server.
    pub(super) handshakes: Semaphore,
    host_keys: Arc<HostKeys>,
    /// The bastion that carries this session lives as long as it does.
    _under: Option<Arc<Self>>,
    /// Dropped last: it ends the session's task whatever state that is in.
    _hangup: Hangup,
}

fn config(host_keys: &HostKeys) -> Config {
    Config {
        window_size: WINDOW,
        keepalive_interval: Some(KEEPALIVE_INTERVAL),
        keepalive_max: KEEPALIVE_MAX,
        nodelay: true,
        preferred: Preferred {
            kex: Cow::Borrowed(KEXES),
            key: Cow::Owned(host_keys.algorithms()),
            host_key_certificates: Cow::Borrowed(&[]),
            cipher: Cow::Borrowed(CIPHERS),
            mac: Cow::Borrowed(MACS),
            compression: Cow::Borrowed(COMPRESSIONS),
        },
        ..Config::default()
    }
}

impl SshSession {
    /// From a TCP connection to a verified host key. [`ConnectFault::Dropped`] means that the server closed before it greeted us,
    /// and [`ConnectFault::Broken`] that the connection ended after that; either may not happen the next time.
    pub(super) async fn handshake(
        mut socket: Socket,
        host_keys: Arc<HostKeys>,
        deadlines: &Deadlines,
        under: Option<Arc<Self>>,
    ) -> Result<Self, ConnectFault> {
        let after = deadlines.handshake;
        let hangup = socket.hangup();
        let greeting = socket.greeting();
        let (sender, lost) = watch::channel(None);
        let config = Arc::new(config(&host_keys));
        let client = SshClient { host_keys: Arc::clone(&host_keys), lost: sender, span: tracing::Span::current() };
        match tokio::time::timeout(after, connect_stream(config, socket, client)).await {
            Err(_) => Err(ConnectFault::TimedOut { phase: ConnectPhase::Handshake, after }),
            Ok(Ok(handle)) => {
                let handshakes = Semaphore::new(HANDSHAKES_THROUGH);
                Ok(Self { handle, lost, handshakes, host_keys, _under: under, _hangup: hangup })
            }
            Ok(Err(ClientError::HostKey(fault))) => Err(fault.into()),
            Ok(Err(ClientError::Ssh(russh::Error::NoCommonAlgo { kind, theirs, .. }))) => Err(no_common(kind, &theirs)),
            Ok(Err(error)) if error.is_closed() && !greeting.is_ssh() => {
                Err(ConnectFault::Dropped { attempts: 1, output: greeting.received_text() })
            }
            Ok(Err(error)) if error.is_closed() => Err(ConnectFault::Broken { attempts: 1, reason: error.text() }),
            Ok(Err(error)) => Err(ConnectFault::Protocol { reason: error.text() }),
        }
    }

    /// Logs in with the identities, then with the target's password.
    pub(super) async fn login(mut self, target: &Target, identities: SshIdentities, deadlines: &Deadlines) -> Result<Self, ConnectFault> {
        let after = deadlines.authenticate;
        let login = Login::new(&mut self, &target.user, identities);
        match tokio::time::timeout(after, login.run(target.password.as_ref())).await {
            Err(_) => Err(ConnectFault::TimedOut { phase: ConnectPhase::Login, after }),
            Ok(Ok(())) => Ok(self),
            Ok(Err(fault)) => Err(fault),
        }
    }

    /// A way through this server to another one.
    pub(super) async fn tunnel(&self, target: &Target, after: Duration) -> Result<Socket, ConnectFault> {
        self.way_to(&target.address, target.port, after).await.map_err(|fault| match fault {
            NoWay::Late => ConnectFault::TimedOut { phase: ConnectPhase::Connecting, after },
            NoWay::Refused(reason) => no_tunnel(reason),
            NoWay::Lost(reason) => ConnectFault::NoTunnel { reason },
        })
    }

    /// A way through this server to a port that it reaches, and why there is none.
    pub(super) async fn forward(&self, address: &str, port: u16, after: Duration) -> Result<Socket, String> {
        self.way_to(address, port, after).await.map_err(|fault| match fault {
            NoWay::Late => format!("it did not answer within {} s", after.as_secs()),
            NoWay::Refused(ChannelOpenFailure::ConnectFailed) => "nobody answers there".to_owned(),
            NoWay::Refused(ChannelOpenFailure::AdministrativelyProhibited) => {
                "sshd of the host does not forward connections (AllowTcpForwarding)".to_owned()
            }
            NoWay::Refused(other) => format!("sshd of the host opened no channel ({other:?})"),
            NoWay::Lost(reason) => reason,
        })
    }

    async fn way_to(&self, address: &str, port: u16, after: Duration) -> Result<Socket, NoWay> {
        // The origin is for the server's log only; OpenSSH's client names the same for its `-W`.
        let opening = self.handle.channel_open_direct_tcpip(address, u32::from(port), "127.0.0.1", 0);
        let channel = match tokio::time::timeout(after, opening).await {
            Err(_) => return Err(NoWay::Late),
            Ok(Err(russh::Error::ChannelOpenFailure(reason))) => return Err(NoWay::Refused(reason)),
            Ok(Err(_)) => return Err(NoWay::Lost(self.lost_reason())),
            Ok(Ok(channel)) => channel,
        };
        let (mut reader, writer) = channel.split();
        let (tunnel, filler) = tunnel(writer.make_writer());
        let pumping = async move {
            loop {
                tokio::select! {
                    message = reader.wait() => match message {
                        Some(ChannelMsg::Data { data }) if filler.fill(data.to_vec()) => {}
                        Some(ChannelMsg::Data { .. } | ChannelMsg::Eof | ChannelMsg::Close) | None => break,
                        Some(_) => {}
                    },
                    () = filler.abandoned() => break,
                }
            }
            drop(filler);
            let _ = writer.close().await;
            while reader.wait().await.is_some() {}
        };
        tokio::spawn(pumping.in_current_span());
        Ok(Socket::over(tunnel))
    }

    /// Opens a channel and starts `command` on it, without waiting for the server to confirm the start: that comes with the
    /// command's first output, and its refusal too.
    pub(super) async fn start(&self, command: &str) -> Result<(Input, ChannelEvents), StartFault> {
        let channel = self.handle.channel_open_session().await.map_err(|error| match error {
            russh::Error::ChannelOpenFailure(ChannelOpenFailure::ConnectFailed | ChannelOpenFailure::ResourceShortage) => StartFault::Full,
            russh::Error::ChannelOpenFailure(reason) => StartFault::Failed(format!("the host opened no channel ({reason:?})")),
            _ => StartFault::Failed(self.lost_reason()),
        })?;
        let (reader, writer) = channel.split();
        writer.exec(true, command).await.map_err(|_| StartFault::Failed(self.lost_reason()))?;
        Ok((Input(writer), ChannelEvents(reader)))
    }

    /// Says goodbye and waits, for a moment, until the session has ended.
    pub(super) async fn close(&self) {
        /// The goodbye is a courtesy; nobody should wait for it.
        const GOODBYE: Duration = Duration::from_secs(1);
        let mut lost = self.lost.clone();
        let goodbye = async {
            let _ = self.handle.disconnect(russh::Disconnect::ByApplication, "", "").await;
            // Ends when the session's task drops its sender.
            while lost.changed().await.is_ok() {}
        };
        let _ = tokio::time::timeout(GOODBYE, goodbye).await;
    }

    /// What was known and learned about the host key.
    pub(super) fn host_keys(&self) -> &HostKeys {
        &self.host_keys
    }

    /// Why the connection is gone, if it is.
    pub(super) fn lost_reason(&self) -> String {
        let lost = self.lost.borrow();
        lost.as_deref().filter(|text| !text.is_empty()).unwrap_or("the connection was closed").to_owned()
    }

    /// Whether the connection is gone.
    pub(super) fn is_lost(&self) -> bool {
        self.handle.is_closed()
    }
}

/// Why a command was not started.
pub(super) enum StartFault {
    /// The server has no session free.
    Full,
    /// Anything else.
    Failed(String),
}

/// Why a server leads nowhere.
enum NoWay {
    Late,
    Refused(ChannelOpenFailure),
    Lost(String),
}

fn no_tunnel(reason: ChannelOpenFailure) -> ConnectFault {
    ConnectFault::NoTunnel {
        reason: match reason {
            ChannelOpenFailure::ConnectFailed => "the bastion can't reach it".to_owned(),
            ChannelOpenFailure::AdministrativelyProhibited => "the bastion does not forward connections (AllowTcpForwarding)".to_owned(),
            other => format!("the bastion opened no channel ({other:?})"),
        },
    }
}

fn no_common(kind: russh::AlgorithmKind, theirs: &[String]) -> ConnectFault {
    let kind = match kind {
        russh::AlgorithmKind::Kex => "key exchange",
        russh::AlgorithmKind::Key => "host key type",
        russh::AlgorithmKind::Cipher => "cipher",
        russh::AlgorithmKind::Mac => "message authentication",
        russh::AlgorithmKind::Compression => "compression",
    };
    let offered = theirs.iter().map(|name| crate::remote::text::printable(name.as_bytes())).collect();
    ConnectFault::NoCommonAlgorithm { kind: kind.to_owned(), offered }
}

/// The standard input of a command. Sending waits for the peer's window, for ever if the connection dies meanwhile: always race it
/// against the end of the [`ChannelEvents`].
pub(super) struct Input(ChannelWriteHalf<Msg>);

/// The channel is gone.
pub(super) struct Gone;

impl Input {
    pub(super) async fn send(&self, data: Vec<u8>) -> Result<(), Gone> {
        self.0.data_bytes(data).await.map_err(|_| Gone)
    }

    pub(super) async fn end(&self) -> Result<(), Gone> {
        self.0.eof().await.map_err(|_| Gone)
    }

    pub(super) async fn close(&self) {
        let _ = self.0.close().await;
    }
}

/// What a channel brings.
pub(super) enum ChannelEvent {
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
    Exited(u32),
    Signaled(String),
    /// The server does not run commands.
    Refused,
}

impl ChannelEvent {
    /// How many bytes of output it brings.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Stdout(data) | Self::Stderr(data) => data.len() as u64,
            Self::Exited(_) | Self::Signaled(_) | Self::Refused => 0,
        }
    }
}

/// The channel's messages. Whoever holds this must read to the end: one channel that is not read stops the whole connection.
pub(super) struct ChannelEvents(ChannelReadHalf);

impl ChannelEvents {
    /// The next event, or nothing when the channel has ended.
    pub(super) async fn next(&mut self) -> Option<ChannelEvent> {
        loop {
            return Some(match self.0.wait().await? {
                ChannelMsg::Data { data } => ChannelEvent::Stdout(data.into()),
                // 1 is the only extended stream there is (RFC 4254, 5.2).
                ChannelMsg::ExtendedData { data, ext: 1 } => ChannelEvent::Stderr(data.into()),
                ChannelMsg::ExitStatus { exit_status } => ChannelEvent::Exited(exit_status),
                ChannelMsg::ExitSignal { signal_name, .. } => ChannelEvent::Signaled(signal(&signal_name)),
                ChannelMsg::Failure => ChannelEvent::Refused,
                _ => continue,
            });
        }
    }
}

fn signal(name: &russh::Sig) -> String {
    match name {
        russh::Sig::Custom(name) => crate::remote::text::printable(name.as_bytes()),
        known => format!("{known:?}"),
    }
}
