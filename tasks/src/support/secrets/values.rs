//! Values of names that say that nobody else may know them.

mod ends;
mod place;

use std::sync::LazyLock;

use regex::{Captures, Regex};

use self::place::NamedPlace;
use super::{LEFT_OUT, strings};

/// What a value is called that nobody else may know. Whatever stands before it belongs to its name, as in `DB_PASSWORD` or `--discovery-token`.
pub(super) const NAMES: &str = "tokens?|passw(?:or)?ds?|(?:\\b|_)pass|passphrases?|pwd|secrets?|signature|credentials?|client-key-data|\
    certificate[-_ ]?keys?|api[-_ ]?keys?|access[-_ ]?keys?|secret[-_]?keys?|encryption[-_ ]?keys?|pre-?shared[-_ ]?keys?|private[-_ ]?keys?|\
    (?:signing|master|session|shared|ssh)[-_]?keys?|(?:^|[\\s\"'_{,])auth|authorization|cookie|\\bx-[a-z-]*key";

struct Patterns {
    /// A name and what stands between it and its value.
    named: Regex,
    /// The same, as an option of a program.
    option: Regex,
    /// A user with his password.
    user: Regex,
}

static PATTERNS: LazyLock<Option<Patterns>> = LazyLock::new(|| {
    Some(Patterns {
        named: Regex::new(&format!(r#"(?im)(?P<name>{NAMES})(?P<quote>\\*["'])?[ \t]*(?P<by>=>|[:=]+)[ \t]*"#)).ok()?,
        option: Regex::new(&format!(r#"(?im)(?:^|[\s"'])--?[a-z0-9_-]*(?:{NAMES})(?:[ \t]+|\\*["']\s*,\s*)"#)).ok()?,
        user: Regex::new(r#"(?m)(?:^|\s)(?:-u|--user|--proxy-user)[ \t=]*(?P<value>\\*["']?[^\s:"'\\]*:)"#).ok()?,
    })
});

/// A text without such values. What stands whole in a string was looked at as what the string says.
pub(super) fn without(text: &str) -> String {
    let Some(Patterns { named, option, user }) = PATTERNS.as_ref() else { return LEFT_OUT.to_owned() };
    let text = each(named, text, |text, found| NamedPlace::named(text, found));
    let text = each(option, &text, |_, found| Some(NamedPlace::word(found.get(0)?.end())));
    each(user, &text, |_, found| Some(NamedPlace::word(found.name("value")?.start())))
}

fn each(pattern: &Regex, text: &str, place: impl for<'a> Fn(&'a str, &Captures<'a>) -> Option<NamedPlace<'a>>) -> String {
    let strings = strings::quoted_strings(text);
    let (mut kept, mut done, mut from) = (String::with_capacity(text.len()), 0, 0);
    while let Some(found) = pattern.captures_at(text, from) {
        let Some(whole) = found.get(0) else { break };
        from = whole.end();
        let Some(place) = place(text, &found).and_then(|place| place.outside(text, whole.start(), &strings)) else { continue };
        let Some((value, instead)) = place.value(text) else { continue };
        kept.push_str(text.get(done..value.start).unwrap_or_default());
        kept.push_str(&instead);
        (done, from) = (value.end, value.end);
    }
    kept.push_str(text.get(done..).unwrap_or_default());
    kept
}
