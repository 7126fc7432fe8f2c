//! What stands in for upstream's servers.

use std::str::FromStr;

use oci_client::Reference;

/// A server that stands in for one of upstream's: `dl.k8s.io=https://mirror.example/dl`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirror {
    /// Upstream's host.
    host: String,
    is_plain: bool,
    /// Host, port and path of the mirror, without a `/` at the end.
    address: String,
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

impl Mirrors {
    fn instead_of(&self, host: &str) -> Option<&Mirror> {
        self.0.iter().find(|mirror| mirror.host == host)
    }

    /// Where a file of upstream's is fetched.
    pub(super) fn address(&self, upstream: &str) -> String {
        let rest = upstream.trim_start_matches("https://");
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        self.instead_of(host).map_or_else(
            || upstream.to_owned(),
            |mirror| format!("{}://{}/{path}", if mirror.is_plain { "http" } else { "https" }, mirror.address),
        )
    }

    /// Where an image of upstream's is fetched.
    pub(super) fn reference(&self, upstream: &Reference) -> Reference {
        let Some(mirror) = self.instead_of(upstream.registry()) else { return upstream.clone() };
        let (registry, folder) = mirror.address.split_once('/').map_or((mirror.address.as_str(), None), |(host, path)| (host, Some(path)));
        let repository = folder.map_or_else(|| upstream.repository().to_owned(), |folder| format!("{folder}/{}", upstream.repository()));
        match (upstream.digest(), upstream.tag()) {
            (Some(digest), _) => Reference::with_digest(registry.to_owned(), repository, digest.to_owned()),
            (None, tag) => Reference::with_tag(registry.to_owned(), repository, tag.unwrap_or("latest").to_owned()),
        }
    }

    /// Hosts with their ports that are spoken with without TLS.
    pub(super) fn without_tls(&self) -> Vec<String> {
        let plain = self.0.iter().filter(|mirror| mirror.is_plain);
        plain.map(|mirror| mirror.address.split('/').next().unwrap_or_default().to_owned()).collect()
    }
}
