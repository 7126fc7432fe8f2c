//! Taking a cluster into somebody's own kubeconfig, in which everything else stays.

mod own;
mod tree;
mod write;

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use thiserror::Error;
use zeroize::Zeroizing;

use crate::{KubeconfigFacts, SecretText};
use own::{Named, Ours};
use tree::{Entry, Node, Scalar, Value};

/// Room for the new entries; certificates and key of ECDSA take some four thousand bytes, of RSA twice that.
const ROOM: usize = 16 * 1024;

/// A cluster with its administrator, as it goes into a kubeconfig.
pub struct NewCluster<'a> {
    /// Name of the cluster and of its entry and context.
    pub name: &'a str,
    /// Name of the user's entry; by default that of an administrator.
    pub user: Option<&'a str>,
    /// URL of the API server.
    pub server: &'a str,
    /// The name by which the server's certificate is checked, if not by that of the URL.
    pub tls_server_name: Option<&'a str>,
    /// All URLs of its API servers: an entry with one of them is of this cluster, whichever authority it trusts.
    pub servers: &'a [String],
    /// The kubeconfig of its administrator, or of the user.
    pub admin: &'a KubeconfigFacts,
}

impl NewCluster<'_> {
    /// Name of the user's entry.
    #[must_use]
    pub fn user(&self) -> String {
        self.user.map_or_else(|| format!("{}-admin", self.name), str::to_owned)
    }
}

/// What became of a kubeconfig.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeSummary {
    /// What was done.
    pub change: MergeChange,
    /// The current context before, if it was another one.
    pub context_before: Option<String>,
}

/// What was done to a kubeconfig.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeChange {
    /// It had nothing of the cluster under these names.
    Added,
    /// Its entries of the cluster were brought up to date.
    Renewed,
    /// Only the current context is another one.
    Chosen,
    /// Everything was there.
    Nothing,
}

/// Why a kubeconfig was left as it is. No variant carries key material.
#[derive(Debug, Error)]
pub enum MergeError {
    /// It is none.
    #[error("it is no kubeconfig")]
    Misfit(Misfit),
    /// It has entries of these names that are not of this cluster.
    #[error("it has entries of the same name that are not of this cluster")]
    Taken(Vec<Taken>),
    /// The administrator's kubeconfig has not everything that has to be taken over.
    #[error("the administrator's kubeconfig has no {0}")]
    Admin(&'static str),
    /// It could not be written so that it would be read as the same again.
    #[error("it holds YAML that would not stay the same")]
    Unfaithful,
}

/// Where a file is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// Counted from 1.
    pub line: u64,
    /// Counted from 1.
    pub column: u64,
    /// What is wrong there; never quotes the file.
    pub what: String,
}

/// An entry that is another's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// Which list it stands in: `cluster`, `context` or `user`.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// Where it stands, counted from 1.
    pub line: u64,
    /// Counted from 1.
    pub column: u64,
}

impl fmt::Display for Misfit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.what)
    }
}

/// Adds the cluster to a kubeconfig, or brings its entries up to date, and makes its context the current one. All other entries, fields that
/// nobody here knows, and the order stay; comments don't, as with kubectl. Where nothing is to do the text is returned as it was.
///
/// # Errors
/// [`MergeError`], and then nothing is to be written.
pub fn merge_kubeconfig(own: &SecretText, new: &NewCluster<'_>) -> Result<(SecretText, MergeSummary), MergeError> {
    let before = tree::read(own.expose()).map_err(MergeError::Misfit)?;
    own::validate(&before).map_err(MergeError::Misfit)?;
    let taken = Ours::from_root(&before, new).taken();
    if !taken.is_empty() {
        return Err(MergeError::Taken(taken));
    }
    let mut after = before.clone();
    put_all(&mut after, new)?;
    let is_new = own::entry(&before, Named::Cluster, new.name).is_none();
    let entries_changed = after != before;
    let context_before = before.text_of("current-context").filter(|context| !context.is_empty() && *context != new.name).map(str::to_owned);
    let is_current = before.text_of("current-context") == Some(new.name);
    set(&mut after, "current-context", Node::of_text(new.name));
    let change = match (entries_changed, is_current) {
        (true, _) if is_new => MergeChange::Added,
        (true, _) => MergeChange::Renewed,
        (false, false) => MergeChange::Chosen,
        (false, true) => MergeChange::Nothing,
    };
    let summary = MergeSummary { change, context_before };
    if change == MergeChange::Nothing {
        return Ok((own.clone(), summary));
    }
    let text = write::write(&after, 2 * own.expose().len() + ROOM);
    if tree::read(text.expose()).ok().as_ref() != Some(&after) {
        return Err(MergeError::Unfaithful);
    }
    Ok((text, summary))
}

/// Everything but the current context.
fn put_all(root: &mut Node, new: &NewCluster<'_>) -> Result<(), MergeError> {
    let admin = new.admin;
    let ca = admin.ca_pem.as_ref().ok_or(MergeError::Admin("certificate authority inside"))?;
    let certificate = admin.certificate_pem.as_ref().ok_or(MergeError::Admin("client certificate inside"))?;
    let key = admin.key_pem.as_ref().ok_or(MergeError::Admin("key inside"))?;
    frame(root);
    let user = new.user();
    edit_entry(root, Named::Cluster, new.name, |cluster| {
        // Each contradicts the authority that is trusted here.
        ["certificate-authority", "insecure-skip-tls-verify"].iter().for_each(|field| remove(cluster, field));
        set(cluster, "certificate-authority-data", encoded(ca));
        set(cluster, "server", Node::of_text(new.server));
        match new.tls_server_name {
            Some(name) => set(cluster, "tls-server-name", Node::of_text(name)),
            None => remove(cluster, "tls-server-name"),
        }
    });
    edit_entry(root, Named::Context, new.name, |context| {
        set(context, "cluster", Node::of_text(new.name));
        set(context, "user", Node::of_text(&user));
    });
    edit_entry(root, Named::User, &user, |credentials| {
        // Other ways to log in would win over the certificate, or be refused beside it.
        keep_only(credentials, &["client-certificate-data", "client-key-data", "extensions"]);
        set(credentials, "client-certificate-data", encoded(certificate));
        set(credentials, "client-key-data", encoded(key.expose()));
    });
    Ok(())
}

fn encoded(text: &str) -> Node {
    Node::of_text(&Zeroizing::new(STANDARD.encode(text)))
}

/// What a kubeconfig has to have, in kubectl's order where it is new.
fn frame(root: &mut Node) {
    let Value::Map(entries) = &mut root.value else { return };
    for (key, value) in [("kind", "Config"), ("apiVersion", "v1")] {
        if !entries.iter().any(|entry| entry.key.is(key)) {
            entries.insert(0, Entry { key: Scalar::of_text(key), node: Node::of_text(value) });
        }
    }
}

/// Edits the map inside the entry of that name, which is made if it is missing.
fn edit_entry(root: &mut Node, named: Named, name: &str, edit: impl FnOnce(&mut Node)) {
    edit_field(root, named.list(), Node::new(Value::List(Vec::new())), |list| {
        let Value::List(items) = &mut list.value else { return };
        let nothing = || Node::new(Value::Map(Vec::new()));
        match items.iter_mut().find(|item| item.text_of("name") == Some(name)) {
            Some(item) => edit_field(item, named.inside(), nothing(), edit),
            None => {
                let mut inside = nothing();
                edit(&mut inside);
                let entry = |key: &str, node: Node| Entry { key: Scalar::of_text(key), node };
                let fields = vec![entry(named.inside(), inside), entry("name", Node::of_text(name))];
                items.push(Node::new(Value::Map(fields)));
            }
        }
    });
}

/// Edits the value of a field, which is `empty` before where there is none.
fn edit_field(node: &mut Node, key: &str, empty: Node, edit: impl FnOnce(&mut Node)) {
    if node.field(key).is_none() {
        set(node, key, empty);
    }
    let Value::Map(entries) = &mut node.value else { return };
    if let Some(entry) = entries.iter_mut().find(|entry| entry.key.is(key)) {
        edit(&mut entry.node);
    }
}

/// Gives a field its value; one that is the same already stays as it is spelled.
fn set(node: &mut Node, key: &str, value: Node) {
    let Value::Map(entries) = &mut node.value else { return };
    match entries.iter_mut().find(|entry| entry.key.is(key)) {
        Some(entry) if entry.node == value => {}
        Some(entry) => entry.node = value,
        None => entries.push(Entry { key: Scalar::of_text(key), node: value }),
    }
}

fn remove(node: &mut Node, key: &str) {
    let Value::Map(entries) = &mut node.value else { return };
    entries.retain(|entry| !entry.key.is(key));
}

fn keep_only(node: &mut Node, keys: &[&str]) {
    let Value::Map(entries) = &mut node.value else { return };
    entries.retain(|entry| keys.iter().any(|key| entry.key.is(key)));
}
