//! What stands in for upstream's servers, for kokctl itself and for hosts that fetch what is installed on them.

use std::collections::BTreeMap;
use std::str::FromStr;

/// A server that stands in for one of upstream's: `dl.k8s.io=https://mirror.example/dl`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirror {
    /// Upstream's host.
    pub host: String,
    /// Whether it is spoken with without TLS.
    pub is_plain: bool,
    /// Host, port and path of the mirror, without a `/` at the end.
    pub address: String,
}

/// All of them; the first one for a host counts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mirrors(pub Vec<Mirror>);

impl FromStr for Mirror {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let form = || format!("{text:?} is no mirror: write UPSTREAM=ADDRESS, such as dl.k8s.io=https://mirror.example/dl");
        let (host, address) = text.split_once('=').filter(|(host, _)| !host.is_empty() && !host.contains('/')).ok_or_else(form)?;
        let (is_plain, address) = match (address.strip_prefix("https://"), address.strip_prefix("http://")) {
            (Some(address), _) => (false, address),
            (None, Some(address)) => (true, address),
            (None, None) => return Err(form()),
        };
        let address = address.trim_end_matches('/');
        if address.is_empty() || address.contains(['?', '#', '@']) {
            return Err(form());
        }
        Ok(Self { host: host.to_owned(), is_plain, address: address.to_owned() })
    }
}

impl Mirror {
    /// Its address with the scheme.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}://{}", if self.is_plain { "http" } else { "https" }, self.address)
    }
}

impl Mirrors {
    /// Those of a cluster's settings. What could be none was refused when the files were read.
    #[must_use]
    pub fn of_settings(mirrors: &BTreeMap<String, String>) -> Self {
        Self(mirrors.iter().filter_map(|(server, address)| format!("{server}={address}").parse().ok()).collect())
    }

    /// The mirror of a host.
    #[must_use]
    pub fn instead_of(&self, host: &str) -> Option<&Mirror> {
        self.0.iter().find(|mirror| mirror.host == host)
    }

    /// Where a file of upstream's is fetched.
    #[must_use]
    pub fn address(&self, upstream: &str) -> String {
        let rest = upstream.trim_start_matches("https://").trim_start_matches("http://");
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        self.instead_of(host).map_or_else(|| upstream.to_owned(), |mirror| format!("{}/{path}", mirror.url()))
    }

    /// Where an image of upstream's is fetched, without its tag, and whether that is without TLS.
    #[must_use]
    pub fn repository(&self, reference: &str) -> (String, bool) {
        let tag = reference.rfind(':').filter(|colon| !reference.get(*colon..).unwrap_or_default().contains('/'));
        let repository = tag.and_then(|colon| reference.get(..colon)).unwrap_or(reference);
        let (host, path) = repository.split_once('/').unwrap_or((repository, ""));
        self.instead_of(host)
            .map_or_else(|| (repository.to_owned(), false), |mirror| (format!("{}/{path}", mirror.address), mirror.is_plain))
    }

    /// Hosts with their ports that are spoken with without TLS.
    #[must_use]
    pub fn without_tls(&self) -> Vec<String> {
        let plain = self.0.iter().filter(|mirror| mirror.is_plain);
        plain.map(|mirror| mirror.address.split('/').next().unwrap_or_default().to_owned()).collect()
    }
}
