//! Working out the variables of a host: lazily, recursively, and each at most once for one question.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::sync::{Arc, Mutex, PoisonError};

use minijinja::{Error, ErrorKind, Value as Jinja};

use super::Data;
use super::chain::rewritten;
use super::context::Scope;
use super::convert::{to_jinja, to_node};
use super::filters::ENVIRONMENT;
use super::known::{Answer, Needs};
use super::output::{MAX_TEXT, mixed};
use super::taint::{is_secret, takes_a_secret};
use super::template::{Template, scan};
use crate::message::Kind;
use crate::tree::{Entry, Node, Value, has_template};
use crate::words::quote;
use crate::{Position, Problem};

/// Variables that need each other one after the other. Kubespray's longest chain has eight; each takes a piece of the stack.
const MAX_CHAIN: usize = 20;

/// A host and the name of a variable.
type Name = (Arc<str>, String);

/// The answer to one question, with what had to be worked out for it.
pub(super) struct Session {
    pub(super) data: Arc<Data>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Variables that are being worked out, each for the one before it.
    chain: Vec<Name>,
    done: BTreeMap<Name, Done>,
    text: usize,
    /// What the value that is being worked out needed so far.
    trace: Trace,
}

/// What a value needed.
#[derive(Clone, Default)]
struct Trace {
    /// Whether that was a secret.
    tainted: bool,
    needs: Needs,
}

impl Trace {
    fn also(&mut self, other: &Self) {
        self.tainted |= other.tainted;
        self.needs.also(&other.needs);
    }
}

#[derive(Clone)]
struct Done {
    value: Jinja,
    trace: Arc<Trace>,
}

/// Whose variable a template asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// That of the host for which it is worked out, so that it is another one on another host.
    Own,
    /// That of a host that it names.
    Named,
}

impl Session {
    pub(super) fn new(data: &Arc<Data>) -> Arc<Self> {
        Arc::new(Self { data: Arc::clone(data), state: Mutex::default() })
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        // What a panic may have left is only kept results.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value of a variable for the engine; `None` if nobody has set it.
    pub(super) fn value(self: &Arc<Self>, host: &Arc<str>, name: &str, whose: Whose) -> Result<Option<Jinja>, Problem> {
        self.data.known.count();
        let key = (Arc::clone(host), name.to_owned());
        let done = self.state().done.get(&key).cloned();
        let (value, trace) = match done {
            Some(done) => (Ok(Some(done.value)), done.trace),
            None => {
                let (node, mut trace) = self.aside(|| self.node(host, name));
                let is_sealed = || self.data.find(host, name).is_some_and(|variable| is_encrypted(&variable.node));
                trace.tainted |= is_secret(name) || self.data.feeding().taints(name) || is_sealed();
                (node.map(|node| node.as_ref().map(to_jinja)), Arc::new(trace))
            }
        };
        let mut state = self.state();
        if whose == Whose::Own {
            state.trace.needs.variable(name, &trace.needs);
        }
        let Some(value) = value? else { return Ok(None) };
        state.text = state.text.saturating_add(value.as_str().map_or(1, str::len));
        if state.text > MAX_TEXT {
            return Err(self.too_long(host, name));
        }
        state.trace.tainted |= trace.tainted;
        state.done.insert(key, Done { value: value.clone(), trace });
        Ok(Some(value))
    }

    fn too_long(&self, host: &str, name: &str) -> Problem {
        let problem = Problem::new(format!("{} cannot be worked out: it becomes too long", quote(name)));
        let problem = problem.because(format!("what it needs has more than {MAX_TEXT} bytes")).hint("write out a shorter value");
        match self.data.find(host, name) {
            Some(variable) => problem.at(&variable.node.position),
            None => problem,
        }
    }

    /// What is being worked out needs to know which host it is for.
    pub(super) fn needs_the_host(&self) {
        self.state().trace.needs.host_itself();
    }

    /// Does something, and says what it needed; that does not count for who asks.
    fn aside<T>(&self, work: impl FnOnce() -> T) -> (T, Trace) {
        let before = std::mem::take(&mut self.state().trace);
        let done = work();
        let trace = std::mem::replace(&mut self.state().trace, before);
        (done, trace)
    }

    /// The variable that is being worked out, with its place.
    pub(super) fn needed_by(&self) -> Option<(String, Position)> {
        let (host, name) = self.state().chain.last().cloned()?;
        let place = self.data.find(&host, &name)?.node.position.clone();
        Some((name, place))
    }

    /// A variable with all its templates worked out; nothing else may have been needed so far.
    pub(super) fn node(self: &Arc<Self>, host: &Arc<str>, name: &str) -> Result<Option<Node>, Problem> {
        let Some(variable) = self.data.find(host, name) else { return Ok(None) };
        if !has_template(&variable.node) {
            return Ok(Some(variable.node.clone()));
        }
        // What fails says so for the variable that is asked for, and in a long chain what would not fail for itself does.
        let is_asked_for = self.state().chain.is_empty();
        let known = self.data.known.find(&self.data, host, variable).filter(|known| is_asked_for || known.result.is_ok());
        if let Some(Answer { result, tainted, needs }) = known {
            self.state().trace = Trace { tainted, needs };
            return result.map(Some);
        }
        self.enter(host, name, &variable.node)?;
        let result = self.rendered(host, name, &variable.node);
        let mut state = self.state();
        state.chain.pop();
        if is_asked_for || result.is_ok() {
            let Trace { tainted, needs } = state.trace.clone();
            self.data.known.keep(&self.data, host, variable, Answer { result: result.clone(), tainted, needs });
        }
        result.map(Some)
    }

    fn enter(&self, host: &Arc<str>, name: &str, node: &Node) -> Result<(), Problem> {
        let mut state = self.state();
        let same = |(other_host, other): &Name| other_host == host && other == name;
        if let Some(begin) = state.chain.iter().position(same) {
            let names: Vec<_> = state.chain.iter().skip(begin).map(|(_, name)| quote(name)).chain([quote(name)]).collect();
            let problem = Problem::new(format!("{} cannot be worked out: it needs itself", quote(name))).at(&node.position);
            return Err(problem.because(format!("{} is a circle", names.join(" needs "))).hint("write out the value of one of them"));
        }
        if state.chain.len() >= MAX_CHAIN {
            let problem = Problem::new(format!("{} cannot be worked out: too many variables need each other", quote(name)));
            return Err(problem
                .at(&node.position)
                .because(format!("more than {MAX_CHAIN} are not followed"))
                .hint("write out the value of one of them"));
        }
        state.chain.push((Arc::clone(host), name.to_owned()));
        Ok(())
    }

    fn rendered(self: &Arc<Self>, host: &Arc<str>, name: &str, node: &Node) -> Result<Node, Problem> {
        let value = match &node.value {
            Value::Text(text) if node.tag.takes_templates() => return self.text(host, name, text, node),
            Value::List(items) => Value::List(items.iter().map(|item| self.rendered(host, name, item)).collect::<Result<_, _>>()?),
            Value::Map(entries) => {
                let entry = |entry: &Entry| {
                    let node = self.rendered(host, name, &entry.node)?;
                    Ok(Entry { key: entry.key.clone(), key_position: entry.key_position.clone(), node })
                };
                Value::Map(entries.iter().map(entry).collect::<Result<_, Problem>>()?)
            }
            _ => return Ok(node.clone()),
        };
        Ok(Node { value, ..node.clone() })
    }

    fn text(self: &Arc<Self>, host: &Arc<str>, name: &str, text: &str, node: &Node) -> Result<Node, Problem> {
        let feeding = self.data.feeding();
        let hides = node.tag.is_secret() || may_hold_a_secret(name) || feeding.hides(name);
        let kind = scan(text).map_err(|reason| failed((name, host, text), &reason, hides).at(&node.position))?;
        let scope = Arc::new(Scope::new(self, host, Whose::Own));
        let context = Jinja::from_dyn_object(Arc::clone(&scope));
        let (result, trace) = self.aside(|| match evaluated(kind, text, &context, node) {
            // Parts of what is not there are an error, but for a template that has something to fall back to.
            Err(error) if error.kind() == ErrorKind::UndefinedError => match rewritten(text) {
                Some(text) => evaluated(scan(&text).unwrap_or(kind), &text, &context, node),
                None => Err(error),
            },
            result => result,
        });
        let tainted =
            !matches!(kind, Template::Plain) && (node.tag.is_secret() || trace.tainted || takes_a_secret(text) || feeding.is_part_in(text));
        self.state().trace.also(&Trace { tainted, ..trace });
        if let (Ok(result), true) = (&result, tainted) {
            // What belongs to a secret may itself hold a piece of it.
            self.data.taints.note(name, if hides || is_secret(name) { "{{ … }}" } else { text }, result);
        }
        result.map_err(|error| match inner(&error) {
            Some(problem) => problem,
            None => explained(&error, (name, host, text), &scope, tainted, hides).at(&node.position),
        })
    }
}

/// What the engine makes of a text.
fn evaluated(kind: Template<'_>, text: &str, context: &Jinja, node: &Node) -> Result<Node, Error> {
    match kind {
        Template::Plain => Ok(node.clone()),
        Template::Expression(expression) => {
            ENVIRONMENT.compile_expression(expression).and_then(|expression| to_node(&expression.eval(context)?, &node.position))
        }
        Template::Mixed => mixed(text, context).map(|text| Node::new(Value::Text(text), node.position.clone())),
    }
}

/// Whether a value, or a part of it, was encrypted.
fn is_encrypted(node: &Node) -> bool {
    match &node.value {
        Value::List(items) => items.iter().any(is_encrypted),
        Value::Map(entries) => entries.iter().any(|entry| is_encrypted(&entry.node)),
        _ => node.tag.is_secret(),
    }
}

/// The problem of a variable that the failed one needs.
fn inner(error: &Error) -> Option<Problem> {
    let mut next = error.source();
    while let Some(error) = next {
        if let Some(problem) = error.downcast_ref::<Problem>() {
            return Some(problem.clone());
        }
        next = error.source();
    }
    None
}

/// Whether the template of a variable may hold a secret itself.
fn may_hold_a_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["pass", "secret", "token", "_key"].iter().any(|word| name.contains(word))
}

fn failed((name, host, text): (&str, &str, &str), reason: &str, hides: bool) -> Problem {
    let problem = Problem::new(format!("{} cannot be worked out: {reason}", quote(name))).of_variable(name);
    let problem = problem.hint("write out the value; docs/migrating.md names what is understood of templates");
    if hides { problem } else { problem.of_host(host).because(format!("for the host {} it is {}", quote(host), quote(text))) }
}

fn explained(error: &Error, place: (&str, &str, &str), scope: &Scope, tainted: bool, hides: bool) -> Problem {
    let (missing, secret) = (scope.missing(place.2), tainted || hides);
    let detail = error.detail().filter(|_| !secret).map(|detail| format!(" ({detail})")).unwrap_or_default();
    let reason = match error.kind() {
        ErrorKind::UndefinedError if !missing.is_empty() => {
            let names: Vec<_> = missing.iter().map(|name| quote(name)).collect();
            let (it, first) = (if missing.len() == 1 { "it" } else { "them" }, missing.first().map_or("", String::as_str));
            let hint = format!("set {it}, or give a value to fall back to: `{first} | default(…)`");
            let problem = failed(place, &format!("{} is not defined", names.join(" or ")), hides).of_kind(Kind::Absent);
            return problem.hint(hint);
        }
        ErrorKind::UndefinedError => "a part of a value that it names is not there".to_owned(),
        ErrorKind::OutOfFuel => "it takes too many steps".to_owned(),
        ErrorKind::WriteFailure => format!("it becomes longer than {MAX_TEXT} bytes"),
        ErrorKind::SyntaxError => format!("it is no valid expression{detail}"),
        ErrorKind::UnknownFilter | ErrorKind::UnknownTest | ErrorKind::UnknownFunction | ErrorKind::UnknownMethod => {
            let problem = failed(place, &format!("it uses what kokctl does not know{detail}"), hides);
            return problem.hint("write out the value itself");
        }
        kind => error.detail().filter(|_| !secret).map_or_else(|| kind.to_string(), str::to_owned),
    };
    failed(place, &reason, hides)
}
