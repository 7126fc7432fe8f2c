//! Taking typed values out of the tree, while collecting everything that is wrong.

mod origins;
mod scalars;
mod tolerant;
mod wording;

use crate::given::Given;
use crate::message::Kind;
use crate::position::Positions;
use crate::tree::{Entry, Node, Value};
use crate::words::{nearest, quote};
use crate::{Notice, Position, Problem};

use wording::VariableOf;
pub(crate) use wording::Wording;

/// Collects problems and the places of values while a tree is read.
///
/// A method that returns `None` for a value that is there has recorded why.
#[derive(Default)]
pub(crate) struct Decoder {
    problems: Vec<Problem>,
    notices: Vec<Notice>,
    positions: Positions,
    given: Vec<Given>,
    origins: Vec<origins::Origin>,
    wording: Wording,
    variable_of: Option<VariableOf>,
    /// Names of what was said and not taken over, of which there are problems.
    turned_down: Vec<String>,
}

/// Whether people keep below such a name what other lines repeat by its anchor, and mean nothing else by it.
pub(crate) fn is_for_anchors(key: &str) -> bool {
    [".", "_", "x-"].iter().any(|beginning| key.starts_with(beginning))
}

/// The fields that a map may have.
pub(crate) struct Form {
    /// What the map is, with its article.
    pub(crate) what: &'static str,
    /// Names of the fields, in the order in which they are listed to users.
    pub(crate) fields: &'static [&'static str],
    /// Names that users bring along from elsewhere, and what to do instead; where the form is tolerant, why they do nothing.
    pub(crate) refused: &'static [(&'static str, &'static str)],
}

/// The fields of one map.
pub(crate) struct Fields<'a> {
    path: String,
    position: Position,
    what: &'static str,
    entries: Vec<(&'a str, &'a Node)>,
    /// Fields that stand there under a misspelled name, which has been reported.
    misspelled: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    fn new(field: &Field<'a>, form: &Form, entries: &'a [Entry], misspelled: Vec<&'static str>) -> Self {
        Self {
            path: field.path.clone(),
            position: field.node.position.clone(),
            what: form.what,
            entries: entries.iter().map(|entry| (entry.key.as_str(), &entry.node)).collect(),
            misspelled,
        }
    }

    /// Where the map begins.
    pub(crate) fn position(&self) -> &Position {
        &self.position
    }

    /// What the map is, as its form says.
    pub(crate) fn what(&self) -> &'static str {
        self.what
    }

    /// The value of a field; a field without a value counts as absent, as in Kubernetes.
    pub(crate) fn get(&self, name: &str) -> Option<Field<'a>> {
        let (_, node) = self.entries.iter().find(|(key, _)| *key == name)?;
        (!matches!(node.value, Value::Null)).then(|| Field { path: join(&self.path, name), node })
    }
}

/// A value with its path in the document.
#[derive(Clone)]
pub(crate) struct Field<'a> {
    pub(crate) path: String,
    pub(crate) node: &'a Node,
}

impl Field<'_> {
    /// The field as the user knows it: the variable that it was, or the last part of its path.
    pub(crate) fn name(&self) -> &str {
        self.node.called.unwrap_or_else(|| self.path.rsplit('.').next().unwrap_or_default())
    }

    /// Where the value begins.
    pub(crate) fn position(&self) -> &Position {
        &self.node.position
    }

    /// Whether the value is this text.
    pub(crate) fn is_text(&self, text: &str) -> bool {
        matches!(&self.node.value, Value::Text(value) if value == text)
    }
}

impl Decoder {
    /// Records a problem.
    pub(crate) fn report(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// Records that something was said and is not taken over, so that nobody misses it too.
    pub(crate) fn turn_down(&mut self, name: &str) {
        self.turned_down.push(name.to_owned());
    }

    /// Whether one of these was said and not taken over.
    pub(crate) fn has_turned_down(&self, names: &[&str]) -> bool {
        self.turned_down.iter().any(|name| names.contains(&name.as_str()))
    }

    /// Records what becomes of a variable.
    pub(crate) fn give(&mut self, given: Given) {
        self.given.push(given);
    }

    /// What became of variables; it is forgotten here.
    pub(crate) fn take_given(&mut self) -> Vec<Given> {
        std::mem::take(&mut self.given)
    }

    /// Where the value at `path` stands, if it was read.
    pub(crate) fn position(&self, path: &str) -> Option<&Position> {
        self.positions.get(path)
    }

    /// How much was wrong so far.
    pub(crate) fn count(&self) -> usize {
        self.problems.len()
    }

    /// Whether nothing was wrong so far.
    pub(crate) fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }

    /// Whether nothing was wrong so far but what is of this kind.
    pub(crate) fn is_clean_but(&self, kind: Kind) -> bool {
        self.problems.iter().all(|problem| problem.kind == kind)
    }

    /// Problems in the order of the file, and the places of all values.
    pub(crate) fn finish(mut self) -> (Vec<Problem>, Positions) {
        self.problems.sort_by(|a, b| a.position.cmp(&b.position));
        self.problems.dedup();
        (self.problems, self.positions)
    }

    /// The fields of a map; unknown ones are problems.
    pub(crate) fn fields<'a>(&mut self, field: &Field<'a>, form: &Form) -> Option<Fields<'a>> {
        let entries = self.entries(field, form.what)?;
        let known = |entry: &&Entry| form.fields.contains(&entry.key.as_str());
        let mut misspelled = Vec::new();
        for entry in entries.iter().filter(|entry| !known(entry)) {
            let refused = form.refused.iter().find(|(name, _)| *name == entry.key);
            let near = nearest(&entry.key, form.fields).filter(|_| refused.is_none());
            misspelled.extend(near);
            let problem = Problem::new(format!("unknown field {}", quote(&entry.key))).at(&entry.key_position).because(format!(
                "{} has the fields {}",
                form.what,
                form.fields.join(", ")
            ));
            let did_you_mean = || near.map(|name| format!("did you mean `{name}`?"));
            let hint = refused.map(|(_, hint)| (*hint).to_owned()).or_else(did_you_mean).or_else(|| for_anchors(&entry.key));
            let hint = Some(hint.unwrap_or_else(|| "leave it out, or write one of these fields".to_owned()));
            self.report(Problem { hint, ..problem });
        }
        Some(Fields::new(field, form, entries, misspelled))
    }

    /// The entries of a map with free keys.
    pub(crate) fn entries<'a>(&mut self, field: &Field<'a>, what: &str) -> Option<&'a [Entry]> {
        self.place(field);
        match &field.node.value {
            Value::Map(entries) => Some(entries),
            _ => self.wrong_type(
                field,
                &format!("{what} is a map of names to values"),
                "write each of its fields as `name: value` in a line of its own, further to the right",
            ),
        }
    }

    /// A field that must be there.
    pub(crate) fn required<'a>(&mut self, fields: &Fields<'a>, name: &str) -> Option<Field<'a>> {
        let field = fields.get(name);
        if field.is_none() && !fields.is_misspelled(name) {
            let what = self.missing(&join(&fields.path, name));
            let mut problem = Problem::new(format!("{what} is missing")).of_kind(Kind::Absent).at(&fields.position);
            problem = match (self.wording, self.variable_of(&join(&fields.path, name))) {
                (Wording::Inventory, None) => problem,
                (Wording::Inventory, Some(variable)) => problem.of_variable(variable),
                (Wording::Cluster, _) => problem.of_variable(name),
            };
            let hint = match self.wording {
                Wording::Inventory => "set it, for example in group_vars/all.yml".to_owned(),
                Wording::Cluster => format!("add `{name}:` there, with its value"),
            };
            self.report(problem.because(format!("{} needs it", fields.what)).hint(hint));
        }
        field
    }

    /// The items of a list.
    pub(crate) fn list<'a>(&mut self, field: &Field<'a>, because: &str) -> Option<Vec<Field<'a>>> {
        self.place(field);
        match &field.node.value {
            Value::List(items) => {
                let item = |(index, node)| Field { path: format!("{}[{index}]", field.path), node };
                Some(items.iter().enumerate().map(item).collect())
            }
            _ => self.wrong_type(field, because, "write each entry behind a `- ` in a line of its own, or `[]` for none"),
        }
    }

    /// A list of texts.
    pub(crate) fn texts<'a>(&mut self, field: &Field<'a>, because: &str) -> Vec<(&'a str, Field<'a>)> {
        let items = self.list(field, because).unwrap_or_default();
        items.into_iter().filter_map(|item| self.text(&item).map(|text| (text, item))).collect()
    }

    /// Remembers where a value stands.
    pub(crate) fn place(&mut self, field: &Field<'_>) {
        self.positions.insert(field.path.clone(), field.node.position.clone());
    }

    fn wrong_type<T>(&mut self, field: &Field<'_>, because: &str, hint: &str) -> Option<T> {
        let found = field.node.value.kind();
        let name = field.name();
        let problem = if name.is_empty() {
            Problem::new(format!("the document is {found}"))
        } else {
            Problem::new(format!("`{name}` cannot be {found}"))
        };
        self.report(problem.at(field.position()).because(because).hint(hint));
        None
    }
}

/// What to do about a field that is none.
fn for_anchors(key: &str) -> Option<String> {
    is_for_anchors(key).then(|| "write the anchor where its value is used first, and leave this out".to_owned())
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
