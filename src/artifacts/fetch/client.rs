//! By what upstream is reached: one client for files, one for registries, and tries.

use std::time::Duration;

use kok_tasks::mirrors::Mirrors;
use kok_tasks::pushed::Registry;
use oci_client::client::{Certificate, CertificateEncoding, ClientConfig, ClientProtocol};
use oci_client::secrets::RegistryAuth;
use reqwest::redirect::Policy;

use super::credentials::Credentials;
use super::trouble::{Remedy, Trouble};
use crate::failure::{Failure, Kind};

/// As servers see it.
const USER_AGENT: &str = concat!("kokctl/", env!("CARGO_PKG_VERSION"));
/// A server that is there answers within seconds, over a satellite too.
const CONNECT: Duration = Duration::from_secs(20);
/// So long nothing may come before the connection counts as cut.
const SILENCE: Duration = Duration::from_secs(60);
/// Redirects from a release's address to where the file lies are two or three.
const MOST_REDIRECTS: usize = 10;
/// Tries without a byte of progress.
const TRIES: u32 = 6;
/// Tries where nobody answers.
const TRIES_TO_REACH: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// A server that wants to be left alone for longer is told of instead.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// By what upstream is reached.
#[derive(Debug, Clone, Default)]
pub struct UpstreamConnection {
    /// What stands in for upstream's servers.
    pub mirrors: Mirrors,
    /// Who one is at registries.
    pub credentials: Credentials,
    /// CAs that are trusted besides the system's: where each is from, and its certificates in PEM.
    pub authorities: Vec<(String, String)>,
    /// The proxy of the cluster's file; without it the environment's.
    pub proxy: Option<Proxy>,
}

/// A proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proxy {
    /// Its address for http.
    pub http: Option<String>,
    /// Its address for https.
    pub https: Option<String>,
    /// Names and networks that are reached without it, with commas between.
    pub none: Option<String>,
}

/// What reaches upstream.
pub(in crate::artifacts) struct Client {
    pub(super) http: reqwest::Client,
    pub(in crate::artifacts) registry: oci_client::Client,
    pub(super) mirrors: Mirrors,
    credentials: Credentials,
}

impl Client {
    pub(super) fn new(connection: &UpstreamConnection) -> Result<Self, Failure> {
        let wrong = |what: &str, because: String| Failure::new(Kind::Input, what.to_owned()).because(because);
        let mut builder = reqwest::Client::builder().user_agent(USER_AGENT).connect_timeout(CONNECT).read_timeout(SILENCE).redirect(
            Policy::custom(|attempt| {
                let left_tls = attempt.previous().iter().any(|url| url.scheme() == "https") && attempt.url().scheme() != "https";
                match attempt.previous().len() {
                    _ if left_tls => attempt.error("the server leads from https to http"),
                    MOST_REDIRECTS.. => attempt.error("the server leads from one address to another without end"),
                    _ => attempt.follow(),
                }
            }),
        );
        for (file, pem) in &connection.authorities {
            builder = builder.tls_certs_merge(certificates(pem).map_err(|because| wrong("a CA can't be read", because).at(file))?);
        }
        for proxy in connection.proxy.iter().flat_map(Proxy::proxies) {
            builder = builder.proxy(proxy.map_err(|error| wrong("the proxy can't be used", error.to_string()))?);
        }
        let http = builder.build().map_err(|error| match damaged(&connection.authorities) {
            Some(file) => wrong("a CA can't be read", "a certificate in it is damaged".to_owned()).at(file),
            None => wrong("this machine can't make connections", error.to_string()),
        })?;
        let registry = oci_client::Client::try_from(registry_configuration(connection))
            .map_err(|error| wrong("this machine can't make connections to registries", error.to_string()))?;
        Ok(Self { http, registry, mirrors: connection.mirrors.clone(), credentials: connection.credentials.clone() })
    }

    /// One that sends images to a registry.
    pub(in crate::artifacts) fn sending(connection: &UpstreamConnection, registry: &Registry) -> Result<Self, Failure> {
        let client = Self::new(connection)?;
        let plain = if registry.is_plain { vec![registry.host.clone()] } else { Vec::new() };
        let configuration = ClientConfig {
            protocol: if plain.is_empty() { ClientProtocol::Https } else { ClientProtocol::HttpsExcept(plain) },
            // The library counts it from the first byte that is sent to the first that comes back: larger images take longer. Who sends looks himself.
            read_timeout: None,
            // One request for a blob, as containerd does it; in pieces each has to wait for the answer to the one before.
            use_monolithic_push: true,
            ..registry_configuration(connection)
        };
        let registry = oci_client::Client::try_from(configuration)
            .map_err(|error| Failure::new(Kind::Input, "this machine can't make connections to registries").because(error.to_string()))?;
        Ok(Self { registry, ..client })
    }

    /// Who one is at a registry.
    pub(in crate::artifacts) fn login(&self, registry: &str) -> RegistryAuth {
        self.credentials.at(registry).map_or(RegistryAuth::Anonymous, |(user, password)| RegistryAuth::Basic(user, password))
    }
}

/// The file with a certificate that can't be used: the library says of all together that one is.
fn damaged(authorities: &[(String, String)]) -> Option<&str> {
    let is_good = |pem: &str| certificates(pem).is_ok_and(|all| reqwest::Client::builder().tls_certs_only(all).build().is_ok());
    authorities.iter().find(|(_, pem)| !is_good(pem)).map(|(file, _)| file.as_str())
}

/// The certificates of a file, of which there is at least one: of other text the library takes none, and says nothing.
fn certificates(pem: &str) -> Result<Vec<reqwest::Certificate>, String> {
    match reqwest::Certificate::from_pem_bundle(pem.as_bytes()) {
        Ok(all) if all.is_empty() => Err("it has no certificate in PEM".to_owned()),
        all => all.map_err(|error| error.to_string()),
    }
}

fn registry_configuration(connection: &UpstreamConnection) -> ClientConfig {
    let plain = connection.mirrors.without_tls();
    let proxy = connection.proxy.clone();
    ClientConfig {
        protocol: if plain.is_empty() { ClientProtocol::Https } else { ClientProtocol::HttpsExcept(plain) },
        extra_root_certificates: connection
            .authorities
            .iter()
            .map(|(_, pem)| Certificate { encoding: CertificateEncoding::Pem, data: pem.clone().into_bytes() })
            .collect(),
        read_timeout: Some(SILENCE),
        connect_timeout: Some(CONNECT),
        user_agent: USER_AGENT,
        https_proxy: proxy.as_ref().and_then(|proxy| proxy.https.clone()),
        http_proxy: proxy.as_ref().and_then(|proxy| proxy.http.clone()),
        no_proxy: proxy.and_then(|proxy| proxy.none),
        ..ClientConfig::default()
    }
}

impl Proxy {
    fn proxies(&self) -> impl Iterator<Item = reqwest::Result<reqwest::Proxy>> + '_ {
        let none = || self.none.as_deref().and_then(reqwest::NoProxy::from_string);
        let http = self.http.as_ref().map(|address| reqwest::Proxy::http(address).map(|proxy| proxy.no_proxy(none())));
        let https = self.https.as_ref().map(|address| reqwest::Proxy::https(address).map(|proxy| proxy.no_proxy(none())));
        http.into_iter().chain(https)
    }
}

/// Tries again while time may help. `progress` says how far it came: tries are counted from the last byte on.
pub(in crate::artifacts) async fn with_tries<T, F>(mut work: impl FnMut() -> F, mut progress: impl FnMut() -> u64) -> Result<T, Trouble>
where
    F: Future<Output = Result<T, Trouble>>,
{
    let (mut tries, mut reached) = (0, progress());
    loop {
        let trouble = match work().await {
            Ok(result) => return Ok(result),
            Err(trouble) => trouble,
        };
        let (after, most) = match trouble.remedy {
            Remedy::Time(after) => (after, TRIES),
            Remedy::Network => (None, TRIES_TO_REACH),
            Remedy::Absent | Remedy::Person => return Err(trouble),
        };
        let now = progress();
        tries = if now > reached { 1 } else { tries + 1 };
        reached = now;
        let pause = after.unwrap_or(FIRST_PAUSE * 2_u32.pow(tries.min(10) - 1));
        if tries >= most || pause > LONGEST_PAUSE {
            return Err(trouble);
        }
        tokio::time::sleep(pause).await;
    }
}
