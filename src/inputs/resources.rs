//! Files of the user's that are to be on hosts, templates for them, and certificates: read where the cluster's file says they are, and checked.

use std::path::Path;

use kok_crds::model::{Content, Contents, Held, HostResource, LocalFile, Payload, Text, Wish};
use kok_crds::{Input, Position, Problem, not_text};
use kok_pki::TrustAnchor;
use time::OffsetDateTime;

use super::files::Files;
use crate::clock::Clock;

/// As long as what a cluster's own file may have: larger ones are no configuration.
const MOST_BYTES: u64 = 1 << 20;

/// Reads them all. With anything wrong there is no cluster left, only what is wrong.
pub(super) fn load(input: &mut Input, files: &dyn Files) {
    let Some(cluster) = &mut input.cluster else { return };
    let mut problems = Vec::new();
    let now = OffsetDateTime::from_unix_timestamp(Clock::seconds()).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    for entry in &mut cluster.resources.entries {
        problems.extend(load_one(entry, now, files).err());
    }
    for hook in &mut cluster.hooks {
        if let Content::Source(file) = &mut hook.script {
            match read(file, files) {
                Ok(text) => file.text = Some(text),
                Err(problem) => problems.push(problem),
            }
        }
    }
    if !problems.is_empty() {
        input.problems.extend(problems);
        input.cluster = None;
    }
}

fn load_one(entry: &mut HostResource, now: OffsetDateTime, files: &dyn Files) -> Result<(), Problem> {
    match &mut entry.wish {
        Wish::File { content: Content::Source(file) | Content::Template(file), .. } => file.text = Some(read(file, files)?),
        Wish::Binary { payload, .. } => payload.held = Some(held(payload, files)?),
        Wish::Archive { payload, strip, creates, contents, .. } => {
            let found = held(payload, files)?;
            *contents = Some(unpacked(payload, &found, (*strip, creates.is_none()))?);
            payload.held = Some(found);
        }
        Wish::CaCertificate { certificate: Some(Content::Text(text)), .. } => *text = anchor(&entry.name, &entry.origin, text, now)?,
        Wish::CaCertificate { certificate: Some(Content::Source(file) | Content::Template(file)), .. } => {
            let text = read(file, files)?;
            file.text = Some(anchor(&entry.name, &file.origin, &text, now)?);
        }
        _ => {}
    }
    Ok(())
}

/// A file of any length, which is the one that was meant.
fn held(payload: &Payload, files: &dyn Files) -> Result<Held, Problem> {
    let path = files.payload(payload)?;
    let (size, sha256) = files.sum(&path).map_err(|error| {
        let problem = Problem::new("a file for the hosts can't be read").at(&payload.origin);
        problem.because(format!("{}: {error}", path.display())).hint("let it be readable")
    })?;
    match (&payload.sha256, path.to_str()) {
        (Some(wanted), _) if *wanted != sha256 => Err(Problem::new(format!("{} is not the file that was meant", payload.title()))
            .at(&payload.origin)
            .because(format!("its SHA-256 is {sha256}, and `sha256` says {wanted}"))
            .hint("look at what has changed in it, and write its digest if that is right")),
        (_, Some(path)) => Ok(Held { path: path.to_owned(), size, sha256 }),
        (_, None) => Err(Problem::new("the path of a file for the hosts is no text")
            .at(&payload.origin)
            .because(format!("{} is not UTF-8", path.display()))
            .hint("give its folder another name")),
    }
}

fn unpacked(payload: &Payload, held: &Held, (strip, compared): (u32, bool)) -> Result<Contents, Problem> {
    super::unpacked::contents(Path::new(&held.path), strip, compared).map_err(|because| {
        let problem = Problem::new(format!("{} can't be unpacked on hosts", payload.title())).at(&payload.origin).because(because);
        problem.hint("give a tar, which may be compressed by gzip or xz, of files, folders and links that stay in their folder")
    })
}

/// The certificate of an authority as trust stores have it.
fn anchor(name: &str, origin: &Position, text: &Text, now: OffsetDateTime) -> Result<Text, Problem> {
    let anchor = TrustAnchor::from_pem(text.expose(), now).map_err(|error| {
        let problem = Problem::new(format!("`{}` can't be a certificate that programs trust", name.escape_debug())).at(origin);
        problem.because(error.to_string()).hint("give the certificate of one authority in PEM, which has not ended, and no key with it")
    })?;
    Ok(Text::new(anchor.pem()))
}

fn read(file: &LocalFile, files: &dyn Files) -> Result<Text, Problem> {
    let name = files.name(&file.origin, &file.path);
    let unreadable = |because: String| {
        let problem = Problem::new("a file for the hosts can't be read").at(&file.origin).because(format!("{name}: {because}"));
        problem.hint("name a text file of at most 1 MiB, as seen from the folder of this file")
    };
    let contents = files.read(&file.origin, &file.path, MOST_BYTES).map_err(|unread| unreadable(unread.because))?;
    match String::from_utf8(contents.bytes) {
        Ok(text) if !text.contains('\0') => Ok(Text::new(text)),
        Ok(text) => Err(unreadable(not_text(text.as_bytes()).0)),
        Err(error) => Err(unreadable(not_text(error.as_bytes()).0)),
    }
}
