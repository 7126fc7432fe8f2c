//! Strings in quotes, as JSON and what logs have of it.

use std::ops::Range;

/// A string with its quotes, and what it says.
pub(super) struct Quoted {
    pub(super) place: Range<usize>,
    value: String,
}

/// What stands in double quotes on a line. A quote after a backslash begins none, and of what is no JSON nobody can tell what it says.
pub(super) fn quoted_strings(text: &str) -> Vec<Quoted> {
    let (mut found, mut begun, mut escaped) = (Vec::new(), None, false);
    for (at, byte) in text.bytes().enumerate() {
        match (byte, begun) {
            (b'\n', _) => begun = None,
            (b'"', None) if !escaped => begun = Some(at),
            (b'"', Some(from)) if !escaped => {
                let place = from..at + 1;
                let value = text.get(place.clone()).and_then(|string| serde_json::from_str::<String>(string).ok());
                found.extend(value.map(|value| Quoted { place, value }));
                begun = None;
            }
            _ => {}
        }
        escaped = byte == b'\\' && !escaped;
    }
    found
}

/// A text in which each string says what `change` makes of it.
pub(super) fn each(text: &str, change: impl Fn(&str) -> String) -> String {
    let (mut changed, mut done) = (String::with_capacity(text.len()), 0);
    for Quoted { place, value } in quoted_strings(text) {
        let becomes = change(&value);
        if becomes == value {
            continue;
        }
        changed.push_str(text.get(done..place.start).unwrap_or_default());
        changed.push_str(&serde_json::Value::String(becomes).to_string());
        done = place.end;
    }
    changed.push_str(text.get(done..).unwrap_or_default());
    changed
}
