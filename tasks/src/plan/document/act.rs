//! What brings a change about, without its text.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kok_crds::model::Concealed;
use serde::{Deserialize, Serialize};

use crate::artifact::Artifact;
use crate::digest::sha256;
use crate::resources::Act;
use crate::script::{Fragment, Part, in_lines};

/// What is sent to a host.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ActDocument {
    /// How it is sent.
    pub kind: ActKind,
    /// The sha256 of its script, in which secrets stand by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// The secrets that the script gets, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
    /// The artifact that the script reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<ArtifactDocument>,
}

/// How something is sent to a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ActKind {
    /// As a script, with others.
    Script,
    /// As a script that reads an artifact.
    Stream,
    /// As a script that fetches what it needs.
    Fetch,
    /// Not at all: it is waited for.
    Wait,
}

/// A file of the bundle.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ArtifactDocument {
    /// What it is, for people.
    pub title: String,
    /// Path inside the bundle.
    pub path: String,
    /// Its sha256.
    pub sha256: String,
}

impl ActDocument {
    pub(super) fn new(act: &Act, concealed: &Concealed) -> Self {
        let (kind, script, artifact) = match act {
            Act::Script(script) | Act::Until { script, .. } => (ActKind::Script, Some(script), None),
            Act::Fetch(script) => (ActKind::Fetch, Some(script), None),
            Act::Stream { script, artifact } => (ActKind::Stream, Some(script), Some(artifact)),
            Act::Wait => (ActKind::Wait, None, None),
        };
        Self {
            kind,
            script: script.map(|script| digest(script, concealed)),
            secrets: script.map(secrets).unwrap_or_default(),
            artifact: artifact.map(|Artifact { title, path, sha256, .. }| ArtifactDocument {
                title: title.clone(),
                path: path.clone(),
                sha256: sha256.clone(),
            }),
        }
    }
}

/// The secrets of a script, each once and in their order.
fn secrets(script: &Fragment) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for part in script.parts() {
        let (Part::Secret(name) | Part::Digest(name)) = part else { continue };
        let name = name.to_string();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The sha256 of a script. Whoever has it must not be able to try what was encrypted in the user's files, so that is hidden first, also in the
/// contents that the script brings, and in the sums of those.
fn digest(script: &Fragment, concealed: &Concealed) -> String {
    let mut sums: Vec<(String, String)> = Vec::new();
    let parts = script.parts().iter().map(|part| match part {
        Part::Text(text) => ("text", hidden(text, concealed, &mut sums)),
        Part::Secret(name) => ("secret", name.to_string()),
        Part::Digest(name) => ("digest", name.to_string()),
    });
    let mut parts: Vec<(&str, String)> = parts.collect();
    for (sum, of_hidden) in &sums {
        parts.iter_mut().filter(|(kind, _)| *kind == "text").for_each(|(_, text)| *text = text.replace(sum, of_hidden));
    }
    sha256(&serde_json::to_vec(&parts).unwrap_or_default())
}

/// A piece of a script without what was encrypted. A content of which something is hidden adds its sum, and that of what is left of it.
fn hidden(text: &str, concealed: &Concealed, sums: &mut Vec<(String, String)>) -> String {
    let content = content(text);
    let shown = content.as_ref().map(|content| (content, String::from_utf8_lossy(content)));
    if let Some((content, shown)) = shown {
        if let Cow::Owned(left) = concealed.hide(&shown) {
            sums.push((sha256(content), sha256(left.as_bytes())));
            return left;
        }
        return text.to_owned();
    }
    concealed.hide(text).into_owned()
}

/// The bytes that a piece of a script has as base64.
fn content(text: &str) -> Option<Vec<u8>> {
    let bytes = STANDARD.decode(text.replace('\n', "")).ok()?;
    (!bytes.is_empty() && in_lines(&bytes) == text).then_some(bytes)
}
