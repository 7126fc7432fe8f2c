//! The address of a registry, with the folder below which images go.

use std::str::FromStr;

/// Where images are pushed: `registry.lan:5000/k8s`, or with `http://` for one without TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registry {
    /// Whether it is spoken with without TLS.
    pub is_plain: bool,
    /// Its name, with its port if it has one.
    pub host: String,
    /// Without slashes at its ends; may be empty.
    folder: String,
}

impl FromStr for Registry {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (is_plain, address) = match text.split_once("://") {
            None => (false, text),
            Some(("https", address)) => (false, address),
            Some(("http", address)) => (true, address),
            Some(_) => return Err("it begins with https://, http:// or the registry's name".to_owned()),
        };
        let (host, folder) = address.trim_end_matches('/').split_once('/').unwrap_or((address.trim_end_matches('/'), ""));
        if address.contains('@') {
            return Err("credentials don't stand in the address: log in with docker login or podman login".to_owned());
        }
        if !is_host(host) {
            return Err(format!("{host:?} is no registry: write it as registry.example:5000/folder"));
        }
        if !folder.is_empty() && !is_path(folder) {
            return Err(format!(
                "{folder:?} is no folder of a registry: it has small letters, digits and . _ - between slashes, and no tag"
            ));
        }
        Ok(Self { is_plain, host: host.to_owned(), folder: folder.to_owned() })
    }
}

impl Registry {
    /// A repository with the folder before it.
    #[must_use]
    pub fn inside(&self, repository: &str) -> String {
        [self.folder.as_str(), repository].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
    }

    /// The address of the registry, or of a folder in it.
    #[must_use]
    pub fn address(&self, folder: &str) -> String {
        let path = self.inside(folder);
        let scheme = if self.is_plain { "http" } else { "https" };
        if path.is_empty() { format!("{scheme}://{}", self.host) } else { format!("{scheme}://{}/{path}", self.host) }
    }
}

fn is_host(host: &str) -> bool {
    let (name, port) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, port)) if address.parse::<std::net::Ipv6Addr>().is_ok() => ("v6", port.strip_prefix(':').unwrap_or(port)),
        Some(_) => return false,
        None => host.split_once(':').unwrap_or((host, "")),
    };
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || ".-".contains(c));
    is_name && !host.ends_with(':') && (port.is_empty() || port.parse::<u16>().is_ok_and(|port| port > 0))
}

/// As the distribution protocol of OCI has names of repositories.
pub(super) fn is_path(path: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_fit =
        |part: &str| part.starts_with(is_plain) && part.ends_with(is_plain) && part.chars().all(|c| is_plain(c) || "._-".contains(c));
    path.split('/').all(is_fit)
}
