//! Inventories in INI.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::build::Builder;
use super::names::Names;
use super::split::{Comments, InventoryWord, split};
use super::vars::WrittenVariable;
use super::{UNGROUPED, Unread, check, legacy, literal};
use crate::position::Locator;
use crate::tree;
use crate::vault::mark_leaves;
use crate::words::{quote, with_nearest};
use crate::{Notice, Position, Problem, Source};

/// As for YAML.
const MAX_BYTES: usize = 16 << 20;

/// What the lines of a section are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Hosts,
    Children,
    Vars,
}

const KINDS: [(&str, Kind); 3] = [("hosts", Kind::Hosts), ("children", Kind::Children), ("vars", Kind::Vars)];

/// A group that is only mentioned, so that a section of its own has to follow.
struct Mention {
    name: String,
    position: Position,
    because: String,
}

struct Reader<'a> {
    builder: &'a mut Builder,
    /// Whether the file was encrypted as a whole.
    is_sealed: bool,
    group: Arc<str>,
    kind: Kind,
    /// Groups that have a section of their own.
    declared: Names,
    mentions: Vec<Mention>,
}

/// A line without the blanks around it.
struct Line<'a> {
    text: &'a str,
    number: u64,
    /// Columns before it.
    indent: u64,
    locator: &'a Locator,
}

impl Line<'_> {
    fn at(&self, column: usize) -> Position {
        self.locator.position(self.number, self.indent.saturating_add(u64::try_from(column).unwrap_or(u64::MAX)))
    }
}

/// Reads an INI inventory into the builder.
pub(super) fn read(builder: &mut Builder, source: &Source) {
    if source.text.len() > MAX_BYTES {
        builder.problems.push(tree::too_long(&source.text, MAX_BYTES, "the file").at(&source.position(1, 1)));
        return;
    }
    let start = source.position(1, 1);
    let group = builder.group(UNGROUPED, &start);
    let is_sealed = source.is_sealed();
    let mut reader = Reader { builder, is_sealed, group, kind: Kind::Hosts, declared: Names::default(), mentions: Vec::new() };
    let locator = source.locator();
    let text = source.text.strip_prefix('\u{feff}').unwrap_or(&source.text);
    for (line, number) in text.lines().zip(1..) {
        let text = line.trim();
        let indent = line.chars().take_while(|c| c.is_whitespace()).count().try_into().unwrap_or(u64::MAX);
        if !text.is_empty() && !text.starts_with(['#', ';']) {
            reader.line(&Line { text, number, indent, locator: &locator });
        }
    }
    reader.check_mentions();
    let is_wrong = !builder.problems.is_empty();
    builder.unread = Unread { hosts: is_wrong, vars: is_wrong };
}

impl Reader<'_> {
    fn line(&mut self, line: &Line<'_>) {
        if line.text.starts_with('[') && self.section(line) {
            return;
        }
        match self.kind {
            Kind::Hosts => self.host(line),
            Kind::Children => self.child(line),
            Kind::Vars => self.var(line),
        }
    }

    fn problem(&mut self, problem: Problem) {
        self.builder.problems.push(problem);
    }

    /// `[group]`, `[group:children]` or `[group:vars]`; false if the line is the name of a host in brackets.
    fn section(&mut self, line: &Line<'_>) -> bool {
        let Some((inner, behind)) = line.text.strip_prefix('[').and_then(|rest| rest.split_once(']')) else {
            self.problem(bad_section(line, "its bracket is not closed"));
            return true;
        };
        let behind = behind.trim_start();
        if inner.parse::<std::net::Ipv6Addr>().is_ok() {
            return false;
        }
        let (name, kind) = inner.split_once(':').unwrap_or((inner, "hosts"));
        if !behind.is_empty() && !behind.starts_with('#') {
            self.problem(bad_section(line, "only a comment may stand behind the bracket"));
            return true;
        }
        if name.is_empty() || name.contains(char::is_whitespace) {
            self.problem(bad_section(line, "the name of a group has no blanks"));
            return true;
        }
        let Some((_, kind)) = KINDS.iter().find(|(word, _)| *word == kind) else {
            let known = KINDS.map(|(word, _)| word);
            let problem = Problem::new(format!("{} is no kind of section", quote(kind))).at(&line.at(name.chars().count() + 3));
            let problem = problem.because("a section is `[group]`, `[group:children]` or `[group:vars]`");
            self.problem(with_nearest(problem, kind, &known, "write one of these three"));
            return true;
        };
        self.begin(name, *kind, &line.at(2));
        true
    }

    fn begin(&mut self, name: &str, kind: Kind, position: &Position) {
        self.group = self.builder.group(name, position);
        self.kind = kind;
        if kind == Kind::Vars {
            let because = "it has variables here, and no section of its own".to_owned();
            self.mentions.push(Mention { name: name.to_owned(), position: position.clone(), because });
        } else {
            self.declared.insert(&self.group);
        }
    }

    fn host(&mut self, line: &Line<'_>) {
        let words = match split(line.text, Comments::Hash) {
            Ok(words) => words,
            Err(column) => {
                let problem = Problem::new("a quote is opened and not closed, or a backslash protects nothing").at(&line.at(column));
                return self.problem(problem.because("a value of several words stands in quotes").hint("put the whole value in quotes"));
            }
        };
        let mut words = words.into_iter();
        let Some(name) = words.next() else { return };
        let hosts = self.builder.add_hosts(&Arc::clone(&self.group), &name.text, &line.at(name.column));
        for word in words {
            let Some((key, variable)) = self.host_variable(line, &word) else { continue };
            for host in &hosts {
                self.builder.host_var(host, &key, variable.clone());
            }
        }
    }

    fn host_variable(&mut self, line: &Line<'_>, word: &InventoryWord) -> Option<(String, WrittenVariable)> {
        let position = line.at(word.column);
        if word.is_cut {
            self.builder.notices.push(
                Notice::new("a `#` ends this value, and what stands behind it is a comment")
                    .at(&position)
                    .because("that is so in Ansible, too")
                    .hint("put the value in quotes if the `#` belongs to it"),
            );
        }
        let Some((key, value)) = word.text.split_once('=') else {
            // What stands here may be a piece of a password.
            let problem = Problem::new("a word behind the name of a host is no variable").at(&position);
            let problem = problem.because("behind the name of a host stand variables as `name=value`");
            self.problem(problem.hint("write no blanks around the `=`, and put a value with blanks in quotes"));
            return None;
        };
        let value_at = line.at(word.column + key.chars().count() + 1);
        Some((key.to_owned(), self.variable(key, value, &position, &value_at)))
    }

    fn variable(&mut self, name: &str, value: &str, key_position: &Position, position: &Position) -> WrittenVariable {
        let mut node = literal::value(value, position);
        self.builder.notices.extend(literal::mistaken(&node, name));
        self.builder.problems.extend(check::encrypted(&mut node, (name, key_position)));
        if self.is_sealed {
            mark_leaves(&mut node);
        }
        WrittenVariable { key_position: key_position.clone(), node }
    }

    fn child(&mut self, line: &Line<'_>) {
        let name = line.text.split(['#', ' ', '\t']).next().unwrap_or_default();
        let behind = line.text.strip_prefix(name).unwrap_or_default().trim_start();
        if name.is_empty() || (!behind.is_empty() && !behind.starts_with('#')) {
            let problem = Problem::new("this is no name of a group").at(&line.at(1));
            return self.problem(
                problem
                    .because("each line below `[…:children]` is the name of one group")
                    .hint("write the name alone; variables of a group stand below `[GROUP:vars]`"),
            );
        }
        let position = line.at(1);
        let child = self.builder.group(name, &position);
        self.builder.add_child(&Arc::clone(&self.group), &child);
        let because = format!("{} holds it, and it has no section of its own", quote(&self.group));
        self.mentions.push(Mention { name: name.to_owned(), position, because });
    }

    fn var(&mut self, line: &Line<'_>) {
        let Some((key, value)) = line.text.split_once('=') else {
            let problem = Problem::new("this line is no variable").at(&line.at(1));
            return self.problem(
                problem
                    .because("each line below `[…:vars]` is a variable as `name=value`")
                    .hint("write it so, or move it below the section that it belongs to"),
            );
        };
        let blanks = value.chars().take_while(|c| c.is_whitespace()).count();
        let value_at = line.at(key.chars().count() + blanks + 2);
        let variable = self.variable(key.trim(), value.trim(), &line.at(1), &value_at);
        self.builder.group_var(&Arc::clone(&self.group), key.trim(), variable);
    }

    /// A group that is mentioned and has no section is misspelled.
    fn check_mentions(&mut self) {
        let known: Vec<&str> = self.declared.iter().map(AsRef::as_ref).collect();
        let is_known = |name: &str| matches!(name, super::ALL | UNGROUPED) || self.declared.contains(legacy::current(name));
        // Once for each name: what is near it is looked for among all.
        let mut names = BTreeSet::new();
        for mention in self.mentions.iter().filter(|mention| !is_known(&mention.name) && names.insert(mention.name.as_str())) {
            let problem = Problem::new(format!("there is no group {}", quote(&mention.name))).at(&mention.position);
            let problem =
                with_nearest(problem.because(&*mention.because), &mention.name, &known, "write a section for it, or leave the name out");
            let hint = problem.hint.clone().unwrap_or_else(|| format!("add a section `[{}]`, which may be empty", mention.name));
            self.builder.problems.push(problem.hint(hint));
        }
    }
}

fn bad_section(line: &Line<'_>, because: &str) -> Problem {
    let problem = Problem::new("this is no section").at(&line.at(1)).because(because);
    problem.hint("a section is `[group]`, `[group:children]` or `[group:vars]`")
}
