//! Names in their order, each once.

use std::collections::BTreeSet;
use std::sync::Arc;

/// A list of names in which each stands once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    ordered: Vec<Arc<str>>,
    seen: BTreeSet<Arc<str>>,
}

impl Names {
    /// Appends a name unless it is there.
    pub(crate) fn insert(&mut self, name: &Arc<str>) {
        if self.seen.insert(Arc::clone(name)) {
            self.ordered.push(Arc::clone(name));
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<str>> {
        self.ordered.iter()
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.seen.contains(name)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ordered.is_empty()
    }
}

impl<'a> FromIterator<&'a Arc<str>> for Names {
    fn from_iter<I: IntoIterator<Item = &'a Arc<str>>>(names: I) -> Self {
        let mut all = Self::default();
        for name in names {
            all.insert(name);
        }
        all
    }
}
