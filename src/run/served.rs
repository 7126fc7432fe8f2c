//! What a program on a host shows to whoever connects to it, seen through the SSH connection.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kok_pki::{CertificateFacts, inspect_certificate};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, Error, SignatureScheme};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::timeout;

use super::link::Link;

/// A handshake on a healthy host takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(5);

/// The certificate that is shown at a port of a host, whoever has signed it; or in words why none was seen. Nothing is sent but the beginning of a
/// handshake: no certificate of ours, and no request.
///
/// # Errors
/// In words: nobody answers, sshd does not forward, or what answers speaks no TLS.
pub async fn served(link: &Link, address: &str, port: u16) -> Result<CertificateFacts, String> {
    let connection = link.scripts().await.map_err(|error| error.to_string())?;
    let stream = connection.forward(address, port, PATIENCE).await?;
    let late = || format!("it did not answer within {} s", PATIENCE.as_secs());
    let shown = timeout(PATIENCE, shown(stream, address)).await.map_err(|_| late())??;
    let pem = format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines(&STANDARD.encode(shown)));
    inspect_certificate(&pem).map_err(|error| error.to_string())
}

/// As PEM has it.
fn lines(base64: &str) -> String {
    base64.as_bytes().chunks(64).map(String::from_utf8_lossy).collect::<Vec<_>>().join("\n")
}

async fn shown(mut stream: impl AsyncRead + AsyncWrite + Unpin, address: &str) -> Result<Vec<u8>, String> {
    let mut tls = client(address).map_err(|error| error.to_string())?;
    let mut arrived = vec![0; 16 << 10];
    loop {
        while tls.wants_write() {
            let mut out = Vec::new();
            tls.write_tls(&mut out).map_err(|error| error.to_string())?;
            stream.write_all(&out).await.map_err(|error| error.to_string())?;
        }
        if let Some(certificate) = tls.peer_certificates().and_then(<[CertificateDer<'_>]>::first) {
            return Ok(certificate.to_vec());
        }
        let count = stream.read(&mut arrived).await.map_err(|error| error.to_string())?;
        let mut rest = arrived.get(..count).filter(|rest| !rest.is_empty()).ok_or("it ended the connection")?;
        while !rest.is_empty() {
            tls.read_tls(&mut rest).map_err(|error| error.to_string())?;
            tls.process_new_packets().map_err(|error| error.to_string())?;
        }
    }
}

fn client(address: &str) -> Result<ClientConnection, Error> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()?;
    let config = config.dangerous().with_custom_certificate_verifier(Arc::new(Anybody(provider))).with_no_client_auth();
    let name = ServerName::try_from(address.to_owned()).map_err(|_| Error::General(format!("{address} is no address")))?;
    ClientConnection::new(Arc::new(config), name)
}

/// Takes whatever is shown, for that is the question; that its key is there is verified as ever.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::Read as _;
    use std::net::TcpListener;
    use std::thread;

    use rcgen::{CertificateParams, KeyPair};
    use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
    use rustls::{ServerConfig, ServerConnection, StreamOwned};
    use tokio::net::TcpStream;

    use super::*;

    /// A server that nobody would trust, and that wants certificates of its clients; its address, and what it shows.
    fn server() -> (String, Vec<u8>) {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(["somebody".to_owned()]).unwrap().self_signed(&key).unwrap().der().clone();
        let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let builder = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
        let config = Arc::new(builder.with_single_cert(vec![certificate.clone()], private).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        thread::spawn(move || {
            let (connection, _) = listener.accept().unwrap();
            let session = ServerConnection::new(config).unwrap();
            // It ends with whoever came.
            let _ = StreamOwned::new(session, connection).read(&mut [0; 1]);
        });
        (address, certificate.to_vec())
    }

    #[tokio::test]
    async fn whoever_has_signed_it_what_is_shown_is_seen() {
        let (address, own) = server();
        let stream = TcpStream::connect(&address).await.unwrap();
        assert_eq!(shown(stream, "127.0.0.1").await, Ok(own));
    }

    #[tokio::test]
    async fn what_speaks_no_tls_is_told() {
        let (ours, theirs) = tokio::io::duplex(4096);
        let mut theirs = theirs;
        let (said, ()) = tokio::join!(shown(ours, "127.0.0.1"), async {
            theirs.write_all(b"SSH-2.0-OpenSSH_9.9\r\n").await.unwrap();
        });
        assert!(said.is_err(), "{said:?}");
        drop(theirs);
        let (ours, theirs) = tokio::io::duplex(4096);
        drop(theirs);
        assert!(shown(ours, "127.0.0.1").await.is_err());
    }

    #[test]
    fn pem_has_lines_of_64() {
        assert_eq!(lines(&"a".repeat(130)), format!("{0}\n{0}\naa", "a".repeat(64)));
    }
}
