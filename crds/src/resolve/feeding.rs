//! Variables that secrets are made of: under a harmless name, the password all the same.

use std::collections::{BTreeMap, BTreeSet};

use super::names::{NameUse, names};
use super::taint::is_secret;
use crate::hide::{names_a_secret, without_secrets};
use crate::inventory::Vars;
use crate::tree::{Node, Value, is_template};
use crate::variables::{Variable, variable};

/// Names of users' own of which secrets are made. Those with a meaning of their own, as `cluster_name`, are no secrets by that.
#[derive(Debug, Clone, Default)]
pub(super) struct Feeding {
    /// Variables that are not shown.
    hidden: BTreeSet<String>,
    /// Variables, and parts of them, that make a secret of what is made of them.
    tainting: BTreeSet<String>,
}

impl Feeding {
    /// Finds them in everything that is written.
    pub(super) fn from_variables<'a>(all: impl Iterator<Item = &'a Vars>) -> Self {
        let mut search = Search::default();
        for (name, variable) in all.flat_map(Vars::iter) {
            search.read(name, &variable.node, None);
        }
        search.finish()
    }

    /// Whether a secret is made of the variable or of a part of it.
    pub(super) fn hides(&self, name: &str) -> bool {
        self.hidden.contains(name)
    }

    /// Whether what is made of the variable is a secret.
    pub(super) fn taints(&self, name: &str) -> bool {
        self.tainting.contains(name)
    }

    /// Whether an expression takes a part of which secrets are made.
    pub(super) fn is_part_in(&self, expression: &str) -> bool {
        !self.tainting.is_empty() && names(expression).iter().any(|(kind, name)| *kind == NameUse::Part && self.taints(name))
    }
}

/// Names in expressions: what they are used for decides.
#[derive(Default)]
struct Search<'a> {
    /// By the variable that needs them.
    needed: BTreeMap<&'a str, Vec<(NameUse, &'a str)>>,
    /// In secrets.
    direct: Vec<(NameUse, String)>,
}

impl<'a> Search<'a> {
    /// Reads a value; whether it is a secret is looked up only where it has a template, for most have none.
    fn read(&mut self, name: &'a str, node: &'a Node, secret: Option<bool>) {
        match &node.value {
            Value::Text(text) if node.tag.takes_templates() && is_template(text) => {
                let found = names(text);
                if secret.unwrap_or_else(|| is_secret(name)) {
                    self.direct.extend(found.iter().map(|(kind, name)| (*kind, (*name).to_owned())));
                } else {
                    self.direct.extend(in_secrets(text));
                }
                self.needed.entry(name).or_default().extend(found);
            }
            Value::List(items) => items.iter().for_each(|item| self.read(name, item, secret)),
            Value::Map(entries) => {
                for entry in entries {
                    self.read(name, &entry.node, if names_a_secret(&entry.key) { Some(true) } else { secret });
                }
            }
            _ => {}
        }
    }

    fn finish(mut self) -> Feeding {
        let mut feeding = Feeding::default();
        while let Some((kind, name)) = self.direct.pop() {
            // What has a meaning of its own is no secret because somebody makes a password of it.
            if variable(&name).is_some_and(|row| !Variable::is_family(row)) {
                continue;
            }
            let is_new = feeding.hidden.insert(name.clone());
            if kind != NameUse::Root {
                feeding.tainting.insert(name.clone());
            }
            if is_new {
                let needed = self.needed.get(name.as_str()).into_iter().flatten();
                self.direct.extend(needed.map(|(kind, name)| (*kind, (*name).to_owned())));
            }
        }
        feeding
    }
}

/// Names in what of a text is not shown, as in `http://user:{{ name }}@proxy`.
fn in_secrets(text: &str) -> Vec<(NameUse, String)> {
    // No blank of an expression ends a login or a word.
    let mut depth = 0_u32;
    let joined: String = text
        .chars()
        .map(|c| {
            depth = match c {
                '{' => depth.saturating_add(1),
                '}' => depth.saturating_sub(1),
                _ => depth,
            };
            if depth > 0 && c.is_whitespace() { '\u{1}' } else { c }
        })
        .collect();
    let shown = without_secrets(&joined);
    let open: BTreeSet<_> = names(&shown).into_iter().collect();
    let all = names(&joined).into_iter();
    all.filter(|name| !open.contains(name)).map(|(kind, name)| (kind, name.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::Feeding;
    use crate::Source;
    use crate::inventory::Vars;

    fn feeding(text: &str) -> Feeding {
        let vars = Vars::read(&Source::file("f", text)).unwrap();
        Feeding::from_variables([&vars].into_iter())
    }

    #[test]
    fn passwords_have_their_parts_from_harmless_names() {
        for (text, name) in [
            ("ansible_password: '{{ phrase }}'", "phrase"),
            ("ansible_password: '{{ first }}'\nfirst: '{{ phrase | trim }}'", "phrase"),
            ("login: [{password: 'x{{ phrase }}'}]", "phrase"),
            ("http_proxy: 'http://me:{{ phrase }}@proxy:3128'", "phrase"),
            ("containerd_extra_args: 'password = \"{{ phrase }}\"'", "phrase"),
            ("ansible_password: \"{{ hostvars['cp1'].phrase }}\"", "phrase"),
            ("ansible_password: \"{{ (a if b) ~ phrase }}\"", "phrase"),
        ] {
            assert!(feeding(text).taints(name) && feeding(text).hides(name), "{text}");
        }
    }

    #[test]
    fn what_only_decides_or_means_something_else_is_no_secret() {
        for (text, name) in [
            ("ansible_password: \"{{ 'a' if stage == 'x' else phrase }}\"", "stage"),
            ("ansible_password: '{% if stage %}{{ phrase }}{% endif %}'", "stage"),
            ("ansible_password: '{{ cluster_name }}-pw'", "cluster_name"),
            ("http_proxy: 'http://{{ proxy_host }}:3128'", "proxy_host"),
        ] {
            assert!(!feeding(text).hides(name), "{text}");
        }
        let feeding = feeding("ansible_password: '{{ login.phrase }}'");
        assert!(feeding.hides("login") && !feeding.taints("login"));
        assert!(feeding.is_part_in("{{ login.phrase }}") && !feeding.is_part_in("{{ login.user }}"));
    }
}
