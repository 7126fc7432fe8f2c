//! Filters about maps: `combine` and `extract`.

use std::sync::Arc;

use minijinja::value::{Kwargs, Rest, ValueKind};
use minijinja::{Error, ErrorKind, Value};

use super::convert::Dict;
use super::filters::refused;

/// Entries and items that one `combine` looks at: a map of a variable has hundreds.
const MAX_STEPS: usize = 20_000;
/// As deep as YAML may be; each level takes a piece of the stack.
const MAX_DEPTH: usize = 32;

/// What becomes of two lists under one key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lists {
    Replace,
    Keep,
    Append,
    Prepend,
    /// Without what the other one has too.
    AppendNew,
    PrependNew,
}

const LISTS: [(&str, Lists); 6] = [
    ("replace", Lists::Replace),
    ("keep", Lists::Keep),
    ("append", Lists::Append),
    ("prepend", Lists::Prepend),
    ("append_rp", Lists::AppendNew),
    ("prepend_rp", Lists::PrependNew),
];

/// How maps are merged, and how much may still be looked at.
struct Merge {
    recursive: bool,
    lists: Lists,
    left: usize,
}

/// Ansible's `combine`: the maps as one, of which the later ones win.
pub(super) fn combine(value: &Value, others: Rest<Value>, options: Kwargs) -> Result<Value, Error> {
    let recursive = options.get::<Option<Value>>("recursive")?.is_some_and(|value| value.is_true());
    let word = options.get::<Option<String>>("list_merge")?;
    options.assert_all_used()?;
    let lists = match word.as_deref() {
        None => Lists::Replace,
        Some(word) => LISTS.iter().find(|(name, _)| *name == word).map(|(_, lists)| *lists).ok_or_else(|| {
            let words = LISTS.map(|(name, _)| name).join(", ");
            refused(format!("`list_merge` of `combine` is one of {words}"))
        })?,
    };
    let mut merge = Merge { recursive, lists, left: MAX_STEPS };
    let mut whole: Option<Value> = None;
    for map in std::iter::once(value).chain(others.iter()) {
        // A list of maps counts as the maps in it.
        let maps = if map.kind() == ValueKind::Seq { map.try_iter()?.collect() } else { vec![map.clone()] };
        for map in maps {
            let map = is_map(map)?;
            whole = Some(match whole {
                Some(before) => merge.maps(&before, &map, 0)?,
                None => map,
            });
        }
    }
    Ok(whole.unwrap_or_else(|| dict(Vec::new())))
}

fn is_map(value: Value) -> Result<Value, Error> {
    match value.kind() {
        ValueKind::Map => Ok(value),
        ValueKind::Undefined => Err(ErrorKind::UndefinedError.into()),
        other => Err(refused(format!("`combine` works on maps, not on {other}"))),
    }
}

fn dict(entries: Vec<(Arc<str>, Value)>) -> Value {
    Value::from_object(Dict(entries))
}

impl Merge {
    fn step(&mut self, steps: usize) -> Result<(), Error> {
        self.left = self.left.checked_sub(steps).ok_or_else(|| refused(format!("`combine` looks at {MAX_STEPS} values at the most")))?;
        Ok(())
    }

    fn maps(&mut self, first: &Value, second: &Value, depth: usize) -> Result<Value, Error> {
        if depth > MAX_DEPTH {
            return Err(refused(format!("maps are deeper than {MAX_DEPTH} levels")));
        }
        let mut entries = self.entries(first)?;
        for (key, value) in self.entries(second)? {
            self.step(entries.len())?;
            match entries.iter_mut().find(|(other, _)| *other == key) {
                Some((_, before)) => *before = self.values(before, value, depth)?,
                None => entries.push((key, value)),
            }
        }
        Ok(dict(entries))
    }

    fn entries(&mut self, map: &Value) -> Result<Vec<(Arc<str>, Value)>, Error> {
        let mut entries = Vec::new();
        for key in map.try_iter()? {
            self.step(1)?;
            entries.push((Arc::from(key.to_string()), map.get_item(&key)?));
        }
        Ok(entries)
    }

    /// Two values of one key.
    fn values(&mut self, first: &Value, second: Value, depth: usize) -> Result<Value, Error> {
        match (first.kind(), second.kind()) {
            (ValueKind::Map, ValueKind::Map) if self.recursive => self.maps(first, &second, depth + 1),
            (ValueKind::Seq, ValueKind::Seq) => self.lists(first, second),
            _ => Ok(second),
        }
    }

    fn lists(&mut self, first: &Value, second: Value) -> Result<Value, Error> {
        match self.lists {
            Lists::Replace => return Ok(second),
            Lists::Keep => return Ok(first.clone()),
            _ => {}
        }
        let (mut old, new): (Vec<Value>, Vec<Value>) = (first.try_iter()?.collect(), second.try_iter()?.collect());
        self.step(old.len().saturating_add(new.len()))?;
        if matches!(self.lists, Lists::AppendNew | Lists::PrependNew) {
            self.step(old.len().saturating_mul(new.len()))?;
            old.retain(|item| !new.contains(item));
        }
        let is_in_front = matches!(self.lists, Lists::Prepend | Lists::PrependNew);
        Ok(Value::from(if is_in_front { [new, old].concat() } else { [old, new].concat() }))
    }
}

/// Ansible's `extract`, mostly by `map('extract', …)`: what a container has under a key, and under further keys below that.
pub(super) fn extract(key: &Value, container: &Value, further: Option<Value>) -> Result<Value, Error> {
    let further = match further {
        None => Vec::new(),
        Some(keys) if keys.kind() == ValueKind::Seq => keys.try_iter()?.collect(),
        Some(key) => vec![key],
    };
    let mut found = container.get_item(key)?;
    for key in further {
        if found.is_undefined() {
            return Err(ErrorKind::UndefinedError.into());
        }
        found = found.get_item(&key)?;
    }
    Ok(found)
}
