//! `-e` in all its forms.

use std::collections::BTreeSet;

use super::Placed;
use super::key_values;
use super::options::OptionValue;
use crate::decode::Decoder;
use crate::inventory::check_named;
use crate::shell::{Letter, letters, text};
use crate::tree::{Dialect, Node, Value};
use crate::words::quote;
use crate::{Place, Position, Problem, Source};

/// What one `-e` gives, in its order: the later one wins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExtraVars {
    /// A variable.
    Named(ExtraVar),
    /// A file with variables, by its path; whoever has files reads it.
    File(Placed),
}

/// A variable of the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtraVar {
    /// Its name.
    pub name: String,
    /// Where its value stands.
    pub position: Position,
    /// Whether it was written as `name=value`, so that its value is text whatever it looks like. Who needs another type may take it
    /// from the text.
    pub untyped: bool,
    /// The value itself.
    pub node: Node,
}

impl ExtraVar {
    /// The value, if it is text.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.node.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value, if it is `true` or `false` and was not written as text.
    #[must_use]
    pub fn boolean(&self) -> Option<bool> {
        match self.node.value {
            Value::Bool(value) => Some(value),
            _ => None,
        }
    }
}

/// Reads the value of an `-e` of the command line, of which the shell has taken the quotes away.
pub(crate) fn read_extra_vars(source: &Source, decoder: &mut Decoder) -> Vec<ExtraVars> {
    let letters = letters(&source.text);
    read(&OptionValue { option: "-e", letters: &letters, begin: (1, 1), source }, decoder)
}

/// Reads the value of one `-e`.
pub(super) fn read(given: &OptionValue<'_>, decoder: &mut Decoder) -> Vec<ExtraVars> {
    let mut vars = of_kind(given, decoder);
    check(&mut vars, decoder);
    vars
}

/// What files of variables may not have either: a name that stands twice, and what is encrypted. Of maps, who reads them sees the former.
fn check(vars: &mut [ExtraVars], decoder: &mut Decoder) {
    let mut seen = BTreeSet::new();
    for variable in vars {
        let ExtraVars::Named(variable) = variable else { continue };
        if variable.untyped && !seen.insert(variable.name.clone()) {
            decoder.report(twice(&variable.name).at(&variable.position));
        }
        let mut problems = Vec::new();
        check_named(&mut variable.node, (&variable.name, &variable.position), &mut problems);
        problems.into_iter().for_each(|problem| decoder.report(problem));
    }
}

fn of_kind(given: &OptionValue<'_>, decoder: &mut Decoder) -> Vec<ExtraVars> {
    let Some((first, rest)) = given.letters.split_first() else {
        return Vec::new();
    };
    match first.character {
        '@' if rest.is_empty() => {
            let problem = Problem::new("`-e @` names no file").at(&given.position());
            decoder.report(problem.because("behind the `@` stands the path of a file with variables").hint("write `-e @FILE`"));
            Vec::new()
        }
        '@' => vec![ExtraVars::File(Placed { text: text(rest), position: given.position() })],
        '{' => typed(given, decoder),
        '[' => {
            let problem = Problem::new("`-e` takes variables by their names").at(&given.position());
            decoder.report(problem.because("a list has no names").hint("write `-e '{name: [value]}'`"));
            Vec::new()
        }
        '/' | '.' => {
            let problem = Problem::new(format!("`-e` cannot be {}", quote(&text(given.letters)))).at(&given.position());
            let problem = problem.because("the name of a file with variables has an `@` before it");
            decoder.report(problem.hint("write `-e @FILE`, or `-e NAME=VALUE`"));
            Vec::new()
        }
        _ => key_values::read(given, decoder).into_iter().map(ExtraVars::Named).collect(),
    }
}

/// `{…}`, which is JSON or YAML.
fn typed(given: &OptionValue<'_>, decoder: &mut Decoder) -> Vec<ExtraVars> {
    // What is behind the bracket is no file of its own.
    let source = Source::placed("the value of `-e`", text(given.letters), place(given)).being("the value of `-e`");
    let nodes = match source.parse(Dialect::Ansible) {
        Ok(nodes) => nodes,
        Err(problem) => {
            decoder.report(problem);
            return Vec::new();
        }
    };
    let mut vars = Vec::new();
    for node in nodes {
        let Value::Map(entries) = node.value else { continue };
        for entry in entries {
            let same = |vars: &ExtraVars| matches!(vars, ExtraVars::Named(variable) if variable.name == entry.key);
            if vars.iter().any(same) {
                decoder.report(twice(&entry.key).at(&entry.key_position));
            }
            if let Some(problem) = wrong_name(&entry.key) {
                decoder.report(problem.at(&entry.key_position));
            }
            vars.push(ExtraVars::Named(ExtraVar {
                name: entry.key,
                position: entry.node.position.clone(),
                untyped: false,
                node: entry.node,
            }));
        }
    }
    vars
}

fn twice(name: &str) -> Problem {
    Problem::new(format!("the variable {} stands twice", quote(name))).of_variable(name).hint("keep one of the two")
}

/// Where the value stands: character by character if nothing was left out of it, otherwise where it begins.
fn place(given: &OptionValue<'_>) -> Place {
    let follows = |pair: &[Letter]| match pair {
        [first, second] => first.place.0 == second.place.0 && first.place.1 + 1 == second.place.1,
        _ => false,
    };
    let position = given.position();
    // A carriage return ends a line of YAML and none of the command line's: the lines of the two cannot be told by each other.
    let breaks = given.letters.iter().any(|letter| letter.character == '\r');
    if breaks || !given.letters.windows(2).all(follows) {
        return Place::At(position);
    }
    Place::Block { file: position.file, first_line: position.line, indent: position.column.saturating_sub(1) }
}

/// What is wrong with the name of a variable.
pub(super) fn wrong_name(name: &str) -> Option<Problem> {
    let first = name.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    if first && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return None;
    }
    let problem = Problem::new(format!("{} cannot be the name of a variable", quote(name)));
    Some(
        problem
            .because("it may only have letters, digits and `_`")
            .hint("write it so; a value with spaces goes into quotes: -e \"name='two words'\""),
    )
}
