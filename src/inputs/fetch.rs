//! Manifests that come from an address: fetched once by curl, and kept by their SHA-256.
//!
//! kokctl speaks SSH and nothing else; curl knows the proxies and certificate authorities of this machine.

use std::fs;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kok_crds::model::Addon;
use kok_crds::{MOST_MANIFEST_BYTES, Problem, Source};
use kok_tasks::digest::sha256;

use crate::plain_file::bounded;

/// Seconds that a download may take: the largest manifest in a minute is less than a megabit per second.
const SECONDS: &str = "60";

/// What was fetched from there into this folder before, or what is there now. Whoever asked compares its sum.
pub(super) fn manifest(addon: &Addon, url: &str, folder: Option<&Path>) -> Result<Source, Problem> {
    let wanted = addon.sha256.as_deref().unwrap_or_default();
    let kept = folder.map(|folder| folder.join(wanted));
    let known = kept.as_ref().and_then(|path| fs::read_to_string(path).ok()).filter(|text| sha256(text.as_bytes()) == wanted);
    if let Some(text) = known {
        return Ok(Source::file(url, text));
    }
    let text = fetched(url).map_err(|because| {
        Problem::new(format!("the manifest of the addon `{}` can't be fetched", addon.name))
            .at(&addon.origin)
            .because(because)
            .hint("fetch it where that works, and name the file as `manifest` in place of `url`")
    })?;
    if let Some(path) = kept.filter(|_| sha256(text.as_bytes()) == wanted) {
        keep(path, &text);
    }
    Ok(Source::file(url, text))
}

/// What can't be kept is fetched again the next time.
fn keep(path: PathBuf, text: &str) {
    let new = path.with_extension(std::process::id().to_string());
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    let _ = folder.and_then(|()| fs::write(&new, text)).and_then(|()| fs::rename(&new, path));
}

fn fetched(url: &str) -> Result<String, String> {
    let mut curl = Command::new("curl");
    curl.args(["--fail", "--silent", "--show-error", "--location", "--max-time", SECONDS, "--", url]);
    let started = curl.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut curl = started.map_err(|error| match error.kind() {
        ErrorKind::NotFound => "kokctl leaves that to curl, which this machine does not have".to_owned(),
        _ => format!("curl can't be run: {error}"),
    })?;
    // Closed when it is long enough, which ends curl.
    let read = curl.stdout.take().map(|output| bounded(output, MOST_MANIFEST_BYTES as u64));
    let mut said = String::new();
    let _ = curl.stderr.take().map(|mut output| output.read_to_string(&mut said));
    let status = curl.wait().map_err(|error| error.to_string())?;
    let bytes = read.ok_or("curl has no output")??;
    if !status.success() {
        return Err(said.lines().next_back().unwrap_or("curl ended without a word").to_owned());
    }
    String::from_utf8(bytes).map_err(|_| "what is there is no text in UTF-8".to_owned())
}
