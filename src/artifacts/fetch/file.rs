//! One file of upstream's: its digest, its bytes, and going on where a cut left it.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kok_tasks::bundle::BundleFile;
use kok_tasks::catalog::{Expected, FileItem, published_digest};
use reqwest::header::{CONTENT_RANGE, HeaderMap, RANGE, RETRY_AFTER};
use reqwest::{Response, StatusCode};

use super::client::{Client, with_tries};
use super::partial::Partial;
use super::trouble::{Remedy, Trouble};
use super::{Progress, contents, folder_of, part};

/// A file of digests has some kilobytes.
const MOST_CHECKSUM_BYTES: usize = 1 << 20;
/// The largest file that upstream publishes has some hundred megabytes.
const MOST_BYTES: u64 = 8 << 30;

/// The digest that the file has to have, and its length if the server says it.
pub(super) async fn resolve(client: &Client, file: &FileItem) -> Result<(String, Option<u64>), Trouble> {
    let title = title(file);
    let digest = match &file.expected {
        Expected::Pinned(digest) => digest.clone(),
        Expected::Published { address, is_list } => {
            published(client, address, file, *is_list).await.map_err(|trouble| trouble.while_fetching(&title))?
        }
    };
    let address = client.mirrors.address(&file.address);
    // Some servers don't answer this; then the length is not known, and whether the file is there shows when it is fetched.
    let head = with_tries(|| async { succeeded(&address, client.http.head(&address).send().await) }, || 0).await;
    match head {
        Ok(response) => Ok((digest, length(response.headers()))),
        Err(trouble) if trouble.is_absent() || trouble.remedy == Remedy::Network => Err(trouble.while_fetching(&title)),
        Err(_) => Ok((digest, None)),
    }
}

fn title(file: &FileItem) -> String {
    format!("{} {} for {}", file.name, file.version, file.architecture)
}

/// The header itself: what a client knows of the body of an answer without one is nothing.
fn length(headers: &HeaderMap) -> Option<u64> {
    headers.get(reqwest::header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

async fn published(client: &Client, address: &str, file: &FileItem, is_list: bool) -> Result<String, Trouble> {
    let address = client.mirrors.address(address);
    let text = get(client, &address).await?;
    let name = file.address.rsplit('/').next().unwrap_or(&file.address);
    published_digest(&text, name, is_list).ok_or_else(|| Trouble::of_checksum(&address, name))
}

/// The small text that stands at an address.
pub(super) async fn get(client: &Client, address: &str) -> Result<String, Trouble> {
    let got = || async {
        let response = succeeded(address, client.http.get(address).send().await)?;
        text(address, response).await
    };
    with_tries(got, || 0).await
}

async fn text(address: &str, mut response: Response) -> Result<String, Trouble> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| Trouble::of_request(address, &error))? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > MOST_CHECKSUM_BYTES {
            return Err(Trouble::of_content(address, "it is far too long for what it should be"));
        }
    }
    String::from_utf8(bytes).map_err(|_| Trouble::of_content(address, "it is no text"))
}

/// An answer that is a success.
fn succeeded(address: &str, answer: reqwest::Result<Response>) -> Result<Response, Trouble> {
    let response = answer.map_err(|error| Trouble::of_request(address, &error))?;
    if response.status().is_success() {
        return Ok(response);
    }
    let after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()).and_then(|text| text.parse().ok());
    Err(Trouble::of_status(address, response.status(), after.map(Duration::from_secs)))
}

/// Fetches a file, and gives it its name once its digest is right.
pub(super) async fn fetch(
    client: &Client,
    folder: &Path,
    file: &FileItem,
    digest: &str,
    progress: &dyn Progress,
) -> Result<BundleFile, Trouble> {
    let path = folder.join(file.path());
    let address = client.mirrors.address(&file.address);
    let size = fetch_to(client, &address, &path, digest, progress).await.map_err(|trouble| trouble.while_fetching(&title(file)))?;
    let listed = {
        let (path, address) = (path.clone(), address.clone());
        tokio::task::spawn_blocking(move || contents::list(&path, &address)).await
    };
    let contents = match listed.map_err(|error| Trouble::of_program(&error.to_string())).flatten() {
        Ok(contents) => contents,
        Err(trouble) => {
            let _ = std::fs::remove_file(&path);
            return Err(trouble.while_fetching(&title(file)));
        }
    };
    Ok(BundleFile {
        name: file.name.clone(),
        version: file.version.clone(),
        architecture: file.architecture.clone(),
        path: file.path(),
        size,
        sha256: digest.to_owned(),
        contents,
    })
}

/// Fetches what has this digest, and gives it its name once that is right.
pub(super) async fn fetch_to(client: &Client, address: &str, path: &Path, digest: &str, progress: &dyn Progress) -> Result<u64, Trouble> {
    folder_of(path)?;
    let part = part(path);
    let mut partial = Partial::open(part.clone()).await?;
    let began_with = partial.length();
    let reached = AtomicU64::new(0);
    loop {
        let partial_cell = tokio::sync::Mutex::new(&mut partial);
        let tried = with_tries(
            || async {
                let mut partial = partial_cell.lock().await;
                partial.go_on(client, address, (&reached, progress)).await
            },
            || reached.load(Ordering::Relaxed),
        )
        .await;
        if tried.is_err() {
            // Another run goes on with what came before a cut.
            let _ = partial.flush().await;
        }
        tried?;
        let found = partial.digest().await?;
        if found == digest {
            break;
        }
        let went_on = began_with > 0 && partial.began_with() > 0;
        partial.begin_anew().await?;
        if !went_on {
            let _ = std::fs::remove_file(&part);
            return Err(Trouble::of_digest(address, digest, &found));
        }
    }
    let size = partial.length();
    partial.sync().await?;
    std::fs::rename(&part, path).map_err(|error| Trouble::of_disk(path, &error))?;
    Ok(size)
}

impl Partial {
    /// Asks for what is missing, and takes it to its end.
    async fn go_on(&mut self, client: &Client, address: &str, progress: (&AtomicU64, &dyn Progress)) -> Result<(), Trouble> {
        let mut request = client.http.get(address);
        if self.length() > 0 {
            request = request.header(RANGE, format!("bytes={}-", self.length()));
        }
        let answer = request.send().await;
        // It has all that there is: what is there is whole, or of another file.
        if self.length() > 0 && answer.as_ref().is_ok_and(|response| response.status() == StatusCode::RANGE_NOT_SATISFIABLE) {
            return Ok(());
        }
        let response = succeeded(address, answer)?;
        if self.length() > 0 && !goes_on(&response, self.length()) {
            self.begin_anew().await?;
        }
        self.take(address, response, progress).await
    }

    async fn take(
        &mut self,
        address: &str,
        mut response: Response,
        (reached, progress): (&AtomicU64, &dyn Progress),
    ) -> Result<(), Trouble> {
        let promised = length(response.headers()).map(|rest| self.length() + rest);
        while let Some(chunk) = response.chunk().await.map_err(|error| Trouble::of_request(address, &error))? {
            self.push(&chunk).await?;
            self.give().await?;
            reached.fetch_add(chunk.len() as u64, Ordering::Relaxed);
            progress.came(chunk.len() as u64);
            if self.length() > MOST_BYTES {
                self.begin_anew().await?;
                return Err(Trouble::of_content(address, "it does not end"));
            }
        }
        match promised {
            Some(promised) if promised != self.length() => Err(Trouble::of_length(address, promised, self.length())),
            _ => Ok(()),
        }
    }
}

/// Whether the server sends what was asked for, and not all of it from its beginning.
fn goes_on(response: &Response, from: u64) -> bool {
    let range = response.headers().get(CONTENT_RANGE).and_then(|value| value.to_str().ok());
    let starts_there = range.is_some_and(|range| range.starts_with(&format!("bytes {from}-")));
    response.status() == StatusCode::PARTIAL_CONTENT && starts_there
}
