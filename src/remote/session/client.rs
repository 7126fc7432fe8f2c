//! The client's side of a session: verifies the host key, notes why the session ended, grants the server nothing.
use crate::remote::host_key::HostKeys;
use crate::remote::host_key_fault::{HostKeyFault, KeyPrint};
use russh::Channel;
use russh::client::{self, DisconnectReason, Msg};
use russh::keys::PublicKeyOrCertificate;
use std::io;
use std::sync::Arc;
use tokio::sync::watch;
use tracing::{Span, debug};

/// Answers what the server asks of the client.
pub(super) struct SshClient {
    pub(super) host_keys: Arc<HostKeys>,
    pub(super) lost: watch::Sender<Option<String>>,
    /// Whose connection it is: the SSH library calls from a task of its own.
    pub(super) span: Span,
}

/// Why a session ended.
#[derive(Debug)]
pub(super) enum ClientError {
    Ssh(russh::Error),
    HostKey(HostKeyFault),
}

impl From<russh::Error> for ClientError {
    fn from(error: russh::Error) -> Self {
        Self::Ssh(error)
    }
}

impl client::Handler for SshClient {
    type Error = ClientError;

    async fn check_server_key(&mut self, shown: &PublicKeyOrCertificate) -> Result<bool, ClientError> {
        match shown {
            PublicKeyOrCertificate::PublicKey { key, .. } => {
                self.host_keys.verify(key).map_err(ClientError::HostKey)?;
                self.span.in_scope(|| debug!(fingerprint = %KeyPrint::from_key(key), "host key accepted"));
                Ok(true)
            }
            // We never offer to accept one.
            PublicKeyOrCertificate::Certificate(_) => Ok(false),
        }
    }

    async fn disconnected(&mut self, reason: DisconnectReason<ClientError>) -> Result<(), ClientError> {
        let (text, result) = match reason {
            DisconnectReason::ReceivedDisconnect(info) => (crate::remote::text::printable(info.message.as_bytes()), Ok(())),
            DisconnectReason::Error(error) => (error.text(), Err(error)),
        };
        self.span.in_scope(|| debug!("the connection ended"));
        self.lost.send_replace(Some(text));
        result
    }

    // A server has no business opening channels to us. russh accepts most kinds unless told otherwise; a reply that is dropped
    // is a refusal.
    async fn server_channel_open_forwarded_tcpip(
        &mut self,
        _: Channel<Msg>,
        _: &str,
        _: u32,
        _: &str,
        _: u32,
        _: client::ChannelOpenHandle,
        _: &mut client::Session,
    ) -> Result<(), ClientError> {
        Ok(())
    }

    async fn server_channel_open_forwarded_streamlocal(
        &mut self,
        _: Channel<Msg>,
        _: &str,
        _: client::ChannelOpenHandle,
        _: &mut client::Session,
    ) -> Result<(), ClientError> {
        Ok(())
    }

    async fn server_channel_open_agent_forward(
        &mut self,
        _: Channel<Msg>,
        _: client::ChannelOpenHandle,
        _: &mut client::Session,
    ) -> Result<(), ClientError> {
        Ok(())
    }

    async fn server_channel_open_session(
        &mut self,
        _: Channel<Msg>,
        _: client::ChannelOpenHandle,
        _: &mut client::Session,
    ) -> Result<(), ClientError> {
        Ok(())
    }

    async fn server_channel_open_direct_tcpip(
        &mut self,
        _: Channel<Msg>,
        _: &str,
        _: u32,
        _: &str,
        _: u32,
        _: client::ChannelOpenHandle,
        _: &mut client::Session,
    ) -> Result<(), ClientError> {
        Ok(())
    }

    async fn server_channel_open_direct_streamlocal(
        &mut self,
        _: Channel<Msg>,
        _: &str,
        _: client::ChannelOpenHandle,
        _: &mut client::Session,
    ) -> Result<(), ClientError> {
        Ok(())
    }

    async fn server_channel_open_x11(
        &mut self,
        _: Channel<Msg>,
        _: &str,
        _: u32,
        _: client::ChannelOpenHandle,
        _: &mut client::Session,
    ) -> Result<(), ClientError> {
        Ok(())
    }
}

impl ClientError {
    pub(super) fn text(&self) -> String {
        match self {
            Self::Ssh(russh::Error::KeepaliveTimeout) => "the host did not answer for 20 s".to_owned(),
            Self::Ssh(russh::Error::Disconnect | russh::Error::HUP) => "the connection was closed".to_owned(),
            Self::Ssh(error) => crate::remote::text::printable(error.to_string().as_bytes()),
            Self::HostKey(fault) => fault.to_string(),
        }
    }

    /// Whether the peer just went away.
    pub(super) fn is_closed(&self) -> bool {
        match self {
            Self::Ssh(russh::Error::Disconnect | russh::Error::HUP) => true,
            Self::Ssh(russh::Error::IO(error)) => {
                matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::UnexpectedEof)
            }
            _ => false,
        }
    }
}
