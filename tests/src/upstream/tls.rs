//! A certificate for every name that is asked for, by a CA that lives as long as the server.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::TcpStream;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose, date_time_ymd};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

pub(super) struct Authority {
    configuration: Arc<ServerConfig>,
}

#[derive(Debug)]
struct Leaves {
    issuer: Issuer<'static, KeyPair>,
    /// Names whose certificates have expired.
    expired: Vec<String>,
    made: Mutex<BTreeMap<String, Arc<CertifiedKey>>>,
}

impl Authority {
    /// Makes a CA, and writes its certificate.
    pub(super) fn new(certificate: &Path, expired: Vec<String>) -> io::Result<Self> {
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        params.distinguished_name.push(DnType::CommonName, "upstream of the lab");
        let ca = params.self_signed(&key).map_err(io::Error::other)?;
        fs::write(certificate, ca.pem())?;
        let leaves = Leaves { issuer: Issuer::new(params, key), expired, made: Mutex::default() };
        let builder = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().map_err(io::Error::other)?;
        let configuration = Arc::new(builder.with_no_client_auth().with_cert_resolver(Arc::new(leaves)));
        Ok(Self { configuration })
    }

    pub(super) fn configuration(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.configuration)
    }
}

pub(super) fn accept(connection: TcpStream, configuration: Arc<ServerConfig>) -> io::Result<StreamOwned<ServerConnection, TcpStream>> {
    connection.set_nodelay(true)?;
    let session = ServerConnection::new(configuration).map_err(io::Error::other)?;
    Ok(StreamOwned::new(session, connection))
}

impl ResolvesServerCert for Leaves {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let name = hello.server_name()?.to_owned();
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(leaf) = made.get(&name) {
            return Some(Arc::clone(leaf));
        }
        let key = KeyPair::generate().ok()?;
        let mut params = CertificateParams::new([name.clone()]).ok()?;
        if self.expired.contains(&name) {
            params.not_after = date_time_ymd(2025, 1, 1);
        }
        let leaf = params.signed_by(&key, &self.issuer).ok()?;
        let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let signing = aws_lc_rs::sign::any_supported_type(&private).ok()?;
        let leaf = Arc::new(CertifiedKey::new(vec![leaf.der().clone()], signing));
        made.insert(name, Arc::clone(&leaf));
        Some(leaf)
    }
}
