//! What a tag names: an index with a manifest for each architecture, as upstream's tags do. A push for another architecture adds to it.

use serde_json::{Value, json};

use crate::bundle::BundleImage;
use crate::digest::sha256;

/// The kind of the index that is written.
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// A manifest of one architecture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageManifest {
    /// Of the image that it describes.
    pub architecture: String,
    /// `sha256:` and digits.
    pub digest: String,
    /// Its kind.
    pub media_type: String,
    /// In bytes.
    pub size: usize,
}

/// Whether what a tag names holds all of these images, each for its architecture; or is the one that there is.
#[must_use]
pub fn names_all(held: &[u8], images: &[BundleImage]) -> bool {
    let (entries, own) = (entries(held), digest(held));
    let is_named = |image: &BundleImage| {
        let is_it =
            |entry: &Value| text_field(entry, "digest") == Some(&image.manifest_digest) && architecture(entry) == Some(&image.architecture);
        entries.iter().any(is_it)
    };
    images.iter().all(|image| own == image.manifest_digest || is_named(image))
}

/// The index for a tag: these manifests, and of what it named before the other architectures. The second says whether something is not named any more.
#[must_use]
pub fn index(held: Option<&[u8]>, manifests: &[ImageManifest]) -> (Vec<u8>, bool) {
    let entries = held.map(entries).unwrap_or_default();
    let is_ours = |entry: &Value| manifests.iter().any(|manifest| architecture(entry) == Some(&manifest.architecture));
    let is_same = |entry: &Value| manifests.iter().any(|manifest| text_field(entry, "digest") == Some(&manifest.digest));
    let is_another = held.is_some_and(|held| entries.is_empty() && manifests.iter().all(|manifest| manifest.digest != digest(held)));
    let is_lost = is_another || entries.iter().any(|entry| is_ours(entry) && !is_same(entry));
    let own = manifests.iter().map(|manifest| {
        json!({
            "mediaType": manifest.media_type,
            "digest": manifest.digest,
            "size": manifest.size,
            "platform": {"architecture": manifest.architecture, "os": "linux"},
        })
    });
    let all: Vec<Value> = own.chain(entries.iter().filter(|entry| !is_ours(entry) && !is_same(entry)).cloned()).collect();
    (json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": all}).to_string().into_bytes(), is_lost)
}

/// The entries of an index; none of anything else.
fn entries(document: &[u8]) -> Vec<Value> {
    let document: Value = serde_json::from_slice(document).unwrap_or_default();
    document.get("manifests").and_then(Value::as_array).cloned().unwrap_or_default()
}

fn digest(document: &[u8]) -> String {
    format!("sha256:{}", sha256(document))
}

fn text_field<'a>(entry: &'a Value, key: &str) -> Option<&'a str> {
    entry.get(key).and_then(Value::as_str)
}

/// Of what runs on Linux.
fn architecture(entry: &Value) -> Option<&str> {
    entry
        .get("platform")
        .filter(|platform| text_field(platform, "os") == Some("linux"))
        .and_then(|platform| text_field(platform, "architecture"))
}
