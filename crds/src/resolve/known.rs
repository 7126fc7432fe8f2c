//! What was worked out for one host and holds for others: for all for whom the same is written of what it needs.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::Data;
use crate::Problem;
use crate::inventory::WrittenVariable;
use crate::tree::Node;

/// Values kept of one variable, each for other hosts. What is another value on every host is worked out for each of them.
const MAX_KEPT: usize = 8;

/// What of its host a value was made of.
#[derive(Debug, Clone, Default)]
pub(super) struct Needs {
    /// Variables of the host, also those that nobody has set.
    names: BTreeSet<String>,
    /// Whether it needs the name or the groups of the host.
    is_own: bool,
}

impl Needs {
    /// The value of a variable, with all that was needed for it.
    pub(super) fn variable(&mut self, name: &str, needs: &Self) {
        if !self.names.contains(name) {
            self.names.insert(name.to_owned());
        }
        self.also(needs);
    }

    /// What the host is, and not what is written for it.
    pub(super) fn host_itself(&mut self) {
        self.is_own = true;
    }

    pub(super) fn also(&mut self, other: &Self) {
        for name in &other.names {
            if !self.names.contains(name) {
                self.names.insert(name.clone());
            }
        }
        self.is_own |= other.is_own;
    }
}

/// What was worked out.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) result: Result<Node, Problem>,
    /// Whether a secret was needed.
    pub(super) tainted: bool,
    pub(super) needs: Needs,
}

/// An answer, and what was written for its host of each name that it needs.
struct Kept {
    answer: Answer,
    written: Vec<Option<usize>>,
}

impl Kept {
    fn holds(&self, data: &Data, host: &str) -> bool {
        self.answer.needs.names.iter().zip(&self.written).all(|(name, written)| place(data, host, name) == *written)
    }
}

/// Answers by the places of their templates in memory, which stay while the variables are there.
#[derive(Default)]
pub(super) struct TemplateAnswers {
    answers: Mutex<BTreeMap<usize, Vec<Kept>>>,
    /// How often a template asked for a variable.
    lookups: AtomicUsize,
}

impl TemplateAnswers {
    pub(super) fn count(&self) {
        self.lookups.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn lookups(&self) -> usize {
        self.lookups.load(Ordering::Relaxed)
    }

    /// The answer for a host, if it is that of another one.
    pub(super) fn find(&self, data: &Data, host: &str, variable: &WrittenVariable) -> Option<Answer> {
        let all = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = all.get(&ptr::from_ref(variable).addr())?.iter().find(|kept| kept.holds(data, host));
        kept.map(|kept| kept.answer.clone())
    }

    /// Parts hosts into those for which the answer for one host holds, and the others.
    pub(super) fn alike<'h>(
        &self,
        data: &Data,
        host: &str,
        variable: &WrittenVariable,
        others: &[&'h str],
    ) -> Option<(Vec<&'h str>, Vec<&'h str>)> {
        let all = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = all.get(&ptr::from_ref(variable).addr())?.iter().find(|kept| kept.holds(data, host))?;
        if kept.answer.needs.names.iter().any(|name| data.classes().is_own(name)) {
            return Some(others.iter().partition(|host| kept.holds(data, host)));
        }
        let mut classes = HashMap::new();
        Some(others.iter().partition(|host| *classes.entry(data.classes().of_host(host)).or_insert_with(|| kept.holds(data, host))))
    }

    /// Keeps an answer for hosts that are like this one.
    pub(super) fn keep(&self, data: &Data, host: &str, variable: &WrittenVariable, answer: Answer) {
        if answer.needs.is_own {
            return;
        }
        let mut all = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = all.entry(ptr::from_ref(variable).addr()).or_default();
        if kept.len() < MAX_KEPT {
            let written = answer.needs.names.iter().map(|name| place(data, host, name)).collect();
            kept.push(Kept { answer, written });
        }
    }
}

/// Where in memory it stands what counts for a host.
fn place(data: &Data, host: &str, name: &str) -> Option<usize> {
    data.find(host, name).map(|variable| ptr::from_ref(variable).addr())
}

impl Clone for TemplateAnswers {
    /// Empty: what is copied with it stands in another place.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl std::fmt::Debug for TemplateAnswers {
    /// Without the values, which may be secrets.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Known")
    }
}
