//! Objects as kube-on-kube and kubean know them: `Cluster`, `ClusterOperation` and the ConfigMaps and Secrets that they name, out of any
//! number of files with any number of documents each.

mod cluster;
mod data_object;
mod document;
mod head;
mod operation;
pub(crate) mod operator;
mod place;
mod private_key;
mod reference;
mod sealed;

use std::collections::BTreeMap;

use crate::decode::Decoder;
use crate::examine::Reading;
use crate::machines::Machines;
use crate::model::Cluster;
use crate::operation::Operation;
use crate::resolve::Tainted;
use crate::vault::{NoVault, Vault};
use crate::words::{quote, with_nearest};
use crate::{Given, Notice, Position, Problem};

pub use crate::operation::{Inputs, SshKey};

pub(crate) use cluster::REFERENCES;
pub(crate) use operation::{HOOK, SPEC as OPERATION_SPEC};
pub(crate) use reference::DATA_REF;

use data_object::DataObjects;
use document::{Document, FileText, ObjectKind};

/// Groups whose objects are read, with their version.
pub const API_VERSIONS: [&str; 2] = ["kubeonkube.clay.io/v1alpha1", "kubean.io/v1alpha1"];

/// What stands in a set of files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objects {
    /// The clusters in the order of the files; their names are unique.
    pub clusters: Vec<ClusterObject>,
    /// The operations in the order of the files. Those with a name have it alone.
    pub operations: Vec<Operation>,
    /// What does nothing here, and why.
    pub notices: Vec<Notice>,
    /// What becomes of variables of clusters that say everything themselves and could not be read; there is a problem about each.
    pub unread: Vec<Given>,
    /// Whether something could not be read that may have said more of a cluster; there is a problem about it.
    pub incomplete: bool,
    /// Where an operation stands, if everything could be read and no document is a Cluster.
    pub lacks_cluster: Option<Position>,
}

/// A `Cluster`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterObject {
    /// Its name.
    pub name: String,
    /// Where the name stands.
    pub position: Position,
    /// What describes it.
    pub form: ClusterForm,
}

/// The two ways to describe a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClusterForm {
    /// By fields of its own.
    Inline {
        /// The cluster.
        cluster: Box<Cluster>,
        /// What becomes of each variable.
        variables: Vec<Given>,
    },
    /// By an inventory and variables in ConfigMaps.
    Referenced(Box<Inputs>),
}

impl Objects {
    /// The cluster of that name, or the only one.
    ///
    /// # Errors
    /// A [`Problem`] that names the clusters that are there.
    pub fn cluster(&self, name: Option<&str>) -> Result<&ClusterObject, Problem> {
        let names: Vec<&str> = self.clusters.iter().map(|cluster| cluster.name.as_str()).collect();
        let listed =
            || if names.is_empty() { "the files hold no Cluster".to_owned() } else { format!("the files hold {}", names.join(", ")) };
        match (name, self.clusters.as_slice()) {
            (None, [only]) => Ok(only),
            (None, []) => Err(Problem::new("the files hold no Cluster").hint("give the file with the Cluster too")),
            (None, _) => Err(Problem::new("the files hold more than one Cluster")
                .because(listed())
                .hint("give the files of one of them, or with them the only operation that has not ended: its `cluster` is meant then")),
            (Some(name), clusters) => clusters.iter().find(|cluster| cluster.name == name).ok_or_else(|| {
                let problem = Problem::new(format!("there is no Cluster {}", quote(name))).because(listed());
                with_nearest(problem, name, &names, "name one of these, or give the file with that Cluster too")
            }),
        }
    }
}

/// Reads all objects of some files, each given as its name and its text. Names only serve to say where something stands; the order of
/// files and documents means nothing.
///
/// # Errors
/// Everything that is wrong, file by file; at least one problem. A syntax error hides the rest of its file.
pub fn read_objects(files: &[(&str, &str)]) -> Result<Objects, Vec<Problem>> {
    let (objects, problems, _) = read_partly(files, &[], &NoVault, None);
    if problems.is_empty() { Ok(objects) } else { Err(problems) }
}

/// Values that were encrypted, by their places.
pub(crate) type Secrets = BTreeMap<Position, Tainted>;

/// As [`read_objects`], with what could be read where something is wrong, and what of it was encrypted. `encrypted` names files that were it as a
/// whole; `machines` are hosts of clusters that say of them no more than they need to.
pub(crate) fn read_partly(
    files: &[(&str, &str)],
    encrypted: &[&str],
    vault: &dyn Vault,
    machines: Option<&Machines>,
) -> (Objects, Vec<Problem>, Secrets) {
    let mut decoder = Decoder::default();
    let texts: Vec<FileText<'_>> = files.iter().map(|(name, text)| FileText::new(name, text, encrypted.contains(name))).collect();
    let mut documents: Vec<Document<'_>> = texts.iter().flat_map(|text| document::read(text, &mut decoder)).collect();
    let secrets = sealed::open(&mut documents, vault, &mut decoder);
    let clusters = documents.iter_mut().filter(|document| document.kind == ObjectKind::Cluster);
    let completed = clusters.flat_map(|document| machines.map(|machines| machines.complete(&mut document.node)));
    completed.flatten().for_each(|problem| decoder.report(problem));
    let mut incomplete = !decoder.is_clean();
    let first = |kind| documents.iter().find(move |document| document.kind == kind);
    let alone = first(ObjectKind::Operation).filter(|_| !incomplete && first(ObjectKind::Cluster).is_none());
    let lacks_cluster = alone.map(|document| document.node.position.clone());
    if documents.is_empty() && decoder.is_clean() {
        decoder.report(
            Problem::new("the files hold no object that is read here")
                .because(format!("read are Cluster and ClusterOperation of {}, ConfigMap and Secret", API_VERSIONS.join(" and ")))
                .hint("give the file with the Cluster; docs/cluster.md shows one"),
        );
    }
    let data_objects = DataObjects::read(&documents, &mut decoder);
    let of_kind = |kind| documents.iter().filter(move |document| document.kind == kind);
    let mut unread = Reading::default();
    let clusters: Vec<_> =
        of_kind(ObjectKind::Cluster).map(|document| cluster::read(document, &data_objects, &mut decoder, &mut unread)).collect();
    let fleets: Vec<_> = of_kind(ObjectKind::Fleet).filter_map(|document| cluster::read_hosts(document, &mut unread)).collect();
    let operations: Vec<_> =
        of_kind(ObjectKind::Operation).map(|document| operation::read(document, &data_objects, &mut decoder)).collect();
    let unread_operations = of_kind(ObjectKind::Operation).zip(&operations).filter(|(_, read)| read.is_none());
    incomplete |= unread_operations.into_iter().any(|(document, _)| operation::may_set_variables(document));
    let clusters: Vec<_> = clusters.into_iter().flatten().collect();
    let operations: Vec<_> = operations.into_iter().flatten().collect();
    unique(&mut decoder, clusters.iter().map(|cluster| (cluster.name.as_str(), &cluster.position)), "Cluster");
    let named = operations.iter().filter_map(|operation| Some((operation.name.as_deref()?, &operation.position)));
    unique(&mut decoder, named, "ClusterOperation");
    known_clusters(&mut decoder, of_kind(ObjectKind::Cluster).count(), &clusters, &operations);
    let clusters: Vec<_> = clusters.into_iter().chain(fleets).collect();
    // What is wrong may be the reason why nothing names them.
    let Reading { mut problems, variables: unread, .. } = unread;
    let is_right = decoder.is_clean() && problems.is_empty();
    data_objects.note_unused(&mut decoder, is_right && (!clusters.is_empty() || !operations.is_empty()));
    let notices = decoder.take_notices();
    problems.extend(decoder.finish().0);
    problems.sort_by(|a, b| a.position.cmp(&b.position));
    (Objects { clusters, operations, notices, unread, incomplete, lacks_cluster }, problems, secrets)
}

/// An operation may come without its cluster, but not beside other clusters only.
fn known_clusters(decoder: &mut Decoder, documents: usize, clusters: &[ClusterObject], operations: &[Operation]) {
    // A cluster that could not be read may be the one.
    if clusters.is_empty() || documents != clusters.len() {
        return;
    }
    let names: Vec<&str> = clusters.iter().map(|cluster| cluster.name.as_str()).collect();
    for operation in operations.iter().filter(|operation| !names.contains(&operation.cluster.text.as_str())) {
        let cluster = &operation.cluster;
        let problem = Problem::new(format!("there is no Cluster {}", quote(&cluster.text)))
            .at(&cluster.position)
            .because(format!("the files hold {}", names.join(", ")));
        decoder.report(with_nearest(problem, &cluster.text, &names, "name one of these, or give the file with that Cluster too"));
    }
}

fn unique<'a>(decoder: &mut Decoder, names: impl Iterator<Item = (&'a str, &'a Position)>, kind: &str) {
    let mut seen: BTreeMap<&str, &Position> = BTreeMap::new();
    for (name, position) in names {
        match seen.get(name) {
            None => _ = seen.insert(name, position),
            Some(first) => decoder.report(
                Problem::new(format!("there are two objects {kind} {}", quote(name)))
                    .at(position)
                    .because(format!("the first one stands at {first}"))
                    .hint("leave one of the two out, or give it another name"),
            ),
        }
    }
}
