//! A whole Cluster: each part is read, and then what ties them together is checked.

use crate::check;
use crate::decode::{Decoder, Field, Fields, Form, Wording};
use crate::message::Kind;
use crate::model::{Cluster, Concealed, HookPlace, Host, Network, Settings};
use crate::position::Positions;
use crate::read::{
    API_VERSION, CLUSTER, KIND, ReadHost, SPEC, addons, endpoint, fleet, hooks, hosts, network, parts, pools, read_name, read_version,
    removed, resources, ssh, time,
};
use crate::tree::{self, Node, Value};
use crate::variables::{FieldValue, Given, Sayings, variable_of_field};
use crate::words::{quote, with_nearest};
use crate::{Position, Problem};

/// What a file with a cluster says, right or wrong.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// The cluster, if nothing is wrong; of a tree also if nothing is wrong but that etcd has an even number of members.
    pub cluster: Option<Cluster>,
    /// What becomes of each variable.
    pub variables: Vec<Given>,
    /// Everything that is wrong, in the order of the file.
    pub problems: Vec<Problem>,
}

/// Reads the cluster out of a file's text. `file_name` only serves to say where something stands.
///
/// # Errors
/// Everything that is wrong with the file, in the order of the file; at least one problem. A syntax error hides what stands behind it.
pub fn read_cluster(file_name: &str, text: &str) -> Result<Cluster, Vec<Problem>> {
    let reading = examine_cluster(file_name, text);
    reading.cluster.ok_or(reading.problems)
}

/// As [`read_cluster`], and says what becomes of each variable even where something is wrong.
#[must_use]
pub fn examine_cluster(file_name: &str, text: &str) -> Reading {
    let documents = match tree::parse(file_name, text) {
        Ok(documents) => documents,
        Err(problem) => return Reading { problems: vec![problem], ..Reading::default() },
    };
    let mut decoder = Decoder::default();
    let cluster = only_document(file_name, &documents, &mut decoder).and_then(|node| read_document(node, &mut decoder));
    let reading = outcome(cluster, decoder);
    Reading { cluster: reading.cluster.filter(|_| reading.problems.is_empty()), ..reading }
}

/// Reads the cluster out of a tree whose `apiVersion` and `kind` are those of a Cluster; problems are told in the words of the file that
/// it was.
pub(crate) fn read_tree(node: &Node, wording: Wording) -> Reading {
    let mut decoder = match wording {
        Wording::Cluster => Decoder::default(),
        Wording::Inventory => Decoder::of_inventory(variable_of_field),
    };
    let cluster = read_fields(node, &mut decoder);
    outcome(cluster, decoder)
}

/// Reads the hosts out of the tree of a Fleet.
pub(crate) fn read_fleet(node: &Node) -> Reading {
    let mut decoder = Decoder::default();
    let read = |decoder: &mut Decoder| {
        let top = decoder.fields(&Field { path: String::new(), node }, &FLEET)?;
        let name = decoder.required(&top, "metadata").and_then(|metadata| read_name(decoder, &metadata));
        let spec = decoder.required(&top, "spec").and_then(|spec| fleet::read(decoder, &spec));
        let (cluster, hosts) = spec?;
        check::names_and_addresses(decoder, &hosts.iter().collect::<Vec<_>>());
        Some(Cluster { name: name?, ..cluster })
    };
    let cluster = read(&mut decoder);
    outcome(cluster, decoder)
}

const FLEET: Form = Form { what: "a Fleet", fields: CLUSTER.fields, refused: &[] };

fn outcome(cluster: Option<Cluster>, mut decoder: Decoder) -> Reading {
    let variables = decoder.take_given();
    let clean = decoder.is_clean_but(Kind::Uneven);
    let (mut problems, positions) = decoder.finish();
    let cluster = cluster.filter(|_| clean).map(|mut cluster| {
        let hosts = cluster.positions.take_hosts();
        Cluster { positions: positions.with_hosts(hosts), ..cluster }
    });
    // Cannot happen: whoever returns nothing has said why.
    if cluster.is_none() && problems.is_empty() {
        problems.push(Problem::new("the file holds no cluster").hint("give the file of a Cluster; docs/cluster.md shows one"));
    }
    Reading { cluster, variables, problems }
}

fn only_document<'a>(file_name: &str, documents: &'a [Node], decoder: &mut Decoder) -> Option<&'a Node> {
    let expected = format!("a cluster file holds one document of kind {KIND}");
    match documents {
        [] => {
            let start = Position { file: file_name.into(), line: 1, column: 1 };
            decoder.report(Problem::new("the file is empty").at(&start).because(expected).hint("docs/cluster.md shows one to begin with"));
            None
        }
        [only] => Some(only),
        [_, second, ..] => {
            decoder.report(
                Problem::new(format!("the file holds {} documents", documents.len()))
                    .at(&second.position)
                    .because(expected)
                    .hint("move the other documents to files of their own"),
            );
            None
        }
    }
}

fn read_document(node: &Node, decoder: &mut Decoder) -> Option<Cluster> {
    // Another kind has other fields: to list them all as unknown would only hide that.
    if let Value::Map(entries) = &node.value {
        let expected = [("apiVersion", API_VERSION), ("kind", KIND)];
        let given = entries.iter().filter(|entry| expected.iter().any(|(name, _)| *name == entry.key));
        let mut wrong = false;
        for entry in given {
            wrong |= !is_expected(decoder, entry, &expected);
        }
        if wrong {
            return None;
        }
    }
    read_fields(node, decoder)
}

fn read_fields(node: &Node, decoder: &mut Decoder) -> Option<Cluster> {
    let top = decoder.fields(&Field { path: String::new(), node }, &CLUSTER)?;
    decoder.required(&top, "apiVersion");
    decoder.required(&top, "kind");
    let name = decoder.required(&top, "metadata").and_then(|metadata| read_name(decoder, &metadata));
    let spec = decoder.required(&top, "spec").and_then(|spec| read_spec(decoder, &spec));
    Some(Cluster { name: name?, ..spec? })
}

fn is_expected(decoder: &mut Decoder, entry: &tree::Entry, expected: &[(&str, &str)]) -> bool {
    let Some((name, word)) = expected.iter().find(|(name, _)| *name == entry.key) else {
        return true;
    };
    let field = Field { path: entry.key.clone(), node: &entry.node };
    if matches!(entry.node.value, Value::Null) {
        return true;
    }
    match decoder.text(&field) {
        Some(text) if text == *word => true,
        Some(text) => {
            let problem =
                Problem::new(format!("`{name}` is {}", quote(text))).at(field.position()).because(format!("this version reads `{word}`"));
            decoder.report(with_nearest(problem, text, &[word], &format!("write `{name}: {word}`")));
            false
        }
        None => false,
    }
}

fn read_spec(decoder: &mut Decoder, spec: &Field<'_>) -> Option<Cluster> {
    let fields = decoder.fields(spec, &SPEC)?;
    let version = decoder.required(&fields, "kubernetesVersion");
    let kubernetes_version = version.and_then(|field| read_version(decoder, &field));
    let ssh = ssh::read_defaults(decoder, fields.get("ssh"));
    let hosts = decoder.required(&fields, "hosts").and_then(|field| hosts::read(decoder, &field, &ssh));
    let mut field_values = Vec::new();
    let (network, of_network) = network::read(decoder, fields.get("network"), &mut field_values).unzip();
    let time = time::read(decoder, fields.get("time"));
    let settings = read_settings(decoder, (&fields, field_values), hosts.as_deref().unwrap_or_default(), network.as_ref());
    let addons = fields.get("addons").map(|field| addons::read(decoder, &field)).unwrap_or_default();
    if let Some(version) = &kubernetes_version {
        check::key_algorithm(decoder, &settings, version, fields.position());
    }
    let removed = fields.get("removed").map(|field| removed::read(decoder, &field)).unwrap_or_default();
    let hosts = hosts?;
    let names = hosts.iter().filter_map(|read| read.host.as_ref()).map(|host| host.name.clone()).collect();
    // One that is to be gone has a removal before it.
    let with_leaving = places(&hosts);
    let (leaving, hosts): (Vec<_>, Vec<_>) =
        hosts.into_iter().partition(|read| read.host.as_ref().is_some_and(|host| removed.contains(&host.name)));
    check::hosts(decoder, &hosts, fields.get("hosts").as_ref());
    check::etcd_deployment(decoder, &settings, &hosts, fields.position());
    check::endpoint(decoder, &settings, &hosts, fields.position());
    check::virtual_address(decoder, &settings, network.as_ref(), &hosts, fields.position());
    check::components(decoder, &settings, &hosts, kubernetes_version.as_ref(), fields.position());
    if let Some(network) = &network {
        check::network(decoder, network, &hosts, fields.position());
        check::services(decoder, network, &settings, fields.position());
        check::node_shares(decoder, network, &settings, fields.position());
        check::node_dns(decoder, network, &settings.node_dns, &hosts, fields.position());
        check::blocks(decoder, network, &settings, fields.position());
        check::sysctls(decoder, network, &settings, fields.position());
    }
    check::time_sources(decoder, fields.get("time").as_ref(), &hosts);
    let places = places(&hosts);
    let resources = fields.get("hostResources").map(|field| resources::read(decoder, &field, &places)).unwrap_or_default();
    let hooks = fields.get("hooks").map(|field| hooks::read(decoder, &field, &with_leaving, &HookPlace::ALL)).unwrap_or_default();
    let pools = fields.get("upgrade").map(|field| pools::read(decoder, &field, &with_leaving)).unwrap_or_default();
    Some(Cluster {
        name: String::new(),
        kubernetes_version: kubernetes_version?,
        hosts: hosts.into_iter().filter_map(|read| read.host).collect(),
        leaving: leaving.into_iter().filter_map(|read| read.host).collect(),
        removed,
        network: network?,
        time,
        addons: of_network.flatten().into_iter().chain(addons).collect(),
        resources,
        hooks,
        pools,
        fleet: None,
        settings,
        concealed: Concealed::default(),
        underway: None,
        positions: Positions::default().with_hosts(names),
    })
}

/// By what hosts are meant: their names and their roles.
fn places(hosts: &[ReadHost<'_>]) -> resources::Places {
    let hosts = || hosts.iter().filter_map(|read| read.host.as_ref());
    let names_of = |wanted: fn(&Host) -> bool| hosts().filter(|host| wanted(host)).map(|host| host.name.clone()).collect();
    let groups = [
        ("control-plane".to_owned(), names_of(|host| host.roles.control_plane)),
        ("worker".to_owned(), names_of(|host| host.roles.worker)),
        ("etcd".to_owned(), names_of(|host| host.roles.etcd)),
    ];
    resources::Places { hosts: hosts().map(|host| host.name.clone()).collect(), groups: groups.into() }
}

/// What is said by fields that are variables, and under `vars`.
fn read_settings<'a>(
    decoder: &mut Decoder,
    (spec, mut field_values): (&Fields<'a>, Vec<FieldValue<'a>>),
    hosts: &[ReadHost<'a>],
    network: Option<&Network>,
) -> Settings {
    field_values.extend(parts::read(decoder, spec));
    field_values.extend(spec.get("delivery").map(|field| FieldValue { variable: "delivery", field }));
    if let Some(field) = spec.get("apiEndpoint") {
        endpoint::read(decoder, &field, hosts, &mut field_values);
    }
    let sayings = Sayings::new(field_values, spec.get("vars"), hosts::of_hosts(hosts));
    check::implied(decoder, &sayings, hosts, network);
    sayings.read(decoder, network)
}
