//! At which address this machine reaches the API.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use kok_crds::model::{Cluster, Host};
use kok_tasks::identity::endpoint;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// A name that the certificate of every API server has: to be checked where the address is one that hosts don't know of themselves.
const NAME_IN_CERTIFICATE: &str = "kubernetes";
/// An address that does not answer for so long is not one to work with.
const DEADLINE: Duration = Duration::from_secs(3);

/// An address of an API server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// The control plane's host.
    pub host: String,
    address: String,
    port: u16,
    /// The name to find in the server's certificate, if that is not the address.
    pub tls_server_name: Option<&'static str>,
}

impl Server {
    /// The load balancer that the user runs before all API servers; what answers there is another host each time.
    fn external(cluster: &Cluster) -> Option<Self> {
        cluster.external_endpoint()?;
        let (endpoint, host) = (endpoint(cluster)?, cluster.control_planes().next()?);
        Some(Self { address: endpoint.host, port: endpoint.port, ..Self::own(cluster, host) })
    }

    /// The address that moves between them.
    fn moving(cluster: &Cluster) -> Option<Self> {
        let (address, host) = (cluster.virtual_address()?, cluster.control_planes().next()?);
        Some(Self { address: address.to_string(), ..Self::own(cluster, host) })
    }

    fn own(cluster: &Cluster, host: &Host) -> Self {
        Self { host: host.name.clone(), address: host.address.to_string(), port: cluster.api_server_port(), tls_server_name: None }
    }

    /// The address at which SSH reaches the host, unless a bastion does: from behind that it would be another's.
    fn by_ssh(cluster: &Cluster, host: &Host) -> Option<Self> {
        let address = host.ssh.address.clone().filter(|address| host.ssh.via.is_none() && *address != host.address.to_string())?;
        Some(Self { address, tls_server_name: Some(NAME_IN_CERTIFICATE), ..Self::own(cluster, host) })
    }

    /// Every address of an API server: one before all of them, then the hosts' own, and last those that only SSH is known to reach.
    pub(super) fn all(cluster: &Cluster) -> Vec<Self> {
        let of_hosts = cluster
            .control_planes()
            .map(|host| Self::own(cluster, host))
            .chain(cluster.control_planes().filter_map(|host| Self::by_ssh(cluster, host)));
        Self::external(cluster).into_iter().chain(Self::moving(cluster)).chain(of_hosts).collect()
    }

    /// As a kubeconfig names it.
    #[must_use]
    pub fn url(&self) -> String {
        match self.address.parse::<IpAddr>() {
            Ok(address) => format!("https://{}", SocketAddr::new(address, self.port)),
            Err(_) => format!("https://{}:{}", self.address, self.port),
        }
    }

    /// A kubeconfig with the address of this server: hosts know the API by a name that nobody else does.
    #[must_use]
    pub fn pointed_at(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len() + 128);
        for line in text.split_inclusive('\n') {
            let field = line.trim_start();
            if !field.starts_with("server: ") {
                out.push_str(line);
                continue;
            }
            let indent = " ".repeat(line.len() - field.len());
            out.push_str(&format!("{indent}server: \"{}\"\n", self.url()));
            if let Some(name) = self.tls_server_name {
                out.push_str(&format!("{indent}tls-server-name: {name}\n"));
            }
        }
        out
    }

    async fn answers(&self) -> bool {
        timeout(DEADLINE, TcpStream::connect((self.address.as_str(), self.port))).await.is_ok_and(|connected| connected.is_ok())
    }
}

/// The first that answers this machine, if one does. All are tried at once.
pub(super) async fn first_answering(servers: &[Server]) -> Option<Server> {
    let begun: Vec<_> =
        servers.iter().cloned().map(|server| tokio::spawn(async move { server.answers().await.then_some(server) })).collect();
    for attempt in begun {
        if let Ok(Some(server)) = attempt.await {
            return Some(server);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use tokio::net::TcpListener;

    use super::*;

    fn at(address: &str, port: u16) -> Server {
        Server { host: "cp1".into(), address: address.into(), port, tls_server_name: None }
    }

    #[test]
    fn a_name_that_only_hosts_know_becomes_an_address() {
        let text = "    server: \"https://lb-apiserver.kubernetes.local:6443\"\ncontexts:\n";
        assert_eq!(at("192.0.2.1", 6443).pointed_at(text), "    server: \"https://192.0.2.1:6443\"\ncontexts:\n");
        assert_eq!(at("2001:db8::1", 6443).pointed_at(text), "    server: \"https://[2001:db8::1]:6443\"\ncontexts:\n");
        let named = Server { tls_server_name: Some(NAME_IN_CERTIFICATE), ..at("cp1.example", 6443) };
        let expected = "    server: \"https://cp1.example:6443\"\n    tls-server-name: kubernetes\ncontexts:\n";
        assert_eq!(named.pointed_at(text), expected);
    }

    #[tokio::test]
    async fn the_first_that_answers_is_taken() {
        let listener = async || TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (closed, open, later) = (listener().await, listener().await, listener().await);
        let server = |listener: &TcpListener| at("127.0.0.1", listener.local_addr().unwrap().port());
        let servers = [server(&closed), server(&open), server(&later)];
        drop(closed);
        assert_eq!(first_answering(&servers).await.as_ref(), servers.get(1));
        drop((open, later));
        assert_eq!(first_answering(&servers).await, None);
    }
}
