//! Lists of the API.

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// It says of what it is one: an error is an object too.
#[derive(Deserialize)]
struct List<T> {
    kind: String,
    /// `null` where there is none, by some versions.
    items: Option<Vec<T>>,
}

/// What a list of this kind has; nothing if it is something else.
pub(crate) fn list<T: DeserializeOwned>(body: &str, kind: &str) -> Option<Vec<T>> {
    let list: List<T> = serde_json::from_str(body).ok()?;
    (list.kind == kind).then(|| list.items.unwrap_or_default())
}
