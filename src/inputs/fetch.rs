//! What comes from an address, manifests and files for hosts: fetched once by curl, and kept by its SHA-256.
//!
//! kokctl speaks SSH and nothing else; curl knows the proxies and certificate authorities of this machine.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};

use kok_crds::model::{Addon, Payload};
use kok_crds::{MOST_MANIFEST_BYTES, Problem, Source};
use kok_tasks::digest::sha256;

use crate::artifacts::sum_of;
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

/// Seconds that a file for hosts may take, however large it is.
const SECONDS_OF_FILE: &str = "1800";

/// More than any program has; what does not end must not fill the disk.
const MOST_BYTES: u64 = 4 << 30;

/// Where the file lies that was fetched from there into this folder before, or is now. It is always the one that was meant.
pub(super) fn payload(payload: &Payload, url: &str, folder: Option<&Path>) -> Result<PathBuf, Problem> {
    let wanted = payload.sha256.as_deref().unwrap_or_default();
    let problem = |because: String| {
        let problem = Problem::new(format!("{} can't be fetched", payload.title())).at(&payload.origin).because(because);
        problem.hint("fetch it where that works, and name the file as `source` in place of `url`")
    };
    let folder =
        folder.ok_or_else(|| problem("there is no folder to keep it in, for neither HOME nor XDG_STATE_HOME says one".to_owned()))?;
    let path = folder.join(wanted);
    let is_it = |path: &Path| sum_of(path).is_ok_and(|(_, sum)| sum == wanted);
    if is_it(&path) {
        return Ok(path);
    }
    let part = path.with_extension(std::process::id().to_string());
    let fetched = fs::create_dir_all(folder).map_err(|error| error.to_string()).and_then(|()| fetched_into(url, &part));
    let kept = fetched.and_then(|()| {
        let (size, sum) = sum_of(&part).map_err(|error| error.to_string())?;
        if sum != wanted {
            return Err(format!("{url} has another file: its {size} bytes have the SHA-256 {sum}, and `sha256` says {wanted}"));
        }
        fs::rename(&part, &path).map_err(|error| error.to_string())
    });
    if kept.is_err() {
        let _ = fs::remove_file(&part);
    }
    kept.map(|()| path).map_err(problem)
}

fn fetched_into(url: &str, part: &Path) -> Result<(), String> {
    let mut file = File::create(part).map_err(|error| format!("{}: {error}", part.display()))?;
    curled(url, SECONDS_OF_FILE, |output| {
        let bytes = io::copy(&mut output.take(MOST_BYTES + 1), &mut file).map_err(|error| error.to_string())?;
        if bytes > MOST_BYTES { Err(format!("it is longer than {MOST_BYTES} bytes, and more are not read")) } else { Ok(()) }
    })
}

/// What can't be kept is fetched again the next time.
fn keep(path: PathBuf, text: &str) {
    let new = path.with_extension(std::process::id().to_string());
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    let _ = folder.and_then(|()| fs::write(&new, text)).and_then(|()| fs::rename(&new, path));
}

fn fetched(url: &str) -> Result<String, String> {
    let bytes = curled(url, SECONDS, |output| bounded(output, MOST_MANIFEST_BYTES as u64))?;
    String::from_utf8(bytes).map_err(|_| "what is there is no text in UTF-8".to_owned())
}

/// What is made of what curl has from there, if curl has all of it.
fn curled<T>(url: &str, seconds: &str, take: impl FnOnce(ChildStdout) -> Result<T, String>) -> Result<T, String> {
    let mut curl = Command::new("curl");
    curl.args(["--fail", "--silent", "--show-error", "--location", "--max-time", seconds, "--", url]);
    let started = curl.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut curl = started.map_err(|error| match error.kind() {
        ErrorKind::NotFound => "kokctl leaves that to curl, which this machine does not have".to_owned(),
        _ => format!("curl can't be run: {error}"),
    })?;
    // Closed when it is long enough, which ends curl.
    let read = curl.stdout.take().map(take);
    let mut stderr = String::new();
    let _ = curl.stderr.take().map(|mut output| output.read_to_string(&mut stderr));
    let status = curl.wait().map_err(|error| error.to_string())?;
    let taken = read.ok_or("curl has no output")??;
    if !status.success() {
        return Err(stderr.lines().next_back().unwrap_or("curl ended without a word").to_owned());
    }
    Ok(taken)
}
