//! Which lines count for a host: the first value of each keyword in a block that matches.
use super::{Item, SshConfigFault, keywords};
use crate::remote::host_key_fault::KnownHostsPlace;
use crate::remote::pattern::{Case, matches};
use std::collections::BTreeMap;

/// Whom the configuration is asked about.
#[derive(Clone, Copy)]
pub(super) struct Query<'a> {
    pub(super) name: &'a str,
    pub(super) user: Option<&'a str>,
    pub(super) local_user: &'a str,
}

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) arguments: Vec<String>,
    pub(super) place: KnownHostsPlace,
}

/// The values that count, by keyword in lower case.
pub(super) type Values = BTreeMap<String, Vec<Value>>;

/// Keywords of which every value counts.
const GATHERED: [&str; 2] = ["identityfile", "certificatefile"];
/// The way is set by whichever of the two comes first.
const WAYS: [&str; 2] = ["proxyjump", "proxycommand"];

/// Walks the lines, and once more if a `Match final` wants to see what came out.
pub(super) fn values(items: &[Item], query: Query<'_>) -> Result<Values, SshConfigFault> {
    let mut walk = Walk::new(query);
    walk.items(items)?;
    if walk.wants_final {
        walk.is_final = true;
        walk.items(items)?;
    }
    walk.unknown.into_iter().next().map_or(Ok(walk.values), Err)
}

/// Every line of an option that ssh does not know.
pub(super) fn unknown(items: &[Item], query: Query<'_>) -> Vec<SshConfigFault> {
    let mut walk = Walk::new(query);
    // Whatever else is wrong is said where the values are asked for.
    let _ = walk.items(items);
    walk.unknown
}

struct Walk<'a> {
    query: Query<'a>,
    values: Values,
    is_final: bool,
    wants_final: bool,
    unknown: Vec<SshConfigFault>,
}

impl<'a> Walk<'a> {
    fn new(query: Query<'a>) -> Self {
        Self { query, values: Values::new(), is_final: false, wants_final: false, unknown: Vec::new() }
    }

    fn items(&mut self, items: &[Item]) -> Result<(), SshConfigFault> {
        self.items_where(items, true)
    }

    /// Lines for others set nothing, but ssh reads them too.
    fn items_where(&mut self, items: &[Item], is_ours: bool) -> Result<(), SshConfigFault> {
        let mut active = is_ours;
        for item in items {
            self.check(item);
            match item.keyword.as_str() {
                "host" | "match" if !is_ours => {}
                "host" => active = listed(item.arguments.iter().map(String::as_str), self.query.name),
                "match" => active = self.criteria(item)?,
                "include" => self.items_where(&item.included, active)?,
                _ if active => self.set(item),
                _ => {}
            }
        }
        Ok(())
    }

    /// The second walk finds nothing new.
    fn check(&mut self, item: &Item) {
        if self.is_final || keywords::is_known(&item.keyword) || self.ignores(&item.keyword) {
            return;
        }
        let meant = keywords::meant(&item.keyword);
        self.unknown.push(SshConfigFault::Unknown { keyword: item.keyword.clone(), place: item.place.clone(), meant });
    }

    /// Whether an `IgnoreUnknown` that counts, and stands before, names a keyword.
    fn ignores(&self, keyword: &str) -> bool {
        let patterns = self.values.get("ignoreunknown").and_then(|values| values.first()?.arguments.first());
        patterns.is_some_and(|patterns| listed(patterns.split(','), keyword))
    }

    fn set(&mut self, item: &Item) {
        let value = Value { arguments: item.arguments.clone(), place: item.place.clone() };
        let taken = |keyword: &str| self.values.contains_key(keyword);
        let keyword = item.keyword.as_str();
        if GATHERED.contains(&keyword) {
            let values = self.values.entry(keyword.to_owned()).or_default();
            if !values.contains(&value) {
                values.push(value);
            }
            return;
        }
        let decided = if WAYS.contains(&keyword) { WAYS.into_iter().any(taken) } else { taken(keyword) };
        if !decided {
            self.values.insert(keyword.to_owned(), vec![value]);
        }
    }

    fn criteria(&mut self, item: &Item) -> Result<bool, SshConfigFault> {
        let mut words = item.arguments.iter();
        let mut all = true;
        while let Some(word) = words.next() {
            let (negated, name) = word.strip_prefix('!').map_or((false, word.as_str()), |name| (true, name));
            let (name, given) = name.split_once('=').map_or((name, None), |(name, value)| (name, Some(value)));
            let name = name.to_ascii_lowercase();
            let wrong = |reason: &str| SshConfigFault::Wrong { keyword: "match".into(), place: item.place.clone(), reason: reason.into() };
            let holds = match name.as_str() {
                "all" => true,
                "final" => {
                    self.wants_final = true;
                    self.is_final
                }
                // Names are not made canonical.
                "canonical" => false,
                "host" | "originalhost" | "user" | "localuser" => {
                    let patterns = given.or_else(|| words.next().map(String::as_str)).ok_or_else(|| wrong("a pattern is missing"))?;
                    listed(patterns.split(','), &self.subject(&name))
                }
                _ if !all => return Ok(false),
                _ => {
                    let hint = "write a Host block for this host above that line, or put the settings into the cluster file";
                    return Err(SshConfigFault::Refused { keyword: format!("Match {name}"), place: item.place.clone(), hint });
                }
            };
            all &= holds != negated;
        }
        Ok(all)
    }

    fn subject(&self, criterion: &str) -> String {
        let set = |keyword: &str| self.values.get(keyword).and_then(|values| values.first()?.arguments.first()).cloned();
        match criterion {
            "host" => set("hostname").map_or_else(|| self.query.name.to_owned(), |name| name.replace("%h", self.query.name)),
            "user" => self.query.user.map(str::to_owned).or_else(|| set("user")).unwrap_or_else(|| self.query.local_user.to_owned()),
            "localuser" => self.query.local_user.to_owned(),
            _ => self.query.name.to_owned(),
        }
    }
}

/// Whether one of the patterns matches and none that is negated does.
fn listed<'a>(patterns: impl Iterator<Item = &'a str>, text: &str) -> bool {
    let mut found = false;
    for pattern in patterns {
        match pattern.strip_prefix('!') {
            Some(negated) if matches(negated, text, Case::Ignored) => return false,
            Some(_) => {}
            None => found |= matches(pattern, text, Case::Ignored),
        }
    }
    found
}
