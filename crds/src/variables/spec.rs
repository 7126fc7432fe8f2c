//! Reading what a Cluster says of variables: under `vars`, as fields of its own, and for single hosts.

use std::collections::BTreeMap;

use super::judge::{Verdict, judge};
use super::lookup::{nearest_variable, variable};
use super::of_hosts::{OfHost, Settled};
use super::row::{Rule, Variable};
use crate::decode::{Decoder, Field, Wording};
use crate::given::{Given, Outcome};
use crate::model::{Network, NetworkPlugin, Settings};
use crate::tree::has_template;
use crate::tree::{Entry, Node, Value};
use crate::words::quote;
use crate::{Position, Problem};

/// Variables of Kubespray that are fields of a Cluster here; rows of fields say less, for an inventory has no fields.
const INSTEAD: [(&str, &str); 4] = [
    ("ntp_enabled", "spec.time"),
    ("ntp_manage_config", "spec.time"),
    ("ansible_user", "spec.ssh.user"),
    ("ansible_port", "spec.ssh.port"),
];

/// A field of a Cluster that says what a variable says.
pub(crate) struct FieldValue<'a> {
    pub(crate) variable: &'static str,
    pub(crate) field: Field<'a>,
}

impl FieldValue<'_> {
    /// Whether the variable is a setting, of which a reader looks at the value.
    pub(crate) fn is_setting(name: &str) -> bool {
        variable(name).is_some_and(|row| matches!(row.rule, Rule::Setting(_)))
    }

    /// The field as messages call it.
    fn name(&self) -> &str {
        self.field.path.strip_prefix("spec.").unwrap_or(&self.field.path)
    }
}

/// Everything that a Cluster says of variables.
pub(crate) struct Sayings<'a> {
    fields: Vec<FieldValue<'a>>,
    vars: Option<Field<'a>>,
    hosts: Vec<OfHost<'a>>,
}

impl<'a> Sayings<'a> {
    pub(crate) fn new(fields: Vec<FieldValue<'a>>, vars: Option<Field<'a>>, hosts: Vec<OfHost<'a>>) -> Self {
        Self { fields, vars, hosts }
    }

    /// The values of a variable, each with the number of the host that it is of, if it is not of all.
    pub(crate) fn values_of(&self, name: &'static str) -> impl Iterator<Item = (Option<usize>, &'a Node)> {
        let fields = self.fields.iter().filter(move |value| value.variable == name).map(|value| (None, value.field.node));
        let vars = self.vars.iter().filter_map(move |vars| Some((None, vars.node.entry(name).map(|entry| &entry.node)?)));
        let hosts = self.hosts.iter().enumerate().filter_map(move |(index, host)| Some((Some(index), host.node(name)?)));
        fields.chain(vars).chain(hosts)
    }

    /// Reads all of them.
    pub(crate) fn read(&self, decoder: &mut Decoder, network: Option<&Network>) -> Settings {
        let mut settings = Settings::default();
        settings.calico.is_wanted = network.is_some_and(|network| network.plugin == NetworkPlugin::Calico);
        let entries = self.vars.as_ref().and_then(|vars| decoder.entries(vars, "the vars of a cluster")).unwrap_or_default();
        let mut of_all: BTreeMap<&str, &Node> = entries.iter().map(|entry| (entry.key.as_str(), &entry.node)).collect();
        of_all.extend(self.fields.iter().map(|value| (value.variable, value.field.node)));
        of_all.retain(|_, node| !matches!(node.value, Value::Null));
        let of_hosts = super::of_hosts::read(decoder, &self.hosts, &of_all, &mut settings);
        let settled = &of_hosts.settled;
        for value in &self.fields {
            read_field(decoder, value, settled, &mut settings);
        }
        for (entry, vars) in entries.iter().zip(self.vars.iter().cycle()) {
            let item = Field { path: format!("{}.{}", vars.path, entry.key), node: &entry.node };
            let value = self.fields.iter().find(|value| value.variable == entry.key && !matches!(entry.node.value, Value::Null));
            match (value, row_of(decoder, entry)) {
                (Some(value), _) => decoder.report(twice(entry, value)),
                (None, Some(row)) if settled.contains(row.name) => decoder.give(overruled(&entry.key, row, &entry.node)),
                (None, Some(row)) => read_one(decoder, &item, (&entry.key, &entry.key_position), row, &mut settings),
                (None, None) => without_value(decoder, entry),
            }
        }
        let given = decoder.take_given();
        super::read::security::check(decoder, &given, &settings);
        super::read::together::check(decoder, &given, &settings);
        super::read::calico::check(decoder, &given, &mut settings);
        super::read::virtual_address::check(decoder, &given, &mut settings);
        let mode = settings.kube_proxy_mode;
        settings.components.kube_proxy.retain(|name, _| mode.reads(name));
        super::read::backup::check(decoder, &given, &settings);
        super::read::certificates::check(decoder, &given, &settings);
        super::read::kms::check(decoder, &given, &settings);
        super::read::authorities::check(decoder, &given, &mut settings);
        settings.of_hosts = super::of_hosts::whole(&self.hosts, &of_all, &of_hosts, &settings);
        given.into_iter().for_each(|given| decoder.give(counting(given, &settings)));
        settings
    }
}

/// What becomes of a variable that counts only beside another one, now that all are read.
fn counting(given: Given, settings: &Settings) -> Given {
    match variable(&given.name).and_then(|row| row.beside) {
        Some((switch, is_on)) if given.outcome == Outcome::Honoured && !is_on(settings) => {
            Given { outcome: Outcome::NoMeaning, because: format!("it is read with {switch} only"), ..given }
        }
        _ if given.outcome == Outcome::Honoured && settings.kube_proxy_remove && is_of_kube_proxy(&given.name) => {
            Given { outcome: Outcome::NoMeaning, because: "kube_proxy_remove leaves kube-proxy out".to_owned(), ..given }
        }
        _ => given,
    }
}

fn is_of_kube_proxy(name: &str) -> bool {
    name.starts_with("kube_proxy_") && name != "kube_proxy_remove"
}

/// What is written with nothing behind it is listed, as in an inventory.
fn without_value(decoder: &mut Decoder, entry: &Entry) {
    let row = variable(&entry.key).filter(|row| !matches!(row.rule, Rule::Field(_)));
    if let Some(row) = row.filter(|_| matches!(entry.node.value, Value::Null)) {
        let because = "it has no value, and counts as not set";
        decoder.give(Given::new(&entry.key, Some(row), &entry.node, Outcome::Anyway, because));
    }
}

/// The row of a variable that somebody sets; `None` if it is no variable here, which is reported, or if it has no value, as with fields.
pub(super) fn row_of(decoder: &mut Decoder, entry: &Entry) -> Option<&'static Variable> {
    let Some(row) = variable(&entry.key) else {
        decoder.report(unknown(&entry.key).at(&entry.key_position));
        return None;
    };
    if let Rule::Field(path) = row.rule {
        decoder.report(instead(&entry.key, path).at(&entry.key_position));
        return None;
    }
    if decoder.wording() == Wording::Cluster && !row.is_moot() && has_template(&entry.node) {
        decoder.report(template(&entry.key).at(&entry.node.position));
        return None;
    }
    (!matches!(entry.node.value, Value::Null)).then_some(row)
}

/// Reads a variable; `name` is what it is called, and where that stands.
pub(super) fn read_one(
    decoder: &mut Decoder,
    item: &Field<'_>,
    (name, at): (&str, &Position),
    row: &'static Variable,
    settings: &mut Settings,
) {
    let mut give = |outcome, because: String| decoder.give(Given::new(name, Some(row), item.node, outcome, because));
    if matches!(&item.node.value, Value::Text(text) if text.trim().is_empty()) && row.is_unset_by_default() {
        return give(Outcome::Anyway, String::new());
    }
    if matches!((row.rule, row.beside), (Rule::Needed(_), Some((_, is_on))) if !is_on(settings)) {
        return give(Outcome::NoMeaning, super::WITHOUT_CALICO.to_owned());
    }
    match judge(row, name, item.node, at) {
        Verdict::Read => {
            give(Outcome::Honoured, item.path.clone());
            if let Rule::Setting(reader) = row.rule {
                reader(decoder, item, settings);
            }
        }
        Verdict::Anyway => give(Outcome::Anyway, String::new()),
        Verdict::NoMeaning(because) => give(Outcome::NoMeaning, because.to_owned()),
        Verdict::NotYet => give(Outcome::NotYet, row.undone()),
        Verdict::Refused(problem) => {
            give(Outcome::Refused, problem.because.clone().unwrap_or_default());
            decoder.report(problem);
        }
    }
}

/// As of other fields, nothing is listed of one that is right.
fn read_field(decoder: &mut Decoder, value: &FieldValue<'_>, settled: &Settled, settings: &mut Settings) {
    let Some(row) = variable(value.variable) else { return };
    let (name, node) = (value.name(), value.field.node);
    decoder.place(&value.field);
    if settled.contains(row.name) {
        return decoder.give(overruled(name, row, node));
    }
    match judge(row, name, node, &node.position) {
        Verdict::Read => {
            if let Rule::Setting(reader) = row.rule {
                reader(decoder, &value.field, settings);
            }
        }
        Verdict::Anyway => {}
        Verdict::NoMeaning(because) => decoder.give(Given::new(name, Some(row), node, Outcome::NoMeaning, because)),
        Verdict::NotYet => {
            let problem = Problem::new(format!("`{name}` is not honoured yet")).at(&node.position);
            decoder.report(problem.because("that is not done by this version").hint(row.way_out));
        }
        Verdict::Refused(problem) => decoder.report(problem),
    }
}

fn overruled(name: &str, row: &Variable, node: &Node) -> Given {
    Given::new(name, Some(row), node, Outcome::Overruled, "every host that reads it says otherwise under its own `vars`")
}

fn twice(entry: &Entry, value: &FieldValue<'_>) -> Problem {
    Problem::new(format!("{} is said twice", quote(&entry.key)))
        .at(&entry.key_position)
        .because(format!("`spec.{}` says it at {}", value.name(), value.field.position()))
        .hint("keep one of the two")
}

fn instead(name: &str, path: &str) -> Problem {
    let path = INSTEAD.iter().find(|(variable, _)| *variable == name).map_or(path, |(_, path)| path);
    let problem = Problem::new(format!("{} is no variable here", quote(name)));
    problem.because("that is a field of a Cluster here").hint(format!("write it as `{path}`"))
}

fn template(name: &str) -> Problem {
    Problem::new(format!("{} has a template as its value", quote(name)))
        .because("templates are worked out in inventories; in a Cluster of this form they would be plain text")
        .hint("write out the value; text that has to hold `{{`, `{%` or `{#` is written as `!unsafe \"…\"`")
}

fn unknown(name: &str) -> Problem {
    let problem = Problem::new(format!("unknown variable {}", quote(name)))
        .because("this version does not know it; docs/variables.md and `kokctl vars` list those that it knows");
    match nearest_variable(name) {
        Some(near) => problem.hint(format!("did you mean `{near}`?")),
        None => problem.hint("leave it out: nothing here would read it"),
    }
}
