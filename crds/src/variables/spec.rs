//! Reading `spec.vars`.

use super::given::{Given, Outcome};
use super::judge::{Verdict, judge};
use super::lookup::{nearest_variable, variable};
use super::row::{Rule, Variable};
use crate::Problem;
use crate::decode::{Decoder, Field};
use crate::model::Settings;
use crate::tree::{Entry, Value};
use crate::words::quote;

/// Variables of Kubespray that are fields of a Cluster here; rows of fields say less, for an inventory has no fields.
const INSTEAD: [(&str, &str); 4] = [
    ("ntp_enabled", "spec.time"),
    ("ntp_manage_config", "spec.time"),
    ("ansible_user", "spec.ssh.user"),
    ("ansible_port", "spec.ssh.port"),
];

/// Reads `spec.vars`.
pub(crate) fn read_vars(decoder: &mut Decoder, field: &Field<'_>) -> Settings {
    let mut settings = Settings::default();
    for entry in decoder.entries(field, "the vars of a cluster").unwrap_or_default() {
        match variable(&entry.key) {
            Some(row) => read_one(decoder, field, entry, row, &mut settings),
            None => decoder.report(unknown(&entry.key).at(&entry.key_position)),
        }
    }
    settings
}

fn read_one(decoder: &mut Decoder, field: &Field<'_>, entry: &Entry, row: &'static Variable, settings: &mut Settings) {
    let item = Field { path: format!("{}.{}", field.path, entry.key), node: &entry.node };
    if let Rule::Field(path) = row.rule {
        return decoder.report(instead(&entry.key, path).at(&entry.key_position));
    }
    // As with fields: a name without a value leaves the default.
    if matches!(entry.node.value, Value::Null) {
        return;
    }
    if matches!(&entry.node.value, Value::Text(text) if text.trim().is_empty()) && row.is_unset_by_default() {
        return decoder.give(Given::new(&entry.key, Some(row), &entry.node, Outcome::Anyway, String::new()));
    }
    let mut give = |outcome, because: String| decoder.give(Given::new(&entry.key, Some(row), &entry.node, outcome, because));
    match judge(row, &entry.key, &entry.node, &entry.key_position) {
        Verdict::Read => {
            give(Outcome::Honoured, format!("spec.vars.{}", entry.key));
            if let Rule::Setting(reader) = row.rule {
                reader(decoder, &item, settings);
            }
        }
        Verdict::Anyway => give(Outcome::Anyway, String::new()),
        Verdict::NoMeaning(because) => give(Outcome::NoMeaning, because.to_owned()),
        Verdict::NotYet => give(Outcome::NotYet, row.about.to_owned()),
        Verdict::Refused(problem) => {
            give(Outcome::Refused, problem.because.clone().unwrap_or_default());
            decoder.report(problem);
        }
    }
}

fn instead(name: &str, path: &str) -> Problem {
    let path = INSTEAD.iter().find(|(variable, _)| *variable == name).map_or(path, |(_, path)| path);
    let problem = Problem::new(format!("{} is no variable here", quote(name)));
    problem.because("that is a field of a Cluster here").hint(format!("write it as `{path}`"))
}

fn unknown(name: &str) -> Problem {
    let problem = Problem::new(format!("unknown variable {}", quote(name)))
        .because("this version does not know it; docs/variables.md and `kokctl vars` list those that it knows");
    match nearest_variable(name) {
        Some(near) => problem.hint(format!("did you mean `{near}`?")),
        None => problem,
    }
}
