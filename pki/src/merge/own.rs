//! What stands in somebody's own kubeconfig, and what of it is of the cluster.

use std::collections::BTreeSet;

use super::tree::{Node, Value};
use super::{Misfit, NewCluster, Taken};
use crate::found::decoded;
use crate::{TrustBundle, signed_by};

/// The lists of a kubeconfig whose entries have names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    Cluster,
    Context,
    User,
}

impl Named {
    const ALL: [Self; 3] = [Self::Cluster, Self::Context, Self::User];

    /// The field with the list.
    pub(super) fn list(self) -> &'static str {
        match self {
            Self::Cluster => "clusters",
            Self::Context => "contexts",
            Self::User => "users",
        }
    }

    /// The field of an entry beside its name.
    pub(super) fn inside(self) -> &'static str {
        match self {
            Self::Cluster => "cluster",
            Self::Context => "context",
            Self::User => "user",
        }
    }
}

/// The entry of that name.
pub(super) fn entry<'a>(root: &'a Node, named: Named, name: &str) -> Option<&'a Node> {
    entries(root, named).find(|entry| entry.text_of("name") == Some(name))
}

fn entries(root: &Node, named: Named) -> impl Iterator<Item = &Node> {
    root.field(named.list()).map(Node::items).unwrap_or_default().iter()
}

/// Whether it is a kubeconfig as kubectl reads it.
pub(super) fn validate(root: &Node) -> Result<(), Misfit> {
    if !matches!(root.value, Value::Map(_)) {
        return Err(root.misfit("a kubeconfig is a map"));
    }
    for (field, expected) in [("apiVersion", "v1"), ("kind", "Config")] {
        if let Some(node) = root.field(field).filter(|node| node.text() != Some(expected)) {
            return Err(node.misfit(format!("`{field}` of a kubeconfig is {expected}")));
        }
    }
    if let Some(node) = root.field("current-context").filter(|node| node.text().is_none()) {
        return Err(node.misfit("`current-context` is no text"));
    }
    Named::ALL.into_iter().try_for_each(|named| validate_list(root, named))
}

fn validate_list(root: &Node, named: Named) -> Result<(), Misfit> {
    let Some(list) = root.field(named.list()) else { return Ok(()) };
    if !matches!(list.value, Value::List(_)) {
        return Err(list.misfit(format!("`{}` is no list", named.list())));
    }
    let mut names = BTreeSet::new();
    for item in list.items() {
        let Some(name) = item.text_of("name") else {
            return Err(item.misfit(format!("an entry of `{}` has no name", named.list())));
        };
        if !names.insert(name) {
            return Err(item.misfit(format!("an entry of `{}` has the name of an earlier one", named.list())));
        }
        if let Some(inside) = item.field(named.inside()).filter(|inside| !matches!(inside.value, Value::Map(_))) {
            return Err(inside.misfit(format!("`{}` is no map", named.inside())));
        }
    }
    Ok(())
}

/// What of a kubeconfig is of the cluster.
pub(super) struct Ours<'a> {
    root: &'a Node,
    new: &'a NewCluster<'a>,
    /// Names of clusters.
    clusters: BTreeSet<&'a str>,
}

impl<'a> Ours<'a> {
    pub(super) fn from_root(root: &'a Node, new: &'a NewCluster<'a>) -> Self {
        let ours = entries(root, Named::Cluster).filter(|entry| is_of(entry, new));
        Self { root, new, clusters: ours.filter_map(|entry| entry.text_of("name")).collect() }
    }

    /// The entries that would have to be replaced and are not of this cluster.
    pub(super) fn taken(&self) -> Vec<Taken> {
        let user = self.new.user();
        let names = [(Named::Cluster, self.new.name), (Named::Context, self.new.name), (Named::User, user.as_str())];
        let found = names.into_iter().filter_map(|(named, name)| Some((named, name, entry(self.root, named, name)?)));
        let others = found.filter(|(named, name, node)| match named {
            Named::Cluster => !self.clusters.contains(name),
            Named::Context => !self.has_context(node),
            Named::User => !self.has_user(name, node),
        });
        others
            .map(|(named, name, Node { line, column, .. })| Taken {
                kind: named.inside(),
                name: name.to_owned(),
                line: *line,
                column: *column,
            })
            .collect()
    }

    /// A context is of the cluster that it names; one whose cluster is missing can only become ours.
    fn has_context(&self, context: &Node) -> bool {
        let cluster = context.field("context").and_then(|context| context.text_of("cluster"));
        cluster.is_none_or(|cluster| {
            self.clusters.contains(cluster) || (cluster == self.new.name && entry(self.root, Named::Cluster, cluster).is_none())
        })
    }

    /// A user is of the authority that has signed the certificate, or of the clusters that it is used for.
    fn has_user(&self, name: &str, user: &Node) -> bool {
        let certificate = user.field("user").and_then(|user| user.text_of("client-certificate-data"));
        let certificate = certificate.and_then(|data| decoded(data, "client-certificate-data").ok());
        let signed = |authority: &String| certificate.as_ref().is_some_and(|leaf| signed_by(authority, leaf).unwrap_or(false));
        let uses = |entry: &&Node| entry.field("context").and_then(|context| context.text_of("user")) == Some(name);
        let mut used = entries(self.root, Named::Context).filter(uses).peekable();
        self.new.admin.ca_pem.as_ref().is_some_and(signed) || (used.peek().is_some() && used.all(|context| self.has_context(context)))
    }
}

/// Whether a cluster's entry trusts one of the same authorities, or has the address of one of the API servers.
fn is_of(entry: &Node, new: &NewCluster<'_>) -> bool {
    let Some(cluster) = entry.field("cluster") else { return false };
    let server = cluster.text_of("server").unwrap_or_default().trim_end_matches('/');
    let bundle = |pem: &str| TrustBundle::from_pem(pem).ok();
    let authority = cluster.text_of("certificate-authority-data").and_then(|data| decoded(data, "certificate-authority-data").ok());
    let trusted = authority.and_then(|pem| bundle(&pem));
    let ours = new.admin.ca_pem.as_deref().and_then(bundle);
    new.servers.iter().any(|known| known == server) || trusted.zip(ours).is_some_and(|(it, ours)| it.shares_one_with(&ours))
}
