//! Parts of what is not there, where the template has something to fall back to.
//!
//! In Ansible `a.b | default('x')` is `x`, also where there is no `a`. The engine knows either that, or that what is not there is an error
//! everywhere else; so such a chain is written as filters, which take what is not there.

use std::sync::LazyLock;

use minijinja::{Error, Value};
use regex::{Captures, Regex};

use super::template::next_opening;

/// The filter that takes a part.
pub(super) const PART: &str = "kokctl.part";

/// A name, its parts, and behind them what takes them where they are not there.
static CHAIN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let part = r#"\s*\.\s*[A-Za-z_]\w*|\s*\[\s*(?:'[^']*'|"[^"]*"|\d+)\s*\]"#;
    let fallback = r"\s*\|\s*(?:ansible\.builtin\.)?(?:default|d)\b|\s+is\s+(?:not\s+)?(?:un)?defined\b";
    Regex::new(&format!(r"\b([A-Za-z_]\w*)((?:{part})+)({fallback})")).ok()
});
static PARTS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"\.\s*(\w+)|\[\s*('[^']*'|"[^"]*"|\d+)\s*\]"#).ok());

/// A part of a value; nothing of what is not there.
pub(super) fn part(value: &Value, key: Value) -> Result<Value, Error> {
    if value.is_undefined() || value.is_none() { Ok(Value::UNDEFINED) } else { value.get_item(&key) }
}

/// The template with filters instead of parts where something to fall back to follows; `None` if there is no such place.
pub(super) fn rewritten(text: &str) -> Option<String> {
    let chain = CHAIN.as_ref()?;
    let (mut output, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, opened)) = next_opening(rest) {
        let end = ["}}", "%}", "#}"].iter().filter_map(|end| opened.find(end)).min().unwrap_or(opened.len());
        let (body, behind) = opened.split_at_checked(end)?;
        output.push_str(before);
        output.push_str(&chain.replace_all(body, |found: &Captures<'_>| as_filters(found)));
        rest = behind;
    }
    output.push_str(rest);
    (output != text).then_some(output)
}

fn as_filters(found: &Captures<'_>) -> String {
    let group = |index| found.get(index).map_or("", |group| group.as_str());
    let parts = PARTS.iter().flat_map(|parts| parts.captures_iter(group(2)));
    let filters = parts.map(|part| match (part.get(1), part.get(2)) {
        (Some(name), _) => format!("|{PART}('{}')", name.as_str()),
        (_, key) => format!("|{PART}({})", key.map_or("", |key| key.as_str())),
    });
    format!("{}{}{}", group(1), filters.collect::<String>(), group(3))
}

#[cfg(test)]
mod tests {
    use super::rewritten;

    #[test]
    fn only_chains_with_a_fallback_are_rewritten() {
        for (text, expected) in [
            ("{{ a.b | default('x') }}", Some("{{ a|kokctl.part('b') | default('x') }}")),
            ("{{ a['b c'][0].d is defined }}", Some("{{ a|kokctl.part('b c')|kokctl.part(0)|kokctl.part('d') is defined }}")),
            ("{{ c.d }}{% if a.b is not defined %}", Some("{{ c.d }}{% if a|kokctl.part('b') is not defined %}")),
            ("a.b | default('x') {{ c }}", None),
            ("{{ a.b }}", None),
            ("{{ a.b.default }}", None),
            ("{{ a | default('x') }}", None),
        ] {
            assert_eq!(rewritten(text).as_deref(), expected, "{text}");
        }
    }
}
